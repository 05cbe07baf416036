/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf.data into the store. Records are replayed in time order against the address spaces that they build;
 * samples are summed in tables, a table an (image, event, kind), and merged when the file has been read to
 * its end.
 *
 * Branch stacks (LBR) become two profiles: "lbr-edges" (taken branches) and "lbr-ranges" (straight runs
 * between the target of one branch and the next branch), from which edges that fall through follow once the
 * code is decoded. */
#include "exchange/import/address_spaces.h"
#include "exchange/import/import.h"
#include "image/segments.h"

#include "store/regular_file.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum table_kind { POINTS, STACKS, TABLE_KINDS };
enum branch_table { EDGES, RANGES, MISPREDICTS, BRANCH_TABLES };

#define KERNEL_PID UINT32_MAX
#define PROGRESS_EVERY 65536

static const struct cs_schema schema_ranges = {
    "ranges", 3, 2, {{"start", CS_KEY}, {"end", CS_KEY}, {"count", CS_SUM}}};

enum unknown_cause { UNKNOWN_NO_MAPPING = 1, UNKNOWN_GUEST = 2, UNKNOWN_NO_ADDRESS = 3 };

struct image {
    struct cs_store_image image;
    enum cs_store_image_kind asked; /* before the executable was looked for */
    char *path, build_id[CS_IMAGE_BUILD_ID_MAX];
    uint64_t base; /* of a kernel: address of _text */
    struct cs_image_segments layout;
    struct cs_table **tables; /* [event * TABLE_KINDS + kind] */
    uint64_t *period_sums;    /* [event] */
    unsigned n_events;
    struct cs_table *branches[BRANCH_TABLES];
};

struct import {
    const char *name;
    struct cs_perfdata *in;
    struct cs_import_spaces *spaces;
    struct image *images;
    unsigned n_images, unknown_image;
    struct cs_import_summary *summary;
    struct {
        uint64_t enabled_ns, running_ns;
    } * times; /* [event], the longest seen */
    unsigned n_times;
    char *text; /* a stack being written */
    size_t text_room;
};

static int no_memory(const struct import *im, struct cs_error *err)
{
    return cs_fail(err, ENOMEM, "%s: out of memory; nothing was imported", im->name);
}

/* ---- images ---- */

/* Program headers of the executable, where it is here and is the one that ran: they turn file offsets into
 * ELF virtual addresses. */
