# analysis/: from samples to procedures, frequencies, CPI and culprits
MODULES += analysis
analysis.pkgs := libdw libelf liblzma jansson
analysis.libs := -lZydis -ldl
