/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/placing/image_tables.h"
#include "image/unwind/child.h"
#include "image/unwind/template.h"
#include "store/base/array.h"
#include "store/base/clock.h"
#include "store/base/foreign.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define VDSO_BYTES_MAX (64U << 10)
#define LARGE_BYTES (1 << 20)      /* a file that nobody waits for */
#define WAIT_NS 3000000ULL         /* for that of a small one, of a millisecond or two; later is no loss */
#define CREDIT_S 1.0               /* of CPU time that is saved for new files */
#define DEBT_S 0.2                 /* at most: a child of seconds doesn't shut out all others for minutes */
#define MADE 64                    /* mappings of made code that are remembered */
#define TEMPLATES 4u               /* different ones: a runtime has one */
#define KEPT_BYTES_MAX (4UL << 20) /* of tables that nobody holds */

struct kept {
    const struct cs_unwind_header *table;
    size_t n;
    struct cs_unwind *unwind; /* whose table it is */
    uint64_t used;
    bool none;
    bool uncached, large; /* waits for a child of that kind */
};

/* A child at work. There are two, so that small files don't wait for large ones. */
struct builder {
    struct cs_apart child;
    const struct cs_mapped_image *image;
    bool on_disk; /* its table is kept there */
};
enum { SMALL, LARGE, BUILDERS };

struct made {
    pid_t pid;
    unsigned cfa; /* 0: no copies of a template */
    uint64_t start, end;
};

struct template
{
    unsigned cfa;
    struct cs_unwind_header *table;
    size_t n;
};

struct cs_image_tables {
    struct cs_images *images;
    double cpu_max, credit_s; /* CPU time; 0: any */
    uint64_t credit_ns;       /* when that was */
    struct kept *kept;        /* by the image's index */
    size_t n_kept, bytes;
    uint64_t turn;
    struct builder builders[BUILDERS];
    struct made made[MADE]; /* a ring */
    unsigned n_made, n_templates;
    struct template templates[TEMPLATES];
};

void cs_image_tables_prepare(void)
{
    cs_apart_prepare();
}

struct cs_image_tables *cs_image_tables_open(struct cs_images *images)
{
    struct cs_image_tables *t = calloc(1, sizeof *t);
    if (t)
        *t = (struct cs_image_tables){.images = images, .credit_s = CREDIT_S, .credit_ns = cs_monotonic_ns()};
    return t;
}

void cs_image_tables_limit(struct cs_image_tables *t, double cpu_max)
{
    assert(cpu_max >= 0);
    (void)cs_image_tables_may_begin(t); /* what was saved at the old rate */
    t->cpu_max = cpu_max;
}

bool cs_image_tables_may_begin(struct cs_image_tables *t)
{
    const uint64_t now = cs_monotonic_ns();
    t->credit_s = fmin(t->credit_s + t->cpu_max * (double)(now - t->credit_ns) / 1e9, CREDIT_S);
    t->credit_ns = now;
    return t->cpu_max <= 0 || t->credit_s > 0;
}

void cs_image_tables_pay(struct cs_image_tables *t, uint64_t cpu_ns)
{
    t->credit_s = fmax(t->credit_s - (double)cpu_ns / 1e9, -DEBT_S);
}

static void drop(struct cs_image_tables *t, struct kept *k)
{
    t->bytes -= k->n;
    cs_unwind_close(k->unwind);
    *k = (struct kept){.none = false};
}

void cs_image_tables_close(struct cs_image_tables *t)
{
    if (!t)
        return;
    for (unsigned b = 0; b < BUILDERS; b++)
        cs_apart_end(&t->builders[b].child);
    for (size_t i = 0; i < t->n_kept; i++)
        drop(t, &t->kept[i]);
    for (unsigned i = 0; i < t->n_templates; i++)
        free(t->templates[i].table);
    free(t->kept);
    free(t);
}

static struct kept *of_image(struct cs_image_tables *t, unsigned index)
{
    size_t n = t->n_kept;
    if (index >= n) {
        if (cs_array_reserve_in(t->kept, index + 1, t->n_kept) < 0)
            return NULL;
        memset(t->kept + n, 0, (t->n_kept - n) * sizeof *t->kept);
    }
    return &t->kept[index];
}

/* A copy in a file: the process's; of one that has ended ours, which is the same for all of 64 bits. -ENOENT: there is none. */
static int copy_vdso(pid_t pid, uint64_t start, uint64_t end)
{
    char bytes[VDSO_BYTES_MAX];
    size_t n = end - start < VDSO_BYTES_MAX ? end - start : VDSO_BYTES_MAX;
    unsigned long own = start <= UINT32_MAX ? 0 : getauxval(AT_SYSINFO_EHDR);
    bool read =
        cs_foreign_memory(pid, start, bytes, n) || (own && cs_foreign_memory(getpid(), own, bytes, n));
    return read ? cs_unwind_child_file(bytes, n) : -ENOENT;
}

static int keep(struct cs_image_tables *t, struct kept *k, struct cs_unwind *unwind,
                const struct cs_unwind_header *table, size_t n)
{
    *k = (struct kept){.table = table, .n = n, .unwind = unwind, .used = t->turn};
    t->bytes += n;
    return 1;
}

static int take(struct cs_image_tables *t, struct builder *by)
{
    struct cs_unwind *unwind;
    size_t n;
    struct kept *k = &t->kept[by->image->index]; /* was there when it began */
    int rc = cs_unwind_child_done(&by->child, by->on_disk, &unwind);
    if (rc)
        cs_image_tables_pay(t, by->child.cpu_ns);
    if (rc > 0) {
        const struct cs_unwind_header *table = cs_unwind_table(unwind, &n);
        return keep(t, k, unwind, table, n);
    }
    k->none = rc < 0;
    return rc;
}

