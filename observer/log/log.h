/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples in a file, played back, and aggregates in the store.
 *
 * Files of this module:
 *   log            writing the sample log
 *   log_read       reading it
 *   log_head       its head, as it is in a file
 *   log_values     which values tags have in a log
 *   replay         a log through the same judgement and sums as in the loop
 *   aliases        values of a tag that are one region
 *   timeline       a log over time
 *   lengths        how long values of a tag stood
 *   length_distribution  the most likely distribution of lengths
 *   numbering      whether values are numbers that only grow
 *   save           aggregates into the store
 *   load           aggregates out of the store
 *
 * The sample log: a head, then chunks of samples, each compressed; LOG.md specifies every byte. Between the
 * last sample of a chunk and the first of the next the observer was writing: that is a gap, never an
 * interval.
 *
 * Writer: the loop's thread adds; nothing is allocated after cs_observe_log_create. Reader: one owner. A log whose
 * end is missing (crash, full disk) is readable up to its last whole chunk, and the reader says so. */
#pragma once

#include "observer/sample/sample.h"
#include "store/base/error.h"

#include <stddef.h>
#include <stdint.h>

#define CS_OBSERVE_LOG_MAGIC 0x31474f4c43594355ull /* "UCYCLOG1" */
#define CS_OBSERVE_LOG_VERSION 2                   /* with three or four tags, else 1 */
#define CS_OBSERVE_LOG_TAGS_1 2                    /* that a head of version 1 has */
#define CS_OBSERVE_LOG_NAME_MAX 64

/* In a file the names of the third and fourth tag stand at the end (log_head.h). */
struct cs_observe_log_head {
    uint64_t magic;
    uint32_t version, head_bytes;
    uint32_t n_tags, n_software, n_hardware, follow;
    uint64_t cycles_per_second;
    uint64_t period_cycles;  /* as asked; 0 = as fast as it can */
    uint64_t wall_ns, clock; /* CLOCK_REALTIME and TSC at the start */
    uint32_t pid, target_cpu, observer_cpu, reserved;
    char program[CS_OBSERVE_LOG_NAME_MAX];
    char tags[CS_TAGS_MAX][CS_OBSERVE_LOG_NAME_MAX], counters[CS_COUNTERS_MAX][CS_OBSERVE_LOG_NAME_MAX];
};

enum cs_observe_log_chunk_kind {
    CS_OBSERVE_LOG_SAMPLES = 1,
    CS_OBSERVE_LOG_NAMES = 2,
    CS_OBSERVE_LOG_END = 3
};

struct cs_observe_log_chunk {
    uint32_t magic, kind; /* CS_OBSERVE_LOG_CHUNK_MAGIC */
    uint64_t records, raw_bytes, packed_bytes;
    uint64_t hash; /* XXH64 of the packed bytes, seed 0 */
};
#define CS_OBSERVE_LOG_CHUNK_MAGIC 0x4b4e4843u /* "CHNK" */

struct cs_observe_log;

/* `chunk_bytes` of samples are collected in memory between two writes (0 = 1 MiB). */
int cs_observe_log_create(const char *path, const struct cs_observe_log_head *head, size_t chunk_bytes,
                          struct cs_observe_log **out, struct cs_error *err);
/* Name of a tag's value; any time the loop isn't running. */
int cs_observe_log_name(struct cs_observe_log *log, unsigned tag, uint64_t value, const char *name,
                        struct cs_error *err);
/* Writes what is left and the end mark. Reports the first write that failed, whenever that was. */
int cs_observe_log_finish(struct cs_observe_log *log, struct cs_error *err);
void cs_observe_log_close(struct cs_observe_log *log);
uint64_t cs_observe_log_samples(const struct cs_observe_log *log);
/* Cycles from the first sample to the last, without those in which it wrote; 0: nothing is written yet. */
uint64_t cs_observe_log_covered(const struct cs_observe_log *log, uint64_t *first);

/* ---- hot ---- */
struct cs_observe_log_place { /* the head of struct cs_observe_log: where the next record goes */
    uint64_t *next, *end;
};
/* Compresses and writes the chunk; afterwards there is room again. */
void cs_observe_log_flush(struct cs_observe_log *log);

/* Words of a record: start, took | flags << 32, who where followed, counters, tags. */
static inline __attribute__((always_inline)) void cs_observe_log_add(struct cs_observe_log *log,
                                                                     unsigned n_tags, unsigned n_counters,
                                                                     bool follow, const struct cs_sample *s)
{
    struct cs_observe_log_place *place = (struct cs_observe_log_place *)log;
    uint64_t took = s->end - s->start, *at = place->next;
    took = took > UINT32_MAX ? UINT32_MAX : took;
    *at++ = s->start;
    *at++ = took | (uint64_t)s->complete << 32 | (uint64_t)s->descheduled << 33;
    if (follow)
        *at++ = s->thread_id;
#pragma GCC unroll 4
    for (unsigned c = 0; c < n_counters; c++)
        *at++ = s->counters[c];
#pragma GCC unroll 2
    for (unsigned t = 0; t < n_tags; t++)
        *at++ = s->tags[t];
    place->next = at;
    if (__builtin_expect(at >= place->end, 0))
        cs_observe_log_flush(log);
}

/* ---- reading ---- */
struct cs_observe_log_reader;
int cs_observe_log_open(const char *path, struct cs_observe_log_reader **out, struct cs_error *err);
void cs_observe_log_reader_close(struct cs_observe_log_reader *r);
const struct cs_observe_log_head *cs_observe_log_reader_head(const struct cs_observe_log_reader *r);
/* 1 and the next sample, 0 at the end, <0 with a sentence where the log is damaged. *after_gap: no interval
 * ends with this sample. */
int cs_observe_log_next(struct cs_observe_log_reader *r, struct cs_sample *sample, bool *after_gap,
                        struct cs_error *err);
/* Takes the names of all chunks from here on, and passes over the samples. What is damaged ends it: a reading of the samples
 * tells. 0, or -ENOMEM with a sentence. */
int cs_observe_log_skip_to_names(struct cs_observe_log_reader *r, struct cs_error *err);
/* How far it is, in bytes of the file. */
void cs_observe_log_reader_place(const struct cs_observe_log_reader *r, uint64_t *done, uint64_t *total);
/* True once the end was reached without its mark: the writer did not finish. */
bool cs_observe_log_cut_short(const struct cs_observe_log_reader *r);
/* All names, in file order; complete after the last sample was read. */
size_t cs_observe_log_reader_names(const struct cs_observe_log_reader *r);
const char *cs_observe_log_reader_name(const struct cs_observe_log_reader *r, size_t i, unsigned *tag,
                                       uint64_t *value);
/* What a value is called: by the last name that the log gives it; NULL = by none. */
const char *cs_observe_log_reader_name_of(const struct cs_observe_log_reader *r, unsigned tag,
                                          uint64_t value);

/* Visits the values that samples of the log have for the tags of the set `tags` (bit t: tag t), each once,
 * the first 16,384 of a tag; stops at a negative return. Reads the whole log, also one that has no end mark
 * yet. */
int cs_observe_log_values(const char *path, unsigned tags,
                          int (*visit)(void *arg, unsigned tag, uint64_t value), void *arg,
                          struct cs_error *err);
