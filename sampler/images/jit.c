/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf maps: lines of "START SIZE NAME" in hex, appended while the program runs; or a jitdump file, which the
 * program has mapped so that it is found. Of two methods for one address the later one holds. */
#include "sampler/images/jit.h"

#include "sampler/images/jitdump.h"
#include "store/regular_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define NAMED (1ULL << 63)
#define HASH_SHIFT 24
#define METHOD_MAX (1ULL << HASH_SHIFT)
#define TEXT_MOST ((size_t)16 << 20)  /* of one process's lines or names */
#define BYTES_MOST ((size_t)32 << 20) /* of all processes' text and methods */
#define FILE_MOST (1ULL << 40)        /* a jitdump holds the code too; only heads and names are read */
#define PART 65536
#define IDLE_DRAINS 60
#define REST_DRAINS 20 /* where there is no file */
#define OVERLAP 16     /* older methods looked at that may reach over a younger one's address */

struct method {
    uint64_t start, size;
    uint32_t name; /* offset in text */
    uint32_t line; /* later ones win */
};

struct perf_map {
    struct perf_map *next;
    pid_t pid;
    char *text;
    long read;              /* bytes of the perf map, up to the end of its last whole line */
    long seen;              /* its size when it was read */
    struct method *methods; /* by start */
    size_t n, room;
    bool cut;         /* there was more than is kept */
    uint64_t dump_at; /* the jitdump file was read up to here */
    size_t text_used, text_room;
    unsigned idle;
    unsigned rest; /* drains until its file may be looked at again */
};

struct named { /* waiting for the store */
    struct named *next;
    const struct cs_store_image *image;
    struct cs_table *names;
};

struct cs_jit {
    const char *proc, *tmp;
    struct cs_maps *all_maps;
    struct perf_map *maps;
    struct named *named;
    size_t bytes; /* of all maps' text and methods */
    uint64_t cut; /* maps of which only a part is kept */
};

