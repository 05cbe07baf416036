/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the trace says that the thread will go, for the holder to verify. */
#pragma once

#include "sampler/burst/replayer/translator/trace.h"

uint32_t list_steps(const struct run *run, uint32_t wanted); /* into boundary->steps; how many */
