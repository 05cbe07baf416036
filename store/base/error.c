/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

int(cs_fail)(struct cs_error *err, int code, const char *format, ...)
{
    assert(err && code > 0);
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    err->code = code;
    return -code;
}
