/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries to images: user addresses by the maps of their process, the kernel's by its symbols, JIT code by
 * its names. A process whose records seem to be missing is looked up in /proc, once a drain. */
#include "sampler/placing/resolve.h"
#include "sampler/chains/context_tree.h"
#include "store/base/clock.h"

#include <errno.h>

/* Reads a process's maps because a record seems to be missing; once a drain. */
static bool scan_once(struct cs_session_places *s, const struct cs_driver_entry *entry)
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

static int place_user(struct cs_session_places *s, const struct cs_driver_entry *entry,
                      struct cs_maps_location *found)
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

int cs_session_resolve(struct cs_session_places *s, const struct cs_driver_entry *entry,
                       struct cs_maps_location *found)
{
    int rc;
    *found = (struct cs_maps_location){.image = NULL};
    if (!entry->kernel && (entry->pc & CS_TREE_INTERPRETED)) {
        const struct cs_interpreted_frame frame = {.code = entry->pc & CS_TREE_CODE_MASK};
        if (cs_interpreted_find(s->interpreted, entry->pc >> CS_TREE_INTERPRETER_SHIFT & 15,
                                (pid_t)entry->pid, entry->pc & CS_TREE_MODULE_BITS, &frame, false,
                                &found->image, &found->offset))
            return 0;
        found->image = s->unknown_image;
        found->offset = CS_UNKNOWN_NO_MAPPING;
        return -(1 + CS_UNKNOWN_NO_MAPPING);
    }
    if (entry->kernel) {
        double before = cs_kernel_must_read(s->kernel, entry->pc) ? cs_thread_cpu_seconds() : 0;
        rc = cs_kernel_find(s->kernel, entry->pc, &found->image, &found->offset);
        if (before > 0)
            s->kernel_read_seconds += cs_thread_cpu_seconds() - before;
        found->label = cs_maps_label_of(s->maps, (pid_t)entry->pid, entry->from_ns);
    } else if (entry->uncertain) {
        rc = -(1 + CS_UNKNOWN_GENERATION);
    } else {
        rc = place_user(s, entry, found);
    }
    if (rc == 0 && found->jit)
        found->offset = cs_jit_offset(s->jit, &found->image->image, (pid_t)entry->pid, entry->from_ns,
                                      entry->to_ns, entry->pc, found->offset);
    if (rc < 0) {
        s->unknown_met = true;
        found->image = s->unknown_image;
        found->offset = (uint64_t)(-rc - 1);
    }
    return rc;
}

uint64_t cs_session_replaced_ns(const struct cs_session_places *s)
{
    const uint64_t maps_ns = cs_maps_replaced_ns(s->maps), jit_ns = cs_jit_replaced_ns(s->jit);
    return maps_ns > jit_ns ? maps_ns : jit_ns;
}

static uint64_t change_of(struct cs_session_places *s, struct cs_driver_entry *entry, uint64_t addr)
{
    const pid_t pid = (pid_t)entry->pid;
    const uint64_t maps_ns = cs_maps_change(s->maps, pid, addr, &entry->from_ns, entry->to_ns),
                   jit_ns = cs_jit_change(s->jit, pid, addr, entry->from_ns, entry->to_ns);
    return !maps_ns || (jit_ns && jit_ns < maps_ns) ? jit_ns : maps_ns;
}

uint64_t cs_session_code_change(struct cs_session_places *s, struct cs_driver_entry *entry)
{
    uint64_t change_ns = 0;
    if (cs_session_replaced_ns(s) <= entry->from_ns)
        return 0;
    if (!entry->kernel)
        change_ns = change_of(s, entry, entry->pc);
    for (unsigned i = entry->n_kernel; entry->chain && i < entry->n_chain && !change_ns; i++)
        if (!(entry->chain[i] & CS_TREE_INTERPRETED))
            change_ns = change_of(s, entry, entry->chain[i]);
    return change_ns;
}

int cs_session_places_open(struct cs_session_places *s, enum cs_label label, struct cs_error *err)
{
    s->images = cs_images_open("/proc");
    s->maps = s->images ? cs_maps_open(s->images, "/proc", label) : NULL;
    s->kernel = s->images ? cs_kernel_open(s->images, "/proc", "/sys") : NULL;
    s->unknown_image =
        s->images ? cs_images_special(s->images, CS_IMAGE_UNKNOWN, "unknown", "[unknown]", "") : NULL;
    s->jit = cs_jit_open("/proc", "/tmp", s->maps);
    s->interpreted = s->images ? cs_interpreted_open(s->images, s->maps) : NULL;
    if (!s->interpreted || !s->maps || !s->kernel || !s->unknown_image || !s->jit)
        return cs_fail(err, ENOMEM, "out of memory for the image maps");
    return 0;
}

void cs_session_places_close(struct cs_session_places *s)
{
    cs_kernel_close(s->kernel);
    cs_jit_close(s->jit);
    cs_interpreted_close(s->interpreted);
    cs_maps_close(s->maps);
    cs_images_close(s->images);
}

void cs_session_places_refresh(struct cs_session_places *s)
{
    s->n_scanned = 0;
    cs_jit_refresh(s->jit);
    cs_interpreted_drain(s->interpreted, cs_monotonic_ns());
}

void cs_session_places_meet(struct cs_session_places *s)
{
    const struct cs_jit_process *made;
    const unsigned n = cs_maps_new_jit(s->maps, &made);
    for (unsigned i = 0; i < n; i++)
        cs_jit_meet(s->jit, made[i].pid, made[i].since_ns);
}
