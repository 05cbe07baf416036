/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rights in the text of /proc/TID/status. */
#include "sampler/burst/holder/rights.h"
#include "sampler/burst/runner/libc.h"

#define LINES 9
static const char *const fields[LINES] = {
    "Uid:", "Gid:", "Groups:", "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:", "NoNewPrivs:"};

static bool begins(const char *text, const char *with)
{
    while (*with)
        if (*text++ != *with++)
            return false;
    return true;
}

static bool is_right(const char *line)
{
    for (unsigned i = 0; i < LINES; i++)
        if (begins(line, fields[i]))
            return true;
    return false;
}

size_t rights_of(const char *status, char rights[RIGHTS_MAX])
{
    size_t n = 0;
    unsigned lines = 0;
    for (const char *line = status, *end; *line; line = end + 1) {
        for (end = line; *end && *end != '\n'; end++)
            ;
        if (!*end) /* cut off */
            return 0;
        if (!is_right(line))
            continue;
        size_t size = (size_t)(end + 1 - line);
        if (n + size > RIGHTS_MAX)
            return 0;
        memcpy(rights + n, line, size);
        n += size;
        lines++;
    }
    return lines == LINES ? n : 0;
}

uint32_t status_number(const char *status, const char *field)
{
    uint32_t value = 0;
    for (const char *p = status; *p; p++)
        if ((p == status || p[-1] == '\n') && begins(p, field)) {
            for (p += strlen(field); *p == '\t' || *p == ' '; p++)
                ;
            for (; *p >= '0' && *p <= '9'; p++)
                value = value * 10 + (uint32_t)(*p - '0');
            return value;
        }
    return value;
}
