/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "branch.h"

BRANCH_KERNEL("branch_regular", 0)
