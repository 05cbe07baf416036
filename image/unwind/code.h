/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows for code that nothing describes, from the code itself (x86-64). Instructions that push, pop and move the stack
 * pointer are followed along direct branches from where functions begin. C libraries without unwind information (musl),
 * start files and assembly have such code. A function that no direct call reaches is assumed to begin behind the end of
 * another one. What ends in a halt, or clears a frame pointer that it hasn't saved, is outermost (x86-64 psABI 3.4.1).
 * Internal to image/unwind/. */
#pragma once

#include "image/unwind/build.h"

/* Fills the table up to `from + n` by the `n` bytes of code at `from`, which is where it ends now. Time and memory are linear in
 * n; where memory is short nothing is known. */
void unwind_code_fill(struct unwind_build *build, const uint8_t *bytes, size_t n, uint64_t from);
