/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/timers/stopper_processes.h"
#include "store/base/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* ---- the ring: one writer ---- */

struct cs_timer_slot *stopper_reserve(struct stopper *s, enum cs_timer_kind kind, pid_t pid, pid_t tid)
{
    struct cs_timer_segment *ring = s->segment;
    if (ring->head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) >= CS_TIMER_SLOTS) {
        __atomic_fetch_add(&ring->dropped, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    struct cs_timer_slot *slot = &ring->slots[ring->head % CS_TIMER_SLOTS];
    slot->time_ns = cs_monotonic_ns();
    slot->kind = kind;
    slot->pid = (uint32_t)pid;
    slot->tid = (uint32_t)tid;
    slot->n_frames = 0;
    slot->cpu_ns = 0;
    return slot;
}

void stopper_publish(struct stopper *s, struct cs_timer_slot *slot)
{
    __atomic_store_n(&slot->sequence, s->segment->head + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&s->segment->head, s->segment->head + 1, __ATOMIC_RELEASE);
}

void stopper_tell(struct stopper *s, enum cs_timer_kind kind, pid_t pid, pid_t tid)
{
    struct cs_timer_slot *slot = stopper_reserve(s, kind, pid, tid);
    if (!slot)
        return;
    slot->more.map.path[0] = '\0';
    if (kind == CS_TIMER_BEGIN)
        (void)cs_proc_command("/proc", pid, slot->more.map.path, CS_TIMER_PATH);
    stopper_publish(s, slot);
}

static void tell_mapping(void *arg, const struct cs_mapped_file *file)
{
    struct stopper *s = arg;
    struct cs_timer_slot *slot =
        strlen(file->path) < CS_TIMER_PATH ? stopper_reserve(s, CS_TIMER_MAP, file->pid, 0) : NULL;
    if (!slot)
        return;
    slot->pc = file->start;
    slot->more.map.end = file->end;
    slot->more.map.pgoff = file->pgoff;
    slot->more.map.inode = file->inode;
    slot->more.map.major = file->major;
    slot->more.map.minor = file->minor;
    memcpy(slot->more.map.path, file->path, strlen(file->path) + 1);
    stopper_publish(s, slot);
}

/* ---- processes ---- */

uint64_t stopper_cpu_ns(pid_t pid)
{
    struct timespec t = {0, 0};
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t stopper_draw(struct stopper *s)
{
    uint64_t x = s->random; /* xorshift64 */
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    s->random = x;
    return x >> 8;
}

void stopper_arm(struct stopper *s, struct process *p, uint64_t used_ns, unsigned weight)
{
    do
        p->deadline_ns += weight * (s->mean_ns / 2 + stopper_draw(s) % (s->mean_ns + 1));
    while (p->deadline_ns <= used_ns);
    const struct itimerspec when = {
        .it_value = {(time_t)(p->deadline_ns / 1000000000), (long)(p->deadline_ns % 1000000000)}};
    if (p->timed)
        (void)timer_settime(p->timer, TIMER_ABSTIME, &when, NULL);
}

void stopper_read_tables(struct stopper *s, struct process *p)
{
    p->tables_ns = cs_monotonic_ns();
    process_tables_read(&p->tables, &s->tables_time, p->pid, p->memory, s->segment->with_frames, tell_mapping,
                        s);
}

void stopper_open_memory(struct process *p)
{
    char path[64];
    if (p->memory >= 0)
        close(p->memory);
    snprintf(path, sizeof path, "/proc/%d/mem", (int)p->pid);
    p->memory = open(path, O_RDONLY | O_CLOEXEC);
}

void stopper_forget_process(struct process *p)
{
    if (p->timed) {
        timer_delete(p->timer);
        timer_delete(p->moment);
    }
    if (p->memory >= 0)
        close(p->memory);
    process_tables_fini(&p->tables);
    *p = (struct process){.memory = -1};
}

unsigned stopper_process_of(struct stopper *s, pid_t pid)
{
    unsigned free_one = PROCESSES_MAX;
    for (unsigned i = 0; i < PROCESSES_MAX; i++) {
        if (s->processes[i].pid == pid)
            return i;
        if (!s->processes[i].pid && free_one == PROCESSES_MAX)
            free_one = i;
    }
    if (free_one == PROCESSES_MAX)
        return PROCESSES_MAX;
    struct process *p = &s->processes[free_one];
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = TIMER_SIGNAL};
    clockid_t clock;
    p->pid = pid;
    event.sigev_value.sival_int = (int)free_one;
    p->timed = clock_getcpuclockid(pid, &clock) == 0 && timer_create(clock, &event, &p->timer) == 0;
    event.sigev_value.sival_int = PROCESSES_MAX + (int)free_one;
    if (p->timed && timer_create(CLOCK_MONOTONIC, &event, &p->moment) != 0) {
        timer_delete(p->timer);
        p->timed = false;
    }
    p->used_ns = p->deadline_ns = stopper_cpu_ns(pid);
    stopper_open_memory(p);
    stopper_tell(s, CS_TIMER_BEGIN, pid, pid);
    stopper_arm(s, p, p->used_ns, 1);
    return free_one;
}
