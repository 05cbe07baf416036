/* SPDX-License-Identifier: GPL-2.0-or-later */
/* csv and json: every row of every profile, with names and lines where it is about code. */
#include "exchange/export/export.h"
#include "store/base/delimited.h"

#include <inttypes.h>
#include <string.h>

static const char *const heads[] = {"image", "path",  "event",     "kind", "offset", "to_image",
                                    "to",    "count", "procedure", "file", "line"};

struct cells {
    char offset[24], to[24], count[24], line[12], procedure[CS_IMAGE_NAME_MAX];
    const char *image, *path, *event, *kind, *to_image, *file;
};

static void name_place(struct cells *c, struct cs_exported_image *image, uint64_t place)
{
    struct cs_image_frame frame;
    cs_export_name(image, place, c->procedure, sizeof c->procedure);
    if (cs_image_frames_at(image->code, place, &frame, 1) == 1) {
        c->file = frame.file;
        snprintf(c->line, sizeof c->line, "%u", frame.line);
    }
}

/* One row of any schema: keys named offset, from or start are the place, to and end its partner, the first
 * sum its count; the other columns are the store's own affair (`store dump`). */
static void fill(struct cells *c, struct cs_exported_image *image, const struct cs_exported_profile *profile,
                 const uint64_t *row)
{
    const struct cs_schema *schema = cs_table_schema(profile->table);
    *c = (struct cells){.image = image->image.id,
                        .path = image->image.path,
                        .event = profile->event,
                        .kind = profile->kind_name,
                        .to_image = "",
                        .file = ""};
    bool counted = false, placed = false;
    uint64_t place = 0;
    for (unsigned i = 0; i < schema->n_columns; i++) {
        const char *name = schema->columns[i].name;
        if (schema->columns[i].kind == CS_KEY_TEXT) {
            c->to_image = cs_table_string(profile->table, row[i]);
        } else if (schema->columns[i].kind == CS_KEY) {
            bool partner = strcmp(name, "to") == 0 || strcmp(name, "end") == 0;
            snprintf(partner ? c->to : c->offset, sizeof c->to, "0x%" PRIx64, row[i]);
            if (!partner && !placed) {
                place = row[i];
                placed = true;
            }
        } else if (!counted) {
            snprintf(c->count, sizeof c->count, "%" PRIu64, row[i]);
            counted = true;
        }
    }
    if (!placed)
        return;
    name_place(c, image, place);
}

/* A row of contexts: the frame, and `to` is the number of the one that called it (store/FORMAT.md). */
static bool fill_context(struct cells *c, struct cs_export *from, const struct cs_exported_profile *profile,
                         const uint64_t *row)
{
    const char *id = cs_table_string(profile->table, row[1]);
    struct cs_exported_image *image = cs_export_image(from, id);
    *c = (struct cells){.image = id,
                        .path = image ? image->image.path : "",
                        .event = profile->event,
                        .kind = profile->kind_name,
                        .to_image = "",
                        .file = ""};
    snprintf(c->to, sizeof c->to, "0x%" PRIx64, row[0]);
    snprintf(c->offset, sizeof c->offset, "0x%" PRIx64, row[2]);
    snprintf(c->count, sizeof c->count, "%" PRIu64, row[3]);
    if (image)
        name_place(c, image, row[2]);
    return !from->filtered || (image && image->wanted);
}

static void print_contexts(struct cs_export *from, FILE *to,
                           void (*print)(FILE *to, const char *const *cells, bool first), bool first)
{
    for (unsigned k = 0; k < from->contexts.n_profiles; k++)
        for (size_t r = 0; r < cs_table_rows(from->contexts.profiles[k].table); r++) {
            const struct cs_exported_profile *p = &from->contexts.profiles[k];
            struct cells c;
            cs_export_row_done(from);
            if (!fill_context(&c, from, p, cs_table_row(p->table, r)))
                continue;
            const char *const all[] = {c.image, c.path,  c.event,     c.kind, c.offset, c.to_image,
                                       c.to,    c.count, c.procedure, c.file, c.line};
            print(to, all, first);
            first = false;
        }
}

static void each_row(struct cs_export *from, FILE *to,
                     void (*print)(FILE *to, const char *const *cells, bool first))
{
    bool first = true;
    for (unsigned i = 0; i < from->n_images; i++)
        for (unsigned k = 0; k < from->images[i].n_profiles; k++)
            for (size_t r = 0; r < cs_table_rows(from->images[i].profiles[k].table); r++) {
                struct cells c;
                cs_export_row_done(from);
                fill(&c, &from->images[i], &from->images[i].profiles[k],
                     cs_table_row(from->images[i].profiles[k].table, r));
                const char *const all[] = {c.image, c.path,  c.event,     c.kind, c.offset, c.to_image,
                                           c.to,    c.count, c.procedure, c.file, c.line};
                print(to, all, first);
                first = false;
            }
    print_contexts(from, to, print, first);
}

static void print_csv(FILE *to, const char *const *cells, bool first)
{
    (void)first;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        cs_csv_name(to, cells[i]);
        fputc(i + 1 < sizeof heads / sizeof *heads ? ',' : '\n', to);
    }
}

static int write_csv(struct cs_export *from, FILE *to, struct cs_error *err)
{
    (void)err;
    print_csv(to, heads, true);
    each_row(from, to, print_csv);
    return 0;
}

static void print_json(FILE *to, const char *const *cells, bool first)
{
    fputs(first ? "\n{" : ",\n{", to);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        bool number = (strcmp(heads[i], "count") == 0 || strcmp(heads[i], "line") == 0) && *cells[i];
        fprintf(to, "%s\"%s\": ", i ? ", " : "", heads[i]);
        if (number)
            fputs(cells[i], to);
        else
            cs_json_string(to, cells[i]);
    }
    fputc('}', to);
}

static int write_json(struct cs_export *from, FILE *to, struct cs_error *err)
{
    (void)err;
    fputs("{\"rows\": [", to);
    each_row(from, to, print_json);
    fputs("\n]}\n", to);
    return 0;
}

const struct cs_exporter cs_export_csv = {"csv", false, write_csv};
const struct cs_exporter cs_export_json = {"json", false, write_json};
