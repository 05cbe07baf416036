/* SPDX-License-Identifier: MIT */
/* What a target links to publish signals. What reads them is signals/reader/reader.h.
 *
 * Files of this module:
 *   cyclescope          the installed header: setting signals
 *   cyclescope_measure  the installed header: sections measured in the program itself
 *   cyclescope_otel     the installed header: OpenTelemetry's thread context
 *   cyclescope_profile  the installed header: a program that profiles a part of itself
 *   profile             starts and ends its recorder
 *   segment             the shared segment's layout (this header)
 *   runtime             inside of the runtime that targets link
 *   segment_map         making the segment, and a forked child's
 *   lines               who owns which line
 *   lock                the lock of the cold paths
 *   names               defining signals, naming values
 *   otel                OpenTelemetry's process context
 *   page                a line as a page of the thread's own storage
 *   compiled            signals that the compiler plugin's code writes
 *   threads             a new thread's line appears by itself
 *   thread_attached     starts threads that attach themselves first
 *   threads_static      the same in programs without a dynamic linker
 *   trace_pc            programs built with -fsanitize-coverage=trace-pc
 *
 * The shared segment's layout is the contract between a target (signals/) and its readers (observer/,
 * cli/). See shim-2015 section 3 (signal system). Plain numbers, little-endian, no pointers. A reader
 * trusts nothing in it.
 *
 * The segment is a memfd named CS_SEGMENT_NAME, mode 0600, mapped in the target, with its descriptor open
 * there (close-on-exec). It is sealed against shrinking and growing, so that a mapping of it can't fault.
 * It dies with the process or its exec; nothing is left behind. A reader reaches it through /proc/PID/fd or
 * /proc/PID/map_files, which work from any mount or PID namespace above the target's.
 *
 *   0          header
 *   signals_at struct cs_segment_signal [CS_SIGNALS_MAX], by word
 *   owners_at  struct cs_segment_owner [n_lines]
 *   lines_at   lines: n_lines times line_bytes (a multiple of 128: adjacent-line prefetch couples pairs)
 *   names_at   append-only heap of struct cs_segment_name, published by a release store of names_used
 *
 *   line:  | word 0 | word 1 | ... | word 14 | word 15 |    8 bytes each
 *            code     signals' values          scrap: what can't be placed goes here; nobody reads it
 *
 * A thread owns one line. Its identity is in owners, separate from the line, so that registering or reading
 * it never disturbs a hot line.
 *
 * What a value of an address tag says (is_address):
 *   0                    nothing was set yet
 *   positive (int64_t)   an address in the process
 *   negative (int64_t)   exe_base - value is the address: code of the main executable, an immediate operand
 *
 * Being observed: an observer holds a shared lock (F_OFD_SETLK, F_RDLCK, the whole file) on a descriptor of its own. It
 * wakes those that wait on the header's `pid` as on a futex. A program that would do more while it is observed asks
 * with F_OFD_GETLK for F_WRLCK on a description of its own, which takes nothing. A lock and not a word in the segment:
 * an observer writes nothing there, and the kernel takes the lock back however it ends. Nobody can forge it who
 * couldn't read the segment. A program that holds a lock itself to keep an observer's out only keeps itself from
 * knowing.
 *
 * Synchronisation:
 *   signal values           plain stores by the owner, plain loads by readers
 *   kind, names_used, tid   release stores, acquire loads
 *   everything but values   written under `lock`, by the target only */
#ifndef CS_SIGNALS_SEGMENT_H
#define CS_SIGNALS_SEGMENT_H

#include <stdint.h>

#define CS_SEGMENT_NAME "cyclescope.1"         /* what memfd_create was given; the number is the version */
#define CS_SEGMENT_MAGIC 0x314c414e47495343ull /* "CSIGNAL1" read as little-endian bytes */
#define CS_SEGMENT_VERSION 1
#define CS_SIGNALS_MAX 16 /* words of a line */
#define CS_SCRAP_WORD 15  /* never a signal */
#define CS_LINE_BYTES 128
#define CS_LINES_MAX 8192 /* threads alive at once; further ones share a private sink */
#define CS_SIGNAL_NAME_MAX 48

enum cs_signal_kind { CS_SIGNAL_NONE = 0, CS_SIGNAL_TAG = 1, CS_SIGNAL_COUNTER = 2 };

struct cs_segment_signal {
    char name[CS_SIGNAL_NAME_MAX]; /* UTF-8, NUL-terminated */
    uint32_t kind;                 /* enum cs_signal_kind; written last (release); 0 = no signal here */
    uint32_t word;                 /* index in the line = index in the table */
    uint32_t is_address;           /* tag values are code or data addresses of the process, see above */
    uint32_t reserved;
};

struct cs_segment_owner {
    uint32_t tid; /* target's PID namespace; 0 = free; written last (release) on claim, first on release */
    uint32_t generation; /* counts claims of this line: a reader that saw it change saw another thread */
    uint32_t users;      /* copies of the library that know this thread */
    uint32_t reserved;
};

struct cs_segment_header {
    uint64_t magic;
    uint32_t version, header_bytes;
    uint32_t pid;       /* in the target's own PID namespace */
    uint32_t n_signals; /* defined so far */
    uint64_t start_ns;  /* CLOCK_MONOTONIC at creation */
    uint64_t size;      /* of the file */
    uint64_t signals_at, owners_at, lines_at, names_at;
    uint64_t names_used, names_size; /* bytes */
    uint32_t n_lines, line_bytes;
    uint32_t lines_used; /* highest line ever claimed + 1 */
    uint32_t lock;       /* the target's own: tid of the holder */
    uint64_t exe_base;   /* address of the main executable's ELF header; 0 = unknown */
    uint32_t copies;     /* of the library in this process that joined this segment */
    uint32_t first_free; /* no line below it is free */
    uint64_t lines_lost; /* threads that found no line */
    uint64_t names_lost; /* names that found no room */
};

/* One registered name of a value, 8-byte aligned in the heap. The last one of a value is the one that holds.
 */
struct cs_segment_name {
    uint32_t bytes;  /* of this record, multiple of 8 */
    uint16_t signal; /* index of the signal */
    uint16_t length; /* of text, without NUL */
    uint64_t value;
    char text[]; /* UTF-8 */
};
/* Where the value stands for machine code, a record is longer than its text needs by these bytes, its last. */
struct cs_segment_code {
    uint64_t start, size; /* in the process */
};
#define CS_SEGMENT_NAME_BYTES(length) ((sizeof(struct cs_segment_name) + (length) + 1u + 7u) & ~(size_t)7)

#endif
