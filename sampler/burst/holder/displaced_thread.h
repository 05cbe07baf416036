/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads of the program that our own CPU is taken from. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Could another thread of this one's program run where we do, now? Of a program of many threads some are asked. */
bool thread_is_displaced(uint32_t tid);
