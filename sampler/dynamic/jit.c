/* SPDX-License-Identifier: GPL-2.0-or-later */
/* There are three sources. Perf maps are lines of "START SIZE NAME" in hex, appended while the program runs. A jitdump
 * file is found because the program has mapped it. The segment of signals has what the program registered by
 * cs_name_code. Each is read once a drain, whether its names are missed or not: code may be replaced by other code at
 * its address. A jitdump has the times. The last line of a perf map was written at the file's mtime. The lines before
 * it are spread over the time since the drain before. Registered names hold from the drain before. */
#include "sampler/dynamic/jit.h"

#include "sampler/dynamic/jit_code.h"
#include "sampler/dynamic/jit_dumped.h"
#include "sampler/dynamic/jit_methods.h"
#include "sampler/dynamic/jit_registered.h"
#include "sampler/images/proc_maps.h"
#include "store/base/clock.h"
#include "store/base/regular_file.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAMED (1ULL << 63)
#define PART 65536
#define IDLE_DRAINS 60
#define HELD_NS (25 * 1000000000ULL) /* samples may wait in the kernel's table for ten seconds */
#define REST_DRAINS 20               /* where there is no file */
#define EAGER_LOOKS 8                /* at first: files come soon after the first code */
#define FLUSHED 1024 /* bytes: a file's end at such a border may be a buffer's, not a line's */
struct perf_map {
    struct perf_map *next;
    pid_t pid, inner; /* inner: in its own namespace, as its file's name has it */
    uint64_t started;
    uint64_t since_ns; /* of one PID's the newest comes first; the last one has 0 */
    struct cs_jit_methods methods;
    long read;  /* bytes of the perf map, up to the end of its last whole line */
    long seen;  /* its size when it was read */
    bool ended; /* its last line has no newline, and was taken */
    uint64_t looked_ns;
    struct cs_jit_dumped dumped;
    bool asked; /* in this drain, whether a jitdump file has come */
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
    pthread_mutex_t lock; /* of everything below: who drains and who makes bursts both ask */
    const char *tmp;
    struct cs_jit_dumps dumps;
    struct perf_map *maps;
    struct named *named;
    struct cs_jit_kept kept;
    struct cs_jit_code *code; /* NULL: not kept */
};

/* Whose its files must be. It may become another user's after it began (a server's workers), but is that process still. */
static void read_user(const struct cs_jit *jit, struct perf_map *m)
{
    pid_t inner;
    const uid_t user = cs_proc_user(jit->dumps.proc, m->pid, &inner);
    if (user == (uid_t)-1 || cs_proc_started(jit->dumps.proc, m->pid) != m->started)
        return;
    m->dumped.user = user;
    m->inner = inner;
}

static int open_map(const struct cs_jit *jit, const struct perf_map *m)
{
    char root[256], path[256];
    snprintf(root, sizeof root, "%s/%d/root", jit->dumps.proc, (int)m->pid);
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)m->inner);
    int fd = cs_open_owned(root, path, INT64_MAX, m->dumped.user);
    if (fd >= 0)
        return fd;
    snprintf(path, sizeof path, "%s/perf-%d.map", jit->tmp, (int)m->pid);
    return cs_open_owned(NULL, path, INT64_MAX, m->dumped.user);
}

/* What was added to a perf map between two looks. */
struct added {
    uint64_t from_ns, to_ns; /* the look before, the last write */
    long from, to;           /* bytes of the file */
};

/* When the line that ends at this byte was written. */
static uint64_t written_ns(const struct added *a, long end)
{
    if (end >= a->to || a->to_ns <= a->from_ns)
        return a->to_ns;
    return a->from_ns +
           (uint64_t)((double)(a->to_ns - a->from_ns) * (double)(end - a->from) / (double)(a->to - a->from));
}

static uint64_t began_ns(const struct perf_map *m, uint64_t now_ns)
{
    const uint64_t boot_ns = cs_clock_ns(CLOCK_BOOTTIME),
                   began = m->started * (1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK));
    return began < boot_ns && boot_ns - began < now_ns ? now_ns - (boot_ns - began) : 0;
}

