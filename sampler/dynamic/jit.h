/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code without a file. Names come from the perf maps that runtimes write (/tmp/perf-PID.map, in the process's own
 * root). Otherwise they come from the jitdump file that the process has mapped (jit-PID.dump, anywhere). They also
 * come from what it registered by cs_name_code. Addresses of such code differ from run to run, so a named method gets
 * an offset made of its name:
 *
 *   63  62            24 23                   0
 *  +---+----------------+----------------------+
 *  | 1 | hash of name   | offset in the method |
 *  +---+----------------+----------------------+
 *
 * and profiles of many processes, runs and machines merge by method. What has no name keeps its offset from
 * the start of its mapping. The code of methods in a jitdump is kept for reports, and versions are
 * distinguished: jit_code.h. Any thread may ask: samples and bursts are placed by two.
 *
 * Files of this module:
 *   interpreted       frames of interpreted programs, by names in their memory
 *   jit               code without a file, by the names that runtimes write
 *   jit_code          the machine code of methods, for reports
 *   jit_dumped        the methods of one process that its jitdump file tells of
 *   jit_lines         the source lines of methods, for reports
 *   jit_methods       named methods of one process
 *   jit_registered    named methods that a process registered in its segment of signals
 *   jitdump           reads jitdump files
 *   jitdump_lines     the source lines of a method in one */
#pragma once

#include "sampler/images/maps.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cs_jit;

/* `maps` tells where jitdump files are; NULL: perf maps only. It must outlive the rest. */
struct cs_jit *cs_jit_open(const char *proc, const char *tmp, struct cs_maps *maps);
void cs_jit_close(struct cs_jit *jit);
/* At most so much is kept of all processes' names, and never more than CS_JIT_BYTES_MAX; 0: that. */
void cs_jit_limit(struct cs_jit *jit, uint64_t bytes);
uint64_t cs_jit_room(struct cs_jit *jit); /* of that, still free */
/* Keeps the code of methods for this store, from now on. Without memory for it there is none. */
void cs_jit_keep_code(struct cs_jit *jit, const char *store);
int cs_jit_save_code(struct cs_jit *jit, uint64_t store_max, struct cs_error *err);

/* The offset for an address in code that process `pid` had made by to_ns, and that ran from from_ns on; `fallback` where no
 * name is known. Where code was replaced in between, that of the middle. */
uint64_t cs_jit_offset(struct cs_jit *jit, const struct cs_store_image *image, pid_t pid, uint64_t from_ns,
                       uint64_t to_ns, uint64_t addr, uint64_t fallback);
/* The first time in (from_ns, to_ns) at which other code of process `pid` takes the place of that at `addr`; 0: none does. */
uint64_t cs_jit_change(struct cs_jit *jit, pid_t pid, uint64_t addr, uint64_t from_ns, uint64_t to_ns);
/* Whether process `pid` has replaced code since then. */
bool cs_jit_has_replaced(struct cs_jit *jit, pid_t pid, uint64_t since_ns);
/* When some process last replaced code by other code, as far as is known; 0: never. Samples of long are then too coarse. */
uint64_t cs_jit_replaced_ns(struct cs_jit *jit);
/* A process, which began or did an exec at since_ns, has made code: looks whether it registers names. They can't be had any
 * more when it has ended. */
void cs_jit_meet(struct cs_jit *jit, pid_t pid, uint64_t since_ns);
/* A drain begins: maps that have grown may be read again, those not used for long are forgotten. */
void cs_jit_refresh(struct cs_jit *jit);
/* Puts the names met since the last call into the store. */
int cs_jit_name(struct cs_jit *jit, struct cs_store *store, struct cs_error *err);

/* Processes of whose methods only the first are known: names are kept up to a bound of bytes. */
uint64_t cs_jit_cut(struct cs_jit *jit);
