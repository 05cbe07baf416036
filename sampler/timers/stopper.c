/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One loop over what the kernel tells of traced threads and of expired timers. A signal of the program's own is handed on at
 * once; between two of its stops a thread runs untouched. */
#include "sampler/timers/stopper.h"
#include "sampler/perf/target.h"
#include "sampler/timers/exec_rights.h"
#include "sampler/timers/stopper_processes.h"
#include "sampler/timers/timers.h"
#include "store/base/clock.h"
#include "store/base/foreign.h"
#include "store/base/kernel_files.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COST_SECONDS 60e-6 /* of a stop, until some were measured */
#define END_MS 1000
#define STOPS_FEW 5 /* tell nothing */
#define TRIES_MAX 16
#define LOOKS_MAX 64
#define SPIN_NS 100000ULL
#define OPTIONS                                                                                              \
    (PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |                   \
     PTRACE_O_TRACESYSGOOD)
#define SYSTEM_CALL_STOP (SIGTRAP | 0x80)

/* ---- threads ---- */

static void look(struct stopper *s, unsigned process);

/* CPU time is looked at by the kernel's ticks alone, with which the program may be in step: the moment that counts comes up to a
 * tick later, at random. */
static void wait_a_moment(struct stopper *s, unsigned process)
{
    const struct itimerspec when = {.it_value = {0, 1 + (long)(stopper_draw(s) % s->tick_ns)}};
    if (timer_settime(s->processes[process].moment, 0, &when, NULL) != 0)
        look(s, process);
}

static struct thread *find(struct stopper *s, pid_t tid)
{
    for (size_t i = 0; i < s->n_threads; i++)
        if (s->threads[i].tid == tid)
            return &s->threads[i];
    return NULL;
}

static struct thread *add(struct stopper *s, pid_t tid, unsigned process)
{
    if (process == PROCESSES_MAX || s->n_threads == THREADS_MAX)
        return NULL;
    s->threads[s->n_threads] = (struct thread){.tid = tid, .process = process};
    return &s->threads[s->n_threads++];
}

static void forget(struct stopper *s, struct thread *t)
{
    unsigned process = t->process;
    *t = s->threads[--s->n_threads];
    for (size_t i = 0; i < s->n_threads; i++)
        if (s->threads[i].process == process)
            return;
    stopper_forget_process(&s->processes[process]);
}

/* The process of a thread that we weren't told of; 0: it is gone. */
static pid_t tgid_of(pid_t tid)
{
    char tgid[16];
    (void)cs_kernel_line(tgid, sizeof tgid, "Tgid:", "/proc/%d/status", (int)tid);
    return (pid_t)strtol(tgid, NULL, 10);
}

static bool runs(const struct process *p, pid_t tid)
{
    char text[256];
    cs_kernel_text(text, sizeof text, "/proc/%d/task/%d/stat", (int)p->pid, (int)tid);
    const char *state = cs_stat_field(text, 3);
    return state && *state == 'R';
}

static void stopped(struct stopper *s, pid_t tid, int status);

/* The thread stops within microseconds where it has a CPU, so it is waited for without sleeping; else the loop meets it. */
static void stop(struct stopper *s, struct thread *t)
{
    const uint64_t asked_ns = cs_monotonic_ns();
    const pid_t tid = t->tid;
    int status;
    t->asked_ns = asked_ns;
    if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0) {
        t->asked_ns = 0;
        return;
    }
    while (cs_monotonic_ns() - asked_ns < SPIN_NS) {
        pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
        if (got == tid && WIFSTOPPED(status))
            stopped(s, tid, status);
        else if (got == tid)
            forget(s, t);
        if (got != 0)
            return;
        sched_yield();
    }
}

