/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A lock that wakes sleepers by a system call whenever it is released, though nobody sleeps. Variant: it counts who
 * sleeps and wakes them alone. */
#include "../kernels/kernel.h"

#include <linux/futex.h>
#include <sys/syscall.h>

struct account {
    uint32_t word, sleepers;
    uint64_t balance;
    int counts;
};

static HOT uint64_t deposit(void *argument)
{
    struct account *a = argument;
    for (unsigned i = 0; i < 20000; i++) {
        *(volatile uint32_t *)&a->word = 1;
        a->balance += i;
        *(volatile uint32_t *)&a->word = 0;
        if (!a->counts || *(volatile uint32_t *)&a->sleepers) {
            long result = SYS_futex;
            register long none __asm__("r10") = 0;
            __asm__ volatile("syscall"
                             : "+a"(result)
                             : "D"(&a->word), "S"((long)FUTEX_WAKE_PRIVATE), "d"(1L), "r"(none)
                             : "rcx", "r11", "memory");
        }
    }
    return 20000;
}

int main(int argc, char **argv)
{
    static struct account a;
    a.counts = variant(argc, argv);
    return run_kernel("wake_always", argc, argv, deposit, &a);
}
