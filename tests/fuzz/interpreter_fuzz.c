/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as the memory of an interpreted program; the first one says which version.
 * Sources: image/interpreter/python.c image/interpreter/lua.c image/file/elf.c image/file/parts.c image/file/made_sections.c image/file/segments.c image/file/eh_frame.c image/file/identity.c image/file/debug_file.c image/file/debuginfod.c store/[a-z]*.c store/base/[a-z]*.c store/table/[a-z]*.c */
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
    struct cs_interpreted_name name;
    struct cs_interpreter_offsets offsets = {0};
    char version[32];
    const bool lua = size && bytes[0] & 8;
    const struct cs_interpreter_kind *kind = lua ? &cs_interpreter_lua : &cs_interpreter_python;
    const uint64_t known = lua ? 0x050404 : (0x030b + (size ? bytes[0] % 4U : 0)) << 8;
    if (size < 1 || !kind->open(known << 8, bytes, size, version, &offsets))
        return 0;
    const struct cs_interpreted_frame frame = {
        .code = bytes[size / 2], .caller = bytes[size / 3], .caller_at = bytes[size / 4]};
    kind->name(&memory, &offsets, &frame, &name);
    assert(memchr(name.function, 0, sizeof name.function) && memchr(name.file, 0, sizeof name.file));
    return 0;
}
