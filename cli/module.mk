# cli/: main, one file a subcommand, the table of subcommands, formatting
MODULES += cli
cli.pkgs := jansson
