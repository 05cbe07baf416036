/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What runs now: top.
 *
 * Files of this module:
 *   top                the subcommand top
 *   top_view           what is shown and what keys do
 *   live               samples of the last seconds
 *   live_instructions  one procedure's instructions
 *
 * Samples of the last seconds, summed by procedure, process or image: what `top` shows.
 *
 *     live_open(&live, store, 10);                     the last ten rounds count
 *     live_add(live, &placed);                         each count as it comes
 *     live_learn(live);                                after a merge of the sampler
 *     live_round(live);                                a round is over: the oldest one no longer counts
 *     live_rows(live, LIVE_PROCEDURES, &only, &rows);  most samples first
 *
 * A point (process, image, offset) finds its procedure once. What nobody sampled within the window is
 * forgotten, so that memory stays bounded however long it runs. One owner, one thread.
 */
#pragma once

#include "image/code.h"
#include "sampler/sampler.h"

enum live_by { LIVE_PROCEDURES, LIVE_PROCESSES, LIVE_IMAGES, LIVE_BYS };

struct live;

/* Which part of the samples: 0 and NULL = all. */
struct live_only {
    pid_t pid;
    const char *image; /* a row's image */
    const char *words; /* in the name of the row, whatever the case */
};

struct live_row {
    uint64_t samples;
    uint64_t total;    /* procedures only: in what it called, too */
    const char *name;  /* procedure, command or image; never NULL, valid until the next live_rows */
    const char *image; /* base name; NULL for processes */
    pid_t pid;         /* processes only */
    uint32_t procedure;
};

struct live_rows {
    struct live_row *row;
    size_t n;
    uint64_t total, unknown; /* of the part, before `words` */
    uint64_t
        in_any_image; /* the same processes' samples in all images: what a procedure's total is a share of */
};

/* One instruction of a procedure, in the order of addresses. */
struct live_insn {
    uint64_t offset, samples;
    unsigned line; /* 0 = unknown */
    char text[96]; /* "" where the bytes are not known */
};

struct live_insns {
    struct live_insn *insn;
    size_t n;
    uint64_t total;
    char name[512], file[512], trouble[256];
};

/* `store` is where the names of kernel and JIT code are found (may be NULL); -ENOMEM. */
int live_open(struct live **out, struct cs_store *store, unsigned rounds);
void live_close(struct live *live);
int live_add(struct live *live, const struct cs_sampler_placed *placed);
/* After a merge: names that the store learned by it are looked up. */
void live_learn(struct live *live);
void live_round(struct live *live);
/* Forgets all samples. */
void live_clear(struct live *live);
int live_rows(struct live *live, enum live_by by, const struct live_only *only, struct live_rows *rows);
void live_rows_fini(struct live_rows *rows);
/* What is behind `procedure` of a row: its name, its image's code, where it starts; false when nothing is. */
bool live_procedure(const struct live *live, uint32_t procedure, const char **name,
                    struct cs_image_code **code, uint64_t *start);
/* Its points, in no order; pid 0 = of all processes. */
void live_points(const struct live *live, uint32_t procedure, pid_t pid,
                 void (*visit)(uint64_t offset, uint64_t samples, void *arg), void *arg);

/* `procedure` of a row. -ENOENT for code without a name, -ENOMEM. */
int live_instructions(struct live *live, uint32_t procedure, pid_t pid, struct live_insns *insns);
void live_insns_fini(struct live_insns *insns);
