/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time in libraries and in the kernel belongs to the program's own line that caused it. Page faults are one row: the memory that
 * is touched for the first time may be given back and taken again somewhere else. */
#include "cli/command/figures.h"
#include "cli/explain/stand_out.h"
#include "cli/profile/called/called_claim.h"
#include "store/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_FROM 0.03  /* of all samples, for a row */
#define KERNEL_FROM 0.02 /* the same, of what the kernel does for it */
#define PLACES_NAMED 2

struct line_sum { /* of one line's calls of one name */
    const struct called_call *first;
    double samples, in_system_calls, in_faults;
};

struct sums {
    struct line_sum at[256];
    size_t n;
};

static int by_samples(const void *a, const void *b)
{
    const struct line_sum *x = a, *y = b;
    return x->samples < y->samples ? 1 : x->samples > y->samples ? -1 : 0;
}

static void add_up(const struct called *c, struct sums *sums)
{
    for (uint32_t i = 0; i < c->n_calls; i++) {
        const struct called_call *call = &c->calls[i];
        size_t k = 0;
        while (k < sums->n && (sums->at[k].first->line != call->line ||
                               strcmp(called_name(c, sums->at[k].first), called_name(c, call)) != 0))
            k++;
        if (k == sizeof sums->at / sizeof *sums->at)
            continue;
        if (k == sums->n)
            sums->at[sums->n++] = (struct line_sum){.first = call};
        sums->at[k].samples += (double)call->samples;
        sums->at[k].in_system_calls += (double)call->in_system_calls;
        sums->at[k].in_faults += (double)call->in_faults;
    }
    qsort(sums->at, sums->n, sizeof *sums->at, by_samples);
}

static void place_row(struct stand_out *row, const struct called_line *at)
{
    snprintf(row->function, sizeof row->function, "%s", at->function);
    snprintf(row->file, sizeof row->file, "%s", at->file);
    row->line = at->line;
}

