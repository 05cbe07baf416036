/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf maps: lines of "START SIZE NAME" in hex, appended while the program runs; or a jitdump file, which the
 * program has mapped so that it is found; and what it registered by cs_name_code, in its segment of signals. */
#include "sampler/images/jit.h"

#include "sampler/images/jit_code.h"
#include "sampler/images/jit_methods.h"
#include "sampler/images/jit_registered.h"
#include "sampler/images/jitdump.h"
#include "sampler/perf/monotonic_clock.h"
#include "store/base/regular_file.h"

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
#define FILE_MAX (1ULL << 40) /* a jitdump holds the code too; only heads and names are read */
#define PART 65536
#define IDLE_DRAINS 60
#define HELD_NS (25 * 1000000000ULL) /* samples may wait in the kernel's table for ten seconds */
#define REST_DRAINS 20               /* where there is no file */
struct perf_map {
    struct perf_map *next;
    pid_t pid;
    uint64_t since_ns; /* of one PID's the newest comes first; the last one has 0 */
    struct cs_jit_methods methods;
    long read;        /* bytes of the perf map, up to the end of its last whole line */
    long seen;        /* its size when it was read */
    uint64_t dump_at; /* the jitdump file was read up to here */
    int dump;         /* 1 + its descriptor, while code is read from it; 0: closed */
    bool no_code;     /* in that file: another machine's */
    unsigned idle;
    uint64_t used_ns;
    unsigned rest; /* drains until its file may be looked at again */
    unsigned vain; /* looks without a file: each is followed by twice the rest */
    struct cs_jit_registered registered;
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
    struct cs_jit_kept kept;
    struct cs_jit_code *code; /* NULL: not kept */
};

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

/* One line of a perf map. */
static void keep_line(struct cs_jit *jit, struct perf_map *m, const char *line)
{
    char *size, *name;
    uint64_t start = strtoull(line, &size, 16), bytes = strtoull(size, &name, 16);
    if (*name != ' ' || bytes == 0 || bytes >= CS_JIT_METHOD_MAX)
        return;
    long kept = cs_jit_methods_text(&m->methods, &jit->kept, name + 1);
    if (kept >= 0 && !cs_jit_methods_add(&m->methods, &jit->kept, start, bytes, (size_t)kept))
        m->methods.text_used = (size_t)kept;
}

