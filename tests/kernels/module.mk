# tests/kernels/: Debian's kernels under QEMU with the tarball: what works on which (expected.tsv, docs/requirements.md).
KERNEL_PROGRAM := $(BUILD)/tests/kernels/two_threads
$(KERNEL_PROGRAM): tests/kernels/two_threads.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -std=gnu11 $(WARN) -D_GNU_SOURCE -O2 -g -fomit-frame-pointer -o $@ $< -lpthread

.PHONY: kernel-programs check-kernels check-kernels-arm64
kernel-programs: $(KERNEL_PROGRAM) $(BUILD)/tests/programs/waiting

# Where none of the kernels can be had it is a skip that says why; with CS_NO_SKIP=1 (continuous integration) a failure.
run_kernels = BUILD=$(BUILD) tests/kernels/run $(1); rc=$$?; \
  [ $$rc -ne 77 ] || { echo "SKIPPED $@: the sentence above says why"; [ -z "$$CS_NO_SKIP" ]; exit; }; exit $$rc
check-kernels: all kernel-programs ## boot Debian's kernels (5.10 to the newest) and try everything there
	@BUILD=$(BUILD) scripts/tarball $(BUILD)/portable >/dev/null
	@scripts/deps emulator || true; $(call run_kernels,x86-64)
# Ten minutes, most of them QEMU's, so not a part of continuous integration.
check-kernels-arm64: cross-arm64 ## the same for AArch64's kernels (6.1, 6.12), with a cross-built program
	@scripts/deps kernels || true; $(call run_kernels,arm64)
