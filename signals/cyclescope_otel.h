/* SPDX-License-Identifier: MIT */
/* cyclescope_otel.h: whose request a thread works on, told to any OpenTelemetry reader.
 *
 * OpenTelemetry's thread context (OTEP 4947): a thread-local pointer, `otel_thread_ctx_v1`, to a record with a
 * trace, a span and attributes. A mapping named OTEL_CTX says what the attributes are called (OTEP 4719). A
 * profiler reads both from outside: `cyclescope record --label attribute=http.route`, OpenTelemetry's eBPF
 * profiler and others.
 *
 *      #include <cyclescope_otel.h>                 // link with -lcyclescope
 *
 *      int route = cs_otel_key("http.route");       // once; an attribute's number
 *      static struct cs_otel_record record;         // one for each request under way
 *
 *      cs_otel_clear(&record);
 *      cs_otel_span(&record, trace_id, span_id, flags);
 *      cs_otel_add(&record, route, "/cart", 5);
 *      cs_otel_attach(&record);                     // from now on this thread works on it
 *      ...
 *      cs_otel_detach();
 *
 * An attach is one store, and one more to word CS_WORD_CONTEXT of the thread's line, so that an observer sees
 * it too. The call cs_name(CS_WORD_CONTEXT, (uintptr_t)&record, "/cart") names it. In an executable that
 * links libcyclescope.a and defines CS_EXECUTABLE both are one: the pointer *is* that word of the line.
 *
 * A reader stops or interrupts the thread that it reads, as a sampler does. So a record is changed by the
 * thread that it is attached to, or while it is attached to none. Readers find the pointer in the dynamic
 * symbol table: link an executable that has the library inside with
 * -Wl,--export-dynamic-symbol=otel_thread_ctx_v1.
 *
 *      function                                  thread-safe   in a signal handler   blocks
 *      cs_otel_attach detach attached current    yes           yes                   never
 *      cs_otel_clear span add                    own record    no                    never
 *      cs_otel_key cs_otel_resource              yes           no                    another of the two
 *
 * fork: the child publishes the same again, and keeps what was attached. exec: all is gone. */
#ifndef CYCLESCOPE_OTEL_H
#define CYCLESCOPE_OTEL_H

#include "cyclescope.h"

#include <errno.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CS_WORD_CONTEXT 13u           /* tag: address of the record that is attached, 0 = none */
#define CS_OTEL_ATTRIBUTES_BYTES 612u /* with the head 640, what readers are asked to take */

/* As the specification lays it out: fields in this order, no padding, numbers in the machine's order. */
struct cs_otel_record {
    uint8_t trace_id[16], span_id[8]; /* all zero = none */
    uint8_t valid;                    /* 1, else readers ignore the record */
    uint8_t trace_flags;              /* W3C's byte */
    uint16_t attributes_bytes;
    uint8_t attributes[CS_OTEL_ATTRIBUTES_BYTES]; /* key, length, value; key, length, value; ... */
};

extern CS_API __thread struct cs_otel_record *volatile otel_thread_ctx_v1;

#define CS_OTEL_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* ---- hot ---- */

/* This thread works on `record` from now on; NULL: on none. The record stays valid while it is attached. */
CS_HOT void cs_otel_attach(struct cs_otel_record *record)
{
    CS_OTEL_FENCE();
    otel_thread_ctx_v1 = record;
#ifndef CS_EXECUTABLE
    cs_line[CS_WORD_CONTEXT] = (uintptr_t)record;
#endif
    CS_OTEL_FENCE();
}

CS_HOT void cs_otel_detach(void)
{
    cs_otel_attach(NULL);
}

CS_HOT struct cs_otel_record *cs_otel_attached(void)
{
    return otel_thread_ctx_v1;
}

/* An empty record. */
CS_HOT void cs_otel_clear(struct cs_otel_record *record)
{
    struct cs_otel_record *attached = otel_thread_ctx_v1;
    if (attached == record)
        cs_otel_detach();
    memset(record, 0, sizeof *record - sizeof record->attributes);
    record->valid = 1;
    cs_otel_attach(attached);
}

/* Trace and span, both or (NULL) none. */
CS_HOT void cs_otel_span(struct cs_otel_record *record, const uint8_t trace_id[16], const uint8_t span_id[8],
                         uint8_t trace_flags)
{
    struct cs_otel_record *attached = otel_thread_ctx_v1;
    const int set = trace_id && span_id;
    if (attached == record)
        cs_otel_detach();
    memset(record->trace_id, 0, 24);
    if (set) {
        memcpy(record->trace_id, trace_id, 16);
        memcpy(record->span_id, span_id, 8);
    }
    record->trace_flags = set ? trace_flags : 0;
    cs_otel_attach(attached);
}

/* Adds an attribute, of at most 255 bytes of UTF-8; the last one of a key holds. The record may be attached: the
 * size is stored last. 0, -ENOSPC when the record is full, -EINVAL for no key or too long a value. */
CS_HOT int cs_otel_add(struct cs_otel_record *record, int key, const char *value, size_t bytes)
{
    const size_t at = record->attributes_bytes;
    if (key < 0 || key > 255 || bytes > 255)
        return -EINVAL;
    if (at + 2 + bytes > sizeof record->attributes)
        return -ENOSPC;
    record->attributes[at] = (uint8_t)key;
    record->attributes[at + 1] = (uint8_t)bytes;
    memcpy(record->attributes + at + 2, value, bytes);
    CS_OTEL_FENCE();
    *(volatile uint16_t *)&record->attributes_bytes = (uint16_t)(at + 2 + bytes);
    return 0;
}

/* ---- cold ---- */

/* The number of an attribute's name (at most 63 bytes), the same again for the same name; publishes it. -EINVAL,
 * -ENOSPC after 256 names, or why nothing can be published. Once it has returned, records may use it. */
CS_API int cs_otel_key(const char *name);

/* Describes the process, by OpenTelemetry's names: {"service.name", "shop", "service.version", "1.2"}, 2 `n`
 * texts, which are copied. What was said before is replaced. 0, -EINVAL, -ENOSPC above 4 KiB in all, or why
 * nothing can be published. */
CS_API int cs_otel_resource(const char *const *names_and_values, unsigned n);

/* cs_otel_attach and cs_otel_attached as functions, for other languages. */
CS_API void cs_otel_switch(struct cs_otel_record *record);
CS_API struct cs_otel_record *cs_otel_current(void);

#ifdef __cplusplus
}
#endif
#endif
