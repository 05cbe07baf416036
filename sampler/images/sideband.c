/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of processes and mappings, sorted over the CPUs' rings by time. */
#include "sampler/images/sideband.h"
#include "sampler/perf/events.h"
#include "sampler/perf/process_bytes.h"
#include "sampler/perf/ring.h"
#include "store/base/array.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define WAKE_BYTES 32768 /* some 20 execs: their files are looked at while they are there */

struct waiting_record {
    uint64_t time_ns;
    uint64_t order; /* of arrival: ties keep it */
    size_t at;      /* in the arena */
};

struct cs_sideband {
    uint64_t *only;        /* bits of the processes whose records count; NULL: all do */
    struct cs_ring *rings; /* one a CPU */
    unsigned n_rings;      /* when we end, the CPUs may be forgotten */
    int *ring_fds;
    const struct cs_cpus *cpus;
    struct sideband_event { /* on a CPU by its place */
        int fd;
        unsigned cpu_index;
    } * fds;
    size_t n_fds, room_fds;
    unsigned char *arena; /* copies of the records that wait */
    size_t used, capacity;
    struct waiting_record *waiting;
    size_t n, waiting_capacity;
    uint64_t order, lost, throttled;
};

struct record_mmap2 {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t addr, len, pgoff;
    union {
        struct {
            uint32_t major, minor;
            uint64_t inode, inode_generation;
        };
        struct {
            uint8_t build_id_size, reserved1;
            uint16_t reserved2;
            uint8_t build_id[20];
        };
    };
    uint32_t prot, flags;
    char path[];
};
struct record_task {
    struct perf_event_header header;
    uint32_t pid, parent, tid, parent_tid;
};
struct record_comm {
    struct perf_event_header header;
    uint32_t pid, tid;
    char comm[];
};
struct record_lost {
    struct perf_event_header header;
    uint64_t id, lost;
};

static void hand_on_mmap(const struct record_mmap2 *r, uint64_t time_ns, struct cs_maps *maps)
{
    char hex[41] = "";
    struct cs_mapped_file file = {.pid = (pid_t)r->pid,
                                  .start = r->addr,
                                  .end = r->addr + r->len,
                                  .pgoff = r->pgoff,
                                  .path = r->path,
                                  .build_id = hex};
    if (strcmp(r->path, "[vsyscall]") == 0)
        return;
    if (r->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        for (unsigned i = 0; i < r->build_id_size && i < 20; i++) { /* not by printf: this is a hot place */
            hex[2 * i] = "0123456789abcdef"[r->build_id[i] >> 4];
            hex[2 * i + 1] = "0123456789abcdef"[r->build_id[i] & 15];
            hex[2 * i + 2] = '\0';
        }
    } else {
        file.major = r->major;
        file.minor = r->minor;
        file.inode = r->inode;
    }
    (void)cs_maps_mmap(maps, &file, time_ns);
}

/* Does this record count? What a chosen process starts is chosen, what another one starts is not, whatever had its
 * number before. */
static bool is_wanted(struct cs_sideband *s, const struct perf_event_header *header)
{
    const struct record_task *task = (const void *)header;
    if (!s->only || header->type == PERF_RECORD_KSYMBOL)
        return true;
    uint64_t *word = &s->only[cs_process_word(task->pid)], bit = cs_process_bit(task->pid);
    if (header->type == PERF_RECORD_FORK && task->pid != task->parent) {
        bool chosen = s->only[cs_process_word(task->parent)] & cs_process_bit(task->parent);
        *word = chosen ? *word | bit : *word & ~bit;
    }
    return *word & bit;
}

void cs_sideband_choose(struct cs_sideband *s, pid_t pid)
{
    s->only[cs_process_word((uint32_t)pid)] |= cs_process_bit((uint32_t)pid);
}

int cs_sideband_only_chosen(struct cs_sideband *s)
{
    s->only = calloc(CS_PROCESS_WORDS, sizeof *s->only);
    return s->only ? 0 : -ENOMEM;
}

