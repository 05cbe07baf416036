/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a process, however it is read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_process_memory {
    bool (*read)(void *arg, uint64_t addr, void *to, size_t n); /* all of it, or false */
    void *arg;
};
