/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dynamic relocations of an image. They give the target of a GOT slot or a PLT stub, and the loaded value of a slot
 * of a position-independent jump table. Internal to image/; read once, O(log n) to ask. x86-64, AArch64 and RISC-V.
 */
#pragma once

#include "image/file/elf.h"

struct imports {
    struct import {
        uint64_t offset; /* of the GOT slot, or of the stub */
        const char *name;
    } * slots, *stubs; /* ascending */
    size_t n_slots, n_stubs, capacity_slots, capacity_stubs;
    struct relative {
        uint64_t offset, value;
    } * relatives; /* ascending */
    size_t n_relatives, capacity_relatives;
};

int imports_init(struct imports *imports, const struct elf_file *file);
void imports_fini(struct imports *imports);
const char *imports_name(const struct imports *imports, uint64_t offset); /* NULL = none */
bool imports_relative(const struct imports *imports, uint64_t offset, uint64_t *value);
uint64_t imports_stub_size(const struct imports *imports, size_t i);
