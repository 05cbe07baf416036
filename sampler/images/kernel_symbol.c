/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of kernel_symbol.bpf.c an address; address and answer lie in memory that both see. */
#include "sampler/images/kernel_symbol.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion" /* generated code */
#include "sampler/images/kernel_symbol.skel.h"
#pragma GCC diagnostic pop

#include <assert.h>
#include <bpf/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cs_kernel_symbols {
    struct kernel_symbol_bpf *bpf;
};

bool cs_kernel_symbol_parse(const char *answer, uint64_t addr, uint64_t *start, uint64_t *end, char *name,
                            size_t name_bytes)
{
    assert(name_bytes > 0);
    const char *plus = NULL;
    for (const char *at = answer; (at = strstr(at, "+0x")) != NULL; at++)
        plus = at; /* the last one: names of symbols may hold anything */
    if (!plus || plus == answer)
        return false;
    char *rest;
    uint64_t offset = strtoull(plus + 1, &rest, 16);
    if (strncmp(rest, "/0x", 3) != 0)
        return false;
    uint64_t size = strtoull(rest + 1, NULL, 16);
    if (size <= offset || offset > addr)
        return false;
    *start = addr - offset;
    *end = *start + size;
    snprintf(name, name_bytes, "%.*s", (int)(plus - answer), answer);
    return true;
}

bool cs_kernel_symbol_at(struct cs_kernel_symbols *symbols, uint64_t addr, uint64_t *start, uint64_t *end,
                         char *name, size_t name_bytes)
{
    struct kernel_symbol_bpf__bss *shared = symbols->bpf->bss;
    LIBBPF_OPTS(bpf_test_run_opts, options);
    shared->address = addr;
    shared->text[0] = '\0';
    if (bpf_prog_test_run_opts(bpf_program__fd(symbols->bpf->progs.symbol_of), &options) != 0)
        return false;
    shared->text[sizeof shared->text - 1] = '\0';
    return cs_kernel_symbol_parse(shared->text, addr, start, end, name, name_bytes);
}

struct cs_kernel_symbols *cs_kernel_symbols_open(void)
{
    struct cs_kernel_symbols *symbols = calloc(1, sizeof *symbols);
    if (!symbols)
        return NULL;
    libbpf_set_print(NULL);
    symbols->bpf = kernel_symbol_bpf__open_and_load();
    if (symbols->bpf)
        return symbols;
    free(symbols);
    return NULL;
}

void cs_kernel_symbols_close(struct cs_kernel_symbols *symbols)
{
    if (!symbols)
        return;
    kernel_symbol_bpf__destroy(symbols->bpf);
    free(symbols);
}
