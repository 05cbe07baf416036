/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sentences outside of documents: the only place where errors are printed, and where what they tell of (paths,
 * names, answers of servers) is cleaned. */
#include "cli/command/parsed.h"
#include "store/base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *current = "";
static atomic_bool line_stands;

void messages_name(const char *subcommand)
{
    assert(subcommand);
    current = subcommand;
}

void messages_over_line(bool stands)
{
    atomic_store(&line_stands, stands);
}

static void put(FILE *to, const char *before, const char *format, va_list args, const char *after)
{
    char *text = NULL, *clean = NULL;
    if (vasprintf(&text, format, args) >= 0)
        clean = cs_text_cleaned(text);
    fprintf(to, "%s%s%s%s\n", to == stderr && atomic_exchange(&line_stands, false) ? "\r\033[K" : "", before,
            clean ? clean : "out of memory", after);
    free(clean);
    free(text);
}

void report_line(FILE *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(to, "", format, args, "");
    va_end(args);
}

static const char *front(char text[64])
{
    snprintf(text, 64, "cyclescope%s%s: ", *current ? " " : "", current);
    return text;
}

void remark(const char *format, ...)
{
    char before[64];
    va_list args;
    va_start(args, format);
    put(stderr, front(before), format, args, "");
    va_end(args);
}

int failed_with(const char *format, ...)
{
    char before[64];
    va_list args;
    va_start(args, format);
    fflush(stdout);
    put(stderr, front(before), format, args, "");
    va_end(args);
    return CS_EXIT_FAILED;
}

int failed(const struct cs_error *err)
{
    return failed_with("%s", err->text);
}

int usage_error(const char *format, ...)
{
    char before[64], after[96];
    va_list args;
    va_start(args, format);
    snprintf(after, sizeof after, "; see cyclescope %s%s--help", current, *current ? " " : "");
    put(stderr, front(before), format, args, after);
    va_end(args);
    return CS_EXIT_USAGE;
}
