/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as the memory of an interpreted program; the first one says which version.
 * Sources: image/interpreter/python.c image/interpreter/php.c image/interpreter/lua.c image/file/elf.c image/file/made_sections.c image/file/segments.c image/file/eh_frame.c image/file/identity.c image/file/debug_file.c image/file/debuginfod.c store/[a-z]*.c store/base/[a-z]*.c store/table/[a-z]*.c */
#include "image/interpreter/interpreter.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct bytes_of {
    const uint8_t *at;
    size_t n;
};

static bool read_memory(void *arg, uint64_t addr, void *to, size_t n)
{
    const struct bytes_of *memory = arg;
    if (addr > memory->n || n > memory->n - addr)
        return false;
    memcpy(to, memory->at + addr, n);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct bytes_of all = {bytes, size};
    const struct cs_process_memory memory = {read_memory, &all};
    struct cs_interpreted_frame frames[64];
    struct cs_interpreted_name name;
    struct cs_interpreter_offsets offsets = {0};
    char version[32];
    const struct cs_interpreter_kind *kind = size && bytes[0] & 8   ? &cs_interpreter_lua
                                             : size && bytes[0] & 4 ? &cs_interpreter_php
                                                                    : &cs_interpreter_python;
    uint64_t known = kind == &cs_interpreter_lua
                         ? 0x050404
                         : (kind == &cs_interpreter_php ? 0x0802 : 0x030b + bytes[0] % 3U) << 8;
    if (size < 1 || !kind->open(known << 8, bytes, size, version, &offsets))
        return 0;
    size_t n = kind->frames ? kind->frames(&memory, 1, &offsets, 0, frames, 64) : 0;
    assert(n <= 64);
    for (size_t i = 0; i <= n && i < 64; i++) {
        if (i == n)
            frames[i] = (struct cs_interpreted_frame){.code = bytes[size / 2],
                                                      .at = bytes[size - 1],
                                                      .caller = bytes[size / 3],
                                                      .caller_at = bytes[size / 4]};
        kind->name(&memory, &offsets, &frames[i], &name);
        assert(memchr(name.function, 0, sizeof name.function) && memchr(name.file, 0, sizeof name.file));
    }
    return 0;
}
