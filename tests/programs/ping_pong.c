/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two processes hand a byte to and fro through pipes: nearly all of it is switching. Prints the seconds of a number of
 * turns. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int to[2], fro[2];
    long turns = argc > 1 ? atol(argv[1]) : 100000;
    struct timespec from, until;
    char byte = 0;
    if (pipe(to) || pipe(fro))
        return 1;
    pid_t pid = fork();
    if (pid == 0) {
        close(to[1]);
        while (read(to[0], &byte, 1) == 1)
            if (write(fro[1], &byte, 1) != 1)
                _exit(1);
        _exit(0);
    }
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < turns; i++)
        if (write(to[1], &byte, 1) != 1 || read(fro[0], &byte, 1) != 1)
            return 1;
    clock_gettime(CLOCK_MONOTONIC, &until);
    close(to[1]);
    waitpid(pid, NULL, 0);
    printf("%.4f\n", (double)(until.tv_sec - from.tv_sec) + 1e-9 * (double)(until.tv_nsec - from.tv_nsec));
    return 0;
}
