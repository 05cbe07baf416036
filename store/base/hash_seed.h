/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A number that nobody can know before. Where names or addresses of strangers are hashed into a table in memory, it is
 * the seed (or the multiplier, it is odd). So nobody can choose names that meet in one place. Hashes that are kept in a
 * file don't take it. */
#pragma once

#include <stdint.h>

extern uint64_t cs_hash_seed; /* drawn when the program starts */
