# sampler/: the DCPI-style interrupt sampler
MODULES += sampler
COLD += sampler/daemon
sampler.bpf  := $(wildcard sampler/*/*.bpf.c)
sampler.pkgs := liburcu-bp libbpf libxxhash
sampler.libs := -lpfm -lZydis

$(BUILD)/sampler/timers/preloaded.o: $(BUILD)/signals/timers/timers.so
sampler.cflags += -DCS_TIMERS_LIBRARY='"$(BUILD)/signals/timers/timers.so"'

# The burst runner is a program without libc; burst/runner_image.c carries it along, and moves it to an address of its own.
# It is x86-64 code through and through; elsewhere burst/runner_image.c carries nothing and bursts say so.
ifeq ($(MACHINE),x86_64)
# Else GCC makes a call of memset out of memset's own loop; clang doesn't with -ffreestanding, and has no such option.
NO_PATTERNS   := $(if $(IS_CLANG),,-fno-tree-loop-distribute-patterns)
BURST_RUNNER  := $(BUILD)/sampler/burst/runner/runner
BURST_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard sampler/burst/runner/*.c sampler/burst/holder/*.c sampler/burst/replayer/*.c sampler/burst/replayer/*/*.c))
BURST_CFLAGS  := -std=gnu11 $(WARN) -O2 -g $(SAME_PATHS) -MMD -MP -ffreestanding -fPIE -fno-stack-protector -fcf-protection=none \
  -fno-asynchronous-unwind-tables $(NO_PATTERNS) -mgeneral-regs-only -mno-red-zone -fvisibility=hidden \
  $(filter -D%,$(EXTRA_CFLAGS))
