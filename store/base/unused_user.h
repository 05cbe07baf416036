/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users that no process of the machine has: who runs as `nobody` can be stopped (SIGSTOP) by all that run as `nobody`. Between the
 * users of foreign file systems and 2^31, where nobody hands out any (systemd's table of users and groups). Each process
 * that takes one draws it, so that two of them can't signal each other, either. */
#pragma once

#define CS_UNUSED_USER_FIRST 2147418112U
#define CS_UNUSED_USERS 65536U
#define CS_NOBODY 65534U /* where the kernel has only some users: those of a container */
