/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Brings samples in: draw the line, apply all notices up to it, then place every entry on (image, offset).
 * dcpi-1997 section 4.3. An entry that can't be placed is counted by its cause in the image "[unknown]". */
#include "sampler/session/session.h"
#include "sampler/session/stacks.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static const struct {
    const char *counter, *sentence;
} causes[CS_UNKNOWN_N] = {
    [CS_UNKNOWN_NO_MAPPING] = {"unknown.no-mapping",
                               "nothing executable is known to be mapped at the address"},
    [CS_UNKNOWN_NO_PROCESS] = {"unknown.no-process", "the process ended before its mappings could be read"},
    [CS_UNKNOWN_REPLACED] = {"unknown.replaced", "one image replaced another at the address in that moment"},
    [CS_UNKNOWN_NO_FILE] = {"unknown.no-file", "the image's file was gone, and it has no build-id"},
    [CS_UNKNOWN_KERNEL] = {"unknown.kernel",
                           "a kernel address outside of its text and modules, or addresses are hidden"},
    [CS_UNKNOWN_GENERATION] = {"unknown.generation", "a notice of a fork or exec was lost"},
};

const char *cs_unknown_counter(enum cs_unknown cause)
{
    return causes[cause].counter;
}
const char *cs_unknown_name(enum cs_unknown cause)
{
    return causes[cause].counter + sizeof "unknown." - 1;
}
const char *cs_unknown_sentence(enum cs_unknown cause)
{
    return causes[cause].sentence;
}

uint64_t cs_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

double cs_thread_cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void cs_sampler_say(struct cs_sampler *s, const char *format, ...)
{
    char sentence[512];
    va_list args;
    if (!s->config.say)
        return;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    s->config.say(s->config.arg, sentence);
}

/* Reads a process's maps because a notice seems to be missing; once a drain. */
static bool scan_once(struct cs_sampler *s, const struct cs_drained *entry)
{
    if (s->n_scanned == sizeof s->scanned / sizeof *s->scanned)
        return false;
    for (unsigned i = 0; i < s->n_scanned; i++)
        if (s->scanned[i] == (pid_t)entry->pid)
            return false;
    s->scanned[s->n_scanned++] = (pid_t)entry->pid;
    return cs_maps_scan(s->maps, (pid_t)entry->pid, entry->from_ns) == 0;
}

static bool is_missing(int rc)
{
    return rc == -(1 + CS_UNKNOWN_NO_MAPPING) || rc == -(1 + CS_UNKNOWN_NO_PROCESS);
}

static int place_user(struct cs_sampler *s, const struct cs_drained *entry, struct cs_found *found)
{
    pid_t pid = (pid_t)entry->pid;
    int rc = cs_maps_find(s->maps, pid, entry->pc, entry->from_ns, entry->to_ns, found);
    if (is_missing(rc) && scan_once(s, entry))
        rc = cs_maps_find(s->maps, pid, entry->pc, entry->from_ns, entry->to_ns, found);
    /* When it began was not told, but that it is the last one is certain: then it is what was there at the
     * end. */
    if (is_missing(rc) && entry->latest)
        rc = cs_maps_find(s->maps, pid, entry->pc, entry->to_ns, entry->to_ns, found);
    return rc;
}

int cs_collect_find(struct cs_sampler *s, const struct cs_drained *entry, struct cs_found *found)
{
    int rc;
    *found = (struct cs_found){.image = NULL};
    if (entry->kernel) {
        double before = cs_kernel_must_read(s->kernel, entry->pc) ? cs_thread_cpu_seconds() : 0;
        rc = cs_kernel_find(s->kernel, entry->pc, &found->image, &found->offset);
        if (before > 0)
            cs_rate_seldom(s, cs_thread_cpu_seconds() - before);
        found->label = cs_maps_label_of(s->maps, (pid_t)entry->pid, entry->from_ns);
    } else if (entry->uncertain) {
        rc = -(1 + CS_UNKNOWN_GENERATION);
    } else {
        rc = place_user(s, entry, found);
    }
    if (rc == 0 && found->jit)
        found->offset = cs_jit_offset(s->jit, &found->image->image, (pid_t)entry->pid, entry->to_ns,
                                      entry->pc, found->offset);
    if (rc < 0) {
        found->image = s->unknown_image;
        found->offset = (uint64_t)(-rc - 1);
    }
    return rc;
}

