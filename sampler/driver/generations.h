/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Generations of PID slots. A table entry carries 11 bits that count the forks and execs of the PIDs sharing
 * its slot, and this says when each count began. So an entry that comes out of the table late is still
 * credited to the program that ran then. Pure; one owner. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CS_GENERATION_UNKNOWN UINT64_MAX

struct cs_generations;
struct cs_generations *cs_generations_open(void);
void cs_generations_close(struct cs_generations *generations);

/* The slot's next generation began: a driver that counts itself. Returns its number. */
uint32_t cs_generations_next(struct cs_generations *generations, uint32_t slot, uint64_t time_ns);
/* Generation `number` of the slot began: a driver where the kernel counts. */
int cs_generations_note(struct cs_generations *generations, uint32_t slot, uint32_t number, uint64_t time_ns);

/* The last one known. */
uint32_t cs_generations_now(const struct cs_generations *generations, uint32_t slot);
/* Notices were lost: at this time `number` is there, and since when is not known. Those between it and the
 * last known one stay unknown. */
int cs_generations_resume(struct cs_generations *generations, uint32_t slot, uint32_t number,
                          uint64_t time_ns);

/* The slot's generation at a time, and from when to when (exclusive) it is so, as far as is known now. */
struct cs_generation_span {
    uint64_t from_ns, to_ns;
    uint32_t number;
};
struct cs_generation_span cs_generations_span(struct cs_generations *generations, uint32_t slot,
                                              uint64_t time_ns);
/* When a generation began; 0 = before the horizon; CS_GENERATION_UNKNOWN = its record was lost. */
uint64_t cs_generations_start(struct cs_generations *generations, uint32_t slot, uint32_t number);

/* No entry from before `horizon_ns` will be asked about. */
void cs_generations_expire(struct cs_generations *generations, uint64_t horizon_ns);
