/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who had what mapped where, and when: incarnations of PIDs in hash chains, newest first; immutable spaces
 * shared by forks. Readers go by RCU; what was unlinked is freed at the next expiry. */
#include "sampler/images/maps.h"
#include "sampler/images/labels.h"
#include "sampler/images/space.h"

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

#define GARBAGE_BYTES_MOST ((size_t)4 << 20) /* then readers are waited for at once */
#define MAPPINGS_ALWAYS 256                  /* ... that a process may have even then */
#define MAPPINGS_MOST 400000                 /* of all processes: 22 MB */

struct incarnation {
    struct incarnation *next; /* of the bucket; of one PID the newest first */
    pid_t pid;
    uint32_t label;
    uint64_t start_ns;
    struct cs_space *space;
    struct cs_space *draft; /* the writer's, until the batch of notices ends; NULL = none */
    struct incarnation *next_drafted;
    bool drafted, ending;
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
    size_t n_garbage, room_garbage, garbage_bytes;
    struct incarnation *drafted;
    bool batch;
    unsigned n_mappings; /* of all spaces */
    uint64_t cut;        /* notices of mappings that were too many to keep */
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

int cs_maps_find(struct cs_maps *maps, pid_t pid, uint64_t addr, uint64_t from_ns, uint64_t to_ns,
                 struct cs_maps_location *out)
{
    const struct cs_mapping *m;
    int rc = -(1 + CS_UNKNOWN_NO_PROCESS);
    rcu_read_lock();
    struct incarnation *i = incarnation_at(maps, pid, from_ns);
    if (i) {
        const struct cs_space *space = __atomic_load_n(&i->space, __ATOMIC_CONSUME);
        out->label = __atomic_load_n(&i->label, __ATOMIC_RELAXED);
        rc = cs_space_find(space, addr, from_ns, to_ns, &m);
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
    const struct cs_space *space = i ? __atomic_load_n(&i->space, __ATOMIC_CONSUME) : NULL;
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

static void drop_space(struct cs_maps *maps, struct cs_space *space)
{
    if (!space || --space->references > 0)
        return;
    maps->n_mappings -= space->room;
    maps->garbage_bytes += cs_space_bytes(space);
    (void)discard(maps, space);
}

static struct cs_space *space_new(struct cs_maps *maps, unsigned room)
{
    struct cs_space *space = cs_space_new(room);
    maps->n_mappings += space ? space->room : 0;
    return space;
}

static void free_garbage(struct cs_maps *maps)
{
    if (maps->n_garbage == 0)
        return;
    synchronize_rcu();
    READS_ENDED();
    while (maps->n_garbage)
        free(maps->garbage[--maps->n_garbage]);
    maps->garbage_bytes = 0;
}

static struct cs_space *newest(const struct incarnation *i)
{
    return i->draft ? i->draft : i->space;
}

static void publish(struct cs_maps *maps, struct incarnation *i)
{
    struct cs_space *old = i->space;
    if (!i->draft)
        return;
    __atomic_store_n(&i->space, i->draft, __ATOMIC_RELEASE);
    i->draft = NULL;
    drop_space(maps, old);
}

static void publish_all(struct cs_maps *maps)
{
    for (struct incarnation *i = maps->drafted, *next; i; i = next) {
        next = i->next_drafted;
        i->next_drafted = NULL;
        i->drafted = false;
        publish(maps, i);
    }
    maps->drafted = NULL;
    if (maps->garbage_bytes > GARBAGE_BYTES_MOST)
        free_garbage(maps);
}

void cs_maps_batch(struct cs_maps *maps, bool begins)
{
    maps->batch = begins;
    if (!begins)
        publish_all(maps);
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
static struct incarnation *begin(struct cs_maps *maps, pid_t pid, struct cs_space *space, uint32_t label,
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
    if (from)
        publish(maps, from);
    struct cs_space *space = from ? from->space : space_new(maps, 0);
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
    return begin(maps, pid, space_new(maps, 0), label, time_ns) ? 0 : -ENOMEM;
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
        const struct cs_space *space = i ? newest(i) : NULL;
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

/* A space of this incarnation alone, with room for `add`. */
static struct cs_space *draft_of(struct cs_maps *maps, struct incarnation *i, const struct cs_mapping *add)
{
    const struct cs_space *old = newest(i);
    unsigned needs = cs_space_needs(old, add);
    if (i->draft && needs <= i->draft->room)
        return i->draft;
    struct cs_space *draft = space_new(maps, maps->batch ? needs + needs / 2 : needs);
    if (!draft)
        return NULL;
    cs_space_copy(draft, old, maps->horizon_ns);
    if (i->draft) { /* no reader has seen it */
        maps->n_mappings -= i->draft->room;
        free(i->draft);
    }
    i->draft = draft;
    if (!i->drafted) {
        i->drafted = true;
        i->next_drafted = maps->drafted;
        maps->drafted = i;
    }
    return draft;
}

int cs_maps_mmap(struct cs_maps *maps, const struct cs_mapped_file *file, uint64_t time_ns)
{
    struct incarnation *i = incarnation_at(maps, file->pid, UINT64_MAX);
    bool jit;
    if (maps->garbage_bytes > GARBAGE_BYTES_MOST)
        free_garbage(maps);
    if (!i && !(i = begin(maps, file->pid, space_new(maps, 0), 0, 0)))
        return -ENOMEM;
    struct cs_mapped_image *image = image_of(maps, file, &jit);
    if (!image)
        return -ENOMEM;
    const struct cs_mapping *same = cs_space_live_at(newest(i), file->start);
    if (same && same->image == image && same->end >= file->end &&
        same->start - same->pgoff == file->start - file->pgoff)
        return 0; /* told again: mprotect, a scan beside the records */
    struct cs_mapping add = {file->start, file->end, file->pgoff, image, time_ns, UINT64_MAX, jit};
    struct cs_space *draft = draft_of(maps, i, &add);
    if (!draft)
        return -ENOMEM;
    bool full = maps->n_mappings > MAPPINGS_MOST && draft->n_live >= MAPPINGS_ALWAYS;
    if (!cs_space_put(draft, &add, maps->horizon_ns, full))
        maps->cut++;
    if (!maps->batch)
        publish_all(maps);
    return 0;
}

uint64_t cs_maps_cut(const struct cs_maps *maps)
{
    return maps->cut;
}

void cs_maps_expire(struct cs_maps *maps, uint64_t horizon_ns)
{
    publish_all(maps);
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
    free_garbage(maps);
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
        !begin(maps, pid, space_new(maps, 0), label_for(maps, pid, comm, 0), since_ns))
        return -ENOMEM;
    snprintf(path, sizeof path, "%s/%d/maps", maps->proc, (int)pid);
    f = fopen(path, "re");
    if (!f)
        return -errno;
    bool within = maps->batch;
    cs_maps_batch(maps, true);
    int rc = scan_lines(maps, f, pid, since_ns);
    if (!within)
        cs_maps_batch(maps, false);
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
    publish_all(maps);
    free_garbage(maps);
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
