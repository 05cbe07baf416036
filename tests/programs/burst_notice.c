/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that would notice if somebody stopped its threads in any other way than by taking time. Every
 * blocking call must end as if nobody was there, and every signal must arrive once. Every computation must
 * give its result, and SIGTRAP belong to it. usage: burst_notice SECONDS. Exit 0 and "unnoticed", or 1 and
 * what was noticed. burst_notice strict|filter SECONDS: the same of a single thread whose system calls are
 * all forbidden but those that end it. Any call made in its name kills it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_bool over;
static atomic_int complaints;
static atomic_long traps_seen, traps_made, computed, calls;

static void notice(const char *what, int code)
{
    if (complaints++ < 10)
        fprintf(stderr, "noticed: %s (%s)\n", what, strerror(code));
}

/* Enough work that bursts find the thread in its own code; always with the same result. */
static void compute(void)
{
    volatile double vector[64];
    uint64_t x = 1;
    for (int i = 0; i < 64; i++)
        vector[i] = i;
    for (int i = 0; i < 200000; i++) {
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        vector[i & 63] += (double)(x >> 60);
        if (x >> 63)
            x ^= 0xabcdef;
    }
    double sum = 0;
    for (int i = 0; i < 64; i++)
        sum += vector[i];
    static _Atomic uint64_t first;
    uint64_t got = x ^ (uint64_t)sum << 20, none = 0;
    if (!atomic_compare_exchange_strong(&first, &none, got) && none != got)
        notice("a computation gave another result", 0);
    computed++;
}

static void *computing(void *arg)
{
    while (!over)
        compute();
    return arg;
}

static void short_work(void)
{
    for (volatile int i = 0; i < 60000; i++)
        ;
}

#define MUST(call, wanted)                                                                                   \
    do {                                                                                                     \
        errno = 0;                                                                                           \
        long result = (long)(call);                                                                          \
        calls++;                                                                                             \
        if (result == -1 && errno != (wanted))                                                               \
            notice(#call, errno);                                                                            \
    } while (0)

/* Each of these ends with its own error or none after some milliseconds; work between gives bursts a chance.
 */
static void *waiting(void *arg)
{
    int epoll = epoll_create1(0), pair[2];
    struct timeval receive = {0, 3000};
    int semaphores = semget(IPC_PRIVATE, 1, 0600);
    sigset_t nothing;
    sigemptyset(&nothing);
    sigaddset(&nothing, SIGUSR2);
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) || epoll < 0 || semaphores < 0)
        exit(3);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &receive, sizeof receive);
    while (!over) {
        struct epoll_event event;
        struct sembuf down = {0, -1, 0};
        struct timespec brief = {0, 2000000};
        char byte;
        MUST(epoll_wait(epoll, &event, 1, 2), 0);
        short_work();
        MUST(recv(pair[0], &byte, 1, 0), EAGAIN);
        short_work();
        MUST(semtimedop(semaphores, &down, 1, &brief), EAGAIN);
        short_work();
        MUST(sigtimedwait(&nothing, NULL, &brief), EAGAIN);
        short_work();
        MUST(nanosleep(&brief, NULL), 0);
        short_work();
    }
    semctl(semaphores, 0, IPC_RMID);
    return arg;
}

static void on_trap(int number)
{
    (void)number;
    traps_seen++;
}

/* Its own breakpoints and its own real-time signals, counted. */
static atomic_int next_value;
static void on_value(int number, siginfo_t *signal, void *context)
{
    (void)number;
    (void)context;
    if (signal->si_value.sival_int != next_value++)
        notice("queued signals out of order or lost", 0);
}

static void *signalling(void *arg)
{
    int sent = 0;
    while (!over) {
        traps_made++;
        __asm__ volatile("int3");
        union sigval value = {.sival_int = sent++};
        if (pthread_sigqueue(pthread_self(), SIGRTMIN + 1, value))
            notice("pthread_sigqueue", errno);
        short_work();
    }
    if (next_value != sent)
        notice("a queued signal is missing", 0);
    return arg;
}

/* A thread that blocks SIGTRAP and looks whether one is pending. That can't be helped where it blocks within
 * the moment between a burst's look at its mask and the event (docs/bursts.md): said, and no complaint, but a
 * handler must not get it when it is unblocked. */
static volatile unsigned seen_pending;
static void *blocking(void *arg)
{
    sigset_t trap, pending;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    while (!over) {
        pthread_sigmask(SIG_BLOCK, &trap, NULL);
        for (int i = 0; i < 200 && !over; i++) {
            short_work();
            sigpending(&pending);
            if (sigismember(&pending, SIGTRAP))
                seen_pending++;
        }
        pthread_sigmask(SIG_UNBLOCK, &trap, NULL);
        short_work();
    }
    return arg;
}

