/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int(cs_fail)(struct cs_error *err, int code, const char *format, ...)
{
    assert(err);
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    err->code = code > 0 ? code : EIO; /* an errno that nobody set is no success */
    return -err->code;
}
