# cli/: main, one file a subcommand, the table of subcommands, formatting
MODULES += cli
# Not those that go through a store: profile, procedure, contexts, output.
COLD += $(addprefix cli/,command doctor exchange fleet html observe record top)
cli.arch := cli/doctor/arch_$(MACHINE).c
cli.src  := $(filter-out cli/doctor/arch_%.c,$(wildcard cli/*.c cli/*/*.c cli/*/*/*.c)) $(or $(wildcard $(cli.arch)),cli/doctor/arch_other.c)
cli.pkgs := jansson
