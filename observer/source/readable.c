/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/source/readable.h"
#include "store/base/kernel_files.h"

/* Kernels of arm64 and RISC-V have the file; on the latter 1 is for mapped events, 2 for anyone at any time. */
static bool switched_off(void)
{
    return cs_kernel_number(1, "/proc/sys/kernel/perf_user_access") == 0;
}

bool cs_pmc_readable(const struct perf_event_mmap_page *page)
{
    return page && page->cap_user_rdpmc && page->pmc_width >= 1 && page->pmc_width <= 64 && !switched_off();
}
