# tests/kernels/: Debian's kernels under QEMU with the tarball: what works on which (expected.tsv, docs/requirements.md).
KERNEL_PROGRAM := $(BUILD)/tests/kernels/two_threads
$(KERNEL_PROGRAM): tests/kernels/two_threads.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -std=gnu11 $(WARN) -D_GNU_SOURCE -O2 -g -fomit-frame-pointer -o $@ $< -lpthread

# Where the kernels can't be had it is a skip that says why; with CS_NO_SKIP=1 (continuous integration) a failure.
.PHONY: check-kernels
check-kernels: all $(KERNEL_PROGRAM) $(BUILD)/tests/programs/waiting ## boot Debian's kernels (5.10 to the newest) and try everything there
	@BUILD=$(BUILD) scripts/tarball $(BUILD)/portable >/dev/null
	@scripts/deps emulator || true; BUILD=$(BUILD) tests/kernels/run; rc=$$?; \
	  [ $$rc -ne 77 ] || { echo "SKIPPED check-kernels: the sentence above says why"; [ -z "$$CS_NO_SKIP" ]; exit; }; exit $$rc
