/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the profiler and the burst runner (sampler/burst/, a program of its own) share. It is one memory
 * mapping with a command and its answer, and a socket whose one-byte messages say "go" and "done". Plain
 * structs only; both sides are built together. The profiler trusts nothing that it reads here: the runner
 * executed foreign code.
 *
 *     profiler: fill command, send 'b' ──► runner: burst, fill outcome and rows, send 'd' ──► profiler: read
 */
#pragma once

#include <stdint.h>

/* Everything of the runner lies in so many bytes from its image's start on, which is drawn at random; the rest of
 * its address space belongs to the target's pages. */
#define CS_BURST_SPAN 0x000040000000ULL

/* Descriptors that the runner inherits. */
enum {
    CS_BURST_FD_CONTROL = 3,
    CS_BURST_FD_SHARED = 4,
    CS_BURST_FD_MEMORY = 5,   /* /proc/PID/mem */
    CS_BURST_FD_PAGES = 6,    /* /proc/PID/pagemap, which tells no numbers of pages */
    CS_BURST_FD_MAPS = 7,     /* /proc/PID/maps */
    CS_BURST_FD_PROCESS = 8,  /* /proc/PID, by which all of these are opened */
    CS_BURST_FD_VECTOR = 9,   /* /proc/PID/auxv, opened before the three above */
    CS_BURST_FD_DECODER = 10, /* libZydis's shared object */
    CS_BURST_FD_FIRST_FREE = 11,
};

/* With this the runner ends when its program ended, or became another one, before it could begin. */
#define CS_BURST_EXIT_GONE 79
/* With this, when its program is another user's. */
#define CS_BURST_EXIT_OTHERS 83
/* With this, when the replayer didn't begin in time. */
#define CS_BURST_EXIT_LATE 84

/* How a burst ended (name for counters, sentence for people). FULL is the only one that ran its whole length.
 */
#define CS_BURST_CAUSES(X)                                                                                   \
    X(FULL, "full", "ran its whole length")                                                                  \
    X(SYSCALL, "system-call", "reached a system call")                                                       \
    X(FAULT, "fault", "accessed memory that the program itself could not")                                   \
    X(UNREADABLE, "unreadable-page", "accessed a page that can't be copied (device memory)")                 \
    X(CLOCK_PAGE, "clock-page", "read the kernel's clock page (vDSO)")                                       \
    X(UNDECODED, "undecoded", "reached bytes that are no known instruction")                                 \
    X(TRAP, "trap", "reached a breakpoint or another trapping instruction")                                  \
    X(RANDOM, "random", "reached a random-number instruction")                                               \
    X(TRANSACTION, "transaction", "reached a hardware transaction")                                          \
    X(UNSUPPORTED, "unsupported", "reached an instruction that can't be replayed outside the program")       \
    X(FOOTPRINT, "footprint", "accessed too many pages")                                                     \
    X(TIME, "time", "reached the limit of the pause time")                                                   \
    X(CODE_CHANGED, "code-changed", "ran code that changed during the burst")                                \
    X(COLLISION, "collision", "accessed addresses that the runner itself uses")                              \
    X(TRACE_FULL, "trace-full", "filled its trace")

/* Why there was no burst at all. */
#define CS_BURST_SKIPS(X)                                                                                    \
    X(NONE, "none", "there was a burst")                                                                     \
    X(GONE, "gone", "the thread ended")                                                                      \
    X(ASLEEP, "asleep", "the thread slept before it could be paused")                                        \
    X(TRACED, "traced", "a debugger is attached")                                                            \
    X(DENIED, "denied", "not permitted")                                                                     \
    X(BLOCKED, "signals-taken", "the thread blocks or handles every signal that could pause it unnoticed")   \
    X(NOT_USER, "not-in-user-mode", "the thread was still on its way out of the kernel")                     \
    X(CHILDREN, "children", "the thread has child processes, whose end would wake other threads")            \
    X(IGNORED, "signals-ignored", "the program ignores signals, and the pause would wake its other threads") \
    X(COMPAT, "32-bit", "the thread runs 32-bit code")                                                       \
    X(NO_EVENT, "no-event", "the kernel gave no event that can pause a thread")                              \
    X(RIGHTS, "other-rights", "the thread's rights differ from those of its program at the start")           \
    X(PROGRAM, "other-program", "the process had executed another program")                                  \
    X(OTHERS, "other-users", "the program belongs to another user (run the profiler as that user)")          \
    X(REAL_TIME, "real-time", "the thread has a real-time policy (--burst-real-time includes these)")        \
    X(CROWDED, "too-many-programs", "the limit of programs that are traced at once was reached")             \
    X(NEW, "too-new", "the process was younger than 0.1 s, or this was its first trigger")                   \
    X(BUDGET, "over-budget", "bursts had spent their share of the budget (--budget)")                        \
    X(TAKEN, "address-taken", "the program uses the addresses that the runner needs")                        \
    X(SLOW, "too-slow",                                                                                      \
      "the replay took longer than a thread may be paused: a busy, throttled or emulated CPU")               \
    X(STUCK, "held", "the runner paused the thread for longer than it may, and was ended")                   \
    X(LATE, "not-ready", "the runner wasn't ready in time: a busy, throttled or emulated CPU")               \
    X(REPLAYER, "replayer-ended", "the replayer process ended by itself")                                    \
    X(MEMORY, "too-much-memory", "the runners reached their memory limit")                                   \
    X(BROKEN, "broken", "the runner failed: it ended by itself")

