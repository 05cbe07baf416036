/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records and /proc into incarnations of processes; lookups in them. Labels and images are named here. */
#include "sampler/images/maps.h"
#include "sampler/images/incarnations.h"
#include "sampler/images/labels.h"
#include "sampler/images/moved_text.h"
#include "sampler/images/proc_maps.h"
#include "sampler/images/threads.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <urcu-bp.h>

#define MAPPINGS_MAX 400000         /* of all processes: 22 MB */
#define MAPPINGS_ALWAYS 256         /* that a process may have even then */
#define NEW_JIT_MAX 32              /* processes that are told of between two looks */
#define LASTING_NS 2000000000ull    /* CS_LABEL_LASTING: younger ones are their command's */
#define LOOKS_APART_NS 500000000ull /* at the age of all of them */

struct cs_maps {
    struct cs_images *images;
    const char *proc;
    enum cs_label label;
    struct cs_labels *labels;
    struct cs_threads *threads; /* NULL unless the label is of threads */
    struct cs_incarnations all;
    bool batch;
    uint64_t born, forks;                               /* threads and processes that began, by the records */
    void (*forked)(void *arg, pid_t pid, pid_t parent); /* NULL: nobody asks; `arg` is that of changes */
    uint64_t cut;                                       /* records of mappings that were too many to keep */
    uint64_t replaced_ns;                               /* when one image last took the place of another */
    uint64_t lasting_noted_ns;
    uint64_t horizon_ns; /* no sample from before it will be asked about */
    struct cs_jit_process new_jit[NEW_JIT_MAX];
    unsigned n_new_jit;
};

struct scan {
    struct cs_maps *maps;
    uint64_t since_ns;
    unsigned char *seen; /* a bit a PID */
    int n;
};

/* ---- lookup: the reader's side ---- */

int cs_maps_find(struct cs_maps *maps, pid_t pid, uint64_t addr, uint64_t from_ns, uint64_t to_ns,
                 struct cs_maps_location *out)
{
    const struct cs_mapping *m;
    int rc = -(1 + CS_UNKNOWN_NO_PROCESS);
    rcu_read_lock();
    struct cs_incarnation *i = cs_incarnation_at(&maps->all, pid, from_ns);
    if (i) {
        const struct cs_space *space = __atomic_load_n(&i->space, __ATOMIC_CONSUME);
        out->label = __atomic_load_n(&i->label, __ATOMIC_RELAXED);
        rc = cs_space_find(space, addr, from_ns, to_ns, &m);
        if (rc == 0) {
            uint64_t file_offset = addr - m->start + m->pgoff;
            out->image = m->image;
            out->map_start = m->start;
            out->map_end = m->end;
            out->jit = m->jit;
            if (m->jit)
                out->offset = addr - m->start;
            else if (m->image->image.kind == CS_IMAGE_FILE)
                out->offset = file_offset;
            else if (!m->image->placeable)
                rc = -(1 + (m->image->cut ? CS_UNKNOWN_CUT : CS_UNKNOWN_NO_FILE));
            else
                out->offset = cs_image_vaddr(&m->image->layout, file_offset);
            if (rc == 0 && out->offset == UINT64_MAX)
                out->offset = file_offset; /* beyond every segment: padding of the last page */
        }
    }
    CS_INCARNATION_READ();
    rcu_read_unlock();
    return rc;
}

uint64_t cs_maps_change(struct cs_maps *maps, pid_t pid, uint64_t addr, uint64_t *from_ns, uint64_t to_ns)
{
    rcu_read_lock();
    struct cs_incarnation *i = cs_incarnation_at(&maps->all, pid, *from_ns);
    const uint64_t change_ns =
        i ? cs_space_change(__atomic_load_n(&i->space, __ATOMIC_CONSUME), addr, from_ns, to_ns) : 0;
    CS_INCARNATION_READ();
    rcu_read_unlock();
    return change_ns;
}

uint64_t cs_maps_replaced_ns(const struct cs_maps *maps)
{
    return maps->replaced_ns;
}

