/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Natural loops: a head, and the blocks from which control comes back to it without leaving what the head dominates. */
#pragma once

#include "analysis/cfg/cfg.h"

/* The loop of `head`: writes the numbers of its blocks to `blocks`, the head first, and returns how many they are. 0: `head` is
 * no head, or the loop has more than `most` blocks. Pure. */
uint32_t cs_cfg_loop(const struct cs_cfg *cfg, uint32_t head, uint32_t *blocks, uint32_t most);

/* How often control comes to the head from outside of the loop. `ran`: by edge. */
double cs_cfg_loop_entries(const struct cs_cfg *cfg, const double *ran, const uint32_t *blocks, uint32_t n);
