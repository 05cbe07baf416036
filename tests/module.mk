# tests/: unit (cmocka), integration (programs that print "ok"/"not ok", exit 77 = skipped), fuzz targets.
# Bursts are x86-64 code, and these two tests are written in its assembler.
X86_UNIT := tests/unit/sampler/burst/% tests/unit/analysis/interpret/path_test.c tests/unit/observer/source/rdpmc_test.c
UNIT_SRC := $(filter-out $(if $(filter-out x86_64,$(MACHINE)),$(X86_UNIT)),$(sort $(shell find tests/unit -name "*_test.c")))
UNIT     := $(UNIT_SRC:%.c=$(BUILD)/%)
INTEGRATION := $(wildcard tests/integration/*.sh)

$(BUILD)/tests/unit/%_test: $(BUILD)/tests/unit/%_test.o $(LIB)
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(ALL_LIBS) -lcmocka

# Programs that tests observe or sample: tests/programs/x.c -> build/tests/programs/x. Those that link our library need the
# sanitizers' runtime where the library was built with one.
TEST_PROGRAMS += $(patsubst %.c,$(BUILD)/%,$(wildcard tests/programs/*.c))
$(BUILD)/tests/programs/%: tests/programs/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) -std=gnu11 $(WARN) -O2 -g -fno-omit-frame-pointer -MMD -MP -o $@ $< $(if $(filter %.a,$(programs.$*.libs)),$(if $(SAN),-fsanitize=$(SAN))) $(programs.$*.libs)

programs.without_rights.libs = -lseccomp
programs.waiting.libs = -lpthread
programs.replaced_code.libs = -ldl
programs.bottleneck.libs = -lpthread
programs.shared_lines.libs = -lpthread
programs.waiting_disk.libs = -lpthread
programs.exec_while_traced.libs = -lpthread

# Programs that attack who profiles them: tests/hostile/x.c -> build/tests/hostile/x
HOSTILE := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/hostile/*.c))
TEST_PROGRAMS += $(HOSTILE)
$(HOSTILE): $(BUILD)/%: %.c tests/hostile/hostile.h
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -I. -D_GNU_SOURCE -std=gnu11 $(WARN) $(if $(filter 1,$(WERROR)),-Werror) -O2 -g -o $@ $< -lpthread -ldl

.SECONDARY: $(UNIT:%=%.o)
.PHONY: check check-quick check-unit check-integration test-programs
test-programs: $(TEST_PROGRAMS)
check: all $(UNIT) $(TEST_PROGRAMS) $(BENCH_PROGRAMS) ## install, build, run all tests
	@BUILD=$(BUILD) tests/run $(UNIT) $(INTEGRATION)
check-quick: all $(UNIT) $(TEST_PROGRAMS) ## unit and integration tests without the long ones
	@BUILD=$(BUILD) CS_QUICK=1 tests/run $(UNIT) $(INTEGRATION)
check-unit: $(UNIT) ## unit tests alone
	@BUILD=$(BUILD) tests/run $(UNIT)
check-integration: all $(TEST_PROGRAMS) ## integration tests alone
	@BUILD=$(BUILD) tests/run $(INTEGRATION)

# What has threads: unit tests of sampler/, observer/ and analysis/schedule/, and two programs that run them all.
THREADS := $(patsubst %.c,$(BUILD)/%,$(shell grep -lE '^.include "(sampler|observer|analysis/schedule)/' $(UNIT_SRC)))
.PHONY: check-threads fuzz-quick chaos check-real
check-threads: all $(THREADS) $(TEST_PROGRAMS) ## tests of what has threads
	@BUILD=$(BUILD) CS_QUICK=1 tests/run $(THREADS) tests/integration/paths.sh tests/integration/observe.sh
# All unit tests, and the integration tests that read what strangers wrote. Left out in continuous integration for their time: those
# that record for long, whose parts the unit tests have; the libc-free runner of bursts is never built with a sanitizer.
SANITIZED := bad_input hostile_files hostile_names store_bad_files image_identity observe
.PHONY: check-sanitized
check-sanitized: all $(UNIT) $(TEST_PROGRAMS)
	@BUILD=$(BUILD) CS_QUICK=1 tests/run $(UNIT) $(SANITIZED:%=tests/integration/%.sh)
fuzz-quick: ## each fuzz target for 10 seconds, those that read for root for 35
	@BUILD=$(BUILD) tests/fuzz/all
chaos: all $(TEST_PROGRAMS) ## kill, stop and freeze our processes 2,000 times: nothing of the profiled changes
	@BUILD=$(BUILD) tests/chaos 2000
REAL_SECONDS ?= 600
check-real: all ## ten minutes (REAL_SECONDS) of each real program that is installed, under bursts: redis, PostgreSQL, javac, ...
	@BUILD=$(BUILD) tests/real/run $(REAL_SECONDS)