uint32_t cs_maps_label_of(struct cs_maps *maps, pid_t pid, uint64_t time_ns)
{
    if (maps->label == CS_LABEL_NONE)
        return 0;
    rcu_read_lock();
    struct cs_incarnation *i = cs_incarnation_at(&maps->all, pid, time_ns);
    uint32_t label = i ? __atomic_load_n(&i->label, __ATOMIC_RELAXED) : 0;
    CS_INCARNATION_READ();
    rcu_read_unlock();
    return label;
}

/* "/anywhere/jit-123.dump": runtimes map it for nothing but to be found. */
static bool is_jitdump(const char *path)
{
    const char *base = strrchr(path, '/');
    size_t n = base ? strlen(base) : 0;
    return n > 10 && strncmp(base, "/jit-", 5) == 0 && strcmp(base + n - 5, ".dump") == 0;
}

bool cs_maps_jitdump(struct cs_maps *maps, pid_t pid, uint64_t time_ns, char *path, size_t size)
{
    bool found = false;
    rcu_read_lock();
    struct cs_incarnation *i = cs_incarnation_at(&maps->all, pid, time_ns);
    const struct cs_space *space = i ? __atomic_load_n(&i->space, __ATOMIC_CONSUME) : NULL;
    for (unsigned m = 0; space && !found && m < space->n_live; m++)
        if (is_jitdump(space->at[m].image->image.path))
            found = (size_t)snprintf(path, size, "%s", space->at[m].image->image.path) < size;
    CS_INCARNATION_READ();
    rcu_read_unlock();
    return found;
}

const char *cs_maps_label(const struct cs_maps *maps, uint32_t label)
{
    return cs_labels_text(maps->labels, label);
}

/* ---- the writer's side ---- */

void cs_maps_batch(struct cs_maps *maps, bool begins)
{
    maps->batch = begins;
    if (!begins)
        cs_incarnations_publish(&maps->all);
}

static uint32_t process_label(struct cs_maps *maps, pid_t pid, const char *comm)
{
    char text[80];
    snprintf(text, sizeof text, "%s-%d", comm, (int)pid);
    return cs_labels_number(maps->labels, text);
}

static uint32_t label_for(struct cs_maps *maps, pid_t pid, const char *comm, uint32_t inherited)
{
    char text[4200];
    switch (maps->label) {
    case CS_LABEL_COMMAND:
    case CS_LABEL_LASTING: /* until `lasts` is set */
        return cs_labels_number(maps->labels, comm);
    case CS_LABEL_PROCESS:
        return process_label(maps, pid, comm);
    case CS_LABEL_CGROUP:
        cs_labels_cgroup_of(maps->proc, pid, text, sizeof text);
        return text[0] ? cs_labels_number(maps->labels, text) : inherited;
    case CS_LABEL_CONTAINER:
        cs_labels_cgroup_of(maps->proc, pid, text, sizeof text);
        cs_labels_container_of(text);
        return text[0] ? cs_labels_number(maps->labels, text) : inherited;
    case CS_LABEL_THREAD:    /* cs_maps_thread_label */
    case CS_LABEL_ATTRIBUTE: /* of a sample, not of a process */
    case CS_LABEL_NONE:
        break;
    }
    return 0;
}

void cs_maps_thread_born(struct cs_maps *maps, pid_t tid, pid_t pid, pid_t parent_tid)
{
    maps->born++;
    if (maps->threads)
        cs_threads_born(maps->threads, tid, pid, parent_tid);
}

void cs_maps_thread_named(struct cs_maps *maps, pid_t tid, pid_t pid, const char *name, uint64_t time_ns)
{
    if (maps->threads)
        cs_threads_named(maps->threads, tid, pid, name, time_ns);
}

void cs_maps_thread_ended(struct cs_maps *maps, pid_t tid)
{
    if (maps->threads)
        cs_threads_ended(maps->threads, tid);
}

pid_t cs_maps_process_of(struct cs_maps *maps, pid_t tid)
{
    return cs_threads_process(maps->threads, tid);
}

uint32_t cs_maps_text_label(struct cs_maps *maps, const char *text, uint32_t most)
{
    return cs_labels_number_within(maps->labels, text, most);
}

