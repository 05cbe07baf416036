/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `cyclescope count` is judged by. It runs a program of one thread by single steps of ptrace, and counts the instructions of its
 * own file by address. An instruction with `rep` counts once. x86-64.
 *
 *      step_count OUT PROGRAM [ARG...]      lines of "OFFSET COUNT" in OUT, from where the file is mapped */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define BYTES_MAX (64u << 20)

/* The first mapping of the program's file to the end of its last. */
static bool range_of(pid_t pid, const char *program, uint64_t *begin, uint64_t *end)
{
    char path[64], line[4096], real[4096];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "r");
    *begin = *end = 0;
    while (maps && realpath(program, real) && fgets(line, sizeof line, maps)) {
        uint64_t from, to;
        line[strcspn(line, "\n")] = '\0';
        const char *file = strchr(line, '/');
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) != 2 || !file || strcmp(file, real) != 0)
            continue;
        if (!*begin)
            *begin = from;
        *end = to;
    }
    if (maps)
        fclose(maps);
    return *end > *begin && *end - *begin < BYTES_MAX;
}

/* Of a string instruction that repeats: the address stays while it does. */
static bool repeats(pid_t pid, uint64_t at)
{
    const uint64_t code = (uint64_t)ptrace(PTRACE_PEEKTEXT, pid, (void *)at, NULL);
    for (unsigned i = 0; i < 4; i++) {
        const uint8_t byte = (uint8_t)(code >> 8 * i);
        if (byte == 0xf2 || byte == 0xf3)
            return true;
        if (byte != 0x66 && byte != 0x67)
            break;
    }
    return false;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const pid_t pid = fork();
    if (pid == 0) {
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[2], argv + 2);
        _exit(127);
    }
    int status;
    uint64_t begin, end;
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || !range_of(pid, argv[2], &begin, &end))
        return 3;
    uint64_t *count = calloc(end - begin, sizeof *count), last = 0;
    FILE *out = fopen(argv[1], "w");
    if (!count || !out)
        return 3;
    for (int signal = 0;;) {
        struct user_regs_struct regs;
        if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) < 0)
            return 3;
        if (regs.rip - begin < end - begin && (regs.rip != last || !repeats(pid, regs.rip)))
            count[regs.rip - begin]++;
        last = regs.rip;
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(intptr_t)signal) < 0 ||
            waitpid(pid, &status, 0) != pid)
            return 3;
        if (!WIFSTOPPED(status))
            break;
        signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        if (signal) /* the handler's first instruction comes next; this one hasn't run */
            return 4;
    }
    for (uint64_t i = 0; i < end - begin; i++)
        if (count[i])
            fprintf(out, "%" PRIx64 " %" PRIu64 "\n", i, count[i]);
    free(count);
    return fclose(out) == 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 5;
}
#else
int main(void)
{
    return 77;
}
#endif
