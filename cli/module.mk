# cli/: main, one file a subcommand, the table of subcommands, formatting
MODULES += cli
cli.src  := $(filter-out cli/arch_%.c,$(wildcard cli/*.c)) cli/arch_$(firstword $(subst -, ,$(shell $(CC) -dumpmachine))).c
cli.pkgs := jansson
cli.cflags += -DCS_BUILD='"$(BUILD)"'
