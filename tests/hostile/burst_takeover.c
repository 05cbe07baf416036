/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tries to take over who repeats its instructions, and knows where everything of that process lies: the test's
 * script tells it. Natively each store and jump there faults, and the handler steps over it. Where it is repeated
 * it
 *   - It stores to the table by which repeated code finds the way of its indirect calls, and calls. What comes next is
 *     a system call instruction of that process, with registers that make a file. The maker of the file shows whose
 *     rights were gained;
 *   - stores machine code to where translated code lies;
 *   - calls, and returns, to there and to that process's own code.
 * Usage: burst_takeover SECONDS FILE LAYOUT     LAYOUT: a file, "TABLE SYSCALL CODE" in hex, written while we run */
#include "hostile.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

static volatile long faults;

/* Each store is three bytes long. Who was called or returned to leaves as by a return. */
static void step_over(int number, siginfo_t *signal, void *argument)
{
    greg_t *g = ((ucontext_t *)argument)->uc_mcontext.gregs;
    (void)number;
    faults++;
    if (g[REG_RIP] == (greg_t)(uintptr_t)signal->si_addr) {
        g[REG_RIP] = *(greg_t *)g[REG_RSP];
        g[REG_RSP] += 8;
    } else {
        g[REG_RIP] += 3;
    }
}

__attribute__((noinline)) static uint64_t work(uint64_t x)
{
    for (int i = 0; i < 100; i++)
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

/* Called by its address; here it does nothing. */
void called(void);
__asm__(".globl called\ncalled:\n  ret\n");

#define CLOBBERED "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11", "cc", "memory"

/* The table's entry for `called` (translate.c): in place hash(address), {address, code}. */
static void store_to_table(uint64_t table, uint64_t gadget, const char *file)
{
    uint64_t entry = table + 16ULL * ((uint32_t)(uint64_t)(uintptr_t)called * 0x9e3779b1U >> 18);
    uint64_t rax = (uint64_t)(uintptr_t)called;
    (void)*(const volatile char *)file; /* whose page is there from then on */
    __asm__ volatile("mov %%rax, (%%rdi)\n"
                     "lea 8(%%rdi), %%rdi\n"
                     "mov %[gadget], %%rax\n"
                     "mov %%rax, (%%rdi)\n"
                     "mov %[file], %%rdi\n"
                     "mov %[flags], %%esi\n"
                     "mov $0600, %%edx\n"
                     "mov %[open], %%eax\n"
                     "call *%[called]\n"
                     : "+a"(rax), "+D"(entry)
                     : [called] "b"(called), [gadget] "r"(gadget), [file] "r"(file),
                       [flags] "i"(O_CREAT | O_WRONLY), [open] "i"(SYS_open)
                     : CLOBBERED);
}

static void store_code(uint64_t at)
{
    static const uint64_t system_call[] = {0x90909090050f9090ULL, 0xfeeb909090909090ULL};
    for (unsigned i = 0; i < 64; i++)
        __asm__ volatile("mov %%rax, (%%rdi)" : : "a"(system_call[i % 2]), "D"(at + 8 * i) : "memory");
}

static void call(uint64_t at)
{
    __asm__ volatile("call *%%rdi" : "+D"(at) : : "rax", CLOBBERED);
}

static void go_by_return(uint64_t at)
{
    __asm__ volatile("lea 1f(%%rip), %%rax\n"
                     "push %%rax\n"
                     "push %%rdi\n"
                     "ret\n"
                     "1:\n"
                     : "+D"(at)
                     :
                     : "rax", CLOBBERED);
}

static int read_layout(const char *file, uint64_t layout[3])
{
    char text[128] = "";
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    char *p = text;
    for (int i = 0; n > 0 && i < 3; i++)
        layout[i] = strtoull(p, &p, 16);
    return n > 0 && layout[0] && layout[1] && layout[2];
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    static uint8_t stack[65536];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = step_over, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigaltstack(&own, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    uint64_t layout[3] = {0};
    int known = 0;
    volatile uint64_t x = 1;
    double until = seconds_now() + strtod(argv[1], NULL);
    for (unsigned long round = 0; seconds_now() < until; round++) {
        if (!known)
            known = read_layout(argv[3], layout);
        for (int i = 0; i < 50; i++)
            x = work(x + 88172645463325252ULL);
        if (!known)
            continue;
        switch (round % 8) {
        case 0:
            store_code(layout[2]);
            break;
        case 1:
            call(layout[2]);
            break;
        case 2:
            call(layout[1]);
            break;
        case 3:
            go_by_return(layout[2] + 64);
            break;
        default:
            store_to_table(layout[0], layout[1], argv[2]);
        }
    }
    printf("%ld faults of its own\n", faults);
    return unharmed();
}
