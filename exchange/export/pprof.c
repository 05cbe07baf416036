/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pprof: gzip'd profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto), one sample
 * type an event. Locations carry the ELF virtual address: a mapping from offset 0 with the image's build-id.
 * The wire format is four shapes of field, so it is written directly, message by message, without a schema
 * compiler. */
#include "exchange/export/export.h"
#include "store/bytes.h"
#include "store/text.h"
#include "store/wait_schemas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PART_BYTES (1u << 20) /* packed and written when so much is there */
#define FRAMES_MAX 1024
#define INLINE_MAX 16
#define OFF_CPU "off-cpu" /* as other writers of the format call it */

/* ---- wire ---- */

static void put_number(struct cs_bytes *w, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    cs_bytes_put_varint(w, field << 3);
    cs_bytes_put_varint(w, value);
}

static void put_bytes(struct cs_bytes *w, unsigned field, const void *bytes, size_t n)
{
    cs_bytes_put_varint(w, field << 3 | 2);
    cs_bytes_put_varint(w, n);
    cs_bytes_put_raw(w, bytes, n);
}

/* Takes a finished message in and empties it for the next. */
static void put_message(struct cs_bytes *w, unsigned field, struct cs_bytes *message)
{
    put_bytes(w, field, message->start ? message->start : (uint8_t *)"", message->used);
    w->failed |= message->failed;
    message->used = 0;
}

/* ---- numbering: key → 1, 2, 3 ... by a table whose only row per key holds the number ---- */

static const struct cs_schema schema_strings = {"strings", 2, 1, {{"text", CS_KEY_TEXT}, {"n", CS_SUM}}};

struct slot {
    uint64_t image, offset, id; /* id 0: free */
};

struct pprof {
    struct cs_export *from;
    FILE *to;
    z_stream z;
    struct cs_bytes out, message, line, value;
    struct cs_table *strings;
    int64_t n_strings;
    struct cs_export_events events;
    struct slot *slots; /* locations by (image, offset), open addressing */
    size_t n_slots, capacity;
    struct cs_table *functions; /* dictionary numbers functions by "name\nfile" */
    int64_t n_functions;
};

static int64_t string(struct pprof *p, const char *text)
{
    int64_t index = cs_table_text(p->strings, text);
    if (index < 0)
        p->out.failed = true;
    else if (index >= p->n_strings)
        p->n_strings = index + 1;
    return index < 0 ? 0 : index;
}

static uint64_t function(struct pprof *p, const char *linkage, const char *file)
{
    char key[1536], name[1024];
    cs_image_demangle(linkage, name, sizeof name);
    snprintf(key, sizeof key, "%s\n%s", linkage, file);
    int64_t index = cs_table_text(p->functions, key);
    if (index < 0) {
        p->out.failed = true;
        return 0;
    }
    if (index >= p->n_functions) {
        p->n_functions = index + 1;
        put_number(&p->value, 1, (uint64_t)index + 1);
        put_number(&p->value, 2, (uint64_t)string(p, name));
        put_number(&p->value, 3, (uint64_t)string(p, linkage));
        put_number(&p->value, 4, (uint64_t)string(p, file));
        put_message(&p->out, 5, &p->value);
    }
    return (uint64_t)index + 1;
}

static struct slot *slot_of(struct slot *slots, size_t capacity, uint64_t image, uint64_t offset)
{
    size_t i = (size_t)((offset * 0x9e3779b97f4a7c15ull) ^ (image * 0xc2b2ae3d27d4eb4full)) & (capacity - 1);
    while (slots[i].id && (slots[i].image != image || slots[i].offset != offset))
        i = (i + 1) & (capacity - 1);
    return &slots[i];
}

