/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which pages of the target are in memory, by /proc/PID/pagemap. */
#include "sampler/burst/runner/present_pages.h"
#include "sampler/burst/runner/runner.h"
#include "sampler/burst/runner/sys.h"

#define PRESENT (1ULL << 63)
#define OF_FILE (1ULL << 61) /* or shared anonymous memory, which is one too */

void present_pages(uint64_t addr, unsigned n, uint8_t state[])
{
    uint64_t entries[PRESENT_PAGES_MAX];
    long bytes = SYS(__NR_pread64, CS_BURST_FD_PAGES, entries, 8 * n, addr / PAGE * 8);
    unsigned got = bytes > 0 ? (unsigned)bytes / 8 : 0;
    for (unsigned i = 0; i < n; i++)
        state[i] = i >= got || !(entries[i] & PRESENT) ? PAGE_ABSENT
                   : entries[i] & OF_FILE              ? PAGE_OF_FILE
                                                       : PAGE_OWN;
}
