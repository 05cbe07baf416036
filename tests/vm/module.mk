# tests/vm/: a Debian arm64 kernel under QEMU, whose emulated PMU has the real kernel interface and exact counts.
ARM64_PACKAGES := gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-system-arm cpio
ARM64_SYSROOT := $(BUILD)/arm64/sysroot
ARM64_ROOT    := $(abspath $(ARM64_SYSROOT))/root
ARM64_MAKE     = PKG_CONFIG_LIBDIR=$(ARM64_ROOT)/usr/lib/aarch64-linux-gnu/pkgconfig:$(ARM64_ROOT)/usr/share/pkgconfig \
	PKG_CONFIG_SYSROOT_DIR=$(ARM64_ROOT) $(MAKE) --no-print-directory CS_DEPS_DONE=1 BUILD=$(BUILD)/arm64 BPF_ARCH=arm64 \
	BPF_SYSTEM=$(ARM64_ROOT)/usr/include/aarch64-linux-gnu \
	CC="aarch64-linux-gnu-gcc --sysroot=$(ARM64_ROOT)" AR=aarch64-linux-gnu-ar

# Unit tests that say something about another architecture and are quick under emulation.
VM_UNIT_NAMES := dte spaces output_table store_table store_profile store
VM_UNIT := $(patsubst %,$(BUILD)/arm64/tests/unit/%_test,$(VM_UNIT_NAMES))

.PHONY: cross-arm64 check-vm check-vm-broken check-hw
cross-arm64: ## cross-compile everything for arm64 (build/arm64/cyclescope)
	@scripts/deps $(ARM64_PACKAGES)
	@scripts/arm64-sysroot $(ARM64_SYSROOT)
	+@$(ARM64_MAKE) all vm-programs vm-unit
# Where the packages can't be had it is a skip that says what to install; with CS_NO_SKIP=1 (continuous integration) a failure.
check-vm: ## boot an arm64 kernel under QEMU and check real counters against exact truth
	+@if scripts/deps $(ARM64_PACKAGES) && scripts/arm64-sysroot $(ARM64_SYSROOT); then \
	  $(MAKE) --no-print-directory cross-arm64 && BUILD=$(BUILD) VM_UNIT='$(VM_UNIT)' tests/vm/run; \
	else \
	  echo "SKIPPED check-vm: it needs $(ARM64_PACKAGES) and Debian's arm64 packages; as root: apt-get update && apt-get install $(ARM64_PACKAGES)"; \
	  [ -z "$$CS_NO_SKIP" ]; \
	fi
check-vm-broken: cross-arm64 ## break the counter reader in a scratch copy: which assertion of check-vm catches it
	@BUILD=$(BUILD) tests/vm/broken
check-hw: vm-programs ## the same assertions on this machine's own PMU, with bounds (says "skipped" where there is none)
	@BUILD=$(BUILD) tests/vm/hardware

# What runs inside: tests/vm/x.c -> build/arm64/tests/vm/x
VM_PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/vm/*.c))
$(BUILD)/tests/vm/%: $(BUILD)/tests/vm/%.o $(LIB)
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) $(LDFLAGS) -o $@ $< $(LIB) $(ALL_LIBS)
.SECONDARY: $(VM_PROGRAMS:%=%.o)
.PHONY: vm-programs vm-unit
vm-unit: $(patsubst %,$(BUILD)/tests/unit/%_test,$(VM_UNIT_NAMES))
vm-programs: $(VM_PROGRAMS)
