/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that runs on a CPU. A BPF program keeps it in one line of memory, and the
 * observer's loop reads that line with plain loads. Shared by kernel and user side: plain data only. Takes
 * the place of the kernel patch of shim-2015 section 3 (software signal that identifies application
 * threads).
 *
 * Written in this order: syscall, thread, process, thread_id. A reader that finds `thread_id` unchanged around its
 * readings has read of one stretch of one thread. */
#pragma once

#define CS_OS_CPUS_MAX 1024 /* of higher ones one alone can be asked for */
#define CS_OS_EVERY_CPU (~0u)

struct cs_os_line {
    unsigned long long
        thread_id; /* context switches of the CPU, from a number of its own on, << 32 | tid; one store */
    unsigned long long process;  /* tgid */
    unsigned long long thread;   /* tid, as a tag */
    unsigned long long syscall;  /* number + 1 of the system call that the thread is in, 0 = none */
    unsigned long long watched;  /* tgid, from the reader */
    unsigned long long since_ns; /* of the switch, CLOCK_MONOTONIC */
    unsigned long long ran_ns;   /* that `watched` had the CPU until then */
    unsigned long long apart[9];
} __attribute__((aligned(128)));
