/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executable mappings of a process and the unwind tables of their images, read from outside: what a copy of a
 * thread's stack is unwound by. What can't be read has no table. One thread; process_tables_fini frees. */
#ifndef CS_SAMPLER_TIMERS_PROCESS_TABLES_H
#define CS_SAMPLER_TIMERS_PROCESS_TABLES_H

#include "image/unwind.h"
#include "sampler/images/proc_maps.h"
#include "store/array.h"

struct process_table {
    uint64_t start, end, to_vaddr; /* what is added to an address for the image's own */
    struct cs_unwind *unwind;      /* NULL: none */
};

struct process_tables {
    CS_ARRAY(struct process_table) at;
};

/* Reads them anew; each mapping goes to `tell`, too. `memory` is the process's /proc/PID/mem, for the vDSO; with `unwind`
 * false no table is opened. */
void process_tables_read(struct process_tables *tables, pid_t pid, int memory, bool unwind,
                         void (*tell)(void *arg, const struct cs_mapped_file *file), void *arg);
/* NULL: no mapping is known there. */
const struct process_table *process_tables_find(const struct process_tables *tables, uint64_t addr);
void process_tables_fini(struct process_tables *tables);

#endif
