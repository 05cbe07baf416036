# image/: what a binary is: ELF, DWARF, build-ids, procedures, source lines, instructions
MODULES += image
image.pkgs := libdw libelf liblzma zlib libxxhash
image.libs := -lZydis -lcapstone -ldl

# Tests compare what it prints with other disassemblers.
$(BUILD)/tests/programs/code_listing: $(LIB)
programs.code_listing.libs = $(LIB) $(ALL_LIBS)
