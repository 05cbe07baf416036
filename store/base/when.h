/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times as people write and read them, in local time. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* ms since 1970 of "14:40", "14:40:30", "2026-11-28", "2026-11-28 14:40" (or with T), each also with Z for UTC; of "-2h"
 * (s, m, h, d: so long before `now_ms`); of "now". A time without a day is the first one behind `after_ms`; where that
 * is 0, the last one that isn't in the future. */
bool cs_when_parse(const char *text, uint64_t now_ms, uint64_t after_ms, uint64_t *ms);

/* "2026-11-28 14:40:00 to 14:45:00" */
#define CS_WHEN_RANGE_MAX 64
void cs_when_range(uint64_t from_ms, uint64_t to_ms, char text[CS_WHEN_RANGE_MAX]);
