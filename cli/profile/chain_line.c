/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call chains charge a line that the reader can change. Each sample counts for the innermost frame of its chain with
 * available source. So time in a library counts for the line that called it, as in gprof (Graham, Kessler, McKusick,
 * 1982), but without guesses. */
#include "cli/profile/chain_line.h"
#include "analysis/contexts/calls.h"
#include "image/shared_code.h"
#include "store/base/order.h"
#include "store/catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES_MAX 16
#define LINES_MAX 2048u /* different lines: the rest are left out */

/* Headers of libraries are readable, but nothing to change. */
static bool is_readers(const char *file)
{
    return *file && strncmp(file, "/usr/include/", 13) != 0 && strncmp(file, "/usr/lib/", 9) != 0 &&
           access(file, R_OK) == 0;
}

bool chain_line_frame(struct cs_image_code *code, uint64_t offset, struct cs_image_frame *found)
{
    struct cs_image_frame frames[FRAMES_MAX];
    unsigned n = cs_image_frames_at(code, offset, frames, FRAMES_MAX);
    for (unsigned i = 0; i < n; i++)
        if (frames[i].line && is_readers(frames[i].file)) {
            *found = frames[i];
            return true;
        }
    return false;
}

struct blamed {
    char *file;
    unsigned line;
    char function[256];
    uint64_t samples;
    bool begins; /* the line is where the function begins */
};

struct frame_place {
    uint32_t image, node;
    uint64_t offset;
    bool charged; /* a sample's own place, not a call's */
};

struct blame {
    const struct cs_contexts *tree;
    struct blamed *lines;
    uint32_t n_lines;
    uint32_t *of_node; /* the number of its line and 1; 0: no source */
};

static struct cs_image_code *open_code(const struct cs_catalog *catalog, struct cs_store *store,
                                       const char *id, bool kernel)
{
    struct cs_image_code *code = NULL;
    struct cs_error ignored = {0};
    const struct cs_store_image *image = *id ? cs_catalog_image(catalog, id) : NULL;
    if (image && (kernel || image->kind != CS_IMAGE_KERNEL))
        (void)cs_image_open_shared(image, store, &code, &ignored);
    return code;
}

/* A file of an interpreter's library, as sampler/dynamic/interpreted.c calls it: nothing for the reader to change. */
static bool is_library(const char *file)
{
    return strncmp(file, "site-packages/", 14) == 0 || strncmp(file, "dist-packages/", 14) == 0 ||
           strncmp(file, "<frozen ", 8) == 0 ||
           (strncmp(file, "python3.", 8) == 0 && file[8 + strspn(file + 8, "0123456789")] == '/');
}

/* Code that a runtime made or interprets: its name says where the function begins, "total (shop/basket.py:17)" or
 * "JS:*addUp /srv/report.js:13:15". */
static bool named_place(struct cs_image_code *code, uint64_t offset, struct blamed *found)
{
    const struct cs_image_procedure *p = cs_image_procedure_at(code, offset);
    const char *name = p ? p->name : "", *space = strrchr(name, ' ');
    size_t n = strlen(name);
    char file[1024];
    unsigned line = 0;
    if (!space || n < 4 || n >= sizeof file)
        return false;
    bool brackets = space[1] == '(' && name[n - 1] == ')';
    if (!brackets && space[1] != '/')
        return false;
    snprintf(file, sizeof file, "%s", space + 1 + brackets);
    char *colon = strchr(file, ':');
    if (!colon || sscanf(colon, ":%u", &line) != 1 || !line)
        return false;
    *colon = 0;
    if (is_library(file))
        return false;
    const char *from = strncmp(name, "JS:", 3) == 0 ? name + 3 + strspn(name + 3, "*~^+") : name;
    *found = (struct blamed){.file = strdup(file), .line = line, .begins = true};
    snprintf(found->function, sizeof found->function, "%.*s", (int)(space - from), from);
    return found->file != NULL;
}

CS_ORDER(by_place, struct frame_place, cs_order(a->image, b->image), cs_order(a->offset, b->offset),
         a->charged - b->charged)

/* Takes over `line`, or frees it. */
static uint32_t line_number(struct blame *b, struct blamed line)
{
    uint32_t i = 0;
    while (i < b->n_lines && (b->lines[i].line != line.line || strcmp(b->lines[i].file, line.file) != 0))
        i++;
    if (i < b->n_lines || i == LINES_MAX)
        free(line.file);
    else
        b->lines[b->n_lines++] = line;
    return i == LINES_MAX ? 0 : i + 1;
}

