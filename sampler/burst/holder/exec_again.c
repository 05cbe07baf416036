/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set-uid program (or one with capabilities of its file) gets no rights when its thread is traced at exec. The
 * exception is a tracer that may trace everybody. We trace a thread for a moment, and it may call exec just then. So it
 * stops before the first instruction of the new program (PTRACE_O_TRACEEXEC). It ran nothing yet, and its words are on
 * the stack as the kernel put them there. What an exec changes is changed already. So making the same exec again
 * changes nothing but the rights.
 *
 * It runs up to its first system call, which becomes an execve of the same file, words and environment. There it is
 * detached, and enters that call untraced. Until a program's first system call nothing of what it did can be seen.
 *
 * The path is where the kernel put it: AT_EXECFN, or, of a script, its interpreter's, which is the first word. It must
 * still lead to the file that was executed, or else the thread goes on as it is. A file that its user may execute but
 * not read (sudo's on some systems) can't be read in memory either. There the thread itself is asked
 * (process_vm_readv), with a page that we share with it (shmat). A filter of system calls might kill it for those two,
 * so then it isn't asked. */
#include "sampler/burst/holder/exec_again.h"
#include "sampler/burst/holder/rights.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/runner.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PEEK = 2, DETACH = 17, SYSCALL = 24, GETREGSET = 0x4204, SETREGSET = 0x4205, LISTEN = 0x4208 };
#define WALL 0x40000000
#define EVENT_STOP 128
#define SYSTEM_CALL_STOP (SIGTRAP | 0x80) /* PTRACE_O_TRACESYSGOOD */
#define PATH_BYTES 4096
#define ENVIRONMENT_MAX 65536
#define ASKED_MAX 64 /* pages */

struct shared_page { /* with a thread that must be asked */
    struct iovec here, there;
    uint8_t page[PAGE];
};

struct caller {
    uint32_t tid;
    uint64_t stack;      /* where the program's words begin */
    bool readable;       /* by us */
    bool asking_is_safe; /* else */
    long pid;            /* for who asks itself */
    struct registers registers;
    struct shared_page *shared;
    uint64_t shared_at; /* in the thread */
    uint64_t page_at;   /* in the shared page; 0: none */
    unsigned asked;
};

static bool read_call(uint32_t tid, char text[8])
{
    return read_thread_file(tid, "/syscall", text, 8);
}

bool exec_can_be_seen(uint32_t tid)
{
    char text[8];
    return read_call(tid, text);
}

bool exec_may_be_under_way(uint32_t tid)
{
    char text[8];
    if (!read_call(tid, text)) /* may no longer be read, or the thread has another number: the exec's work */
        return true;
    /* One that is awake has no such line: it may wait for a CPU in the middle of an exec. */
    return !memcmp(text, "run", 3) || !memcmp(text, "59 ", 3) ||
           !memcmp(text, "322 ", 4); /* execve, execveat */
}

/* Who may trace everybody takes no rights away. */
static bool may_trace_all(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}, {0}};
    return SYS(__NR_capget, &header, data) == 0 && (data[0].effective >> CAP_SYS_PTRACE & 1);
}

/* Does its file give rights, as far as we can see? */
static bool has_file_rights(struct caller *caller)
{
    static char status[4096];
    struct stat file;
    char path[32], value[64];
    if (!read_thread_file(caller->tid, "/status", status, sizeof status) ||
        status_number(status, "NoNewPrivs:") != 0)
        return false;
    caller->asking_is_safe = status_number(status, "Seccomp:") == 0;
    thread_path(caller->tid, "/exe", path);
    long failed = SYS(__NR_newfstatat, AT_FDCWD, path, &file, 0);
    caller->readable = failed >= 0;
    if (failed < 0)
        return caller->asking_is_safe && (failed == -EACCES || failed == -EPERM);
    return file.st_mode & (S_ISUID | S_ISGID) ||
           SYS(__NR_getxattr, path, "security.capability", value, sizeof value) >= 0;
}

static bool move_registers(struct caller *caller, long request)
{
    struct iovec all = {&caller->registers, sizeof caller->registers};
    return SYS(__NR_ptrace, request, caller->tid, NT_PRSTATUS, &all) >= 0 &&
           all.iov_len == sizeof caller->registers && caller->registers.cs == 0x33;
}

