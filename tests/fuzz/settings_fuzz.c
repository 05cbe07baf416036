/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any text as the daemon's configuration: every value within its bounds, or all as it was and a sentence.
 * Sources: sampler/daemon/settings.c store/base/error.c */
#include "sampler/daemon/settings.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void judge(const struct cs_daemon_settings *s)
{
    const double values[] = {s->budget,      s->frequency_hz,    s->period,       s->merge_s,
                             s->epoch_s,     s->keep_age_s,      s->keep_bytes,   s->export_s,
                             s->intervals_s, s->intervals_bytes, s->memory_bytes, s->pid};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert(isfinite(values[i]) && values[i] >= 0);
    const char *const texts[] = {s->store, s->log, s->events, s->export_to};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert(memchr(texts[i], '\0', CS_DAEMON_SETTING_TEXT_MAX) && !strchr(texts[i], '\n'));
    assert(s->budget > 0 && s->budget <= 0.5 && s->merge_s > 0 && s->memory_bytes >= 8e6);
    assert(((unsigned)s->label <= CS_LABEL_CGROUP) == !*s->attribute &&
           (unsigned)s->label <= CS_LABEL_ATTRIBUTE && (unsigned)s->driver <= CS_SAMPLER_DRIVER_RING);
    struct cs_store_retention keep = cs_daemon_settings_retention(s);
    assert((double)keep.most_age_s <= s->keep_age_s && (double)keep.most_bytes <= s->keep_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct cs_error err = {0};
    struct cs_daemon_settings before, settings;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, bytes, size);
    text[size] = '\0';
    memset(&before, 0, sizeof before);
    cs_daemon_settings_init(&before);
    memcpy(&settings, &before, sizeof settings);
    int rc = cs_daemon_settings_parse(&settings, text, "fuzz", &err);
    if (rc < 0) {
        assert(err.code == -rc && strstr(err.text, "fuzz line ") && !strchr(err.text, '\n'));
        assert(memcmp(&before, &settings, sizeof before) == 0); /* NOLINT: one is a copy of the other */
    }
    judge(&settings);
    free(text);
    return 0;
}
