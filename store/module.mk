# store/: the profile store
MODULES += store
store.pkgs := libzstd libxxhash

# Test programs that use the store itself.
programs.store_filler.libs = $(LIB) $(ALL_LIBS)
$(BUILD)/tests/programs/store_filler: $(LIB)

# Failures are injected into what the library calls: see the test.
STORE_WRAPPED := open read write fsync rename mkdir close malloc calloc realloc strdup opendir readdir flock fstat stat
$(BUILD)/tests/unit/store/store_failure_test: LDFLAGS += $(STORE_WRAPPED:%=-Wl,--wrap=%)