uint64_t cs_maps_thread_renamed(struct cs_maps *maps, pid_t tid, uint64_t from_ns, uint64_t to_ns)
{
    return maps->threads ? cs_threads_renamed(maps->threads, tid, from_ns, to_ns) : 0;
}

uint32_t cs_maps_thread_label(struct cs_maps *maps, pid_t tid, uint64_t time_ns)
{
    char text[48];
    cs_threads_text(maps->threads, tid, time_ns, text, sizeof text);
    return cs_labels_number(maps->labels, text);
}

static void note_lasting(struct cs_maps *maps, struct cs_incarnation *i, uint64_t now_ns)
{
    if (i->lasts || !i->label || now_ns < i->start_ns || now_ns - i->start_ns < LASTING_NS)
        return;
    i->lasts = true;
    __atomic_store_n(&i->label, process_label(maps, i->pid, cs_labels_text(maps->labels, i->label)),
                     __ATOMIC_RELAXED);
}

void cs_maps_note_lasting(struct cs_maps *maps, uint64_t now_ns)
{
    if (maps->label != CS_LABEL_LASTING || now_ns < maps->lasting_noted_ns + LOOKS_APART_NS)
        return;
    maps->lasting_noted_ns = now_ns;
    for (unsigned b = 0; b < CS_INCARNATION_BUCKETS; b++)
        for (struct cs_incarnation *i = maps->all.buckets[b]; i; i = i->next)
            if (!i->ending)
                note_lasting(maps, i, now_ns);
}

static void note_jit(struct cs_maps *maps, struct cs_incarnation *i)
{
    i->has_jit = true;
    for (unsigned n = 0; n < maps->n_new_jit; n++)
        if (maps->new_jit[n].pid == i->pid && maps->new_jit[n].since_ns == i->start_ns)
            return;
    if (maps->n_new_jit < NEW_JIT_MAX)
        maps->new_jit[maps->n_new_jit++] = (struct cs_jit_process){i->pid, i->start_ns};
}

unsigned cs_maps_new_jit(struct cs_maps *maps, const struct cs_jit_process **which)
{
    const unsigned n = maps->n_new_jit;
    *which = maps->new_jit;
    maps->n_new_jit = 0;
    return n;
}

int cs_maps_fork(struct cs_maps *maps, pid_t pid, pid_t parent, uint64_t time_ns)
{
    if (pid == parent)
        return 0; /* a thread */
    maps->forks++;
    struct cs_incarnation *from = cs_incarnation_at(&maps->all, parent, UINT64_MAX);
    if (from)
        cs_incarnation_publish(&maps->all, from);
    struct cs_space *space = from ? from->space : cs_incarnations_space(&maps->all, 0);
    uint32_t label = from ? from->label : 0;
    if (from) {
        space->references++;
        const char *text = cs_labels_text(maps->labels, label);
        const char *dash = strrchr(text, '-');
        if ((maps->label == CS_LABEL_PROCESS || from->lasts) && dash) {
            char comm[64];
            snprintf(comm, sizeof comm, "%.*s", (int)(dash - text), text);
            label = label_for(maps, pid, comm, 0);
        }
    }
    const bool has_jit = from && from->has_jit;
    struct cs_incarnation *child = cs_incarnation_begin(&maps->all, pid, space, label, time_ns);
    if (!child)
        return -ENOMEM;
    child->parent = from ? parent : 0;
    if (has_jit)
        note_jit(maps, child);
    if (maps->forked && from)
        maps->forked(maps->all.changed_arg, pid, parent);
    return 0;
}

int cs_maps_exec(struct cs_maps *maps, pid_t pid, const char *comm, uint64_t time_ns)
{
    struct cs_incarnation *from = cs_incarnation_at(&maps->all, pid, UINT64_MAX);
    uint32_t label = label_for(maps, pid, comm, from ? from->label : 0);
    return cs_incarnation_begin(&maps->all, pid, cs_incarnations_space(&maps->all, 0), label, time_ns)
               ? 0
               : -ENOMEM;
}

int cs_maps_comm(struct cs_maps *maps, pid_t pid, const char *comm, uint64_t time_ns)
{
    struct cs_incarnation *i = cs_incarnation_at(&maps->all, pid, time_ns);
    if (i && maps->label != CS_LABEL_CGROUP && maps->label != CS_LABEL_CONTAINER)
        __atomic_store_n(&i->label,
                         i->lasts ? process_label(maps, pid, comm) : label_for(maps, pid, comm, i->label),
                         __ATOMIC_RELAXED);
    return 0;
}

