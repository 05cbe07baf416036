/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of 512 settings lies on a page that nobody may write to; each change opens the page and closes it.
 * Variant 1: it is opened for 64 changes. */
#include "../kernels/kernel.h"

#include <sys/syscall.h>

enum { PAGE = 4096, SETTINGS = PAGE / sizeof(uint64_t), CHANGES = 1024 };

struct table {
    uint64_t *settings;
    int batch;
    uint64_t round;
};

static inline void protect(void *page, long rights)
{
    long result = SYS_mprotect;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(page), "S"((long)PAGE), "d"(rights)
                     : "rcx", "r11", "memory");
    if (result)
        abort();
}

HOT static void change(uint64_t *settings, uint64_t round, int batch)
{
    for (int i = 0; i < CHANGES; i += batch) {
        protect(settings, PROT_READ | PROT_WRITE);
        for (int k = i; k < i + batch; k++)
            settings[k * 37 % SETTINGS] += round ^ (uint64_t)k;
        protect(settings, PROT_READ);
    }
}

static uint64_t turn(void *argument)
{
    struct table *t = argument;
    change(t->settings, t->round++, t->batch);
    return CHANGES;
}

int main(int argc, char **argv)
{
    static struct table t;
    uint64_t sum = 0;
    t.batch = variant(argc, argv) ? 64 : 1;
    t.settings = memory(PAGE, 0);
    int status = run_kernel("sealed_table", argc, argv, turn, &t);
    for (unsigned i = 0; i < SETTINGS; i++)
        sum = sum * 31 + t.settings[i];
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
