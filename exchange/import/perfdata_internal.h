/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the four files of the perf.data reader share; nobody else includes it.
 *   perfdata.c         header, pipe, order by time
 *   perfdata_frames.c  bytes into records, compressed ones too
 *   perfdata_event.c   events and features: attributes, names, ids, build-ids
 *   perfdata_record.c  one record's bytes into a struct cs_perfdata_record */
#pragma once

#include "exchange/import/perfdata.h"

#include <string.h>

/* perf's own record types, above the kernel's. */
enum {
    RECORD_MMAP = 1,
    RECORD_LOST = 2,
    RECORD_COMM = 3,
    RECORD_EXIT = 4,
    RECORD_THROTTLE = 5,
    RECORD_UNTHROTTLE = 6,
    RECORD_FORK = 7,
    RECORD_SAMPLE = 9,
    RECORD_MMAP2 = 10,
    RECORD_LOST_SAMPLES = 13,
    RECORD_KERNEL_END = 64,
    RECORD_ATTR = 64,
    RECORD_TRACING_DATA = 66,
    RECORD_BUILD_ID = 67,
    RECORD_FINISHED_ROUND = 68,
    RECORD_AUXTRACE = 71,
    RECORD_EVENT_UPDATE = 78,
    RECORD_FEATURE = 80,
    RECORD_COMPRESSED = 81,
    RECORD_COMPRESSED2 = 83,
    RECORD_TYPES_PLAUSIBLE = 4096, /* no perf has or will soon have this many */
};

enum {
    SAMPLE_IP = 1 << 0,
    SAMPLE_TID = 1 << 1,
    SAMPLE_TIME = 1 << 2,
    SAMPLE_ADDR = 1 << 3,
    SAMPLE_READ = 1 << 4,
    SAMPLE_CALLCHAIN = 1 << 5,
    SAMPLE_ID = 1 << 6,
    SAMPLE_CPU = 1 << 7,
    SAMPLE_PERIOD = 1 << 8,
    SAMPLE_STREAM_ID = 1 << 9,
    SAMPLE_RAW = 1 << 10,
    SAMPLE_BRANCHES = 1 << 11,
    SAMPLE_REGISTERS = 1 << 12,
    SAMPLE_STACK = 1 << 13,
    SAMPLE_WEIGHT = 1 << 14,
    SAMPLE_DATA_SOURCE = 1 << 15,
    SAMPLE_IDENTIFIER = 1 << 16,
    SAMPLE_WEIGHT_STRUCT = 1 << 24,
};

enum {
    FEATURE_BUILD_ID = 2,
    FEATURE_HOSTNAME = 3,
    FEATURE_RELEASE = 4,
    FEATURE_ARCH = 6,
    FEATURE_CPU_DESCRIPTION = 8,
    FEATURE_CPUID = 9,
    FEATURE_EVENT_DESC = 12,
    FEATURES = 256
};

#define ATTR_FREQUENCY (1u << 10)
#define ATTR_SAMPLE_ID_ALL (1u << 18)
#define EVENTS_MAX 4096
#define RECORD_HEADER 8
#define RECORD_MAX 65536

struct id_entry {
    uint64_t id;
    unsigned event;
};

struct build_id_entry {
    char *path;
    uint8_t id[CS_PERFDATA_BUILD_ID_BYTES];
    unsigned bytes;
};

struct queued {
    uint64_t time_ns, sequence;
    uint8_t *bytes;
};

struct cs_perfdata {
    FILE *file;
    const char *name;
    bool swapped, piped;
    uint64_t data_left; /* bytes of the data section not read yet (file mode) */
    size_t short_bytes; /* what was left of the input when it ended within a record */
    uint64_t position;  /* of the record in the input, for sentences */
    struct cs_perfdata_attr *events;
    unsigned n_events;
    struct id_entry *ids; /* sorted by id when `ids_sorted` */
    size_t n_ids, ids_capacity;
    bool ids_sorted;
    struct build_id_entry *build_ids;
    size_t n_build_ids;
    char host[256], arch[64], release[128], cpu[128], cpuid[64];
    struct cs_perfdata_counts counts;
    /* decompression */
    void *zstd; /* ZSTD_DCtx */
    uint8_t *plain;
    size_t plain_used, plain_at, plain_room;
    /* order by time */
    struct queued *heap;
    size_t n_heap, heap_capacity, heap_bytes;
    uint64_t sequence, newest_ns, newest_at_mark_ns, release_until_ns;
    bool at_end;
    uint8_t *frame;     /* RECORD_MAX bytes: the record being read */
    uint8_t *delivered; /* the record handed out last */
    struct cs_perfdata_branch *branches;
    uint64_t *chain;
    uint64_t registers[64];
};

/* Loads in the file's byte order. */
static inline uint16_t load16(const struct cs_perfdata *in, const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return in->swapped ? __builtin_bswap16(v) : v;
}
static inline uint32_t load32(const struct cs_perfdata *in, const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return in->swapped ? __builtin_bswap32(v) : v;
}
static inline uint64_t load64(const struct cs_perfdata *in, const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return in->swapped ? __builtin_bswap64(v) : v;
}

/* perfdata_event.c */
int cs_perfdata_add_attr(struct cs_perfdata *in, const uint8_t *attr, size_t bytes, unsigned *event,
                         struct cs_error *err);
int cs_perfdata_add_id(struct cs_perfdata *in, uint64_t id, unsigned event, struct cs_error *err);
/* The event of a sample's or record's id; -1 when there is none. */
int cs_perfdata_find_event(struct cs_perfdata *in, uint64_t id);
int cs_perfdata_feature(struct cs_perfdata *in, unsigned feature, const uint8_t *bytes, size_t size,
                        struct cs_error *err);
int cs_perfdata_add_build_id(struct cs_perfdata *in, const uint8_t *event, size_t bytes,
                             struct cs_error *err);
int cs_perfdata_update_event(struct cs_perfdata *in, const uint8_t *record, size_t bytes,
                             struct cs_error *err);

/* perfdata_record.c */
/* Time of a record, 0 where it carries none. */
uint64_t cs_perfdata_record_time(struct cs_perfdata *in, const uint8_t *record);
/* 1 delivered, 0 nothing for the caller, <0 a sentence. */
int cs_perfdata_parse(struct cs_perfdata *in, const uint8_t *record, struct cs_perfdata_record *out,
                      struct cs_error *err);

/* perfdata_frames.c */
/* The next record's bytes: 1, 0 at the end, <0. */
int cs_perfdata_frame(struct cs_perfdata *in, const uint8_t **frame, struct cs_error *err);
int cs_perfdata_skip(struct cs_perfdata *in, uint64_t bytes, struct cs_error *err);
int cs_perfdata_decompress(struct cs_perfdata *in, const uint8_t *bytes, size_t size, struct cs_error *err);

int cs_perfdata_no_memory(const struct cs_perfdata *in, struct cs_error *err);
int cs_perfdata_malformed(const struct cs_perfdata *in, struct cs_error *err, const char *what);
#ifdef __clang_analyzer__ /* which can't see that it returns less than 0 */
#define cs_perfdata_malformed(...) ((cs_perfdata_malformed)(__VA_ARGS__), -1)
#endif
