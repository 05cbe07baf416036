/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loop variants: one thread's line, log. */
#define FOLLOW 0
#define KIND CS_SINK_LOG
#define TABLE cs_loop_log
#include "observer/loop/variants.h"
