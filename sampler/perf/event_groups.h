/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events that answer one question together ("@ipc", "@branches", "@caches", "@tlb"). They are the model's own where
 * libpfm4 knows them, else the kernel's generic ones. There are only as many as this machine counts at the same time.
 */
#pragma once

#include "store/base/error.h"

#include <stddef.h>

/* Writes their names to `to`, separated by commas. `copies`: counters that each event takes (2: the core's and the
 * observer's own). `suffix` follows each name (":t" or ""). -ENOENT with a sentence where the machine counts none. */
int cs_event_group(const char *question, unsigned copies, const char *suffix, char *to, size_t size,
                   struct cs_error *err);
/* "@ipc", ... with what each asks; NULL after the last. */
const char *cs_event_group_name(unsigned i, const char **meaning);