/* One of those that run now stands for all of them. Of many threads some are looked at, which stand for the rest. */
static void look(struct stopper *s, unsigned process)
{
    struct process *p = &s->processes[process];
    struct thread *chosen = NULL;
    unsigned looked = 0, running = 0, of_process = 0;
    size_t from = s->n_threads ? stopper_draw(s) % s->n_threads : 0;
    for (size_t i = 0; i < s->n_threads; i++) {
        struct thread *t = &s->threads[(from + i) % s->n_threads];
        if (t->process != process)
            continue;
        of_process++;
        if (looked == LOOKS_MAX || t->asked_ns)
            continue;
        looked++;
        if (runs(p, t->tid) && stopper_draw(s) % ++running == 0)
            chosen = t;
    }
    if (!chosen && ++p->tries < TRIES_MAX) { /* what used the time sleeps: another moment is as good */
        wait_a_moment(s, process);
        return;
    }
    p->tries = 0;
    if (chosen) {
        unsigned stands_for = (unsigned)((uint64_t)running * of_process / looked);
        chosen->weight = stands_for < CS_TIMER_WEIGHT_MAX ? stands_for : CS_TIMER_WEIGHT_MAX;
    }
    stopper_arm(s, p, stopper_cpu_ns(p->pid), chosen ? chosen->weight : 1);
    if (chosen)
        stop(s, chosen);
}

CS_ORDER(ascending, uint64_t, cs_order(*a, *b))

/* The median of the last stops: where others want the CPUs a stop is long at times, but then the thread would have waited, too. */
static void pay(struct stopper *s, uint64_t held_ns)
{
    uint64_t sorted[STOPS_KEPT];
    s->held_ns[s->n_held++ % STOPS_KEPT] = held_ns;
    size_t n = s->n_held < STOPS_KEPT ? s->n_held : STOPS_KEPT;
    memcpy(sorted, s->held_ns, n * sizeof *sorted);
    cs_sort(sorted, n, ascending);
    const uint64_t median = sorted[n / 2];
    __atomic_store_n(&s->segment->sample_ns, median, __ATOMIC_RELAXED);
    if (s->budget <= 0 || n < STOPS_FEW)
        return;
    double mean = (double)median / s->budget;
    s->mean_ns = mean < 1e6 ? 1000000 : mean > 1e9 ? 1000000000 : (uint64_t)mean;
}

/* The thread is stopped, as asked. */
static void take(struct stopper *s, struct thread *t)
{
    struct process *p = &s->processes[t->process];
    struct stopped_thread *stopped = &s->stopped;
    pid_t tid = t->tid;
    uint64_t asked_ns = t->asked_ns;
    const unsigned weight = t->weight;
    t->asked_ns = 0;
    bool noted = stopped_thread_note(stopped, tid, s->segment->with_frames ? p->memory : -1);
    uint64_t used = stopper_cpu_ns(p->pid);
    (void)ptrace(PTRACE_CONT, tid, 0, 0);
    uint64_t now = cs_monotonic_ns();
    pay(s, now - asked_ns);
    if (noted && now - p->tables_ns > TABLES_NS && !process_tables_find(&p->tables, stopped->frame.pc))
        stopper_read_tables(s, p);
    struct cs_timer_slot *slot = stopper_reserve(s, CS_TIMER_SAMPLE, p->pid, tid);
    if (slot && noted) {
        enum cs_unwind_end end = CS_UNWIND_END_COMPLETE;
        slot->pc = slot->more.frames[0] = stopped->frame.pc;
        slot->weight = weight;
        slot->cpu_ns = used > p->used_ns ? used - p->used_ns : 0;
        p->used_ns = used > p->used_ns ? used : p->used_ns;
        if (s->segment->with_frames)
            slot->n_frames =
                (uint32_t)stopped_thread_chain(stopped, &p->tables, slot->more.frames, CS_TIMER_FRAMES, &end);
        slot->chain_end = (uint32_t)end;
        stopper_publish(s, slot);
    } else if (slot) {
        __atomic_fetch_add(&s->segment->dropped, 1, __ATOMIC_RELAXED);
    }
}

/* ---- what the kernel tells ---- */

static void forget_all(struct stopper *s, unsigned process)
{
    for (size_t i = s->n_threads; i-- > 0;)
        if (s->threads[i].process == process)
            forget(s, &s->threads[i]);
}

