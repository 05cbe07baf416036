/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a process runs a Go program, by the note with its build's identity that Go's linker puts into each. Another
 * program that carries that note gets a signal that Go's runtime wouldn't mind (holder/alarm.c), and only that program
 * bears the cost. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* At most 64 program headers and 4 KB of each note are read. */
bool cs_burst_is_go(pid_t pid);