#define CS_BURST_CAUSE_ENUM(id, name, sentence) CS_BURST_##id,
enum cs_burst_cause { CS_BURST_CAUSES(CS_BURST_CAUSE_ENUM) CS_BURST_CAUSE_N };
#define CS_BURST_SKIP_ENUM(id, name, sentence) CS_BURST_SKIP_##id,
enum cs_burst_skip { CS_BURST_SKIPS(CS_BURST_SKIP_ENUM) CS_BURST_SKIP_N };

enum cs_burst_kind {
    CS_BURST_COND,
    CS_BURST_IJUMP,
    CS_BURST_ICALL,
    CS_BURST_RET,
    CS_BURST_JUMP,
    CS_BURST_CALL
};

struct cs_burst_edge_row {
    uint64_t from, to; /* addresses of the branch and of what ran next */
    uint32_t count, count_512, count_4096;
    uint32_t kind; /* enum cs_burst_kind */
};

/* Columns as in store/table/burst_schemas.h, without the offset. */
#define CS_BURST_MEMORY_COLUMNS 23
#define CS_BURST_BRANCH_COLUMNS 8
#define CS_BURST_LINE_COLUMNS 6
#define CS_BURST_DRAWS 16 /* CS_FOOTPRINT_DRAWS */
struct cs_burst_memory_row {
    uint64_t addr;
    uint32_t column[CS_BURST_MEMORY_COLUMNS];
    uint32_t crowded; /* accesses to near lines whose set has had too many others since */
    uint64_t
        drawn[CS_BURST_DRAWS]; /* addresses, drawn uniformly from all its accesses, as many as there were */
};
struct cs_burst_branch_row {
    uint64_t addr;
    uint32_t column[CS_BURST_BRANCH_COLUMNS];
};
struct cs_burst_line_row {
    uint64_t addr;
    uint32_t column[CS_BURST_LINE_COLUMNS];
};

#define CS_BURST_EDGES_MAX 8192
#define CS_BURST_ROWS_MAX 8192

struct cs_burst_command {
    uint32_t tid;
    uint32_t instructions;   /* 1 to CS_BURST_INSTRUCTIONS_MAX */
    uint32_t lead_ns;        /* user time of the thread between asking and stopped */
    uint32_t timeout_ms;     /* how long to wait for it */
    uint32_t slack_ms;       /* beyond that, until the replayer is ended: it is late on a slow machine */
    uint32_t stopped_max_us; /* end the burst when the thread has been stopped for so long */
    uint32_t
        stopped_first_us; /* ... in a program's first bursts, whose code is new to the runner; 0: the same */
    uint32_t verify;      /* afterwards single-step the thread over the same instructions and compare */
    uint32_t timed_instructions;   /* go on for so many and time how the thread runs them; 0: not timed */
    uint32_t keep_out_of_idle;     /* the CPU of the stopped thread: it has nothing else to do */
    uint32_t timed_stopped_max_us; /* of a timed burst, instead of stopped_max_us */
    uint32_t urgent_is_quiet;      /* a SIGURG that nobody sent does nothing to it (holder/alarm.c) */
    uint32_t real_time_too;        /* follow threads of the policies FIFO, RR and DEADLINE, too */
};
#define CS_BURST_INSTRUCTIONS_MAX 65536
#define CS_BURST_SLACK_MS 20
#define CS_BURST_SLACK_MS_MAX                                                                                \
    80 /* with the 4 ms of a burst below what a runner is killed for (runner_process.c) */

/* A timed interval of the thread's own run, between two times at which its position in the trace is known. */
struct cs_burst_timed_interval {
    uint64_t hot_branch; /* address of the branch that it executed most */
    uint32_t after_ns;   /* from the thread's release to the interval, in the thread's time */
    uint32_t ns;         /* its length, without what looking cost */
    uint64_t instructions;
};
#define CS_BURST_INTERVALS_MAX 2

struct cs_burst_outcome {
    uint32_t skip, cause; /* enum cs_burst_skip, enum cs_burst_cause */
    uint32_t error; /* errno behind a skip; ESRCH: this runner's program is gone, or it can't be followed */
    uint32_t instructions, blocks; /* that rows are from */
    uint32_t followed;             /* instructions that edges are from: of a timed burst more */
    uint64_t start;                /* address of the first instruction */
    uint64_t
        hot_branch; /* of the branch executed most in the first of them; of the start where there is none */
    uint32_t stopped_ns, copy_ns, run_ns;
    uint32_t pages_copied, pages_faulted, blocks_translated;
    uint32_t verified, differed; /* of verify: blocks equal; 1 when one differed */
    uint64_t differed_at, differed_want;
    uint64_t stop_at; /* address where the burst ended */
    uint32_t n_edges, n_memory, n_branches, n_lines;
    uint32_t rows_dropped;
    uint32_t denormal; /* 1: arithmetic met denormal numbers */
    uint32_t n_intervals;
    uint32_t timing_tried, timing_found, timing_ambiguous,
        timing_beyond;       /* 1: the thread was looked at, and what became of that */
    uint32_t timing_cost_ns; /* of the thread's time that it took */
    struct cs_burst_timed_interval interval[CS_BURST_INTERVALS_MAX];
};

struct cs_burst_shared {
    volatile uint32_t stopped; /* 1 while a thread is stopped: the profiler's watchdog looks at it */
    volatile uint32_t
        replayer; /* PID of the process that runs foreign code, to account for its CPU time; 0 when the runner has reaped it */
    struct cs_burst_command command;
    struct cs_burst_outcome outcome;
    struct cs_burst_edge_row edges[CS_BURST_EDGES_MAX];
    struct cs_burst_memory_row memory[CS_BURST_ROWS_MAX];
    struct cs_burst_branch_row branches[CS_BURST_ROWS_MAX];
    struct cs_burst_line_row lines[CS_BURST_ROWS_MAX];
};
