/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stops the threads of a process again and again and unwinds each by our frame tables and by libdwfl, both from the same stopped
 * state. Usage: chain_compare PID STOPS [MILLISECONDS-BETWEEN]. Last line:
 *   chains N, complete N, theirs complete N, frames N, equal N, beyond N; ended: NAME N, ...
 * frames: those that both tell; beyond: ours behind the end of theirs, where libdwfl gave up. */
#include "image/segments.h"
#include "image/unwind.h"
#include "image/unwind_step.h"

#include <dirent.h>
#include <elf.h>
#include <elfutils/libdwfl.h>
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

static int no_debug(Dwfl_Module *module, void **arg, const char *name, Dwarf_Addr base, const char *file,
                    const char *link, GElf_Word crc, char **found)
{
    (void)module, (void)arg, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)found;
    return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf, .find_debuginfo = no_debug};

struct theirs {
    uint64_t pcs[DEPTH];
    size_t n;
};

static int take_frame(Dwfl_Frame *state, void *arg)
{
    struct theirs *t = arg;
    Dwarf_Addr pc;
    bool activation;
    if (t->n == DEPTH || !dwfl_frame_pc(state, &pc, &activation))
        return DWARF_CB_ABORT;
    t->pcs[t->n++] = pc;
    return DWARF_CB_OK;
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

static size_t chains, complete, theirs_complete, frames, equal, beyond, ended[CS_UNWIND_ENDS], shown;

static void compare(Dwfl *dwfl, pid_t tid)
{
    struct cs_unwind_frame frame;
    const struct cs_unwind_space space = {read_word, table_at, NULL,
#ifdef __x86_64__
                                          EM_X86_64
#else
                                          EM_AARCH64
#endif
    };
    uint64_t pcs[DEPTH];
    size_t n;
    struct theirs t = {.n = 0};
    if (!our_frame(tid, &frame))
        return;
    enum cs_unwind_end end = cs_unwind_chain(&frame, &space, pcs, DEPTH, &n);
    int rc = dwfl_getthread_frames(dwfl, tid, take_frame, &t);
    chains++;
    ended[end]++;
    complete += end == CS_UNWIND_END_COMPLETE;
    theirs_complete += rc == 0;
    size_t both = rc == 0 ? t.n : t.n < n ? t.n : n, same = 0;
    for (size_t i = 0; i < both; i++)
        same += i < n && pcs[i] == t.pcs[i];
    frames += both;
    equal += same;
    beyond += rc != 0 && n > t.n ? n - t.n : 0;
    if (((same != both && !getenv("CS_CHAIN_ENDS")) || end != CS_UNWIND_END_COMPLETE) &&
        shown < (getenv("CS_CHAIN_SHOW") ? 20 : 1)) {
        shown++;
        printf("thread %d: ours %zu frames, %s; theirs %zu, %s\n", tid, n, cs_unwind_end_name(end), t.n,
               rc == 0 ? "complete" : dwfl_errmsg(-1));
        for (size_t i = 0; i < n || i < t.n; i++) {
            uint64_t at = i < n ? pcs[i] : t.pcs[i];
            const char *where = "";
            uint64_t vaddr = 0;
            for (size_t m = 0; m < n_maps; m++)
                if (at >= maps[m].start && at < maps[m].end)
                    where = maps[m].path, vaddr = at + maps[m].to_vaddr;
            printf("  %2zu %#lx %s %#lx %s\n", i, i < n ? (long)pcs[i] : 0L,
                   i >= t.n                      ? "-"
                   : i < n && pcs[i] == t.pcs[i] ? "="
                                                 : "≠",
                   i < t.n ? (long)t.pcs[i] : 0L, "");
            printf("     %s+%#lx\n", where, (long)vaddr);
        }
    }
}

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

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    pid = atoi(argv[1]);
    long stops = atol(argv[2]), between_ms = argc > 3 ? atol(argv[3]) : 5;
    Dwfl *dwfl = NULL;
    uint64_t last = 0;
    for (long i = 0; i < stops; i++) {
        pid_t tids[256];
        bool stopped[256] = {false};
        size_t n = threads_of(tids, 256);
        for (size_t k = 0; k < n; k++) {
            int status;
            if (ptrace(PTRACE_SEIZE, tids[k], 0, 0) == 0 && ptrace(PTRACE_INTERRUPT, tids[k], 0, 0) == 0)
                stopped[k] = waitpid(tids[k], &status, __WALL) == tids[k] && WIFSTOPPED(status);
        }
        uint64_t now = n && stopped[0] ? hash_of_maps() : last;
        if (now != last) {
            read_maps();
            if (dwfl)
                dwfl_end(dwfl);
            dwfl = dwfl_begin(&callbacks);
            if (dwfl_linux_proc_report(dwfl, pid) != 0 || dwfl_report_end(dwfl, NULL, NULL) != 0 ||
                dwfl_linux_proc_attach(dwfl, pid, true) != 0) {
                fprintf(stderr, "libdwfl: %s\n", dwfl_errmsg(-1));
                return 1;
            }
            last = now;
        }
        for (size_t k = 0; k < n; k++)
            if (stopped[k] && dwfl)
                compare(dwfl, tids[k]);
        for (size_t k = 0; k < n; k++)
            if (stopped[k])
                ptrace(PTRACE_DETACH, tids[k], 0, 0);
        if (!n)
            break;
        nanosleep(&(struct timespec){between_ms / 1000,
                                     between_ms % 1000 * 1000000 + (long)(i * 7919 % 997) * 1000},
                  NULL);
    }
    printf("chains %zu, complete %zu, theirs complete %zu, frames %zu, equal %zu, beyond %zu; ended:", chains,
           complete, theirs_complete, frames, equal, beyond);
    for (int e = 0; e < CS_UNWIND_ENDS; e++)
        if (ended[e])
            printf(" %s %zu,", cs_unwind_end_name(e), ended[e]);
    printf("\n");
    return chains ? 0 : 1;
}
