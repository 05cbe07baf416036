/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two builds of one program in one store: which build-ids it had, when, and which epochs speak for each.
 *
 * Epochs are of two sorts. A recording of a command counted what the command took: it is a run, and only recordings with
 * the head's arguments count. A recording that has both builds counts for none. A daemon's epochs count nothing that is the
 * program's work, so only the shares of the program's functions can be compared. An epoch that has both builds then counts for
 * both: their samples are apart.
 *
 * Files of this module:
 *   builds     the builds of a program in a store, and their epochs
 *   label      what a build says of itself
 *   note       ... by bytes of its file
 *   commits    the commits of builds
 *   git        asks git
 *   git_lines  ... and takes its answer apart */
#pragma once

#include "cli/gate/verdict/verdict.h"
#include "image/code.h"
#include "store/store.h"

struct gate_build_epoch {
    char *name;
    uint64_t began_ms, ended_ms;
    double cost; /* of the build's samples in it, in the units of all events */
    bool counts;
};

struct gate_build {
    char id[CS_IMAGE_ID_MAX]; /* the build-id; of an image that has none the store's id */
    char *path;
    struct gate_build_epoch *epoch; /* oldest first */
    size_t n_epochs, capacity;
    const char **used; /* those that count */
    size_t n_used;
    bool nameless;               /* its file is gone, and with it the names of its functions */
    char label[128], commit[72]; /* by itself or a note; "": unknown */
};

struct gate_commits {
    bool known;     /* both commits were found in the repository */
    size_t n;       /* between base and head */
    bool backwards; /* the head's commit is older */
    char **line;    /* the newest ones: a short hash and the subject */
    size_t n_lines;
};

struct gate_builds {
    const char *store, *image, *repository;
    struct gate_build *all; /* in the order that they appeared in */
    size_t n, capacity;
    struct gate_build *side[2];
    bool recordings;       /* of one command, each a run; else a daemon's epochs */
    size_t left_out[2][3]; /* epochs, by GATE_OUT_... */
    struct gate_commits commits;
};

/* Why an epoch counts for no side. */
enum { GATE_OUT_BOTH, GATE_OUT_OTHER, GATE_OUT_FEW };

/* `wanted`: beginnings of the build-ids of base and head; NULL: the newest two, or the neighbour of the other. Closed in both cases. */
int gate_builds_open(struct gate_builds *builds, const char *store, const char *image,
                     const char *const wanted[2], struct cs_error *err);
void gate_builds_close(struct gate_builds *builds);
/* What the build wrote into the file: a package and its version (".note.package", systemd's packaging metadata), or Go's
 * revision. Texts are as the file has them, a commit is hex. */
void gate_build_label(const struct cs_image_code *code, struct gate_build *build);
/* The same of the section's bytes. They may be hostile. */
void gate_label_of_package(const uint8_t *note, size_t n, struct gate_build *build);
void gate_label_of_go(const uint8_t *section, size_t n, struct gate_build *build);
/* Which commits the builds are of: by git notes that have the build-id, else by what the builds say themselves. */
int gate_builds_find_commits(struct gate_builds *builds, const char *repository, struct cs_error *err);
/* Is there a side whose functions have no names? */
bool gate_is_nameless(const struct gate *gate);
/* Notes about what was compared. */
void gate_builds_say(struct gate *gate);
