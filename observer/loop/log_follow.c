/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loop variants: follow who runs, log. */
#define FOLLOW 1
#define KIND CS_SINK_LOG
#define TABLE cs_loop_log_follow
#include "observer/loop/variants.h"
