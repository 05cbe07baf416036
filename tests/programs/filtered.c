/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Works for 0.3 s of CPU time under a filter of system calls. A word names the few calls that don't end it. It
 * exits with
 * 7. filtered WAY: how the filter comes on. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long x;

__attribute__((noinline)) static void work(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        x += i;
}

static void *work_too(void *unused)
{
    for (;;)
        work(1000);
    return unused;
}

static struct sock_filter program[64];
static struct sock_fprog filter = {.filter = program};

static void add(struct sock_filter f)
{
    program[filter.len++] = f;
}

/* Kills for all but these; with `deny`: kills for these alone. */
static void make_filter(const int *calls, int n, int deny)
{
    filter.len = 0;
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    for (int i = 0; i < n; i++)
        add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i],
                                         (unsigned char)(n - i), 0));
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, deny ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS));
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, deny ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW));
}

static void by_prctl(void)
{
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        _exit(1);
}

int main(int argc, char **argv)
{
    static const int few[] = {SYS_exit, SYS_exit_group, SYS_write},
                     with_return[] = {SYS_exit, SYS_exit_group, SYS_rt_sigreturn},
                     timers[] = {SYS_timer_create, SYS_timer_settime, SYS_clock_gettime, SYS_prctl,
                                 SYS_rt_sigreturn};
    const char *way = argc > 1 ? argv[1] : "";
    pthread_t thread;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    work(20000000); /* a first sample, and a timer at work */
    make_filter(few, 3, 0);
    if (strcmp(way, "prctl") == 0) {
        by_prctl();
    } else if (strcmp(way, "strict") == 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        work(300000000);
        (void)!write(1, "worked\n", 7);
        syscall(SYS_exit, 7);
    } else if (strcmp(way, "all-threads") == 0) {
        pthread_create(&thread, NULL, work_too, NULL);
        work(20000000);
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0)
            _exit(1);
    } else if (strcmp(way, "thread-and-child") == 0) { /* what starts later has the filter, too */
        make_filter(timers, 5, 1);
        by_prctl();
        pthread_create(&thread, NULL, work_too, NULL);
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            work(100000000);
            _exit(0);
        }
        waitpid(child, &status, 0);
        if (status != 0)
            _exit(2);
    } else if (strcmp(way, "exec") == 0) {
        make_filter(timers, 3, 1);
        by_prctl();
        execl(argv[0], argv[0], "plain", (char *)NULL);
        _exit(1);
    } else if (strcmp(way, "unseen") ==
               0) { /* not by a function that could be watched; a handler may return */
        make_filter(with_return, 3, 0);
        long rc = 0;
#ifdef __x86_64__
        register unsigned long r10 __asm__("r10") = 0, r8 __asm__("r8") = 0;
        __asm__ volatile("syscall"
                         : "=a"(rc)
                         : "a"(SYS_prctl), "D"(PR_SET_SECCOMP), "S"(SECCOMP_MODE_FILTER), "d"(&filter),
                           "r"(r10), "r"(r8)
                         : "rcx", "r11", "memory");
#endif
        if (rc != 0)
            _exit(1);
    }
    work(300000000);
    _exit(7);
}
