/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pprof: gzip'd profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto), one sample
 * type an event. Locations carry the ELF virtual address: a mapping from offset 0 with the image's build-id.
 */
#include "exchange/export/places.h"
#include "exchange/export/protobuf.h"
#include "store/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PART_BYTES (1u << 20) /* packed and written when so much is there */

/* ---- numbering: key → 1, 2, 3 ... by a table whose only row per key holds the number ---- */

static const struct cs_schema schema_strings = {"strings", 2, 1, {{"text", CS_KEY_TEXT}, {"n", CS_SUM}}};

struct pprof {
    struct cs_export *from;
    FILE *to;
    z_stream z;
    struct cs_bytes out, message, line, value;
    struct cs_table *strings;
    int64_t n_strings;
    struct cs_export_events events;
    struct cs_place_numbers locations;
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
        cs_proto_number(&p->value, 1, (uint64_t)index + 1);
        cs_proto_number(&p->value, 2, (uint64_t)string(p, name));
        cs_proto_number(&p->value, 3, (uint64_t)string(p, linkage));
        cs_proto_number(&p->value, 4, (uint64_t)string(p, file));
        cs_proto_message(&p->out, 5, &p->value);
    }
    return (uint64_t)index + 1;
}

static uint64_t location(struct pprof *p, const struct cs_export_frame *frame)
{
    const uint64_t image = frame->image ? (uint64_t)(frame->image - p->from->images) + 1 : 0;
    bool fresh;
    const uint64_t id = cs_place_number(&p->locations, image, frame->offset, &fresh);
    p->out.failed |= id == 0;
    if (!fresh)
        return id;
    struct cs_place_line lines[CS_PLACE_LINES_MAX];
    const unsigned n = cs_place_lines(frame, lines);
    struct cs_bytes message = {0};
    cs_proto_number(&message, 1, id);
    cs_proto_number(&message, 2, image);
    cs_proto_number(&message, 3, frame->offset);
    for (unsigned i = 0; i < n; i++) {
        cs_proto_number(&p->line, 1, function(p, lines[i].function, lines[i].file));
        cs_proto_number(&p->line, 2, lines[i].line);
        cs_proto_message(&message, 4, &p->line);
    }
    cs_proto_message(&p->out, 4, &message);
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
    cs_proto_message(&p->message, 1, &ids); /* packed repeated numbers have a message's shape */
    cs_proto_message(&p->message, 2, &values);
    cs_proto_message(&p->out, 2, &p->message);
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
    const char *event = p->events.names[0], *unit;
    const uint64_t period = cs_export_period(p->from, event, &unit);
    if (p->from->began > 0)
        cs_proto_number(&p->out, 9, (uint64_t)p->from->began * 1000000000);
    cs_proto_number(&p->out, 10, p->from->duration_ns);
    if (!period)
        return;
    cs_proto_number(&p->value, 1, (uint64_t)string(p, strcmp(unit, "nanoseconds") == 0 ? "cpu" : event));
    cs_proto_number(&p->value, 2, (uint64_t)string(p, unit));
    cs_proto_message(&p->out, 11, &p->value);
    cs_proto_number(&p->out, 12, period);
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
        cs_proto_number(&p.value, 1, (uint64_t)string(&p, cs_export_type(p.events.names[i])));
        cs_proto_number(&p.value, 2, (uint64_t)string(&p, cs_export_unit(p.events.names[i])));
        cs_proto_message(&p.out, 1, &p.value);
    }
    for (unsigned i = 0; rc == 0 && i < from->n_images; i++) {
        const struct cs_store_image *image = &from->images[i].image;
        cs_proto_number(&p.message, 1, i + 1u);
        cs_proto_number(&p.message, 3, image->kind == CS_IMAGE_KERNEL ? INT64_MAX : UINT64_C(1) << 62);
        cs_proto_number(&p.message, 5, (uint64_t)string(&p, image->path));
        cs_proto_number(&p.message, 6, (uint64_t)string(&p, image->build_id));
        cs_proto_number(&p.message, 7, 1); /* has_functions: nobody need symbolise again */
        cs_proto_message(&p.out, 3, &p.message);
    }
    if (rc == 0)
        rc = cs_export_each_stack(from, add_sample, &p);
    if (rc == 0 && p.events.n)
        put_times(&p);
    if (rc == 0 && p.events.n) /* default_sample_type: readers take the last one without it */
        cs_proto_number(&p.out, 14, (uint64_t)string(&p, cs_export_type(p.events.names[0])));
    for (int64_t i = 0; rc == 0 && i < p.n_strings; i++) {
        char *text = cs_text_valid(cs_table_string(p.strings, (uint64_t)i)); /* readers refuse a file else */
        if (text)
            cs_proto_bytes(&p.out, 6, text, strlen(text));
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
    cs_place_numbers_fini(&p.locations);
    cs_bytes_fini(&p.out);
    cs_bytes_fini(&p.message);
    cs_bytes_fini(&p.line);
    cs_bytes_fini(&p.value);
    return rc;
}

extern const struct cs_exporter cs_export_pprof;
const struct cs_exporter cs_export_pprof = {"pprof", "gzip'd profile.proto, with lines and inlined frames",
                                            true, write_pprof};
