/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OTLP profiles (opentelemetry-proto 1.11.0, profiles.proto, v1development): a ProfilesData message, one profile an event. All profiles
 * share one dictionary, whose tables begin with an empty element; what refers to nothing refers to that. Locations carry ELF
 * virtual addresses, as pprof's do. Samples stay in memory until the end: a message's length stands before it. */
#include "exchange/export/places.h"
#include "exchange/export/protobuf.h"
#include "store/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BUILD_ID "process.executable.build_id.gnu" /* of the semantic conventions */

/* Tables of the dictionary, by field. */
enum { MAPPINGS = 1, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRIBUTES, STACKS };

static const struct cs_schema schema_texts = {"texts", 2, 1, {{"text", CS_KEY_TEXT}, {"n", CS_SUM}}};

struct otlp {
    struct cs_export *from;
    struct cs_export_events events;
    struct cs_bytes samples[CS_EXPORT_EVENTS_MAX];
    struct cs_bytes dictionary, message, part;
    struct cs_table *strings, *functions,
        *stacks; /* numbered as they come: "", "name\nfile", packed locations */
    int64_t n_functions, n_stacks;
    struct cs_place_numbers locations;
    uint64_t n_attributes;
};

static uint64_t string(struct otlp *o, const char *text)
{
    const int64_t index = cs_table_text(o->strings, text);
    o->dictionary.failed |= index < 0;
    return index < 0 ? 0 : (uint64_t)index;
}

static uint64_t function(struct otlp *o, const struct cs_place_line *line)
{
    char key[64], name[CS_IMAGE_NAME_MAX];
    const uint64_t linkage = string(o, line->function), file = string(o, line->file);
    snprintf(key, sizeof key, "%" PRIu64 " %" PRIu64 " %u", linkage, file, line->first_line);
    const int64_t index = cs_table_text(o->functions, key);
    o->dictionary.failed |= index < 0;
    if (index >= o->n_functions) {
        o->n_functions = index + 1;
        cs_proto_number(&o->part, 1, string(o, cs_image_demangle(line->function, name, sizeof name)));
        cs_proto_number(&o->part, 2, linkage);
        cs_proto_number(&o->part, 3, file);
        cs_proto_message(&o->dictionary, FUNCTIONS, &o->part);
    }
    return (uint64_t)(index + 1);
}

static uint64_t location(struct otlp *o, const struct cs_export_frame *frame)
{
    const uint64_t image = frame->image ? (uint64_t)(frame->image - o->from->images) + 1 : 0;
    struct cs_place_line lines[CS_PLACE_LINES_MAX];
    bool fresh;
    const uint64_t number = cs_place_number(&o->locations, image, frame->offset, &fresh);
    o->dictionary.failed |= number == 0;
    if (!fresh)
        return number;
    const unsigned n = cs_place_lines(frame, lines);
    cs_proto_number(&o->message, 1, image);
    cs_proto_number(&o->message, 2, frame->offset);
    for (unsigned i = 0; i < n; i++) {
        struct cs_bytes line = {0};
        cs_proto_number(&line, 1, function(o, &lines[i]));
        cs_proto_number(&line, 2, lines[i].line);
        cs_proto_message(&o->message, 3, &line);
        cs_bytes_fini(&line);
    }
    cs_proto_message(&o->dictionary, LOCATIONS, &o->message);
    return number;
}

/* Numbers from 1 on have no zero byte as varints: the packed list is a text. */
static uint64_t stack(struct otlp *o, const struct cs_export_frame *frames, size_t n)
{
    struct cs_bytes list = {0};
    for (size_t i = 0; i < n; i++)
        cs_bytes_put_varint(&list, location(o, &frames[i]));
    const size_t bytes = list.used;
    cs_bytes_put_u8(&list, 0);
    const int64_t index = list.failed ? -1 : cs_table_text(o->stacks, (const char *)list.start);
    o->dictionary.failed |= index < 0;
    if (index >= o->n_stacks) {
        o->n_stacks = index + 1;
        cs_proto_bytes(&o->message, 1, list.start, bytes);
        cs_proto_message(&o->dictionary, STACKS, &o->message);
    }
    cs_bytes_fini(&list);
    return (uint64_t)(index + 1);
}

static int add_sample(const char *event, const struct cs_export_frame *frames, size_t n, uint64_t samples,
                      void *arg)
{
    struct otlp *o = arg;
    unsigned e = 0;
    while (e < o->events.n && strcmp(o->events.names[e], event) != 0)
        e++;
    if (e == o->events.n)
        return 0;
    cs_proto_number(&o->message, 1, stack(o, frames, n));
    cs_bytes_put_varint(&o->part, samples);
    cs_proto_message(&o->message, 4, &o->part);
    cs_proto_message(&o->samples[e], 2, &o->message);
    return o->dictionary.failed || o->samples[e].failed ? -ENOMEM : 0;
}

static void put_type(struct otlp *o, struct cs_bytes *profile, unsigned field, const char *type,
                     const char *unit)
{
    cs_proto_number(&o->part, 1, string(o, type));
    cs_proto_number(&o->part, 2, string(o, unit));
    cs_proto_message(profile, field, &o->part);
}

