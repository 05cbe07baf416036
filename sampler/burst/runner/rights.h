/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the thread that stands has all the rights of the runner. */
#ifndef CS_SAMPLER_BURST_RUNNER_RIGHTS_H
#define CS_SAMPLER_BURST_RUNNER_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

bool rights_equal(uint32_t tid);

#endif
