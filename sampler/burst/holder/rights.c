/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The users of a thread, from /proc/TID/status: real, effective, saved and the file system's. */
#include "sampler/burst/holder/rights.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/thread.h"

static char first[64]; /* the line's text */

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

static bool read_users(uint32_t tid, char users[sizeof first], struct rights *rights)
{
    static char text[4096];
    if (!read_thread_file(tid, "/status", text, sizeof text))
        return false;
    const char *uid = line_of(text, "Uid:"), *gid = line_of(text, "Gid:");
    if (!uid || !gid)
        return false;
    memset(users, 0, sizeof first);
    for (unsigned i = 0; i < sizeof first - 1 && uid[i] && uid[i] != '\n'; i++)
        users[i] = uid[i];
    *rights = (struct rights){number(uid), number(gid)};
    return true;
}

bool rights_read(uint32_t tid, struct rights *rights)
{
    return read_users(tid, first, rights);
}

bool rights_unchanged(uint32_t tid)
{
    char users[sizeof first];
    struct rights rights;
    return read_users(tid, users, &rights) && !memcmp(users, first, sizeof first);
}
