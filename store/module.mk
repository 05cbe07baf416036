# store/: the profile store
MODULES += store
store.pkgs := libzstd libxxhash