BURST_LDFLAGS := -nostdlib -static-pie -Wl,--no-relax,--build-id=none,-z,noexecstack,-z,norelro
$(BURST_OBJECTS): $(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -I. -D_GNU_SOURCE $(BURST_CFLAGS) $(if $(filter 1,$(WERROR)),-Werror) -c -o $@ $<
$(BURST_RUNNER): $(BURST_OBJECTS)
	$(call say,LD,$@)$(CC) $(BURST_LDFLAGS) -o $@ $^
$(BUILD)/sampler/burst/runner_image.o: $(BURST_RUNNER)
sampler.cflags += -DCS_BURST_RUNNER='"$(BURST_RUNNER)"'

# Files of the runner that the profiler links (timers/exec_rights.c), and those that a unit test links, beside what the test itself
# stands for.
burst_objects = $(patsubst %,$(BUILD)/sampler/burst/%.o,$(1))
$(LIB): $(call burst_objects,holder/exec_again holder/rights runner/thread)
$(BUILD)/tests/unit/sampler/burst/holder/burst_displaced_thread_test: $(call burst_objects,holder/displaced_thread)
$(BUILD)/tests/unit/sampler/burst/holder/burst_keep_cpu_awake_test: $(call burst_objects,holder/keep_cpu_awake)
$(BUILD)/tests/unit/sampler/burst/replayer/trace/burst_cache_sets_test: $(call burst_objects,replayer/trace/cache_sets)
$(BUILD)/tests/unit/sampler/burst/replayer/trace/burst_match_registers_test: $(call burst_objects,replayer/trace/match_registers replayer/translator/blocks)
$(BUILD)/tests/unit/sampler/burst/holder/burst_kept_pages_test: $(call burst_objects,holder/kept_pages holder/poll_words runner/present_pages)
$(BUILD)/tests/unit/sampler/burst/holder/burst_read_regions_test: $(call burst_objects,holder/read_regions)
$(BUILD)/tests/unit/sampler/burst/holder/burst_same_program_test: $(call burst_objects,holder/same_program)
$(BUILD)/tests/unit/sampler/burst/holder/burst_take_rows_test: $(call burst_objects,holder/take_rows)
$(BUILD)/tests/unit/sampler/burst/replayer/trace/burst_timing_samples_test: $(call burst_objects,replayer/trace/timing_samples)
$(BUILD)/tests/unit/sampler/burst/replayer/trace/burst_return_stack_test: $(call burst_objects,replayer/trace/return_stack)
$(BUILD)/tests/unit/sampler/burst/replayer/trace/burst_trace_position_test: $(call burst_objects,replayer/trace/trace_position)
$(BUILD)/tests/unit/sampler/burst/replayer/trace/burst_warm_caches_test: $(call burst_objects,replayer/trace/warm_caches replayer/translator/blocks)
$(BUILD)/tests/unit/sampler/burst/replayer/translator/translate_test: $(BUILD)/tests/unit/sampler/burst/replayer/translator/forms.o \
  $(addprefix $(BUILD)/sampler/burst/replayer/translator/,translate.o block_code.o blocks.o instruction.o register_slots.o signal_entry.o)
$(BUILD)/tests/unit/sampler/burst/replayer/translator/forms.o: $(BUILD)/%.o: %.S
	@mkdir -p $(@D)
	$(call say,AS,$<)$(CC) -c -o $@ $<

# The holder that we ship, with a replayer that was taken over; the image that comes first is the one that is linked.
TAKEN_OVER := $(BUILD)/tests/unit/sampler/burst/burst_taken_over
$(TAKEN_OVER)_replayer.o: $(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -I. -D_GNU_SOURCE $(BURST_CFLAGS) $(if $(filter 1,$(WERROR)),-Werror) -c -o $@ $<
$(TAKEN_OVER)_runner: $(filter-out %/replayer/replayer.o,$(BURST_OBJECTS)) $(TAKEN_OVER)_replayer.o
	$(call say,LD,$@)$(CC) $(BURST_LDFLAGS) -o $@ $^
$(TAKEN_OVER)_image.o: sampler/burst/runner_image.c $(TAKEN_OVER)_runner
	$(call say,CC,$<)$(CC) $(CPPFLAGS) -std=gnu11 $(WARN) -O2 -g -DCS_BURST_RUNNER='"$(TAKEN_OVER)_runner"' -c -o $@ $<
$(BUILD)/tests/unit/sampler/burst/burst_victim $(BUILD)/tests/unit/sampler/burst/burst_victim_pie: tests/unit/sampler/burst/burst_victim.c tests/unit/sampler/burst/burst_taken_over.h
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -I. $(WARN) -O2 -ffreestanding -fno-stack-protector -nostdlib $(if $(filter %_pie,$@),-fPIE -static-pie,-fno-pie -static -no-pie) -o $@ $<
$(TAKEN_OVER)_test $(BUILD)/tests/unit/sampler/burst/holder/burst_same_program_test: $(BUILD)/tests/unit/sampler/burst/burst_victim $(BUILD)/tests/unit/sampler/burst/burst_victim_pie
$(TAKEN_OVER)_test: $(TAKEN_OVER)_image.o
endif

# The unit names the program where it is installed.
SERVICE := $(BUILD)/sampler/cyclescope.service
GENERATED += $(SERVICE)
$(SERVICE): sampler/cyclescope.service
	@mkdir -p $(@D)
	@sed 's,/usr/local/,$(PREFIX)/,' $< > $@
INSTALLED += $(SERVICE):lib/systemd/system/cyclescope.service \
           sampler/cyclescope.sysusers:lib/sysusers.d/cyclescope.conf sampler/cyclescope.tmpfiles:lib/tmpfiles.d/cyclescope.conf \
           sampler/cyclescope.conf:share/doc/cyclescope/cyclescope.conf

# A program of the tests and benchmarks that has bursts made without a session.
$(BUILD)/tests/programs/burst_driver: $(LIB)
programs.burst_driver.libs = $(LIB) $(ALL_LIBS)
programs.burst_notice.libs = -lpthread
programs.burst_vectors.libs = -lpthread
