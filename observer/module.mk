# observer/: the SHIM-style observer thread
MODULES += observer
observer.pkgs := hwloc libzstd libxxhash
