# cyclescope: one non-recursive makefile; each folder adds itself through its module.mk.
#
# A module.mk sets, for its folder F:
#   MODULES += F
#   F.src   := C files of the library part          (default: every F/*.c and F/ROOM/*.c but *.bpf.c)
#   F.bpf   := BPF programs; F/x.bpf.c becomes build/F/x.skel.h before F is compiled
#   F.pkgs  := pkg-config names;  F.libs := further linker flags;  F.cflags := further flags of the compiler
#   COLD += folders whose code nobody waits for: there the compiler is asked for less
# and may add rules of its own, outputs under $(BUILD)/F, and PROGRAMS += ... to what `make` builds.

BUILD    ?= build
PREFIX   ?= /usr/local
DESTDIR  ?=
LIBDIR   ?= lib
PLUGIN_DIR ?= lib/cyclescope
CC       ?= gcc
CLANG    ?= clang
MACHINE  := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
# As the macros of libbpf name it.
BPF_ARCH ?= $(patsubst riscv64,riscv,$(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(MACHINE))))
BPF_SYSTEM ?= /usr/include/$(shell gcc -print-multiarch 2>/dev/null || $(CLANG) -print-target-triple | sed 's/-[a-z]*-linux/-linux/')
PKG_CONFIG ?= pkg-config
BPFTOOL  ?= $(firstword $(wildcard /usr/sbin/bpftool /sbin/bpftool) bpftool)
WERROR   ?= 0
SAN      ?=
VERSION  := 0.2.0

# Most of a make without anything to do went into looking for rules of its own for each header.
MAKEFLAGS += -r

WARN     := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
# Who sets CFLAGS gets them everywhere (a debugger's variables: CFLAGS='-O2 -g'); else what is cold (COLD, of the module.mk
# files) takes less time to compile. -g1: lines and inlined functions, which profiles and backtraces need, for less time.
COLD_CFLAGS := $(if $(filter undefined,$(origin CFLAGS)),-O1)
# Under a sanitizer most of the time is the compiler's; -O1 doesn't see through enough to warn.
CFLAGS   ?= $(if $(SAN),-O1 -Wno-format-truncation -Wno-maybe-uninitialized,-O2) -g1
CPPFLAGS += -I. -I$(BUILD) -D_GNU_SOURCE -DCS_VERSION='"$(VERSION)"'
# Of CFLAGS, what keeps the build's own path out of debug information; for what has flags of its own.
SAME_PATHS = $(filter -ffile-prefix-map=%,$(CFLAGS))
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS) -fno-omit-frame-pointer -MMD -MP $(EXTRA_CFLAGS)
ifeq ($(WERROR),1)
ALL_CFLAGS += -Werror
endif
ifneq ($(SAN),)
ALL_CFLAGS  += -fsanitize=$(SAN) -fno-sanitize-recover=all
ALL_LDFLAGS += -fsanitize=$(SAN)
# Tests: bounds on memory don't hold with a sanitizer's.
export CS_SANITIZED := $(SAN)
export LSAN_OPTIONS ?= suppressions=$(CURDIR)/tests/leaks.supp:print_suppressions=0
endif

# Nothing can be built before the packages are there (scripts/packages lists them by purpose). The two commands of the README and what
# tests or measures install what is missing. Plain `make` only looks, and names what is missing. CS_DEPS_DONE=1 skips both.
SETUP_BUILD := demo deps
SETUP_TEST  := check check-quick sanitize sanitize-ci asan ubsan tsan fuzz-quick chaos lint
SETUP_BENCH := bench bench-quick
GOALS := $(or $(MAKECMDGOALS),all)
PURPOSES := $(if $(filter $(SETUP_BUILD),$(GOALS)),build) \
  $(if $(filter $(SETUP_TEST) $(SETUP_BENCH),$(GOALS)),build languages page test browser) $(if $(filter $(SETUP_BENCH),$(GOALS)),bench)
DEPS := $(if $(strip $(PURPOSES)),scripts/deps $(PURPOSES),$(if $(filter all,$(GOALS)),scripts/deps --look build))
ifneq ($(DEPS),)
ifndef CS_DEPS_DONE
ifneq ($(shell $(DEPS) >&2 && echo ok),ok)
$(error the packages above are missing)
endif
export CS_DEPS_DONE := 1
endif
endif

# All CPUs for one goal; a -j on the command line goes before it.
ifeq ($(MAKELEVEL) $(words $(GOALS)),0 1)
MAKEFLAGS += -j$(shell nproc)
endif