static void hand_on(const struct perf_event_header *header, uint64_t time_ns,
                    const struct cs_sideband_events *events)
{
    const struct record_task *task = (const void *)header;
    const struct record_comm *comm = (const void *)header;
    switch (header->type) {
    case PERF_RECORD_MMAP2:
        hand_on_mmap((const void *)header, time_ns, events->maps);
        break;
    case PERF_RECORD_FORK:
        cs_maps_thread_born(events->maps, (pid_t)task->tid, (pid_t)task->pid, (pid_t)task->parent_tid);
        if (task->pid == task->parent)
            break;
        (void)cs_maps_fork(events->maps, (pid_t)task->pid, (pid_t)task->parent, time_ns);
        if (events->incarnation)
            events->incarnation(events->arg, (pid_t)task->pid, time_ns);
        break;
    case PERF_RECORD_EXIT:
        cs_maps_thread_ended(events->maps, (pid_t)task->tid);
        if (task->pid == task->tid)
            (void)cs_maps_exit(events->maps, (pid_t)task->pid, time_ns);
        break;
    case PERF_RECORD_COMM:
        cs_maps_thread_named(events->maps, (pid_t)comm->tid, (pid_t)comm->pid, comm->comm, time_ns);
        if (header->misc & PERF_RECORD_MISC_COMM_EXEC) {
            (void)cs_maps_exec(events->maps, (pid_t)comm->pid, comm->comm, time_ns);
            if (events->incarnation)
                events->incarnation(events->arg, (pid_t)comm->pid, time_ns);
        } else if (comm->pid == comm->tid) {
            (void)cs_maps_comm(events->maps, (pid_t)comm->pid, comm->comm, time_ns);
        }
        break;
    case PERF_RECORD_KSYMBOL:
        if (events->kernel_changed)
            events->kernel_changed(events->arg);
        break;
    default:
        break;
    }
}

/* ---- collecting ---- */

static int keep(struct cs_sideband *s, const struct perf_event_header *header)
{
    if (cs_array_reserve_in(s->arena, s->used + header->size, s->capacity) < 0 ||
        cs_array_room(s->waiting, s->n, s->waiting_capacity) < 0)
        return -ENOMEM;
    memcpy(s->arena + s->used, header, header->size); // NOLINT: room was made above
    uint64_t time_ns;                                 /* sample_id_all with TIME alone: the last word */
    memcpy(&time_ns, (const unsigned char *)header + header->size - sizeof time_ns, sizeof time_ns);
    s->waiting[s->n++] = (struct waiting_record){time_ns, s->order++, s->used};
    s->used += (header->size + 7U) & ~7UL;
    return 0;
}

CS_ORDER(by_time, struct waiting_record, cs_order(a->time_ns, b->time_ns), cs_order(a->order, b->order))

int cs_sideband_drain(struct cs_sideband *s, uint64_t horizon_ns, const struct cs_sideband_events *events)
{
    int rc = 0;
    for (unsigned c = 0; c < s->cpus->n; c++) {
        const struct perf_event_header *header;
        if (!s->rings[c].page)
            continue;
        cs_ring_snapshot(&s->rings[c]);
        while ((header = cs_ring_next(&s->rings[c])) != NULL) {
            if (header->type == PERF_RECORD_THROTTLE || header->type == PERF_RECORD_UNTHROTTLE)
                s->throttled += header->type == PERF_RECORD_THROTTLE;
            else if (header->type == PERF_RECORD_LOST)
                s->lost += ((const struct record_lost *)(const void *)header)->lost;
            else if (keep(s, header) < 0)
                rc = -ENOMEM, s->lost++;
        }
        cs_ring_release(&s->rings[c]);
    }
    cs_sort(s->waiting, s->n, by_time);
    size_t done = 0;
    cs_maps_batch(events->maps, true);
    for (; done < s->n && s->waiting[done].time_ns <= horizon_ns; done++)
        if (is_wanted(s, (const void *)(s->arena + s->waiting[done].at)))
            hand_on((const void *)(s->arena + s->waiting[done].at), s->waiting[done].time_ns, events);
    cs_maps_batch(events->maps, false);
    if (done == s->n) {
        s->n = s->used = 0;
        if (s->capacity > 1U << 20) { /* a storm is over: give the memory back */
            free(s->arena);
            s->arena = NULL;
            s->capacity = 0;
        }
        return rc;
    }
    /* The few that wait move to the front, in an arena of their own. */
    unsigned char *old = s->arena;
    size_t n = s->n;
    struct waiting_record *waiting = malloc((n - done) * sizeof *waiting);
    if (!waiting)
        return -ENOMEM;
    memcpy(waiting, s->waiting + done, (n - done) * sizeof *waiting);
    s->arena = NULL;
    s->capacity = s->used = s->n = 0;
    for (size_t i = 0; i < n - done; i++)
        if (keep(s, (const void *)(old + waiting[i].at)) < 0)
            rc = -ENOMEM, s->lost++;
    free(waiting);
    free(old);
    return rc;
}

uint64_t cs_sideband_lost(const struct cs_sideband *s)
{
    return s->lost;
}

void cs_sideband_hear(struct cs_sideband *s, int fd, unsigned cpu_index)
{
    if (s->ring_fds[cpu_index] >= 0)
        (void)ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->ring_fds[cpu_index]);
}

