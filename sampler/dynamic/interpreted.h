/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interpreted frames of chains, as the handler of samples takes them. Each is an interpreter's number and the address
 * of what it runs, which is read from the process while it lives. All functions of a kind of interpreter are in one
 * image ("[CPython]"). An offset is made of the name, as that of a named JIT method is (jit.h), so that processes,
 * runs and machines merge. One owner. */
#pragma once

#include "image/interpreter/interpreter.h"
#include "sampler/images/maps.h"

struct cs_interpreted;

/* NULL when memory is short. `maps` say from whom a process was forked; NULL: nobody does. */
struct cs_interpreted *cs_interpreted_open(struct cs_images *images, struct cs_maps *maps);
void cs_interpreted_close(struct cs_interpreted *interpreted);
/* The number of an interpreter, the one of an image; -1: no more are taken. Files of others than root and us have half of the numbers
 * at most, those of one of them a quarter: false ones switch nobody else's off. */
int cs_interpreted_add(struct cs_interpreted *interpreted, const struct cs_interpreter_place *place,
                       const struct cs_store_image *of);
/* Interpreters that had no number. */
uint64_t cs_interpreted_cut(const struct cs_interpreted *interpreted);
/* What interpreter `number` runs in a process: of `frame` the code, and its caller where it is known. `module`: any number that tells
 * code apart that has been at the same address. `runs`: it was met just now, and may be other code than before. False: it can't be read
 * any more, neither there nor in the process that it was forked from. */
bool cs_interpreted_find(struct cs_interpreted *interpreted, unsigned number, pid_t pid, uint64_t module,
                         const struct cs_interpreted_frame *frame, bool runs, struct cs_mapped_image **image,
                         uint64_t *offset);
/* A drain begins, at that time (any clock, not 0). What was read ten minutes ago is read again, for code is freed and its memory used
 * again. */
void cs_interpreted_drain(struct cs_interpreted *interpreted, uint64_t now_ns);
/* Puts the names met since the last call into the store. */
int cs_interpreted_name(struct cs_interpreted *interpreted, struct cs_store *store, struct cs_error *err);
