/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which pages of the target are in memory. To read one that isn't would put it there: a hole of a memory file becomes a
 * page of it. So nobody reads such a page but in the place of the program, which is about to. */
#pragma once

#include <stdint.h>

#define PRESENT_PAGES_MAX 64
enum { PAGE_ABSENT, PAGE_OWN, PAGE_OF_FILE };
/* Of n pages from addr on, at most PRESENT_PAGES_MAX. */
void present_pages(uint64_t addr, unsigned n, uint8_t state[]);