int cs_maps_exit(struct cs_maps *maps, pid_t pid, uint64_t time_ns)
{
    struct cs_incarnation *i = cs_incarnation_at(&maps->all, pid, time_ns);
    if (i && maps->label == CS_LABEL_LASTING)
        note_lasting(maps, i, time_ns);
    return cs_incarnation_end(&maps->all, i, time_ns);
}

static bool is_anonymous(const char *path)
{
    return strncmp(path, "//anon", 6) == 0 || strncmp(path, "/anon_hugepage", 14) == 0 ||
           strncmp(path, "[heap]", 6) == 0 || strncmp(path, "[stack", 6) == 0 ||
           strncmp(path, "/memfd:", 7) == 0 || strncmp(path, "/dev/zero", 9) == 0 ||
           strncmp(path, "/SYSV", 5) == 0 || path[0] == '\0' || strncmp(path, "[anon", 5) == 0;
}

/* Who names the code that a process makes. One that has ended names none: ours. */
static uid_t user_of(struct cs_maps *maps, struct cs_incarnation *i)
{
    if (!i)
        return geteuid();
    if (!i->user_known) {
        const uid_t user = cs_proc_user(maps->proc, i->pid, NULL);
        i->user = user == (uid_t)-1 ? geteuid() : user;
        i->user_known = true;
    }
    return i->user;
}

/* The image whose code a process moved there, at its old place; NULL: none. */
static struct cs_mapped_image *moved_text(struct cs_maps *maps, const struct cs_mapped_file *file,
                                          uint64_t *pgoff)
{
    struct cs_incarnation *i = cs_incarnation_at(&maps->all, file->pid, UINT64_MAX);
    const struct cs_space *space = i ? cs_incarnation_newest(i) : NULL;
    const unsigned behind = space ? cs_space_first_behind(space, file->start) : 0;
    const struct cs_mapping *m = space ? cs_space_live_at(space, file->start) : NULL;
    struct cs_mapped_file beside = {.pid = file->pid, .build_id = ""};
    struct cs_mapped_image *image = NULL;
    if (!m && behind > 0 && space->at[behind - 1].end == file->start)
        m = &space->at[behind - 1];
    if (m && !m->jit) {
        image = m->image;
        beside.start = m->start;
        beside.end = m->end;
        beside.pgoff = m->pgoff;
    } else if (file->before) {
        beside = *file->before;
        image = cs_images_of_file(maps->images, file->before);
    }
    *pgoff = beside.pgoff + (file->start - beside.start);
    return image && cs_text_was_moved(maps->images, image, &beside, file->start, file->end, *pgoff) ? image
                                                                                                    : NULL;
}

static struct cs_mapped_image *image_of(struct cs_maps *maps, const struct cs_mapped_file *file, bool *jit,
                                        uint64_t *pgoff)
{
    struct cs_mapped_file named = *file;
    char path[4200];
    size_t n = strlen(file->path);
    *jit = is_anonymous(file->path);
    *pgoff = file->pgoff;
    if (*jit) {
        struct cs_mapped_image *image = strncmp(file->path, "/memfd:", 7) == 0
                                            ? cs_images_of_memory_file(maps->images, file)
                                            : moved_text(maps, file, pgoff);
        if (image) {
            *jit = false;
            return image;
        }
    }
    if (*jit) { /* one image for all processes of a program: the names tell its parts apart */
        struct cs_incarnation *i = cs_incarnation_at(&maps->all, file->pid, UINT64_MAX);
        const struct cs_space *space = i ? cs_incarnation_newest(i) : NULL;
        const char *program = space && space->n_live ? space->at[0].image->image.path : "[unknown]";
        const char *slash = strrchr(program, '/');
        snprintf(path, sizeof path, "[jit] %s", slash && slash[1] ? slash + 1 : program);
        return cs_images_made(maps->images, strncmp(program, "[jit] ", 6) == 0 ? program : path,
                              user_of(maps, i));
    }
    if (n > 10 && strcmp(file->path + n - 10, " (deleted)") == 0) {
        snprintf(path, sizeof path, "%.*s", (int)(n - 10), file->path);
        named.path = path;
    }
    return cs_images_of_file(maps->images, &named);
}

