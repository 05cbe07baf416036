/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/retention.h"
#include "store/base/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

CS_ORDER(by_last_write, struct cs_store_epoch_extent, cs_order(a->written_s, b->written_s),
         strcmp(a->name, b->name))

size_t cs_store_retention_choose(const struct cs_store_retention *retention, int64_t now_s,
                                 struct cs_store_epoch_extent *epochs, size_t n)
{
    uint64_t bytes = 0;
    size_t gone = 0;
    cs_sort(epochs, n, by_last_write);
    for (size_t i = 0; i < n; i++) {
        epochs[i].goes = false;
        bytes += epochs[i].bytes;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        int64_t age_s = now_s > epochs[i].written_s ? now_s - epochs[i].written_s : 0;
        bool too_old = retention->most_age_s && (uint64_t)age_s > retention->most_age_s;
        bool too_much = retention->most_bytes && bytes > retention->most_bytes;
        if (epochs[i].in_use || (!too_old && !too_much))
            continue;
        epochs[i].goes = true;
        bytes -= epochs[i].bytes;
        gone++;
    }
    assert(n == 0 || (gone < n && !epochs[n - 1].goes));
    return gone;
}
