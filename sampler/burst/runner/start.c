/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entry of the burst runner. The kernel has put a stack, the vDSO and its clock pages where the target may
 * have something: take a stack of our own, move the clock pages aside (a target that reads the time reads
 * them), unmap the rest. Then: a command, a burst, an answer, until the profiler closes the socket. Between
 * bursts it gives back what only they need. */
#include "sampler/burst/runner/decoder.h"
#include "sampler/burst/runner/fault_windows.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/pages.h"
#include "sampler/burst/runner/signal_entry.h"
#include "sampler/burst/runner/stop_thread.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"
#include "sampler/burst/runner/timing.h"
#include "sampler/burst/runner/trace_to_rows.h"

#include <asm/prctl.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <poll.h>
#include <sys/mman.h>

#define STACK_BYTES (256 * 1024)
static uint8_t stack[STACK_BYTES] __attribute__((aligned(4096), used));

__asm__(".globl _start\n_start:\n"
        "  xor %ebp, %ebp\n"
        "  mov %rsp, %rdi\n"
        "  lea stack+262144(%rip), %rsp\n"
        "  call start\n");

static uint64_t hex(const char **text)
{
    uint64_t value = 0;
    for (;; (*text)++) {
        char c = **text;
        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        else
            return value;
    }
}

static void leave_only_ourselves(void)
{
    static char text[32768];
    long fd = SYS(__NR_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY), n, length = 0;
    if (fd < 0)
        die(71);
    while ((n = SYS(__NR_read, fd, text + length, (long)sizeof text - 1 - length)) > 0)
        length += n;
    SYS(__NR_close, fd);
    text[length] = 0;
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

#define REST_MS 2000
static bool next_command(void)
{
    struct pollfd control = {.fd = CS_BURST_FD_CONTROL, .events = POLLIN};
    char message;
    if (SYS(__NR_poll, &control, 1, REST_MS) == 0)
        timing_rest();
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
    leave_only_ourselves();
    SYS(__NR_close_range, CS_BURST_FD_FIRST_FREE, ~0U, 0);
    SYS(__NR_prctl, PR_SET_NAME, "cyclescope-burst");
    SYS(__NR_arch_prctl, ARCH_SET_FS, own_fs);
    if (!decoder_load(CS_BURST_FD_DECODER))
        die(72);
    uint64_t shared_addr = CS_BURST_BASE + CS_BURST_SPAN - 0x800000;
    long at = SYS(__NR_mmap, shared_addr, sizeof(struct cs_burst_shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_FIXED, CS_BURST_FD_SHARED, 0);
    if (at != (long)shared_addr)
        die(73);
    struct cs_burst_shared *shared = (struct cs_burst_shared *)shared_addr;
    signals_install();
    windows_open();
    char message = 'r';
    SYS(__NR_write, CS_BURST_FD_CONTROL, &message, 1);
    while (next_command()) {
        burst(shared);
        message = 'd';
        if (SYS(__NR_write, CS_BURST_FD_CONTROL, &message, 1) != 1)
            break;
        after_answer();
    }
    die(0);
}