static void place(void *arg, const struct cs_drained *entry)
{
    struct cs_sampler *s = arg;
    struct cs_found found;
    s->delivered_by_event[entry->event] += entry->count;
    int rc = cs_collect_find(s, entry, &found);
    if (rc < 0)
        s->unknown[-rc - 1] += entry->count;
    if (s->config.placed) {
        struct cs_placed placed = {.image = &found.image->image,
                                   .offset = found.offset,
                                   .samples = entry->count,
                                   .event = entry->event,
                                   .pid = (pid_t)entry->pid,
                                   .from_ns = entry->from_ns,
                                   .to_ns = entry->to_ns,
                                   .label = cs_maps_label(s->maps, found.label)};
        s->config.placed(s->config.arg, &placed);
    }
    if (cs_profiles_add(s->profiles, found.image, entry->event, found.label, found.offset, entry->count) < 0)
        s->dropped += entry->count;
    const char *frames = entry->chain ? cs_stack_text(s, entry, found.label) : NULL;
    if (frames)
        (void)cs_profiles_add_stack(s->profiles, found.image, entry->event, found.label, frames,
                                    entry->count);
}

static void incarnation(void *arg, pid_t pid, uint64_t time_ns)
{
    struct cs_sampler *s = arg;
    if (s->driver == &cs_driver_ring) /* the BPF driver counts them in the kernel */
        (void)cs_generations_next(s->generations, (uint32_t)pid, time_ns);
}

static void kernel_changed(void *arg)
{
    cs_kernel_changed(((struct cs_sampler *)arg)->kernel);
}

int cs_collect_open(struct cs_sampler *s, struct cs_error *err)
{
    s->images = cs_images_open("/proc");
    s->maps = s->images ? cs_maps_open(s->images, "/proc", s->config.label) : NULL;
    s->kernel = s->images ? cs_kernel_open(s->images, "/proc", "/sys") : NULL;
    s->unknown_image =
        s->images ? cs_images_special(s->images, CS_IMAGE_UNKNOWN, "unknown", "[unknown]", "") : NULL;
    s->jit = cs_jit_open("/proc", "/tmp", s->maps);
    s->profiles = cs_profiles_open(s->events, s->n_events);
    if (!s->maps || !s->kernel || !s->unknown_image || !s->profiles || !s->jit)
        return cs_fail(err, ENOMEM, "out of memory for the image maps");
    return 0;
}

/* What runs at the line is what /proc shows now, but for what began since: notices of that are still to come.
 */
static void make_up_for_lost(struct cs_sampler *s, uint64_t line_ns)
{
    uint64_t lost = cs_sideband_lost(s->sideband);
    if (lost == s->map_records_lost_said)
        return;
    cs_sampler_say(s, "%llu notices of processes and mappings were lost: some samples may stay unplaced",
                   (unsigned long long)(lost - s->map_records_lost_said));
    s->map_records_lost_said = lost;
    if (s->config.target == CS_TARGET_ALL)
        (void)cs_maps_scan_all(s->maps, line_ns);
}

int cs_collect_drain(struct cs_sampler *s, enum cs_drain how, struct cs_error *err)
{
    struct cs_sideband_events events = {s, s->maps, incarnation, kernel_changed};
    s->n_scanned = 0;
    cs_jit_refresh(s->jit);
    uint64_t line = s->driver->begin_drain(s->state, how);
    uint64_t settled = line + CS_SIDEBAND_SETTLE_NS, now = cs_now_ns();
    if (how != CS_DRAIN_LAST && now < settled) { /* notices before the line must have become visible */
        struct timespec rest = {0, (long)(settled - now)};
        nanosleep(&rest, NULL);
    }
    int rc = cs_sideband_drain(s->sideband, how == CS_DRAIN_LAST ? UINT64_MAX : line, &events);
    if (rc < 0)
        return cs_fail(err, ENOMEM, "out of memory for the kernel's notices");
    make_up_for_lost(s, line);
    rc = s->driver->drain(s->state, how, place, s, err);
    /* What ended before the previous drain's line can't be asked about any more. */
    cs_maps_expire(s->maps, s->horizon_ns);
    cs_generations_expire(s->generations, s->horizon_ns);
    s->horizon_ns = s->driver->oldest(s->state);
    return rc;
}