/* The others of its process are gone; the one that execs has the process's number now. */
static void began_anew(struct stopper *s, pid_t pid)
{
    unsigned process = stopper_process_of(s, pid);
    if (!find(s, pid))
        (void)add(s, pid, process);
    for (size_t i = s->n_threads; i-- > 0;)
        if (s->threads[i].process == process && s->threads[i].tid != pid)
            forget(s, &s->threads[i]);
    if (find(s, pid))
        find(s, pid)->asked_ns = 0; /* another thread's exec took what it was asked for */
    if (process == PROCESSES_MAX)
        return;
    stopper_open_memory(&s->processes[process]);
    process_tables_fini(&s->processes[process].tables);
    s->processes[process].tables_ns = 0;
    stopper_tell(s, CS_TIMER_BEGIN, pid, pid);
}

static void stopped(struct stopper *s, pid_t tid, int status)
{
    int event = status >> 16, number = WSTOPSIG(status);
    unsigned long other = 0;
    struct thread *t = find(s, tid);
    if (!t) { /* a clone's first stop may be told before its parent's */
        pid_t pid = tgid_of(tid);
        t = pid ? add(s, tid, stopper_process_of(s, pid)) : NULL;
    }
    switch (event) {
    case 0: /* a signal of its own, or what exec_let_go had no time for */
        (void)ptrace(PTRACE_CONT, tid, 0, number == SYSTEM_CALL_STOP ? 0 : number);
        return;
    case PTRACE_EVENT_STOP:
        if (number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU) {
            if (t)
                t->asked_ns = 0;
            (void)ptrace(PTRACE_LISTEN, tid, 0, 0); /* it stays stopped, as somebody wanted */
            return;
        }
        if (t && t->asked_ns) {
            take(s, t);
            return;
        }
        break;
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
        if (ptrace(PTRACE_GETEVENTMSG, tid, 0, &other) == 0 && t)
            stopper_tell(s, CS_TIMER_FORK, (pid_t)other, s->processes[t->process].pid);
        break;
    case PTRACE_EVENT_EXEC:
        if (exec_let_go(tid)) {
            if (t && t->process < PROCESSES_MAX)
                forget_all(s, t->process);
            return;
        }
        began_anew(s, tid);
        break;
    default:
        break;
    }
    (void)ptrace(PTRACE_CONT, tid, 0, 0);
}

static void listen_to_kernel(struct stopper *s)
{
    int status;
    for (pid_t tid; (tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0;) {
        struct thread *t = find(s, tid);
        if (WIFSTOPPED(status))
            stopped(s, tid, status);
        else if (t)
            forget(s, t);
    }
}

/* ---- beginning and end ---- */

/* Threads may start others meanwhile: until a pass finds none. 0 or -errno. */
static int seize(struct stopper *s, pid_t pid)
{
    int rc = 0;
    for (bool found = true; found;) {
        pid_t *threads;
        struct cs_error ignored;
        int n = cs_threads_of(pid, &threads, &ignored);
        found = false;
        for (int i = 0; i < n; i++) {
            if (find(s, threads[i]) || s->n_threads == THREADS_MAX)
                continue;
            if (ptrace(PTRACE_SEIZE, threads[i], 0, OPTIONS) == 0)
                found = add(s, threads[i], stopper_process_of(s, pid)) != NULL;
            else if (errno != ESRCH && rc == 0)
                rc = -errno;
        }
        if (n >= 0)
            free(threads);
    }
    return rc;
}

/* Tables are read before anybody is traced: a large image takes its time, in which a signal would wait. */
static int begin(struct stopper *s, const pid_t *pids, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        pid_t *below;
        int n_below = cs_processes_below(pids[i], &below);
        rc = n_below > 0 ? 0 : -ESRCH;
        for (int k = 0; k < n_below; k++) {
            unsigned process = stopper_process_of(s, below[k]);
            if (process < PROCESSES_MAX)
                stopper_read_tables(s, &s->processes[process]);
            int refused = seize(s, below[k]);
            if (process < PROCESSES_MAX)
                stopper_open_memory(&s->processes[process]);
            rc = k == 0 && rc == 0 ? refused : rc;
        }
        if (n_below > 0)
            free(below);
    }
    return rc;
}

