/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who had what mapped where, and when: incarnations of PIDs in hash chains, newest first; immutable spaces
 * shared by forks. Readers go by RCU; what was unlinked is freed at the next expiry. */
#include "sampler/images/maps.h"
#include "sampler/images/labels.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <urcu-bp.h>

#define BUCKETS 4096
#define PID_MOST (1 << 22)

/* ThreadSanitizer does not see what liburcu orders: its builds say so by a count. */
#ifdef __SANITIZE_THREAD__
static unsigned reads_seen;
#define READ_ENDED() __atomic_fetch_add(&reads_seen, 1, __ATOMIC_RELEASE)
#define READS_ENDED() __atomic_load_n(&reads_seen, __ATOMIC_ACQUIRE)
#else
#define READ_ENDED() ((void)0)
#define READS_ENDED() ((void)0)
#endif

struct mapping {
    uint64_t start, end, pgoff;
    struct cs_mapped_image *image;
    uint64_t from_ns, to_ns; /* to_ns: UINT64_MAX while it is there */
    bool jit;
};

struct space { /* live mappings ascending and disjoint, then the replaced ones */
    unsigned references, n_live, n_past;
    struct mapping at[];
};

struct incarnation {
    struct incarnation *next; /* of the bucket; of one PID the newest first */
    pid_t pid;
    uint32_t label;
    uint64_t start_ns;
    struct space *space;
    bool ending;
};

struct ending {
    struct incarnation *incarnation;
    uint64_t time_ns;
};

struct cs_maps {
    struct cs_images *images;
    const char *proc;
    enum cs_label label;
    struct cs_labels *labels;
    struct incarnation *buckets[BUCKETS];
    struct ending *endings; /* in the order of their times: a queue */
    size_t n_endings, first_ending, room_endings;
    void **garbage; /* unlinked, maybe still read */
    size_t n_garbage, room_garbage;
    unsigned processes;
    uint64_t horizon_ns; /* no sample from before it will be asked about */
};

/* ---- lookup: the reader's side ---- */

static struct incarnation *incarnation_at(struct cs_maps *maps, pid_t pid, uint64_t time_ns)
{
    struct incarnation *i = __atomic_load_n(&maps->buckets[(unsigned)pid % BUCKETS], __ATOMIC_CONSUME);
    while (i && (i->pid != pid || i->start_ns > time_ns))
        i = __atomic_load_n(&i->next, __ATOMIC_CONSUME);
    return i;
}

