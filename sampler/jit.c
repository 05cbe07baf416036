/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf maps: lines of "START SIZE NAME" in hex, appended while the program runs; of two for one address the
 * later one holds. */
#include "sampler/jit.h"

#include <errno.h>
#include <fcntl.h>
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

struct method {
    uint64_t start, size;
    uint32_t name; /* offset in text */
    uint32_t line; /* later ones win */
};

struct perf_map {
    struct perf_map *next;
    pid_t pid;
    char *text;
    long read; /* bytes of the file */
    struct method *methods;
    size_t n;
    unsigned idle;
    unsigned rest; /* drains until its file may be looked at again */
};

struct named { /* waiting for the store */
    struct named *next;
    const struct cs_image *image;
    struct cs_table *names;
};

struct cs_jit {
    const char *proc, *tmp;
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

static void parse(struct perf_map *m)
{
    size_t room = 0;
    uint32_t line = 0;
    free(m->methods);
    m->methods = NULL;
    m->n = 0;
    for (char *at = m->text; *at; line++) {
        char *end = strchr(at, '\n');
        if (!end)
            break; /* still being written */
        *end = '\0';
        char *size, *name;
        uint64_t start = strtoull(at, &size, 16), bytes = strtoull(size, &name, 16);
        if (*name == ' ' && bytes && bytes < METHOD_MAX) {
            if (m->n == room) {
                room = room ? 2 * room : 256;
                struct method *more = realloc(m->methods, room * sizeof *more);
                if (!more)
                    break;
                m->methods = more;
            }
            m->methods[m->n++] = (struct method){start, bytes, (uint32_t)(name + 1 - m->text), line};
        }
        at = end + 1;
    }
    if (m->n)
        qsort(m->methods, m->n, sizeof *m->methods, by_start);
}

static void look(const struct cs_jit *jit, struct perf_map *m)
{
    struct stat st;
    m->rest = 1;
    int fd = open_map(jit, m->pid);
    if (fd < 0) {
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
    return low > 0 && addr - m->methods[low - 1].start < m->methods[low - 1].size ? &m->methods[low - 1]
                                                                                  : NULL;
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

static void remember(struct cs_jit *jit, const struct cs_image *image, uint64_t offset, uint64_t size,
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

uint64_t cs_jit_offset(struct cs_jit *jit, const struct cs_image *image, pid_t pid, uint64_t addr,
                       uint64_t fallback)
{
    struct perf_map *m = map_of(jit, pid);
    if (!m)
        return fallback;
    m->idle = 0;
    const struct method *method = method_at(m, addr);
    if (!method && !m->rest) {
        look(jit, m);
        method = method_at(m, addr);
    }
    if (!method)
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

struct cs_jit *cs_jit_open(const char *proc, const char *tmp)
{
    struct cs_jit *jit = calloc(1, sizeof *jit);
    if (jit) {
        jit->proc = proc;
        jit->tmp = tmp;
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
