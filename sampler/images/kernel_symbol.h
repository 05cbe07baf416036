/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks the running kernel for the symbol around an address of its own. Needs CAP_BPF and CAP_PERFMON (or
 * root); who has neither reads /proc/kallsyms. One owner. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_kernel_symbols;

/* NULL when it isn't permitted, or the kernel is too old for it (5.14). Costs about 1 ms. */
struct cs_kernel_symbols *cs_kernel_symbols_open(void);
void cs_kernel_symbols_close(struct cs_kernel_symbols *symbols);

/* False when the kernel knows none there. Costs about 1 us. */
bool cs_kernel_symbol_at(struct cs_kernel_symbols *symbols, uint64_t addr, uint64_t *start, uint64_t *end,
                         char *name, size_t name_bytes);
/* Of the kernel's answer, "name+0x12/0x34 [module]". Pure. */
bool cs_kernel_symbol_parse(const char *answer, uint64_t addr, uint64_t *start, uint64_t *end, char *name,
                            size_t name_bytes);
