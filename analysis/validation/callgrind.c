/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format is callgrind's manual, chapter "Callgrind Format Specification": positions are absolute, `*` (as
 * before), or relative to the last cost line. Names are given once and then by number. Lines after calls=,
 * jump= and jcnd= carry positions only. */
#include "analysis/validation/callgrind.h"
#include "store/base/array.h"
#include "store/base/order.h"
#include "store/base/text.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct cs_truth *truth;
    const char *image;
    size_t insns_capacity, edges_capacity;
    uint64_t at;   /* last position */
    bool *objects; /* by number: is it our image? */
    size_t n_objects;
    bool ours, seen, has_instr;
    int fields; /* positions before the costs */
    enum { PLAIN, AFTER_CALL, AFTER_JUMP } after;
    struct cs_truth_edge pending;
};

static bool parse_position(const char **text, uint64_t before, uint64_t *value)
{
    char *end;
    const char *t = *text;
    while (*t == ' ')
        t++;
    if (*t == '*') {
        *value = before;
        *text = t + 1;
        return true;
    }
    char sign = *t == '+' || *t == '-' ? *t++ : 0;
    uint64_t number = strtoull(t, &end, 0);
    if (end == t)
        return false;
    *value = sign == '+' ? before + number : sign == '-' ? before - number : number;
    *text = end;
    return true;
}

/* Callgrind counts in 64 bits; what no such number is counts nothing. */
static double parse_count(const char *text, char **end)
{
    double count = strtod(text, end);
    return count >= 0 && count <= 0x1p64 ? count : 0;
}

static bool same_name(const char *path, const char *other)
{
    return strcmp(cs_base_name(path), cs_base_name(other)) == 0;
}

/* The command's name may be a link to the image's, as python3 is to python3.11. */
static bool is_command(const char *image, const char *line)
{
    char *name = strndup(line, strcspn(line, " ")), *file = name ? realpath(name, NULL) : NULL;
    bool is = (name && same_name(name, image)) || (file && same_name(file, image));
    free(file);
    free(name);
    return is;
}

static void object(struct reading *r, const char *text, bool current)
{
    char *end;
    unsigned long number = *text == '(' ? strtoul(text + 1, &end, 10) : 0;
    const char *path = *text == '(' ? strchr(text, ')') : text;
    if (*text == '(' && path)
        path += path[1] == ' ' ? 2 : 1;
    if (number > 1000000)
        return;
    if (number >= r->n_objects) {
        bool *grown = realloc(r->objects, (number + 64) * sizeof *grown);
        if (!grown)
            return;
        memset(grown + r->n_objects, 0, (number + 64 - r->n_objects) * sizeof *grown);
        r->objects = grown;
        r->n_objects = number + 64;
    }
    if (path && *path)
        r->objects[number] = same_name(path, r->image);
    if (current)
        r->ours = r->objects[number];
    r->seen |= r->ours;
}

static int add_insn(struct reading *r, uint64_t offset, double count)
{
    struct cs_truth *t = r->truth;
    if (cs_array_room(t->insns, t->n_insns, r->insns_capacity) < 0)
        return -ENOMEM;
    t->insns[t->n_insns++] = (struct cs_truth_insn){offset, count};
    return 0;
}

static int add_edge(struct reading *r, const struct cs_truth_edge *edge)
{
    struct cs_truth *t = r->truth;
    if (cs_array_room(t->edges, t->n_edges, r->edges_capacity) < 0)
        return -ENOMEM;
    t->edges[t->n_edges++] = *edge;
    return 0;
}

static int cost_line(struct reading *r, const char *line)
{
    uint64_t other;
    if (!parse_position(&line, r->at, &r->at))
        return 0;
    for (int i = 1; i < r->fields; i++)
        parse_position(&line, 0, &other);
    if (r->after == AFTER_JUMP) {
        r->after = PLAIN;
        r->pending.from = r->at;
        return r->ours && r->pending.count > 0 ? add_edge(r, &r->pending) : 0;
    }
    if (r->after == AFTER_CALL) { /* inclusive cost of the callee */
        r->after = PLAIN;
        return 0;
    }
    double count = parse_count(line, NULL);
    r->truth->total += count;
    return r->ours && count > 0 ? add_insn(r, r->at, count) : 0;
}