static void put_profile(struct otlp *o, unsigned e, struct cs_bytes *scope)
{
    const char *event = o->events.names[e], *unit;
    const uint64_t period = cs_export_period(o->from, event, &unit);
    struct cs_bytes *profile = &o->samples[e];
    char type[64];
    cs_export_type(o->from, &o->events, e, type);
    put_type(o, profile, 1, type, cs_export_unit(event));
    if (o->from->began > 0)
        cs_proto_fixed64(profile, 3, (uint64_t)o->from->began * 1000000000);
    cs_proto_number(profile, 4, o->from->duration_ns);
    if (period && !cs_export_is_off_cpu(event)) {
        cs_export_period_type(event, unit, type);
        put_type(o, profile, 5, type, unit);
        cs_proto_number(profile, 6, period);
    }
    cs_proto_message(scope, 2, profile);
}

static void put_mapping(struct otlp *o, const struct cs_store_image *image)
{
    cs_proto_number(&o->message, 2, image->kind == CS_IMAGE_KERNEL ? INT64_MAX : UINT64_C(1) << 62);
    cs_proto_number(&o->message, 4, string(o, image->path));
    char *build_id = *image->build_id ? cs_text_valid(image->build_id) : NULL;
    if (build_id) {
        struct cs_bytes value = {0};
        cs_proto_bytes(&value, 1, build_id, strlen(build_id));
        cs_proto_number(&o->part, 1, string(o, BUILD_ID));
        cs_proto_message(&o->part, 2, &value);
        cs_proto_message(&o->dictionary, ATTRIBUTES, &o->part);
        cs_bytes_fini(&value);
        cs_bytes_put_varint(&o->part, ++o->n_attributes);
        cs_proto_message(&o->message, 5, &o->part);
    }
    free(build_id);
    cs_proto_message(&o->dictionary, MAPPINGS, &o->message);
}

static void put_attribute(struct cs_bytes *resource, const char *key, const char *value)
{
    struct cs_bytes text = {0}, pair = {0};
    char *valid = value && *value ? cs_text_valid(value) : NULL;
    if (valid) {
        cs_proto_bytes(&text, 1, valid, strlen(valid));
        cs_proto_bytes(&pair, 1, key, strlen(key));
        cs_proto_message(&pair, 2, &text);
        cs_proto_message(resource, 1, &pair);
    }
    free(valid);
    cs_bytes_fini(&text);
    cs_bytes_fini(&pair);
}

static int put_strings(struct otlp *o)
{
    for (uint64_t i = 0; i < cs_table_texts(o->strings); i++) {
        char *text = cs_text_valid(cs_table_string(o->strings, i)); /* readers refuse a file else */
        if (!text)
            return -ENOMEM;
        cs_proto_bytes(&o->dictionary, STRINGS, text, strlen(text));
        free(text);
    }
    return 0;
}

static int build(struct otlp *o, struct cs_bytes *all)
{
    struct cs_bytes scope = {0}, resource = {0};
    for (unsigned table = MAPPINGS; table <= STACKS; table++)
        if (table != STRINGS)
            cs_proto_bytes(&o->dictionary, table, "", 0);
    string(o, "");
    int rc = cs_export_events(o->from, &o->events);
    for (unsigned i = 0; rc == 0 && i < o->from->n_images; i++)
        put_mapping(o, &o->from->images[i].image);
    if (rc == 0)
        rc = cs_export_each_stack(o->from, add_sample, o);
    cs_proto_bytes(&o->part, 1, "cyclescope", strlen("cyclescope"));
    cs_proto_message(&scope, 1, &o->part);
    for (unsigned e = 0; rc == 0 && e < o->events.n; e++)
        put_profile(o, e, &scope);
    if (rc == 0)
        rc = put_strings(o);
    put_attribute(&o->part, "service.name", o->from->service);
    put_attribute(&o->part, "host.name", o->from->host);
    cs_proto_message(&resource, 1, &o->part);
    cs_proto_message(&resource, 2, &scope);
    cs_proto_message(all, 1, &resource);
    cs_proto_message(all, 2, &o->dictionary);
    cs_bytes_fini(&scope);
    cs_bytes_fini(&resource);
    return rc == 0 && all->failed ? -ENOMEM : rc;
}

static int write_otlp(struct cs_export *from, FILE *to, struct cs_error *err)
{
    struct cs_bytes all = {0};
    struct otlp o = {.from = from,
                     .strings = cs_table_open(&schema_texts),
                     .functions = cs_table_open(&schema_texts),
                     .stacks = cs_table_open(&schema_texts)};
    int rc = o.strings && o.functions && o.stacks ? build(&o, &all) : -ENOMEM;
    if (rc < 0)
        cs_fail(err, -rc, "out of memory while building the OTLP profiles");
    else
        fwrite(all.start, 1, all.used, to);
    for (unsigned e = 0; e < CS_EXPORT_EVENTS_MAX; e++)
        cs_bytes_fini(&o.samples[e]);
    cs_table_close(o.strings);
    cs_table_close(o.functions);
    cs_table_close(o.stacks);
    cs_place_numbers_fini(&o.locations);
    cs_bytes_fini(&o.dictionary);
    cs_bytes_fini(&o.message);
    cs_bytes_fini(&o.part);
    cs_bytes_fini(&all);
    return rc;
}

const struct cs_exporter cs_export_otlp = {"otlp", true, write_otlp};
