/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes and features of this machine: sysfs for caches; the rest is the architecture's (arch.h). */
#include "analysis/machine/arch.h"
#include "analysis/machine/machine.h"
#include "store/base/kernel_files.h"

#include <stdlib.h>
#include <unistd.h>

#define FOLDER "/sys/devices/system/cpu/cpu0/cache/index%u/"

static void caches(struct cs_machine *m)
{
    char level[16], type[32], size[32];
    for (unsigned i = 0; i < 8; i++) {
        if (!cs_kernel_line(level, sizeof level, "", FOLDER "level", i) ||
            !cs_kernel_line(type, sizeof type, "", FOLDER "type", i) ||
            !cs_kernel_line(size, sizeof size, "", FOLDER "size", i))
            break;
        char *suffix;
        uint64_t bytes = strtoull(size, &suffix, 10);
        bytes <<= *suffix == 'K' ? 10 : *suffix == 'M' ? 20 : 0;
        if (type[0] == 'I')
            m->l1i_bytes = bytes;
        else if (level[0] == '1')
            m->l1d.bytes = bytes;
        else if (level[0] == '2')
            m->l2.bytes = bytes;
        else if (level[0] == '3')
            m->l3.bytes = bytes;
        const long line = cs_kernel_number(0, FOLDER "coherency_line_size", i);
        m->line_bytes = line ? (uint32_t)line : m->line_bytes;
    }
}

void cs_machine_detect(struct cs_machine *out)
{
    cs_machine_default(out);
    caches(out);
    arch_cpu(out);
    long page = sysconf(_SC_PAGESIZE);
    if (page > 0)
        out->page_bytes = (uint32_t)page;
}
