# store/: the profile store
MODULES += store
store.pkgs := libzstd libxxhash

# Test programs that use the store itself.
programs.store_filler.libs = $(LIB) $(ALL_LIBS)
$(BUILD)/tests/programs/store_filler: $(LIB)
