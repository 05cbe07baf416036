# signals/: what a target links (MIT): libcyclescope.a and .so, header and pkg-config file; and the reader side.
# All objects are position-independent: the static library goes into shared objects too. Only the reader goes into
# the program: the runtime would wrap its pthread_create.
MODULES += signals
signals.src := $(wildcard signals/reader*.c)
signals.cflags := -fPIC

SIGNALS_RUNTIME := $(patsubst %,$(BUILD)/signals/%.o,lines segment_map lock names threads)
SIGNALS_A  := $(BUILD)/libcyclescope.a
SIGNALS_SO := $(BUILD)/libcyclescope.so
SIGNALS_PC := $(BUILD)/cyclescope.pc

$(SIGNALS_A): $(SIGNALS_RUNTIME)
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $^
$(SIGNALS_SO).1: $(SIGNALS_RUNTIME) signals/cyclescope.map
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,libcyclescope.so.1 -Wl,-z,nodelete -Wl,-z,defs \
	  -Wl,--version-script,signals/cyclescope.map $(ALL_LDFLAGS) $(LDFLAGS) -o $@ $(SIGNALS_RUNTIME)
$(SIGNALS_SO): $(SIGNALS_SO).1
	@ln -sf libcyclescope.so.1 $@
$(SIGNALS_PC): signals/module.mk
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$(PREFIX)' 'Name: cyclescope' 'Description: software signals for cyclescope' \
	  'Version: $(VERSION)' 'Cflags: -I$${prefix}/include' 'Libs: -L$${prefix}/lib -lcyclescope' > $@

# Examples: signals/examples/x.c -> build/signals/examples/x
SIGNALS_EXAMPLES := $(patsubst %.c,$(BUILD)/%,$(wildcard signals/examples/*.c))
$(BUILD)/signals/examples/%: signals/examples/%.c $(SIGNALS_A)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -I. -D_GNU_SOURCE -std=gnu11 $(WARN) -O2 -g $(ALL_LDFLAGS) -MMD -MP -o $@ $< $(SIGNALS_A)

PROGRAMS += $(SIGNALS_A) $(SIGNALS_SO) $(SIGNALS_PC) $(SIGNALS_EXAMPLES)
INSTALL  += signals/cyclescope.h:include/cyclescope.h $(SIGNALS_A):lib/libcyclescope.a \
            $(SIGNALS_SO).1:lib/libcyclescope.so.1 $(SIGNALS_SO):lib/libcyclescope.so \
            $(SIGNALS_PC):lib/pkgconfig/cyclescope.pc
