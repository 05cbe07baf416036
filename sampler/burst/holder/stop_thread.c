/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stopping a thread without its noticing. We trace the thread (PTRACE_SEIZE doesn't stop it) and set an alarm
 * (alarm.h) that goes off while it runs its own code. The alarm is a signal that does nothing. A traced
 * thread stops for it all the same, and PTRACE_DETACH throws it away. No system call is interrupted. The
 * thread is traced for the fraction of a millisecond that this takes.
 *
 * A thread that goes to sleep before the alarm can't be detached, because that needs a stop. But the kernel
 * detaches the threads of a tracer that ends. So each burst has a thread of its own, the stopper, which in
 * that case just ends.
 *
 * A thread may become another program meanwhile: exec_again.c.
 *
 * Whoever dies, and whenever: the kernel lets the thread go on, and of the alarm nothing is left.
 *
 * Signals that come while we trace it, and that it ignores, stop it, too, perhaps in a system call. Some calls
 * then return EINTR although no handler runs. Such a result becomes ERESTARTNOHAND, by which the kernel makes
 * the call again unless a handler runs: what the thread would have seen without us. SIGCHLD isn't sent to that
 * thread only, and would end calls of others. A thread that has children is left alone (alarm.h). */
#include "sampler/burst/holder/stop_thread.h"
#include "sampler/burst/holder/alarm.h"
#include "sampler/burst/holder/displaced_thread.h"
#include "sampler/burst/holder/exec_again.h"
#include "sampler/burst/holder/keep_cpu_awake.h"
#include "sampler/burst/holder/kept_pages.h"
#include "sampler/burst/holder/read_regions.h"
#include "sampler/burst/holder/replayer_process.h"
#include "sampler/burst/holder/same_program.h"
#include "sampler/burst/holder/take_rows.h"
#include "sampler/burst/holder/verify.h"
#include "sampler/burst/holder/watch_thread.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"

#include <errno.h>
#include <linux/elf.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

enum { SEIZE = 0x4206, DETACH = 17, CONT = 7, LISTEN = 0x4208, GETREGSET = 0x4204, GETSIGINFO = 0x4202 };
enum { POKE_REGISTER = 6, INTERRUPT = 0x4207 }; /* POKE_REGISTER: PTRACE_POKEUSER */
#define ANY_OF_MINE (0x40000000 | 0x20000000)   /* __WALL, __WNOTHREAD */
#define EVENT_EXEC 4
#define EVENT_STOP 128
#define OPTIONS (1 << EVENT_EXEC | 1) /* to stop at exec; system calls stop it as such */
#define DEADLINE 6                    /* SCHED_DEADLINE */
#define RESTART_NO_HANDLER 514        /* ERESTARTNOHAND, the kernel's own */
#define FIRST_BURSTS 16
#define WAITS_FOR_CPU 5 /* times as long we wait for a thread that could run */
#define EXEC_MS 5000    /* more for one that becomes another program */
#define LOOKS_MAX 500   /* 2 ms apart, at a thread that a signal was sent to and that has no CPU to stop on */
#define AWAKE_LOOKS 20  /* counts for so many: one that is awake, and perhaps on its way to stop */
#define LEAVE_US 50     /* to end a burst that takes too long, and to let the thread go */

static uint8_t stopper_stack[65536] __attribute__((aligned(4096)));
static volatile int32_t stopper_tid, give_up, released, at_exec, leaving;
static volatile int stopper_event;
static int quiet_signal; /* the alarm's */
static bool deliver;     /* it must reach the thread, too */
static bool exec_is_seen;
static struct others_woken woken;
static struct cs_burst_shared *shared;
static uint64_t asked_ns, asked_ticks; /* when the burst was asked for */

static uint64_t clock_ns(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

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

#define STOPPED_US_MAX 60000
#define PREPARE_MS 3000
#define FINISH_MS 5000

/* How long the thread may stand. */
static uint32_t stopped_us_max(const struct cs_burst_command *command, bool first, bool timed)
{
    uint32_t us = first   ? command->stopped_first_us
                  : timed ? command->timed_stopped_max_us
                          : command->stopped_max_us;
    us = us < STOPPED_US_MAX ? us : STOPPED_US_MAX;
    return us > LEAVE_US ? us - LEAVE_US : 0;
}

/* Beyond its deadline: then the replayer is killed, and the thread let go. */
static uint32_t slack_ms(const struct cs_burst_command *command)
{
    uint32_t ms = command->slack_ms > CS_BURST_SLACK_MS ? command->slack_ms : CS_BURST_SLACK_MS;
    return ms < CS_BURST_SLACK_MS_MAX ? ms : CS_BURST_SLACK_MS_MAX;
}

/* The registers of the thread, and those of its vector units, for the replayer. */
static bool read_registers(uint32_t tid, struct registers *registers)
{
    struct iovec general = {registers, sizeof *registers},
                 vectors = {boundary->xstate, sizeof boundary->xstate};
    if (SYS(__NR_ptrace, GETREGSET, tid, NT_PRSTATUS, &general) < 0 ||
        SYS(__NR_ptrace, GETREGSET, tid, NT_X86_XSTATE, &vectors) < 0) {
        skip(CS_BURST_SKIP_GONE, 0);
        return false;
    }
    if (registers->cs != 0x33 || (int64_t)registers->orig_rax >= 0) {
        skip(registers->cs != 0x33 ? CS_BURST_SKIP_COMPAT : CS_BURST_SKIP_NOT_USER, 0);
        return false;
    }
    boundary->ask.registers = *registers;
    boundary->ask.xstate_bytes = vectors.iov_len;
    return true;
}

/* The thread stands before us. */
static void do_burst(uint64_t stopped_ns, uint64_t stopped_ticks)
{
    struct cs_burst_command *command = &shared->command;
    struct cs_burst_outcome *outcome = &shared->outcome;
    struct replay_ask *ask = &boundary->ask;
    struct registers registers;
    struct replay_told told;
    uint32_t tid = command->tid;
    if (command->keep_out_of_idle)
        idle_keeper_begin();
    if (woken.by_children && has_children(tid))
        return skip(CS_BURST_SKIP_CHILDREN, 0);
    if (!read_registers(tid, &registers))
        return;
    static unsigned met;
    bool first = command->stopped_first_us && met < FIRST_BURSTS;
    met++;
    bool timed = command->timed_instructions > command->instructions && !first && !command->verify;
    outcome->start = registers.rip;
    uint32_t us = stopped_us_max(command, first, timed);
    ask->deadline = stopped_ticks + us * ticks_a_us(stopped_ns, stopped_ticks);
    outcome->pages_copied = kept_pages_copy(tid, ask->deadline);
    uint64_t copied_ns = clock_ns();
    outcome->copy_ns = (uint32_t)(copied_ns - stopped_ns);
    ask->timed = timed;
    ask->verify = command->verify;
    uint64_t a_us = ask->ticks_a_us = ticks_a_us(copied_ns, tsc());
    ask->warming = timed && warming_begin();
    ask->elsewhere = timed && idle_keeper_elsewhere();
    enum cs_burst_skip failed = replayer_ask(REPLAY_RUN, us / 1000 + slack_ms(command), &told);
    if (failed != CS_BURST_SKIP_NONE)
        return skip(failed, EPIPE);
    outcome->run_ns = (uint32_t)(clock_ns() - copied_ns);
    outcome->cause = told.cause;
    outcome->stop_at = told.next;
    outcome->pages_faulted = told.pages_faulted;
    outcome->blocks_translated = told.blocks_translated;
    if (command->verify)
        verify(outcome, (int)tid, told.n_steps);
    if (timed)
        watch_begin(&told, a_us);
    idle_keeper_end();
    long detached = SYS(__NR_ptrace, DETACH, tid, 0, deliver ? quiet_signal : 0);
    shared->stopped = 0;
    released = 1;
    outcome->stopped_ns = (uint32_t)(clock_ns() - stopped_ns);
    replayer_real_time(false);
    if (detached < 0) { /* killed meanwhile, perhaps by an exec: whose memory did we read? */
        replayer_ask(REPLAY_FORGET, FINISH_MS, &told);
        return skip(CS_BURST_SKIP_GONE, 0);
    }
    if (timed)
        watch_thread(tid);
    uint64_t watched_ns = clock_ns() - stopped_ns;
    enum cs_burst_skip other = program_look(tid);
    if (other != CS_BURST_SKIP_NONE) {
        replayer_ask(REPLAY_FORGET, FINISH_MS, &told);
        return skip(other, 0);
    }
    failed = replayer_ask(REPLAY_FINISH, FINISH_MS, &told);
    if (failed != CS_BURST_SKIP_NONE)
        return skip(failed, EPIPE);
    take_rows(shared, &boundary->rows, timed, watched_ns);
}

/* The thread stands. True: in a system call; one that ended only because of that is made again. */
static bool in_call(uint32_t tid)
{
    struct registers registers;
    struct iovec general = {&registers, sizeof registers};
    if (SYS(__NR_ptrace, GETREGSET, tid, NT_PRSTATUS, &general) < 0 || general.iov_len != sizeof registers ||
        (int64_t)registers.orig_rax < 0)
        return false;
    if ((int64_t)registers.rax == -EINTR &&
        registers.orig_rax != __NR_close) /* that has closed all the same */
        SYS(__NR_ptrace, POKE_REGISTER, tid, offsetof(struct registers, rax), -RESTART_NO_HANDLER);
    return true;
}

/* Others may send the same signal, and find the thread in a system call. */
static bool is_alarm(uint32_t tid, int number)
{
    struct {
        int32_t number, error, code, rest[29];
    } signal = {0};
    if (SYS(__NR_ptrace, GETSIGINFO, tid, 0, &signal) < 0)
        return false;
    bool ours = number == quiet_signal && (number == SIGCHLD ? signal.code == SI_SIGIO /* POLL_IN, POLL_HUP */
                                                             : signal.code > 0);
    if (!ours)
        alarm_saw_signal(&woken, number, signal.code, clock_ns());
    return ours;
}

/* We give up. A signal may be on its way all the same, and end a call that nobody would make again (in_call) once we are gone. After
 * the alarm is closed it sends none. How many looks this counts for: 0 when the thread sleeps and nothing was sent. */
static int look_for_signal(uint32_t tid)
{
    struct thread_place place;
    if (stopper_event >= 0)
        SYS(__NR_close, stopper_event);
    stopper_event = -1;
    if (signal_is_pending(tid) || (exec_is_seen && exec_may_be_under_way(tid)))
        return 1;
    return thread_place(tid, &place) && !place.asleep ? AWAKE_LOOKS : 0;
}

/* Waits for the alarm's stop; forwards whatever else happens to the thread. */
static void wait_and_burst(bool awake)
{
    uint32_t tid = shared->command.tid;
    int looks = 0;
    uint64_t near = clock_ns() + 2 * (uint64_t)shared->command.lead_ns + 100000;
    for (;;) {
        int status;
        long got = 0;
        /* Awake, while the stop is near: to wake up from sleep takes 0.1 ms, which the thread would be stopped
         * longer. But not on its own CPU, nor on that of its program's other thread. */
        while (awake && got == 0 && clock_ns() < near && idle_keeper_elsewhere())
            got = SYS(__NR_wait4, -1, &status, ANY_OF_MINE | WNOHANG, NULL);
        if (got == 0) /* of any: exec changes a thread's number to its process's */
            got = SYS(__NR_wait4, -1, &status, ANY_OF_MINE, NULL);
        uint64_t stopped_ns = clock_ns(), stopped_ticks = tsc();
        if (got == -EINTR && give_up) {
            int more = look_for_signal(tid);
            looks += more;
            got = SYS(__NR_wait4, -1, &status, ANY_OF_MINE | WNOHANG, NULL);
            if (got == 0 && (!more || looks > LOOKS_MAX))
                return skip(CS_BURST_SKIP_ASLEEP, 0);
            if (got == 0)
                continue;
        }
        if (got == -EINTR)
            continue;
        if (got < 0 || !WIFSTOPPED(status))
            return skip(CS_BURST_SKIP_GONE, 0);
        if (status >> 16 == EVENT_EXEC) {
            at_exec = 1;
            exec_detach((uint32_t)got);
            return skip(CS_BURST_SKIP_GONE, ESRCH);
        }
        int number = WSTOPSIG(status);
        bool call = in_call(tid);
        if (status >> 16 == EVENT_STOP && leaving) {
            SYS(__NR_ptrace, DETACH, tid, 0, 0);
            return;
        }
        if (status >> 16 == EVENT_STOP) {
            /* A job-control stop: leave it stopped. */
            SYS(__NR_ptrace, number == SIGTRAP ? CONT : LISTEN, tid, 0, 0);
            continue;
        }
        if (!is_alarm(tid, number)) {
            if (call) { /* a chance to leave it that doesn't come again before it wakes up */
                SYS(__NR_ptrace, DETACH, tid, 0, number);
                return skip(CS_BURST_SKIP_NOT_USER, 0);
            }
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
            SYS(__NR_ptrace, DETACH, tid, 0, deliver ? quiet_signal : 0);
            shared->stopped = 0;
            released = 1;
            shared->outcome.stopped_ns = (uint32_t)(clock_ns() - stopped_ns);
        }
        return;
    }
}

/* Without a burst. What failed may have failed because an exec is under way: a thread that is let go in the middle of one gets no
 * rights from its new file. So one that isn't asleep elsewhere is stopped: at the end of its exec, or wherever it is. */
static void leave(enum cs_burst_skip why, long error)
{
    uint32_t tid = shared->command.tid;
    if (exec_is_seen && exec_may_be_under_way(tid)) {
        leaving = 1;
        SYS(__NR_ptrace, INTERRUPT, tid, 0, 0);
        wait_and_burst(true);
    }
    skip(why, error);
}

static void stop_and_follow(void)
{
    struct cs_burst_command *command = &shared->command;
    replayer_beside_us();
    if (command->timed_instructions)
        watch_open(command->tid);
    bool displaced = thread_is_displaced(command->tid);
    replayer_real_time(true);
    long seized = SYS(__NR_ptrace, SEIZE, command->tid, 0, OPTIONS);
    if (seized == -EPERM)
        return skip(CS_BURST_SKIP_TRACED, seized);
    if (seized < 0)
        return skip(seized == -ESRCH ? CS_BURST_SKIP_GONE : CS_BURST_SKIP_DENIED, seized);
    /* From here on an exec is seen, and its own memory is what the thread that will stand has: that of the descriptors? */
    enum cs_burst_skip other = program_look(command->tid);
    if (other != CS_BURST_SKIP_NONE)
        return leave(other, 0);
    int event = alarm_set(command->tid, command->lead_ns, quiet_signal);
    if (event < 0)
        return leave(event == -ESRCH ? CS_BURST_SKIP_GONE : CS_BURST_SKIP_NO_EVENT, event);
    stopper_event = event;
    wait_and_burst(!displaced);
}

/* A thread that we gave up is let go by our end, and a signal that comes before that ends a call of its own: so nothing is between,
 * and the priority, without which a busy machine would have us wait here, is kept. */
static int stopper(void)
{
    stop_and_follow();
    return 0;
}

/* Nothing is stopped yet: the replayer drops what has changed and says what it wants to have. */
static bool prepare(bool map_changed)
{
    struct replay_told told;
    boundary->rows.command = shared->command;
    boundary->ask.map_changed = map_changed;
    boundary->ask.timed = shared->command.timed_instructions > 0;
    enum cs_burst_skip failed = replayer_ask(REPLAY_PREPARE, PREPARE_MS, &told);
    bool there = failed == CS_BURST_SKIP_NONE;
    if (!there)
        skip(failed, EPIPE);
    else if (told.taken)
        skip(CS_BURST_SKIP_TAKEN, ESRCH);
    else
        kept_pages_prepare(shared->command.timed_instructions > 0);
    return there && !told.taken;
}

/* A thread that waits for a CPU will stop; one that sleeps may do so for long. One on its way into another program
 * stops at the end of that, with its process's number. */
static bool is_worth_waiting(uint64_t time, uint64_t at_last)
{
    uint32_t tid = shared->command.tid;
    struct thread_place place;
    if (at_exec || (exec_is_seen && exec_may_be_under_way(tid)))
        return time < at_last + EXEC_MS * 1000000ULL;
    return time < at_last && thread_place(tid, &place) && !place.asleep;
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
        return skip(CS_BURST_SKIP_GONE, ESRCH);
    enum cs_burst_skip other = program_open(shared->command.tid);
    if (other != CS_BURST_SKIP_NONE)
        return skip(other, other == CS_BURST_SKIP_GONE ? ESRCH : 0);
    quiet_signal = alarm_quiet_signal(shared->command.tid, shared->command.urgent_is_quiet, &deliver, &woken);
    if (deliver) /* its handler runs before what was followed does */
        shared->command.timed_instructions = 0;
    struct thread_place place;
    if (quiet_signal < 0 || !thread_place(shared->command.tid, &place))
        return skip(CS_BURST_SKIP_GONE, ESRCH);
    if (!shared->command.real_time_too &&
        (place.policy == SCHED_FIFO || place.policy == SCHED_RR || place.policy == DEADLINE))
        return skip(CS_BURST_SKIP_REAL_TIME, 0);
    if (!quiet_signal)
        return skip(CS_BURST_SKIP_BLOCKED, 0);
    if (woken.by_signals || alarm_rests(&woken, asked_ns))
        return skip(CS_BURST_SKIP_IGNORED, 0);
    if (woken.by_children && has_children(shared->command.tid))
        return skip(CS_BURST_SKIP_CHILDREN, 0);
    if (!prepare(map == 1))
        return;
    idle_keeper_place((uint32_t)place.cpu, shared->command.keep_out_of_idle);
    give_up = released = at_exec = leaving = 0;
    exec_is_seen = exec_can_be_seen(shared->command.tid);
    stopper_event = -1;
    start_thread(stopper, stopper_stack + sizeof stopper_stack - 64, &stopper_tid);
    uint64_t wait_ns = (uint64_t)shared->command.timeout_ms * 1000000, until = clock_ns() + wait_ns,
             at_last = until + WAITS_FOR_CPU * wait_ns;
    for (int32_t tid; (tid = stopper_tid) != 0;) {
        uint64_t time = clock_ns(), ns = until > time ? until - time : 0;
        struct timespec rest = {(long)(ns / 1000000000), (long)(ns % 1000000000)};
        long slept = SYS(__NR_futex, &stopper_tid, FUTEX_WAIT, tid, &rest, NULL, 0);
        if (slept != -ETIMEDOUT)
            continue;
        until = clock_ns() + 2000000;
        if (shared->stopped || released) /* the stopper is at work on what it has seen */
            continue;
        if (!give_up && is_worth_waiting(time, at_last))
            continue;
        give_up = 1;
        SYS(__NR_tgkill, SYS(__NR_getpid, 0), tid, SIGUSR1);
    }
    replayer_real_time(false);
    watch_close();
    if (stopper_event >= 0)
        SYS(__NR_close, stopper_event);
}
