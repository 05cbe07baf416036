/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stopping a thread without its noticing. A one-shot cpu-clock event with attr.sigtrap and exclude_kernel
 * raises SIGTRAP while the thread runs its own code; we trace the thread just then (PTRACE_SEIZE doesn't stop
 * it), so the signal stops it for us and is thrown away on PTRACE_DETACH. No system call is ever interrupted:
 * the event can't fire in the kernel. The thread is traced for the fraction of a millisecond that this takes.
 *
 * A thread that goes to sleep before the event fires can't be detached (that needs a stop), but the kernel
 * detaches the threads of a tracer that ends: so each burst has a thread of its own, the stopper, which in
 * that case just ends.
 *
 * The order that keeps the target alive: seize, then arm; disarm, then see that the thread sleeps and no
 * SIGTRAP is on its way, then end. If we die while the thread is stopped nothing happens to it: the kernel
 * forgets a signal whose stop was waited for. */
#include "sampler/burst/runner/stop_thread.h"
#include "sampler/burst/runner/code_pages.h"
#include "sampler/burst/runner/keep_cpu_awake.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/pages.h"
#include "sampler/burst/runner/regions.h"
#include "sampler/burst/runner/rights.h"
#include "sampler/burst/runner/signal_entry.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"
#include "sampler/burst/runner/timing.h"
#include "sampler/burst/runner/trace_to_rows.h"
#include "sampler/burst/runner/translate.h"
#include "sampler/burst/runner/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/elf.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

enum { SEIZE = 0x4206, DETACH = 17, CONT = 7, LISTEN = 0x4208, GETREGSET = 0x4204, GETSIGINFO = 0x4202 };
#define WALL 0x40000000
#define EVENT_STOP 128
#define TRAP_PERF_CODE 6
#define FIRST_BURSTS 16
#define LEAVE_US 50                  /* to end a burst that takes too long, and to let the thread go */
#define COOKIE 0x6379636c6573636fULL /* "cyclesco": our SIGTRAP and not somebody's */

static uint8_t stopper_stack[65536] __attribute__((aligned(4096)));
static uint8_t signal_stack[131072] __attribute__((aligned(4096)));
static uint8_t xstate[16384] __attribute__((aligned(64)));
static volatile int32_t stopper_tid, give_up, released;
static struct cs_burst_shared *shared;
static uint64_t asked_ns, asked_ticks; /* when the burst was asked for */

