/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The session's drivers that read what timers, or who stops threads, wrote. Records of mappings come in the same ring, before the
 * samples that need them, so a process that has ended since is named, too. */
#include "sampler/timers/stopper.h"
#include "sampler/timers/timers.h"
#include "signals/timers/timer_segment.h"
#include "store/base/cache.h"
#include "store/base/clock.h"
#include "store/base/kernel_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STUCK_NS 1000000000ULL /* a slot that is reserved and not written: its writer was killed */
#define LATE_NS 1000000000ULL  /* a writer that was off the CPU between its clock and its turn */

struct cs_driver_state {
    struct cs_timer_segment *segment;
    struct cs_maps *maps;
    bool chains;
    uint64_t tail; /* ours: the segment's is for writers */
    uint64_t stuck_since_ns;
    uint64_t lost, delivered, entries, filtered, cpu_ns, last_ns;
    pid_t stopper; /* 0: preloaded timers write */
    bool shared;   /* others may make folders beside ours */
    char folder[240], library[256], path[256];
    char preload[4096], variable[288];
    char *environment[3];
};

static int write_file(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (fd < 0)
        return -errno;
    int rc = write(fd, bytes, size) == (ssize_t)size ? 0 : -EIO;
    close(fd);
    return rc;
}

static int make_segment(struct cs_driver_state *s)
{
    int fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int rc = ftruncate(fd, sizeof *s->segment) == 0 ? 0 : -errno;
    void *at =
        rc == 0 ? mmap(NULL, sizeof *s->segment, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    rc = rc == 0 && at == MAP_FAILED ? -errno : rc;
    close(fd);
    if (rc == 0)
        s->segment = at;
    return rc;
}

/* Filters of system calls that we are under, and so is what we start: further ones are a program's own. Kernels before 5.9 don't
 * say how many: 1 is any. */
static unsigned filters_now(void)
{
    char text[32];
    const bool counted = cs_kernel_line(text, sizeof text, "Seccomp_filters:", "/proc/self/status");
    if (!counted)
        (void)cs_kernel_line(text, sizeof text, "Seccomp:", "/proc/self/status");
    const unsigned n = (unsigned)strtoul(text, NULL, 10);
    return counted ? n : n != 0;
}

static void close_timers(struct cs_driver_state *s)
{
    if (!s)
        return;
    if (s->stopper > 0)
        cs_stopper_end(s->stopper);
    if (s->segment)
        munmap(s->segment, sizeof *s->segment);
    if (s->folder[0]) {
        unlink(s->path);
        unlink(s->library);
        if (!s->shared)
            rmdir(s->folder);
    }
    free(s);
}

/* Whatever the command started looks here for the library with each exec, even when we have ended: who could make a folder of this
 * name then would run code in it. So it lies in the user's own cache, or for want of one stays there, empty. */
static int make_folder(struct cs_driver_state *s)
{
    char cache[200];
    const char *where = getenv("TMPDIR");
    if (cs_cache_folder(cache, sizeof cache) == 0 && !strpbrk(cache, " :")) {
        snprintf(s->folder, sizeof s->folder, "%s/timers-XXXXXX", cache);
        if (mkdtemp(s->folder))
            return 0;
    }
    s->shared = true;
    const int n = snprintf(s->folder, sizeof s->folder, "%s/cyclescope-XXXXXX",
                           where && *where == '/' ? where : "/tmp");
    if (n < (int)sizeof s->folder && mkdtemp(s->folder))
        return 0;
    s->folder[0] = '\0';
    return n >= (int)sizeof s->folder ? -ENAMETOOLONG : -errno;
}

static int open_timers(const struct cs_driver_config *config, struct cs_driver_state **out,
                       struct cs_error *err)
{
    struct cs_driver_state *s = calloc(1, sizeof *s);
    const char *before = getenv("LD_PRELOAD");
    size_t size;
    if (!s)
        return cs_fail(err, ENOMEM, "out of memory for the timers");
    s->chains = config->chains;
    int rc = make_folder(s);
    if (rc < 0) {
        close_timers(s);
        return cs_fail(err, -rc, "no folder for the timers' samples: %s; set TMPDIR to one that is writable",
                       strerror(-rc));
    }
    snprintf(s->library, sizeof s->library, "%s/timers.so", s->folder);
    snprintf(s->path, sizeof s->path, "%s/samples", s->folder);
    const unsigned char *bytes = cs_timers_preloaded(&size);
    rc = write_file(s->library, bytes, size);
    rc = rc == 0 ? make_segment(s) : rc;
    if (rc == 0 && snprintf(s->preload, sizeof s->preload, "LD_PRELOAD=%s%s%s", s->library,
                            before && *before ? ":" : "", before ? before : "") >= (int)sizeof s->preload)
        rc = -ENAMETOOLONG;
    if (rc < 0) {
        char folder[sizeof s->folder];
        memcpy(folder, s->folder, sizeof folder);
        close_timers(s);
        return cs_fail(err, -rc, "the timers' samples have no place in %s: %s", folder, strerror(-rc));
    }
    snprintf(s->variable, sizeof s->variable, CS_TIMER_VARIABLE "=%u:%s", filters_now(), s->path);
    s->environment[0] = s->preload;
    s->environment[1] = s->variable;
    s->last_ns = cs_monotonic_ns();
    *out = s;
    return 0;
}

static int open_stops(const struct cs_driver_config *config, struct cs_driver_state **out,
                      struct cs_error *err)
{
    struct cs_driver_state *s = calloc(1, sizeof *s);
    void *at =
        s ? mmap(NULL, sizeof *s->segment, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) : NULL;
    if (!s || at == MAP_FAILED) {
        free(s);
        return cs_fail(err, ENOMEM, "out of memory for samples");
    }
    s->segment = at;
    s->chains = config->chains;
    s->last_ns = cs_monotonic_ns();
    *out = s;
    return 0;
}

int cs_timers_follow(struct cs_driver_state *s, const pid_t *pids, size_t n, double budget,
                     struct cs_error *err)
{
    pid_t stopper = cs_stopper_start(s->segment, pids, n, budget, err);
    s->stopper = stopper > 0 ? stopper : 0;
    return stopper > 0 ? 0 : (int)stopper;
}

void cs_timers_connect(struct cs_driver_state *s, struct cs_maps *maps, uint64_t period_ns)
{
    assert(maps && period_ns > 0);
    s->maps = maps;
    s->segment->with_frames = s->chains;
    s->segment->period_ns = period_ns < 1000 ? 1000 : period_ns;
    __atomic_store_n(&s->segment->magic, CS_TIMER_MAGIC, __ATOMIC_RELEASE);
}

char *const *cs_timers_environment(const struct cs_driver_state *s)
{
    return s->environment;
}

static void prepare(const struct cs_driver_state *s, struct perf_event_attr *attr)
{
    (void)s;
    (void)attr;
}

static int attach(struct cs_driver_state *s, int fd, unsigned event, unsigned cpu_index, struct cs_error *err)
{
    (void)s;
    (void)fd;
    (void)event;
    (void)cpu_index;
    return cs_fail(err, EINVAL, "timers have no events");
}

static uint64_t begin_drain(struct cs_driver_state *s, enum cs_driver_drain how)
{
    if (how == CS_DRIVER_DRAIN_LAST && s->stopper > 0) {
        cs_stopper_end(s->stopper);
        s->stopper = 0;
    }
    return cs_monotonic_ns();
}

/* Who writes the segment may have written anything: times lie between the last drain's and now. */
static uint64_t bounded_time(const struct cs_driver_state *s, uint64_t time_ns, uint64_t now)
{
    uint64_t from = s->last_ns > LATE_NS ? s->last_ns - LATE_NS : 0;
    return time_ns < from ? from : time_ns > now ? now : time_ns;
}

static void apply(struct cs_driver_state *s, struct cs_timer_slot *slot, uint64_t time,
                  cs_driver_entry_fn emit, void *arg)
{
    if (slot->kind != CS_TIMER_SAMPLE)
        slot->more.map.path[CS_TIMER_PATH - 1] = '\0';
    pid_t pid = (pid_t)(slot->pid & 0x3fffffff);
    switch (slot->kind) {
    case CS_TIMER_SAMPLE: {
        const unsigned weight = slot->weight == 0                    ? 1
                                : slot->weight < CS_TIMER_WEIGHT_MAX ? slot->weight
                                                                     : CS_TIMER_WEIGHT_MAX;
        unsigned n = slot->n_frames < CS_TIMER_FRAMES ? slot->n_frames : CS_TIMER_FRAMES;
        for (unsigned i = 1; i < n; i++)
            slot->more.frames[i]--; /* into the call that it returns from */
        struct cs_driver_entry entry = {.pc = slot->pc,
                                        .count = weight,
                                        .from_ns = time,
                                        .to_ns = time,
                                        .pid = (uint32_t)pid,
                                        .tid = slot->tid & 0x3fffffff,
                                        .latest = true,
                                        .chain = s->chains ? slot->more.frames : NULL,
                                        .n_chain = slot->n_frames < CS_TIMER_FRAMES ? slot->n_frames
                                                                                    : CS_TIMER_FRAMES,
                                        .chain_end = (uint8_t)slot->chain_end};
        s->entries++;
        s->delivered += weight;
        s->cpu_ns += slot->cpu_ns < 3600000000000ULL ? slot->cpu_ns : 0;
        emit(arg, &entry);
        return;
    }
    case CS_TIMER_BEGIN:
        (void)cs_maps_exec(s->maps, pid, slot->more.map.path, time);
        return;
    case CS_TIMER_FORK:
        (void)cs_maps_fork(s->maps, pid, (pid_t)(slot->tid & 0x3fffffff), time);
        return;
    case CS_TIMER_FILTERED:
        s->filtered++;
        return;
    case CS_TIMER_MAP: {
        const struct cs_mapped_file file = {.pid = pid,
                                            .start = slot->pc,
                                            .end = slot->more.map.end,
                                            .pgoff = slot->more.map.pgoff,
                                            .path = slot->more.map.path,
                                            .build_id = "",
                                            .major = slot->more.map.major,
                                            .minor = slot->more.map.minor,
                                            .inode = slot->more.map.inode};
        if (file.end > file.start)
            (void)cs_maps_mmap(s->maps, &file, time);
        return;
    }
    default:
        return;
    }
}

static int drain(struct cs_driver_state *s, enum cs_driver_drain how, cs_driver_entry_fn emit, void *arg,
                 struct cs_error *err)
{
    (void)err;
    const uint64_t head = __atomic_load_n(&s->segment->head, __ATOMIC_ACQUIRE), now = cs_monotonic_ns();
    uint64_t most = CS_TIMER_SLOTS; /* however fast they write */
    while (s->tail != head && most-- > 0) {
        struct cs_timer_slot *at = &s->segment->slots[s->tail % CS_TIMER_SLOTS], slot;
        if (__atomic_load_n(&at->sequence, __ATOMIC_ACQUIRE) != s->tail + 1) {
            if (!s->stuck_since_ns)
                s->stuck_since_ns = now;
            if (how != CS_DRIVER_DRAIN_LAST && now - s->stuck_since_ns < STUCK_NS)
                break;
            s->lost++;
        } else {
            memcpy(&slot, at, sizeof slot);
            apply(s, &slot, bounded_time(s, slot.time_ns, now), emit, arg);
        }
        s->stuck_since_ns = 0;
        s->tail++;
        __atomic_store_n(&s->segment->tail, s->tail, __ATOMIC_RELEASE);
    }
    s->last_ns = now;
    return 0;
}

static uint64_t oldest(const struct cs_driver_state *s)
{
    return s->last_ns > LATE_NS ? s->last_ns - LATE_NS : 0;
}

static void counts(const struct cs_driver_state *s, struct cs_driver_counts *out)
{
    uint64_t dropped = s->segment ? __atomic_load_n(&s->segment->dropped, __ATOMIC_RELAXED) : 0;
    uint64_t sample_ns = s->segment ? __atomic_load_n(&s->segment->sample_ns, __ATOMIC_RELAXED) : 0;
    *out = (struct cs_driver_counts){.delivered = s->delivered,
                                     .lost = s->lost + dropped,
                                     .entries = s->entries,
                                     .filtered_threads = s->filtered,
                                     .sample_seconds = sample_ns < 1000000000 ? (double)sample_ns * 1e-9 : 0};
}

static double mean_period(const struct cs_driver_state *s, unsigned event)
{
    (void)event;
    return s->delivered ? (double)s->cpu_ns / (double)s->delivered : 0;
}

static struct cs_chain_kernel *no_chains(struct cs_driver_state *s)
{
    (void)s;
    return NULL;
}

static int no_fd(const struct cs_driver_state *s, unsigned i)
{
    (void)s;
    (void)i;
    return -1;
}

static void no_detach(struct cs_driver_state *s, unsigned cpu_index)
{
    (void)s; /* timers are of threads */
    (void)cpu_index;
}

const struct cs_driver cs_driver_timers = {
    "timers", open_timers, prepare, attach, no_detach, begin_drain,  drain, oldest,
    counts,   mean_period, NULL,    no_fd,  no_chains, close_timers, false,
};

const struct cs_driver cs_driver_stops = {
    "stops", open_stops,  prepare, attach, no_detach, begin_drain,  drain, oldest,
    counts,  mean_period, NULL,    no_fd,  no_chains, close_timers, true,
};

bool cs_timers_are(const struct cs_driver *driver)
{
    return driver == &cs_driver_timers || driver == &cs_driver_stops;
}
