# bench/: every figure that this project claims, re-measured. bench/NAME.c becomes build/bench/NAME.
BENCH_SRC   := $(wildcard bench/*.c)
BENCH_PROGRAMS := $(BENCH_SRC:%.c=$(BUILD)/%)

$(BENCH_PROGRAMS): $(BUILD)/bench/%: $(BUILD)/bench/%.o $(LIB)
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) $(LDFLAGS) -o $@ $< $(LIB) $(ALL_LIBS) $(bench.$*.libs)
.SECONDARY: $(BENCH_SRC:%.c=$(BUILD)/%.o)

.PHONY: bench bench-quick
bench: all ## measure every claimed figure (long)
	@BUILD=$(BUILD) bench/_all.py
bench-quick: all ## the same with smaller runs
	@BUILD=$(BUILD) bench/_all.py --quick

.PHONY: bench-accuracy
bench-accuracy: all ## frequencies against callgrind's counts: runs of a minute, five sets (hours)
	@BUILD=$(BUILD) bench/_accuracy_truth.py
	@for row in instructions absolute edges confidence; do \
	  BUILD=$(BUILD) CS_ACCURACY_SECONDS=60 CS_ACCURACY_SETS=5 bench/run accuracy-$$row; done
.PHONY: bench-compare
bench-compare: all ## what got slower since a revision: make bench-compare BASE=REV
	@BUILD=$(BUILD) bench/_compare.py $(BASE)
