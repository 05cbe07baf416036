/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which procedures and library calls return to their caller. */
#pragma once

#include "image/code.h"

/* Does a call of it come back? Follows calls and tail calls to a fixpoint; true where that can't be told. What
 * was worked out stays with `code`. */
bool cs_cfg_returns(struct cs_image_code *code, const struct cs_image_procedure *procedure);
/* Is it a library's that never does? With or without "@plt". */
bool cs_cfg_never_returns(const char *name);
