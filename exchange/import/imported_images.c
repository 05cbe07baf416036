/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table an (image, event, kind). */
#include "exchange/import/imported_images.h"
#include "store/base/array.h"
#include "store/base/regular_file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Program headers of the executable, where it is here and is the one that ran: they turn file offsets into
 * ELF virtual addresses. A file without a build-id gets an id by what it holds, as the sampler gives it. */
static void find_segments(struct cs_imported_image *image)
{
    int fd = cs_open_regular(NULL, image->path, INT64_MAX, NULL);
    bool read = fd >= 0 && cs_image_segments_of_file(&image->layout, fd) == 0 && image->layout.is_elf;
    if (read && image->same_file && !*image->build_id)
        memcpy(image->build_id, image->layout.build_id, sizeof image->build_id);
    if (!read || strcmp(image->layout.build_id, image->build_id) != 0)
        image->layout = (struct cs_image_segments){.is_elf = false};
    else if (!*image->build_id)
        cs_image_identity_of_file(fd, image->image.id);
    if (fd >= 0)
        close(fd);
}

enum cs_store_image_kind cs_imported_kind(const char *path, bool kernel)
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

int cs_imported_images_add(struct cs_imported_images *images, const char *path, enum cs_store_image_kind kind,
                           const char *build_id, bool same_file, uint64_t base, unsigned *index)
{
    for (unsigned i = 0; i < images->n; i++)
        if (strcmp(images->at[i].path, path) == 0 && strcmp(images->at[i].told, build_id) == 0 &&
            images->at[i].asked == kind && images->at[i].same_file == same_file) {
            *index = i;
            return 0;
        }
    if (cs_array_room(images->at, images->n, images->capacity) < 0)
        return -ENOMEM;
    struct cs_imported_image *image = &images->at[images->n];
    memset(image, 0, sizeof *image);
    image->path = strdup(path);
    if (!image->path)
        return -ENOMEM;
    snprintf(image->told, sizeof image->told, "%s", build_id);
    snprintf(image->build_id, sizeof image->build_id, "%s", build_id);
    image->same_file = same_file;
    image->base = base;
    image->image.kind = image->asked = kind;
    if (kind == CS_IMAGE_ELF && (*build_id || same_file))
        find_segments(image);
    if (kind == CS_IMAGE_ELF && !image->layout.is_elf)
        image->image.kind = kind = CS_IMAGE_FILE;
    if (*image->build_id)
        snprintf(image->image.id, sizeof image->image.id, "%s%s", kind == CS_IMAGE_FILE ? "f" : "",
                 image->build_id);
    else if (!*image->image.id)
        snprintf(image->image.id, sizeof image->image.id, "x%016" PRIx64,
                 XXH3_64bits_withSeed(path, strlen(path), (XXH64_hash_t)kind));
    *index = images->n++;
    return 0;
}

struct cs_table *cs_imported_table(struct cs_imported_image *image, unsigned event, unsigned n,
                                   enum cs_import_table kind)
{
    assert(event < n);
    static const struct cs_schema *const schemas[] = {&cs_schema_points, &cs_schema_stacks,
                                                      &cs_schema_accesses};
    if (event >= image->n_events) {
        if (cs_array_resize(image->tables, (size_t)n * CS_IMPORT_TABLES) < 0 ||
            cs_array_resize(image->period_sums, n) < 0)
            return NULL;
        for (unsigned i = image->n_events * CS_IMPORT_TABLES; i < n * CS_IMPORT_TABLES; i++)
            image->tables[i] = NULL;
        for (unsigned i = image->n_events; i < n; i++)
            image->period_sums[i] = 0;
        image->n_events = n;
    }
    struct cs_table **table = &image->tables[event * CS_IMPORT_TABLES + kind];
    if (!*table)
        *table = cs_table_open(schemas[kind]);
    return *table;
}

struct cs_table *cs_imported_branches(struct cs_imported_image *image, enum cs_import_branches which)
{
    assert(which < CS_IMPORT_BRANCH_TABLES);
    static const struct cs_schema *const schemas[] = {&cs_schema_edges, &cs_schema_ranges, &cs_schema_points};
    struct cs_table **table = &image->branches[which];
    if (!*table)
        *table = cs_table_open(schemas[which]);
    return *table;
}

static void unit_of(const char *event, char unit[16])
{
    const char *name = begins(event, "cpu-clock") || begins(event, "task-clock") ? "ns"
                       : begins(event, "cycles") || begins(event, "cpu-cycles") || strstr(event, "/cycles/")
                           ? "cycles"
                           : "events";
    snprintf(unit, 16, "%s", name);
}

int cs_imported_image_merge(const struct cs_imported_image *image, const struct cs_perfdata *in,
                            const struct cs_import_times *times, unsigned n_times, struct cs_store *store,
                            struct cs_error *err)
{
    struct cs_store_image as_stored = image->image;
    as_stored.path = image->path;
    as_stored.build_id = image->build_id;
    int rc = 0;
    for (unsigned event = 0; rc == 0 && event < image->n_events; event++)
        for (unsigned kind = 0; rc == 0 && kind < CS_IMPORT_TABLES; kind++) {
            struct cs_table *table = image->tables[event * CS_IMPORT_TABLES + kind];
            if (!table)
                continue;
            struct cs_store_profile_head head = {
                .period_sum = kind == CS_IMPORT_ACCESSES ? 0 : image->period_sums[event]};
            const char *name = cs_perfdata_event(in, event)->name;
            snprintf(head.event, sizeof head.event, "%.*s%s", (int)sizeof head.event - 8, name,
                     kind == CS_IMPORT_STACKS ? "-stacks" : "");
            unit_of(name, head.unit);
            if (event < n_times) {
                head.enabled_ns = times[event].enabled_ns;
                head.running_ns = times[event].running_ns;
            }
            rc = cs_store_merge(store, &as_stored, &head, table, err);
        }
    static const char *const names[] = {"lbr-edges", "lbr-ranges", "lbr-mispredicts"};
    for (unsigned which = 0; rc == 0 && which < CS_IMPORT_BRANCH_TABLES; which++) {
        struct cs_store_profile_head head = {.unit = "events"};
        snprintf(head.event, sizeof head.event, "%s", names[which]);
        if (image->branches[which])
            rc = cs_store_merge(store, &as_stored, &head, image->branches[which], err);
    }
    return rc;
}

void cs_imported_images_fini(struct cs_imported_images *images)
{
    for (unsigned i = 0; i < images->n; i++) {
        struct cs_imported_image *image = &images->at[i];
        for (unsigned k = 0; k < image->n_events * CS_IMPORT_TABLES; k++)
            cs_table_close(image->tables[k]);
        for (unsigned k = 0; k < CS_IMPORT_BRANCH_TABLES; k++)
            cs_table_close(image->branches[k]);
        free(image->tables);
        free(image->period_sums);
        free(image->path);
    }
    free(images->at);
}