.PHONY: all deps
all:
deps: ## install the packages that the build needs (Debian); builds nothing
	@echo "All packages that the build needs are installed."

IS_CLANG := $(findstring clang,$(shell $(CC) --version))
# Known before the module.mk files, whose rules have them as prerequisites (those expand at once).
LIB      := $(BUILD)/libcyclescope-all.a
PROGRAM  := $(BUILD)/cyclescope
MODULES  :=
PROGRAMS :=
include $(sort $(wildcard */module.mk tests/*/module.mk))

# ---- one object list for all modules; cli/main.o stays out of the archive that the tests link ----
define module_rules
$(1).src  ?= $$(filter-out %.bpf.c,$$(wildcard $(1)/*.c $(1)/*/*.c))
$(1).obj  := $$(patsubst %.c,$$(BUILD)/%.o,$$($(1).src))
$(1).skel := $$(patsubst %.bpf.c,$$(BUILD)/%.skel.h,$$($(1).bpf))
$$($(1).obj): | $$($(1).skel)
OBJ  += $$($(1).obj)
PKGS += $$($(1).pkgs)
LIBS += $$($(1).libs)
endef
$(foreach m,$(MODULES),$(eval $(call module_rules,$(m))))

PKGS := $(sort $(PKGS))
ifneq ($(PKGS),)
# Asked once, not once a file.
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PKGS) 2>/dev/null)
PKG_LIBS   := $(shell $(PKG_CONFIG) --libs $(PKGS) 2>/dev/null)
CPPFLAGS += $(PKG_CFLAGS)
ALL_LIBS  = $(LIBS) $(PKG_LIBS) -lm -lpthread
else
ALL_LIBS  = $(LIBS) -lm -lpthread
endif

# No shell is started for a C file, which costs as much as a small one does to compile: make says the line and makes the folder.
folder = $(if $(made.$(@D)),,$(eval made.$(@D) := 1)$(shell mkdir -p $(@D)))
$(BUILD)/%.o: %.c
	$(folder)$(if $(filter 1,$(V)),,@$(info $()  CC      $<))$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(if $(filter $(COLD:%=%/%),$<),$(COLD_CFLAGS)) $($(firstword $(subst /, ,$*)).cflags) -c -o $@ $<

# BPF: compile, then print the program's size in instructions so that growth is seen (it is budgeted).
$(BUILD)/%.bpf.o: %.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$<)$(CLANG) -target bpf -D__TARGET_ARCH_$(BPF_ARCH) -I. -I$(BPF_SYSTEM) -O2 -g $(BPF_CFLAGS) -Wall -MMD -MP -c -o $@ $<
	@llvm-objdump -d $@ 2>/dev/null | awk -v f=$< '/^ +[0-9]+:/{n++} END{printf "  SIZE    %s: %d BPF instructions\n", f, n}'
# Kept: a second make would make them again, and what is made of them.
.SECONDARY: $(foreach m,$(MODULES),$(patsubst %.c,$(BUILD)/%.o,$($(m).bpf)))
$(BUILD)/%.skel.h: $(BUILD)/%.bpf.o
	$(call say,SKEL,$<)$(BPFTOOL) gen object $(@:.h=.o) $< && { echo '/* NOLINTBEGIN */' && $(BPFTOOL) gen skeleton $(@:.h=.o) name $(subst .,_,$(notdir $*))_bpf && echo '/* NOLINTEND */'; } > $@.tmp && mv $@.tmp $@

ifeq ($(V),1)
say =
else
say = @printf '  %-7s %s\n' $(1) $(2);
endif

$(LIB): $(filter-out $(BUILD)/cli/main.o,$(OBJ))
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $^
$(PROGRAM): $(BUILD)/cli/main.o $(LIB)
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) $(LDFLAGS) -o $@ $< $(LIB) $(ALL_LIBS)

all: $(PROGRAM) $(PROGRAMS) ## build everything (the program is build/cyclescope)

.PHONY: help
help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST) | sort -u

.PHONY: demo
demo: $(PROGRAM) $(BUILD)/signals/examples/phases ## install, build, show a slow line, its cause, a repair and its gain, then the observer (about a minute)
	@BUILD=$(BUILD) scripts/demo

.PHONY: sanitize sanitize-ci asan ubsan tsan
sanitize: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer in one build
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan-ubsan SAN=address,undefined check-quick
sanitize-ci: ## the part of that which continuous integration has time for
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan-ubsan SAN=address,undefined check-sanitized
asan:  ## the tests under AddressSanitizer (and LeakSanitizer)
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan SAN=address check-quick
ubsan: ## the tests under UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/ubsan SAN=undefined check-quick
tsan:  ## the tests of what has threads under ThreadSanitizer
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan SAN=thread check-threads

