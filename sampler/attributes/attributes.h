/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes of OpenTelemetry's thread context, read where a sample is taken: which route, tenant or trace a thread
 * works on. OTEP 4947 (the record), OTEP 4719 (its names).
 *
 * Files of this module:
 *   attributes         what the handler and its reader share (this header)
 *   attribute_row.bpf  the handler's part: from a thread to its record's value
 *   attribute_places   from a process to where its threads' records are
 *   process_context    what a process says about itself
 *
 *   places  [process number modulo]  where the pointer is, and which attribute is wanted: written by the session, pid last
 *   values  [CPU][half][slot]        a value met, once: the slot is what rows of the table are counted by, in place of a process
 *
 * The handler interrupts the thread that it reads, as the specification asks. A slot belongs to a half of the table
 * (hot_table.h) and is free again when that half was emptied. So no value is known for longer than the counts that name
 * it. A process that makes two of its values hash alike has mislabelled itself.
 *
 * For x86-64 and glibc: a thread's blocks are found by its pointer and the vector next to it. */
#pragma once

#include <linux/types.h>
#include <stddef.h>

#define CS_ATTRIBUTE_PLACES                                                                                  \
    16384 /* power of two. Of two processes with one slot the first is read until it ends */
#define CS_ATTRIBUTE_VALUES_MAX 1024
#define CS_ATTRIBUTE_BYTES 256
#define CS_ATTRIBUTE_RECORD 640 /* what readers are asked to take */

#define CS_ATTRIBUTE_TRACE 0x100 /* wanted: not an attribute's key, but these */
#define CS_ATTRIBUTE_SPAN 0x101

struct cs_attribute_place {
    __u32 pid; /* 0: none */
    __u32 generation;
    __u64 module; /* as struct cs_thread_variable has them */
    __s64 offset;
    __u32 wanted;
    __u32 reserved;
};

struct cs_attribute_value {
    __u64 hash; /* 0: free; written last */
    __u32 pid;
    __u16 bytes;
    __u16 wanted;
    __u64 words[CS_ATTRIBUTE_BYTES / 8]; /* the value */
};

/* A row is a process's number, or: 1 | half | CPU (9 bits) | slot (20 bits). */
#define CS_ATTRIBUTE_ROW 0x80000000U
static inline __u32 cs_attribute_row(__u32 half, __u32 cpu, __u32 slot)
{
    return CS_ATTRIBUTE_ROW | (half & 1) << 30 | (cpu & 511) << 20 | (slot & 0xfffff);
}

#ifndef __bpf__
/* The kernel's side, as a driver offers it. */
struct cs_attribute_kernel {
    struct cs_attribute_place *places; /* NULL: this driver can't */
    struct cs_attribute_value *values;
    __u32 n_values, n_cpus; /* slots of a half; CPUs that are tabled */
    const __u64 *lost;      /* of each CPU: samples whose value found no slot, so they have none */
    /* Which program of its number a process runs now, as the handler counts them. */
    __u32 (*generation)(void *arg, __u32 pid);
    void *arg;
};

/* NULL: the row is a process's number. */
static inline const struct cs_attribute_value *cs_attribute_of_row(const struct cs_attribute_kernel *k,
                                                                   __u32 row)
{
    const __u32 cpu = row >> 20 & 511, slot = row & 0xfffff;
    return row & CS_ATTRIBUTE_ROW && cpu < k->n_cpus && slot < k->n_values
               ? &k->values[((size_t)cpu * 2 + (row >> 30 & 1)) * k->n_values + slot]
               : 0;
}
#endif