static const struct mapping *live_at(const struct space *space, uint64_t addr)
{
    unsigned low = 0, high = space->n_live;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (space->at[middle].end <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low < space->n_live && space->at[low].start <= addr ? &space->at[low] : NULL;
}

static int find_in(const struct space *space, uint64_t addr, uint64_t from_ns, uint64_t to_ns,
                   const struct mapping **out)
{
    const struct mapping *m = live_at(space, addr);
    if (m && m->from_ns > to_ns)
        m = NULL;
    for (unsigned i = space->n_live; i < space->n_live + space->n_past; i++) {
        const struct mapping *old = &space->at[i];
        if (addr < old->start || addr >= old->end || old->to_ns < from_ns || old->from_ns > to_ns)
            continue;
        if (m && (m->image != old->image || m->start - m->pgoff != old->start - old->pgoff))
            return -(1 + CS_UNKNOWN_REPLACED);
        m = old;
    }
    *out = m;
    return m ? 0 : -(1 + CS_UNKNOWN_NO_MAPPING);
}

int cs_maps_find(struct cs_maps *maps, pid_t pid, uint64_t addr, uint64_t from_ns, uint64_t to_ns,
                 struct cs_maps_location *out)
{
    const struct mapping *m;
    int rc = -(1 + CS_UNKNOWN_NO_PROCESS);
    rcu_read_lock();
    struct incarnation *i = incarnation_at(maps, pid, from_ns);
    if (i) {
        const struct space *space = __atomic_load_n(&i->space, __ATOMIC_CONSUME);
        out->label = __atomic_load_n(&i->label, __ATOMIC_RELAXED);
        rc = find_in(space, addr, from_ns, to_ns, &m);
        if (rc == 0) {
            uint64_t file_offset = addr - m->start + m->pgoff;
            out->image = m->image;
            out->map_start = m->start;
            out->jit = m->jit;
            if (m->jit)
                out->offset = addr - m->start;
            else if (m->image->image.kind == CS_IMAGE_FILE)
                out->offset = file_offset;
            else if (!m->image->placeable)
                rc = -(1 + CS_UNKNOWN_NO_FILE);
            else
                out->offset = cs_image_vaddr(&m->image->layout, file_offset);
            if (rc == 0 && out->offset == UINT64_MAX)
                out->offset = file_offset; /* beyond every segment: padding of the last page */
        }
    }
    READ_ENDED();
    rcu_read_unlock();
    return rc;
}

uint32_t cs_maps_label_of(struct cs_maps *maps, pid_t pid, uint64_t time_ns)
{
    if (maps->label == CS_LABEL_NONE)
        return 0;
    rcu_read_lock();
    struct incarnation *i = incarnation_at(maps, pid, time_ns);
    uint32_t label = i ? __atomic_load_n(&i->label, __ATOMIC_RELAXED) : 0;
    READ_ENDED();
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
    struct incarnation *i = incarnation_at(maps, pid, time_ns);
    const struct space *space = i ? __atomic_load_n(&i->space, __ATOMIC_CONSUME) : NULL;
    for (unsigned m = 0; space && !found && m < space->n_live; m++)
        if (is_jitdump(space->at[m].image->image.path))
            found = (size_t)snprintf(path, size, "%s", space->at[m].image->image.path) < size;
    READ_ENDED();
    rcu_read_unlock();
    return found;
}

const char *cs_maps_label(const struct cs_maps *maps, uint32_t label)
{
    return cs_labels_text(maps->labels, label);
}

/* ---- the writer's side ---- */

static int discard(struct cs_maps *maps, void *pointer)
{
    if (maps->n_garbage == maps->room_garbage) {
        size_t room = maps->room_garbage ? 2 * maps->room_garbage : 256;
        void **more = realloc(maps->garbage, room * sizeof *more);
        if (!more)
            return -ENOMEM; /* leaks a few bytes rather than free what is being read */
        maps->garbage = more;
        maps->room_garbage = room;
    }
    maps->garbage[maps->n_garbage++] = pointer;
    return 0;
}

static void drop_space(struct cs_maps *maps, struct space *space)
{
    if (space && --space->references == 0)
        (void)discard(maps, space);
}

static struct space *space_new(unsigned room)
{
    struct space *space = calloc(1, sizeof *space + room * sizeof(struct mapping));
    if (space)
        space->references = 1;
    return space;
}

static int end_incarnation(struct cs_maps *maps, struct incarnation *i, uint64_t time_ns)
{
    if (!i || i->ending)
        return 0;
    if (maps->n_endings == maps->room_endings && maps->first_ending > 0) {
        maps->n_endings -= maps->first_ending;
        memmove(maps->endings, maps->endings + maps->first_ending, maps->n_endings * sizeof *maps->endings);
        maps->first_ending = 0;
    }
    if (maps->n_endings == maps->room_endings) {
        size_t room = maps->room_endings ? 2 * maps->room_endings : 256;
        struct ending *more = realloc(maps->endings, room * sizeof *more);
        if (!more)
            return -ENOMEM;
        maps->endings = more;
        maps->room_endings = room;
    }
    i->ending = true;
    maps->endings[maps->n_endings++] = (struct ending){i, time_ns};
    return 0;
}

/* Takes the reference to `space`. */
static struct incarnation *begin(struct cs_maps *maps, pid_t pid, struct space *space, uint32_t label,
                                 uint64_t time_ns)
{
    struct incarnation *i = space ? calloc(1, sizeof *i) : NULL;
    if (!i) {
        drop_space(maps, space);
        return NULL;
    }
    struct incarnation **bucket = &maps->buckets[(unsigned)pid % BUCKETS];
    (void)end_incarnation(maps, incarnation_at(maps, pid, UINT64_MAX), time_ns);
    i->pid = pid;
    i->label = label;
    i->start_ns = time_ns;
    i->space = space;
    i->next = *bucket;
    __atomic_store_n(bucket, i, __ATOMIC_RELEASE);
    maps->processes++;
    return i;
}

static uint32_t label_for(struct cs_maps *maps, pid_t pid, const char *comm, uint32_t inherited)
{
    char text[4200];
    switch (maps->label) {
    case CS_LABEL_COMMAND:
        return cs_labels_number(maps->labels, comm);
    case CS_LABEL_PROCESS:
        snprintf(text, sizeof text, "%s-%d", comm, (int)pid);
        return cs_labels_number(maps->labels, text);
    case CS_LABEL_CGROUP:
        cs_labels_cgroup_of(maps->proc, pid, text, sizeof text);
        return text[0] ? cs_labels_number(maps->labels, text) : inherited;
    case CS_LABEL_NONE:
        break;
    }
    return 0;
}

int cs_maps_fork(struct cs_maps *maps, pid_t pid, pid_t parent, uint64_t time_ns)
{
    if (pid == parent)
        return 0; /* a thread */
    struct incarnation *from = incarnation_at(maps, parent, UINT64_MAX);
    struct space *space = from ? from->space : space_new(0);
    uint32_t label = from ? from->label : 0;
    if (from) {
        space->references++;
        const char *text = cs_labels_text(maps->labels, label);
        const char *dash = strrchr(text, '-');
        if (maps->label == CS_LABEL_PROCESS && dash) {
            char comm[64];
            snprintf(comm, sizeof comm, "%.*s", (int)(dash - text), text);
            label = label_for(maps, pid, comm, 0);
        }
    }
    return begin(maps, pid, space, label, time_ns) ? 0 : -ENOMEM;
}

int cs_maps_exec(struct cs_maps *maps, pid_t pid, const char *comm, uint64_t time_ns)
{
    struct incarnation *from = incarnation_at(maps, pid, UINT64_MAX);
    uint32_t label = label_for(maps, pid, comm, from ? from->label : 0);
    return begin(maps, pid, space_new(0), label, time_ns) ? 0 : -ENOMEM;
}

int cs_maps_comm(struct cs_maps *maps, pid_t pid, const char *comm, uint64_t time_ns)
{
    struct incarnation *i = incarnation_at(maps, pid, time_ns);
    if (i && maps->label != CS_LABEL_CGROUP)
        __atomic_store_n(&i->label, label_for(maps, pid, comm, i->label), __ATOMIC_RELAXED);
    return 0;
}

int cs_maps_exit(struct cs_maps *maps, pid_t pid, uint64_t time_ns)
{
    return end_incarnation(maps, incarnation_at(maps, pid, time_ns), time_ns);
}

static bool covers(const struct mapping *add, const struct mapping *m)
{
    return m->end > add->start && m->start < add->end;
}

/* A new space with `add` in it; what it covers is cut, and remembered while samples of its time may come. */
static struct space *space_with(const struct space *old, const struct mapping *add, uint64_t horizon_ns)
{
    unsigned n = 0, n_past = 0;
    for (unsigned i = 0; i < old->n_live; i++)
        n_past += covers(add, &old->at[i]);
    struct space *space = space_new(old->n_live + 2 + n_past + old->n_past);
    if (!space)
        return NULL;
    struct mapping *live = space->at;
    for (unsigned i = 0; i < old->n_live && old->at[i].start < add->end; i++) {
        const struct mapping *m = &old->at[i];
        if (!covers(add, m)) {
            live[n++] = *m;
        } else if (m->start < add->start) {
            live[n] = *m;
            live[n++].end = add->start;
        }
    }
    live[n++] = *add;
    for (unsigned i = 0; i < old->n_live; i++) {
        const struct mapping *m = &old->at[i];
        if (m->end <= add->end)
            continue;
        live[n] = *m;
        if (m->start < add->end) {
            live[n].start = add->end;
            live[n].pgoff += add->end - m->start;
        }
        n++;
    }
    space->n_live = n;
    n_past = 0;
    for (unsigned i = 0; i < old->n_live; i++)
        if (covers(add, &old->at[i])) {
            live[n + n_past] = old->at[i];
            live[n + n_past++].to_ns = add->from_ns;
        }
    for (unsigned i = old->n_live; i < old->n_live + old->n_past; i++)
        if (old->at[i].to_ns >= horizon_ns)
            live[n + n_past++] = old->at[i];
    space->n_past = n_past;
    return space;
}

static bool is_anonymous(const char *path)
{
    return strncmp(path, "//anon", 6) == 0 || strncmp(path, "/anon_hugepage", 14) == 0 ||
           strncmp(path, "[heap]", 6) == 0 || strncmp(path, "[stack", 6) == 0 ||
           strncmp(path, "/memfd:", 7) == 0 || strncmp(path, "/dev/zero", 9) == 0 ||
           strncmp(path, "/SYSV", 5) == 0 || path[0] == '\0' || strncmp(path, "[anon", 5) == 0;
}

static struct cs_mapped_image *image_of(struct cs_maps *maps, const struct cs_mapped_file *file, bool *jit)
{
    struct cs_mapped_file named = *file;
    char path[4200];
    size_t n = strlen(file->path);
    *jit = is_anonymous(file->path);
    if (*jit) { /* one image for all processes of a program: the names tell its parts apart */
        struct incarnation *i = incarnation_at(maps, file->pid, UINT64_MAX);
        const struct space *space = i ? i->space : NULL;
        const char *program = space && space->n_live ? space->at[0].image->image.path : "[unknown]";
        snprintf(path, sizeof path, "[jit] %s", program);
        return cs_images_special(maps->images, CS_IMAGE_JIT, NULL,
                                 strncmp(program, "[jit] ", 6) == 0 ? program : path, "");
    }
    if (n > 10 && strcmp(file->path + n - 10, " (deleted)") == 0) {
        snprintf(path, sizeof path, "%.*s", (int)(n - 10), file->path);
        named.path = path;
    }
    return cs_images_of_file(maps->images, &named);
}

int cs_maps_mmap(struct cs_maps *maps, const struct cs_mapped_file *file, uint64_t time_ns)
{
    struct incarnation *i = incarnation_at(maps, file->pid, UINT64_MAX);
    bool jit;
    if (!i && !(i = begin(maps, file->pid, space_new(0), 0, 0)))
        return -ENOMEM;
    struct cs_mapped_image *image = image_of(maps, file, &jit);
    if (!image)
        return -ENOMEM;
    const struct mapping *same = live_at(i->space, file->start);
    if (same && same->image == image && same->end >= file->end &&
        same->start - same->pgoff == file->start - file->pgoff)
        return 0; /* told again: mprotect, a scan beside the records */
    struct mapping add = {file->start, file->end, file->pgoff, image, time_ns, UINT64_MAX, jit};
    struct space *space = space_with(i->space, &add, maps->horizon_ns);
    if (!space)
        return -ENOMEM;
    struct space *old = i->space;
    __atomic_store_n(&i->space, space, __ATOMIC_RELEASE);
    drop_space(maps, old);
    return 0;
}

void cs_maps_expire(struct cs_maps *maps, uint64_t horizon_ns)
{
    maps->horizon_ns = horizon_ns;
    while (maps->first_ending < maps->n_endings && maps->endings[maps->first_ending].time_ns < horizon_ns) {
        struct incarnation *gone = maps->endings[maps->first_ending++].incarnation;
        struct incarnation **link = &maps->buckets[(unsigned)gone->pid % BUCKETS];
        while (*link != gone)
            link = &(*link)->next;
        __atomic_store_n(link, gone->next, __ATOMIC_RELEASE);
        drop_space(maps, gone->space);
        (void)discard(maps, gone);
        maps->processes--;
    }
    if (maps->first_ending == maps->n_endings)
        maps->first_ending = maps->n_endings = 0;
    if (maps->n_garbage == 0)
        return;
    synchronize_rcu();
    READS_ENDED();
    while (maps->n_garbage)
        free(maps->garbage[--maps->n_garbage]);
}

unsigned cs_maps_processes(const struct cs_maps *maps)
{
    return maps->processes;
}

unsigned cs_maps_running(const struct cs_maps *maps, pid_t *pids, unsigned room)
{
    unsigned n = 0;
    for (unsigned b = 0; b < BUCKETS; b++)
        for (const struct incarnation *i = maps->buckets[b]; i; i = i->next) {
            if (i->ending)
                continue;
            if (n < room)
                pids[n] = i->pid;
            n++;
        }
    return n;
}

/* ---- /proc ---- */

static int scan_lines(struct cs_maps *maps, FILE *f, pid_t pid, uint64_t since_ns)
{
    char *line = NULL;
    size_t room = 0;
    int rc = 0;
    while (rc == 0 && getline(&line, &room, f) > 0) {
        struct cs_mapped_file file = {.pid = pid, .build_id = ""};
        char rights[8];
        int at = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &file.start,
                   &file.end, rights, &file.pgoff, &file.major, &file.minor, &file.inode, &at) < 7 ||
            rights[2] != 'x' || at == 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        file.path = line + at;
        if (strcmp(file.path, "[vsyscall]") != 0)
            rc = cs_maps_mmap(maps, &file, since_ns);
    }
    free(line);
    return rc;
}

