/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of kernel symbols, line by line. It is /proc/kallsyms of the running kernel with its modules and BPF
 * programs, a copy that perf kept, or a System.map. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cs_kallsyms_symbol {
    uint64_t addr; /* 0 where addresses are hidden */
    char type;
    const char *name, *module; /* module: "" = the kernel's own */
    char line[1024];           /* what they point into */
};

struct cs_kallsyms_wanted { /* an address that was sampled, and the procedure around it once known */
    uint64_t addr, start, end;
    char name[120];
};

FILE *cs_kallsyms_open(const char *path);
/* False = the end. Lines that are none of a symbol are passed over. */
bool cs_kallsyms_next(FILE *f, struct cs_kallsyms_symbol *out);
/* Index of the first of `n` addresses, ascending, that is at `addr` or above; n: none. */
size_t cs_kallsyms_first(const struct cs_kallsyms_wanted *wanted, size_t n, uint64_t addr);
/* Procedures around `n` addresses, ascending, in one pass. False = the file can't be opened. */
bool cs_kallsyms_look_up(const char *path, struct cs_kallsyms_wanted *wanted, size_t n);
