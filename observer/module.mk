# observer/: the SHIM-style observer thread
MODULES += observer
observer.bpf  := observer/source/os.bpf.c
observer.pkgs := hwloc libbpf libzstd libxxhash
COLD += observer/source observer/target

# Where a variable is at each instruction takes GCC a third of its time in these, all inlined as they are. The code is
# the same without.
ifeq ($(IS_CLANG),)
$(patsubst %,$(BUILD)/observer/loop/%.o,aggregate aggregate_follow log log_follow): ALL_CFLAGS += -fno-var-tracking-assignments
endif

# The target that knows the truth is needed by tests and benchmarks.
programs.steps.libs := $(BUILD)/libcyclescope.a
programs.paced.libs := $(BUILD)/libcyclescope.a
programs.concurrent.libs := $(BUILD)/libcyclescope.a -lpthread
$(patsubst %,$(BUILD)/tests/programs/%,steps paced concurrent): | $(BUILD)/libcyclescope.a
$(BUILD)/bench/observer-truth: | $(BUILD)/tests/programs/steps
