/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One table, so that the examples can be read and run together: tests/integration/command_line.sh checks that each parses. */
#include "cli/tasks.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

const struct task tasks[] = {
    {"record", "record what runs"},
    {"look", "look where the time went"},
    {"explain", "explain why it is slow"},
    {"observe", "observe within a microsecond"},
    {"exchange", "exchange with other tools and machines"},
    {"keep", "keep recordings"},
    {NULL, NULL},
};

/* clang-format off */
static const struct {
    const char *subcommand, *task, *examples;
} entries[] = {
    {"doctor", "record",
     "cyclescope doctor\n    what can be measured here, and what to change\n"},
    {"record", "record",
     "cyclescope record -- ./program --its --options\n    a program, from start to end\n"
     "cyclescope record -p 1234 -t 10\n    a process that runs, for ten seconds\n"
     "cyclescope record --label thread -- ./program\n    threads apart: see prof --by thread\n"
     "cyclescope record --burst-rate 30 -- ./program\n    more evidence for calc\n"},
    {"count", "record",
     "cyclescope count -- ./program --its --options\n    how many instructions each function executes\n"},
    {"daemon", "record",
     "cyclescope daemon start --budget 0.5% -o /var/lib/profiles\n    the whole machine, for months\n"
     "cyclescope daemon status\n    what it does and what it costs\n"},
    {"top", "record",
     "cyclescope top\n    what runs now\n"
     "cyclescope top -p 1234\n    one process\n"},
    {"prof", "look",
     "cyclescope prof\n    the hottest functions of the newest recording\n"
     "cyclescope prof --by line\n    the hottest source lines\n"
     "cyclescope prof --epoch -2\n    the recording before\n"
     "cyclescope prof --by thread -o STORE\n    of a recording with --label thread\n"},
    {"tree", "look",
     "cyclescope tree\n    who called what\n"},
    {"callers", "look",
     "cyclescope callers malloc\n    who called malloc, and for how much of the time\n"},
    {"callees", "look",
     "cyclescope callees main\n    what main called\n"},
    {"waits", "look",
     "cyclescope record --waits -- ./program\ncyclescope waits\n    what its threads waited for, and who ended it\n"},
    {"list", "look",
     "cyclescope list\n    the hottest function, line by line\n"
     "cyclescope list parser.c --source ~/src\n    a whole source file\n"
     "cyclescope list -d parse\n    instructions\n"},
    {"phases", "look",
     "cyclescope record --intervals 100ms -- ./program\ncyclescope phases\n    what the program did when\n"},
    {"diff", "look",
     "cyclescope diff\n    the last two recordings: what changed\n"
     "cyclescope diff before.store after.store --by line\n    several runs on each side, line by line\n"
     "cyclescope diff --waits\n    which wait grew\n"},
    {"gate", "look",
     "cyclescope gate --base-command ./old -- ./new\n    is the new one slower, and where\n"
     "cyclescope gate --base before.store --head after.store\n    of recordings that exist\n"
     "cyclescope gate --results before.json after.json\n    of benchmark results\n"},
    {"stats", "look",
     "cyclescope stats\n    what varies between the recordings of a store\n"},
    {"report", "look",
     "cyclescope report\n    all of it as one page, report.html\n"
     "cyclescope report --html - -o STORE\n    to standard output\n"},
    {"explain", "explain",
     "cyclescope explain\n    what costs most, why, and what to try\n"
     "cyclescope explain parse --json\n    one function, for a program\n"},
    {"calc", "explain",
     "cyclescope calc\n    why the hottest function is slow\n"
     "cyclescope calc parse --lines\n    with its source lines\n"},
    {"sum", "explain",
     "cyclescope sum\n    all cycles by cause\n"},
    {"edges", "explain",
     "cyclescope edges parse\n    which way its branches go\n"},
    {"cfg", "explain",
     "cyclescope cfg parse --dot > parse.dot\n    the control-flow graph, for dot -Tsvg\n"},
    {"accuracy", "explain",
     "valgrind --tool=callgrind --dump-instr=yes --collect-jumps=yes ./program\n"
     "cyclescope accuracy STORE callgrind.out.1234\n    how good the estimates are\n"},
    {"observe", "observe",
     "cyclescope observe -- ./program\n    its signals and counters from the CPU next door\n"
     "cyclescope observe -p 1234 -t 5 --log run.log\n    a process that runs; every sample is kept\n"},
    {"hist", "observe",
     "cyclescope hist --log run.log\n    how the first counter's rate was distributed\n"},
    {"tags", "observe",
     "cyclescope tags\n    time and rates under each value of a signal\n"},
    {"timeline", "observe",
     "cyclescope timeline\n    what each thread of a recording with waits did when\n"
     "cyclescope timeline --log run.log --time 1..2\n    one second of an observed run\n"},
    {"signals", "observe",
     "cyclescope signals -p 1234\n    what a process publishes now\n"},
    {"import", "exchange",
     "cyclescope import perf.data\n    a recording of perf, into the store\n"},
    {"export", "exchange",
     "cyclescope export --to profile.pb.gz\n    for pprof and Grafana\n"
     "cyclescope export -f folded --to out.folded\n    for flamegraph.pl\n"
     "cyclescope export -f llvm --image program --to program.afdo\n    for clang -fprofile-sample-use\n"},
    {"fleet", "exchange",
     "cyclescope fleet prof --server http://server:8123/profiles\n    where the time of many machines goes\n"},
    {"mcp", "exchange",
     "cyclescope mcp --store ~/profiles --allow /usr/local/bin/server\n    for an agent: reports, and recordings of one program\n"},
    {"store", "keep",
     "cyclescope store ls\n    what is in the store\n"
     "cyclescope store verify\n    every file, to its last byte\n"
     "cyclescope store gc --keep-age 30d --keep-size 1G\n    remove old recordings\n"},
};
/* clang-format on */

const char *task_of(const char *subcommand)
{
    assert(subcommand);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].subcommand, subcommand) == 0)
            return entries[i].task;
    return NULL;
}

const char *examples_of(const char *subcommand)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].subcommand, subcommand) == 0)
            return entries[i].examples;
    return NULL;
}
