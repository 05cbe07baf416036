/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Implicit signals: plain variables of a program that wasn't changed (shim-2015 section 3.1), a phase flag, a bump
 * pointer, a counter. Its memory isn't ours to map, so each is read by a system call, from the process's memory file.
 * That takes some hundred nanoseconds a sample, none of them the program's. The kernel allows it to whom it allows to
 * trace the process.
 *
 * One owner; cs_variables_read belongs to the loop's thread. */
#pragma once

#include "store/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CS_VARIABLES_MAX 6

struct cs_variables {
    int memory;
    unsigned n;
    struct {
        uint64_t addr;
        unsigned bytes; /* 1, 2, 4 or 8 */
    } at[CS_VARIABLES_MAX];
    uint64_t words[CS_VARIABLES_MAX]; /* the values read last, zero-extended */
};

/* Opens the memory of `pid` and reads each variable once. */
int cs_variables_open(struct cs_variables *v, pid_t pid, struct cs_error *err);
void cs_variables_close(struct cs_variables *v);
/* Into words; false: one could not be read (the process has ended, or its memory is gone). */
bool cs_variables_read(struct cs_variables *v);
