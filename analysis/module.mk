# analysis/: from samples to procedures, frequencies, CPI and culprits
MODULES += analysis
# Of arch_*.c the one of the machine that it is built for.
analysis.src  := $(filter-out analysis/machine/arch_%.c,$(wildcard analysis/*.c analysis/*/*.c)) analysis/machine/arch_$(firstword $(subst -, ,$(shell $(CC) -dumpmachine))).c
analysis.pkgs := libdw libelf liblzma jansson zlib libxxhash
analysis.libs := -lZydis -lcapstone -ldl

# Tests compare what it prints with other disassemblers.
$(BUILD)/tests/programs/code_listing: $(LIB)
programs.code_listing.libs = $(LIB) $(ALL_LIBS)

# Compares paths with where a program goes.
$(BUILD)/tests/programs/path_driver: $(LIB)
programs.path_driver.libs = $(LIB) $(ALL_LIBS)
