/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loop variants: one thread's line, aggregate. */
#define FOLLOW 0
#define KIND CS_SINK_AGGREGATE
#define TABLE cs_loop_aggregate
#include "observer/loop/variants.h"