/* On to where the next system call begins or ends. */
static bool next_call(struct caller *caller)
{
    for (long signal = 0, request = SYSCALL;;) {
        int status;
        if (SYS(__NR_ptrace, request, caller->tid, 0, signal) < 0 ||
            SYS(__NR_wait4, caller->tid, &status, WALL, NULL) != caller->tid || !WIFSTOPPED(status))
            return false;
        int number = WSTOPSIG(status);
        if (number == SYSTEM_CALL_STOP)
            return move_registers(caller, GETREGSET);
        bool event = status >> 16 == EVENT_STOP;
        request = event && number != SIGTRAP ? LISTEN : SYSCALL; /* LISTEN: it is stopped for its terminal */
        signal = event ? 0 : number;
    }
}

/* The thread, at the beginning of a system call, makes this one, and stands where another one begins. */
static long make_call(struct caller *caller, long number, const uint64_t argument[6])
{
    struct registers *r = &caller->registers;
    uint64_t next = r->rip;
    r->orig_rax = (uint64_t)number;
    r->rdi = argument[0], r->rsi = argument[1], r->rdx = argument[2];
    r->r10 = argument[3], r->r8 = argument[4], r->r9 = argument[5];
    if (!move_registers(caller, SETREGSET) || !next_call(caller))
        return -ESRCH;
    long result = (long)r->rax;
    r->rip = next - 2; /* the instruction */
    r->rax = __NR_getpid;
    return move_registers(caller, SETREGSET) && next_call(caller) ? result : -ESRCH;
}

static bool share_page(struct caller *caller)
{
    caller->pid = make_call(caller, __NR_getpid, (const uint64_t[6]){0}); /* by its own numbers */
    long id = SYS(__NR_shmget, IPC_PRIVATE, sizeof *caller->shared, IPC_CREAT | 0600);
    if (id < 0)
        return false;
    long at = SYS(__NR_shmat, id, 0, 0);
    SYS(__NR_shmctl, id, IPC_RMID,
        0); /* goes with the last who has it mapped, whoever dies; may be mapped until then */
    if (at < 0 && at > -4096)
        return false;
    caller->shared = (struct shared_page *)at;
    long theirs = make_call(caller, __NR_shmat, (const uint64_t[6]){(uint64_t)id, 0, 0});
    caller->shared_at = (uint64_t)theirs;
    if (theirs < 0 && theirs > -4096)
        return false;
    /* In a namespace of its own that number is another segment, which it has now: it gives that back. */
    struct shmid_ds ours;
    if (SYS(__NR_shmctl, id, IPC_STAT, &ours) >= 0 && ours.shm_nattch == 2)
        return true;
    (void)make_call(caller, __NR_shmdt, (const uint64_t[6]){(uint64_t)theirs});
    return false;
}

/* The thread reads a page of its own. */
static bool ask_page(struct caller *caller, uint64_t at)
{
    struct shared_page *shared = caller->shared;
    if (at == caller->page_at)
        return true;
    if (caller->asked++ >= ASKED_MAX)
        return false;
    shared->here = (struct iovec){(void *)(caller->shared_at + offsetof(struct shared_page, page)), PAGE};
    shared->there = (struct iovec){(void *)at, PAGE};
    const uint64_t argument[6] = {(uint64_t)caller->pid,
                                  caller->shared_at,
                                  1,
                                  caller->shared_at + offsetof(struct shared_page, there),
                                  1,
                                  0};
    caller->page_at = make_call(caller, __NR_process_vm_readv, argument) == PAGE ? at : 0;
    return caller->page_at != 0;
}

/* Eight bytes of the thread's memory. */
static bool read_word(struct caller *caller, uint64_t at, uint64_t *word)
{
    if (caller->readable)
        return SYS(__NR_ptrace, PEEK, caller->tid, at, word) >= 0;
    for (unsigned i = 0; i < 8; i++) {
        if (!ask_page(caller, (at + i) & ~(PAGE - 1ULL)))
            return false;
        ((uint8_t *)word)[i] = caller->shared->page[(at + i) % PAGE];
    }
    return true;
}

static bool read_text(struct caller *caller, uint64_t at, char *text, size_t size)
{
    for (size_t n = 0; n + 8 <= size; n += 8) {
        uint64_t word;
        if (!read_word(caller, at + n, &word))
            return false;
        memcpy(text + n, &word, 8);
        for (unsigned i = 0; i < 8; i++)
            if (!text[n + i])
                return true;
    }
    return false;
}

