/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The os source: loads os.bpf.c for one CPU, or each, and gives its line. Needs CAP_BPF and CAP_PERFMON (or root) and a
 * kernel with BTF. Where that isn't so, one sentence says it, and the observer goes on with one thread's
 * line. */
#pragma once

#include "observer/source/os_line.h"
#include "store/base/error.h"

#include <stdbool.h>

struct cs_os;

/* `cpu` may be CS_OS_EVERY_CPU: those on which the calling thread may run. The line is right when this returns. Moves
 * the calling thread to the CPU for a moment: the switch there fills the line, and shows that process ids mean the same
 * to the kernel and to us. */
int cs_os_open(unsigned cpu, bool syscalls, struct cs_os **out, struct cs_error *err);
void cs_os_close(struct cs_os *os);
const volatile struct cs_os_line *cs_os_line(const struct cs_os *os, unsigned cpu);
/* From now on ran_ns is of this process, 0 until it runs. */
void cs_os_watch(struct cs_os *os, unsigned pid);

/* Name of a system call by number ("read"). NULL: unknown. The table is x86-64's: elsewhere always NULL. */
const char *cs_os_syscall_name(unsigned number);
