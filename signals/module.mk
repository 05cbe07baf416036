# signals/: what a target links (MIT): libcyclescope.a and .so, header and pkg-config file; and signals/reader/.
# All objects are position-independent: the static library goes into shared objects too. Only the reader goes into
# the program: the runtime would wrap its pthread_create.
MODULES += signals/reader
# No lazy binding: a forked child would pay for it each time.
signals.cflags := -fPIC -fno-plt

# OpenTelemetry asks for TLS descriptors; where the compiler can't, readers take the other dialect too.
$(BUILD)/signals/otel.o: ALL_CFLAGS += $(shell $(CC) -mtls-dialect=gnu2 -E -x c /dev/null >/dev/null 2>&1 && echo -mtls-dialect=gnu2)

SIGNALS_BOTH    := $(patsubst %,$(BUILD)/signals/%.o,lines segment_map lock names compiled profile otel thread_attached)
SIGNALS_RUNTIME := $(SIGNALS_BOTH) $(BUILD)/signals/threads.o
SIGNALS_STATIC  := $(BUILD)/libcyclescope-static.a
SIGNALS_A  := $(BUILD)/libcyclescope.a
SIGNALS_SO := $(BUILD)/libcyclescope.so
SIGNALS_PC := $(BUILD)/cyclescope.pc

# In a sanitizer build the runtime that foreign programs link stays plain (they don't have a sanitizer's runtime); the
# program that tests its life compiles it in, instrumented.
ifneq ($(SAN),)
SIGNALS_OBJECTS := $(SIGNALS_RUNTIME) $(patsubst %,$(BUILD)/signals/%.o,page threads_static trace_pc)
$(SIGNALS_OBJECTS): ALL_CFLAGS += -fno-sanitize=all
SIGNALS_LINKED = $(patsubst $(BUILD)/%.o,%.c,$(SIGNALS_RUNTIME) $(BUILD)/signals/page.o)
else
SIGNALS_LINKED = $(SIGNALS_A)
endif

$(SIGNALS_A): $(SIGNALS_RUNTIME) $(BUILD)/signals/page.o
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $^
$(SIGNALS_STATIC): $(SIGNALS_BOTH) $(BUILD)/signals/page.o $(BUILD)/signals/threads_static.o
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $^
$(SIGNALS_SO).1: $(SIGNALS_RUNTIME) signals/cyclescope.map
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,libcyclescope.so.1 -Wl,-z,nodelete -Wl,-z,defs \
	  -Wl,--version-script,signals/cyclescope.map $(LDFLAGS) -o $@ $(SIGNALS_RUNTIME)
$(SIGNALS_SO): $(SIGNALS_SO).1
	@ln -sf libcyclescope.so.1 $@
$(SIGNALS_PC): signals/module.mk
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$${pcfiledir}/..$(subst $(eval) ,,$(patsubst %,/..,$(subst /, ,$(LIBDIR))))' 'Name: cyclescope' 'Description: software signals for cyclescope' \
	  'Version: $(VERSION)' 'Cflags: -I$${prefix}/include' 'Libs: -L$${prefix}/$(LIBDIR) -lcyclescope' > $@