/* The whole lines that were appended. A line of more than PART bytes ends it. */
static void keep_lines(struct cs_jit *jit, struct perf_map *m, int fd)
{
    char *part = malloc(PART + 1);
    for (ssize_t got; part && !m->methods.cut && (got = pread(fd, part, PART, m->read)) > 0;) {
        char *at = part, *end;
        part[got] = '\0';
        while (!m->methods.cut && (end = memchr(at, '\n', (size_t)(part + got - at))) != NULL) {
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

/* ---- jitdump ---- */

/* As the process sees it, or once it has ended as we do. */
static int open_dump(const struct cs_jit *jit, pid_t pid, uint64_t time_ns)
{
    char path[4200], root[256];
    if (!jit->all_maps || !cs_maps_jitdump(jit->all_maps, pid, time_ns, path, sizeof path))
        return -1;
    snprintf(root, sizeof root, "%s/%d/root", jit->proc, (int)pid);
    int fd = cs_open_regular(root, path, FILE_MAX, NULL);
    return fd >= 0 ? fd : cs_open_regular(NULL, path, FILE_MAX, NULL);
}

/* Names by the method's start, while a file is read: open addressing, the newest wins. */
struct reading {
    struct cs_jit *jit;
    struct perf_map *m;
    uint32_t *slots; /* 1 + index of the method */
    size_t n_slots, n_used;
    bool full;
};

static uint32_t *slot_of(const struct reading *r, uint64_t start)
{
    size_t i = XXH3_64bits(&start, sizeof start) & (r->n_slots - 1);
    while (r->slots[i] && r->m->methods.at[r->slots[i] - 1].start != start)
        i = (i + 1) & (r->n_slots - 1);
    return &r->slots[i];
}

static void put(struct reading *r, uint32_t method)
{
    uint32_t *slot = slot_of(r, r->m->methods.at[method].start);
    r->n_used += *slot == 0;
    if (!*slot || r->m->methods.at[*slot - 1].line < r->m->methods.at[method].line)
        *slot = method + 1;
}

/* Its table is part of what may be kept: without room for it moved code has no names. */
static void note(struct reading *r, uint32_t method)
{
    if (!r->full && 2 * (r->n_used + 1) > r->n_slots) {
        const size_t n = r->n_slots ? 2 * r->n_slots : 1024;
        r->jit->kept.bytes -= r->n_slots * sizeof *r->slots;
        free(r->slots);
        r->slots =
            r->jit->kept.bytes + n * sizeof *r->slots > CS_JIT_BYTES_MAX ? NULL : calloc(n, sizeof *r->slots);
        r->full = !r->slots;
        r->n_slots = r->slots ? n : 0;
        r->jit->kept.bytes += r->n_slots * sizeof *r->slots;
        r->n_used = 0;
        for (uint32_t i = 0; r->slots && i < method; i++)
            put(r, i);
    }
    if (r->slots)
        put(r, method);
}

static bool from_dump(void *arg, const struct cs_jitdump_record *code)
{
    struct reading *r = arg;
    size_t n = r->m->methods.n;
    long name = -1;
    if (code->name)
        name = cs_jit_methods_text(&r->m->methods, &r->jit->kept, code->name);
    else if (r->slots && *slot_of(r, code->was_start))
        name = (long)r->m->methods.at[*slot_of(r, code->was_start) - 1].name;
    uint64_t bytes = 0, lines = 0;
    if (code->name) {
        bytes = code->code_at;
        lines = code->lines_at && code->lines_at < bytes ? bytes - code->lines_at : 0;
    } else if (name >= 0) {
        bytes = r->m->methods.at[*slot_of(r, code->was_start) - 1].code;
        lines = r->m->methods.at[*slot_of(r, code->was_start) - 1].lines_back;
    }
    if (name >= 0)
        (void)cs_jit_methods_add(&r->m->methods, &r->jit->kept, code->start, code->size, (size_t)name);
    if (r->m->methods.n > n) {
        r->m->methods.at[n].code = bytes;
        r->m->methods.at[n].lines_back = lines <= UINT32_MAX ? (uint32_t)lines : 0;
        note(r, (uint32_t)n);
    }
    return !r->m->methods.cut;
}

static bool look_at_dump(struct cs_jit *jit, struct perf_map *m, uint64_t time_ns)
{
    struct reading r = {.jit = jit, .m = m};
    int fd = m->methods.cut ? -1 : open_dump(jit, m->pid, time_ns);
    if (fd < 0)
        return false;
    for (size_t i = 0; i < m->methods.n; i++)
        note(&r, (uint32_t)i);
    bool is_dump = cs_jitdump_read(fd, &m->dump_at, from_dump, &r) == 0;
    cs_jit_methods_sort(&m->methods);
    free(r.slots);
    jit->kept.bytes -= r.n_slots * sizeof *r.slots;
    close(fd);
    return is_dump;
}

static void look(struct cs_jit *jit, struct perf_map *m, uint64_t time_ns)
{
    struct stat st;
    m->rest = 1;
    /* The file with the code comes first: some (PHP) write both. */
    const bool dump = m->read == 0 && look_at_dump(jit, m, time_ns);
    int fd = m->read == 0 && m->methods.n > 0 && m->dump_at ? -1 : open_map(jit, m->pid);
    if (fd < 0) {
        if (!dump) {
            m->rest = m->vain < 4 ? 1u << m->vain : REST_DRAINS;
            m->vain++;
        }
        return;
    }
    if (fstat(fd, &st) == 0 && st.st_size != m->seen) {
        if (st.st_size < m->seen) { /* another file */
            m->methods.n = m->methods.text_used = 0;
            m->read = 0;
            cs_jit_registered_drop(&m->registered, &jit->kept);
        }
        m->seen = st.st_size;
        keep_lines(jit, m, fd);
        cs_jit_methods_sort(&m->methods);
    }
    close(fd);
}

static struct perf_map *add_map(struct cs_jit *jit, pid_t pid, uint64_t since_ns)
{
    struct perf_map *m = calloc(1, sizeof *m);
    if (m) {
        *m = (struct perf_map){
            .next = jit->maps, .pid = pid, .since_ns = since_ns, .used_ns = cs_monotonic_ns()};
        jit->maps = m;
    }
    return m;
}

static struct perf_map *map_of(struct cs_jit *jit, pid_t pid, uint64_t time_ns)
{
    struct perf_map *m = jit->maps;
    while (m && (m->pid != pid || m->since_ns > time_ns))
        m = m->next;
    return m ? m : add_map(jit, pid, 0);
}

/* What the process registers; after an exec it is another program, with names of its own. */
static struct perf_map *meet(struct cs_jit *jit, struct perf_map *m, uint64_t since_ns)
{
    if (cs_jit_registered_meet(&m->registered, &jit->kept, m->pid)) {
        struct perf_map *now = add_map(jit, m->pid, since_ns);
        if (!now)
            return m;
        m = now;
        (void)cs_jit_registered_meet(&m->registered, &jit->kept, m->pid);
    }
    cs_jit_registered_read(&m->registered, &m->methods, &jit->kept);
    return m;
}

void cs_jit_meet(struct cs_jit *jit, pid_t pid, uint64_t since_ns)
{
    struct perf_map *m = map_of(jit, pid, since_ns);
    if (m)
        (void)meet(jit, m, since_ns);
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

static void close_dump(struct perf_map *m)
{
    if (m->dump)
        close(m->dump - 1);
    m->dump = 0;
}

/* Its bytes out of the jitdump file, malloc'ed; NULL: there are none. */
static uint8_t *code_of(struct cs_jit *jit, struct perf_map *m, const struct cs_jit_method *method,
                        uint64_t time_ns)
{
    if (!jit->code || !method->code || m->no_code || method->size > CS_JIT_CODE_METHOD_MAX)
        return NULL;
    if (!m->dump) {
        uint32_t machine = 0; /* behind magic, version and size of the header */
        m->dump = 1 + open_dump(jit, m->pid, time_ns);
        if (m->dump <= 0 || pread(m->dump - 1, &machine, sizeof machine, 12) != sizeof machine ||
            machine != cs_jit_code_machine()) {
            m->no_code = true;
            if (m->dump < 0)
                m->dump = 0;
            close_dump(m);
            return NULL;
        }
    }
    uint8_t *bytes = malloc((size_t)method->size);
    if (bytes &&
        pread(m->dump - 1, bytes, (size_t)method->size, (off_t)method->code) == (ssize_t)method->size)
        return bytes;
    free(bytes);
    return NULL;
}

/* Its lines; false: there are none. code_of has opened the file. */
static bool lines_of(struct perf_map *m, const struct cs_jit_method *method, struct cs_jitdump_lines *lines)
{
    uint8_t head[8], *record;
    uint32_t size = 0; /* behind the record's id */
    const off_t at = (off_t)(method->code - method->lines_back);
    if (!method->lines_back || pread(m->dump - 1, head, sizeof head, at) != sizeof head)
        return false;
    memcpy(&size, head + 4, sizeof size);
    if (size > CS_JITDUMP_LINES_RECORD_MAX)
        size = CS_JITDUMP_LINES_RECORD_MAX;
    const ssize_t got = (record = malloc(size)) ? pread(m->dump - 1, record, size, at) : -1;
    const bool found = got > 0 && cs_jitdump_lines_read(lines, record, (size_t)got,
                                                        m->methods.text + method->name, method->size);
    free(record);
    return found;
}

/* A method is sampled for the first time. */
static void place(struct cs_jit *jit, struct perf_map *m, const struct cs_store_image *image,
                  struct cs_jit_method *method, uint64_t time_ns)
{
    char versioned[CS_JIT_CODE_NAME_MAX];
    const char *name = m->methods.text + method->name;
    uint8_t *bytes = code_of(jit, m, method, time_ns);
    if (!bytes) {
        method->code = cs_jit_name_offset(name);
        return;
    }
    struct cs_jitdump_lines lines = {0};
    const bool lined = lines_of(m, method, &lines);
    method->code = cs_jit_code_offset(jit->code, image, name, bytes, (size_t)method->size,
                                      lined ? &lines : NULL, versioned);
    cs_jitdump_lines_fini(&lines);
    free(bytes);
    const long text = strcmp(name, versioned) ? cs_jit_methods_text(&m->methods, &jit->kept, versioned) : -1;
    if (text >= 0)
        method->name = (uint32_t)text;
}

uint64_t cs_jit_offset(struct cs_jit *jit, const struct cs_store_image *image, pid_t pid, uint64_t from_ns,
                       uint64_t to_ns, uint64_t addr, uint64_t fallback)
{
    struct perf_map *m = map_of(jit, pid, from_ns);
    if (!m)
        return fallback;
    m->idle = 0;
    m->used_ns = cs_monotonic_ns();
    cs_jit_registered_read(&m->registered, &m->methods, &jit->kept);
    struct cs_jit_method *method = cs_jit_methods_at(&m->methods, addr);
    if (!method && !m->rest) {
        look(jit, m, to_ns);
        method = cs_jit_methods_at(&m->methods, addr);
    }
    /* One that it was before an exec registers no more. */
    if (!method && !m->registered.rest && m == map_of(jit, pid, UINT64_MAX)) {
        m = meet(jit, m, from_ns);
        method = cs_jit_methods_at(&m->methods, addr);
    }
    if (!method || !m->methods.text)
        return fallback;
    if (!(method->code & NAMED))
        place(jit, m, image, method, to_ns);
    remember(jit, image, method->code, CS_JIT_METHOD_MAX, m->methods.text + method->name);
    return method->code + (addr - method->start);
}

static void free_map(struct cs_jit *jit, struct perf_map *m)
{
    close_dump(m);
    cs_jit_registered_drop(&m->registered, &jit->kept);
    cs_jit_methods_fini(&m->methods, &jit->kept);
    free(m);
}

void cs_jit_refresh(struct cs_jit *jit)
{
    const uint64_t now = cs_monotonic_ns();
    for (struct perf_map **link = &jit->maps; *link;) {
        struct perf_map *m = *link;
        m->rest -= m->rest > 0;
        close_dump(m);
        cs_jit_registered_refresh(&m->registered);
        if (++m->idle > IDLE_DRAINS && (!m->registered.names || now - m->used_ns > HELD_NS)) {
            *link = m->next;
            free_map(jit, m);
        } else {
            link = &m->next;
        }
    }
}

uint64_t cs_jit_cut(const struct cs_jit *jit)
{
    return jit->kept.cut;
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

void cs_jit_keep_code(struct cs_jit *jit, const char *store)
{
    if (!jit->code)
        jit->code = cs_jit_code_open(store);
}

int cs_jit_save_code(struct cs_jit *jit, uint64_t store_max, struct cs_error *err)
{
    return jit->code ? cs_jit_code_save(jit->code, store_max, err) : 0;
}

void cs_jit_close(struct cs_jit *jit)
{
    if (!jit)
        return;
    cs_jit_code_close(jit->code);
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
