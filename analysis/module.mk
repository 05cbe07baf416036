# analysis/: from samples to procedures, frequencies, CPI and culprits
MODULES += analysis
analysis.pkgs := libdw libelf liblzma jansson zlib
analysis.libs := -lZydis -lcapstone -ldl

# Tests compare what it prints with other disassemblers.
$(BUILD)/tests/programs/code_listing: $(LIB)
programs.code_listing.libs = $(LIB) $(ALL_LIBS)