static int one_line(struct reading *r, const char *line)
{
    char *end;
    if ((*line >= '0' && *line <= '9') || *line == '+' || *line == '-' || *line == '*')
        return cost_line(r, line);
    if (strncmp(line, "ob=", 3) == 0)
        object(r, line + 3, true);
    else if (strncmp(line, "cob=", 4) == 0 || strncmp(line, "cob ", 4) == 0)
        object(r, line + 4, false);
    else if (strncmp(line, "calls=", 6) == 0)
        r->after = AFTER_CALL;
    else if (strncmp(line, "jump=", 5) == 0 || strncmp(line, "jcnd=", 5) == 0) {
        r->pending.count = parse_count(line + 5, &end);
        if (*end == '/')
            strtod(end + 1, &end);
        const char *rest = end;
        r->after = parse_position(&rest, r->at, &r->pending.to) ? AFTER_JUMP : AFTER_CALL;
    } else if (strncmp(line, "cmd:", 4) == 0)
        r->truth->is_program = is_command(r->image, line + 4 + strspn(line + 4, " "));
    else if (strncmp(line, "positions:", 10) == 0) {
        r->has_instr = strstr(line, "instr") != NULL;
        r->fields = 1 + (strstr(line, "line") != NULL);
    }
    return 0;
}

CS_ORDER(by_offset, struct cs_truth_insn, cs_order(a->offset, b->offset))

CS_ORDER(by_ends, struct cs_truth_edge, cs_order(a->from, b->from), cs_order(a->to, b->to))

static void settle(struct cs_truth *t)
{
    size_t kept = 0;
    cs_sort(t->insns, t->n_insns, by_offset);
    for (size_t i = 0; i < t->n_insns; i++)
        if (kept && t->insns[kept - 1].offset == t->insns[i].offset)
            t->insns[kept - 1].count += t->insns[i].count;
        else
            t->insns[kept++] = t->insns[i];
    t->n_insns = kept;
    kept = 0;
    cs_sort(t->edges, t->n_edges, by_ends);
    for (size_t i = 0; i < t->n_edges; i++)
        if (kept && by_ends(&t->edges[kept - 1], &t->edges[i]) == 0)
            t->edges[kept - 1].count += t->edges[i].count;
        else
            t->edges[kept++] = t->edges[i];
    t->n_edges = kept;
}

int cs_truth_load(const char *path, const char *image_path, struct cs_truth **out, struct cs_error *err)
{
    assert(path && image_path);
    struct cs_truth *t = calloc(1, sizeof *t);
    struct reading r = {.truth = t, .image = image_path};
    char *line = NULL;
    size_t capacity = 0;
    int rc = 0;
    FILE *file = fopen(path, "re");
    if (!file) {
        free(t);
        return cs_fail(err, errno, "can't open %s: %s", path, strerror(errno));
    }
    while (t && rc == 0 && getline(&line, &capacity, file) > 0) {
        line[strcspn(line, "\n")] = 0;
        rc = one_line(&r, line);
    }
    fclose(file);
    free(line);
    free(r.objects);
    if (!t || rc < 0) {
        cs_truth_close(t);
        return cs_fail(err, ENOMEM, "no memory for %s", path);
    }
    if (!r.has_instr)
        rc = cs_fail(err, EINVAL, "%s is no callgrind output with --dump-instr=yes", path);
    else if (!r.seen)
        rc = cs_fail(err, ENOENT, "%s has no counts for %s", path, image_path);
    if (rc < 0) {
        cs_truth_close(t);
        return rc;
    }
    settle(t);
    *out = t;
    return 0;
}

void cs_truth_close(struct cs_truth *truth)
{
    if (!truth)
        return;
    free(truth->insns);
    free(truth->edges);
    free(truth);
}

double cs_truth_count(const struct cs_truth *truth, uint64_t offset)
{
    struct cs_truth_insn key = {offset, 0};
    const struct cs_truth_insn *found = cs_find(&key, truth->insns, truth->n_insns, by_offset);
    return found ? found->count : 0;
}

double cs_truth_taken(const struct cs_truth *truth, uint64_t from, uint64_t to)
{
    struct cs_truth_edge key = {from, to, 0};
    const struct cs_truth_edge *found = cs_find(&key, truth->edges, truth->n_edges, by_ends);
    return found ? found->count : 0;
}
