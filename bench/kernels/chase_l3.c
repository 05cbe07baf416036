/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "chase.h"

CHASE_KERNEL("chase_l3", (size_t)(8 << 20))
