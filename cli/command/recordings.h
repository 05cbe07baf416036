/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which epochs of a store a report reads: --epoch, else the newest recording. */
#pragma once

#include "store/store.h"

/* What the report is about: -1, -2, ... count epochs with samples, or those that `observe` wrote. Of chains, waits
 * and labels nothing but the epoch tells the time. */
enum recordings_of { RECORDINGS_OF_SAMPLES, RECORDINGS_OF_OBSERVER, RECORDINGS_OF_CHAINS };

struct recordings {
    unsigned n;                  /* there are, of what the report is about */
    bool all, daemon;            /* all are read; because a daemon wrote them */
    char name[128];              /* of the one that is read, "" where all are */
    char before[128];            /* the one before it, "" = none */
    struct cs_store_times times; /* that are read; 0 = all of those epochs */
    char label[24]; /* by what it was kept apart: "thread", ...; "" = not, or several recordings */
};

/* Opens the store for reading. `epoch`: NULL or "newest" the newest recording and the newest observation, all
 * of a store whose newest recording is a daemon's; "all"; "-1" the newest, "-2" the one before, ...; a name, or
 * what only one name begins with. Behind it or alone "@FROM..TO" in ms (time_range.h): what was sampled then; a remark says what is
 * shown beyond. -ENOENT, with a sentence, where there is no such epoch or time. `out_which` may be NULL. */
int recordings_open(const char *path, const char *epoch, enum recordings_of of, struct cs_store **out,
                    struct recordings *out_which, struct cs_error *err);
/* The epochs of a store that it sees, the newest first; where `which` chose one, that alone. */
struct recording_names {
    char **at;
    size_t n, capacity;
};
int recording_names_open(struct recording_names *names, struct cs_store *store,
                         const struct recordings *which, struct cs_error *err);
void recording_names_close(struct recording_names *names);
/* -EINVAL where two times that were asked for are, in this store, much the same. */
int recordings_apart(const struct cs_store_times *a, const struct cs_store_times *b, struct cs_error *err);
/* -ENOENT, and that there is one recording where two are compared. */
int recordings_are_not_two(const char *path, struct cs_error *err);
