# cli/: main, one file a subcommand, the table of subcommands, formatting
MODULES += cli
cli.src  := $(filter-out cli/doctor/arch_%.c,$(wildcard cli/*.c cli/*/*.c)) cli/doctor/arch_$(firstword $(subst -, ,$(shell $(CC) -dumpmachine))).c
cli.pkgs := jansson
