/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/html/page_images.h"

#include <assert.h>

static void close_one(struct page_image *one)
{
    analysed_image_close(&one->analysed);
    cs_scheduler_close(one->scheduler);
    cs_culprit_evidence_close(one->evidence);
    if (one->code)
        cs_image_close(one->code);
    *one = (struct page_image){0};
}

struct page_image *page_images_open(struct page_images *images, const struct parsed *args, struct profile *p,
                                    const struct profile_image *image, const struct cs_edge_flow *flow)
{
    assert(images->n <= PAGE_IMAGES_MAX);
    struct cs_error ignored = {0};
    for (unsigned i = 0; i < images->n; i++)
        if (images->at[i].image == image)
            return &images->at[i];
    if (images->n == PAGE_IMAGES_MAX)
        close_one(&images->at[--images->n]);
    struct page_image *one = &images->at[images->n++];
    *one = (struct page_image){.image = image};
    one->code = profile_code(p, image);
    if (!one->code)
        return one;
    enum cs_isa isa = cs_image_isa(one->code);
    if (!flow || isa == CS_ISA_NONE)
        return one;
    if (cs_culprit_evidence_open(p->store, flow, image->image.id, NULL, &one->evidence, &ignored) != 0) {
        one->evidence = NULL;
    } else if (cs_culprit_values(p->store, &one->evidence->values, &ignored) != 0 ||
               calc_scheduler(args, isa, &one->evidence->machine, image->image.id, &one->scheduler,
                              &ignored) != 0) {
        cs_scheduler_close(one->scheduler);
        cs_culprit_evidence_close(one->evidence);
        one->scheduler = NULL;
        one->evidence = NULL;
    } else if (one != images->at && images->at[0].scheduler) {
        cs_scheduler_join(one->scheduler, images->at[0].scheduler);
    }
    if (one->evidence && !images->experiments)
        images->experiments =
            calc_experiments(args, isa, &one->evidence->machine, one->evidence->machine_recorded);
    if (one->evidence)
        one->evidence->experiments = images->experiments;
    return one;
}

struct analysed_image *page_image_analysed(struct page_image *one, struct profile *p,
                                           const struct cs_edge_flow *flow)
{
    struct cs_error ignored = {0};
    if (!one->analysed.code && one->code)
        (void)analysed_image_open(&one->analysed, p, one->image, flow, &ignored);
    return one->analysed.code ? &one->analysed : NULL;
}

bool page_row_explained(const struct profile_row *row)
{
    return row->name &&
           (row->image->image.kind == CS_IMAGE_JIT ? row->readable : row->image->image.kind == CS_IMAGE_ELF);
}

void page_images_ahead(struct page_images *images, const struct parsed *args, struct profile *p,
                       const struct profile_rows *rows, unsigned n, const struct cs_edge_flow *flow)
{
    struct cs_error ignored = {0};
    for (size_t i = 0; i < rows->n && n > 0; i++) {
        const struct profile_row *row = &rows->row[i];
        if (!page_row_explained(row))
            continue;
        struct page_image *one = page_images_open(images, args, p, row->image, flow);
        const struct cs_image_procedure *procedure =
            one->evidence ? cs_image_procedure_at(one->code, row->start) : NULL;
        if (procedure)
            (void)cs_cycle_account_begin(one->code, procedure, one->evidence, one->scheduler, NULL, &ignored);
        n -= one->code != NULL;
    }
    for (unsigned i = 0; i < images->n; i++)
        if (images->at[i].scheduler)
            cs_scheduler_ahead_run(images->at[i].scheduler);
}

void page_images_close(struct page_images *images)
{
    while (images->n)
        close_one(&images->at[--images->n]);
    cs_experiments_close(images->experiments);
    images->experiments = NULL;
}
