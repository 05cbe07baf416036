/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A writer of OpenTelemetry's thread context, as tests/otel/work.c uses it: cyclescope's (ours.c), and one that was
 * written only from the specification (plain.c). */
#ifndef TESTS_OTEL_WRITER_H
#define TESTS_OTEL_WRITER_H

struct writer_attribute {
    int key;
    const char *value;
};

struct writer {
    int (*key)(const char *name);
    /* Trace: sixteen bytes 0xA0 + `request` in the last four, big-endian; span: the same in eight. */
    void (*attach)(unsigned request, const struct writer_attribute *attributes, unsigned n);
    void (*detach)(void);
};

const struct writer *writer_of(void) __attribute__((weak));

#endif
