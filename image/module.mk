# image/: what a binary is: ELF, DWARF, build-ids, procedures, source lines, instructions
MODULES += image
image.pkgs := libdw libelf liblzma zlib libxxhash libzstd
image.libs := -lZydis -lcapstone -liberty -ldl

# Tests compare what they print with other disassemblers and demanglers.
$(BUILD)/tests/programs/code_listing: $(LIB)
programs.code_listing.libs = $(LIB) $(ALL_LIBS)
$(BUILD)/tests/programs/readable_names: $(LIB)
programs.readable_names.libs = $(LIB) $(ALL_LIBS)

# The same, for frame tables and libdwfl's unwinding.
$(BUILD)/tests/programs/chain_compare: $(LIB)
programs.chain_compare.libs = $(LIB) $(ALL_LIBS)
