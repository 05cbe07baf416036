# observer/: the SHIM-style observer thread
MODULES += observer
observer.bpf  := observer/source/os.bpf.c
observer.pkgs := hwloc libbpf libzstd libxxhash

# The target that knows the truth is needed by tests and benchmarks.
programs.steps.libs := $(BUILD)/libcyclescope.a
$(BUILD)/tests/programs/steps: | $(BUILD)/libcyclescope.a
$(BUILD)/bench/observer-truth: | $(BUILD)/tests/programs/steps
