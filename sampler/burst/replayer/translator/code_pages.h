/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of the target's code pages, only for the translator: nothing runs in them. */
#pragma once

#include "sampler/burst/runner/runner.h"

unsigned code_bytes(uint64_t addr, uint8_t bytes[15], unsigned most); /* of code at `addr`; how many */
void code_ran(uint64_t from, uint64_t to); /* notes that the pages of [from, to) were run */
bool code_unchanged(void);                 /* compares those with the target; forgets that they ran */
void code_forget(void);                    /* forgets all copies */
bool code_moved(void);                     /* do copied pages belong to other regions now? */