static void wait_for(pid_t pid, const char *what, int wanted)
{
    int status = 0;
    if (waitpid(pid, &status, 0) != pid)
        notice(what, errno);
    else if (status != wanted)
        notice(what, 0);
}

static void seccomp_child(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(4);
    for (int i = 0; i < 20; i++)
        compute();
    _exit(0);
}

/* Parents, children and a tracer of its own. */
static void *families(void *arg)
{
    char *const argv[] = {"true", NULL};
    while (!over) {
        pid_t pid = vfork();
        if (pid == 0) {
            execv("/bin/true", argv);
            _exit(5);
        }
        wait_for(pid, "vfork and exec", 0);
        if ((pid = fork()) == 0)
            seccomp_child();
        wait_for(pid, "a child under seccomp", 0);
        if ((pid = fork()) == 0) {
            if (ptrace(PTRACE_TRACEME, 0, 0, 0))
                _exit(6);
            raise(SIGSTOP);
            compute();
            _exit(7);
        }
        int status;
        waitpid(pid, &status, 0);
        for (int i = 0; i < 50 && WIFSTOPPED(status); i++) {
            ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
            waitpid(pid, &status, 0);
            if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
                notice("a child's single step", 0);
        }
        ptrace(PTRACE_CONT, pid, 0, 0);
        wait_for(pid, "a traced child", 7 << 8);
    }
    return arg;
}

static void *brief_thread(void *arg)
{
    short_work();
    return arg;
}

static void *many_threads(void *arg)
{
    while (!over) {
        pthread_t thread[4];
        for (int i = 0; i < 4; i++)
            if (pthread_create(&thread[i], NULL, brief_thread, NULL))
                notice("pthread_create", errno);
        for (int i = 0; i < 4; i++)
            pthread_join(thread[i], NULL);
    }
    return arg;
}

static void *timer(void *arg)
{
    struct itimerspec every = {{0, 1000000}, {0, 1000000}};
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    uint64_t ticks, sum = 0;
    timerfd_settime(fd, 0, &every, NULL);
    while (!over) {
        if (read(fd, &ticks, sizeof ticks) != sizeof ticks)
            notice("reading a timer", errno);
        else
            sum += ticks;
    }
    close(fd);
    return arg;
}

/* So much work as takes `seconds` here, counted out before the door is shut. */
static long work_of(int seconds)
{
    struct timespec before, after;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    for (int i = 0; i < 50; i++)
        compute();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    double spent = (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) * 1e-9;
    return (long)(50 * seconds / (spent > 1e-6 ? spent : 1e-6));
}

static bool shut(const char *how)
{
    if (strcmp(how, "strict") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Not even a handler may return under the filter: SIGTRAP keeps its default, which kills. */
static int shut_in(const char *how, int seconds)
{
    static const char unnoticed[] = "unnoticed under seccomp\n", noticed[] = "noticed under seccomp\n";
    long rounds = work_of(seconds);
    if (!shut(how))
        return 77;
    while (rounds-- > 0)
        compute();
    bool ok = !complaints;
    long wrote = write(1, ok ? unnoticed : noticed, ok ? sizeof unnoticed - 1 : sizeof noticed - 1);
    syscall(SYS_exit, ok && wrote > 0 ? 0 : 1);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return shut_in(argv[1], atoi(argv[2]));
    void *(*const bodies[])(void *) = {computing, waiting,      signalling, blocking,
                                       families,  many_threads, timer};
    pthread_t threads[sizeof bodies / sizeof *bodies];
    struct sigaction value = {.sa_sigaction = on_value, .sa_flags = SA_SIGINFO};
    sigset_t process;
    signal(SIGTRAP, on_trap);
    sigaction(SIGRTMIN + 1, &value, NULL);
    sigemptyset(&process);
    sigaddset(&process, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &process, NULL);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        if (pthread_create(&threads[i], NULL, bodies[i], NULL))
            return 3;
    struct timespec rest = {argc > 1 ? atoi(argv[1]) : 5, 0};
    if (nanosleep(&rest, NULL))
        notice("nanosleep", errno);
    over = true;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        pthread_join(threads[i], NULL);
    if (traps_seen != traps_made)
        notice("SIGTRAP came that nobody raised", 0);
    printf("%s: %ld calls, %ld computations, %ld breakpoints\n", complaints ? "noticed" : "unnoticed",
           (long)calls, (long)computed, (long)traps_made);
    if (seen_pending)
        printf("SIGTRAP was pending %u times in the thread that blocks it\n", seen_pending);
    return complaints ? 1 : 0;
}
