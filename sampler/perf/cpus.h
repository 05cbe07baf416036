/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which CPUs there are, and which came or went: the kernel takes the events of a CPU that goes away, for good.
 *
 * Places are for CPUs that may come online, at most twice as many as are online now and 8 (memory is by place). One
 * thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cs_cpu {
    int number;
    bool online;   /* as of the last look */
    bool gone;     /* the events that were opened on it before that look are dead */
    uint64_t life; /* another one each time that it comes online */
};
struct cs_cpus {
    struct cs_cpu *cpu;
    unsigned n, n_online; /* places; of them online */
    unsigned next;        /* the round over `life` */
};

/* All are looked at. 0 or -ENOMEM. */
int cs_cpus_open(struct cs_cpus *cpus);
void cs_cpus_close(struct cs_cpus *cpus);
/* Looks again. True: some are `gone`, or came online. A CPU that went and came back between two looks is seen within
 * n / 16 looks. Costs some 10 us. */
bool cs_cpus_look(struct cs_cpus *cpus);

/* "0-3,8" -> sorted numbers. Allocated. Returns how many, or -ENOMEM. */
int cs_cpus_of_list(const char *list, int **numbers);
