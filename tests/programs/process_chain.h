/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stopped process, unwound by our tables: what the programs of this folder share. Of one process at a time. */
#ifndef CS_TESTS_PROGRAMS_PROCESS_CHAIN_H
#define CS_TESTS_PROGRAMS_PROCESS_CHAIN_H

#include "image/file/segments.h"
#include "image/unwind/step.h"
#include "image/unwind/unwind.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 256
#define MAPS 4096

struct map {
    uint64_t start, end, to_vaddr;
    struct cs_unwind *unwind;
    const struct cs_unwind_header *table;
    char path[256];
    bool code;
};

static struct map maps[MAPS];
static size_t n_maps;
static pid_t pid;

static bool read_word(void *arg, uint64_t addr, uint64_t *value)
{
    (void)arg;
    struct iovec ours = {value, 8}, theirs = {(void *)(uintptr_t)addr, 8};
    return process_vm_readv(pid, &ours, 1, &theirs, 1, 0) == 8;
}

static const struct cs_unwind_header *table_at(void *arg, uint64_t pc, uint64_t *to_vaddr, bool *code)
{
    (void)arg;
    for (size_t i = 0; i < n_maps; i++)
        if (pc >= maps[i].start && pc < maps[i].end) {
            *code = maps[i].code;
            *to_vaddr = maps[i].to_vaddr;
            return maps[i].code ? maps[i].table : NULL;
        }
    *code = false;
    return NULL;
}

static void open_vdso(struct map *m)
{
    size_t n = m->end - m->start;
    char *bytes = malloc(n);
    struct iovec ours = {bytes, n}, theirs = {(void *)(uintptr_t)m->start, n};
    struct cs_error err;
    if (process_vm_readv(pid, &ours, 1, &theirs, 1, 0) != (ssize_t)n ||
        cs_unwind_open_memory(bytes, n, &m->unwind, &err) < 0)
        return;
    m->to_vaddr = -m->start;
    m->table = cs_unwind_table(m->unwind, &n);
}

static void read_maps(void)
{
    char name[PATH_MAX], line[PATH_MAX + 128];
    snprintf(name, sizeof name, "/proc/%d/maps", pid);
    FILE *file = fopen(name, "r");
    for (size_t i = 0; i < n_maps; i++)
        cs_unwind_close(maps[i].unwind);
    n_maps = 0;
    while (file && fgets(line, sizeof line, file) && n_maps < MAPS) {
        struct map *m = &maps[n_maps++];
        unsigned long start, end, offset;
        char flags[8];
        int at = 0;
        *m = (struct map){0};
        sscanf(line, "%lx-%lx %7s %lx %*s %*s %n", &start, &end, flags, &offset, &at);
        line[strcspn(line, "\n")] = 0;
        m->start = start, m->end = end, m->code = flags[2] == 'x';
        snprintf(m->path, sizeof m->path, "%s", line + at);
        if (!m->code || !m->path[0])
            continue;
        if (strcmp(m->path, "[vdso]") == 0) {
            open_vdso(m);
            continue;
        }
        struct cs_image_segments layout;
        struct cs_error err;
        size_t n;
        snprintf(name, sizeof name, "/proc/%d/root%s", pid, m->path);
        int fd = open(name, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || cs_image_segments_of_file(&layout, fd) < 0 || !layout.is_elf ||
            cs_unwind_open(name, &m->unwind, &err) < 0) {
            if (fd >= 0)
                close(fd);
            continue;
        }
        close(fd);
        m->to_vaddr = cs_image_vaddr(&layout, offset) - start;
        m->table = cs_unwind_table(m->unwind, &n);
    }
    if (file)
        fclose(file);
}

static bool our_frame(pid_t tid, struct cs_unwind_frame *f)
{
    struct user_regs_struct r;
    struct iovec io = {&r, sizeof r};
    if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &io) < 0)
        return false;
    *f = (struct cs_unwind_frame){.known = CS_UNWIND_KNOWS_ALL, .leaf = true};
#ifdef __x86_64__
    const uint64_t all[16] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp,
                              r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
    memcpy(f->registers, all, sizeof all);
    f->pc = r.rip;
#else
    memcpy(f->registers, r.regs, 31 * 8);
    f->registers[31] = r.sp;
    f->pc = r.pc;
#endif
    return true;
}

#ifdef __x86_64__
#define HOST_MACHINE EM_X86_64
#else
#define HOST_MACHINE EM_AARCH64
#endif

static uint64_t hash_of_maps(void)
{
    char name[64], bytes[4096];
    uint64_t sum = 0;
    snprintf(name, sizeof name, "/proc/%d/maps", pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    for (ssize_t n; fd >= 0 && (n = read(fd, bytes, sizeof bytes)) > 0;)
        for (ssize_t i = 0; i < n; i++)
            sum = sum * 31 + (uint8_t)bytes[i];
    if (fd >= 0)
        close(fd);
    return sum;
}

static size_t threads_of(pid_t *tids, size_t room)
{
    char name[64];
    size_t n = 0;
    snprintf(name, sizeof name, "/proc/%d/task", pid);
    DIR *folder = opendir(name);
    for (const struct dirent *e; folder && (e = readdir(folder)) && n < room;)
        if (e->d_name[0] != '.')
            tids[n++] = atoi(e->d_name);
    if (folder)
        closedir(folder);
    return n;
}

/* Stops as many threads as it can; true in `stopped` where it did. */
static size_t stop_threads(pid_t *tids, bool *stopped, size_t room)
{
    size_t n = threads_of(tids, room);
    for (size_t k = 0; k < n; k++) {
        int status;
        stopped[k] = ptrace(PTRACE_SEIZE, tids[k], 0, 0) == 0 &&
                     ptrace(PTRACE_INTERRUPT, tids[k], 0, 0) == 0 &&
                     waitpid(tids[k], &status, __WALL) == tids[k] && WIFSTOPPED(status);
    }
    return n;
}

static void let_go(const pid_t *tids, const bool *stopped, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (stopped[k])
            ptrace(PTRACE_DETACH, tids[k], 0, 0);
}

#endif
