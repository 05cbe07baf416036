/* SPDX-License-Identifier: MIT */
/* The lock of the cold paths: the holder's tid in the segment, because several copies of the library in one
 * process share it. With a tid a fork handler of the second copy knows that the first holds it already.
 * Sections under it are short and call nothing that blocks; waiting yields, then sleeps 50 us. */
#include "signals/runtime.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint32_t cs_segment_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

bool cs_segment_lock(void)
{
    struct cs_segment_header *h = cs_segment;
    if (!h)
        return false;
    const uint32_t me = cs_segment_tid();
    for (unsigned tries = 0;; tries++) {
        uint32_t holder = 0;
        if (__atomic_compare_exchange_n(&h->lock, &holder, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return true;
        if (holder == me)
            return false;
        if (tries < 100)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
}

void cs_segment_unlock(bool taken)
{
    if (taken)
        __atomic_store_n(&cs_segment->lock, 0, __ATOMIC_RELEASE);
}
