/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a thread-local variable lies, as the dynamic linker has placed it. Only the memory of the process is needed.
 * It has the module's dynamic symbols and the words that the linker filled in for it (x86-64, glibc). Drepper, "ELF
 * Handling For Thread-Local Storage"; Oliva and Araújo, "Speeding Up Thread-Local Storage Access" (TLS descriptors).
 *
 * All that is read is hostile: bounded in bytes, trusted for nothing but addresses to read at. */
#pragma once

#include "image/process_memory.h"

struct cs_thread_variable {
    uint64_t
        module; /* 0: at `offset` from the thread pointer; else at `offset` in that module's block of the thread */
    int64_t offset;
};

/* Of the module whose ELF header is at `base`; `program`: it is the main executable. 0; -ENOENT: it doesn't define the variable;
 * -ENOTSUP: it does, and no word tells where it lies; -EINVAL: no such module. */
int cs_thread_variable_find(const struct cs_process_memory *memory, uint64_t base, bool program,
                            const char *name, struct cs_thread_variable *out);
