/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads of the runner, which has no libc: starting one, its clocks, and what /proc tells of any thread. */
#include "sampler/burst/runner/thread.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"

#include <fcntl.h>
#include <sched.h>
#include <time.h>

static uint64_t thread_block[64]; /* libZydis reads a stack guard there */
void *own_fs = thread_block;

__asm__(".globl signal_return\n.hidden signal_return\nsignal_return:\n  mov $15, %eax\n  syscall\n");

_Noreturn void die(int code)
{
    for (;;)
        SYS(__NR_exit_group, code);
}

uint64_t clock_of(clockid_t which)
{
    struct timespec time = {0, 0};
    SYS(__NR_clock_gettime, which, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void sleep_us(long us)
{
    struct timespec time = {0, us * 1000};
    SYS(__NR_nanosleep, &time, NULL);
}

void start_thread(int (*entry)(void), void *top, volatile int32_t *tid)
{
    uint64_t flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                     CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    register void *tid_place __asm__("r10") = (void *)tid;
    register void *tls __asm__("r8") = own_fs;
    long result;
    __asm__ volatile("syscall\n"
                     "  test %%rax, %%rax\n"
                     "  jnz 1f\n"
                     "  xor %%ebp, %%ebp\n"
                     "  call *%[entry]\n"
                     "  xor %%edi, %%edi\n"
                     "  mov $60, %%eax\n"
                     "  syscall\n"
                     "1:\n"
                     : "=a"(result)
                     : "a"(__NR_clone), "D"(flags), "S"(top), "d"(tid), "r"(tid_place),
                       "r"(tls), [entry] "b"(entry)
                     : "rcx", "r11", "memory");
    if (result < 0)
        die(77);
}

void thread_path(uint32_t tid, const char *file, char path[32])
{
    char digits[12];
    unsigned n = 0, length = 6;
    memcpy(path, "/proc/", 6);
    for (uint32_t rest = tid; rest; rest /= 10)
        digits[n++] = (char)('0' + rest % 10);
    while (n)
        path[length++] = digits[--n];
    memcpy(path + length, file, strlen(file) + 1);
}

bool read_thread_file(uint32_t tid, const char *file, char *text, size_t size)
{
    char path[64];
    thread_path(tid, "", path);
    memcpy(path + strlen(path), file, strlen(file) + 1);
    long fd = SYS(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    long got = SYS(__NR_read, fd, text, size - 1);
    SYS(__NR_close, fd);
    text[got > 0 ? got : 0] = 0;
    return true;
}

uint64_t waited_ns(uint32_t tid)
{
    static char text[128];
    uint64_t number[2] = {0, 0};
    unsigned which = 0;
    if (!read_thread_file(tid, "/schedstat", text, sizeof text))
        return 0;
    for (const char *p = text; *p && which < 2; p++) {
        which += *p == ' ';
        if (*p >= '0' && *p <= '9' && which < 2)
            number[which] = number[which] * 10 + (uint64_t)(*p - '0');
    }
    return number[1];
}

/* A number, so many fields on. */
static uint64_t field(const char *p, unsigned number)
{
    uint64_t value = 0;
    for (unsigned i = 0; *p && i < number; p++)
        i += *p == ' ';
    for (; *p >= '0' && *p <= '9'; p++)
        value = value * 10 + (uint64_t)(*p - '0');
    return value;
}

bool thread_place(uint32_t tid, struct thread_place *place)
{
    enum { CPU = 36, POLICY = 38 }; /* fields after the state */
    static char text[512];
    if (!read_thread_file(tid, "/stat", text, sizeof text))
        return false;
    const char *state = NULL;
    for (const char *p = text; *p; p++) /* the name before the state may hold anything: after the last ')' */
        if (*p == ')' && p[1] == ' ')
            state = p + 2;
    if (!state)
        return false;
    *place = (struct thread_place){*state != 'R', field(state, CPU), field(state, POLICY)};
    return true;
}
