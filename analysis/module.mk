# analysis/: from samples to procedures, frequencies, CPI and culprits
MODULES += analysis
analysis.pkgs := libdw libelf jansson
