# analysis/: from samples to frequencies, CPI and culprits
MODULES += analysis
COLD += analysis/validation analysis/machine
# Of arch_*.c the one of the machine that it is built for.
analysis.src  := $(filter-out analysis/machine/arch_%.c,$(wildcard analysis/*/*.c)) analysis/machine/arch_$(MACHINE).c
analysis.pkgs := jansson libxxhash

# Compares paths with where a program goes.
$(BUILD)/tests/programs/path_driver: $(LIB)
programs.path_driver.libs = $(LIB) $(ALL_LIBS)
