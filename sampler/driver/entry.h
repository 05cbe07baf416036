/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a row of the table means once it is drained: the same for both drivers. */
#pragma once

#include "sampler/driver/driver.h"
#include "sampler/driver/hot_table.h"

/* `since_ns`: the row is no older; `line_ns`: up to where the present drain goes. */
static inline struct cs_driver_entry cs_driver_entry_of(const struct cs_driver_config *config,
                                                        const struct cs_hot_entry *e, uint64_t since_ns,
                                                        uint64_t line_ns)
{
    struct cs_generations *generations = config->generations;
    uint32_t number = cs_hot_generation(e->key);
    uint32_t pid = config->process_of ? config->process_of(config->process_of_arg, e->pid) : e->pid;
    uint64_t began = cs_generations_start(generations, pid, number);
    return (struct cs_driver_entry){.pc = cs_hot_pc(e->key),
                                    .count = e->count,
                                    .from_ns =
                                        began == CS_GENERATION_UNKNOWN || began < since_ns ? since_ns : began,
                                    .to_ns = line_ns,
                                    .pid = pid,
                                    .tid = e->pid,
                                    .event = (uint8_t)cs_hot_event(e->key),
                                    .kernel = (e->key & CS_HOT_KERNEL) != 0,
                                    .uncertain = began == CS_GENERATION_UNKNOWN,
                                    .latest = number == cs_generations_now(generations, pid)};
}
