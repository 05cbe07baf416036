/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From here on this process, which reads what strangers wrote, can do next to nothing. Internal to image/. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* For a process of one thread that was just forked by `parent`, and dies with it. It keeps the two descriptors, and may read what
 * everybody may. Nobody's user where it is root's; no capabilities, and none to come; few system calls. False: it couldn't be
 * done. */
bool cs_give_up_rights(pid_t parent, int fd, int other);