int cs_maps_scan(struct cs_maps *maps, pid_t pid, uint64_t since_ns)
{
    char path[256], comm[64] = "";
    snprintf(path, sizeof path, "%s/%d/comm", maps->proc, (int)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return -errno;
    if (fgets(comm, sizeof comm, f))
        comm[strcspn(comm, "\n")] = '\0';
    fclose(f);
    if (!incarnation_at(maps, pid, UINT64_MAX) &&
        !begin(maps, pid, space_new(0), label_for(maps, pid, comm, 0), since_ns))
        return -ENOMEM;
    snprintf(path, sizeof path, "%s/%d/maps", maps->proc, (int)pid);
    f = fopen(path, "re");
    if (!f)
        return -errno;
    int rc = scan_lines(maps, f, pid, since_ns);
    fclose(f);
    return rc;
}

/* What /proc no longer shows has ended, whether a record of it came or not. */
static void end_unseen(struct cs_maps *maps, const unsigned char *seen, uint64_t time_ns)
{
    for (unsigned b = 0; b < BUCKETS; b++)
        for (struct incarnation *i = maps->buckets[b]; i; i = i->next)
            if (i->pid > 0 && i->pid < PID_MOST && !(seen[i->pid / 8] & 1 << i->pid % 8))
                (void)end_incarnation(maps, i, time_ns);
}

int cs_maps_scan_all(struct cs_maps *maps, uint64_t since_ns)
{
    unsigned char *seen = calloc(PID_MOST / 8, 1);
    DIR *dir = opendir(maps->proc);
    int n = 0;
    if (!dir || !seen) {
        n = dir ? -ENOMEM : -errno;
        goto out;
    }
    for (struct dirent *d; (d = readdir(dir)) != NULL;) {
        char *end;
        long pid = strtol(d->d_name, &end, 10);
        if (*end != '\0' || pid <= 0 || pid >= PID_MOST)
            continue;
        seen[pid / 8] |= (unsigned char)(1 << pid % 8);
        if (cs_maps_scan(maps, (pid_t)pid, since_ns) == 0)
            n++;
    }
    if (since_ns > 0)
        end_unseen(maps, seen, since_ns);
out:
    if (dir)
        closedir(dir);
    free(seen);
    return n;
}

struct cs_maps *cs_maps_open(struct cs_images *images, const char *proc, enum cs_label label)
{
    struct cs_maps *maps = calloc(1, sizeof *maps);
    struct cs_labels *labels = cs_labels_open();
    if (!maps || !labels) {
        free(maps);
        cs_labels_close(labels);
        return NULL;
    }
    maps->images = images;
    maps->proc = proc;
    maps->label = label;
    maps->labels = labels;
    return maps;
}

void cs_maps_close(struct cs_maps *maps)
{
    if (!maps)
        return;
    synchronize_rcu();
    READS_ENDED();
    while (maps->n_garbage)
        free(maps->garbage[--maps->n_garbage]);
    for (unsigned b = 0; b < BUCKETS; b++)
        for (struct incarnation *i = maps->buckets[b], *next; i; i = next) {
            next = i->next;
            if (--i->space->references == 0)
                free(i->space);
            free(i);
        }
    cs_labels_close(maps->labels);
    free(maps->garbage);
    free(maps->endings);
    free(maps);
}