static void find_segments(struct image *image)
{
    int fd = cs_open_regular(NULL, image->path, INT64_MAX, NULL);
    if (fd >= 0 && (cs_image_segments_of_file(&image->layout, fd) < 0 ||
                    strcmp(image->layout.build_id, image->build_id) != 0))
        image->layout = (struct cs_image_segments){.is_elf = false};
    if (fd >= 0)
        close(fd);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static enum cs_store_image_kind kind_of(const char *path, bool kernel)
{
    if (kernel)
        return begins(path, "[kernel") || begins(path, "[guest.kernel") ? CS_IMAGE_KERNEL : CS_IMAGE_MODULE;
    if (begins(path, "[vdso]"))
        return CS_IMAGE_VDSO;
    if (path[0] != '/' || begins(path, "//anon") || begins(path, "/dev/zero") || begins(path, "/memfd:") ||
        begins(path, "/SYSV") || begins(path, "/anon_hugepage"))
        return CS_IMAGE_JIT;
    return CS_IMAGE_ELF;
}

static int add_image(struct import *im, const char *path, enum cs_store_image_kind kind, const char *build_id,
                     uint64_t base, unsigned *index, struct cs_error *err)
{
    for (unsigned i = 0; i < im->n_images; i++)
        if (strcmp(im->images[i].path, path) == 0 && strcmp(im->images[i].build_id, build_id) == 0 &&
            im->images[i].asked == kind) {
            *index = i;
            return 0;
        }
    struct image *grown = realloc(im->images, (im->n_images + 1) * sizeof *grown);
    if (!grown)
        return no_memory(im, err);
    im->images = grown;
    struct image *image = &grown[im->n_images];
    memset(image, 0, sizeof *image);
    image->path = strdup(path);
    if (!image->path)
        return no_memory(im, err);
    snprintf(image->build_id, sizeof image->build_id, "%s", build_id);
    image->base = base;
    image->image.kind = image->asked = kind;
    if (kind == CS_IMAGE_ELF && *build_id)
        find_segments(image);
    if (kind == CS_IMAGE_ELF && !image->layout.is_elf)
        image->image.kind = kind = CS_IMAGE_FILE;
    if (*build_id)
        snprintf(image->image.id, sizeof image->image.id, "%s%s", kind == CS_IMAGE_FILE ? "f" : "", build_id);
    else
        snprintf(image->image.id, sizeof image->image.id, "x%016" PRIx64,
                 XXH3_64bits_withSeed(path, strlen(path), (XXH64_hash_t)kind));
    *index = im->n_images++;
    return 0;
}

static uint64_t offset_in(const struct image *image, const struct cs_import_mapping *mapping, uint64_t addr)
{
    if (image->image.kind == CS_IMAGE_KERNEL)
        return addr - image->base;
    uint64_t in_file = addr - mapping->start + mapping->page_offset;
    uint64_t offset = cs_image_vaddr(&image->layout, in_file);
    return offset == UINT64_MAX ? in_file : offset;
}

/* ---- records ---- */

static int take_mapping(struct import *im, const struct cs_perfdata_record *r, struct cs_error *err)
{
    char build_id[CS_IMAGE_BUILD_ID_MAX];
    bool kernel = r->mode == CS_PERFDATA_MODE_KERNEL || r->pid == KERNEL_PID;
    const char *path = r->name;
    uint8_t id[CS_PERFDATA_BUILD_ID_BYTES];
    unsigned id_bytes = r->build_id_bytes;
    if (id_bytes)
        memcpy(id, r->build_id, sizeof id);
    else
        id_bytes =
            cs_perfdata_build_id(im->in, begins(path, "[kernel.kallsyms]") ? "[kernel.kallsyms]" : path, id);
    cs_image_build_id_text(id, id_bytes, build_id);
    enum cs_store_image_kind kind = kind_of(path, kernel);
    struct cs_import_mapping mapping = {r->start, r->start + r->length, r->page_offset, 0};
    int rc = add_image(im, kind == CS_IMAGE_KERNEL ? "[kernel]" : path, kind, build_id,
                       r->page_offset ? r->page_offset : r->start, &mapping.image, err);
    if (rc < 0)
        return rc;
    if (cs_import_spaces_map(im->spaces, kernel ? KERNEL_PID : r->pid, &mapping) < 0)
        return no_memory(im, err);
    return 0;
}

struct place {
    unsigned image;
    uint64_t offset;
    bool known;
};

static struct place place_of(const struct import *im, uint32_t pid, enum cs_perfdata_mode mode, uint64_t addr)
{
    struct place unknown = {im->unknown_image,
                            mode == CS_PERFDATA_MODE_GUEST || mode == CS_PERFDATA_MODE_HYPERVISOR
                                ? UNKNOWN_GUEST
                            : addr ? UNKNOWN_NO_MAPPING
                                   : UNKNOWN_NO_ADDRESS,
                            false};
    if (unknown.offset == UNKNOWN_GUEST)
        return unknown;
    const struct cs_import_mapping *m =
        cs_import_spaces_find(im->spaces, mode == CS_PERFDATA_MODE_KERNEL ? KERNEL_PID : pid, addr);
    if (!m && mode == CS_PERFDATA_MODE_UNKNOWN)
        m = cs_import_spaces_find(im->spaces, KERNEL_PID, addr);
    if (!m)
        return unknown;
    return (struct place){m->image, offset_in(&im->images[m->image], m, addr), true};
}

static struct cs_table *table_of(struct import *im, unsigned image_index, unsigned event,
                                 enum table_kind kind)
{
    struct image *image = &im->images[image_index];
    if (event >= image->n_events) {
        unsigned n = cs_perfdata_n_events(im->in);
        struct cs_table **tables = realloc(image->tables, (size_t)n * TABLE_KINDS * sizeof *tables);
        if (tables)
            image->tables = tables;
        uint64_t *sums = tables ? realloc(image->period_sums, n * sizeof *sums) : NULL;
        if (!sums)
            return NULL;
        image->period_sums = sums;
        for (unsigned i = image->n_events * TABLE_KINDS; i < n * TABLE_KINDS; i++)
            tables[i] = NULL;
        for (unsigned i = image->n_events; i < n; i++)
            sums[i] = 0;
        image->n_events = n;
    }
    struct cs_table **table = &image->tables[event * TABLE_KINDS + kind];
    if (!*table)
        *table = cs_table_open(kind == POINTS ? &cs_schema_points : &cs_schema_stacks);
    return *table;
}

static int take_chain(struct import *im, const struct cs_perfdata_record *r, const struct place *leaf,
                      struct cs_error *err)
{
    enum cs_perfdata_mode mode = r->mode;
    size_t used = 0;
    for (size_t i = 0; i < r->n_chain; i++) {
        uint64_t addr = r->chain[i];
        if (addr >= (uint64_t)-4095) { /* a mark: what follows is kernel, user, guest */
            mode = addr == (uint64_t)-128   ? CS_PERFDATA_MODE_KERNEL
                   : addr == (uint64_t)-512 ? CS_PERFDATA_MODE_USER
                                            : CS_PERFDATA_MODE_GUEST;
            continue;
        }
        if (im->text_room - used < CS_IMAGE_ID_MAX + 32) {
            size_t room = 2 * im->text_room + 4096;
            char *grown = realloc(im->text, room);
            if (!grown)
                return no_memory(im, err);
            im->text = grown;
            im->text_room = room;
        }
        struct place place = place_of(im, r->pid, mode, addr);
        used += (size_t)sprintf(im->text + used, "%s%s+%" PRIx64, used ? ";" : "",
                                im->images[place.image].image.id, place.offset);
    }
    struct cs_table *table = used ? table_of(im, leaf->image, r->event, STACKS) : NULL;
    if (!used)
        return 0;
    int64_t text = table ? cs_table_text(table, im->text) : -1;
    if (text < 0 || cs_table_add(table, (uint64_t[]){(uint64_t)text, 1}) < 0)
        return no_memory(im, err);
    im->summary->stacks++;
    return 0;
}

static struct cs_table *branch_table(struct import *im, unsigned image, enum branch_table which)
{
    static const struct cs_schema *const schemas[] = {&cs_schema_edges, &schema_ranges, &cs_schema_points};
    struct cs_table **table = &im->images[image].branches[which];
    if (!*table)
        *table = cs_table_open(schemas[which]);
    return *table;
}

/* How often entry i's branch stands in this stack before i (then it was counted) and in all. */
static uint64_t times_in_stack(const struct cs_perfdata_record *r, size_t i, bool *first)
{
    uint64_t n = 0;
    *first = true;
    for (size_t k = 0; k < r->n_branches; k++)
        if (r->branches[k].from == r->branches[i].from && r->branches[k].to == r->branches[i].to) {
            *first &= k >= i;
            n++;
        }
    return n;
}

static int take_branches(struct import *im, const struct cs_perfdata_record *r, struct cs_error *err)
{
    enum { STRAIGHT_RUN_MAX = 1 << 16 };
    for (size_t i = 0; i < r->n_branches; i++) {
        const struct cs_perfdata_branch *b = &r->branches[i];
        if (b->from == 0 || b->to == 0) {
            im->summary->branches_dropped++;
            continue;
        }
        enum cs_perfdata_mode from_mode =
            (int64_t)b->from < 0 ? CS_PERFDATA_MODE_KERNEL : CS_PERFDATA_MODE_USER;
        enum cs_perfdata_mode to_mode = (int64_t)b->to < 0 ? CS_PERFDATA_MODE_KERNEL : CS_PERFDATA_MODE_USER;
        struct place from = place_of(im, r->pid, from_mode, b->from),
                     to = place_of(im, r->pid, to_mode, b->to);
        im->summary->branches++;
        if (!from.known)
            continue;
        bool first;
        uint64_t n = times_in_stack(r, i, &first);
        struct cs_table *edges = branch_table(im, from.image, EDGES);
        int64_t text =
            edges ? cs_table_text(edges, to.image == from.image ? "" : im->images[to.image].image.id) : -1;
        if (text < 0 || (first && cs_table_add(edges, (uint64_t[]){from.offset, (uint64_t)text, to.offset, n,
                                                                   1, n * n}) < 0))
            return no_memory(im, err);
        if (b->flags & 1) {
            struct cs_table *table = branch_table(im, from.image, MISPREDICTS);
            if (!table || cs_table_add(table, (uint64_t[]){from.offset, 1}) < 0)
                return no_memory(im, err);
        }
        if (i == 0)
            continue;
        /* Newest first: after branch i the program ran straight from its target to the branch i - 1. */
        struct place end = place_of(im, r->pid, to_mode, r->branches[i - 1].from);
        if (!to.known || !end.known || end.image != to.image || end.offset < to.offset ||
            end.offset - to.offset > STRAIGHT_RUN_MAX) {
            im->summary->branches_dropped += to.known && end.known && end.image == to.image;
            continue;
        }
        struct cs_table *ranges = branch_table(im, to.image, RANGES);
        if (!ranges || cs_table_add(ranges, (uint64_t[]){to.offset, end.offset, 1}) < 0)
            return no_memory(im, err);
    }
    return 0;
}

static int take_sample(struct import *im, const struct cs_perfdata_record *r, struct cs_error *err)
{
    struct place place = place_of(im, r->pid, r->mode, r->ip);
    struct cs_table *points = table_of(im, place.image, r->event, POINTS);
    if (!points || cs_table_add(points, (uint64_t[]){place.offset, 1}) < 0)
        return no_memory(im, err);
    uint64_t *sum = &im->images[place.image].period_sums[r->event];
    *sum = *sum + r->period < *sum ? UINT64_MAX : *sum + r->period;
    if (place.known)
        im->summary->stored++;
    else
        im->summary->unknown++;
    if (r->enabled_ns && r->event >= im->n_times) {
        unsigned n = cs_perfdata_n_events(im->in);
        void *grown = realloc(im->times, n * sizeof *im->times);
        if (!grown)
            return no_memory(im, err);
        im->times = grown;
        memset(&im->times[im->n_times], 0, (n - im->n_times) * sizeof *im->times);
        im->n_times = n;
    }
    if (r->event < im->n_times && r->enabled_ns > im->times[r->event].enabled_ns) {
        im->times[r->event].enabled_ns = r->enabled_ns;
        im->times[r->event].running_ns = r->running_ns;
    }
    int rc = r->n_chain ? take_chain(im, r, &place, err) : 0;
    return rc == 0 && r->n_branches ? take_branches(im, r, err) : rc;
}

static int take(struct import *im, const struct cs_perfdata_record *r, struct cs_error *err)
{
    int rc = 0;
    switch (r->kind) {
    case CS_PERFDATA_SAMPLE:
        return take_sample(im, r, err);
    case CS_PERFDATA_MMAP:
        return take_mapping(im, r, err);
    case CS_PERFDATA_FORK:
        rc = cs_import_spaces_fork(im->spaces, r->parent, r->pid);
        break;
    case CS_PERFDATA_COMM:
        rc = r->exec ? cs_import_spaces_exec(im->spaces, r->pid) : 0;
        break;
    case CS_PERFDATA_EXIT:
    case CS_PERFDATA_LOST:
        break;
    }
    return rc < 0 ? no_memory(im, err) : 0;
}

/* ---- into the store ---- */

static void unit_of(const char *event, char unit[16])
{
    const char *name = begins(event, "cpu-clock") || begins(event, "task-clock") ? "ns"
                       : begins(event, "cycles") || begins(event, "cpu-cycles") || strstr(event, "/cycles/")
                           ? "cycles"
                           : "events";
    snprintf(unit, 16, "%s", name);
}

static int merge_image(struct import *im, struct cs_store *store, const struct image *image,
                       struct cs_error *err)
{
    struct cs_store_image as_stored = image->image;
    as_stored.path = image->path;
    as_stored.build_id = image->build_id;
    int rc = 0;
    for (unsigned event = 0; rc == 0 && event < image->n_events; event++)
        for (unsigned kind = 0; rc == 0 && kind < TABLE_KINDS; kind++) {
            struct cs_table *table = image->tables[event * TABLE_KINDS + kind];
            if (!table)
                continue;
            struct cs_store_profile_head head = {.period_sum = image->period_sums[event]};
            const char *name = cs_perfdata_event(im->in, event)->name;
            snprintf(head.event, sizeof head.event, "%.*s%s", (int)sizeof head.event - 8, name,
                     kind == STACKS ? "-stacks" : "");
            unit_of(name, head.unit);
            if (event < im->n_times) {
                head.enabled_ns = im->times[event].enabled_ns;
                head.running_ns = im->times[event].running_ns;
            }
            rc = cs_store_merge(store, &as_stored, &head, table, err);
        }
    static const char *const names[] = {"lbr-edges", "lbr-ranges", "lbr-mispredicts"};
    for (unsigned which = 0; rc == 0 && which < BRANCH_TABLES; which++) {
        struct cs_store_profile_head head = {.unit = "events"};
        snprintf(head.event, sizeof head.event, "%s", names[which]);
        if (image->branches[which])
            rc = cs_store_merge(store, &as_stored, &head, image->branches[which], err);
    }
    return rc;
}

/* A string of the file's without what could end a JSON string. */
static void plain_words(const char *from, char *to, size_t room)
{
    size_t n = 0;
    for (; *from && n + 1 < room; from++)
        to[n++] = (unsigned char)*from < 0x20 || *from == '\\' || *from == '"' ? '?' : *from;
    to[n] = '\0';
}

static int merge_all(struct import *im, struct cs_store *store, struct cs_error *err)
{
    char meta[1024], host[256], arch[64];
    plain_words(cs_perfdata_host(im->in), host, sizeof host);
    plain_words(cs_perfdata_arch(im->in), arch, sizeof arch);
    snprintf(meta, sizeof meta, "{\"imported\": \"perf.data\", \"host\": \"%s\", \"arch\": \"%s\"}", host,
             arch);
    int rc = cs_store_epoch(store, meta, err);
    for (unsigned i = 0; rc == 0 && i < im->n_images; i++)
        rc = merge_image(im, store, &im->images[i], err);
    const struct {
        const char *name;
        uint64_t n;
    } counters[] = {{"samples", im->summary->stored + im->summary->unknown},
                    {"lost", im->summary->read.lost},
                    {"unknown", im->summary->unknown}};
    for (size_t i = 0; rc == 0 && i < sizeof counters / sizeof *counters; i++)
        rc = cs_store_count(store, counters[i].name, counters[i].n, err);
    return rc;
}

int cs_import_perfdata(FILE *file, const char *name, struct cs_store *store, cs_import_progress *progress,
                       void *arg, struct cs_import_summary *summary, struct cs_error *err)
{
    struct import im = {.name = name, .summary = summary, .spaces = cs_import_spaces_open()};
    struct cs_perfdata_record record;
    memset(summary, 0, sizeof *summary);
    int rc = im.spaces ? cs_perfdata_open(file, name, &im.in, err) : no_memory(&im, err);
    if (rc == 0)
        rc = add_image(&im, "[unknown]", CS_IMAGE_UNKNOWN, "", 0, &im.unknown_image, err);
    while (rc == 0) {
        int got = cs_perfdata_next(im.in, &record, err);
        if (got <= 0) {
            rc = got;
            break;
        }
        rc = take(&im, &record, err);
        if (progress && cs_perfdata_counts(im.in)->records % PROGRESS_EVERY == 0)
            progress(cs_perfdata_counts(im.in)->records, arg);
    }
    if (rc == 0) {
        summary->read = *cs_perfdata_counts(im.in);
        summary->images = im.n_images - 1;
        summary->events = cs_perfdata_n_events(im.in);
        snprintf(summary->host, sizeof summary->host, "%s", cs_perfdata_host(im.in));
        if (store)
            rc = merge_all(&im, store, err);
    }
    for (unsigned i = 0; i < im.n_images; i++) {
        struct image *image = &im.images[i];
        for (unsigned k = 0; k < image->n_events * TABLE_KINDS; k++)
            cs_table_close(image->tables[k]);
        for (unsigned k = 0; k < BRANCH_TABLES; k++)
            cs_table_close(image->branches[k]);
        free(image->tables);
        free(image->period_sums);
        free(image->path);
    }
    free(im.images);
    free(im.times);
    free(im.text);
    cs_import_spaces_close(im.spaces);
    cs_perfdata_close(im.in);
    return rc;
}
