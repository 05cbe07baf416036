/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loop variants: follow who runs, aggregate. */
#define FOLLOW 1
#define KIND CS_SINK_AGGREGATE
#define TABLE cs_loop_aggregate_follow
#include "observer/loop/variants.h"
