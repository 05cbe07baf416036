/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records are replayed in time order against the address spaces that they build. Samples are summed in tables
 * (imported_images.h) and merged when the file has been read to its end. */
#include "exchange/import/address_spaces.h"
#include "exchange/import/data_source.h"
#include "exchange/import/import.h"
#include "exchange/import/imported_images.h"
#include "exchange/import/kernel_names.h"
#include "exchange/import/recorded_jit.h"
#include "exchange/import/recorded_stacks.h"
#include "store/base/array.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define KERNEL_PID UINT32_MAX
#define PROGRESS_EVERY 65536

enum unknown_cause { UNKNOWN_NO_MAPPING = 1, UNKNOWN_GUEST = 2, UNKNOWN_NO_ADDRESS = 3 };

struct import {
    const char *name;
    struct cs_perfdata *in;
    struct cs_import_spaces *spaces;
    struct cs_imported_images images;
    struct cs_recorded_stacks *stacks;
    struct cs_recorded_jit *jit;
    const struct cs_import_options *options;
    unsigned unknown_image,
        kernel_image; /* the latter: of recordings that don't say where their kernel lies */
    struct cs_import_summary *summary;
    struct cs_import_times *times; /* [event], the longest seen */
    unsigned n_times;
    char *text;          /* a stack being written */
    char host[256];      /* ours */
    int64_t recorded_at; /* when the recording was written last, seconds since 1970; 0 = not known (a pipe) */
    size_t text_room;
};

static int no_memory(const struct import *im, struct cs_error *err)
{
    return cs_fail(err, ENOMEM, "%s: out of memory; nothing was imported", im->name);
}

static uint64_t offset_in(const struct cs_imported_image *image, const struct cs_import_mapping *mapping,
                          uint64_t addr)
{
    if (image->image.kind == CS_IMAGE_KERNEL)
        return addr - image->base;
    uint64_t in_file = addr - mapping->start + mapping->page_offset;
    uint64_t offset = cs_image_vaddr(&image->layout, in_file);
    return offset == UINT64_MAX ? in_file : offset;
}

/* ---- records ---- */

/* Is the file that is at the path now the one that was mapped? A recording without build-ids tells its inode, older ones
 * only the host; in both cases it must not have changed since. */
static bool same_file(const struct import *im, const struct cs_perfdata_record *r)
{
    struct stat st;
    if (im->options->trust_paths)
        return stat(r->name, &st) == 0 && S_ISREG(st.st_mode);
    if (r->name[0] != '/' || stat(r->name, &st) < 0 || !S_ISREG(st.st_mode) ||
        (im->recorded_at && st.st_mtime > im->recorded_at))
        return false;
    if (r->inode)
        return st.st_ino == r->inode && major(st.st_dev) == r->device_major &&
               minor(st.st_dev) == r->device_minor;
    return *im->host && strcmp(cs_perfdata_host(im->in), im->host) == 0;
}

/* The recorded machine's file beneath the folder that stands for its root; false: it has none there. */
static bool beneath(const struct import *im, const char *path, char *found, size_t size)
{
    struct stat st;
    return im->options->symfs && path[0] == '/' &&
           (size_t)snprintf(found, size, "%s%s", im->options->symfs, path) < size && stat(found, &st) == 0 &&
           S_ISREG(st.st_mode);
}

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
        id_bytes = cs_perfdata_build_id(
            im->in, strncmp(path, "[kernel.kallsyms]", 17) == 0 ? "[kernel.kallsyms]" : path, id);
    cs_image_build_id_text(id, id_bytes, build_id);
    enum cs_store_image_kind kind = cs_imported_kind(path, kernel);
    char below[4200];
    const bool moved = kind == CS_IMAGE_ELF && beneath(im, path, below, sizeof below);
    cs_recorded_jit_mapped(im->jit, r->pid, path);
    struct cs_import_mapping mapping = {r->start, r->start + r->length, r->page_offset, 0};
    int rc = cs_imported_images_add(&im->images,
                                    kind == CS_IMAGE_KERNEL ? "[kernel]"
                                    : moved                 ? below
                                                            : path,
                                    kind, build_id,
                                    kind == CS_IMAGE_ELF && !*build_id && (moved || same_file(im, r)),
                                    r->page_offset ? r->page_offset : r->start, &mapping.image);
    if (rc < 0 || cs_import_spaces_map(im->spaces, kernel ? KERNEL_PID : r->pid, &mapping) < 0)
        return no_memory(im, err);
    return 0;
}

