/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal to analysis/: which procedures return, as far as noreturn.c shares it. */
#ifndef CS_ANALYSIS_RETURNS_H
#define CS_ANALYSIS_RETURNS_H

#include "image/code.h"

/* One byte a procedure, zero at first, in which noreturn.c keeps its answers. */
uint8_t *cs_code_returns_memo(struct cs_code *code, const struct cs_procedure *procedure);
/* Is it a library's that never does? With or without "@plt". */
bool returns_never(const char *name);

#endif
