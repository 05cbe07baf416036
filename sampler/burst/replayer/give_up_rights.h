/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From here on this process can do next to nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Dies with its parent. Keeps the descriptors of the target's memory, and of these two (-1: none), for what each is for. False: it
 * couldn't be done. */
bool give_up_rights(int32_t parent, uint32_t uid, uint32_t gid, int faults, int self);