struct place {
    unsigned image;
    uint64_t offset;
    bool known;
};

static uint64_t monotonic_time(const struct import *im, const struct cs_perfdata_record *r)
{
    const struct cs_perfdata_attr *event = cs_perfdata_event(im->in, r->event);
    return event && event->flags & CS_PERFDATA_CLOCK && event->clock == CLOCK_MONOTONIC ? r->time_ns
                                                                                        : UINT64_MAX;
}

static struct place place_of(const struct import *im, const struct cs_perfdata_record *r,
                             enum cs_perfdata_mode mode, uint64_t addr)
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
        cs_import_spaces_find(im->spaces, mode == CS_PERFDATA_MODE_KERNEL ? KERNEL_PID : r->pid, addr);
    if (!m && mode == CS_PERFDATA_MODE_UNKNOWN)
        m = cs_import_spaces_find(im->spaces, KERNEL_PID, addr);
    if (!m && (int64_t)addr < 0 && mode != CS_PERFDATA_MODE_USER)
        return (struct place){im->kernel_image, addr, true};
    if (!m)
        return unknown;
    const struct cs_imported_image *image = &im->images.at[m->image];
    struct place found = {m->image, offset_in(image, m, addr), true};
    if (image->image.kind == CS_IMAGE_JIT)
        found.offset = cs_recorded_jit_offset(im->jit, image, r->pid,
                                              *im->host && strcmp(cs_perfdata_host(im->in), im->host) == 0,
                                              monotonic_time(im, r), addr, found.offset);
    return found;
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
        if (cs_array_reserve_in(im->text, used + CS_IMAGE_ID_MAX + 32, im->text_room) < 0)
            return no_memory(im, err);
        struct place place = place_of(im, r, mode, addr);
        /* An image that is only called from needs to be in the store, too, to be named by. */
        if (!cs_imported_table(&im->images.at[place.image], r->event, cs_perfdata_n_events(im->in),
                               CS_IMPORT_POINTS))
            return no_memory(im, err);
        used += (size_t)sprintf(im->text + used, "%s%s+%" PRIx64, used ? ";" : "",
                                im->images.at[place.image].image.id, place.offset);
    }
    struct cs_table *table = used ? cs_imported_table(&im->images.at[leaf->image], r->event,
                                                      cs_perfdata_n_events(im->in), CS_IMPORT_STACKS)
                                  : NULL;
    if (!used)
        return 0;
    int64_t text = table ? cs_table_text(table, im->text) : -1;
    if (text < 0 || cs_table_add(table, (uint64_t[]){(uint64_t)text, 1}) < 0)
        return no_memory(im, err);
    im->summary->stacks++;
    return 0;
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
        struct place from = place_of(im, r, from_mode, b->from), to = place_of(im, r, to_mode, b->to);
        im->summary->branches++;
        if (!from.known || !cs_imported_branches(&im->images.at[to.image], CS_IMPORT_EDGES))
            continue;
        bool first;
        uint64_t n = times_in_stack(r, i, &first);
        struct cs_table *edges = cs_imported_branches(&im->images.at[from.image], CS_IMPORT_EDGES);
        int64_t text =
            edges ? cs_table_text(edges, to.image == from.image ? "" : im->images.at[to.image].image.id) : -1;
        if (text < 0 || (first && cs_table_add(edges, (uint64_t[]){from.offset, (uint64_t)text, to.offset, n,
                                                                   1, n * n}) < 0))
            return no_memory(im, err);
        if (b->flags & 1) {
            struct cs_table *table = cs_imported_branches(&im->images.at[from.image], CS_IMPORT_MISPREDICTS);
            if (!table || cs_table_add(table, (uint64_t[]){from.offset, 1}) < 0)
                return no_memory(im, err);
        }
        if (i == 0)
            continue;
        /* Newest first: after branch i the program ran straight from its target to the branch i - 1. */
        struct place end = place_of(im, r, to_mode, r->branches[i - 1].from);
        if (!to.known || !end.known || end.image != to.image || end.offset < to.offset ||
            end.offset - to.offset > STRAIGHT_RUN_MAX) {
            im->summary->branches_dropped += to.known && end.known && end.image == to.image;
            continue;
        }
        struct cs_table *ranges = cs_imported_branches(&im->images.at[to.image], CS_IMPORT_RANGES);
        if (!ranges || cs_table_add(ranges, (uint64_t[]){to.offset, end.offset, 1}) < 0)
            return no_memory(im, err);
    }
    return 0;
}

