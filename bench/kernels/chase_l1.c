/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "chase.h"

CHASE_KERNEL("chase_l1", (size_t)(16 << 10))
