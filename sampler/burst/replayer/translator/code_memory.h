/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of the code cache. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CODE_CACHE_BYTES (32 << 20)
extern uint8_t code_cache[];     /* where it can be run */
extern int64_t code_writable_at; /* from there to where it can be written */
bool code_memory_open(void);
bool code_memory_taken(void); /* by the target: where it can be written */
/* Has memory from here on, for what comes next: to bring it later costs time while a thread is stopped. */
void code_memory_touch(const uint8_t *from);