/* What the processor told of the access that this sample is of. */
static int take_access(struct import *im, const struct cs_perfdata_record *r, const struct place *place,
                       struct cs_error *err)
{
    struct cs_table *table = cs_imported_table(&im->images.at[place->image], r->event,
                                               cs_perfdata_n_events(im->in), CS_IMPORT_ACCESSES);
    int64_t op = table ? cs_table_text(table, cs_data_source_op(r->data_source)) : -1,
            level = table ? cs_table_text(table, cs_data_source_level(r->data_source)) : -1;
    const uint64_t row[CS_ACCESS_N] = {[CS_ACCESS_OFFSET] = place->offset,
                                       [CS_ACCESS_OP] = (uint64_t)op,
                                       [CS_ACCESS_LEVEL] = (uint64_t)level,
                                       [CS_ACCESS_SAMPLES] = 1,
                                       [CS_ACCESS_TIMED] = r->weight > 0,
                                       [CS_ACCESS_CYCLES] = r->weight,
                                       [CS_ACCESS_TLB_MISSES] = cs_data_source_missed_tlb(r->data_source),
                                       [CS_ACCESS_CYCLES_MAX] = r->weight};
    if (op < 0 || level < 0 || cs_table_add(table, row) < 0)
        return no_memory(im, err);
    im->summary->accesses++;
    return 0;
}

