/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/explain/stand_out.h"
#include "cli/profile/called/chain_line.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct stand_out stand_out_of(const char *kind)
{
    return (struct stand_out){
        .kind = kind, .turns = (double)NAN, .a_second = (double)NAN, .bytes = (double)NAN};
}

void stand_out_place(struct stand_out *row, struct cs_image_code *code, uint64_t address,
                     const char *function)
{
    struct cs_image_frame frame;
    cs_image_short_name(function, row->function, sizeof row->function);
    if (!chain_line_frame(code, address, &frame))
        return;
    row->line = frame.line;
    snprintf(row->file, sizeof row->file, "%s", frame.file);
    if (*frame.function)
        cs_image_short_name(frame.function, row->function, sizeof row->function);
}

static void take_out(struct stand_outs *all, size_t i)
{
    memmove(&all->at[i], &all->at[i + 1], (all->n - i - 1) * sizeof *all->at);
    all->n--;
}

static bool is_same_place(const struct stand_out *a, const struct stand_out *b)
{
    return strcmp(a->kind, b->kind) == 0 && a->line == b->line && strcmp(a->file, b->file) == 0 &&
           strcmp(a->function, b->function) == 0;
}

void stand_outs_add(struct stand_outs *all, const struct stand_out *row)
{
    assert(all->n <= STAND_OUT_MAX && row->kind && isfinite(row->saves));
    for (size_t i = 0; i < all->n; i++)
        if (is_same_place(&all->at[i], row)) {
            if (all->at[i].saves >= row->saves)
                return;
            take_out(all, i);
        }
    size_t at = all->n;
    while (at && all->at[at - 1].saves < row->saves)
        at--;
    if (at == STAND_OUT_MAX)
        return;
    if (all->n == STAND_OUT_MAX)
        all->n--;
    memmove(&all->at[at + 1], &all->at[at], (all->n - at) * sizeof *all->at);
    all->at[at] = *row;
    all->n++;
}

struct figure stand_out_about(double number)
{
    struct figure out;
    const double size = number >= 10 ? pow(10, floor(log10(number)) - 1) : 1;
    const double rounded = round(number / size) * size;
    if (rounded >= 1e6)
        snprintf(out.text, sizeof out.text, "%.39s million", figure(rounded / 1e6, 2).text);
    else
        out = thousands(rounded);
    return out;
}
