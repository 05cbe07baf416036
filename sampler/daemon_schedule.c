/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/daemon/due.h"

#define SECOND_NS 1000000000ull

void cs_schedule_init(struct cs_schedule *schedule, double merge_s, double epoch_s, uint64_t now_ns)
{
    *schedule =
        (struct cs_schedule){.merge_ns = (uint64_t)(merge_s * 1e9), .epoch_ns = (uint64_t)(epoch_s * 1e9)};
    cs_schedule_merged(schedule, now_ns, true);
    cs_schedule_epoch(schedule, now_ns);
}

void cs_schedule_change(struct cs_schedule *schedule, double merge_s, double epoch_s, uint64_t now_ns)
{
    uint64_t merged = schedule->next_merge - schedule->merge_ns;
    uint64_t began = schedule->next_epoch - schedule->epoch_ns;
    bool had_epochs = schedule->epoch_ns != 0;
    schedule->merge_ns = (uint64_t)(merge_s * 1e9);
    schedule->epoch_ns = (uint64_t)(epoch_s * 1e9);
    if (!schedule->failures)
        schedule->next_merge = merged + schedule->merge_ns;
    cs_schedule_epoch(schedule, had_epochs ? began : now_ns);
}

unsigned cs_schedule_due(const struct cs_schedule *schedule, uint64_t now_ns, bool pressed)
{
    bool epoch = now_ns >= schedule->next_epoch;
    if (now_ns >= schedule->next_merge)
        return CS_DUE_MERGE | (epoch ? CS_DUE_EPOCH : 0u);
    if (schedule->failures || (!epoch && !pressed))
        return 0;
    return CS_DUE_MERGE | (epoch ? CS_DUE_EPOCH : 0u);
}

void cs_schedule_merged(struct cs_schedule *schedule, uint64_t now_ns, bool succeeded)
{
    uint64_t wait_ns = schedule->merge_ns;
    schedule->failures = succeeded ? 0 : schedule->failures + 1;
    if (!succeeded) {
        uint64_t retry_ns = SECOND_NS << (schedule->failures < 20 ? schedule->failures - 1 : 20);
        wait_ns = retry_ns < wait_ns ? retry_ns : wait_ns;
    }
    schedule->next_merge = now_ns + wait_ns;
}

void cs_schedule_epoch(struct cs_schedule *schedule, uint64_t now_ns)
{
    schedule->next_epoch = schedule->epoch_ns ? now_ns + schedule->epoch_ns : UINT64_MAX;
}

int cs_schedule_wait_ms(const struct cs_schedule *schedule, uint64_t now_ns, int most_ms)
{
    uint64_t next = schedule->next_merge;
    if (schedule->next_epoch < next && !schedule->failures)
        next = schedule->next_epoch;
    if (next <= now_ns)
        return 0;
    uint64_t wait_ms = (next - now_ns) / 1000000 + 1;
    return wait_ms < (uint64_t)most_ms ? (int)wait_ms : most_ms;
}
