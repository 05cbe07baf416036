/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Becomes another program just while somebody traces it: each of several children works until it finds itself
 * traced, and then calls exec at once. Prints how many of the programs ended with another code than 0.
 *
 *     exec_while_traced CHILDREN HOW PROGRAM [ARGUMENT]...
 *
 * HOW: main, the first thread becomes PROGRAM; thread, another one does. One that isn't traced within 5 s of its CPU time becomes it
 * all the same: a busy machine doesn't use that up. How many were is printed, too. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_S 5

static char **program;
static int report;

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int is_traced(void)
{
    char text[512];
    FILE *file = fopen("/proc/thread-self/status", "re");
    if (!file)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = 0;
    const char *tracer = strstr(text, "TracerPid:");
    return tracer && atoi(tracer + strlen("TracerPid:")) > 0;
}

static void *work(void *unused)
{
    (void)unused;
    volatile unsigned long sum = 0;
    double end = now_s() + WAIT_S;
    char traced = 'n';
    while (now_s() < end && traced == 'n') {
        for (int i = 0; i < 10000; i++)
            sum += (unsigned)i;
        traced = is_traced() ? 'y' : 'n';
    }
    if (write(report, &traced, 1) == 1)
        execve(program[0], program, (char *[]){"SOME=thing", "EMPTY=", NULL});
    _exit(99);
}

static void child(int in_thread)
{
    pthread_t thread;
    if (in_thread && pthread_create(&thread, NULL, work, NULL) == 0)
        for (;;)
            pause();
    work(NULL);
}

int main(int argc, char **argv)
{
    int pipe_of[2], wrong = 0, traced = 0;
    if (argc < 4 || pipe(pipe_of))
        return 2;
    program = argv + 3;
    report = pipe_of[1];
    for (int i = 0; i < atoi(argv[1]); i++) {
        int status = 0;
        char answer = 'n';
        pid_t pid = fork();
        if (!pid) {
            close(pipe_of[0]);
            child(!strcmp(argv[2], "thread"));
        }
        if (read(pipe_of[0], &answer, 1) != 1 || waitpid(pid, &status, 0) != pid)
            return 1;
        traced += answer == 'y';
        if (status)
            fprintf(stderr, "program %d: status 0x%x, traced: %c\n", i, (unsigned)status, answer);
        wrong += status != 0;
    }
    printf("traced %d, wrong %d\n", traced, wrong);
    return 0;
}
