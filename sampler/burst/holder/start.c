/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entry of the burst runner: it takes a stack of its own and starts the replayer. Then come a command, a burst, an
 * answer, until the profiler closes the socket. Between bursts both give back what only they need. If one of
 * the three dies, the others see it. */
#include "sampler/burst/holder/replayer_process.h"
#include "sampler/burst/holder/stop_thread.h"
#include "sampler/burst/replayer/replayer.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"

#include <asm/prctl.h>
#include <elf.h>
#include <linux/prctl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>

#define STACK_BYTES (256 * 1024)
static uint8_t stack[STACK_BYTES] __attribute__((aligned(4096), used));

__asm__(".globl _start\n_start:\n"
        "  xor %ebp, %ebp\n"
        "  mov %rsp, %rdi\n"
        "  lea stack+262144(%rip), %rsp\n"
        "  call start\n");

struct kernel_sigaction {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};
#define SA_RESTORER 0x04000000UL

static void wake(int number)
{
    (void)number;
}

#define REST_MS 2000
static bool next_command(void)
{
    struct pollfd control = {.fd = CS_BURST_FD_CONTROL, .events = POLLIN};
    char message;
    if (SYS(__NR_poll, &control, 1, REST_MS) == 0)
        replayer_rest();
    return SYS(__NR_read, CS_BURST_FD_CONTROL, &message, 1) == 1;
}

_Noreturn void start(uint64_t *initial);
__attribute__((used)) _Noreturn void start(uint64_t *initial)
{
    uint64_t *p = initial + 1 + *initial + 1; /* past argc and argv */
    while (*p)
        p++;
    for (p++; p[0] != AT_NULL; p += 2)
        if (p[0] == AT_HWCAP2)
            have_fsgsbase = (p[1] & 2) != 0;
    SYS(__NR_close_range, CS_BURST_FD_FIRST_FREE, ~0U, 0);
    SYS(__NR_prctl, PR_SET_NAME, "cyclescope-burst");
    SYS(__NR_arch_prctl, ARCH_SET_FS, own_fs);
    uint64_t shared_addr = CS_BURST_BASE + CS_BURST_SPAN - 0x800000;
    long at = SYS(__NR_mmap, shared_addr, sizeof(struct cs_burst_shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_FIXED_NOREPLACE, CS_BURST_FD_SHARED, 0);
    if (at != (long)shared_addr)
        die(73);
    struct cs_burst_shared *shared = (struct cs_burst_shared *)shared_addr;
    SYS(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0); /* nobody reads us, whoever's the replayer is */
    int code = replayer_start(shared);
    if (code)
        die(code);
    SYS(__NR_close_range, CS_BURST_FD_VECTOR, CS_BURST_FD_DECODER, 0);
    struct kernel_sigaction action = {wake, SA_RESTORER, signal_return, 0};
    SYS(__NR_rt_sigaction, SIGUSR1, &action, NULL, 8);
    char message = 'r';
    SYS(__NR_write, CS_BURST_FD_CONTROL, &message, 1);
    while (next_command()) {
        burst(shared);
        message = 'd';
        if (SYS(__NR_write, CS_BURST_FD_CONTROL, &message, 1) != 1)
            break;
    }
    replayer_end(); /* so that its time counts as ours */
    die(0);
}
