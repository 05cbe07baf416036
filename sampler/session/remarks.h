/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remarks of a session for its user, one sentence each: handed to the `notify` of its configuration. */
#pragma once

#include "sampler/sampler.h"

void cs_session_remark(const struct cs_sampler_config *config, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
