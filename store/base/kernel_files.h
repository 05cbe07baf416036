/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The small files in which the kernel says how things are: /proc and /sys. Paths are formatted as by printf. What isn't there, or
 * isn't for us, reads as empty. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* As much as one read gives: the state of one moment. At most size - 1 bytes, then a NUL; how many. No stdio: a child of a process
 * with threads may call it. */
size_t cs_kernel_text(char *text, size_t size, const char *path, ...) __attribute__((format(printf, 3, 4)));
/* Of the first line that begins with `key` ("" is any) what stands behind it and white space, without the newline. */
bool cs_kernel_line(char *rest, size_t size, const char *key, const char *path, ...)
    __attribute__((format(printf, 4, 5)));
/* The number at the beginning; `otherwise` where there is none. */
long cs_kernel_number(long otherwise, const char *path, ...) __attribute__((format(printf, 2, 3)));

/* Field `n` (3 and more) of the text of a stat file, as proc(5) numbers them; NULL: there aren't so many. The name, field 2, may
 * hold anything. */
const char *cs_stat_field(const char *stat, unsigned n);

/* The threads of a process now, to be freed: how many, or -errno. */
int cs_tasks_of(pid_t pid, pid_t **tids);
