/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc/TID/status says of a thread's rights. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RIGHTS_MAX 8192
/* Its lines of users, groups, capabilities and no_new_privs, one after the other. How many bytes; 0: not all are there, or more
 * than there is room for (a thousand groups). */
size_t rights_of(const char *status, char rights[RIGHTS_MAX]);
/* The number of a field, "NoNewPrivs:"; 0 when it isn't there. */
uint32_t status_number(const char *status, const char *field);
