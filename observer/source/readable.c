/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/source/readable.h"

#include <fcntl.h>
#include <unistd.h>

/* Kernels of arm64 and RISC-V have the file; on the latter 1 is for mapped events, 2 for anyone at any time. */
static bool switched_off(void)
{
    char text = 0;
    int fd = open("/proc/sys/kernel/perf_user_access", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool off = read(fd, &text, 1) == 1 && text == '0';
    close(fd);
    return off;
}

bool cs_pmc_readable(const struct perf_event_mmap_page *page)
{
    return page && page->cap_user_rdpmc && page->pmc_width >= 1 && page->pmc_width <= 64 && !switched_off();
}