C_FILES = $(shell git ls-files '*.c' '*.h')
.PHONY: lint format format-check compile_commands.json
# A file that passed isn't looked at again until it or the rules change.
LINT_C  := $(shell git ls-files '*.c' 2>/dev/null | grep -vE '\.bpf\.c$$|^tests/(programs|macros)/|^signals/(plugin|lua)/|^tests/vm/x86/|^bench/(fixes|fresh|kernels|workloads|programs)/')
LINT_OK := $(LINT_C:%.c=$(BUILD)/lint/%.ok)
lint: compile_commands.json format-check ## clang-tidy and clang-format, nothing may be left
	@$(MAKE) --no-print-directory -k CS_DEPS_DONE=1 lint-files
.PHONY: lint-files
lint-files: $(LINT_OK)
$(BUILD)/lint/%.ok: %.c .clang-tidy | all
	@mkdir -p $(@D)
	$(call say,TIDY,$<)clang-tidy --quiet -p . $< > $(@:.ok=.log) 2> $(@:.ok=.err) && touch $@ || { cat $(@:.ok=.log); false; }
format-check:
	@clang-format --dry-run -Werror $(C_FILES)
format: ## rewrite the sources by .clang-format
	@clang-format -i $(C_FILES)
compile_commands.json:
	@{ sep='['; for f in $(filter-out %.bpf.c,$(shell git ls-files '*.c')); do \
	  printf '%s\n{"directory":"%s","file":"%s","arguments":["$(CC)"' "$$sep" "$(CURDIR)" "$$f"; \
	  for a in $(subst ",\",$(CPPFLAGS)) -std=gnu11 $(WARN); do printf ',"%s"' "$$(printf %s "$$a" | sed 's/\\*"/\\"/g')"; done; \
	  printf ',"-c","%s"]}' "$$f"; sep=','; done; echo; echo ']'; } > $@

.PHONY: man
man: $(GENERATED) ## man pages and shell completion, in build/man

.PHONY: install uninstall
SHARE = $(DESTDIR)$(PREFIX)/share
install: all $(GENERATED) ## install under DESTDIR and PREFIX: program, headers, man pages, completion
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/cyclescope
	$(foreach f,$(INSTALLED),install -D -m 644 $(firstword $(subst :, ,$(f))) $(DESTDIR)$(PREFIX)/$(lastword $(subst :, ,$(f)));)
	$(foreach l,libcyclescope libcyclescope-itt libcyclescope-xray,[ ! -e $(DESTDIR)$(PREFIX)/$(LIBDIR)/$(l).so.1 ] || ln -sf $(l).so.1 $(DESTDIR)$(PREFIX)/$(LIBDIR)/$(l).so;)
	install -d $(SHARE)/man/man1 $(SHARE)/man/man5
	install -m 644 $(BUILD)/man/man1/* $(SHARE)/man/man1
	install -m 644 $(BUILD)/man/man5/* $(SHARE)/man/man5
	install -D -m 644 $(BUILD)/man/completion/cyclescope $(SHARE)/bash-completion/completions/cyclescope
	install -D -m 644 $(BUILD)/man/completion/_cyclescope $(SHARE)/zsh/site-functions/_cyclescope
uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(PREFIX)/bin/cyclescope $(foreach l,libcyclescope libcyclescope-itt libcyclescope-xray,$(DESTDIR)$(PREFIX)/$(LIBDIR)/$(l).so) $(SHARE)/man/man1/cyclescope*.1 $(SHARE)/man/man5/cyclescope-*.5 \
	  $(SHARE)/bash-completion/completions/cyclescope $(SHARE)/zsh/site-functions/_cyclescope \
	  $(foreach f,$(INSTALLED),$(DESTDIR)$(PREFIX)/$(lastword $(subst :, ,$(f))))

.PHONY: deb
deb: ## Debian packages from the committed files, in build/deb (needs debhelper, dh-python, dpkg-dev)
	@scripts/deb $(BUILD)/deb

.PHONY: check-deb
check-deb: ## judge the packages: two builds equal, lintian, autopkgtest, upgrade and purge in a bare Debian
	@scripts/deps build languages package
	@scripts/check-deb $(BUILD)/deb

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BUILD) compile_commands.json

-include $(shell find $(BUILD) -name '*.d' -type f -not -path '$(BUILD)/programs/*' -not -path '$(BUILD)/*san/*' 2>/dev/null)
