/* SPDX-License-Identifier: MIT */
/* Inside of the reader: its state, shared by reader*.c. */
#ifndef CS_SIGNALS_READER_OPEN_H
#define CS_SIGNALS_READER_OPEN_H

#include "signals/reader/reader.h"

/* Geometry as checked when the segment was opened; never read again. */
struct cs_geometry {
    uint64_t signals_at, owners_at, lines_at, names_at, names_size, exe_base;
    uint32_t n_lines, line_bytes;
};

struct cs_known_name {
    uint64_t value;
    uint32_t signal;
    uint32_t text; /* offset in `texts` + 1; 0 = free slot */
};

struct cs_reader {
    const unsigned char *base;
    size_t size;
    bool mapped; /* else allocated */
    pid_t pid;
    bool nested; /* target's PIDs differ from ours */
    int file;    /* the segment's, -1 for a copy */
    struct cs_geometry at;

    uint64_t names_read; /* bytes of the heap that are in the index */
    bool names_damaged;
    struct cs_known_name *index; /* open addressing, n_index is a power of two or 0 */
    size_t n_index, n_known;
    char *texts;
    size_t texts_used, texts_size;
    char shown[4096];
};

#define CS_OTHER_VERSION                                                                                     \
    "the program publishes its signals in format version %u, and this cyclescope reads version %u: "         \
    "take libcyclescope and cyclescope from one release"

/* Finds the descriptor or mapping of the process's segment and opens it read-only: a descriptor or -errno
 * with `why`. `nested` says whether the process lives in an inner PID namespace, `pid_inside` its number
 * there. */
int cs_locate(pid_t pid, uint32_t *pid_inside, bool *nested, char why[CS_WHY_MAX]);
/* The same for whoever asks often and of many: only the first descriptors are looked at. A descriptor or -errno. */
int cs_locate_quickly(pid_t pid);

int cs_geometry_check(const struct cs_segment_header *header, uint64_t size, struct cs_geometry *out,
                      char why[CS_WHY_MAX]);

/* Copies `length` bytes at `text` as valid UTF-8 without control or direction characters ('?' for those),
 * ends at NUL, cuts to `size` with the terminating NUL. */
void cs_reader_clean_text(char *out, size_t size, const char *text, size_t length);

#endif