static int by_start(const void *a, const void *b)
{
    const struct method *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static int by_line(const void *a, const void *b)
{
    const struct method *x = a, *y = b;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* The process's number in its innermost PID namespace: the one in its file's name. */
static long inner_pid(const struct cs_jit *jit, pid_t pid)
{
    char path[128], line[256];
    long inner = pid;
    snprintf(path, sizeof path, "%s/%d/status", jit->proc, (int)pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "NSpid:", 6) == 0) {
            const char *last = strrchr(line, '\t');
            inner = last ? strtol(last, NULL, 10) : pid;
        }
    if (f)
        fclose(f);
    return inner;
}

static int open_map(const struct cs_jit *jit, pid_t pid)
{
    char root[256], path[256];
    snprintf(root, sizeof root, "%s/%d/root", jit->proc, (int)pid);
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", inner_pid(jit, pid));
    int fd = cs_open_regular(root, path, INT64_MAX, NULL);
    if (fd >= 0)
        return fd;
    snprintf(path, sizeof path, "%s/perf-%d.map", jit->tmp, (int)pid);
    return cs_open_regular(NULL, path, INT64_MAX, NULL);
}

/* Room for `more` bytes of what has `room` and uses `used`; doubles, within the bound of all. */
static void *grown(struct cs_jit *jit, struct perf_map *m, void *old, size_t used, size_t *room, size_t more)
{
    if (used + more <= *room)
        return old;
    size_t wanted = 2 * *room + more > 4096 ? 2 * *room + more : 4096;
    if (jit->bytes + (wanted - *room) > BYTES_MOST)
        wanted = used + more;
    void *bytes = jit->bytes + (wanted - *room) > BYTES_MOST ? NULL : realloc(old, wanted);
    if (!bytes) {
        jit->cut += !m->cut;
        m->cut = true;
        return NULL;
    }
    jit->bytes += wanted - *room;
    *room = wanted;
    return bytes;
}

static bool add_method(struct cs_jit *jit, struct perf_map *m, uint64_t start, uint64_t size, size_t name)
{
    if (size == 0 || size >= METHOD_MAX)
        return true;
    struct method *more = grown(jit, m, m->methods, m->n * sizeof *more, &m->room, sizeof *more);
    if (!more)
        return false;
    m->methods = more;
    m->methods[m->n] = (struct method){start, size, (uint32_t)name, (uint32_t)m->n};
    m->n++;
    return true;
}

static void sort(struct perf_map *m)
{
    if (m->n)
        qsort(m->methods, m->n, sizeof *m->methods, by_start);
}

static long keep_text(struct cs_jit *jit, struct perf_map *m, const char *text)
{
    size_t size = strlen(text) + 1;
    char *more =
        m->text_used + size > TEXT_MOST ? NULL : grown(jit, m, m->text, m->text_used, &m->text_room, size);
    if (!more) {
        jit->cut += !m->cut;
        m->cut = true;
        return -1;
    }
    m->text = more;
    memcpy(m->text + m->text_used, text, size);
    m->text_used += size;
    return (long)(m->text_used - size);
}

/* One line of a perf map. */
static void keep_line(struct cs_jit *jit, struct perf_map *m, const char *line)
{
    char *size, *name;
    uint64_t start = strtoull(line, &size, 16), bytes = strtoull(size, &name, 16);
    if (*name != ' ' || bytes == 0 || bytes >= METHOD_MAX)
        return;
    long kept = keep_text(jit, m, name + 1);
    if (kept >= 0 && !add_method(jit, m, start, bytes, (size_t)kept))
        m->text_used = (size_t)kept;
}

/* The whole lines that were appended. A line of more than PART bytes ends it. */
static void keep_lines(struct cs_jit *jit, struct perf_map *m, int fd)
{
    char *part = malloc(PART + 1);
    for (ssize_t got; part && !m->cut && (got = pread(fd, part, PART, m->read)) > 0;) {
        char *at = part, *end;
        part[got] = '\0';
        while (!m->cut && (end = memchr(at, '\n', (size_t)(part + got - at))) != NULL) {
            *end = '\0';
            keep_line(jit, m, at);
            at = end + 1;
        }
        m->read += at - part;
        if (at == part)
            break;
    }
    free(part);
}

static void by_lines(struct perf_map *m)
{
    if (m->n)
        qsort(m->methods, m->n, sizeof *m->methods, by_line); /* as they were added */
}

/* ---- jitdump ---- */

/* As the process sees it, or once it has ended as we do. */
static int open_dump(const struct cs_jit *jit, pid_t pid, uint64_t time_ns)
{
    char path[4200], root[256];
    if (!jit->all_maps || !cs_maps_jitdump(jit->all_maps, pid, time_ns, path, sizeof path))
        return -1;
    snprintf(root, sizeof root, "%s/%d/root", jit->proc, (int)pid);
    int fd = cs_open_regular(root, path, FILE_MOST, NULL);
    return fd >= 0 ? fd : cs_open_regular(NULL, path, FILE_MOST, NULL);
}

/* Names by the method's start, while a file is read: open addressing, the newest wins. */
struct reading {
    struct cs_jit *jit;
    struct perf_map *m;
    uint32_t *slots; /* 1 + index of the method */
    size_t n_slots, n_used;
};

static uint32_t *slot_of(const struct reading *r, uint64_t start)
{
    size_t i = XXH3_64bits(&start, sizeof start) & (r->n_slots - 1);
    while (r->slots[i] && r->m->methods[r->slots[i] - 1].start != start)
        i = (i + 1) & (r->n_slots - 1);
    return &r->slots[i];
}

static void note(struct reading *r, uint32_t method)
{
    if (2 * (r->n_used + 1) > r->n_slots) {
        size_t n = r->n_slots ? 2 * r->n_slots : 1024;
        free(r->slots);
        r->slots = calloc(n, sizeof *r->slots);
        r->n_slots = r->slots ? n : 0;
        r->n_used = 0;
        for (uint32_t i = 0; r->slots && i < method; i++)
            note(r, i);
    }
    if (!r->slots)
        return;
    uint32_t *slot = slot_of(r, r->m->methods[method].start);
    r->n_used += *slot == 0;
    *slot = method + 1;
}

static bool from_dump(void *arg, const struct cs_jitdump_record *code)
{
    struct reading *r = arg;
    size_t n = r->m->n;
    long name = -1;
    if (code->name)
        name = keep_text(r->jit, r->m, code->name);
    else if (r->slots && *slot_of(r, code->was_start))
        name = (long)r->m->methods[*slot_of(r, code->was_start) - 1].name;
    if (name >= 0)
        (void)add_method(r->jit, r->m, code->start, code->size, (size_t)name);
    if (r->m->n > n)
        note(r, (uint32_t)n);
    return !r->m->cut;
}

static bool look_at_dump(struct cs_jit *jit, struct perf_map *m, uint64_t time_ns)
{
    struct reading r = {.jit = jit, .m = m};
    int fd = m->cut ? -1 : open_dump(jit, m->pid, time_ns);
    if (fd < 0)
        return false;
    by_lines(m);
    for (size_t i = 0; i < m->n; i++)
        note(&r, (uint32_t)i);
    bool is_dump = cs_jitdump_read(fd, &m->dump_at, from_dump, &r) == 0;
    sort(m);
    free(r.slots);
    close(fd);
    return is_dump;
}

static void look(struct cs_jit *jit, struct perf_map *m, uint64_t time_ns)
{
    struct stat st;
    m->rest = 1;
    int fd = m->dump_at ? -1 : open_map(jit, m->pid);
    if (fd < 0) {
        if (m->read > 0 || !look_at_dump(jit, m, time_ns))
            m->rest = REST_DRAINS;
        return;
    }
    if (fstat(fd, &st) == 0 && st.st_size != m->seen) {
        if (st.st_size < m->seen) { /* another file */
            m->n = m->text_used = 0;
            m->read = 0;
        }
        m->seen = st.st_size;
        by_lines(m);
        keep_lines(jit, m, fd);
        sort(m);
    }
    close(fd);
}

static const struct method *method_at(const struct perf_map *m, uint64_t addr)
{
    size_t low = 0, high = m->n;
    while (low < high) { /* the last that starts at or below */
        size_t middle = (low + high) / 2;
        if (m->methods[middle].start <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    const struct method *found = NULL;
    for (size_t i = low; i > 0 && low - i < OVERLAP; i--) {
        const struct method *method = &m->methods[i - 1];
        if (addr - method->start < method->size && (!found || method->line > found->line))
            found = method;
    }
    return found;
}

static struct perf_map *map_of(struct cs_jit *jit, pid_t pid)
{
    struct perf_map *m = jit->maps;
    while (m && m->pid != pid)
        m = m->next;
    if (!m && (m = calloc(1, sizeof *m)) != NULL) {
        m->pid = pid;
        m->next = jit->maps;
        jit->maps = m;
    }
    return m;
}

static void remember(struct cs_jit *jit, const struct cs_store_image *image, uint64_t offset, uint64_t size,
                     const char *name)
{
    struct named *n = jit->named;
    while (n && n->image != image)
        n = n->next;
    if (!n) {
        n = calloc(1, sizeof *n);
        if (!n)
            return;
        n->image = image;
        n->next = jit->named;
        jit->named = n;
    }
    if (!n->names)
        n->names = cs_table_open(&cs_schema_names);
    int64_t text = n->names ? cs_table_text(n->names, name) : -1;
    if (text >= 0)
        (void)cs_table_add(n->names, (uint64_t[]){offset, size, (uint64_t)text});
}

uint64_t cs_jit_offset(struct cs_jit *jit, const struct cs_store_image *image, pid_t pid, uint64_t time_ns,
                       uint64_t addr, uint64_t fallback)
{
    struct perf_map *m = map_of(jit, pid);
    if (!m)
        return fallback;
    m->idle = 0;
    const struct method *method = method_at(m, addr);
    if (!method && !m->rest) {
        look(jit, m, time_ns);
        method = method_at(m, addr);
    }
    if (!method || !m->text)
        return fallback;
    const char *name = m->text + method->name;
    uint64_t hash = XXH3_64bits(name, strlen(name)) >> (1 + HASH_SHIFT);
    uint64_t offset = NAMED | hash << HASH_SHIFT;
    remember(jit, image, offset, METHOD_MAX, name);
    return offset + (addr - method->start);
}

static void free_map(struct cs_jit *jit, struct perf_map *m)
{
    jit->bytes -= m->text_room + m->room;
    free(m->text);
    free(m->methods);
    free(m);
}

void cs_jit_refresh(struct cs_jit *jit)
{
    for (struct perf_map **link = &jit->maps; *link;) {
        struct perf_map *m = *link;
        m->rest -= m->rest > 0;
        if (++m->idle > IDLE_DRAINS) {
            *link = m->next;
            free_map(jit, m);
        } else {
            link = &m->next;
        }
    }
}

uint64_t cs_jit_cut(const struct cs_jit *jit)
{
    return jit->cut;
}

int cs_jit_name(struct cs_jit *jit, struct cs_store *store, struct cs_error *err)
{
    for (struct named *n = jit->named; n; n = n->next) {
        int rc = n->names ? cs_store_merge_names(store, n->image, n->names, err) : 0;
        if (rc < 0)
            return rc;
        cs_table_close(n->names);
        n->names = NULL;
    }
    return 0;
}

struct cs_jit *cs_jit_open(const char *proc, const char *tmp, struct cs_maps *maps)
{
    struct cs_jit *jit = calloc(1, sizeof *jit);
    if (jit) {
        jit->proc = proc;
        jit->tmp = tmp;
        jit->all_maps = maps;
    }
    return jit;
}

void cs_jit_close(struct cs_jit *jit)
{
    if (!jit)
        return;
    for (struct perf_map *m = jit->maps, *next; m; m = next) {
        next = m->next;
        free_map(jit, m);
    }
    for (struct named *n = jit->named, *next; n; n = next) {
        next = n->next;
        cs_table_close(n->names);
        free(n);
    }
    free(jit);
}