static uint64_t location(struct pprof *p, const struct cs_export_frame *frame)
{
    uint64_t image = frame->image ? (uint64_t)(frame->image - p->from->images) + 1 : 0;
    if (2 * (p->n_slots + 1) > p->capacity) {
        size_t capacity = p->capacity ? 2 * p->capacity : 1024;
        struct slot *grown = calloc(capacity, sizeof *grown);
        if (!grown) {
            p->out.failed = true;
            return 1;
        }
        for (size_t i = 0; i < p->capacity; i++)
            if (p->slots[i].id)
                *slot_of(grown, capacity, p->slots[i].image, p->slots[i].offset) = p->slots[i];
        free(p->slots);
        p->slots = grown;
        p->capacity = capacity;
    }
    struct slot *slot = slot_of(p->slots, p->capacity, image, frame->offset);
    if (slot->id)
        return slot->id;
    *slot = (struct slot){image, frame->offset, ++p->n_slots};
    uint64_t id = slot->id;

    struct cs_image_frame frames[INLINE_MAX];
    unsigned n = frame->image ? cs_image_frames_at(frame->image->code, frame->offset, frames, INLINE_MAX) : 0;
    const struct cs_image_procedure *procedure =
        frame->image ? cs_image_procedure_at(frame->image->code, frame->offset) : NULL;
    struct cs_bytes message = {0};
    put_number(&message, 1, id);
    put_number(&message, 2, image);
    put_number(&message, 3, frame->offset);
    for (unsigned i = 0; i < (n ? n : 1); i++) {
        /* The outermost is the procedure as every report names it (f.constprop.0), what is inlined by its source's name. */
        const char *name = n && *frames[i].function ? frames[i].function : NULL;
        if (i + 1 >= n && procedure)
            name = procedure->name;
        if (!name)
            continue;
        put_number(&p->line, 1, function(p, name, n ? frames[i].file : ""));
        put_number(&p->line, 2, n ? frames[i].line : 0);
        put_message(&message, 4, &p->line);
    }
    put_message(&p->out, 4, &message);
    cs_bytes_fini(&message);
    return id;
}

/* Packs what is there; Z_FINISH: and ends. Fields may come in any order, so nothing waits for the rest. */
static void pack(struct pprof *p, int how)
{
    uint8_t chunk[65536];
    p->z.next_in = p->out.start;
    p->z.avail_in = (uInt)p->out.used;
    do {
        p->z.next_out = chunk;
        p->z.avail_out = sizeof chunk;
        (void)deflate(&p->z, how);
        fwrite(chunk, 1, sizeof chunk - p->z.avail_out, p->to);
    } while (p->z.avail_out == 0);
    p->out.used = 0;
}

static int add_sample(const char *event, const struct cs_export_frame *frames, size_t n, uint64_t samples,
                      void *arg)
{
    struct pprof *p = arg;
    struct cs_bytes ids = {0}, values = {0};
    for (size_t i = 0; i < n; i++)
        cs_bytes_put_varint(&ids, location(p, &frames[i]));
    for (unsigned i = 0; i < p->events.n; i++)
        cs_bytes_put_varint(&values, strcmp(p->events.names[i], event) == 0 ? samples : 0);
    put_message(&p->message, 1, &ids); /* packed repeated numbers have a message's shape */
    put_message(&p->message, 2, &values);
    put_message(&p->out, 2, &p->message);
    cs_bytes_fini(&ids);
    cs_bytes_fini(&values);
    if (p->out.failed)
        return -ENOMEM;
    if (p->out.used >= PART_BYTES)
        pack(p, Z_NO_FLUSH);
    return 0;
}

/* period_type, period and when: of the event with most samples. */
static void put_times(struct pprof *p)
{
    const char *event = p->events.names[0], *unit = "events";
    double periods = 0, samples = 0;
    for (unsigned i = 0; i < p->from->n_images; i++)
        for (unsigned k = 0; k < p->from->images[i].n_profiles; k++) {
            const struct cs_exported_profile *one = &p->from->images[i].profiles[k];
            if (strcmp(one->event, event) != 0 || strcmp(one->kind, "points") != 0)
                continue;
            periods += (double)one->period_sum;
            samples += (double)cs_table_sum(one->table, 1);
            unit = strcmp(one->unit, "ns") == 0 ? "nanoseconds" : *one->unit ? one->unit : unit;
        }
    if (p->from->began > 0)
        put_number(&p->out, 9, (uint64_t)p->from->began * 1000000000);
    put_number(&p->out, 10, p->from->duration_ns);
    if (!(samples > 0 && periods > 0))
        return;
    put_number(&p->value, 1, (uint64_t)string(p, strcmp(unit, "nanoseconds") == 0 ? "cpu" : event));
    put_number(&p->value, 2, (uint64_t)string(p, unit));
    put_message(&p->out, 11, &p->value);
    put_number(&p->out, 12, (uint64_t)(periods / samples + 0.5));
}