uint64_t cs_sideband_throttled(const struct cs_sideband *s)
{
    return s->throttled;
}

int cs_sideband_fd(const struct cs_sideband *s, unsigned i)
{
    return i < s->cpus->n ? s->ring_fds[i] : -1;
}

/* ---- opening ---- */

static int remember(struct cs_sideband *s, int fd, unsigned cpu_index)
{
    if (cs_array_room(s->fds, s->n_fds, s->room_fds) < 0)
        return -ENOMEM;
    s->fds[s->n_fds++] = (struct sideband_event){fd, cpu_index};
    return 0;
}

int cs_sideband_follow(struct cs_sideband *s, pid_t pid, unsigned cpu_index, unsigned ring_pages,
                       struct cs_error *err)
{
    assert(ring_pages > 0 && (ring_pages & (ring_pages - 1)) == 0);
    struct cs_event records = {.name = "sideband",
                               .attr = {.type = PERF_TYPE_SOFTWARE,
                                        .config = PERF_COUNT_SW_DUMMY,
                                        .size = sizeof(struct perf_event_attr),
                                        .sample_period = 1,
                                        .sample_type = PERF_SAMPLE_TIME,
                                        .sample_id_all = 1,
                                        .use_clockid = 1,
                                        .clockid = CLOCK_MONOTONIC,
                                        .exclude_kernel = 1,
                                        .exclude_hv = 1,
                                        .inherit = pid != -1,
                                        .mmap = 1,
                                        .mmap2 = 1,
                                        .build_id = 1,
                                        .comm = 1,
                                        .comm_exec = 1,
                                        .task = 1,
                                        .ksymbol = pid == -1,
                                        .watermark = 1,
                                        .wakeup_watermark = WAKE_BYTES}};
    int fd = cs_event_open(&records, pid, s->cpus->cpu[cpu_index].number, err);
    if (fd < 0 && err->code == EINVAL) { /* kernels before 5.12 */
        records.attr.build_id = 0;
        fd = cs_event_open(&records, pid, s->cpus->cpu[cpu_index].number, err);
    }
    if (fd < 0)
        return fd;
    if (remember(s, fd, cpu_index) < 0) {
        close(fd);
        return cs_fail(err, ENOMEM, "out of memory while opening the sideband records of process %d",
                       (int)pid);
    }
    if (s->rings[cpu_index].page) {
        if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->ring_fds[cpu_index]) != 0)
            return cs_fail(err, errno, "sideband records of process %d can't share a ring: %s", (int)pid,
                           strerror(errno));
        return 0;
    }
    int rc = cs_ring_open(&s->rings[cpu_index], fd, ring_pages);
    if (rc < 0)
        return cs_fail(err, -rc, "no ring of %u pages for the kernel's sideband records: %s%s", ring_pages,
                       strerror(-rc), rc == -EPERM ? " (raise /proc/sys/kernel/perf_event_mlock_kb)" : "");
    s->ring_fds[cpu_index] = fd;
    return 0;
}

void cs_sideband_unfollow(struct cs_sideband *s, unsigned cpu_index)
{
    size_t kept = 0;
    if (s->rings[cpu_index].page)
        cs_ring_close(&s->rings[cpu_index]);
    s->ring_fds[cpu_index] = -1;
    for (size_t i = 0; i < s->n_fds; i++)
        if (s->fds[i].cpu_index == cpu_index)
            close(s->fds[i].fd);
        else
            s->fds[kept++] = s->fds[i];
    s->n_fds = kept;
}

struct cs_sideband *cs_sideband_open(const struct cs_cpus *cpus)
{
    struct cs_sideband *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->cpus = cpus;
    s->rings = calloc(cpus->n, sizeof *s->rings);
    s->n_rings = cpus->n;
    s->ring_fds = malloc(cpus->n * sizeof *s->ring_fds);
    if (!s->rings || !s->ring_fds) {
        free(s->rings);
        free(s->ring_fds);
        free(s);
        return NULL;
    }
    memset(s->ring_fds, 0xff, cpus->n * sizeof *s->ring_fds);
    return s;
}

void cs_sideband_close(struct cs_sideband *s)
{
    if (!s)
        return;
    for (unsigned c = 0; c < s->n_rings; c++)
        cs_ring_close(&s->rings[c]);
    for (size_t i = 0; i < s->n_fds; i++)
        close(s->fds[i].fd);
    free(s->rings);
    free(s->ring_fds);
    free(s->fds);
    free(s->only);
    free(s->arena);
    free(s->waiting);
    free(s);
}
