/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "chase.h"

CHASE_KERNEL("chase_l2", (size_t)(256 << 10))
