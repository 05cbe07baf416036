/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file isn't sorted and has 200,000 lines: it is read, never held. */
#include "image/procedures/kallsyms.h"

#include "store/base/bisect.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LINES_BYTES 65536

/* Cuts the line into pieces. */
static bool parse(struct cs_kallsyms_symbol *out)
{
    char *end;
    out->addr = strtoull(out->line, &end, 16);
    if (*end != ' ' || !end[1] || end[2] != ' ')
        return false;
    out->type = end[1];
    char *name = end + 3;
    size_t n = strcspn(name, " \t\n");
    char *bracket = strchr(name + n, '[');
    name[n] = '\0';
    out->name = name;
    out->module = bracket ? bracket + 1 : "";
    if (bracket)
        bracket[1 + strcspn(bracket + 1, "]")] = '\0';
    return true;
}

FILE *cs_kallsyms_open(const char *path)
{
    FILE *f = fopen(path, "re");
    if (f)
        setvbuf(f, NULL, _IOFBF, LINES_BYTES);
    return f;
}

bool cs_kallsyms_next(FILE *f, struct cs_kallsyms_symbol *out)
{
    while (fgets(out->line, sizeof out->line, f))
        if (parse(out))
            return true;
    out->addr = 0;
    return false;
}

size_t cs_kallsyms_first(const struct cs_kallsyms_wanted *wanted, size_t n, uint64_t addr)
{
    assert(n == 0 || wanted[0].addr <= wanted[n - 1].addr);
    return cs_bisect(n, i, wanted[i].addr < addr);
}

/* A symbol is a start for the first address at or above it, an end for the last one below it; the addresses between
 * two symbols then share what their neighbours found. */
bool cs_kallsyms_look_up(const char *path, struct cs_kallsyms_wanted *w, size_t n)
{
    struct cs_kallsyms_symbol s;
    FILE *f = cs_kallsyms_open(path);
    if (!f)
        return false;
    while (cs_kallsyms_next(f, &s)) {
        if (s.addr == 0 || !strchr("tTwW", s.type))
            continue;
        size_t at = cs_kallsyms_first(w, n, s.addr);
        if (at < n && s.addr > w[at].start) {
            w[at].start = s.addr;
            snprintf(w[at].name, sizeof w[at].name, "%.119s", s.name);
        }
        if (at > 0 && (!w[at - 1].end || s.addr < w[at - 1].end))
            w[at - 1].end = s.addr;
    }
    fclose(f);
    for (size_t i = 1; i < n; i++)
        if (!w[i].start) {
            w[i].start = w[i - 1].start;
            memcpy(w[i].name, w[i - 1].name, sizeof w[i].name);
        }
    for (size_t i = n; i-- > 1;)
        if (!w[i - 1].end)
            w[i - 1].end = w[i].end;
    return true;
}
