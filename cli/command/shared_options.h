/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that several subcommands have, each said once: a name, a letter, a value and a sentence mean the same
 * wherever they stand. A letter that stands here stands for nothing else anywhere; tests/unit/options_test.c checks
 * that of all tables. Sentences are for every subcommand that has the option; what one of them does besides is
 * in its own paragraphs. */
#ifndef CS_CLI_COMMAND_SHARED_OPTIONS_H
#define CS_CLI_COMMAND_SHARED_OPTIONS_H

/* clang-format off */

/* What is read, and where to. */
#define OPTION_STORE {"store", 'o', "DIR", "the profile store (else $CYCLESCOPE_STORE, ./cyclescope.store)"}
#define OPTION_LOG {"log", 0, "FILE", "a sample log: observe writes it, reports read it instead of a store"}
#define OPTION_SOURCE {"source", 0, "DIR", "where the sources are, if not where they were compiled"}

/* Which part of it. */
#define OPTION_EVENT {"event", 'e', "EVENT", "event by libpfm4's or perf's name, or @ipc, @branches, @caches, @tlb; again for more"}
#define OPTION_IMAGE {"image", 'i', "IMAGE", "only this image: path, base name, or six digits of its build-id"}
#define OPTION_PROCESS {"process", 0, "NAME", "only this process, thread or container (see prof --by)"}
#define OPTION_EPOCH {"epoch", 0, "EPOCH", "this recording: its name, -2 (the one before the newest), or all (else the newest)"}
#define OPTION_TAG {"tag", 0, "NAME", "which tag (else the first)"}

#define OPTION_NO_INLINES {"no-inlines", 0, NULL, "functions that were inlined are no frames of their own"}

/* How it is shown. */
#define OPTION_BY {"by", 'b', "WHAT", "what a row is of (see above; else procedure)"}
#define OPTION_TOP {"top", 'n', "N", "rows shown (10; 0 = all)"}
#define OPTION_ALL {"all", 0, NULL, "everything, not only what matters most"}
#define OPTION_OBSERVER_EFFECT {"observer-effect", 0, NULL, "the observer's own share of each event: observe counts it, hist shows it"}

#define OPTION_RATIO {"ratio", 0, "RATIO", "one counter by another: A/B, as llc-misses/instructions, or CPI (IPC comes by itself)"}
#define OPTION_RAW {"raw", 0, NULL, "the counters that ratios are made of, too"}

/* By which model. */
#define OPTION_CPU {"cpu", 0, "MODEL", "scheduling model by llvm-mca's name, or \"generic\" (else the recorded machine's)"}

/* What is recorded, and how often. */
#define OPTION_PID {"pid", 'p', "PID", "a process that runs already (record: several, as 12,34)"}
#define OPTION_WHOLE_MACHINE {"whole-machine", 'a', NULL, "everything that runs (root or CAP_PERFMON)"}
#define OPTION_FREQUENCY {"frequency", 'F', "HZ", "samples a second of each busy CPU (1000; the daemon has a budget)"}
#define OPTION_PERIOD {"period", 'c', "N", "from sample to sample: events, ns of cpu-clock, or the observer's TSC cycles"}
#define OPTION_BUDGET {"budget", 0, "PERCENT", "what the profiled work may lose, as 0.5%; the rate follows"}
#define OPTION_SECONDS {"seconds", 't', "SECONDS", "end after so long (else with the program, or at Ctrl-C)"}
#define OPTION_LABEL {"label", 0, "BY", "keep profiles apart by process, command, thread, container, cgroup or attribute=NAME"}
#define OPTION_DRIVER \
    {"driver", 0, "NAME", "bpf (counts in the kernel), ring (without rights), timers (a command's own), stops (ptrace) or auto"}
#define OPTIONS_CHAINS \
    {"chains", 'g', NULL, "call chains of all samples (the default)"}, \
    {"no-chains", 0, NULL, "don't"}
#define OPTION_WAITS \
    {"waits", 0, NULL, "time off the CPU: where, for what, ended by whom (to record it: root and Linux 5.8)"}
#define OPTIONS_INTERVALS \
    {"intervals", 0, "TIME", "also keep what happened in each interval of this length (see phases)"}, \
    {"intervals-size", 0, "BYTES", "bound of an epoch's intervals: beyond, they get longer (4M)"}
#define OPTIONS_BURSTS \
    {"bursts", 0, NULL, "follow threads through bursts of instructions (default with -- COMMAND)"}, \
    {"no-bursts", 0, NULL, "don't"}
#define OPTIONS_PATHS \
    {"paths", 0, NULL, "interpret short paths from registers at timer samples"}, \
    {"no-paths", 0, NULL, "don't"}
#define OPTIONS_KEEP \
    {"keep-age", 0, "TIME", "remove epochs last written longer ago: s, m, h, d; 0 = never"}, \
    {"keep-size", 0, "BYTES", "remove the oldest epochs until the rest fits: k, M, G"}

/* clang-format on */

#endif
