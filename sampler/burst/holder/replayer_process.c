/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts the replayer and takes turns with it. It is a copy of ourselves from before anything foreign ran, in
 * an address space of its own. It gives up its rights before it looks at the first page.
 *
 * Whatever it does, nobody waits for it for long: it is killed when it exceeds its time, and its death is seen
 * within a millisecond. */
#include "sampler/burst/holder/replayer_process.h"
#include "sampler/burst/holder/kept_pages.h"
#include "sampler/burst/holder/read_regions.h"
#include "sampler/burst/holder/same_program.h"
#include "sampler/burst/replayer/replayer.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#define START_MS 4000
#define END_TRIES 100 /* of 0.1 ms */
#define CPUS_MAX 4096

static int32_t replayer; /* 0: none */
static uint32_t asked;

static volatile uint32_t *reported_pid; /* its PID, to the profiler; 0: its time counts as ours from now on */

static void reaped(void)
{
    replayer = 0;
    if (reported_pid)
        *reported_pid = 0;
}

static bool dead(void)
{
    if (replayer && SYS(__NR_wait4, replayer, NULL, WNOHANG, NULL) == replayer)
        reaped();
    return !replayer;
}

void replayer_end(void)
{
    static const struct timespec pause = {0, 100000};
    if (!replayer)
        return;
    SYS(__NR_kill, replayer, SIGKILL);
    for (unsigned i = 0; i < END_TRIES && !dead(); i++)
        SYS(__NR_nanosleep, &pause, NULL);
    reaped(); /* or it hangs on a page that nobody serves: the thread must not wait for that */
}

static void bound(struct replay_told *told)
{
    if (told->cause >= CS_BURST_CAUSE_N)
        told->cause = CS_BURST_UNSUPPORTED;
    if (told->n_snapshots > SNAPSHOTS_MAX)
        told->n_snapshots = SNAPSHOTS_MAX;
    if (told->n_steps > STEPS_MAX)
        told->n_steps = STEPS_MAX;
}

enum cs_burst_skip replayer_ask(enum replay_kind kind, uint32_t limit_ms, struct replay_told *told)
{
    if (dead())
        return CS_BURST_SKIP_REPLAYER;
    uint64_t until = clock_of(CLOCK_MONOTONIC) + limit_ms * 1000000ULL;
    boundary->ask.kind = kind;
    __atomic_store_n(&boundary->question, ++asked, __ATOMIC_RELEASE);
    SYS(__NR_futex, &boundary->question, FUTEX_WAKE, 1, NULL, NULL, 0);
    for (uint32_t answer; (answer = __atomic_load_n(&boundary->answer, __ATOMIC_ACQUIRE)) != asked;) {
        struct timespec rest = {0, 1000000};
        bool slept = SYS(__NR_futex, &boundary->answer, FUTEX_WAIT, answer, &rest, NULL, 0) == -ETIMEDOUT;
        if (slept && dead())
            return CS_BURST_SKIP_REPLAYER;
        if (clock_of(CLOCK_MONOTONIC) > until) { /* it may wake us as often as it likes */
            replayer_end();
            return kind == REPLAY_RUN ? CS_BURST_SKIP_SLOW : CS_BURST_SKIP_LATE;
        }
    }
    memcpy(told, &boundary->told, sizeof *told);
    bound(told);
    return CS_BURST_SKIP_NONE;
}

int replayer_start(struct cs_burst_shared *shared)
{
    uint32_t uid, gid, own_uid = (uint32_t)SYS(__NR_geteuid, 0);
    struct replay_told told;
    int code = program_keep(shared->command.tid, &uid, &gid);
    if (code)
        return code;
    /* The kernel brings an event's signal (alarm.c) to threads of root's or of one's own alone. */
    if (own_uid && uid != own_uid)
        return CS_BURST_EXIT_OTHERS;
    long at = SYS(__NR_mmap, boundary, sizeof *boundary, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != (long)boundary)
        return 80;
    if (regions_refresh() < 0) /* among which the replayer looks for places of its own */
        return CS_BURST_EXIT_GONE;
    int32_t parent = (int32_t)SYS(__NR_getpid, 0);
    long pid = SYS(__NR_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        replayer_main(parent, uid, gid);
    if (pid < 0)
        return 81;
    replayer = (int32_t)pid;
    reported_pid = &shared->replayer;
    *reported_pid = (uint32_t)pid;
    enum cs_burst_skip failed = replayer_ask(REPLAY_START, START_MS, &told);
    return failed == CS_BURST_SKIP_NONE ? 0 : failed == CS_BURST_SKIP_LATE ? CS_BURST_EXIT_LATE : 82;
}

/* We come first: what runs foreign code can't keep the CPU from who ends it (give_up_rights.c bounds that,
 * too). */
void replayer_real_time(bool on)
{
    const struct sched_param ours = {.sched_priority = on ? 2 : 0}, its = {.sched_priority = on};
    int policy = (on ? SCHED_FIFO : SCHED_OTHER) | SCHED_RESET_ON_FORK;
    SYS(__NR_sched_setscheduler, 0, policy, &ours);
    if (replayer)
        SYS(__NR_sched_setscheduler, replayer, policy, &its);
}

void replayer_rest(void)
{
    struct replay_told told;
    replayer_ask(REPLAY_REST, START_MS, &told);
    kept_pages_rest();
}

/* A sleeping thread that is woken on another CPU takes 50 us and more to come; on ours, 2. An error: it stays
 * where it is. */
void replayer_beside_us(void)
{
    static uint64_t mask[CPUS_MAX / 64];
    static unsigned last = CPUS_MAX;
    unsigned own = 0;
    SYS(__NR_getcpu, &own, NULL, NULL);
    if (own >= CPUS_MAX || own == last || !replayer)
        return;
    memset(mask, 0, sizeof mask);
    mask[own / 64] = 1ULL << own % 64;
    if (SYS(__NR_sched_setaffinity, replayer, sizeof mask, mask) == 0)
        last = own;
}
