/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has the thread that stands before us all the rights that we have? Its instructions are repeated with ours:
 * a program that gave rights up since the runner started could have them back by taking the runner over. */
#include "sampler/burst/runner/rights.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"

struct rights {
    char uid[64]; /* the line's text */
    uint64_t capabilities;
};

static const char *line_of(const char *text, const char *field)
{
    size_t size = strlen(field);
    for (const char *p = text; *p; p++)
        if (*p == '\n' && strlen(p) > size && !memcmp(p + 1, field, size))
            return p + 1 + size;
    return NULL;
}

static bool parse(const char *text, const char *which, struct rights *out)
{
    const char *uid = line_of(text, "Uid:"), *capabilities = line_of(text, which);
    if (!uid || !capabilities)
        return false;
    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < sizeof out->uid - 1 && uid[i] && uid[i] != '\n'; i++)
        out->uid[i] = uid[i];
    while (*capabilities == '\t' || *capabilities == ' ')
        capabilities++;
    for (char c; (c = *capabilities) && c != '\n'; capabilities++)
        out->capabilities = out->capabilities << 4 | (uint64_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    return true;
}

bool rights_equal(uint32_t tid)
{
    static struct rights ours;
    static bool known;
    static char text[4096];
    struct rights its;
    if (!known) {
        if (!read_thread_file((uint32_t)SYS(__NR_getpid, 0), "/status", text, sizeof text))
            return false;
        known = parse(text, "CapEff:", &ours);
    }
    if (!known || !read_thread_file(tid, "/status", text, sizeof text) || !parse(text, "CapPrm:", &its))
        return false;
    return !memcmp(its.uid, ours.uid, sizeof its.uid) && !(ours.capabilities & ~its.capabilities);
}
