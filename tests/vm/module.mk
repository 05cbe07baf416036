# tests/vm/: Debian kernels under QEMU, whose emulated PMUs have the real kernel interface and exact
# counts. An architecture is some lines here, a case in tests/vm/machine, and one in scripts/cross-sysroot.
VM_ARCHES := arm64 riscv64
arm64.triplet   := aarch64-linux-gnu
arm64.cc         = $(arm64.triplet)-gcc --sysroot=$(arm64.root)
arm64.packages  := gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-system-arm cpio
riscv64.triplet  := riscv64-linux-gnu
# Not GCC: liburcu refuses those before 13.3, whose atomic operations on this architecture are wrong.
riscv64.cc        = $(CLANG) --target=$(riscv64.triplet) --sysroot=$(riscv64.root) --gcc-toolchain=/usr
riscv64.packages := gcc-riscv64-linux-gnu libc6-dev-riscv64-cross clang qemu-system-misc cpio

# Unit tests that say something about another architecture and are quick under emulation.
VM_UNIT_NAMES := dte/dte exchange/import/spaces cli/output/output_table store/table/store_table store/store_profile store/store

define vm_rules
$(1).sysroot := $(BUILD)/$(1)/sysroot
$(1).root    := $(abspath $(BUILD)/$(1)/sysroot)/root
.PHONY: cross-$(1) check-vm-$(1) check-vm-broken-$(1)
cross-$(1): # everything for that architecture (build/$(1)/cyclescope)
	@scripts/deps $$($(1).packages)
	@scripts/cross-sysroot $(1) $$($(1).sysroot)
	+@PKG_CONFIG_LIBDIR=$$($(1).root)/usr/lib/$$($(1).triplet)/pkgconfig:$$($(1).root)/usr/share/pkgconfig \
	  PKG_CONFIG_SYSROOT_DIR=$$($(1).root) $$(MAKE) --no-print-directory CS_DEPS_DONE=1 BUILD=$(BUILD)/$(1) \
	  BPF_SYSTEM=$$($(1).root)/usr/include/$$($(1).triplet) CC="$$($(1).cc)" \
	  AR=$$($(1).triplet)-ar all vm-programs vm-unit kernel-programs
# Where the packages can't be had it is a skip that says what to install; with CS_NO_SKIP=1 (continuous integration) a failure.
check-vm-$(1):
	+@if scripts/deps $$($(1).packages) && scripts/cross-sysroot $(1) $$($(1).sysroot); then \
	  $$(MAKE) --no-print-directory cross-$(1) && \
	  BUILD=$(BUILD) VM_UNIT='$$(VM_UNIT_NAMES:%=$(BUILD)/$(1)/tests/unit/%_test)' tests/vm/run $(1); \
	else \
	  echo "SKIPPED check-vm for $(1): it needs $$($(1).packages) and Debian's $(1) packages; as root: apt-get update && apt-get install $$($(1).packages)"; \
	  [ -z "$$$$CS_NO_SKIP" ]; \
	fi
check-vm-broken-$(1): cross-$(1)
	@BUILD=$(BUILD) tests/vm/broken $(1)
endef
$(foreach a,$(VM_ARCHES),$(eval $(call vm_rules,$(a))))

# x86-64: the programs are this machine's, the emulator is built once for all clones (tests/vm/x86/build).
X86_MODELS := intel3 intel5 amd amd2
.PHONY: check-vm-x86 check-vm-broken-x86
check-vm-x86: all vm-programs $(BUILD)/tests/programs/concurrent
	@if scripts/deps emulator && tests/vm/x86/build; then \
	  failed=""; for m in $(X86_MODELS); do BUILD=$(BUILD) tests/vm/run x86-$$m || failed="$$failed $(BUILD)/x86-$$m/vm-failed"; done; \
	  [ -z "$$failed" ] || { echo; echo "failed:"; cat $$failed; exit 1; }; \
	else echo "SKIPPED check-vm for x86-64: see above"; [ -z "$$CS_NO_SKIP" ]; fi
check-vm-broken-x86: all
	@if tests/vm/x86/build --where; then BUILD=$(BUILD) tests/vm/broken x86-intel3; else [ -z "$$CS_NO_SKIP" ]; fi

.PHONY: check-vm check-vm-broken check-hw
check-vm: $(VM_ARCHES:%=check-vm-%) check-vm-x86 ## boot arm64, RISC-V and x86-64 kernels under QEMU and check real counters against exact truth
check-vm-broken: $(VM_ARCHES:%=check-vm-broken-%) check-vm-broken-x86 ## break the counter reader in a scratch copy: which assertion of check-vm catches it
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
