/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf maps: lines of "START SIZE NAME" in hex, appended while the program runs; or a jitdump file, which the
 * program has mapped so that it is found. Of two methods for one address the later one holds. */
#include "sampler/images/jit.h"

#include "sampler/images/jitdump.h"

#include <errno.h>
#include <fcntl.h>
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
#define FILE_MAX (16L << 20) /* of a map is read */
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
    long read;              /* bytes of the perf map */
    struct method *methods; /* by start */
    size_t n, room;
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
};

static int by_start(const void *a, const void *b)
{
    const struct method *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
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
    char path[256];
    snprintf(path, sizeof path, "%s/%d/root/tmp/perf-%ld.map", jit->proc, (int)pid, inner_pid(jit, pid));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd >= 0)
        return fd;
    snprintf(path, sizeof path, "%s/perf-%d.map", jit->tmp, (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
}

static void add_method(struct perf_map *m, uint64_t start, uint64_t size, size_t name)
{
    if (size == 0 || size >= METHOD_MAX)
        return;
    if (m->n == m->room) {
        size_t room = m->room ? 2 * m->room : 256;
        struct method *more = realloc(m->methods, room * sizeof *more);
        if (!more)
            return;
        m->methods = more;
        m->room = room;
    }
    m->methods[m->n] = (struct method){start, size, (uint32_t)name, (uint32_t)m->n};
    m->n++;
}

static void sort(struct perf_map *m)
{
    if (m->n)
        qsort(m->methods, m->n, sizeof *m->methods, by_start);
}

static void parse(struct perf_map *m)
{
    m->n = 0;
    for (char *at = m->text; *at;) {
        char *end = strchr(at, '\n');
        if (!end)
            break; /* still being written */
        *end = '\0';
        char *size, *name;
        uint64_t start = strtoull(at, &size, 16), bytes = strtoull(size, &name, 16);
        if (*name == ' ')
            add_method(m, start, bytes, (size_t)(name + 1 - m->text));
        at = end + 1;
    }
    sort(m);
}

/* ---- jitdump ---- */

/* As the process sees it, or once it has ended as we do. */
static int open_dump(const struct cs_jit *jit, pid_t pid, uint64_t time_ns)
{
    char path[4200], through[4300];
    struct stat st;
    if (!jit->all_maps || !cs_maps_jitdump(jit->all_maps, pid, time_ns, path, sizeof path))
        return -1;
    snprintf(through, sizeof through, "%s/%d/root%s", jit->proc, (int)pid, path);
    int fd = open(through, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static long keep_text(struct perf_map *m, const char *text)
{
    size_t size = strlen(text) + 1;
    if (m->text_used + size > m->text_room) {
        size_t room = 2 * m->text_room + 4096;
        char *more = room < FILE_MAX ? realloc(m->text, room) : NULL;
        if (!more)
            return -1;
        m->text = more;
        m->text_room = room;
    }
    memcpy(m->text + m->text_used, text, size);
    m->text_used += size;
    return (long)(m->text_used - size);
}

static void from_dump(void *arg, const struct cs_jitdump_record *code)
{
    struct perf_map *m = arg;
    long name = -1;
    if (code->name)
        name = keep_text(m, code->name);
    for (size_t i = m->n; !code->name && name < 0 && i-- > 0;)
        if (m->methods[i].start == code->was_start)
            name = (long)m->methods[i].name;
    if (name >= 0)
        add_method(m, code->start, code->size, (size_t)name);
}

static int by_line(const void *a, const void *b)
{
    const struct method *x = a, *y = b;
    return x->line < y->line ? -1 : x->line > y->line;
}

static bool look_at_dump(const struct cs_jit *jit, struct perf_map *m, uint64_t time_ns)
{
    int fd = open_dump(jit, m->pid, time_ns);
    if (fd < 0)
        return false;
    if (m->n)
        qsort(m->methods, m->n, sizeof *m->methods, by_line); /* as they were added */
    bool is_dump = cs_jitdump_read(fd, &m->dump_at, from_dump, m) == 0;
    sort(m);
    close(fd);
    return is_dump;
}

static void look(const struct cs_jit *jit, struct perf_map *m, uint64_t time_ns)
{
    struct stat st;
    m->rest = 1;
    int fd = m->dump_at ? -1 : open_map(jit, m->pid);
    if (fd < 0) {
        if (m->read > 0 || !look_at_dump(jit, m, time_ns))
            m->rest = REST_DRAINS;
        return;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size != m->read && st.st_size <= FILE_MAX) {
        char *text = malloc((size_t)st.st_size + 1);
        ssize_t got = text ? pread(fd, text, (size_t)st.st_size, 0) : -1;
        if (got >= 0) {
            text[got] = '\0';
            free(m->text);
            m->text = text;
            m->read = got;
            parse(m);
        } else {
            free(text);
        }
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

static void free_map(struct perf_map *m)
{
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
            free_map(m);
        } else {
            link = &m->next;
        }
    }
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
        free_map(m);
    }
    for (struct named *n = jit->named, *next; n; n = next) {
        next = n->next;
        cs_table_close(n->names);
        free(n);
    }
    free(jit);
}
