/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folder of a CPU's topology is made when the CPU comes online, so its inode tells one life from another. */
#include "sampler/perf/cpus.h"
#include "store/base/array.h"
#include "store/base/kernel_files.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AT_ONCE 16U /* lives asked for in a look */

int cs_cpus_of_list(const char *list, int **numbers)
{
    int n = 0;
    *numbers = NULL;
    while (*list >= '0' && *list <= '9') {
        char *at;
        long first = strtol(list, &at, 10), end = first;
        if (*at == '-')
            end = strtol(at + 1, &at, 10);
        if (end < first || cs_array_resize(*numbers, (size_t)(n + end - first + 1)) < 0) {
            free(*numbers);
            *numbers = NULL;
            return -ENOMEM;
        }
        for (; first <= end; first++)
            (*numbers)[n++] = (int)first;
        list = *at == ',' ? at + 1 : at;
    }
    return n;
}

static int read_list(const char *name, int **numbers)
{
    char list[4096];
    if (!cs_kernel_text(list, sizeof list, "/sys/devices/system/cpu/%s", name))
        strcpy(list, "0");
    return cs_cpus_of_list(list, numbers);
}

static uint64_t life_of(int number)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology", number);
    return stat(path, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

static struct cs_cpu *find(const struct cs_cpus *cpus, int number)
{
    for (unsigned i = 0; i < cpus->n; i++)
        if (cpus->cpu[i].number == number)
            return &cpus->cpu[i];
    return NULL;
}

int cs_cpus_open(struct cs_cpus *cpus)
{
    int *online, *possible, n_online = read_list("online", &online), n = read_list("possible", &possible);
    *cpus = (struct cs_cpus){.cpu = calloc((size_t)(n_online > 0 ? 3 * n_online + 8 : 1), sizeof *cpus->cpu)};
    int rc = n_online > 0 && cpus->cpu ? 0 : -ENOMEM;
    for (int i = 0; rc == 0 && i < n_online; i++)
        cpus->cpu[cpus->n++] = (struct cs_cpu){online[i], true, false, life_of(online[i])};
    cpus->n_online = cpus->n;
    for (int i = 0; rc == 0 && i < n && cpus->n < 2 * cpus->n_online + 8; i++)
        if (!find(cpus, possible[i]))
            cpus->cpu[cpus->n++] = (struct cs_cpu){.number = possible[i]};
    if (n_online > 0)
        free(online);
    if (n > 0)
        free(possible);
    if (rc < 0)
        cs_cpus_close(cpus);
    return rc;
}

void cs_cpus_close(struct cs_cpus *cpus)
{
    assert(cpus->n_online <= cpus->n);
    free(cpus->cpu);
    *cpus = (struct cs_cpus){0};
}

bool cs_cpus_look(struct cs_cpus *cpus)
{
    int *online, n_online = read_list("online", &online);
    bool changed = false;
    if (n_online <= 0)
        return false;
    cpus->n_online = 0;
    for (unsigned i = 0, at = 0; i < cpus->n; i++) { /* both are in order but for what was offline at first */
        struct cs_cpu *cpu = &cpus->cpu[i];
        if (at >= (unsigned)n_online || online[at] != cpu->number)
            for (at = 0; at < (unsigned)n_online && online[at] != cpu->number; at++)
                ;
        bool is_online = at < (unsigned)n_online, asked = (i + cpus->n - cpus->next) % cpus->n < AT_ONCE;
        at += is_online;
        uint64_t life = is_online && (asked || !cpu->online) ? life_of(cpu->number) : cpu->life;
        cpu->gone = cpu->online && (!is_online || life != cpu->life);
        changed |= cpu->gone || is_online != cpu->online;
        cpu->online = is_online;
        cpu->life = life;
        cpus->n_online += is_online;
    }
    cpus->next = (cpus->next + AT_ONCE) % cpus->n;
    free(online);
    return changed;
}
