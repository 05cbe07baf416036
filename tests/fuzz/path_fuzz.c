/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any registers, any stack and any bytes as code, interpreted as a path.
 * Sources: analysis/interpret/[a-z]*.c store/base/error.c */
#include "analysis/cfg/noreturn.h"
#include "analysis/interpret/abstract_run.h"

#include <assert.h>
#include <string.h>

#define CODE_AT UINT64_C(0x400000)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* All that a path asks of an image. */
struct cs_image_code {
    const uint8_t *bytes;
    size_t n;
};
static struct cs_image_code image;

const uint8_t *cs_image_bytes_at(const struct cs_image_code *code, uint64_t offset, size_t *n,
                                 bool *executable)
{
    *n = offset < code->n ? code->n - offset : 0;
    if (executable)
        *executable = true;
    return *n ? code->bytes + offset : NULL;
}

enum cs_isa cs_image_isa(const struct cs_image_code *code)
{
    (void)code;
    return CS_ISA_X86_64;
}

const char *cs_image_import_at(struct cs_image_code *code, uint64_t offset)
{
    (void)code;
    return offset % 16 == 15 ? "exit" : NULL;
}

bool cs_image_constant_at(struct cs_image_code *code, uint64_t offset, unsigned bytes, uint64_t delta,
                          uint64_t *value)
{
    (void)delta;
    if (offset >= code->n || code->n - offset < bytes)
        return false;
    *value = 0;
    memcpy(value, code->bytes + offset, bytes);
    return true;
}

bool cs_cfg_never_returns(const char *name)
{
    return strcmp(name, "exit") == 0;
}

static struct cs_image_code *code_at(void *arg, uint64_t address, uint64_t *offset)
{
    (void)arg;
    *offset = address - CODE_AT;
    return *offset < image.n ? &image : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct cs_abstract_runner *runner;
    struct cs_abstract_run_start start = {.pc = CODE_AT};
    struct cs_abstract_run path;
    struct cs_error err;
    size_t head = sizeof start.reg + sizeof start.flags + 1;
    if (size < head)
        return 0;
    memcpy(start.reg, bytes, sizeof start.reg);
    memcpy(&start.flags, bytes + sizeof start.reg, sizeof start.flags);
    start.stack = bytes + head;
    start.stack_bytes = bytes[head - 1] < size - head ? bytes[head - 1] : size - head;
    image = (struct cs_image_code){start.stack + start.stack_bytes, size - head - start.stack_bytes};
    assert(cs_abstract_runner_open(code_at, NULL, &runner, &err) == 0); /* it remembers code: one for each */
    cs_abstract_runner_run(runner, &start, &path);
    cs_abstract_runner_close(runner);
    assert(path.n <= CS_ABSTRACT_RUN_STEPS && path.n_ways <= 2 && (path.open || path.n_ways == 0));
    for (unsigned i = 0; i < path.n; i++)
        assert(path.step[i].from - CODE_AT < image.n);
    return 0;
}
