/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which way a program's first thread goes, derived from its registers and 512 bytes of stack
 * (analysis/interpret/abstract_run.h), against which way it went. The program is stopped at random moments and
 * single-stepped.
 *
 *     path_driver [-n MOMENTS] -- COMMAND...
 *
 * What the command prints is lost. Prints {"moments": …, "resolved": …, "steps": …, "right": …, "wrong": …};
 * what is wrong on standard error.
 */
#include "analysis/interpret/abstract_run.h"

#include <fcntl.h>
#include <gelf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES 512
#define NATIVE_STEPS 3000
#define MAPS_MAX 256

/* ---- where its code is ---- */

struct mapped {
    uint64_t start, end, bias; /* address - ELF virtual address */
    char path[512];
    struct cs_image_code *code;
};
static struct mapped maps[MAPS_MAX];
static unsigned n_maps;
static pid_t pid;

/* The virtual address of what lies at an offset of the file. */
static bool address_in(const char *path, uint64_t offset, uint64_t *address)
{
    bool found = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    size_t n = 0;
    if (elf && elf_getphdrnum(elf, &n) == 0)
        for (size_t i = 0; i < n && !found; i++) {
            GElf_Phdr p;
            if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && offset + 4096 > p.p_offset &&
                offset < p.p_offset + p.p_filesz && (p.p_flags & PF_X)) {
                *address = p.p_vaddr - p.p_offset + offset;
                found = true;
            }
        }
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    return found;
}

static void read_maps(void)
{
    char name[64], line[700];
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(name, "r");
    if (!f)
        return;
    while (n_maps < MAPS_MAX && fgets(line, sizeof line, f)) {
        struct mapped m = {0};
        struct cs_error err;
        char flags[8];
        unsigned long start, end, offset;
        uint64_t address;
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %511s", &start, &end, flags, &offset, m.path) != 5 ||
            flags[2] != 'x' || m.path[0] != '/')
            continue;
        unsigned i = 0;
        while (i < n_maps && maps[i].start != start)
            i++;
        if (i < n_maps || !address_in(m.path, offset, &address) ||
            cs_image_open_file(m.path, &m.code, &err) < 0)
            continue;
        m.start = start;
        m.end = end;
        m.bias = start - address;
        maps[n_maps++] = m;
    }
    fclose(f);
}

static const struct mapped *find(uint64_t address)
{
    for (unsigned i = 0; i < n_maps; i++)
        if (address >= maps[i].start && address < maps[i].end)
            return &maps[i];
    return NULL;
}

static struct cs_image_code *code_at(void *arg, uint64_t address, uint64_t *offset)
{
    const struct mapped *m = find(address);
    (void)arg;
    *offset = m ? address - m->bias : 0;
    return m ? m->code : NULL;
}

/* ---- the comparison ---- */

static bool state_of(struct cs_abstract_run_start *start, uint8_t *stack)
{
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, pid, NULL, &r) != 0)
        return false;
    *start = (struct cs_abstract_run_start){.pc = r.rip,
                                            .flags = r.eflags,
                                            .reg = {r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi,
                                                    r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15},
                                            .stack = stack};
    struct iovec here = {stack, STACK_BYTES}, there = {(void *)r.rsp, STACK_BYTES};
    ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);
    start->stack_bytes = n > 0 ? (size_t)n : 0;
    return (long)r.orig_rax < 0; /* not in a system call, as a sample of user mode isn't */
}

static bool stopped(void)
{
    int status;
    return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status);
}

static struct {
    unsigned resolved, steps, right, wrong;
} seen;

static void compare(const struct cs_abstract_run *path, uint64_t pc)
{
    unsigned done = 0;
    seen.resolved += path->n > 0;
    seen.steps += path->n;
    for (unsigned k = 0; k < NATIVE_STEPS && done < path->n; k++) {
        uint64_t before = pc;
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0 || !stopped())
            return;
        pc = (uint64_t)ptrace(PTRACE_PEEKUSER, pid, (void *)offsetof(struct user_regs_struct, rip), NULL);
        if (before != path->step[done].from)
            continue;
        if (pc != path->step[done].to) {
            const struct mapped *m = find(before);
            seen.wrong++;
            fprintf(stderr, "%s+%#lx: %#lx was said, %#lx seen (step %u of %u)\n", m ? m->path : "?",
                    before - (m ? m->bias : 0), path->step[done].to - (m ? m->bias : 0),
                    pc - (m ? m->bias : 0), done, path->n);
            return;
        }
        seen.right++;
        done++;
    }
}

int main(int argc, char **argv)
{
    struct cs_abstract_runner *runner;
    struct cs_error err;
    unsigned moments = 1000, done = 0;
    int option;
    while ((option = getopt(argc, argv, "+n:")) == 'n')
        moments = (unsigned)atoi(optarg);
    if (option != -1 || optind == argc || cs_abstract_runner_open(code_at, NULL, &runner, &err) < 0) {
        fprintf(stderr, "usage: path_driver [-n MOMENTS] -- COMMAND...\n");
        return 2;
    }
    elf_version(EV_CURRENT);
    int go[2];
    char byte = 0;
    if (pipe2(go, O_CLOEXEC) < 0)
        return 1;
    pid = fork();
    if (pid == 0) {
        (void)!read(go[0], &byte, 1);
        dup2(open("/dev/null", O_RDWR), STDOUT_FILENO);
        execvp(argv[optind], argv + optind);
        _exit(127);
    }
    if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)PTRACE_O_EXITKILL) != 0 || write(go[1], &byte, 1) != 1)
        return 1;
    usleep(100000); /* its start is the loader's */
    srand(1);
    while (done < moments) {
        uint8_t stack[STACK_BYTES];
        struct cs_abstract_run_start start;
        struct cs_abstract_run path;
        struct timespec rest = {0, 1000 + rand() % 300000};
        nanosleep(&rest, NULL);
        if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0 || !stopped())
            break;
        done++;
        if (state_of(&start, stack)) {
            if (!find(start.pc))
                read_maps();
            cs_abstract_runner_run(runner, &start, &path);
            compare(&path, start.pc);
        }
        ptrace(PTRACE_CONT, pid, NULL, NULL);
    }
    kill(pid, SIGKILL);
    printf("{\"moments\": %u, \"resolved\": %u, \"steps\": %u, \"right\": %u, \"wrong\": %u}\n", done,
           seen.resolved, seen.steps, seen.right, seen.wrong);
    cs_abstract_runner_close(runner);
    for (unsigned i = 0; i < n_maps; i++)
        cs_image_close(maps[i].code);
    return 0;
}