/* Functions through which an allocator gives memory back to the kernel, or takes it. */
static bool is_allocation(const char *name)
{
    static const char *const names[] = {
        "malloc",    "free",        "realloc",     "calloc",       "munmap",         "mmap",
        "mmap64",    "madvise",     "mremap",      "brk",          "sbrk",           "cfree",
        "_int_free", "_int_malloc", "malloc_trim", "operator new", "operator delete"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void append(struct stand_out *row, const char *text)
{
    const size_t n = strlen(row->what);
    snprintf(row->what + n, sizeof row->what - n, "%s", text);
}

/* "3.2 % at FILE:150 (str_upper), 1.1 % at ..." */
static void name_places(struct stand_out *row, const struct called *c, const struct sums *sums,
                        double (*part)(const struct called *c, const struct line_sum *sum))
{
    char text[400];
    bool taken[256] = {false};
    for (unsigned shown = 0; shown < PLACES_NAMED; shown++) {
        size_t most = sums->n;
        for (size_t i = 0; i < sums->n; i++)
            if (!taken[i] && part(c, &sums->at[i]) > (most < sums->n ? part(c, &sums->at[most]) : 0))
                most = i;
        if (most == sums->n || (shown && part(c, &sums->at[most]) < 0.005 * c->total))
            return;
        const struct called_line *at = &c->lines[sums->at[most].first->line];
        taken[most] = true;
        snprintf(text, sizeof text, "%s%.1f %% at %.100s:%u (%.80s%s%.60s)", shown ? ", " : "",
                 100 * part(c, &sums->at[most]) / c->total, cs_base_name(at->file), at->line, at->function,
                 sums->at[most].first->kind == CALLED_LIBRARY ? ": " : "",
                 sums->at[most].first->kind == CALLED_LIBRARY ? called_name(c, sums->at[most].first) : "");
        append(row, text);
    }
}

static double faults_of(const struct called *c, const struct line_sum *sum)
{
    (void)c;
    return sum->in_faults;
}

static double given_back_of(const struct called *c, const struct line_sum *sum)
{
    return is_allocation(called_name(c, sum->first)) ? sum->in_system_calls : 0;
}

static void add_faults(struct stand_outs *all, const struct called *c, const struct sums *sums)
{
    struct stand_out row = stand_out_of("page-fault");
    double faults = 0, back = 0;
    const struct line_sum *most = NULL;
    for (size_t i = 0; i < sums->n; i++) {
        faults += sums->at[i].in_faults;
        back += given_back_of(c, &sums->at[i]);
        if (!most || sums->at[i].in_faults > most->in_faults)
            most = &sums->at[i];
    }
    if (!most || faults < CALLS_FROM * c->total || faults < PROFILE_SAMPLES_FEW)
        return;
    place_row(&row, &c->lines[most->first->line]);
    row.percent = row.saves = 100 * fmin((faults + back) / c->total, 1);
    snprintf(row.what, sizeof row.what,
             "page faults, %.1f %%: memory is touched for the first time: ", 100 * faults / c->total);
    name_places(&row, c, sums, faults_of);
    if (back >= 0.005 * c->total) {
        append(&row, "; and the allocator's system calls: ");
        name_places(&row, c, sums, given_back_of);
        row.advice = "blocks that are kept and used again, and a look at the allocator's policy (mallopt, "
                     "malloc_trim)";
    } else
        row.advice = "memory that is kept and used again, or populated ahead, or larger pages";
    stand_outs_add(all, &row);
}

static void add_calls(struct stand_outs *all, const struct calc_subject *s, const struct called *c,
                      const struct line_sum *sum)
{
    const double system_calls = sum->in_system_calls, own = sum->samples - sum->in_faults;
    const bool in_kernel = system_calls >= 0.3 * own;
    const char *name = called_name(c, sum->first);
    const struct called_line *at = &c->lines[sum->first->line];
    struct stand_out row = stand_out_of(in_kernel ? "system-call" : "call");
    char text[200];
    if (own < (in_kernel ? KERNEL_FROM : CALLS_FROM) * c->total || own < PROFILE_SAMPLES_FEW || at->begins)
        return;
    place_row(&row, at);
    row.percent = 100 * own / c->total;
    row.saves = in_kernel ? row.percent : 0.6 * row.percent; /* a cheaper call may do */
    snprintf(row.what, sizeof row.what, "%s%.80s here", sum->first->kind == CALLED_LIBRARY ? "calls of " : "",
             name);
    if (in_kernel && sum->first->kind == CALLED_LIBRARY) {
        snprintf(text, sizeof text, ", %.0f %% of it in system calls", 100 * system_calls / own);
        append(&row, text);
    }
    if (at->line)
        row.a_second =
            stand_out_call_rate(s, at->file, at->line, sum->first->kind == CALLED_LIBRARY ? name : NULL);
    if (isfinite(row.a_second)) {
        snprintf(text, sizeof text, ", about %s a second", stand_out_about(row.a_second).text);
        append(&row, text);
    }
    row.bytes = stand_out_call_bytes(s, name);
    if (isfinite(row.bytes)) {
        snprintf(text, sizeof text, ", %s bytes a call (mean of all %.40s)", thousands(row.bytes).text, name);
        append(&row, text);
    }
    if (sum->first->caller != UINT32_MAX && !called_same_function(c, sum->first->caller, sum->first->line)) {
        const struct called_line *from = &c->lines[sum->first->caller];
        snprintf(text, sizeof text, "; from %.100s:%u (%.60s)", cs_base_name(from->file), from->line,
                 from->function);
        append(&row, text);
    }
    row.advice = called_advice(name);
    stand_outs_add(all, &row);
}

void stand_out_calls(struct stand_outs *all, const struct calc_subject *s)
{
    struct called c;
    struct sums *sums = calloc(1, sizeof *sums);
    if (sums && called_find(&c, &s->profile, NULL)) {
        add_up(&c, sums);
        add_faults(all, &c, sums);
        for (size_t i = 0; i < sums->n && i < 2 * STAND_OUT_MAX; i++)
            add_calls(all, s, &c, &sums->at[i]);
    }
    if (sums)
        called_close(&c);
    free(sums);
}
