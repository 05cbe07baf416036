# cli/: main, one file a subcommand, the table of subcommands, formatting
MODULES += cli
cli.pkgs := jansson
cli.cflags += -DCS_BUILD='"$(BUILD)"'
