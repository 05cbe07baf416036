/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The alarm that goes off while a thread runs its own code. It is a one-shot cpu-clock event with
 * exclude_kernel, whose interrupt sends the thread a signal. It finds the thread in user mode, so no system
 * call is interrupted.
 *
 * The signal is a *quiet* one, whose default is to do nothing, and which the thread neither handles nor
 * blocks. A traced thread stops for it all the same. A thread that is traced no longer never sees it. The
 * kernel throws it away, when it is sent or on the way back to user mode. So we may die at any moment, and
 * nothing needs to be taken back. Signals that the program itself ignores won't do: it may stop ignoring one
 * that then ends it.
 *
 * Go's runtime handles them all. It sends SIGURG to its own threads, to make them give way. One that nobody sent
 * is no reason for it to do anything, because any program may be sent one. So there the alarm is SIGURG, and it
 * is delivered. One of the runtime's own that came meanwhile is merged with it, and would otherwise be lost.
 *
 * A thread that blocks or handles all of them can't be stopped so. To interrupt it (PTRACE_INTERRUPT) a few
 * microseconds after an alarm of our own was tried. Nine of ten threads that work in pieces of 0.1 ms were in a
 * system call by then. One that had handed over a part of its bytes returned a short count (docs/lab/bursts.md). */
#include "sampler/burst/holder/alarm.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>

struct owner { /* struct f_owner_ex */
    int32_t type, pid;
};
enum { SET_SIGNAL = 10, SET_OWNER = 15, OWNER_THREAD = 0 }; /* F_SETSIG, F_SETOWN_EX, F_OWNER_TID */

/* The value in base 16 after `field` in the text of /proc/TID/status; all ones when it isn't there. */
static uint64_t mask_of(const char *text, const char *field)
{
    size_t size = strlen(field);
    for (const char *p = text; *p; p++)
        if (*p == '\n' && strlen(p + 1) > size && !memcmp(p + 1, field, size)) {
            uint64_t value = 0;
            for (p += 1 + size; *p && *p != '\n'; p++)
                if (*p >= '0' && *p <= '9')
                    value = value << 4 | (uint64_t)(*p - '0');
                else if (*p >= 'a' && *p <= 'f')
                    value = value << 4 | (uint64_t)(*p - 'a' + 10);
            return value;
        }
    return ~0ULL;
}

/* Of those that programs ignore the ones that nobody sends all the time: from a terminal, about a thread's own call, and the C
 * library's own two, which make leaves ignored in what it starts. */
#define SELDOM                                                                                               \
    (1ULL << (SIGHUP - 1) | 1ULL << (SIGINT - 1) | 1ULL << (SIGQUIT - 1) | 1ULL << (SIGPIPE - 1) |           \
     1ULL << (SIGTSTP - 1) | 1ULL << (SIGTTIN - 1) | 1ULL << (SIGTTOU - 1) | 1ULL << (SIGXFSZ - 1) |         \
     1ULL << (SIGCHLD - 1) | 1ULL << (SIGURG - 1) | 1ULL << (SIGWINCH - 1) | 3ULL << (32 - 1))

#define QUIET (1ULL << (SIGURG - 1) | 1ULL << (SIGWINCH - 1) | 1ULL << (SIGCHLD - 1))

int alarm_quiet_signal(uint32_t tid, bool urgent_is_quiet, bool *deliver, struct others_woken *woken)
{
    static const int quiet[] = {SIGURG, SIGWINCH, SIGCHLD};
    static char text[4096];
    if (!read_thread_file(tid, "/status", text, sizeof text))
        return -1;
    uint64_t blocked = mask_of(text, "SigBlk:"), handled = mask_of(text, "SigCgt:"),
             taken = blocked | handled;
    uint64_t ignored = mask_of(text, "SigIgn:");
    bool alone = mask_of(text, "Threads:") <= 1, first = mask_of(text, "Tgid:") == mask_of(text, "Pid:");
    woken->by_children = !alone && !((handled | ignored) >> (SIGCHLD - 1) & 1);
    woken->by_signals = !alone && first && ignored & ~SELDOM;
    woken->by_quiet = alone || !first ? 0 : QUIET & ~handled;
    *deliver = false;
    for (unsigned i = 0; i < sizeof quiet / sizeof *quiet; i++)
        if (!(taken >> (quiet[i] - 1) & 1))
            return quiet[i];
    *deliver = urgent_is_quiet && !(blocked >> (SIGURG - 1) & 1);
    return *deliver ? SIGURG : 0;
}

#define REST_NS 1000000000ULL
#define REST_MAX_NS (64 * REST_NS)
#define REST_CALM 8
static uint64_t rest_ns, rest_until;

void alarm_saw_signal(const struct others_woken *woken, int number, int32_t code, uint64_t time_ns)
{
    bool to_all = number >= 1 && number <= 64 && woken->by_quiet >> (number - 1) & 1 && code != SI_TKILL;
    if (!to_all || time_ns < rest_until)
        return;
    if (time_ns > rest_until + REST_CALM * rest_ns) /* the first for long */
        rest_ns = REST_NS;
    else if (rest_ns < REST_MAX_NS)
        rest_ns *= 2;
    rest_until = time_ns + rest_ns;
}

bool alarm_rests(const struct others_woken *woken, uint64_t time_ns)
{
    return woken->by_quiet && time_ns < rest_until;
}

bool signal_is_pending(uint32_t tid)
{
    static char text[4096];
    return read_thread_file(tid, "/status", text, sizeof text) &&
           (mask_of(text, "SigPnd:") | mask_of(text, "ShdPnd:")) & ~mask_of(text, "SigBlk:");
}

bool has_children(uint32_t tid)
{
    char path[32], file[40] = "/task", first[2];
    thread_path(tid, "/children", path);
    memcpy(file + 5, path + 5, strlen(path) - 4);
    return read_thread_file(tid, file, first, sizeof first) && first[0];
}

int alarm_set(uint32_t tid, uint32_t lead_ns, int quiet_signal)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = lead_ns,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .remove_on_exec = 1,
    };
    long event = SYS(__NR_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event < 0)
        return (int)event;
    struct owner owner = {OWNER_THREAD, (int32_t)tid};
    long failed = SYS(__NR_fcntl, event, SET_OWNER, &owner);
    if (failed >= 0)
        failed = SYS(__NR_fcntl, event, SET_SIGNAL, quiet_signal);
    if (failed >= 0)
        failed = SYS(__NR_fcntl, event, F_SETFL, O_RDONLY | O_ASYNC);
    if (failed >= 0)
        failed = SYS(__NR_ioctl, event, PERF_EVENT_IOC_REFRESH, 1);
    if (failed >= 0)
        return (int)event;
    SYS(__NR_close, event);
    return (int)failed;
}
