/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reader of jitdump files, which runtimes write along with the code that they make (Linux:
 * tools/perf/Documentation/ jitdump-specification.txt). A file is a header, then records of methods that
 * were made or moved, appended while the program runs. Pure but for reading the file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cs_jitdump_record {
    uint64_t start, size;
    uint64_t time_ns;   /* when it was written, on the monotonic clock; 0: by another clock */
    const char *name;   /* of a method that was made; NULL: one moved */
    uint64_t was_start; /* ... from here */
    uint64_t code_at;   /* of one that was made: where its bytes lie in the file; 0: nowhere */
    uint64_t lines_at;  /* ... and the record of its lines, before those; 0: none */
};

/* Hands on what was appended since `*at` (0 at first) and moves it on; what is incomplete, or behind
 * the first million of records, waits for the next call, and so does all behind a record for which `each` says false. 0, -EBADMSG for what is no jitdump file of this machine's byte order, or what read(2) says. */
int cs_jitdump_read(int fd, uint64_t *at, bool (*each)(void *arg, const struct cs_jitdump_record *code),
                    void *arg);