int cs_maps_mmap(struct cs_maps *maps, const struct cs_mapped_file *file, uint64_t time_ns)
{
    struct cs_incarnation *i = cs_incarnation_at(&maps->all, file->pid, UINT64_MAX);
    bool jit;
    cs_incarnations_relieve(&maps->all);
    if (!i && !(i = cs_incarnation_begin(&maps->all, file->pid, cs_incarnations_space(&maps->all, 0), 0, 0)))
        return -ENOMEM;
    uint64_t pgoff;
    struct cs_mapped_image *image = image_of(maps, file, &jit, &pgoff);
    if (!image)
        return -ENOMEM;
    if (jit)
        note_jit(maps, i);
    /* Code without a file has no offset in one: a record and /proc tell different ones. */
    pgoff = jit ? file->start : pgoff;
    const struct cs_mapping *same = cs_space_live_at(cs_incarnation_newest(i), file->start);
    if (same && same->image == image && same->end >= file->end &&
        same->start - same->pgoff == file->start - pgoff)
        return 0; /* told again: mprotect, a scan beside the records */
    const struct cs_space *now = cs_incarnation_newest(i);
    for (unsigned k = cs_space_first_behind(now, file->start);
         k < now->n_live && now->at[k].start < file->end && time_ns > maps->replaced_ns; k++)
        if (now->at[k].image != image && now->at[k].from_ns < time_ns)
            maps->replaced_ns = time_ns;
    struct cs_mapping add = {file->start, file->end, pgoff, image, time_ns, UINT64_MAX, jit};
    struct cs_space *draft = cs_incarnation_draft(&maps->all, i, &add, maps->horizon_ns, maps->batch);
    if (!draft)
        return -ENOMEM;
    bool full = maps->all.n_mappings > MAPPINGS_MAX && draft->n_live >= MAPPINGS_ALWAYS;
    if (!cs_space_put(draft, &add, maps->horizon_ns, full))
        maps->cut++;
    if (!maps->batch)
        cs_incarnations_publish(&maps->all);
    return 0;
}

uint64_t cs_maps_cut(const struct cs_maps *maps)
{
    return maps->cut;
}

void cs_maps_expire(struct cs_maps *maps, uint64_t horizon_ns)
{
    cs_incarnations_publish(&maps->all);
    maps->horizon_ns = horizon_ns;
    cs_incarnations_expire(&maps->all, horizon_ns);
}

void cs_maps_tell_changes(struct cs_maps *maps, void (*changed)(void *arg, pid_t pid),
                          void (*forked)(void *arg, pid_t pid, pid_t parent), void *arg)
{
    maps->forked = forked;
    maps->all.changed = changed;
    maps->all.changed_arg = arg;
}

bool cs_maps_each(struct cs_maps *maps, pid_t pid,
                  void (*each)(void *arg, const struct cs_mapped_piece *piece), void *arg)
{
    struct cs_incarnation *i = cs_incarnation_at(&maps->all, pid, UINT64_MAX);
    if (!i || i->ending)
        return false;
    const struct cs_space *space = cs_incarnation_newest(i);
    for (unsigned m = 0; m < space->n_live; m++) {
        const struct cs_mapping *from = &space->at[m];
        struct cs_mapped_piece piece = {from->start, from->end, from->pgoff, from->image, from->jit};
        each(arg, &piece);
    }
    return true;
}

bool cs_maps_is_running(struct cs_maps *maps, pid_t pid)
{
    const struct cs_incarnation *i = cs_incarnation_at(&maps->all, pid, UINT64_MAX);
    return i && !i->ending;
}

pid_t cs_maps_parent(struct cs_maps *maps, pid_t pid)
{
    const struct cs_incarnation *i = cs_incarnation_at(&maps->all, pid, UINT64_MAX);
    const struct cs_incarnation *from =
        i && i->parent ? cs_incarnation_at(&maps->all, i->parent, UINT64_MAX) : NULL;
    return from && !from->ending && from->start_ns <= i->start_ns ? i->parent : 0;
}

