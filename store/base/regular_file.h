/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one opener for paths that somebody else chose: a profiled program, a file given to us. A path may lead to a FIFO
 * that hangs its reader, or a terminal that becomes ours. It may also lead to a device that acts when opened, or out
 * of a container. So a path is first looked at without opening it (O_PATH), and only a regular file of a size that is
 * allowed is opened. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Opens for reading. `root`: the path, absolute or not, is taken beneath this folder, links included, as the kernel does for a
 * process with that root; NULL: as our own. `st` may be NULL. A descriptor, or negative errno: -EINVAL is no regular
 * file, -EFBIG one of more than bytes_max. */
int cs_open_regular(const char *root, const char *path, uint64_t bytes_max, struct stat *st);
/* The same for a file that anybody could have put there under that name: it is `owner`'s or root's, else -EPERM, the path doesn't
 * end in a link (-EINVAL), and nothing else is the same file (-EMLINK). */
int cs_open_owned(const char *root, const char *path, uint64_t bytes_max, uid_t owner);
/* What is beneath `root` under that path, links followed as above; nothing is opened for reading. 0 or negative errno. */
int cs_stat_beneath(const char *root, const char *path, struct stat *st);
/* May everybody read this file, by its own mode and those of all folders above it? Links are followed first. */
bool cs_everybody_may_read(const char *path);