static int write_pprof(struct cs_export *from, FILE *to, struct cs_error *err)
{
    struct pprof p = {.from = from,
                      .to = to,
                      .strings = cs_table_open(&schema_strings),
                      .functions = cs_table_open(&schema_strings)};
    if (deflateInit2(&p.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        cs_table_close(p.strings);
        cs_table_close(p.functions);
        return cs_fail(err, ENOMEM, "out of memory for the pprof profile");
    }
    int rc = p.strings && p.functions ? 0 : -ENOMEM;
    if (rc == 0) {
        string(&p, ""); /* the format wants it first */
        rc = cs_export_events(from, &p.events);
    }
    for (unsigned i = 0; rc == 0 && i < p.events.n; i++) {
        bool waits = strcmp(p.events.names[i], CS_WAITS_EVENT) == 0,
             ns = cs_export_is_off_cpu(p.events.names[i]);
        put_number(&p.value, 1, (uint64_t)string(&p, waits ? OFF_CPU : p.events.names[i]));
        put_number(&p.value, 2, (uint64_t)string(&p, ns ? "nanoseconds" : "count"));
        put_message(&p.out, 1, &p.value);
    }
    for (unsigned i = 0; rc == 0 && i < from->n_images; i++) {
        const struct cs_store_image *image = &from->images[i].image;
        put_number(&p.message, 1, i + 1u);
        put_number(&p.message, 3, image->kind == CS_IMAGE_KERNEL ? INT64_MAX : UINT64_C(1) << 62);
        put_number(&p.message, 5, (uint64_t)string(&p, image->path));
        put_number(&p.message, 6, (uint64_t)string(&p, image->build_id));
        put_number(&p.message, 7, 1); /* has_functions: nobody need symbolise again */
        put_message(&p.out, 3, &p.message);
    }
    if (rc == 0)
        rc = cs_export_each_stack(from, add_sample, &p);
    if (rc == 0 && p.events.n)
        put_times(&p);
    if (rc == 0 && p.events.n) /* default_sample_type: readers take the last one without it */
        put_number(&p.out, 14,
                   (uint64_t)string(&p, strcmp(p.events.names[0], CS_WAITS_EVENT) == 0 ? OFF_CPU
                                                                                       : p.events.names[0]));
    for (int64_t i = 0; rc == 0 && i < p.n_strings; i++) {
        char *text = cs_text_valid(cs_table_string(p.strings, (uint64_t)i)); /* readers refuse a file else */
        if (text)
            put_bytes(&p.out, 6, text, strlen(text));
        else
            rc = -ENOMEM;
        free(text);
    }
    if (rc == 0 && p.out.failed)
        rc = -ENOMEM;
    if (rc < 0)
        cs_fail(err, -rc, "out of memory while building the pprof profile");
    else
        pack(&p, Z_FINISH);
    deflateEnd(&p.z);
    cs_table_close(p.strings);
    cs_table_close(p.functions);
    free(p.slots);
    cs_bytes_fini(&p.out);
    cs_bytes_fini(&p.message);
    cs_bytes_fini(&p.line);
    cs_bytes_fini(&p.value);
    return rc;
}

extern const struct cs_exporter cs_export_pprof;
const struct cs_exporter cs_export_pprof = {"pprof", "gzip'd profile.proto, with lines and inlined frames",
                                            true, write_pprof};
