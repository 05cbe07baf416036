/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Known work for the sampler's tests: sampler_target MODE SECONDS
 *   spin       spins in spin_here
 *   threads    the same in four threads, started one after the other
 *   phases     every millisecond 200 us in short_phase and 800 us in long_phase, by the clock: in step with a
 *              period of 1 ms; prints the share of short_phase as it measured it
 *   vdso       reads the clock all the time
 *   jit        runs code that it made, named in /tmp/perf-PID.map
 *   jitdump    the same, named in /tmp/jit-PID.dump
 *   forks      starts as many processes as SECONDS says, each of which ends at once
 *   replaced   runs as a copy of itself that is deleted meanwhile, and its name taken by another file */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static volatile uint64_t sink;

__attribute__((noinline)) static void spin_here(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        sink += i;
}

static void spin(double seconds)
{
    for (double end = now() + seconds; now() < end;)
        spin_here(100000);
}

static void *spin_thread(void *arg)
{
    spin(*(double *)arg);
    return NULL;
}

static void threads(double seconds)
{
    pthread_t t[4];
    double each = seconds / 2;
    for (int i = 0; i < 4; i++) {
        pthread_create(&t[i], NULL, spin_thread, &each);
        usleep(50000);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

static uint64_t ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* Each returns what it ran, without the time that the CPU was taken away for. */
#define PHASE(name, work)                                                                                    \
    __attribute__((noinline)) static uint64_t name(uint64_t until)                                           \
    {                                                                                                        \
        uint64_t ran = 0;                                                                                    \
        for (uint64_t last = ticks(), t; last < until; last = t) {                                           \
            t = ticks();                                                                                     \
            ran += t - last < 300000 ? t - last : 0;                                                         \
            work;                                                                                            \
        }                                                                                                    \
        return ran;                                                                                          \
    }
PHASE(short_phase, sink++)
PHASE(long_phase, sink--)

static void phases(double seconds)
{
    double begin = now();
    uint64_t first = ticks();
    while (now() - begin < 0.1)
        ;
    double hz = (double)(ticks() - first) / (now() - begin);
    uint64_t cycle = (uint64_t)(hz * 1e-3), at = ticks(), end = at + (uint64_t)(hz * seconds), in_short = 0,
             all = 0;
    while (at < end) {
        uint64_t ran = short_phase(at + cycle / 5);
        in_short += ran;
        all += ran + long_phase(at + cycle);
        at += cycle;
        if (ticks() > at + cycle) /* the CPU was taken away for long: in step again */
            at = ticks();
    }
    printf("%.4f\n", (double)in_short / (double)all);
}

static void vdso(double seconds)
{
    for (double end = now() + seconds; now() < end;)
        for (int i = 0; i < 10000; i++)
            now();
}

/* mov %rdi,%rax; 1: dec %rax; jnz 1b; ret */
static const unsigned char code[] = {0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};

static int named_in_map(const unsigned char *at)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *f = fopen(path, "w");
    if (!f)
        return 1;
    fprintf(f, "%llx %zx made_at_run_time\n", (unsigned long long)(uintptr_t)at, sizeof code);
    return fclose(f);
}

static int named_in_dump(const unsigned char *at)
{
    static const char name[] = "made_at_run_time";
    char path[64];
    snprintf(path, sizeof path, "/tmp/jit-%d.dump", (int)getpid());
    FILE *f = fopen(path, "w+");
    if (!f)
        return 1;
    const uint32_t header[] = {0x4A695444, 1, 40, 62, 0, (uint32_t)getpid(), 0, 0, 0, 0};
    const uint32_t load[] = {
        0, (uint32_t)(56 + sizeof name + sizeof code), 0, 0, (uint32_t)getpid(), (uint32_t)getpid()};
    const uint64_t where[] = {(uintptr_t)at, (uintptr_t)at, sizeof code, 1};
    fwrite(header, sizeof header, 1, f);
    fwrite(load, sizeof load, 1, f);
    fwrite(where, sizeof where, 1, f);
    fwrite(name, sizeof name, 1, f);
    fwrite(code, sizeof code, 1, f);
    if (fflush(f) != 0)
        return 1;
    /* How the file is found. */
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED;
}

static int jit(double seconds, int (*named)(const unsigned char *at))
{
    unsigned char *at =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return 1;
    memcpy(at, code, sizeof code);
    if (named(at))
        return 1;
    void (*made)(uint64_t) = (void (*)(uint64_t))(uintptr_t)at;
    for (double end = now() + seconds; now() < end;)
        made(1000000);
    return 0;
}

static int replaced(double seconds)
{
    char path[] = "/tmp/cyclescope-gone-XXXXXX", text[32];
    char buffer[65536];
    int in = open("/proc/self/exe", O_RDONLY), out = mkstemp(path);
    for (ssize_t n; (n = read(in, buffer, sizeof buffer)) > 0;)
        if (write(out, buffer, (size_t)n) != n)
            return 1;
    fchmod(out, 0700);
    close(out);
    snprintf(text, sizeof text, "%g", seconds);
    int pid = fork();
    if (pid == 0) {
        execl(path, path, "spin", text, (char *)NULL);
        _exit(1);
    }
    usleep(20000);
    unlink(path);
    /* Another file takes its name: it must not get the samples. */
    out = open(path, O_CREAT | O_WRONLY, 0700);
    (void)!write(out, "not a program", 13);
    close(out);
    usleep((useconds_t)(seconds * 1e6) + 100000);
    unlink(path);
    return 0;
}

static void forks(long n)
{
    for (volatile long i = 0; i < n; i++) {
        pid_t pid = vfork();
        if (pid == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
    }
}

int main(int argc, char **argv)
{
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "spin") == 0)
        spin(seconds);
    else if (strcmp(mode, "threads") == 0)
        threads(seconds);
    else if (strcmp(mode, "phases") == 0)
        phases(seconds);
    else if (strcmp(mode, "vdso") == 0)
        vdso(seconds);
    else if (strcmp(mode, "forks") == 0)
        forks((long)seconds);
    else if (strcmp(mode, "jit") == 0)
        return jit(seconds, named_in_map);
    else if (strcmp(mode, "jitdump") == 0)
        return jit(seconds, named_in_dump);
    else if (strcmp(mode, "replaced") == 0)
        return replaced(seconds);
    else
        return 2;
    return 0;
}
