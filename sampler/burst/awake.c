/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the CPU of a held thread awake. It would fall asleep, which on a virtual machine gives it back to the
 * host: what runs there meanwhile takes the caches (a database ran the first 20 us after a burst at a third
 * of its speed), and to come back takes some 40 us. So a thread of ours that gives way to everybody
 * (SCHED_IDLE) turns there until the held one goes on. */
#include "sampler/burst/runner.h"
#include "sampler/burst/sys.h"

#include <linux/futex.h>
#include <sched.h>

#define CPUS_MAX 4096
static uint8_t stack[8192] __attribute__((aligned(4096)));
static volatile int32_t keeper_tid, wanted;
static bool placed;

static int keeper(void)
{
    struct sched_param none = {0};
    if (SYS(__NR_sched_setscheduler, 0, SCHED_IDLE, &none) < 0)
        return 0;
    for (;;) {
        while (!wanted)
            SYS(__NR_futex, &wanted, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
        while (wanted) /* without `pause`, which hypervisors take for a reason to run somebody else */
            for (unsigned i = 0; i < 64; i++)
                __asm__ volatile("");
    }
}

void awake_place(uint32_t cpu)
{
    static uint64_t mask[CPUS_MAX / 64];
    static bool started;
    if (!started)
        start_thread(keeper, stack + sizeof stack - 64, &keeper_tid);
    started = true;
    placed = false;
    if (cpu >= CPUS_MAX || !keeper_tid)
        return;
    memset(mask, 0, sizeof mask);
    mask[cpu / 64] = 1ULL << cpu % 64;
    placed = SYS(__NR_sched_setaffinity, keeper_tid, sizeof mask, mask) == 0;
}

void awake_begin(void)
{
    if (!placed)
        return;
    wanted = 1;
    SYS(__NR_futex, &wanted, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void awake_end(void)
{
    wanted = 0;
}
