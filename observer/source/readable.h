/* SPDX-License-Identifier: GPL-2.0-or-later */
/* May this event's counter be read from user space, by rdpmc.h? */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>

/* `page` may be NULL. The page's own word is not enough on arm64: it says yes to an event that asked for user
 * reading also while kernel.perf_user_access is 0, and the instruction then kills the process (met on
 * Linux 6.1). */
bool cs_pmc_readable(const struct perf_event_mmap_page *page);