/* A child begins; for a small table it is waited. */
static int begin(struct cs_image_tables *t, const struct cs_mapped_image *image, int fd, bool large,
                 bool on_disk)
{
    struct builder *by = &t->builders[large ? LARGE : SMALL];
    t->kept[image->index].uncached = true;
    t->kept[image->index].large = large;
    if (by->child.pid)
        return 0;
    by->image = image;
    by->on_disk = on_disk;
    if (cs_unwind_child_start(&by->child, fd) < 0)
        return -ENOENT;
    return !large && cs_apart_wait(&by->child, WAIT_NS) ? take(t, by) : 0;
}

/* From the cache, or a child's. */
static int open_file(struct cs_image_tables *t, struct kept *k, const struct cs_mapped_image *image, int fd)
{
    char path[64];
    struct cs_unwind *unwind;
    struct stat file;
    size_t n;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (cs_unwind_open_cached(path, &unwind) == 0) {
        const struct cs_unwind_header *table = cs_unwind_table(unwind, &n);
        return keep(t, k, unwind, table, n);
    }
    return begin(t, image, fd, fstat(fd, &file) != 0 || file.st_size > LARGE_BYTES, true);
}

static bool waits(const struct cs_image_tables *t, const struct kept *k)
{
    return !k->table && !k->none && k->uncached && t->builders[k->large ? LARGE : SMALL].child.pid;
}

bool cs_image_tables_waits(const struct cs_image_tables *t, unsigned index)
{
    return index < t->n_kept && waits(t, &t->kept[index]);
}

int cs_image_tables_get(struct cs_image_tables *t, const struct cs_mapped_image *image, pid_t pid,
                        uint64_t start, uint64_t end, const struct cs_unwind_header **table, size_t *n)
{
    struct kept *k = of_image(t, image->index);
    const bool vdso = image->image.kind == CS_IMAGE_VDSO;
    int rc = k && !k->none ? 0 : -ENOENT;
    if (rc < 0 || waits(t, k))
        return rc;
    if (k->table) {
        rc = 1;
    } else if (!cs_image_tables_may_begin(t)) {
        rc = -EAGAIN;
    } else {
        const double before = cs_thread_cpu_seconds();
        int fd = vdso ? copy_vdso(pid, start, end) : cs_images_reopen(t->images, image, pid, start, end);
        rc = fd < 0 ? -ENOENT : vdso ? begin(t, image, fd, false, false) : open_file(t, k, image, fd);
        if (fd >= 0)
            close(fd);
        cs_image_tables_pay(t, (uint64_t)(1e9 * (cs_thread_cpu_seconds() - before)));
    }
    k->none = rc < 0 && rc != -EAGAIN;
    k->used = ++t->turn;
    *table = k->table;
    *n = k->n;
    return rc;
}

static const struct made *made_at(struct cs_image_tables *t, pid_t pid, uint64_t start, uint64_t end)
{
    for (unsigned i = 0; i < MADE; i++)
        if (t->made[i].pid == pid && t->made[i].start == start && t->made[i].end == end)
            return &t->made[i];
    uint8_t bytes[CS_TEMPLATE_BYTES];
    if (!cs_foreign_memory(pid, start, bytes, sizeof bytes))
        return NULL; /* it has ended */
    struct made *m = &t->made[t->n_made++ % MADE];
    *m = (struct made){pid, cs_template_cfa(bytes, sizeof bytes), start, end};
    return m;
}

bool cs_image_tables_made(struct cs_image_tables *t, pid_t pid, uint64_t start, uint64_t end,
                          const struct cs_unwind_header **table, size_t *n)
{
    const struct made *m = made_at(t, pid, start, end);
    unsigned i = 0;
    if (!m || !m->cfa)
        return false;
    while (i < t->n_templates && t->templates[i].cfa != m->cfa)
        i++;
    if (i == TEMPLATES)
        return false;
    if (i == t->n_templates) {
        struct template fresh = {.cfa = m->cfa};
        fresh.table = cs_template_table(m->cfa, &fresh.n);
        if (!fresh.table)
            return false;
        t->templates[t->n_templates++] = fresh;
    }
    *table = t->templates[i].table;
    *n = t->templates[i].n;
    return true;
}

bool cs_image_tables_busy(const struct cs_image_tables *t)
{
    return t->builders[SMALL].child.pid || t->builders[LARGE].child.pid;
}

int cs_image_tables_poll(struct cs_image_tables *t, const struct cs_mapped_image **image,
                         const struct cs_unwind_header **table, size_t *n)
{
    for (unsigned b = 0; b < BUILDERS; b++) {
        int rc = t->builders[b].child.pid ? take(t, &t->builders[b]) : 0;
        if (rc == 0)
            continue;
        *image = t->builders[b].image;
        *table = t->kept[(*image)->index].table;
        *n = t->kept[(*image)->index].n;
        return rc < 0 ? -ENOENT : 1;
    }
    return 0;
}

void cs_image_tables_trim(struct cs_image_tables *t)
{
    while (t->bytes > KEPT_BYTES_MAX) {
        struct kept *oldest = NULL;
        for (size_t i = 0; i < t->n_kept; i++)
            if (t->kept[i].table && (!oldest || t->kept[i].used < oldest->used))
                oldest = &t->kept[i];
        if (!oldest) /* never: their bytes are counted */
            break;
        drop(t, oldest);
    }
}
