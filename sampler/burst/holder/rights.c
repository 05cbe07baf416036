/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rights of a thread, from /proc/TID/status: users, groups, capabilities and whether it may gain any. */
#include "sampler/burst/holder/rights.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/thread.h"

#define STATUS_MAX 16384 /* one with so many groups that it is longer isn't followed */
static char first[STATUS_MAX];
static const char *const compared[] = {
    "Uid:", "Gid:", "Groups:", "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:", "NoNewPrivs:"};

static const char *line_of(const char *text, const char *field)
{
    size_t size = strlen(field);
    for (const char *p = text; *p; p++)
        if (*p == '\n' && strlen(p) > size && !memcmp(p + 1, field, size))
            return p + 1 + size;
    return NULL;
}

static uint32_t number(const char *p)
{
    uint32_t value = 0;
    while (*p == '\t' || *p == ' ')
        p++;
    for (; *p >= '0' && *p <= '9'; p++)
        value = value * 10 + (uint32_t)(*p - '0');
    return value;
}

uint32_t status_number(const char *text, const char *field)
{
    const char *line = line_of(text, field);
    return line ? number(line) : 0;
}

static bool same_line(const char *a, const char *b)
{
    while (a && b && *a == *b && *a && *a != '\n')
        a++, b++;
    return a && b && *a == '\n' && *b == '\n';
}

/* Four users: real, effective, saved and the file system's. */
static bool all_are(const char *line, uint32_t uid)
{
    bool all = true;
    for (unsigned i = 0; i < 4; i++) {
        all = all && number(line) == uid;
        while (*line == '\t')
            line++;
        while (*line >= '0' && *line <= '9')
            line++;
    }
    return all;
}

bool rights_read(uint32_t tid, uint32_t own_uid, struct rights *rights)
{
    if (!read_thread_file(tid, "/status", first, sizeof first))
        return false;
    const char *uid = line_of(first, "Uid:"), *gid = line_of(first, "Gid:");
    if (!uid || !gid)
        return false;
    *rights = (struct rights){number(uid), number(gid), all_are(uid, own_uid)};
    return true;
}

bool rights_unchanged(uint32_t tid)
{
    static char text[STATUS_MAX];
    if (!read_thread_file(tid, "/status", text, sizeof text))
        return false;
    for (unsigned i = 0; i < sizeof compared / sizeof *compared; i++)
        if (!same_line(line_of(text, compared[i]), line_of(first, compared[i])))
            return false;
    return true;
}
