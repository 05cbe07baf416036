/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call chains charge a line that the reader can change. Each sample counts for the innermost frame of its chain with
 * available source. So time in a library counts for the line that called it, as in gprof (Graham, Kessler, McKusick,
 * 1982), but without guesses. */
#include "cli/profile/called/chain_line.h"
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
    uint32_t image, number;
    uint64_t offset;
};

struct blame {
    struct blamed *lines;
    uint32_t n_lines;
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

/* "total (shop/basket.py:17)" or "JS:*addUp /srv/report.js:13:15". */
bool chain_line_named(struct cs_image_code *code, uint64_t offset, struct chain_line *found)
{
    const struct cs_image_procedure *p = cs_image_procedure_at(code, offset);
    const char *name = p ? p->name : "", *space = strrchr(name, ' ');
    size_t n = strlen(name);
    char *file = found->file;
    if (!space || n < 4 || n >= sizeof found->file)
        return false;
    bool brackets = space[1] == '(' && name[n - 1] == ')';
    if (!brackets && space[1] != '/')
        return false;
    *found = (struct chain_line){.begins = true};
    snprintf(file, sizeof found->file, "%s", space + 1 + brackets);
    char *colon = strchr(file, ':');
    if (!colon || sscanf(colon, ":%u", &found->line) != 1 || !found->line)
        return false;
    *colon = 0;
    if (is_library(file))
        return false;
    const char *from = strncmp(name, "JS:", 3) == 0 ? name + 3 + strspn(name + 3, "*~^+") : name;
    snprintf(found->function, sizeof found->function, "%.*s", (int)(space - from), from);
    return true;
}

CS_ORDER(by_place, struct frame_place, cs_order(a->image, b->image), cs_order(a->offset, b->offset))

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
    struct chain_line named;
    struct blamed line;
    if (chain_line_frame(code, offset, &frame)) {
        line = (struct blamed){.file = strdup(frame.file), .line = frame.line};
        cs_image_short_name(frame.function, line.function, sizeof line.function);
        return line.file ? line_number(b, line) : 0;
    }
    if (!chain_line_named(code, offset, &named))
        return 0;
    line = (struct blamed){.file = strdup(named.file), .line = named.line, .begins = true};
    memcpy(line.function, named.function, sizeof line.function);
    return line.file ? line_number(b, line) : 0;
}

/* Image after image: debug information is read once. */
static void ask_places(const struct cs_catalog *catalog, struct cs_store *store,
                       const struct cs_contexts *places, bool kernel, struct frame_place *order, uint32_t n,
                       uint32_t *of_place,
                       uint32_t (*place)(void *arg, struct cs_image_code *code, uint64_t offset), void *arg)
{
    struct cs_image_code *code = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const struct frame_place *at = &order[i];
        uint32_t *of = &of_place[2 * at->number];
        if (!i || at->image != at[-1].image) {
            cs_image_close(code);
            code = open_code(catalog, store, cs_contexts_image_id(places, at->image), kernel);
        }
        if (code && of[0])
            of[0] = place(arg, code, at->offset);
        if (code && of[1]) /* a function without lines is the same in all its instructions */
            of[1] =
                place(arg, code, cs_image_has_lines(code) ? cs_image_charged(code, at->offset) : at->offset);
        if (!code)
            of[0] = of[1] = 0;
    }
    cs_image_close(code);
}

uint32_t *chain_line_places(const struct cs_catalog *catalog, struct cs_store *store,
                            const struct cs_chains *chains, const bool *nodes, bool precise, bool kernel,
                            uint32_t (*place)(void *arg, struct cs_image_code *code, uint64_t offset),
                            void *arg)
{
    const uint32_t n = cs_contexts_count(chains->places);
    uint32_t *of_place = calloc(n, 2 * sizeof *of_place);
    struct frame_place *order = malloc(n * sizeof *order);
    for (size_t t = 0; of_place && t < chains->n; t++) /* those that are asked for */
        for (uint32_t i = 1; i < cs_contexts_count(chains->trees[t].contexts); i++)
            if (!nodes || (t == 0 && nodes[i]))
                of_place[chain_line_place(&chains->trees[t], i, precise)] = 1;
    for (uint32_t i = 1; order && i < n; i++) {
        const struct cs_context *c = cs_contexts_at(chains->places, i);
        order[i - 1] = (struct frame_place){c->image, i, c->offset};
    }
    if (of_place && order) {
        cs_sort(order, n - 1, by_place);
        ask_places(catalog, store, chains->places, kernel, order, n - 1, of_place, place, arg);
    } else {
        free(of_place);
        of_place = NULL;
    }
    free(order);
    return of_place;
}

static bool add_samples(struct blame *b, const struct cs_chain_tree *tree, const uint32_t *of_place,
                        bool precise)
{
    const uint32_t n = cs_contexts_count(tree->contexts);
    uint32_t *line = calloc(n, sizeof *line);  /* by node: the number of its line and 1; 0: no source */
    for (uint32_t i = 1; line && i < n; i++) { /* parents have smaller numbers */
        const struct cs_context *c = cs_contexts_at(tree->contexts, i);
        line[i] = of_place[chain_line_place(tree, i, precise)];
        if (!line[i])
            line[i] = line[c->parent];
        if (line[i])
            b->lines[line[i] - 1].samples += c->self;
    }
    free(line);
    return line != NULL;
}

static const struct blamed *most_blamed(struct blame *b, const struct cs_chains *chains,
                                        const uint32_t *of_place, bool precise)
{
    const struct blamed *most = NULL;
    for (size_t i = 0; i < chains->n; i++)
        if (!add_samples(b, &chains->trees[i], of_place, precise))
            return NULL;
    for (uint32_t i = 0; i < b->n_lines; i++)
        if (!most || b->lines[i].samples > most->samples)
            most = &b->lines[i];
    return most;
}

bool chain_line_find(const struct profile *profile, const struct cs_chains *chains, struct chain_line *out)
{
    struct cs_error ignored = {0};
    const struct cs_catalog *catalog;
    const bool precise = profile->events[profile->main_event].precise;
    struct blame b = {.lines = calloc(LINES_MAX, sizeof *b.lines)};
    uint32_t *of_place =
        b.lines && cs_store_catalog(profile->store, &catalog, &ignored) == 0
            ? chain_line_places(catalog, profile->store, chains, NULL, precise, false, line_at, &b)
            : NULL;
    const struct blamed *most = of_place ? most_blamed(&b, chains, of_place, precise) : NULL;
    const bool found = most && most->samples;
    if (found) {
        *out =
            (struct chain_line){.line = most->line, .begins = most->begins, .samples = (double)most->samples};
        snprintf(out->file, sizeof out->file, "%s", most->file);
        snprintf(out->function, sizeof out->function, "%s", most->function);
    }
    for (uint32_t i = 0; b.lines && i < b.n_lines; i++)
        free(b.lines[i].file);
    free(b.lines);
    free(of_place);
    return found;
}
