# analysis/: from samples to procedures, frequencies, CPI and culprits
MODULES += analysis
analysis.pkgs := libdw libelf liblzma jansson zlib
analysis.libs := -lZydis -ldl
