/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The methods of one process that its jitdump file tells of, their code and their lines. The file is found by its mapping, whose
 * record may come later than the first samples. One owner. */
#pragma once

#include "sampler/dynamic/jit_methods.h"
#include "sampler/dynamic/jitdump_lines.h"
#include "sampler/images/maps.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Where files are looked for; `maps` may be NULL: then there are none. */
struct cs_jit_dumps {
    const char *proc;
    struct cs_maps *maps;
};

/* Of one process; all but `user` zero is none. */
struct cs_jit_dumped {
    uid_t user;   /* whose the file must be, or root's */
    uint64_t at;  /* read up to here; 0: not found yet */
    int file;     /* 1 + its descriptor, while code is read from it; 0: closed */
    bool no_code; /* it is another machine's */
};

/* True: process `pid` has such a file by time_ns, with a method in it. */
bool cs_jit_dumped_is_there(const struct cs_jit_dumped *d, const struct cs_jit_dumps *dumps, pid_t pid,
                            uint64_t time_ns);
/* Adds what the file tells since the last call, which was at looked_ns. False: there is no file, or no room. */
bool cs_jit_dumped_read(struct cs_jit_dumped *d, const struct cs_jit_dumps *dumps, pid_t pid,
                        uint64_t time_ns, uint64_t looked_ns, struct cs_jit_methods *methods,
                        struct cs_jit_kept *kept);
/* A method's bytes, malloc'ed; NULL: there are none. The file stays open for more until cs_jit_dumped_close. */
uint8_t *cs_jit_dumped_code(struct cs_jit_dumped *d, const struct cs_jit_dumps *dumps, pid_t pid,
                            uint64_t time_ns, const struct cs_jit_method *method);
/* Its lines, after its code; false: there are none. The caller frees them by cs_jitdump_lines_fini. */
bool cs_jit_dumped_lines(const struct cs_jit_dumped *d, const struct cs_jit_methods *methods,
                         const struct cs_jit_method *method, struct cs_jitdump_lines *lines);
void cs_jit_dumped_close(struct cs_jit_dumped *d);
