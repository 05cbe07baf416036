/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads perf.data files as a stream of records in time order. They may be in file and in pipe mode, of
 * either byte order, from perf 3.2 on. Format: the kernel's include/uapi/linux/perf_event.h and
 * tools/perf's perf.data-file-format.txt.
 *
 * Nothing in a file is trusted. Every length is checked, unknown records are counted and skipped, and a file
 * that can't be right is refused with one sentence. Memory: the records between two "finished round" marks
 * (bounded by CS_PERFDATA_QUEUE_BYTES, after which the oldest go first), never the file.
 *
 * May use: the C library, zstd, store/base/error.h. Not thread-safe: one reader, one owner.
 *
 *      struct cs_perfdata *in;
 *      struct cs_perfdata_record record;
 *      cs_perfdata_open(file, "perf.data", &in, &err);
 *      while ((got = cs_perfdata_next(in, &record, &err)) > 0) ...
 *      cs_perfdata_close(in);
 */
#pragma once

#include "store/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CS_PERFDATA_QUEUE_BYTES (64u << 20)
#define CS_PERFDATA_BUILD_ID_BYTES 20

enum cs_perfdata_kind {
    CS_PERFDATA_SAMPLE,
    CS_PERFDATA_MMAP,
    CS_PERFDATA_COMM,
    CS_PERFDATA_FORK,
    CS_PERFDATA_EXIT,
    CS_PERFDATA_LOST
};

enum cs_perfdata_mode {
    CS_PERFDATA_MODE_UNKNOWN,
    CS_PERFDATA_MODE_KERNEL,
    CS_PERFDATA_MODE_USER,
    CS_PERFDATA_MODE_HYPERVISOR,
    CS_PERFDATA_MODE_GUEST
};

struct cs_perfdata_branch {
    uint64_t from, to;
    uint64_t flags; /* bit 0 mispredicted, bit 1 predicted; the rest as the kernel has it (lost in a swapped
                       file) */
};

/* Pointers are valid until the next call. Fields that a record doesn't have are 0. */
struct cs_perfdata_record {
    enum cs_perfdata_kind kind;
    enum cs_perfdata_mode mode;
    uint32_t pid, tid, parent;
    uint64_t time_ns;
    /* samples */
    unsigned event; /* index, see cs_perfdata_event */
    uint64_t ip, period;
    uint64_t enabled_ns, running_ns; /* of the counter, cumulative, where the sample carries them */
    const uint64_t *chain;           /* call chain, innermost first, context marks included */
    size_t n_chain;
    const struct cs_perfdata_branch *branches; /* newest first */
    size_t n_branches;
    uint64_t registers_mask;   /* of the user's registers, by the kernel's numbers */
    const uint64_t *registers; /* one a bit; NULL: none, or of a 32-bit program */
    const uint8_t *stack;      /* a copy from the user's stack pointer on; NULL: none */
    size_t stack_bytes;
    uint64_t weight;      /* of PEBS, IBS or SPE: cycles from dispatch to data; 0 = not told */
    uint64_t data_source; /* of the access, as union perf_mem_data_src has it; 0 = not told */
    /* mappings (executable ones only) and names */
    uint64_t start, length, page_offset;
    const char *name; /* file of a mapping, command of a CS_PERFDATA_COMM */
    uint8_t build_id[CS_PERFDATA_BUILD_ID_BYTES];
    unsigned build_id_bytes;
    uint32_t device_major, device_minor; /* of that file, where its inode isn't 0 */
    uint64_t inode;
    bool exec; /* CS_PERFDATA_COMM that comes from an exec */
    uint64_t lost;
};

#define CS_PERFDATA_CLOCK (1u << 25)
struct cs_perfdata_attr {
    char name[64];
    uint32_t type;
    uint64_t config, sample_type, branch_type, read_format, flags, registers_user;
    uint64_t period; /* 0 in frequency mode */
    int32_t clock;   /* of its times, where CS_PERFDATA_CLOCK is among the flags */
};

/* What was read, by cause; `skipped` counts records of types that this reader doesn't know or need. */
struct cs_perfdata_counts {
    uint64_t records, samples, mappings, lost, lost_records, throttled, skipped, without_event, forced_order,
        trailing_bytes;
};

struct cs_perfdata;

/* `file` stays the caller's and must outlive the reader; a pipe will do. `name` is for sentences. */
int cs_perfdata_open(FILE *file, const char *name, struct cs_perfdata **out, struct cs_error *err);
void cs_perfdata_close(struct cs_perfdata *in);
/* 1 a record, 0 the end, <0 a sentence. */
int cs_perfdata_next(struct cs_perfdata *in, struct cs_perfdata_record *record, struct cs_error *err);

unsigned cs_perfdata_n_events(const struct cs_perfdata *in);
const struct cs_perfdata_attr *cs_perfdata_event(const struct cs_perfdata *in, unsigned i);
const struct cs_perfdata_counts *cs_perfdata_counts(const struct cs_perfdata *in);
/* Build-id that the file's own table gives for `path`: its length, 0 when none. */
unsigned cs_perfdata_build_id(const struct cs_perfdata *in, const char *path,
                              uint8_t id[CS_PERFDATA_BUILD_ID_BYTES]);
/* "" where the file doesn't say. */
const char *cs_perfdata_host(const struct cs_perfdata *in);
const char *cs_perfdata_arch(const struct cs_perfdata *in);
const char *cs_perfdata_release(const struct cs_perfdata *in); /* of the kernel: "6.1.0-18-amd64" */
const char *cs_perfdata_cpu(const struct cs_perfdata *in);     /* its name */
const char *cs_perfdata_cpuid(const struct cs_perfdata *in);   /* "GenuineIntel,6,60,3" */
