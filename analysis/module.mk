# analysis/: from samples to frequencies, CPI and culprits
MODULES += analysis
COLD += analysis/validation analysis/machine
# Of arch_*.c the one of the machine that it is built for.
analysis.src  := $(filter-out analysis/machine/arch_%.c,$(wildcard analysis/*/*.c analysis/culprit/*/*.c)) analysis/machine/arch_$(MACHINE).c
analysis.pkgs := jansson libxxhash

# Compares paths with where a program goes.
$(BUILD)/tests/programs/path_driver: $(LIB)
programs.path_driver.libs = $(LIB) $(ALL_LIBS)

# The process of experiments is a program without libc, which experiment.c carries along. x86-64 code; elsewhere there is none. The
# benchmark of its truth links its loop.
ifeq ($(MACHINE),x86_64)
CHILD         := $(BUILD)/analysis/experiment/child/child
CHILD_OBJECTS := $(addprefix $(BUILD)/analysis/experiment/child/,child.o bare_loop.o)
$(CHILD_OBJECTS): $(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -I. -D_GNU_SOURCE -std=gnu11 $(WARN) -O2 -g $(SAME_PATHS) -MMD -MP -ffreestanding -fPIE -fno-stack-protector \
	  -fcf-protection=none -fno-asynchronous-unwind-tables -fvisibility=hidden $(if $(filter 1,$(WERROR)),-Werror) -c -o $@ $<
$(CHILD): $(CHILD_OBJECTS)
	$(call say,LD,$@)$(CC) -nostdlib -static-pie -Wl,--no-relax,--build-id=none,-z,noexecstack,-z,norelro -o $@ $^
$(BUILD)/analysis/experiment/experiment.o: $(CHILD)
analysis.cflags += -DCS_EXPERIMENT_CHILD='"$(CHILD)"'
$(LIB): $(BUILD)/analysis/experiment/child/bare_loop.o
endif