uint64_t cs_maps_born(const struct cs_maps *maps, uint64_t *forks)
{
    *forks = maps->forks;
    return maps->born;
}

unsigned cs_maps_processes(const struct cs_maps *maps)
{
    return maps->all.n;
}

unsigned cs_maps_running(const struct cs_maps *maps, pid_t *pids, unsigned capacity)
{
    unsigned n = 0;
    for (unsigned b = 0; b < CS_INCARNATION_BUCKETS; b++)
        for (const struct cs_incarnation *i = maps->all.buckets[b]; i; i = i->next) {
            if (i->ending)
                continue;
            if (n < capacity)
                pids[n] = i->pid;
            n++;
        }
    return n;
}

/* ---- /proc ---- */

static int seen_mapping(void *arg, const struct cs_mapped_file *file)
{
    struct scan *scan = arg;
    return cs_maps_mmap(scan->maps, file, scan->since_ns);
}

int cs_maps_scan(struct cs_maps *maps, pid_t pid, uint64_t since_ns)
{
    char comm[64];
    struct scan scan = {.maps = maps, .since_ns = since_ns};
    int rc = cs_proc_command(maps->proc, pid, comm, sizeof comm);
    if (rc < 0)
        return rc;
    if (!cs_incarnation_at(&maps->all, pid, UINT64_MAX) &&
        !cs_incarnation_begin(&maps->all, pid, cs_incarnations_space(&maps->all, 0),
                              label_for(maps, pid, comm, 0), since_ns))
        return -ENOMEM;
    bool within = maps->batch;
    cs_maps_batch(maps, true);
    rc = cs_proc_mappings(maps->proc, pid, seen_mapping, &scan);
    if (!within)
        cs_maps_batch(maps, false);
    return rc;
}

static void seen_process(void *arg, pid_t pid)
{
    struct scan *scan = arg;
    scan->seen[pid / 8] |= (unsigned char)(1 << pid % 8);
    scan->n += cs_maps_scan(scan->maps, pid, scan->since_ns) == 0;
}

/* What /proc no longer shows has ended, whether a record of it came or not. */
static void end_unseen(struct cs_maps *maps, const unsigned char *seen, uint64_t time_ns)
{
    for (unsigned b = 0; b < CS_INCARNATION_BUCKETS; b++)
        for (struct cs_incarnation *i = maps->all.buckets[b]; i; i = i->next)
            if (i->pid > 0 && i->pid < CS_PROC_PID_MAX && !(seen[i->pid / 8] & 1 << i->pid % 8))
                (void)cs_incarnation_end(&maps->all, i, time_ns);
}

int cs_maps_scan_all(struct cs_maps *maps, uint64_t since_ns)
{
    struct scan scan = {maps, since_ns, calloc(CS_PROC_PID_MAX / 8, 1), 0};
    int rc = scan.seen ? cs_proc_processes(maps->proc, seen_process, &scan) : -ENOMEM;
    if (rc == 0 && since_ns > 0)
        end_unseen(maps, scan.seen, since_ns);
    free(scan.seen);
    return rc < 0 ? rc : scan.n;
}

struct cs_maps *cs_maps_open(struct cs_images *images, const char *proc, enum cs_label label)
{
    assert(images && proc);
    struct cs_maps *maps = calloc(1, sizeof *maps);
    struct cs_labels *labels = cs_labels_open();
    struct cs_threads *threads = label == CS_LABEL_THREAD ? cs_threads_open(proc) : NULL;
    if (!maps || !labels || (label == CS_LABEL_THREAD && !threads)) {
        cs_threads_close(threads);
        free(maps);
        cs_labels_close(labels);
        return NULL;
    }
    maps->images = images;
    maps->proc = proc;
    maps->label = label;
    maps->labels = labels;
    maps->threads = threads;
    return maps;
}

void cs_maps_close(struct cs_maps *maps)
{
    if (!maps)
        return;
    cs_incarnations_fini(&maps->all);
    cs_labels_close(maps->labels);
    cs_threads_close(maps->threads);
    free(maps);
}
