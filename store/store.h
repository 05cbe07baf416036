/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles on disk. What a profile is in memory lies in store/table/, the small things that every module may use
 * in store/base/.
 *
 * Files of this module:
 *   store          the profile store: epochs, merges, walks (this header); the writing side
 *   walk           the reading side: names, counters and tables of all epochs
 *   catalog        what a store holds, without its rows
 *   catalog_kept   the beginnings of all files of an epoch, in one piece
 *   select         the profiles of a query, one by one or as one table
 *   times          a part of a store's time
 *   store_open     what an open store is
 *   profile        one table as the bytes of a file, and back
 *   encode         a table to bytes
 *   decode         bytes to a table, nothing trusted
 *   container      the fixed part of a file, for encode and decode
 *   contexts       a tree of call chains with samples
 *   contexts_table  such trees from tables and into them
 *   contexts_fold   such trees bounded
 *   contexts_tree   what such a tree is, for these three
 *   layout         names of files and directories
 *   file           whole files, replaced atomically; locks; listings
 *   merge_file     one file of a store: read, add, replace
 *   merged         profiles of many files as one table
 *   combine        one store into another
 *   epochs         which epochs there are, and which of them readings see
 *   coarsen        interval profiles with longer intervals
 *   gc             removing whole epochs
 *   retention      which epochs have to go
 *   kept_code      copies of the files behind images
 *   verify         every file read to its last byte; what rows mean is judged by tests/store_reader.py
 *
 * The store is STORE/<epoch>/<image-id>/<profile>.prof, with image.meta next to the profiles and epoch.meta
 * above them. See dcpi-1997 section 4.3.3. The bytes are specified in store/FORMAT.md.
 *
 * Invariants: a profile file is always whole (temporary name, fsync, rename). A reader never locks and sees
 * the profile before or after a merge, never between. Writers of one epoch exclude each other by a lock file.
 * Merging is commutative and associative. Nothing here prints. Depends on nothing of ours.
 *
 *      function                                  beside a reader   beside a writer (process or thread)
 *      cs_store_merge*, _name, _count, _epoch    yes               yes (advisory lock an epoch)
 *      _catalog, _select, _load*, _names, _counter yes               yes
 *      cs_store_gc, _combine, _coarsen           yes               yes
 *
 * One handle (struct cs_store) belongs to one thread at a time.
 */
#pragma once

#include "store/base/error.h"
#include "store/retention.h"
#include "store/table/kinds.h"

#include <stdbool.h>
#include <stdint.h>

#define CS_IMAGE_ID_MAX 64 /* with the terminating NUL */

enum cs_store_image_kind {
    CS_IMAGE_ELF =
        0, /* id = build-id in hex; offset = file offset-independent ELF virtual address (p_vaddr space) */
    CS_IMAGE_KERNEL = 1, /* offset = address - _text */
    CS_IMAGE_MODULE = 2, /* offset = address - module base */
    CS_IMAGE_VDSO = 3,   /* offset as ELF */
    CS_IMAGE_JIT = 4, /* code without a file; offset from the mapping's start; names in the image's symbols */
    CS_IMAGE_TAG = 5, /* pseudo-image of a program's signal values: offset = the value; names in symbols */
    CS_IMAGE_UNKNOWN = 6,  /* what couldn't be placed: offset = the cause (enum of whoever counts) */
    CS_IMAGE_FILE = 7,     /* an ELF file that wasn't at hand when it was imported: offset = file offset */
    CS_IMAGE_CONTEXTS = 8, /* no image: what the profiles of contexts lie under (store/contexts.h) */
};

struct cs_store_image {
    char id
        [CS_IMAGE_ID_MAX]; /* file-system-safe key: build-id in hex, else "x" + 16 hex digits of a hash; then the
                                 owner of a file that others than root may write ("-u1000") */
    enum cs_store_image_kind kind;
    const char *path;     /* as the process saw it; "[kernel]", "[vdso]", "[unknown]" */
    const char *build_id; /* hex, or "" */
};

/* What a profile file holds besides its table. */
struct cs_store_profile_head {
    char event[64]; /* "cpu-clock", "cycles", "observed-cycles", "burst-edges": also the file's name, escaped
                     */
    char label[64]; /* optional partition (process, command, cgroup), "" = none */
    char unit[16];  /* of one period: "ns", "cycles", "events", "" */
    uint64_t
        period_sum; /* sum of the periods of all samples, in `unit`; period_sum / samples = mean period */
    uint64_t enabled_ns, running_ns; /* multiplexing: how long the event was wanted and really ran, summed */
};

struct cs_store;
enum cs_store_mode { CS_STORE_READ, CS_STORE_WRITE /* creates the directory */ };

int cs_store_open(const char *path, enum cs_store_mode mode, struct cs_store **out, struct cs_error *err);
/* For who writes for long: nobody else may replace a folder on its path meanwhile. */
int cs_store_check_place(const struct cs_store *store, struct cs_error *err);
void cs_store_close(struct cs_store *store);
/* One thing that lives as long as the store is open (open files of its images): `destroy` is called before it closes. */
void cs_store_attach(struct cs_store *store, void *what, void (*destroy)(void *what));
void *cs_store_attached(const struct cs_store *store); /* NULL: nothing is */
const char *cs_store_path(const struct cs_store *store);

