/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sentences on standard error: the only place where errors are printed. */
#include "cli/command/parsed.h"

#include <stdarg.h>
#include <stdio.h>

static const char *current = "";

void messages_name(const char *subcommand)
{
    current = subcommand;
}

int failed_with(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "cyclescope %s: ", current);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return CS_EXIT_FAILED;
}

int failed(const struct cs_error *err)
{
    return failed_with("%s", err->text);
}

int usage_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "cyclescope%s%s: ", *current ? " " : "", current);
    vfprintf(stderr, format, args);
    fprintf(stderr, "; see cyclescope %s%s--help\n", current, *current ? " " : "");
    va_end(args);
    return CS_EXIT_USAGE;
}
