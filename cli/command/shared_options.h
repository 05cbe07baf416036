/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that several subcommands have, each said once: a name, a letter, a value and a sentence mean the same
 * wherever they stand. A letter that stands here stands for nothing else anywhere; tests/unit/cli/command/options_test.c checks
 * that of all tables. Sentences are for every subcommand that has the option; what one of them does besides is
 * in its own paragraphs. */
#pragma once

/* clang-format off */

/* What is read, and where to. */
#define OPTION_STORE {"store", 'o', "DIR", "the profile store (else $CYCLESCOPE_STORE, ./cyclescope.store)"}
#define OPTION_LOG {"log", 0, "FILE", "a sample log: observe writes it; reports read it instead of a store"}
#define OPTION_SOURCE {"source", 0, "DIR", "where the sources are, if not where they were compiled"}

/* Which part of it. */
#define OPTION_EVENT {"event", 'e', "EVENT", "event by libpfm4's or perf's name, or @ipc, @branches, @caches, @tlb; may be repeated"}
#define OPTION_IMAGE {"image", 'i', "IMAGE", "only this image: path, base name, or six digits of its build-id"}
#define OPTION_PROCESS {"process", 0, "NAME", "only this process, thread or container, as prof --by shows it"}
#define OPTION_EPOCH {"epoch", 0, "EPOCH", "which recording: its name, -2 (the one before the newest), or all (default: the newest)"}
#define OPTIONS_TIMES \
    {"from", 0, "TIME", "only the time since TIME: 14:40, \"2026-11-28 14:40\", or -2h (two hours ago)"}, \
    {"until", 0, "TIME", "only the time before TIME, written as for --from; except in export, --to is the same"}, \
    {"last", 0, "TIME", "only the last 2h, 10m, ..."}
#define OPTIONS_WHEN OPTION_EPOCH, OPTIONS_TIMES
#define OPTIONS_WHAT OPTION_EVENT, OPTION_IMAGE, OPTIONS_WHEN
#define OPTION_TAG {"tag", 0, "NAME", "which tag (default: the first)"}

#define OPTION_NO_INLINES {"no-inlines", 0, NULL, "show inlined functions as part of their callers"}

/* How it is shown. */
#define OPTION_BY {"by", 'b', "WHAT", "what a row shows: the values are above"}
#define OPTION_TOP {"top", 'n', "N", "number of rows (10; 0 = all)"}
#define OPTION_ALL {"all", 0, NULL, "show everything, not only the most important rows"}
#define OPTION_VERBOSE {"verbose", 'v', NULL, "show more than the answer (see above)"}
#define OPTION_OBSERVER_EFFECT {"observer-effect", 0, NULL, "also the observer's own share of each event: observe counts it, hist shows it"}

#define OPTION_RATIO {"ratio", 0, "RATIO", "divide one counter by another: A/B, such as llc-misses/instructions, or CPI (IPC is always shown)"}
#define OPTION_RAW {"raw", 0, NULL, "also show the two counters of each ratio"}

/* By which model. */
#define OPTION_NO_EXPERIMENTS {"no-experiments", 0, NULL, "do not run hot loops by themselves for their static cycles: the model has them"}
#define OPTION_CPU {"cpu", 0, "MODEL", "scheduling model by llvm-mca's name, or \"generic\" (default: the recorded machine's)"}

/* What is recorded, and how often. */
#define OPTION_PID {"pid", 'p', "PID", "a running process (record: several, as 12,34)"}
#define OPTION_WHOLE_MACHINE {"whole-machine", 'a', NULL, "the whole machine (root or CAP_PERFMON)"}
#define OPTION_FREQUENCY {"frequency", 'F', "HZ", "samples per second on each busy CPU (1000; the daemon has a budget)"}
#define OPTION_PERIOD {"period", 'c', "N", "period between samples: events, ns of cpu-clock, or TSC cycles of the observer"}
#define OPTION_BUDGET {"budget", 0, "PERCENT", "how much of its time the profiled work may lose, such as 0.5%; sets the rate"}
#define OPTION_SECONDS {"seconds", 't', "SECONDS", "end after this time (default: when the program ends, or at Ctrl-C)"}
#define OPTION_LABEL {"label", 0, "BY", "separate profiles by process, command, thread, container, cgroup or attribute=NAME"}
#define OPTION_DRIVER \
    {"driver", 0, "NAME", "bpf (counts in the kernel), ring (no privileges), timers (of a command), stops (ptrace) or auto"}
#define OPTIONS_CHAINS \
    {"chains", 'g', NULL, "record call chains of all samples (the default)"}, \
    {"no-chains", 0, NULL, "do not record call chains"}
#define OPTION_WAITS \
    {"waits", 0, NULL, "time off the CPU: where, for what, and who ended it (record needs root and Linux 5.8 for it)"}
#define OPTIONS_INTERVALS \
    {"intervals", 0, "TIME", "also keep the samples of each interval of this length (see phases)"}, \
    {"intervals-size", 0, "BYTES", "limit for the intervals of a recording; beyond it they get longer (4M)"}
#define OPTIONS_BURSTS \
    {"bursts", 0, NULL, "trace threads for short bursts of instructions (default with -- COMMAND)"}, \
    {"no-bursts", 0, NULL, "do not record bursts"}
#define OPTIONS_PATHS \
    {"paths", 0, NULL, "interpret short paths from registers at timer samples"}, \
    {"no-paths", 0, NULL, "do not record paths"}
#define OPTIONS_KEEP \
    {"keep-age", 0, "TIME", "remove recordings last written longer ago than this: s, m, h, d; 0 = never"}, \
    {"keep-size", 0, "BYTES", "remove the oldest recordings until the rest fits: k, M, G"}

/* clang-format on */
