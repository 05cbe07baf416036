/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal to analysis/: one byte a procedure, zero at first, in which noreturn.c keeps its answers. */
#ifndef CS_ANALYSIS_RETURNS_H
#define CS_ANALYSIS_RETURNS_H

#include "analysis/code.h"

uint8_t *cs_code_returns_memo(struct cs_code *code, const struct cs_procedure *procedure);

#endif
