/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server that sleeps between short requests, on a CPU of its own where there are two; its client asks from another one.
 *
 *     woken SECONDS WORK_US GAP_US FILE    the client waits GAP_US before each request; FILE gets the server's process
 *
 * Prints the requests, and the CPU time of server and client by their own clocks. */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void spin(clockid_t clock, uint64_t ns)
{
    for (uint64_t end = now(clock) + ns; now(clock) < end;)
        ;
}

/* The nth of the CPUs that there are for us. */
static void take_cpu(unsigned n)
{
    cpu_set_t set, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof set, &set);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set) && n-- == 0)
            CPU_SET(cpu, &one);
    if (CPU_COUNT(&one))
        sched_setaffinity(0, sizeof one, &one);
}

static void serve(int fd, uint64_t work_ns)
{
    char byte;
    while (read(fd, &byte, 1) == 1) {
        spin(CLOCK_MONOTONIC, work_ns);
        if (write(fd, &byte, 1) != 1)
            break;
    }
    uint64_t ran = now(CLOCK_PROCESS_CPUTIME_ID);
    if (write(fd, &ran, sizeof ran) != sizeof ran)
        _exit(1);
    _exit(0);
}

int main(int argc, char **argv)
{
    int fd[2];
    long requests = 0;
    char byte = 0;
    uint64_t served = 0;
    if (argc != 5 || socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
        return 2;
    uint64_t end = now(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[1]) * 1e9);
    pid_t pid = fork();
    if (pid == 0) {
        close(fd[0]);
        take_cpu(1);
        serve(fd[1], (uint64_t)(atof(argv[2]) * 1e3));
    }
    close(fd[1]);
    take_cpu(0);
    FILE *file = fopen(argv[4], "w");
    if (!file)
        return 2;
    fprintf(file, "%d\n", pid);
    fclose(file);
    for (; now(CLOCK_MONOTONIC) < end; requests++) {
        spin(CLOCK_MONOTONIC, (uint64_t)(atof(argv[3]) * 1e3));
        if (write(fd[0], &byte, 1) != 1 || read(fd[0], &byte, 1) != 1)
            return 1;
    }
    shutdown(fd[0], SHUT_WR);
    if (read(fd[0], &served, sizeof served) != sizeof served)
        return 1;
    waitpid(pid, NULL, 0);
    printf("requests %ld server %.6f client %.6f\n", requests, (double)served * 1e-9,
           (double)now(CLOCK_PROCESS_CPUTIME_ID) * 1e-9);
    return 0;
}
