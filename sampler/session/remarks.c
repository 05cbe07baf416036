/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A remark is formatted here and printed by nobody below cli/. */
#include "sampler/session/remarks.h"

#include <stdarg.h>
#include <stdio.h>

void cs_session_remark(const struct cs_sampler_config *config, const char *format, ...)
{
    char sentence[512];
    va_list args;
    if (!config->notify)
        return;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    config->notify(config->arg, sentence);
}
