/* SPDX-License-Identifier: GPL-2.0-or-later */
/* folded stacks (flame graphs) and speedscope: both want named frames, root first. */
#include "exchange/export/export.h"
#include "store/base/delimited.h"
#include "store/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *frame_name(const struct cs_export_frame *frame, char *text, size_t capacity)
{
    if (!frame->image)
        return frame->offset ? "[unknown]" : "[other]"; /* rare contexts, folded */
    return cs_export_name(frame->image, frame->offset, text, capacity);
}

/* ---- folded: "root;...;leaf samples" ---- */

/* The format has no escapes: cleaned, and without the mark between frames. */
static void fold_name(FILE *to, const char *name)
{
    char clean[CS_IMAGE_NAME_MAX];
    cs_text_clean(clean, sizeof clean, name, strlen(name));
    for (const char *c = clean; *c; c++)
        fputc(*c == ';' ? ':' : *c, to);
}

static int fold(const char *event, const struct cs_export_frame *frames, size_t n, uint64_t samples,
                void *arg)
{
    FILE *to = arg;
    char name[CS_IMAGE_NAME_MAX];
    /* Several events: the event is the root, so that a graph never adds apples to pears. */
    fold_name(to, event);
    for (size_t i = n; i-- > 0;) {
        fputc(';', to);
        fold_name(to, frame_name(&frames[i], name, sizeof name));
    }
    fprintf(to, " %" PRIu64 "\n", samples);
    return 0;
}

static int write_folded(struct cs_export *from, FILE *to, struct cs_error *err)
{
    int rc = cs_export_each_stack(from, fold, to);
    return rc < 0 ? cs_fail(err, -rc, "out of memory while writing stacks") : 0;
}

/* ---- speedscope: https://www.speedscope.app/file-format-schema.json, "sampled" profiles ---- */

struct speedscope {
    FILE *to;
    struct cs_table *names; /* its dictionary numbers the frames */
    const char *event;      /* the one being written */
    bool weights, first;
    uint64_t total;
};

static int scope(const char *event, const struct cs_export_frame *frames, size_t n, uint64_t samples,
                 void *arg)
{
    struct speedscope *s = arg;
    char name[CS_IMAGE_NAME_MAX];
    if (strcmp(event, s->event) != 0)
        return 0;
    fputs(s->first ? "" : ",", s->to);
    s->first = false;
    if (s->weights) {
        fprintf(s->to, "%" PRIu64, samples);
        s->total += samples;
        return 0;
    }
    fputc('[', s->to);
    for (size_t i = n; i-- > 0;) {
        int64_t index = cs_table_text(s->names, frame_name(&frames[i], name, sizeof name));
        if (index < 0)
            return -ENOMEM;
        fprintf(s->to, "%" PRId64 "%s", index, i ? "," : "");
    }
    fputc(']', s->to);
    return 0;
}

static int scope_event(struct cs_export *from, struct speedscope *s, const char *event)
{
    s->event = event;
    s->total = 0;
    fputs("{\"type\":\"sampled\",\"name\":", s->to);
    cs_json_string(s->to, event);
    int rc = 0;
    for (int pass = 0; rc == 0 && pass < 2; pass++) {
        s->weights = pass == 1;
        s->first = true;
        if (s->weights)
            fputs("],\"weights\":[", s->to);
        else
            fprintf(s->to, ",\"unit\":\"%s\",\"startValue\":0,\"samples\":[",
                    cs_export_is_off_cpu(event) ? "nanoseconds" : "none");
        rc = cs_export_each_stack(from, scope, s);
    }
    fprintf(s->to, "],\"endValue\":%" PRIu64 "}", s->total);
    return rc;
}

static int write_speedscope(struct cs_export *from, FILE *to, struct cs_error *err)
{
    struct speedscope s = {.to = to, .names = cs_table_open(&cs_schema_stacks)};
    struct cs_export_events events = {.n = 0};
    int rc = s.names ? cs_export_events(from, &events) : -ENOMEM;
    fputs("{\"$schema\":\"https://www.speedscope.app/"
          "file-format-schema.json\",\"exporter\":\"cyclescope\",\"profiles\":[",
          to);
    from->rows_total *= 2ull * events.n;
    for (unsigned i = 0; rc == 0 && i < events.n; i++) {
        fputs(i ? ",\n" : "\n", to);
        rc = scope_event(from, &s, events.names[i]);
    }
    fputs("],\n\"shared\":{\"frames\":[", to);
    int64_t n = rc == 0 ? cs_table_text(s.names, "[end of frames]") : 0;
    for (int64_t i = 0; i < n; i++) {
        fputs(i ? ",\n{\"name\":" : "\n{\"name\":", to);
        cs_json_string(to, cs_table_string(s.names, (uint64_t)i));
        fputc('}', to);
    }
    fputs("]}}\n", to);
    cs_table_close(s.names);
    return rc < 0 ? cs_fail(err, -rc, "out of memory while writing stacks") : 0;
}

const struct cs_exporter cs_export_folded = {"folded", false, write_folded};
const struct cs_exporter cs_export_speedscope = {"speedscope", false, write_speedscope};