/* Starts an epoch (its name is <UTC time>-<host>, made unique) and makes it the one that merges go to. `meta`
 * is a JSON object text with what the writer wants kept (command, host, cpu model, clocks, events); may be
 * NULL. */
int cs_store_epoch(struct cs_store *store, const char *meta, struct cs_error *err);
const char *cs_store_epoch_name(const struct cs_store *store); /* "" before the first cs_store_epoch */
/* That the files of the epoch have now; 0 before the first cs_store_epoch. */
uint64_t cs_store_epoch_bytes(const struct cs_store *store);
/* Adds to the epoch's counters ("samples", "lost", "unknown", ...): summed on merge as profiles are. */
int cs_store_count(struct cs_store *store, const char *counter, uint64_t n, struct cs_error *err);
/* The same for several at once: all or none. */
struct cs_counter {
    const char *name;
    uint64_t n;
};
int cs_store_count_all(struct cs_store *store, const struct cs_counter *counters, size_t n,
                       struct cs_error *err);

/* Between these two the directories of what is merged through this handle are synced once, at the end, not
 * after each file: for a writer of many profiles. Other processes see each merge at once as ever; a power cut
 * before the end may take back all of the batch, and leaves no damage. One thread at a time. */
void cs_store_batch_begin(struct cs_store *store);
void cs_store_batch_end(struct cs_store *store);

/* Merges `table` into the current epoch's profile of (image, head->event, head->label). On failure the old
 * profile stays as it was. Contexts are bounded: store/contexts.h. */
int cs_store_merge(struct cs_store *store, const struct cs_store_image *image,
                   const struct cs_store_profile_head *head, struct cs_table *table, struct cs_error *err);
/* Is that what was asked for? A thread also by its name alone: "worker" is each "worker (TID)". */
bool cs_store_label_is(const char *label, const char *asked);

/* Adds names to an image that has no symbol table of its own (JIT, TAG): a table of cs_schema_names, whose rows have value or
 * start offset, size, name. */
int cs_store_merge_names(struct cs_store *store, const struct cs_store_image *image, struct cs_table *names,
                         struct cs_error *err);

struct cs_store_times {
    uint64_t from_ms, to_ms; /* since 1970, the second not included */
};
/* Names of all epochs, newest first, each with the text that cs_store_epoch was given ("" where there is none, or
 * none that can be read). The handle's, until it is closed or asked again. */
struct cs_store_epoch {
    const char *name, *meta;
    struct cs_store_times times; /* from its start until its writer had done with it, or wrote last */
};
int cs_store_epochs(struct cs_store *store, const struct cs_store_epoch **out, size_t *n,
                    struct cs_error *err);
/* From now on what is read through this handle is of these epochs only: walks, names, counters, meta. n = 0:
 * of all again. */
int cs_store_see_only(struct cs_store *store, const char *const *epochs, size_t n, struct cs_error *err);
bool cs_store_sees(const struct cs_store *store, const char *epoch);

/* A profile as store/catalog.h lists it. */
struct cs_store_profile_ref {
    const char *epoch;
    const struct cs_store_image *image;
    const struct cs_store_profile_head *head;
    enum cs_kind kind;
    const char *kind_name; /* "points", "edges", ... */
    const char *file;      /* path */
    uint64_t checksum;     /* of its rows as stored: files with the same rows have the same */
    const uint8_t *bytes;  /* all of the file, where the catalogue holds it: for cs_store_load */
    uint64_t n_bytes;
};
/* Reads a profile's table. The caller closes it. */
int cs_store_load(const struct cs_store_profile_ref *ref, struct cs_table **out, struct cs_error *err);
/* Names given with cs_store_merge_names, over all epochs, ascending by offset. */
int cs_store_names(struct cs_store *store, const char *image_id,
                   int (*visit)(uint64_t offset, uint64_t size, const char *name, void *arg), void *arg,
                   struct cs_error *err);
/* Sum of an epoch counter over all epochs; 0 when never counted. */
int cs_store_counter(struct cs_store *store, const char *counter, uint64_t *sum, struct cs_error *err);

/* Checks every file of the store; calls `bad` with a sentence for each damaged one. Returns their number or
 * <0. */
int cs_store_verify(const char *path, void (*bad)(const char *sentence, void *arg), void *arg,
                    struct cs_error *err);

/* Removes whole epochs as `retention` says, but never `epoch_in_use` (may be NULL) nor the newest one, and
 * what crashes left behind. `removed` (may be NULL) hears of each. Returns their number or <0. A writer whose
 * epoch is removed all the same is told so by its next merge (-ENOENT) and loses nothing. */
int cs_store_gc(const char *path, const struct cs_store_retention *retention, const char *epoch_in_use,
                void (*removed)(const char *epoch, uint64_t bytes, void *arg), void *arg,
                struct cs_error *err);

/* Adds all epochs of one store to another: each under its own name, or all into the epoch `into` (unless
 * NULL). An epoch that is in `to_store` already is refused (-EEXIST: it would count twice) unless `add`. A
 * new epoch appears whole or not at all. `step` (NULL = not) is told after each file how many there were.
 * Returns the number of epochs or <0. */
int cs_store_combine(const char *to_store, const char *from_store, const char *into, bool add,
                     void (*step)(void *arg, uint64_t files), void *arg, struct cs_error *err);

/* Reads any file of a store by its path. The caller closes *out. */
int cs_store_load_file(const char *file, struct cs_store_profile_head *head, struct cs_table **out,
                       struct cs_error *err);
