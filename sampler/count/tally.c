/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/count/tally.h"

#ifdef __x86_64__
#include "store/base/array.h"
#include "store/kept_code.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_AT_ONCE 8192U

static int room(struct cs_count_tally *t, unsigned image)
{
    if (image < t->n_images)
        return 0;
    if (cs_array_resize(t->count, image + 1) < 0 || cs_array_resize(t->mix, image + 1) < 0)
        return -ENOMEM;
    for (; t->n_images <= image; t->n_images++)
        t->count[t->n_images] = t->mix[t->n_images] = NULL;
    return 0;
}

static int add_block(struct cs_count_tally *t, const struct cs_count_space *s,
                     const struct cs_count_block *block, uint64_t n)
{
    const unsigned i = block->image->index;
    if (room(t, i) < 0 || (!t->count[i] && !(t->count[i] = cs_table_open(&cs_schema_points))) ||
        (!t->mix[i] && !(t->mix[i] = cs_table_open(&cs_schema_points))))
        return -ENOMEM;
    uint64_t offset = block->offset;
    for (unsigned k = 0; k < block->n_insns; k++) {
        const struct cs_count_insn *insn = &s->insn[block->insns_at + k];
        if (cs_table_add(t->count[i], (const uint64_t[]){offset, n}) < 0 ||
            cs_table_add(t->mix[i], (const uint64_t[]){offset, n * insn->mix}) < 0)
            return -ENOMEM;
        offset += insn->length;
    }
    t->summary->instructions += n * block->n_insns;
    t->summary->branches += block->end == CS_COUNT_BRANCH ? n : 0;
    t->summary->calls += block->end == CS_COUNT_CALL ? n : 0;
    block->image->sampled = true;
    return 0;
}

int cs_count_tally_add(struct cs_count_tally *t, struct cs_count_space *s, uint64_t gs, struct cs_error *err)
{
    static uint64_t counter[READ_AT_ONCE];
    for (size_t from = 0; from < s->n_blocks; from += READ_AT_ONCE) {
        const size_t n = s->n_blocks - from < READ_AT_ONCE ? s->n_blocks - from : READ_AT_ONCE;
        if (pread(s->mem, counter, n * sizeof *counter, (off_t)(gs + CS_COUNT_COUNTERS + 8 * from)) !=
            (ssize_t)(n * sizeof *counter))
            return cs_fail(err, EFAULT, "a process ended before its counters were read");
        for (size_t i = 0; i < n; i++)
            if (counter[i] && add_block(t, s, &s->block[from + i], counter[i]) < 0)
                return cs_fail(err, ENOMEM, "out of memory for counts");
    }
    (void)cs_count_slot_clear(s, gs);
    return 0;
}

static int merge(struct cs_store *store, const struct cs_mapped_image *image, const char *event,
                 struct cs_table *table, uint64_t period, struct cs_error *err)
{
    struct cs_store_profile_head head = {.unit = "events", .period_sum = period};
    snprintf(head.event, sizeof head.event, "%s", event);
    return cs_store_merge(store, &image->image, &head, table, err);
}

int cs_count_tally_keep(struct cs_count_tally *t, struct cs_store *store, struct cs_error *err)
{
    assert(t->images);
    int rc = 0;
    cs_store_batch_begin(store);
    for (unsigned i = 0; rc == 0 && i < t->n_images; i++) {
        struct cs_mapped_image *image = cs_images_nth(t->images, i);
        if (!t->count[i])
            continue;
        rc = merge(store, image, CS_COUNT_EVENT, t->count[i], cs_table_sum(t->count[i], 1), err);
        if (rc == 0)
            rc = merge(store, image, CS_COUNT_MIX_EVENT, t->mix[i], 0, err);
        int fd = rc == 0 ? cs_images_take_file(t->images, image) : -1;
        if (fd >= 0) {
            struct cs_error ignored = {0}; /* without a copy reports look for the file */
            (void)cs_kept_code_save(cs_store_path(store), image->image.id, fd, CS_KEPT_CODE_STORE_MAX,
                                    &ignored);
            close(fd);
        }
    }
    cs_store_batch_end(store);
    const struct cs_count_summary *s = t->summary;
    const struct cs_counter counter[] = {{"counted.instructions", s->instructions},
                                         {"counted.calls", s->calls},
                                         {"counted.branches", s->branches},
                                         {"counted.system-calls", s->system_calls}};
    return rc < 0 ? rc : cs_store_count_all(store, counter, 4, err);
}

void cs_count_tally_fini(struct cs_count_tally *t)
{
    for (size_t i = 0; i < t->n_images; i++) {
        if (t->count[i])
            cs_table_close(t->count[i]);
        if (t->mix[i])
            cs_table_close(t->mix[i]);
    }
    free(t->count);
    free(t->mix);
}
#endif
