/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the kernel has the code of its BPF programs. It is asked program by program, some 10 us each, and no other symbol is
 * read. Needs root. */
#pragma once

#include <stdint.h>

/* `name` as /proc/kallsyms has it of programs without BTF; a program's functions behind the first are all "F". */
void cs_bpf_programs_each(void (*each)(void *arg, uint64_t start, uint64_t end, const char *name), void *arg);