static uint64_t clock_ns(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

static int open_event(uint32_t tid, uint32_t lead_ns)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = lead_ns,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .sigtrap = 1,
        .remove_on_exec = 1,
        .sig_data = COOKIE,
    };
    return (int)SYS(__NR_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* A word of /proc/self-like text: the value after `field` in the thread's status, in base 16. */
static bool status_bit(uint32_t tid, const char *field, unsigned bit, bool *known)
{
    static char text[4096];
    *known = false;
    if (!read_thread_file(tid, "/status", text, sizeof text))
        return false;
    size_t size = strlen(field);
    for (const char *p = text; *p; p++)
        if (!memcmp(p, field, size)) {
            uint64_t value = 0;
            for (p += size; *p && *p != '\n'; p++)
                if (*p >= '0' && *p <= '9')
                    value = value << 4 | (uint64_t)(*p - '0');
                else if (*p >= 'a' && *p <= 'f')
                    value = value << 4 | (uint64_t)(*p - 'a' + 10);
            *known = true;
            return value >> bit & 1;
        }
    return false;
}

struct siginfo_head {
    int32_t number, error, code, padding;
    uint64_t addr, data;
    uint32_t type, flags;
    uint8_t rest[88];
};

static void skip(enum cs_burst_skip why, long error)
{
    shared->outcome.skip = why;
    shared->outcome.error = (uint32_t)(error < 0 ? -error : error);
}

/* How fast the TSC is, by the time since the burst was asked for. */
static uint64_t ticks_a_us(uint64_t ns, uint64_t ticks)
{
    uint64_t passed_ns = ns - asked_ns, rate = passed_ns ? (ticks - asked_ticks) * 1000 / passed_ns : 0;
    return rate >= 100 && rate <= 10000 ? rate : 3000; /* else these are two CPUs' that don't agree */
}

/* The thread stands before us. */
static void do_burst(uint64_t stopped_ns, uint64_t stopped_ticks)
{
    struct cs_burst_command *command = &shared->command;
    struct cs_burst_outcome *outcome = &shared->outcome;
    static struct registers registers;
    static struct run run;
    if (command->keep_out_of_idle)
        idle_keeper_begin();
    uint32_t tid = command->tid;
    struct iovec general = {&registers, sizeof registers}, vectors = {xstate, sizeof xstate};
    if (SYS(__NR_ptrace, GETREGSET, tid, NT_PRSTATUS, &general) < 0 ||
        SYS(__NR_ptrace, GETREGSET, tid, NT_X86_XSTATE, &vectors) < 0)
        return skip(CS_BURST_SKIP_GONE, 0);
    if (registers.cs != 0x33)
        return skip(CS_BURST_SKIP_COMPAT, 0);
    if ((int64_t)registers.orig_rax >= 0)
        return skip(CS_BURST_SKIP_NOT_USER, 0);
    if (!rights_equal(tid))
        return skip(CS_BURST_SKIP_RIGHTS, ESRCH);
    static unsigned met;
    bool first = command->stopped_first_us && met < FIRST_BURSTS;
    met++;
    pages_many = command->timed_instructions > command->instructions && !first && !command->verify;
    outcome->start = registers.rip;
    outcome->pages_copied = pages_refresh((pid_t)tid); /* any thread names the memory */
    uint64_t copied_ns = clock_ns();
    outcome->copy_ns = (uint32_t)(copied_ns - stopped_ns);
    blocks_translated = 0;
    bool timed = pages_many;
    uint32_t stopped_us = first   ? command->stopped_first_us
                          : timed ? command->timed_stopped_max_us
                                  : command->stopped_max_us;
    stopped_us = stopped_us > LEAVE_US ? stopped_us - LEAVE_US : 0;
    uint64_t room = trace_room(timed ? command->timed_instructions : command->instructions);
    run_burst(&registers, xstate, vectors.iov_len, timed ? timing_trace_room(room) : room,
              stopped_ticks + stopped_us * ticks_a_us(stopped_ns, stopped_ticks), &run);
    outcome->run_ns = (uint32_t)(clock_ns() - copied_ns);
    outcome->cause = run.cause;
    outcome->stop_at = run.next;
    outcome->pages_faulted = pages_faulted;
    outcome->blocks_translated = blocks_translated;
    if (command->verify)
        verify(outcome, (int)tid, &run, command->instructions);
    if (timed)
        timing_begin(&run, &registers, tid, ticks_a_us(clock_ns(), tsc()));
    idle_keeper_end();
    long detached = SYS(__NR_ptrace, DETACH, tid, 0, 0);
    shared->stopped = 0;
    released = 1;
    outcome->stopped_ns = (uint32_t)(clock_ns() - stopped_ns);
    if (detached < 0) { /* killed meanwhile, perhaps by an exec: whose memory did we read? */
        pages_settle();
        return skip(CS_BURST_SKIP_GONE, 0);
    }
    if (timed)
        timing_watch(tid);
    if (!code_unchanged()) {
        outcome->cause = CS_BURST_CODE_CHANGED;
        translations_flush();
        code_forget();
        pages_settle();
        return;
    }
    trace_to_rows(shared, &run, &registers);
    if (timed)
        timing_end(outcome, &run, &registers, xstate, vectors.iov_len);
    pages_settle();
}

/* Waits for the event's stop; forwards whatever else happens to the thread. */
static void wait_and_burst(void)
{
    uint32_t tid = shared->command.tid;
    uint64_t near = clock_ns() + 2 * (uint64_t)shared->command.lead_ns + 100000;
    for (;;) {
        int status;
        long got = 0;
        /* Awake, while the stop is near: to wake up from sleep takes 0.1 ms, which the thread would be stopped
         * longer. */
        while (got == 0 && clock_ns() < near)
            got = SYS(__NR_wait4, tid, &status, WALL | WNOHANG, NULL);
        if (got == 0)
            got = SYS(__NR_wait4, tid, &status, WALL, NULL);
        uint64_t stopped_ns = clock_ns(), stopped_ticks = tsc();
        if (got == -EINTR && give_up)
            return skip(CS_BURST_SKIP_ASLEEP, 0);
        if (got == -EINTR)
            continue;
        if (got < 0 || !WIFSTOPPED(status))
            return skip(CS_BURST_SKIP_GONE, 0);
        int number = WSTOPSIG(status);
        if (status >> 16 == EVENT_STOP) {
            /* A job-control stop: leave it stopped. */
            SYS(__NR_ptrace, number == SIGTRAP ? CONT : LISTEN, tid, 0, 0);
            continue;
        }
        struct siginfo_head signal = {0};
        bool ours = number == SIGTRAP && SYS(__NR_ptrace, GETSIGINFO, tid, 0, &signal) >= 0 &&
                    signal.code == TRAP_PERF_CODE && signal.data == COOKIE;
        if (!ours) {
            SYS(__NR_ptrace, CONT, tid, 0, number);
            continue;
        }
        shared->stopped = 1;
        shared->outcome.skip = CS_BURST_SKIP_NONE;
        if (give_up)
            skip(CS_BURST_SKIP_ASLEEP, 0);
        else
            do_burst(stopped_ns, stopped_ticks);
        idle_keeper_end();
        if (shared->stopped) {
            SYS(__NR_ptrace, DETACH, tid, 0, 0);
            shared->stopped = 0;
            released = 1;
            shared->outcome.stopped_ns = (uint32_t)(clock_ns() - stopped_ns);
        }
        return;
    }
}

static volatile int stopper_event;

static void stop_and_follow(void)
{
    struct cs_burst_command *command = &shared->command;
    signals_thread(signal_stack, sizeof signal_stack);
    if (command->timed_instructions)
        timing_open(command->tid);
    long seized = SYS(__NR_ptrace, SEIZE, command->tid, 0, 0);
    if (seized == -EPERM)
        return skip(CS_BURST_SKIP_TRACED, seized);
    if (seized < 0)
        return skip(seized == -ESRCH ? CS_BURST_SKIP_GONE : CS_BURST_SKIP_DENIED, seized);
    int event = open_event(command->tid, command->lead_ns);
    if (event < 0)
        return skip(event == -ESRCH ? CS_BURST_SKIP_GONE : CS_BURST_SKIP_NO_EVENT, event);
    long armed = SYS(__NR_ioctl, event, PERF_EVENT_IOC_REFRESH, 1);
    stopper_event = event; /* only now: who switches it off must not come before */
    if (armed < 0)
        return skip(CS_BURST_SKIP_NO_EVENT, 0);
    wait_and_burst();
}

static int stopper(void)
{
    stop_and_follow();
    timing_close();
    return 0;
}

/* A number, so many fields on. */
static uint64_t field(const char *p, unsigned number)
{
    uint64_t value = 0;
    for (unsigned i = 0; *p && i < number; p++)
        i += *p == ' ';
    for (; *p >= '0' && *p <= '9'; p++)
        value = value * 10 + (uint64_t)(*p - '0');
    return value;
}

/* Where a thread is: asleep in the kernel or not, its user time and its CPU. False when it is gone. */
static bool look(uint32_t tid, bool *asleep, uint64_t *user_ticks, uint64_t *cpu)
{
    enum { USER_TIME = 11, CPU = 36 }; /* fields after the state */
    static char text[512];
    if (!read_thread_file(tid, "/stat", text, sizeof text))
        return false;
    const char *state = NULL;
    for (const char *p = text; *p; p++) /* the name before the state may hold anything: after the last ')' */
        if (*p == ')' && p[1] == ' ')
            state = p + 2;
    if (!state)
        return false;
    *asleep = *state != 'R';
    *user_ticks = field(state, USER_TIME);
    *cpu = field(state, CPU);
    return true;
}

/* Can no SIGTRAP of ours be on its way to the thread any more? */
static bool quiet(uint32_t tid)
{
    bool known, pending = status_bit(tid, "\nSigPnd:", SIGTRAP - 1, &known);
    return !known || !pending;
}

void burst(struct cs_burst_shared *with)
{
    shared = with;
    memset(&shared->outcome, 0, sizeof shared->outcome);
    shared->outcome.skip = CS_BURST_SKIP_BROKEN;
    asked_ns = clock_ns();
    asked_ticks = tsc();
    int map = regions_refresh();
    if (map < 0)
        return skip(map == -2 ? CS_BURST_SKIP_TAKEN : CS_BURST_SKIP_GONE, ESRCH);
    if (map == 1) {
        pages_forget_changed();
        if (code_moved()) {
            translations_flush();
            code_forget();
        }
    }
    if (translations_full()) {
        translations_flush();
        code_forget();
    }
    bool known, blocked = status_bit(shared->command.tid, "\nSigBlk:", SIGTRAP - 1, &known);
    if (!known || blocked)
        return skip(known ? CS_BURST_SKIP_BLOCKED : CS_BURST_SKIP_GONE, 0);
    if (shared->command.timed_instructions)
        timing_prepare();
    bool disarmed = false;
    uint64_t user_ticks = 0, ticks_then = 0, cpu = 0;
    bool sleeps;
    if (!look(shared->command.tid, &sleeps, &user_ticks, &cpu))
        return skip(CS_BURST_SKIP_GONE, ESRCH);
    idle_keeper_place((uint32_t)cpu, shared->command.keep_out_of_idle);
    give_up = released = 0;
    stopper_event = -1;
    start_thread(stopper, stopper_stack + sizeof stopper_stack - 64, &stopper_tid);
    uint64_t until = clock_ns() + (uint64_t)shared->command.timeout_ms * 1000000;
    for (int32_t tid; (tid = stopper_tid) != 0;) {
        uint64_t time = clock_ns();
        struct timespec rest = {0, 0};
        if (!give_up) {
            uint64_t ns = until > time ? until - time : 0;
            rest.tv_sec = (long)(ns / 1000000000);
            rest.tv_nsec = (long)(ns % 1000000000);
        } else {
            rest.tv_nsec = 2000000;
        }
        long woken = SYS(__NR_futex, &stopper_tid, FUTEX_WAIT, tid, &rest, NULL, 0);
        if (released)
            until = clock_ns() + 2000000; /* the stopper is at work on what it has seen */
        if (woken != -ETIMEDOUT || shared->stopped || released)
            continue;
        if (!give_up) {
            /* An event that has fired becomes a signal on the way back to user code, and a thread on that way
             * is runnable, however long it waits for a CPU. So a thread is let go only when it was seen, the
             * event being off, asleep or well on in its own code. Never switched on again: the stopper may
             * have had its stop. */
            bool asleep = true, there = look(shared->command.tid, &asleep, &user_ticks, &cpu);
            if (stopper_event < 0 || (there && !disarmed && !asleep)) {
                until = clock_ns() + 2000000;
                continue; /* it will stop, or fall asleep */
            }
            if (!disarmed) {
                SYS(__NR_ioctl, stopper_event, PERF_EVENT_IOC_DISABLE, 0);
                ticks_then = user_ticks;
            }
            disarmed = true;
            there = look(shared->command.tid, &asleep, &user_ticks, &cpu);
            if (there && !asleep && user_ticks < ticks_then + 2) {
                until = clock_ns() + 2000000;
                continue;
            }
            give_up = 1;
            sleep_us(200); /* a signal that was raised before the event was off is now a stop, or pending */
        }
        if (quiet(shared->command.tid))
            SYS(__NR_tgkill, SYS(__NR_getpid, 0), tid, SIGUSR1);
    }
    if (stopper_event >= 0)
        SYS(__NR_close, stopper_event);
}