static int take_sample(struct import *im, const struct cs_perfdata_record *r, struct cs_error *err)
{
    struct place place = place_of(im, r, r->mode, r->ip);
    struct cs_table *points = cs_imported_table(&im->images.at[place.image], r->event,
                                                cs_perfdata_n_events(im->in), CS_IMPORT_POINTS);
    if (!points || cs_table_add(points, (uint64_t[]){place.offset, 1}) < 0)
        return no_memory(im, err);
    uint64_t *sum = &im->images.at[place.image].period_sums[r->event];
    *sum = *sum + r->period < *sum ? UINT64_MAX : *sum + r->period;
    if (place.known)
        im->summary->stored++;
    else
        im->summary->unknown++;
    if (r->enabled_ns && r->event >= im->n_times) {
        unsigned n = cs_perfdata_n_events(im->in);
        if (cs_array_resize(im->times, n) < 0)
            return no_memory(im, err);
        memset(&im->times[im->n_times], 0, (n - im->n_times) * sizeof *im->times);
        im->n_times = n;
    }
    if (r->event < im->n_times && r->enabled_ns > im->times[r->event].enabled_ns) {
        im->times[r->event].enabled_ns = r->enabled_ns;
        im->times[r->event].running_ns = r->running_ns;
    }
    struct cs_perfdata_record whole = *r;
    if (r->stack && r->registers) {
        whole.n_chain = cs_recorded_stacks_chain(im->stacks, r, cs_perfdata_arch(im->in), &whole.chain);
        im->summary->unwound += whole.n_chain > 0;
    }
    int rc = whole.n_chain ? take_chain(im, &whole, &place, err) : 0;
    if (rc == 0 && place.known && (r->weight || cs_data_source_tells(r->data_source)))
        rc = take_access(im, r, &place, err);
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

/* A string of the file's without what could end a JSON string. */
static void plain_words(const char *from, char *to, size_t capacity)
{
    size_t n = 0;
    for (; *from && n + 1 < capacity; from++)
        to[n++] = (unsigned char)*from < 0x20 || *from == '\\' || *from == '"' ? '?' : *from;
    to[n] = '\0';
}

static int merge_all(struct import *im, struct cs_store *store, struct cs_error *err)
{
    char meta[1024], host[256], arch[64], cpu[128], cpuid[64], release[128];
    plain_words(cs_perfdata_host(im->in), host, sizeof host);
    plain_words(cs_perfdata_arch(im->in), arch, sizeof arch);
    plain_words(cs_perfdata_cpu(im->in), cpu, sizeof cpu);
    plain_words(cs_perfdata_cpuid(im->in), cpuid, sizeof cpuid);
    plain_words(cs_perfdata_release(im->in), release, sizeof release);
    snprintf(meta, sizeof meta,
             "{\"writer\": \"import\", \"imported\": \"perf.data\", \"host\": \"%s\", \"arch\": \"%s\", "
             "\"release\": \"%s\", \"cpu\": \"%s\", \"cpuid\": \"%s\"}",
             host, arch, release, cpu, cpuid);
    int rc = cs_store_epoch(store, meta, err);
    for (unsigned i = 0; rc == 0 && i < im->images.n; i++)
        rc = cs_imported_image_merge(&im->images.at[i], im->in, im->times, im->n_times, store, err);
    for (unsigned i = 0; rc == 0 && i < im->images.n; i++) {
        struct cs_store_image jit = im->images.at[i].image;
        jit.path = im->images.at[i].path;
        jit.build_id = "";
        struct cs_table *names =
            jit.kind == CS_IMAGE_JIT ? cs_recorded_jit_names(im->jit, &im->images.at[i]) : NULL;
        rc = names ? cs_store_merge_names(store, &jit, names, err) : 0;
    }
    if (rc == 0)
        rc = cs_import_name_kernel(&im->images, im->in, store, err);
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

int cs_import_perfdata(FILE *file, const char *name, const struct cs_import_options *options,
                       struct cs_store *store, struct cs_import_summary *summary, struct cs_error *err)
{
    assert(file && summary);
    struct import im = {
        .name = name, .options = options, .summary = summary, .spaces = cs_import_spaces_open()};
    struct cs_perfdata_record record;
    struct stat st;
    memset(summary, 0, sizeof *summary);
    gethostname(im.host, sizeof im.host - 1);
    if (fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode))
        im.recorded_at = st.st_mtime;
    im.stacks = im.spaces ? cs_recorded_stacks_open(im.spaces, &im.images) : NULL;
    im.jit = cs_recorded_jit_open(options->beside);
    int rc = im.stacks && im.jit ? cs_perfdata_open(file, name, &im.in, err) : no_memory(&im, err);
    if (rc == 0)
        rc = cs_imported_images_add(&im.images, "[unknown]", CS_IMAGE_UNKNOWN, "", false, 0,
                                    &im.unknown_image) < 0 ||
                     cs_imported_images_add(&im.images, "[kernel]", CS_IMAGE_KERNEL, "", true, 0,
                                            &im.kernel_image) < 0
                 ? no_memory(&im, err)
                 : 0;
    while (rc == 0) {
        int got = cs_perfdata_next(im.in, &record, err);
        if (got <= 0) {
            rc = got;
            break;
        }
        rc = take(&im, &record, err);
        if (options->progress && cs_perfdata_counts(im.in)->records % PROGRESS_EVERY == 0)
            options->progress(cs_perfdata_counts(im.in)->records, options->arg);
    }
    if (rc == 0) {
        summary->read = *cs_perfdata_counts(im.in);
        summary->images = im.images.n - 2;
        summary->events = cs_perfdata_n_events(im.in);
        summary->complete = cs_recorded_stacks_ended(im.stacks, CS_UNWIND_END_COMPLETE);
        snprintf(summary->host, sizeof summary->host, "%s", cs_perfdata_host(im.in));
        if (store)
            rc = merge_all(&im, store, err);
    }
    cs_recorded_jit_close(im.jit);
    cs_recorded_stacks_close(im.stacks);
    cs_imported_images_fini(&im.images);
    free(im.times);
    free(im.text);
    cs_import_spaces_close(im.spaces);
    cs_perfdata_close(im.in);
    return rc;
}
