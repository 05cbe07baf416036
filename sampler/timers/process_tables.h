/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executable mappings of a process and the unwind tables of their images, read from outside. Copies of a thread's
 * stack are unwound by them. What can't be read has no table. Tables that aren't kept on disk are made by a child
 * without rights (image/unwind/child.h), because images are hostile. The caller waits for its end, but not for longer
 * than it has time for. One thread; process_tables_fini frees. */
#pragma once

#include "image/unwind/unwind.h"
#include "sampler/images/proc_maps.h"
#include "store/base/array.h"

struct process_table {
    uint64_t start, end, to_vaddr; /* what is added to an address for the image's own */
    struct cs_unwind *unwind;      /* NULL: none */
};

struct process_tables {
    CS_ARRAY(struct process_table) at;
};

/* How long the caller may wait for tables, in all: at first 5 s, then a twentieth of the time that passes, up to 5 s again. */
struct process_tables_time {
    uint64_t left_ns, counted_ns; /* counted up to here; 0: not begun */
};

/* Reads them anew; each mapping goes to `tell`, too. `memory` is the process's /proc/PID/mem, for the vDSO; with `unwind`
 * false no table is opened. */
void process_tables_read(struct process_tables *tables, struct process_tables_time *time, pid_t pid,
                         int memory, bool unwind, void (*tell)(void *arg, const struct cs_mapped_file *file),
                         void *arg);
/* NULL: no mapping is known there. */
const struct process_table *process_tables_find(const struct process_tables *tables, uint64_t addr);
void process_tables_fini(struct process_tables *tables);