/* Does this path, the thread's, lead to what it runs? */
static bool leads_there(struct caller *caller, uint64_t path)
{
    static char text[32 + PATH_BYTES];
    struct stat ran, there;
    char at[32];
    thread_path(caller->tid, "/exe", at);
    if (SYS(__NR_newfstatat, AT_FDCWD, at, &ran, 0) < 0 || !read_text(caller, path, text + 32, PATH_BYTES) ||
        !text[32])
        return false;
    thread_path(caller->tid, text[32] == '/' ? "/root" : "/cwd/", at);
    size_t n = strlen(at);
    memcpy(text + 32 - n, at, n);
    return SYS(__NR_newfstatat, AT_FDCWD, text + 32 - n, &there, 0) == 0 && there.st_dev == ran.st_dev &&
           there.st_ino == ran.st_ino;
}

/* The same where we can't read the file: it is there, and isn't a script, whose path comes after its interpreter's. */
static bool is_there(struct caller *caller, uint64_t path, uint64_t words, uint64_t n)
{
    static char text[PATH_BYTES], word[PATH_BYTES];
    if (!read_text(caller, path, text, sizeof text) ||
        make_call(caller, __NR_access, (const uint64_t[6]){path, X_OK}) != 0)
        return false;
    for (unsigned i = 1; i < 3 && i < n; i++) {
        uint64_t at;
        if (!read_word(caller, words + 8 * i, &at) || !read_text(caller, at, word, strlen(text) / 8 * 8 + 8))
            continue;
        if (!memcmp(text, word, strlen(text) + 1))
            return false;
    }
    return true;
}

/* The words of the exec that was made, as the kernel put them on the stack. */
static bool find_words(struct caller *caller, uint64_t *path, uint64_t *words, uint64_t *environment)
{
    uint64_t n, word, at = caller->stack + 8;
    if (!read_word(caller, caller->stack, &n) || n > ENVIRONMENT_MAX)
        return false;
    *words = at;
    *environment = at += 8 * (n + 1);
    for (unsigned i = 0;; i++, at += 8) {
        if (i > ENVIRONMENT_MAX || !read_word(caller, at, &word))
            return false;
        if (!word)
            break;
    }
    uint64_t kind = AT_NULL;
    for (unsigned i = 0; i < 64; i++) {
        at += 8;
        if (!read_word(caller, at, &kind) || kind == AT_NULL || kind == AT_EXECFN)
            break;
        at += 8;
    }
    if (kind != AT_EXECFN || !read_word(caller, at + 8, path))
        return false;
    if (!caller->readable)
        return is_there(caller, *path, *words, n);
    return leads_there(caller, *path) || (n && read_word(caller, *words, path) && leads_there(caller, *path));
}

/* It is about to enter an execve as the one that it made; false: it can't. */
static bool set_exec(struct caller *caller)
{
    uint64_t path, words, environment;
    if (!move_registers(caller, GETREGSET))
        return false;
    caller->stack = caller->registers.rsp;
    if (!next_call(caller) || !next_call(caller)) /* the end of the one that it is in */
        return false;
    if ((int64_t)caller->registers.rax != -ENOSYS || caller->registers.rcx != caller->registers.rip)
        return false; /* not by `syscall`, which leaves these two so */
    struct registers first = caller->registers;
    bool found = (caller->readable || share_page(caller)) && find_words(caller, &path, &words, &environment);
    caller->registers = first;
    if (found) {
        caller->registers.orig_rax = __NR_execve;
        caller->registers.rdi = path;
        caller->registers.rsi = words;
        caller->registers.rdx = environment;
    }
    return move_registers(caller, SETREGSET) && found;
}

bool exec_takes_rights(uint32_t tid)
{
    struct caller caller = {.tid = tid};
    return !may_trace_all() && has_file_rights(&caller);
}

bool exec_detach(uint32_t tid)
{
    struct caller caller = {.tid = tid};
    if (!may_trace_all() && has_file_rights(&caller))
        set_exec(&caller);
    if (caller.shared)
        SYS(__NR_shmdt, caller.shared);
    return SYS(__NR_ptrace, DETACH, tid, 0, 0) >= 0;
}