/* A file's times are those of the wall clock. Its owner may set them, so that only possible ones count. */
static struct added added_since(const struct perf_map *m, const struct stat *st, uint64_t from_ns)
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    const double ago_s =
        difftime(wall.tv_sec, st->st_mtim.tv_sec) + (double)(wall.tv_nsec - st->st_mtim.tv_nsec) / 1e9;
    const uint64_t now_ns = m->looked_ns, first_ns = from_ns ? from_ns : began_ns(m, now_ns);
    uint64_t to_ns = ago_s <= 0 ? now_ns : first_ns;
    if (ago_s > 0 && ago_s * 1e9 < (double)(now_ns - first_ns))
        to_ns = now_ns - (uint64_t)(ago_s * 1e9);
    return (struct added){first_ns, to_ns, m->read, (long)st->st_size};
}

/* One line of a perf map. */
static void keep_line(struct cs_jit *jit, struct perf_map *m, const char *line, uint64_t since_ns)
{
    char *size, *name;
    uint64_t start = strtoull(line, &size, 16), bytes = strtoull(size, &name, 16);
    if (*name != ' ' || bytes == 0 || bytes >= CS_JIT_METHOD_MAX)
        return;
    long kept = cs_jit_methods_text(&m->methods, &jit->kept, name + 1);
    if (kept >= 0 && !cs_jit_methods_add(&m->methods, &jit->kept, start, bytes, since_ns, (size_t)kept))
        m->methods.text_used = (size_t)kept;
}

/* The whole lines that were appended. A line of more than PART bytes ends it. */
static void keep_lines(struct cs_jit *jit, struct perf_map *m, int fd, const struct added *added)
{
    char *part = malloc(PART + 1);
    for (ssize_t got; part && !m->methods.cut && (got = pread(fd, part, PART, m->read)) > 0;) {
        char *at = part, *end;
        part[got] = '\0';
        while (!m->methods.cut && (end = memchr(at, '\n', (size_t)(part + got - at))) != NULL) {
            *end = '\0';
            keep_line(jit, m, at, written_ns(added, m->read + (end + 1 - part)));
            at = end + 1;
        }
        m->read += at - part;
        if (at == part)
            break;
    }
    free(part);
}

