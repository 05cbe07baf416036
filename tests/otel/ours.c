/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/cyclescope_otel.h"
#include "tests/otel/writer.h"

static __thread struct cs_otel_record record;

static int key(const char *name)
{
    static const char *const process[] = {"service.name", "shop", "service.version", "1.2"};
    return cs_otel_resource(process, 2) < 0 ? -1 : cs_otel_key(name);
}

static void attach(unsigned request, const struct writer_attribute *attributes, unsigned n)
{
    uint8_t id[16] = {0xA0, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xAB};
    for (unsigned i = 0; i < 4; i++)
        id[15 - i] = (uint8_t)(request >> 8 * i);
    cs_otel_clear(&record);
    cs_otel_span(&record, id, id + 8, 1);
    cs_otel_attach(&record);
    for (unsigned i = 0; i < n; i++) /* while it is attached */
        cs_otel_add(&record, attributes[i].key, attributes[i].value, strlen(attributes[i].value));
}

static void detach(void)
{
    cs_otel_detach();
}

const struct writer *writer_of(void)
{
    static const struct writer writer = {key, attach, detach};
    return &writer;
}