static uint32_t line_at(void *arg, struct cs_image_code *code, uint64_t offset)
{
    struct blame *b = arg;
    struct cs_image_frame frame;
    struct blamed line;
    if (chain_line_frame(code, offset, &frame)) {
        line = (struct blamed){.file = strdup(frame.file), .line = frame.line};
        cs_image_short_name(frame.function, line.function, sizeof line.function);
        return line.file ? line_number(b, line) : 0;
    }
    return named_place(code, offset, &line) ? line_number(b, line) : 0;
}

/* Image after image: debug information is read once. */
bool chain_line_places(const struct cs_catalog *catalog, struct cs_store *store,
                       const struct cs_contexts *tree, bool precise, bool kernel, uint32_t *of_node,
                       uint32_t (*place)(void *arg, struct cs_image_code *code, uint64_t offset), void *arg)
{
    uint32_t n = cs_contexts_count(tree), open = 0;
    struct frame_place *places = malloc((n + 1) * sizeof *places);
    struct cs_image_code *code = NULL;
    for (uint32_t i = 1; places && i < n; i++) {
        const struct cs_context *c = cs_contexts_at(tree, i);
        places[i - 1] = (struct frame_place){c->image, i, c->offset, c->self && !precise};
    }
    if (places && n > 1)
        cs_sort(places, n - 1, by_place);
    for (uint32_t i = 0; places && i + 1 < n; i++) {
        const struct frame_place *at = &places[i];
        if (!i || at->image != open) {
            cs_image_close(code);
            code = open_code(catalog, store, cs_contexts_image_id(tree, open = at->image), kernel);
        }
        if (i && at->image == at[-1].image && at->offset == at[-1].offset && at->charged == at[-1].charged)
            of_node[at->node] = of_node[at[-1].node];
        else if (code)
            of_node[at->node] =
                place(arg, code, at->charged ? cs_image_charged(code, at->offset) : at->offset);
    }
    cs_image_close(code);
    free(places);
    return places != NULL;
}

static const struct blamed *most_blamed(struct blame *b)
{
    const struct blamed *most = NULL;
    for (uint32_t i = 1; i < cs_contexts_count(b->tree); i++) { /* parents have smaller numbers */
        const struct cs_context *c = cs_contexts_at(b->tree, i);
        if (!b->of_node[i])
            b->of_node[i] = b->of_node[c->parent];
        if (b->of_node[i])
            b->lines[b->of_node[i] - 1].samples += c->self;
    }
    for (uint32_t i = 0; i < b->n_lines; i++)
        if (!most || b->lines[i].samples > most->samples)
            most = &b->lines[i];
    return most;
}

bool chain_line_find(const struct profile *profile, const char *label, struct chain_line *out)
{
    struct cs_contexts *tree = NULL;
    struct cs_error ignored = {0};
    struct cs_calls_wanted wanted = {.event = profile->events[profile->main_event].name, .label = label};
    const struct cs_catalog *catalog;
    bool found = false;
    if (cs_calls_contexts(profile->store, &wanted, &tree, &ignored) < 0 || !tree)
        return false;
    struct blame b = {.tree = tree,
                      .lines = calloc(LINES_MAX, sizeof *b.lines),
                      .of_node = calloc(cs_contexts_count(tree) + 1, sizeof *b.of_node)};
    cs_contexts_sum(tree);
    const struct blamed *most =
        b.lines && b.of_node && cs_store_catalog(profile->store, &catalog, &ignored) == 0 &&
                chain_line_places(catalog, profile->store, tree, profile->events[profile->main_event].precise,
                                  false, b.of_node, line_at, &b)
            ? most_blamed(&b)
            : NULL;
    if (most && (double)most->samples > 0) {
        found = true;
        *out =
            (struct chain_line){.line = most->line, .begins = most->begins, .samples = (double)most->samples};
        snprintf(out->file, sizeof out->file, "%s", most->file);
        snprintf(out->function, sizeof out->function, "%s", most->function);
    }
    for (uint32_t i = 0; b.lines && i < b.n_lines; i++)
        free(b.lines[i].file);
    free(b.lines);
    free(b.of_node);
    cs_contexts_close(tree);
    return found;
}
