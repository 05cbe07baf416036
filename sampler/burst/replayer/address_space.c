/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel has put a stack, the vDSO and its clock pages where the target may have something. Move the clock
 * pages aside (a target that reads the time reads them), unmap the rest. */
#include "sampler/burst/replayer/address_space.h"
#include "sampler/burst/replayer/translator/pages.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"

#include <fcntl.h>
#include <sys/mman.h>

void leave_only_ourselves(void)
{
    static char text[32768];
    long fd = SYS(__NR_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY), n, length = 0;
    if (fd < 0)
        die(71);
    while ((n = SYS(__NR_read, fd, text + length, (long)sizeof text - 1 - length)) > 0)
        length += n;
    SYS(__NR_close, fd);
    text[length] = 0;
    SYS(__NR_munmap, CS_BURST_BASE + CS_BURST_SPAN - 0x800000,
        sizeof(struct cs_burst_shared)); /* the holder's */
    uint64_t park = CS_BURST_BASE + CS_BURST_SPAN - 0x100000;
    for (const char *p = text; *p;) {
        uint64_t from = hex(&p), to = (p++, hex(&p));
        const char *name = p;
        while (*p && *p != '\n') {
            if (*p == '[')
                name = p;
            p++;
        }
        if (*p)
            p++;
        if (from >= CS_BURST_BASE && from < CS_BURST_BASE + CS_BURST_SPAN)
            continue;
        if (name[0] == '[' && name[1] == 'v' && name[2] == 'v' && n_clock_pages < CLOCK_PAGES_MAX) {
            long moved = SYS(__NR_mremap, from, to - from, to - from, MREMAP_MAYMOVE | MREMAP_FIXED, park);
            if (moved == (long)park) {
                clock_pages[n_clock_pages++] = (struct clock_pages){park, to - from};
                park += to - from;
                continue;
            }
        }
        SYS(__NR_munmap, from, to - from);
    }
}
