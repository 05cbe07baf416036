/* SPDX-License-Identifier: MIT */
/* The shared segment's layout: the contract between a target (signals/) and whoever reads it (observer/,
 * cli/). shim-2015 section 3 (signal system). Plain data, little-endian, no pointers. A reader trusts nothing
 * in it.
 *
 *   0          header, one page
 *   signals_at struct cs_segment_signal [CS_SIGNALS_MAX]
 *   lines_at   lines: n_lines times line_bytes (a multiple of 128: adjacent-line prefetch couples pairs of
 * lines) names_at   append-only heap of struct cs_segment_name, published by a release store of names_used
 *
 * A thread owns one line; word 0..15 of the line are signals' values (64 bit each), the thread's identity
 * stands in owner[] (apart from the line, so that registering or reading it never disturbs a hot line).
 *
 * Synchronisation: signal values: plain stores by the owner, plain loads by readers. n_signals, names_used,
 * owner words, generation: release stores, acquire loads. */
#ifndef CS_SIGNALS_SEGMENT_H
#define CS_SIGNALS_SEGMENT_H

#include <stdint.h>

#define CS_SEGMENT_MAGIC 0x00314c474953534355ull /* "USCSIGL1" read as little-endian bytes */
#define CS_SEGMENT_VERSION 1
#define CS_SIGNALS_MAX 16 /* words of a line */
#define CS_LINE_BYTES 128
#define CS_LINES_MAX 8192 /* threads alive at once; further ones share a private sink */
#define CS_SIGNAL_NAME_MAX 48

enum cs_signal_kind { CS_SIGNAL_TAG = 1, CS_SIGNAL_COUNTER = 2 };

struct cs_segment_signal {
    char name[CS_SIGNAL_NAME_MAX]; /* UTF-8, NUL-terminated */
    uint32_t kind;                 /* enum cs_signal_kind; written last (release) */
    uint32_t word;                 /* index in the line */
    uint32_t is_address;           /* tag values are code or data addresses of the process */
    uint32_t reserved;
};

struct cs_segment_owner {
    uint32_t tid;        /* 0 = the line is free; written last (release) on claim, first on release */
    uint32_t generation; /* counts claims of this line: a reader that saw it change saw another thread */
};

struct cs_segment_header {
    uint64_t magic;
    uint32_t version, header_bytes;
    uint32_t pid; /* in the target's own PID namespace */
    uint32_t n_signals;
    uint64_t start_ns; /* CLOCK_MONOTONIC at creation */
    uint64_t size;     /* of the file */
    uint64_t signals_at, owners_at, lines_at, names_at;
    uint64_t names_used, names_size;
    uint32_t n_lines, line_bytes;
    uint32_t lines_used; /* highest line ever claimed + 1 */
    uint32_t reserved;
};

/* One registered name of a value, 8-byte aligned in the heap. */
struct cs_segment_name {
    uint32_t bytes;  /* of this record, multiple of 8 */
    uint16_t signal; /* index of the signal */
    uint16_t length; /* of text, without NUL */
    uint64_t value;
    char text[];
};

#endif
