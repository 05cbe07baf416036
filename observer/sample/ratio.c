/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/sample/ratio.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What all names of an event have in common: without the model's prefix and the modifiers, in small letters, with one sign
 * between words. */
static void plain_name(const char *name, size_t length, char *to, size_t size)
{
    const char *prefix = strstr(name, "::");
    size_t n = 0;
    if (prefix && prefix + 2 < name + length) {
        length -= (size_t)(prefix + 2 - name);
        name = prefix + 2;
    }
    for (; n < length && n + 1 < size; n++)
        to[n] =
            name[n] == '-' || name[n] == '.' || name[n] == ':' ? '_' : (char)tolower((unsigned char)name[n]);
    to[n] = '\0';
    char *last = strrchr(to, '_');
    if (last && last[1] && strspn(last + 1, "ukhpt") == strlen(last + 1))
        *last = '\0';
}

static bool is_one_of(const char *name, const char *const *names)
{
    char plain[96];
    plain_name(name, strlen(name), plain, sizeof plain);
    for (; *names; names++)
        if (strcmp(plain, *names) == 0)
            return true;
    return false;
}

/* Retired instructions and unhalted cycles, as the kernel and the vendors call them. */
static bool is_instructions(const char *name)
{
    return is_one_of(name, (const char *const[]){"instructions", "inst_retired", "inst_retired_any",
                                                 "inst_retired_any_p", "instruction_retired",
                                                 "instructions_retired", "retired_instructions",
                                                 "perf_count_hw_instructions", NULL});
}

static bool is_cycles(const char *name)
{
    return is_one_of(name, (const char *const[]){"cycles", "cpu_cycles", "cpu_clk_unhalted",
                                                 "cpu_clk_unhalted_thread", "cpu_clk_unhalted_thread_p",
                                                 "cpu_clk_thread_unhalted", "unhalted_core_cycles",
                                                 "cycles_not_in_halt", "perf_count_hw_cpu_cycles", NULL});
}

static int first(const char *const *counters, unsigned n, bool (*is)(const char *))
{
    for (unsigned c = 0; c < n; c++)
        if (is(counters[c]))
            return (int)c;
    return -1;
}

static int named(const char *name, size_t length, const char *const *counters, unsigned n)
{
    char asked[96], has[96];
    plain_name(name, length, asked, sizeof asked);
    for (unsigned c = 0; c < n; c++)
        if (strlen(counters[c]) == length && strncmp(counters[c], name, length) == 0)
            return (int)c;
    for (unsigned c = 0; c < n; c++) {
        plain_name(counters[c], strlen(counters[c]), has, sizeof has);
        if (strcmp(has, asked) == 0)
            return (int)c;
    }
    if (strcmp(asked, "instructions") == 0)
        return first(counters, n, is_instructions);
    return strcmp(asked, "cycles") == 0 ? first(counters, n, is_cycles) : -1;
}

bool cs_ratio_parse(const char *text, const char *const *counters, unsigned n, struct cs_ratio *out)
{
    int of = first(counters, n, is_instructions), per = first(counters, n, is_cycles);
    const char *slash = strchr(text, '/');
    if (strcasecmp(text, "cpi") == 0) {
        int swap = of;
        of = per;
        per = swap;
    } else if (strcasecmp(text, "ipc") != 0) {
        of = slash ? named(text, (size_t)(slash - text), counters, n) : -1;
        per = slash ? named(slash + 1, strlen(slash + 1), counters, n) : -1;
    }
    *out = (struct cs_ratio){of < 0 ? 0 : (unsigned)of, per < 0 ? 0 : (unsigned)per};
    return of >= 0 && per >= 0 && of != per;
}

void cs_ratio_name(const struct cs_ratio *r, const char *const *counters, char *to, size_t size)
{
    assert(size > 0);
    const char *of = counters[r->of], *per = counters[r->per];
    if (is_instructions(of) && is_cycles(per))
        snprintf(to, size, "IPC");
    else if (is_cycles(of) && is_instructions(per))
        snprintf(to, size, "CPI");
    else
        snprintf(to, size, "%s/%s", of, per);
}

double cs_ratio_scale(const struct cs_ratio *r, const char *const *counters)
{
    char name[8];
    cs_ratio_name(r, counters, name, sizeof name);
    return strcmp(name, "IPC") == 0 || strcmp(name, "CPI") == 0 ? 1 : 1000;
}

int cs_ratios_choose(const char *const *asked, unsigned n_asked, const char *const *counters, unsigned n,
                     struct cs_ratio ratios[CS_RATIOS_MAX], unsigned *n_ratios, struct cs_error *err)
{
    *n_ratios = cs_ratio_parse("ipc", counters, n, &ratios[0]);
    for (unsigned a = 0; a < n_asked; a++) {
        struct cs_ratio one;
        bool there = false;
        if (!cs_ratio_parse(asked[a], counters, n, &one))
            return cs_fail(err, ENOENT,
                           "ratio %s: expected IPC, CPI, or A/B with two of the counters that are observed "
                           "together%s%s%s%s",
                           asked[a], n ? ", such as " : "", n ? counters[n > 1] : "", n > 1 ? "/" : "",
                           n > 1 ? counters[0] : "");
        for (unsigned r = 0; r < *n_ratios; r++)
            there |= ratios[r].of == one.of && ratios[r].per == one.per;
        if (there)
            continue;
        if (*n_ratios == CS_RATIOS_MAX)
            return cs_fail(err, E2BIG, "at most %d ratios at a time, IPC among them", CS_RATIOS_MAX);
        ratios[(*n_ratios)++] = one;
    }
    return 0;
}
