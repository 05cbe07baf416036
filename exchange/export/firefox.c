/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Firefox Profiler's processed profile (profiler.firefox.com, "Load a profile from file"): version 48,
 * which it upgrades by itself. One thread an event; a frame is a procedure of an image. A store has no order
 * in time, so the samples stand a millisecond apart, each with its weight. */
#include "exchange/export/export.h"
#include "store/base/array.h"
#include "store/base/delimited.h"
#include "store/base/map.h"
#include "store/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NO_PREFIX UINT32_MAX

struct node { /* of the stack table */
    uint32_t prefix, frame;
};

struct sample {
    uint32_t node;
    uint64_t weight;
};

struct thread {
    const struct cs_export *from;
    const char *event;
    struct cs_table *strings, *functions; /* functions: "image-index name" */
    struct node *nodes;
    uint32_t n_nodes, capacity;
    struct cs_map by_node;
    struct sample *samples;
    size_t n_samples, samples_capacity;
};

/* Index of the stack that ends in that frame, or -ENOMEM. */
static int64_t stack_of(struct thread *t, uint32_t prefix, uint32_t frame)
{
    uint64_t hash = (((uint64_t)prefix << 32 | frame) * 0x9e3779b97f4a7c15ull) >> 32;
    uint32_t i;
    for (size_t step = 0; (i = cs_map_next(&t->by_node, hash, &step)) != CS_MAP_NONE;)
        if (t->nodes[i].prefix == prefix && t->nodes[i].frame == frame)
            return i;
    if (cs_array_room(t->nodes, t->n_nodes, t->capacity) < 0 || cs_map_add(&t->by_node, hash, t->n_nodes) < 0)
        return -ENOMEM;
    t->nodes[t->n_nodes] = (struct node){prefix, frame};
    return t->n_nodes++;
}

static int64_t frame_of(struct thread *t, const struct cs_export_frame *frame)
{
    char name[CS_IMAGE_NAME_MAX], key[sizeof name + 32];
    snprintf(key, sizeof key, "%ld %s", frame->image ? (long)(frame->image - t->from->images) : -1L,
             frame->image ? cs_export_name(frame->image, frame->offset, name, sizeof name) : "[unknown]");
    return cs_table_text(t->functions, key);
}

static int add_stack(const char *event, const struct cs_export_frame *frames, size_t n, uint64_t samples,
                     void *arg)
{
    struct thread *t = arg;
    uint32_t prefix = NO_PREFIX;
    if (strcmp(event, t->event) != 0)
        return 0;
    for (size_t i = n; i-- > 0;) {
        int64_t frame = frame_of(t, &frames[i]);
        int64_t stack = frame < 0 ? frame : stack_of(t, prefix, (uint32_t)frame);
        if (stack < 0)
            return (int)stack;
        prefix = (uint32_t)stack;
    }
    if (cs_array_room(t->samples, t->n_samples, t->samples_capacity) < 0)
        return -ENOMEM;
    t->samples[t->n_samples++] = (struct sample){prefix, samples};
    return 0;
}

/* "name":[one value n times] */
static void constant(FILE *to, const char *name, const char *value, size_t n)
{
    fprintf(to, ",\"%s\":[", name);
    for (size_t i = 0; i < n; i++)
        fprintf(to, "%s%s", i ? "," : "", value);
    fputc(']', to);
}

static void counting(FILE *to, const char *name, size_t n)
{
    fprintf(to, ",\"%s\":[", name);
    for (size_t i = 0; i < n; i++)
        fprintf(to, "%s%zu", i ? "," : "", i);
    fputc(']', to);
}

static void samples_table(FILE *to, const struct thread *t)
{
    bool ms = cs_export_is_off_cpu(t->event);
    fprintf(to, ",\n\"samples\":{\"length\":%zu,\"weightType\":\"%s\"", t->n_samples,
            ms ? "tracing-ms" : "samples");
    counting(to, "time", t->n_samples);
    fputs(",\"stack\":[", to);
    for (size_t i = 0; i < t->n_samples; i++)
        fprintf(to, "%s%" PRIu32, i ? "," : "", t->samples[i].node);
    fputs("],\"weight\":[", to);
    for (size_t i = 0; i < t->n_samples; i++)
        if (ms)
            fprintf(to, "%s%.6f", i ? "," : "", (double)t->samples[i].weight * 1e-6);
        else
            fprintf(to, "%s%" PRIu64, i ? "," : "", t->samples[i].weight);
    fputs("]}", to);
}

static void stack_table(FILE *to, const struct thread *t)
{
    fprintf(to, ",\n\"stackTable\":{\"length\":%" PRIu32, t->n_nodes);
    constant(to, "category", "0", t->n_nodes);
    constant(to, "subcategory", "0", t->n_nodes);
    fputs(",\"frame\":[", to);
    for (uint32_t i = 0; i < t->n_nodes; i++)
        fprintf(to, "%s%" PRIu32, i ? "," : "", t->nodes[i].frame);
    fputs("],\"prefix\":[", to);
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        fputs(i ? "," : "", to);
        if (t->nodes[i].prefix == NO_PREFIX)
            fputs("null", to);
        else
            fprintf(to, "%" PRIu32, t->nodes[i].prefix);
    }
    fputs("]}", to);
}