static _Noreturn void run(struct stopper *s, const pid_t *pids, size_t n, const sigset_t *signals, int ready)
{
    const struct timespec second = {1, 0};
    siginfo_t info;
    const pid_t parent = getppid();
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)prctl(PR_SET_NAME, "cyclescope-stop");
    (void)setpriority(PRIO_PROCESS, 0,
                      -20); /* who is stopped waits for us; where it isn't allowed, so be it */
    int rc = begin(s, pids, n);
    if (write(ready, &rc, sizeof rc) != (ssize_t)sizeof rc || rc != 0)
        _exit(1);
    close(ready);
    while (getppid() == parent) {
        int number = sigtimedwait(signals, &info, &second);
        if (number == SIGTERM)
            break;
        listen_to_kernel(s);
        unsigned process = number == TIMER_SIGNAL ? (unsigned)info.si_value.sival_int : 2 * PROCESSES_MAX;
        if (process < PROCESSES_MAX && s->processes[process].pid)
            wait_a_moment(s, process);
        else if (process < 2 * PROCESSES_MAX && s->processes[process % PROCESSES_MAX].pid)
            look(s, process % PROCESSES_MAX);
    }
    listen_to_kernel(s); /* no signal of theirs is in our hands when the kernel lets them go */
    _exit(0);
}

pid_t cs_stopper_start(struct cs_timer_segment *segment, const pid_t *pids, size_t n, double budget,
                       struct cs_error *err)
{
    assert(n > 0 && budget >= 0);
    struct stopper *s = calloc(1, sizeof *s);
    sigset_t signals, before;
    int ready[2], rc = -EIO;
    if (!s || pipe2(ready, O_CLOEXEC) != 0) {
        free(s);
        return cs_fail(err, ENOMEM, "out of memory for the process that takes samples");
    }
    s->segment = segment;
    s->budget = budget;
    s->mean_ns = budget > 0 ? (uint64_t)(COST_SECONDS / budget * 1e9) : segment->period_ns;
    s->tick_ns = (uint64_t)(1e9 / cs_timers_ticks());
    s->random = cs_monotonic_ns() * 0x9E3779B97F4A7C15ULL | 1;
    for (unsigned i = 0; i < PROCESSES_MAX; i++)
        s->processes[i].memory = -1;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, TIMER_SIGNAL);
    pthread_sigmask(SIG_BLOCK, &signals, &before); /* the child has them blocked from its first moment */
    pid_t child = fork();
    int code = errno;
    if (child == 0) {
        (void)signal(SIGINT, SIG_IGN); /* the terminal's: its parent ends it in order */
        (void)signal(SIGQUIT, SIG_IGN);
        (void)signal(SIGHUP, SIG_IGN);
        close(ready[0]);
        run(s, pids, n, &signals, ready[1]);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    free(s);
    close(ready[1]);
    if (child > 0 && read(ready[0], &rc, sizeof rc) != (ssize_t)sizeof rc)
        rc = -EIO;
    close(ready[0]);
    if (child > 0 && rc == 0)
        return child;
    if (child > 0)
        (void)waitpid(child, NULL, 0);
    code = child < 0 ? code : -rc;
    if (code == ESRCH)
        return cs_fail(err, ESRCH, "there is no process %d", (int)pids[0]);
    return cs_fail(err, code,
                   "process %d can't be sampled by stopping it (%s): it must be yours, not traced by "
                   "another, and /proc/sys/kernel/yama/ptrace_scope 0",
                   (int)pids[0], strerror(code));
}

void cs_stopper_end(pid_t stopper)
{
    const struct timespec moment = {0, 1000000};
    (void)kill(stopper, SIGTERM);
    for (int i = 0; i < 2000; i++) {
        if (waitpid(stopper, NULL, WNOHANG) != 0)
            return;
        nanosleep(&moment, NULL);
    }
    (void)cs_end_child(stopper, END_MS, &(int){0}, NULL);
}
