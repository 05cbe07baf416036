/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes and features of this machine: sysfs for caches; the rest is the architecture's (arch.h). */
#include "analysis/machine/arch.h"
#include "analysis/machine/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool line_of(const char *folder, unsigned index, const char *name, char *text, int size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/index%u/%s", folder, index, name);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool ok = fgets(text, size, f) != NULL;
    fclose(f);
    return ok;
}

static void caches(struct cs_machine *m)
{
    static const char folder[] = "/sys/devices/system/cpu/cpu0/cache";
    char level[16], type[32], size[32], line[16];
    for (unsigned i = 0; i < 8; i++) {
        if (!line_of(folder, i, "level", level, sizeof level) ||
            !line_of(folder, i, "type", type, sizeof type) || !line_of(folder, i, "size", size, sizeof size))
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
        if (line_of(folder, i, "coherency_line_size", line, sizeof line) && strtoul(line, NULL, 10))
            m->line_bytes = (uint32_t)strtoul(line, NULL, 10);
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
