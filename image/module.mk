# image/: what a binary is: ELF, DWARF, build-ids, procedures, source lines, instructions
MODULES += image