# Examples: signals/examples/x.c -> build/signals/examples/x
SIGNALS_EXAMPLES := $(patsubst %.c,$(BUILD)/%,$(wildcard signals/examples/*.c))
$(BUILD)/signals/examples/%: signals/examples/%.c $(SIGNALS_A)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -I. -D_GNU_SOURCE -std=gnu11 $(WARN) -O2 -g -MMD -MP -o $@ $< $(SIGNALS_A)

PROGRAMS += $(SIGNALS_A) $(SIGNALS_STATIC) $(SIGNALS_SO) $(SIGNALS_PC) $(SIGNALS_EXAMPLES)
INSTALLED  += signals/timers/cyclescope_timers.h:include/cyclescope_timers.h signals/cyclescope_profile.h:include/cyclescope_profile.h signals/cyclescope.h:include/cyclescope.h signals/cyclescope_measure.h:include/cyclescope_measure.h signals/cyclescope_otel.h:include/cyclescope_otel.h $(SIGNALS_A):$(LIBDIR)/libcyclescope.a \
            $(SIGNALS_STATIC):$(LIBDIR)/libcyclescope-static.a \
            signals/macros/cyclescope_zones.h:include/cyclescope_zones.h \
            signals/macros/cyclescope_tracy.h:include/cyclescope/tracy/Tracy.hpp signals/macros/cyclescope_tracy.h:include/cyclescope/tracy/TracyC.h \
            signals/macros/cyclescope_perfetto.h:include/cyclescope/perfetto.h \
            $(SIGNALS_SO).1:$(LIBDIR)/libcyclescope.so.1 \
            $(SIGNALS_PC):$(LIBDIR)/pkgconfig/cyclescope.pc signals/python/cyclescope.py:lib/python3/dist-packages/cyclescope.py

# Test programs that link the runtime (and the reader, to judge it).
SIGNALS_TESTS := signals_life signals_set requests
programs.signals_life.libs = $(SIGNALS_LINKED) $(LIB) -lpthread
programs.signals_set.libs  = $(SIGNALS_LINKED)
programs.requests.libs     = $(SIGNALS_LINKED) -lm
# The same cases once more with stores to cs_page.
$(BUILD)/tests/programs/signals_life_direct: tests/programs/signals_life.c $(SIGNALS_A) $(BUILD)/libcyclescope-all.a
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) -DCS_EXECUTABLE -std=gnu11 $(WARN) -O2 -g -MMD -MP -o $@ $< $(if $(SAN),-fsanitize=$(SAN)) $(SIGNALS_LINKED) $(LIB) -lpthread
TEST_PROGRAMS += $(BUILD)/tests/programs/signals_life_direct
$(SIGNALS_TESTS:%=$(BUILD)/tests/programs/%): $(SIGNALS_A) $(BUILD)/libcyclescope-all.a

# The GCC plugin; its headers are C++ and not clean under our warnings.
SIGNALS_PLUGIN := $(BUILD)/plugin/cyclescope.so
PLUGIN_HEADERS := $(shell gcc -print-file-name=plugin)/include
ifneq ($(and $(wildcard $(PLUGIN_HEADERS)/gcc-plugin.h),$(shell command -v g++)),)
PROGRAMS += $(SIGNALS_PLUGIN)
INSTALLED  += $(SIGNALS_PLUGIN):$(PLUGIN_DIR)/cyclescope.so
endif
$(SIGNALS_PLUGIN): signals/plugin/plugin.cc signals/plugin/point.c signals/plugin/point.h
	@mkdir -p $(@D)
	$(call say,PLUGIN,$@)gcc -std=gnu11 -D_GNU_SOURCE -I. $(WARN) -O2 -g $(SAME_PATHS) -fPIC -c -o $(@D)/point.o signals/plugin/point.c && \
	  g++ -std=gnu++14 -I. -isystem $(PLUGIN_HEADERS) -fno-rtti -fno-exceptions -O2 -g $(SAME_PATHS) -Wall -Wextra -fPIC -shared $(LDFLAGS) \
	  -o $@.new signals/plugin/plugin.cc $(@D)/point.o && mv $@.new $@

# The same for clang, whose plugins fit one version of LLVM: this compiler's.
SIGNALS_CLANG_PLUGIN := $(BUILD)/plugin/cyclescope-clang.so
LLVM_VERSION := $(firstword $(subst ., ,$(shell $(CLANG) -dumpversion 2>/dev/null)))
LLVM_HEADERS := $(shell llvm-config-$(LLVM_VERSION) --includedir 2>/dev/null)
ifneq ($(and $(LLVM_HEADERS),$(wildcard $(LLVM_HEADERS)/llvm/Passes/PassPlugin.h),$(shell command -v $(CLANG)++)),)
PROGRAMS += $(SIGNALS_CLANG_PLUGIN)
INSTALLED  += $(SIGNALS_CLANG_PLUGIN):$(LIBDIR)/cyclescope/cyclescope-clang.so
endif
# DWARF 4: dwz, which packages are made with, knows not all that clang writes of DWARF 5.
$(SIGNALS_CLANG_PLUGIN): signals/plugin/clang_plugin.cc signals/plugin/point.c signals/plugin/point.h
	@mkdir -p $(@D)
	$(call say,PLUGIN,$@)$(CLANG) -std=gnu11 -D_GNU_SOURCE -I. $(WARN) -O2 -gdwarf-4 $(SAME_PATHS) -fPIC -c -o $(@D)/clang_point.o signals/plugin/point.c && \
	  $(CLANG)++ -std=c++17 -D_GNU_SOURCE -I. -isystem $(LLVM_HEADERS) -fno-rtti -fno-exceptions -O2 -gdwarf-4 $(SAME_PATHS) -Wall -Wextra -fPIC -shared $(LDFLAGS) \
	  -o $@.new signals/plugin/clang_plugin.cc $(@D)/clang_point.o -L$(shell llvm-config-$(LLVM_VERSION) --libdir 2>/dev/null) -lLLVM-$(LLVM_VERSION) && mv $@.new $@

# Preloaded where perf_event_open is out of reach; sampler/timers/ carries it in the program. It links nothing, so
# AArch64's atomics can't be calls of libgcc.
TIMERS_LIBRARY := $(BUILD)/signals/timers/timers.so
TIMERS_CFLAGS  := $(if $(filter aarch64,$(MACHINE)),-mno-outline-atomics)
$(TIMERS_LIBRARY): signals/timers/timers.c signals/timers/timer_segment.h signals/timers/stack_frames.h signals/timers/filters.h
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) -I. -std=gnu11 $(WARN) -O2 -fPIC -fno-plt -fno-stack-protector -U_FORTIFY_SOURCE -fvisibility=hidden $(TIMERS_CFLAGS) -shared -nostdlib -Wl,-z,nodelete \
	  -Wl,--build-id=none -s -o $@ signals/timers/timers.c

# Programs built with -fsanitize-coverage=trace-pc.
SIGNALS_TRACE := $(BUILD)/libcyclescope-trace.a
$(SIGNALS_TRACE): $(BUILD)/signals/trace_pc.o
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $^
PROGRAMS += $(SIGNALS_TRACE)
INSTALLED  += $(SIGNALS_TRACE):$(LIBDIR)/libcyclescope-trace.a

# require "cyclescope" for lua5.4; carries its own copy of the runtime, which joins another one's segment.
LUA_CFLAGS := $(shell pkg-config --cflags lua5.4 2>/dev/null)
SIGNALS_LUA := $(BUILD)/lua/cyclescope.so
ifneq ($(LUA_CFLAGS),)
PROGRAMS += $(SIGNALS_LUA)
INSTALLED  += $(SIGNALS_LUA):$(LIBDIR)/lua/5.4/cyclescope.so
endif
# The same for LuaJIT, whose structures are others.
LUAJIT_CFLAGS := $(shell pkg-config --cflags luajit 2>/dev/null)
SIGNALS_LUAJIT := $(BUILD)/luajit/cyclescope.so
ifneq ($(LUAJIT_CFLAGS),)
PROGRAMS += $(SIGNALS_LUAJIT)
INSTALLED  += $(SIGNALS_LUAJIT):$(LIBDIR)/lua/5.1/cyclescope.so
endif
$(SIGNALS_LUA): LUA_OF := $(LUA_CFLAGS)
$(SIGNALS_LUAJIT): LUA_OF := $(LUAJIT_CFLAGS)
$(SIGNALS_LUA) $(SIGNALS_LUAJIT): signals/lua/cyclescope_lua.c signals/cyclescope.h $(SIGNALS_RUNTIME)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) -I. -D_GNU_SOURCE $(LUA_OF) -std=gnu11 $(WARN) -O2 -g $(SAME_PATHS) -fPIC -fvisibility=hidden -shared $(LDFLAGS) \
	  -Wl,-z,nodelete -Wl,--version-script,signals/lua/exports.map -o $@ signals/lua/cyclescope_lua.c $(SIGNALS_RUNTIME)

# The ITT collector carries its own copy of the runtime, which joins another one's segment.
SIGNALS_ITT := $(BUILD)/libcyclescope-itt.so.1
ITT_SOURCES := $(wildcard signals/itt/*.c)
PROGRAMS += $(SIGNALS_ITT)
INSTALLED  += $(SIGNALS_ITT):$(LIBDIR)/libcyclescope-itt.so.1
$(SIGNALS_ITT): $(ITT_SOURCES) signals/itt/itt.h signals/itt/exports.map signals/cyclescope.h $(SIGNALS_RUNTIME)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) -I. -D_GNU_SOURCE -std=gnu11 $(WARN) -O2 -g $(SAME_PATHS) -fPIC -fno-plt -fvisibility=hidden -shared $(LDFLAGS) \
	  -Wl,-soname,libcyclescope-itt.so.1 -Wl,-z,nodelete -Wl,-z,defs -Wl,--version-script,signals/itt/exports.map -o $@ $(ITT_SOURCES) $(SIGNALS_RUNTIME)

# So does the library for programs with XRay sleds. What its sleds call may touch no vector register.
SIGNALS_XRAY := $(BUILD)/libcyclescope-xray.so.1
XRAY_SOURCES := $(wildcard signals/xray/*.c) signals/reader/reader_locate.c
ifeq ($(MACHINE),x86_64)
PROGRAMS += $(SIGNALS_XRAY)
INSTALLED  += $(SIGNALS_XRAY):$(LIBDIR)/libcyclescope-xray.so.1
endif
$(SIGNALS_XRAY): $(XRAY_SOURCES) signals/xray/xray.h signals/xray/exports.map signals/cyclescope.h $(SIGNALS_RUNTIME)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) -I. -D_GNU_SOURCE -std=gnu11 $(WARN) -O2 -g $(SAME_PATHS) -mgeneral-regs-only -fPIC -fno-plt -fvisibility=hidden -shared $(LDFLAGS) \
	  -Wl,-soname,libcyclescope-xray.so.1 -Wl,-z,nodelete -Wl,-z,defs -Wl,--version-script,signals/xray/exports.map -o $@ $(XRAY_SOURCES) $(SIGNALS_RUNTIME)

bench.signals-set.libs = $(SIGNALS_A)
bench.otel-context.libs = $(SIGNALS_A) -Wl,--export-dynamic-symbol=otel_thread_ctx_v1
$(BUILD)/bench/signals-set $(BUILD)/bench/otel-context: $(SIGNALS_A)

# What a set compiles to in a linked program: with a load of the line's address, and without one in executables.
.PHONY: show-set
show-set: $(SIGNALS_A)
	@for cc in gcc clang; do command -v $$cc >/dev/null || continue; for how in "" -DCS_EXECUTABLE; do echo "$$cc -O2 $$how"; \
	  $$cc -O2 $$how -I. -o $(BUILD)/show-set tests/programs/signals_set.c $(SIGNALS_A) && objdump -d --no-show-raw-insn $(BUILD)/show-set | \
	  awk '/^[0-9a-f]+ <(set_constant|set_value|add_one|set_loop)>:/ { on = 1 } /^$$/ { on = 0 } on'; done; done