static bool has_ended(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

/* A last line without a newline is whole if nothing was added for a drain, or its process has ended. */
static void keep_last_line(struct cs_jit *jit, struct perf_map *m, int fd, uint64_t since_ns)
{
    char line[1024];
    const long size = m->seen - m->read;
    if (m->ended || size <= 0 || size >= (long)sizeof line ||
        (m->seen % FLUSHED == 0 && !has_ended(m->pid)) || pread(fd, line, (size_t)size, m->read) != size)
        return;
    line[size] = '\0';
    m->ended = true;
    if (!memchr(line, '\n', (size_t)size)) {
        keep_line(jit, m, line, since_ns);
        cs_jit_methods_sort(&m->methods);
    }
}

static void begin_anew(struct cs_jit *jit, struct perf_map *m)
{
    m->methods.n = m->methods.n_sorted = m->methods.text_used = 0;
    m->read = 0;
    cs_jit_registered_drop(&m->registered, &jit->kept);
}

/* Some (PHP) write both, and only a jitdump has code, but its mapping may be told of later than the perf map is met: the
 * names are then read from it instead. Methods keep their offsets. */
static void prefer_dump(struct cs_jit *jit, struct perf_map *m, uint64_t time_ns)
{
    const bool ask = m->read > 0 && !m->asked && !m->methods.cut;
    m->asked = true;
    if (!ask || !cs_jit_dumped_is_there(&m->dumped, &jit->dumps, m->pid, time_ns))
        return;
    begin_anew(jit, m);
    m->seen = m->rest = 0;
    m->dumped.at = 0;
}

static void look(struct cs_jit *jit, struct perf_map *m, uint64_t time_ns)
{
    struct stat st;
    const uint64_t since_ns = m->looked_ns;
    m->rest = 1;
    m->looked_ns = cs_monotonic_ns();
    read_user(jit, m);
    const bool dump = m->read == 0 && cs_jit_dumped_read(&m->dumped, &jit->dumps, m->pid, time_ns, since_ns,
                                                         &m->methods, &jit->kept);
    int fd = m->read == 0 && m->methods.n > 0 && m->dumped.at ? -1 : open_map(jit, m);
    if (fd < 0) {
        if (!dump) {
            m->rest = m->vain < EAGER_LOOKS ? 1 : REST_DRAINS;
            m->vain++;
        }
        return;
    }
    if (fstat(fd, &st) == 0 && st.st_size != m->seen) {
        if (st.st_size < m->seen) /* another file */
            begin_anew(jit, m);
        m->seen = st.st_size;
        m->ended = false;
        const struct added added = added_since(m, &st, since_ns);
        keep_lines(jit, m, fd, &added);
        cs_jit_methods_sort(&m->methods);
        if (has_ended(m->pid))
            keep_last_line(jit, m, fd, added.to_ns);
    } else {
        keep_last_line(jit, m, fd, added_since(m, &st, since_ns).to_ns);
    }
    close(fd);
}

static struct perf_map *add_map(struct cs_jit *jit, pid_t pid, uint64_t since_ns)
{
    struct perf_map *m = calloc(1, sizeof *m);
    if (m) {
        *m = (struct perf_map){
            .next = jit->maps, .pid = pid, .inner = pid, .since_ns = since_ns, .used_ns = cs_monotonic_ns()};
        m->started = cs_proc_started(jit->dumps.proc, pid);
        m->dumped.user = geteuid();
        read_user(jit, m);
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
    pthread_mutex_lock(&jit->lock);
    struct perf_map *m = map_of(jit, pid, since_ns);
    if (m)
        (void)meet(jit, m, since_ns);
    pthread_mutex_unlock(&jit->lock);
}

static uint64_t middle(uint64_t from_ns, uint64_t to_ns)
{
    return from_ns < to_ns ? from_ns + (to_ns - from_ns) / 2 : to_ns;
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

/* A method is sampled for the first time. */
static void place(struct cs_jit *jit, struct perf_map *m, const struct cs_store_image *image,
                  struct cs_jit_method *method, uint64_t time_ns)
{
    char versioned[CS_JIT_CODE_NAME_MAX];
    const char *name = m->methods.text + method->name;
    uint8_t *bytes = jit->code ? cs_jit_dumped_code(&m->dumped, &jit->dumps, m->pid, time_ns, method) : NULL;
    if (!bytes) {
        method->code = cs_jit_name_offset(name);
        return;
    }
    struct cs_jitdump_lines lines = {0};
    const bool lined = cs_jit_dumped_lines(&m->dumped, &m->methods, method, &lines);
    method->code = cs_jit_code_offset(jit->code, image, name, bytes, (size_t)method->size,
                                      lined ? &lines : NULL, versioned);
    cs_jitdump_lines_fini(&lines);
    free(bytes);
    const long text = strcmp(name, versioned) ? cs_jit_methods_text(&m->methods, &jit->kept, versioned) : -1;
    if (text >= 0)
        method->name = (uint32_t)text;
}

static uint64_t offset_of(struct cs_jit *jit, const struct cs_store_image *image, pid_t pid, uint64_t from_ns,
                          uint64_t to_ns, uint64_t addr, uint64_t fallback)
{
    struct perf_map *m = map_of(jit, pid, from_ns);
    if (!m)
        return fallback;
    m->idle = 0;
    m->used_ns = cs_monotonic_ns();
    prefer_dump(jit, m, to_ns);
    cs_jit_registered_read(&m->registered, &m->methods, &jit->kept);
    if (!m->rest)
        look(jit, m, to_ns);
    const uint64_t time_ns = middle(from_ns, to_ns);
    struct cs_jit_method *method = cs_jit_methods_at(&m->methods, addr, time_ns);
    /* One that it was before an exec registers no more. */
    if (!method && !m->registered.rest && m == map_of(jit, pid, UINT64_MAX)) {
        m = meet(jit, m, from_ns);
        method = cs_jit_methods_at(&m->methods, addr, time_ns);
    }
    if (!method || !m->methods.text)
        return fallback;
    if (!(method->code & NAMED))
        place(jit, m, image, method, to_ns);
    remember(jit, image, method->code, CS_JIT_METHOD_MAX, m->methods.text + method->name);
    return method->code + (addr - method->start);
}

uint64_t cs_jit_offset(struct cs_jit *jit, const struct cs_store_image *image, pid_t pid, uint64_t from_ns,
                       uint64_t to_ns, uint64_t addr, uint64_t fallback)
{
    pthread_mutex_lock(&jit->lock);
    const uint64_t offset = offset_of(jit, image, pid, from_ns, to_ns, addr, fallback);
    pthread_mutex_unlock(&jit->lock);
    return offset;
}

uint64_t cs_jit_change(struct cs_jit *jit, pid_t pid, uint64_t addr, uint64_t from_ns, uint64_t to_ns)
{
    pthread_mutex_lock(&jit->lock);
    const struct perf_map *m = jit->maps;
    while (m && (m->pid != pid || m->since_ns > from_ns))
        m = m->next;
    const uint64_t change_ns = m ? cs_jit_methods_change(&m->methods, addr, from_ns, to_ns) : 0;
    pthread_mutex_unlock(&jit->lock);
    return change_ns;
}

bool cs_jit_has_replaced(struct cs_jit *jit, pid_t pid, uint64_t since_ns)
{
    bool found = false;
    pthread_mutex_lock(&jit->lock);
    for (const struct perf_map *m = jit->maps; m && !found; m = m->next)
        found = m->pid == pid && m->methods.replaced_ns > since_ns;
    pthread_mutex_unlock(&jit->lock);
    return found;
}

uint64_t cs_jit_replaced_ns(struct cs_jit *jit)
{
    uint64_t last_ns = 0;
    pthread_mutex_lock(&jit->lock);
    for (const struct perf_map *m = jit->maps; m; m = m->next)
        last_ns = m->methods.replaced_ns > last_ns ? m->methods.replaced_ns : last_ns;
    pthread_mutex_unlock(&jit->lock);
    return last_ns;
}

static void free_map(struct cs_jit *jit, struct perf_map *m)
{
    cs_jit_dumped_close(&m->dumped);
    cs_jit_registered_drop(&m->registered, &jit->kept);
    cs_jit_methods_fini(&m->methods, &jit->kept);
    free(m);
}

void cs_jit_refresh(struct cs_jit *jit)
{
    const uint64_t now = cs_monotonic_ns();
    pthread_mutex_lock(&jit->lock);
    for (struct perf_map **link = &jit->maps; *link;) {
        struct perf_map *m = *link;
        m->rest -= m->rest > 0;
        m->asked = false;
        cs_jit_dumped_close(&m->dumped);
        cs_jit_registered_refresh(&m->registered);
        if (++m->idle > IDLE_DRAINS && (!m->registered.names || now - m->used_ns > HELD_NS)) {
            *link = m->next;
            free_map(jit, m);
            continue;
        }
        if (!m->rest)
            look(jit, m, UINT64_MAX);
        link = &m->next;
    }
    pthread_mutex_unlock(&jit->lock);
}

uint64_t cs_jit_cut(struct cs_jit *jit)
{
    pthread_mutex_lock(&jit->lock);
    const uint64_t cut = jit->kept.cut;
    pthread_mutex_unlock(&jit->lock);
    return cut;
}

int cs_jit_name(struct cs_jit *jit, struct cs_store *store, struct cs_error *err)
{
    int rc = 0;
    pthread_mutex_lock(&jit->lock);
    for (struct named *n = jit->named; n; n = n->next) {
        rc = n->names ? cs_store_merge_names(store, n->image, n->names, err) : 0;
        if (rc < 0)
            break;
        cs_table_close(n->names);
        n->names = NULL;
    }
    pthread_mutex_unlock(&jit->lock);
    return rc < 0 ? rc : 0;
}

struct cs_jit *cs_jit_open(const char *proc, const char *tmp, struct cs_maps *maps)
{
    assert(proc && tmp);
    struct cs_jit *jit = calloc(1, sizeof *jit);
    if (jit) {
        jit->dumps = (struct cs_jit_dumps){proc, maps};
        jit->tmp = tmp;
        pthread_mutex_init(&jit->lock, NULL);
    }
    return jit;
}

void cs_jit_limit(struct cs_jit *jit, uint64_t bytes)
{
    jit->kept.bytes_max = bytes && bytes < CS_JIT_BYTES_MAX ? (size_t)bytes : CS_JIT_BYTES_MAX;
}

uint64_t cs_jit_room(struct cs_jit *jit)
{
    pthread_mutex_lock(&jit->lock);
    const uint64_t room = cs_jit_kept_max(&jit->kept) - jit->kept.bytes;
    pthread_mutex_unlock(&jit->lock);
    return room;
}

void cs_jit_keep_code(struct cs_jit *jit, const char *store)
{
    if (!jit->code)
        jit->code = cs_jit_code_open(store);
}

int cs_jit_save_code(struct cs_jit *jit, uint64_t store_max, struct cs_error *err)
{
    pthread_mutex_lock(&jit->lock);
    const int rc = jit->code ? cs_jit_code_save(jit->code, store_max, err) : 0;
    pthread_mutex_unlock(&jit->lock);
    return rc;
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
    pthread_mutex_destroy(&jit->lock);
    free(jit);
}