static void frame_table(FILE *to, size_t n)
{
    fprintf(to, ",\n\"frameTable\":{\"length\":%zu", n);
    constant(to, "address", "-1", n);
    constant(to, "inlineDepth", "0", n);
    constant(to, "category", "0", n);
    constant(to, "subcategory", "0", n);
    constant(to, "nativeSymbol", "null", n);
    constant(to, "innerWindowID", "0", n);
    constant(to, "implementation", "null", n);
    constant(to, "line", "null", n);
    constant(to, "column", "null", n);
    counting(to, "func", n);
    fputc('}', to);
}

static int function_table(FILE *to, struct thread *t, size_t n)
{
    fprintf(to, ",\n\"funcTable\":{\"length\":%zu", n);
    constant(to, "isJS", "false", n);
    constant(to, "relevantForJS", "false", n);
    constant(to, "fileName", "null", n);
    constant(to, "lineNumber", "null", n);
    constant(to, "columnNumber", "null", n);
    fputs(",\"name\":[", to);
    for (size_t i = 0; i < n; i++) {
        const char *key = cs_table_string(t->functions, i);
        int64_t name = cs_table_text(t->strings, strchr(key, ' ') + 1);
        if (name < 0)
            return -ENOMEM;
        fprintf(to, "%s%" PRId64, i ? "," : "", name);
    }
    fputs("],\"resource\":[", to);
    for (size_t i = 0; i < n; i++)
        fprintf(to, "%s%ld", i ? "," : "", strtol(cs_table_string(t->functions, i), NULL, 10));
    fputs("]}", to);
    return 0;
}

/* Resource i is library i is image i. */
static int resource_table(FILE *to, struct thread *t)
{
    fprintf(to, ",\n\"resourceTable\":{\"length\":%u", t->from->n_images);
    constant(to, "host", "null", t->from->n_images);
    constant(to, "type", "1", t->from->n_images);
    counting(to, "lib", t->from->n_images);
    fputs(",\"name\":[", to);
    for (unsigned i = 0; i < t->from->n_images; i++) {
        int64_t name = cs_table_text(t->strings, cs_base_name(t->from->images[i].image.path));
        if (name < 0)
            return -ENOMEM;
        fprintf(to, "%s%" PRId64, i ? "," : "", name);
    }
    fputs("]}", to);
    return 0;
}

static int write_thread(FILE *to, struct thread *t)
{
    size_t n = cs_table_texts(t->functions);
    fputs("{\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
          "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\"isMainThread\":true,\"pid\":"
          "\"1\",\"tid\":\"1\",\"processName\":\"cyclescope\",\"name\":",
          to);
    cs_json_string(to, t->event);
    samples_table(to, t);
    stack_table(to, t);
    frame_table(to, n);
    int rc = function_table(to, t, n);
    if (rc == 0)
        rc = resource_table(to, t);
    fputs(",\n\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[]}"
          ",\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],"
          "\"category\":[]},\n\"stringArray\":[",
          to);
    for (size_t i = 0; i < cs_table_texts(t->strings); i++) {
        fputs(i ? ",\n" : "\n", to);
        cs_json_string(to, cs_table_string(t->strings, i));
    }
    fputs("]}", to);
    return rc;
}

static void head(const struct cs_export *from, FILE *to)
{
    fputs("{\"meta\":{\"interval\":1,\"startTime\":0,\"processType\":0,\"product\":\"cyclescope\","
          "\"stackwalk\":1,\"version\":24,\"preprocessedProfileVersion\":48,\"symbolicated\":true,\"debug\":"
          "false,\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}],"
          "\"markerSchema\":[],\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]}},"
          "\n\"libs\":[",
          to);
    for (unsigned i = 0; i < from->n_images; i++) {
        const struct cs_store_image *image = &from->images[i].image;
        const char *members[] = {"name", "path", "debugName", "debugPath"};
        const char *values[] = {cs_base_name(image->path), image->path, cs_base_name(image->path),
                                image->path};
        fputs(i ? ",\n{\"arch\":\"\",\"breakpadId\":\"\",\"codeId\":"
                : "\n{\"arch\":\"\",\"breakpadId\":\"\",\"codeId\":",
              to);
        cs_json_string(to, image->build_id);
        for (size_t k = 0; k < sizeof members / sizeof *members; k++) {
            fprintf(to, ",\"%s\":", members[k]);
            cs_json_string(to, values[k]);
        }
        fputc('}', to);
    }
    fputs("],\n\"pages\":[],\"counters\":[],\"profilerOverhead\":[],\"threads\":[", to);
}

static int write_event(struct cs_export *from, FILE *to, const char *event)
{
    struct thread t = {.from = from,
                       .event = event,
                       .strings = cs_table_open(&cs_schema_stacks),
                       .functions = cs_table_open(&cs_schema_stacks)};
    int rc = t.strings && t.functions ? cs_export_each_stack(from, add_stack, &t) : -ENOMEM;
    if (rc == 0)
        rc = write_thread(to, &t);
    cs_table_close(t.strings);
    cs_table_close(t.functions);
    free(t.nodes);
    cs_map_fini(&t.by_node);
    free(t.samples);
    return rc;
}

static int write_firefox(struct cs_export *from, FILE *to, struct cs_error *err)
{
    struct cs_export_events events;
    int rc = cs_export_events(from, &events);
    head(from, to);
    from->rows_total *= events.n;
    for (unsigned i = 0; rc == 0 && i < events.n; i++) {
        fputs(i ? ",\n" : "\n", to);
        rc = write_event(from, to, events.names[i]);
    }
    fputs("]}\n", to);
    return rc < 0 ? cs_fail(err, -rc, "out of memory while writing stacks") : 0;
}

const struct cs_exporter cs_export_firefox = {"firefox", false, write_firefox};
