/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pure state machine: lengths and the next times of merge and epoch. */
#include "sampler/daemon/due.h"

#include <assert.h>

#define SECOND_NS 1000000000ull

void cs_daemon_due_init(struct cs_daemon_due *due, double merge_s, double epoch_s, uint64_t now_ns)
{
    assert(merge_s > 0 && epoch_s >= 0);
    *due =
        (struct cs_daemon_due){.merge_ns = (uint64_t)(merge_s * 1e9), .epoch_ns = (uint64_t)(epoch_s * 1e9)};
    cs_daemon_due_merged(due, now_ns, true);
    cs_daemon_due_epoch(due, now_ns);
}

void cs_daemon_due_change(struct cs_daemon_due *due, double merge_s, double epoch_s, uint64_t now_ns)
{
    uint64_t merged = due->next_merge - due->merge_ns;
    uint64_t began = due->next_epoch - due->epoch_ns;
    bool had_epochs = due->epoch_ns != 0;
    due->merge_ns = (uint64_t)(merge_s * 1e9);
    due->epoch_ns = (uint64_t)(epoch_s * 1e9);
    if (!due->failures)
        due->next_merge = merged + due->merge_ns;
    cs_daemon_due_epoch(due, had_epochs ? began : now_ns);
}

unsigned cs_daemon_due_now(const struct cs_daemon_due *due, uint64_t now_ns, bool pressed)
{
    bool epoch = now_ns >= due->next_epoch;
    if (now_ns >= due->next_merge)
        return CS_DAEMON_DUE_MERGE | (epoch ? CS_DAEMON_DUE_EPOCH : 0u);
    if (due->failures || (!epoch && !pressed))
        return 0;
    return CS_DAEMON_DUE_MERGE | (epoch ? CS_DAEMON_DUE_EPOCH : 0u);
}

void cs_daemon_due_merged(struct cs_daemon_due *due, uint64_t now_ns, bool succeeded)
{
    uint64_t wait_ns = due->merge_ns;
    due->failures = succeeded ? 0 : due->failures + 1;
    if (!succeeded) {
        uint64_t retry_ns = SECOND_NS << (due->failures < 20 ? due->failures - 1 : 20);
        wait_ns = retry_ns < wait_ns ? retry_ns : wait_ns;
    }
    due->next_merge = now_ns + wait_ns;
}

void cs_daemon_due_epoch(struct cs_daemon_due *due, uint64_t now_ns)
{
    due->next_epoch = due->epoch_ns ? now_ns + due->epoch_ns : UINT64_MAX;
}

int cs_daemon_due_wait_ms(const struct cs_daemon_due *due, uint64_t now_ns, int most_ms)
{
    uint64_t next = due->next_merge;
    if (due->next_epoch < next && !due->failures)
        next = due->next_epoch;
    if (next <= now_ns)
        return 0;
    uint64_t wait_ms = (next - now_ns) / 1000000 + 1;
    return wait_ms < (uint64_t)most_ms ? (int)wait_ms : most_ms;
}
