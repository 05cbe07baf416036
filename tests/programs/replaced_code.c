/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other code at the same address: two methods, or two libraries by turns, each for so long of its own CPU time.
 *
 *      replaced_code map|dump MS        a method "first", then "second" where it was; dump: a jitdump file in this folder
 *      replaced_code libraries MS A B   function work(long) of libraries A, B, A, B, one loaded where the other was */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE 62u
static const unsigned char code[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3}; /* dec rdi; jnz; ret */
#else
#define MACHINE 183u
static const uint32_t code[] = {0xf1000400u, 0x54ffffe1u, 0xd65f03c0u}; /* subs; b.ne; ret */
#endif

static uint64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void run(void (*work)(long), uint64_t ms)
{
    for (const uint64_t end = now(CLOCK_PROCESS_CPUTIME_ID) + ms * 1000000;
         now(CLOCK_PROCESS_CPUTIME_ID) < end;)
        work(100000);
}

static FILE *open_dump(void)
{
    char name[64];
    snprintf(name, sizeof name, "jit-%d.dump", (int)getpid());
    FILE *f = fopen(name, "w+");
    const struct {
        uint32_t magic, version, size, machine, padding, pid;
        uint64_t time, flags;
    } head = {0x4A695444, 1, 40, MACHINE, 0, (uint32_t)getpid(), now(CLOCK_MONOTONIC), 0};
    if (!f || fwrite(&head, sizeof head, 1, f) != 1 || fflush(f) ||
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED)
        exit(1);
    return f;
}

static void name_in_dump(FILE *f, const char *name, uint64_t at)
{
    const struct {
        uint32_t id, size;
        uint64_t time;
        uint32_t pid, tid;
        uint64_t vma, start, bytes, index;
    } load = {0,
              (uint32_t)(sizeof load + strlen(name) + 1 + sizeof code),
              now(CLOCK_MONOTONIC),
              (uint32_t)getpid(),
              (uint32_t)getpid(),
              at,
              at,
              sizeof code,
              0};
    fwrite(&load, sizeof load, 1, f);
    fwrite(name, strlen(name) + 1, 1, f);
    fwrite(code, sizeof code, 1, f);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const uint64_t ms = strtoull(argv[2], NULL, 10);
    for (int i = 0; argc == 5 && i < 4; i++) {
        void *library = dlopen(argv[3 + i % 2], RTLD_NOW);
        void (*work)(long) = NULL;
        if (library)
            *(void **)&work = dlsym(library, "work");
        if (!work)
            return 1;
        run(work, ms);
        dlclose(library);
    }
    if (argc == 5)
        return 0;
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    const int dump = strcmp(argv[1], "dump") == 0;
    FILE *out = dump ? open_dump() : fopen(path, "w");
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!out || at == MAP_FAILED)
        return 1;
    for (int i = 0; i < 2; i++) {
        static const char *const names[] = {"first", "second"};
        memcpy(at, code, sizeof code);
        __builtin___clear_cache((char *)at, (char *)at + sizeof code);
        if (dump)
            name_in_dump(out, names[i], (uint64_t)(uintptr_t)at);
        else
            fprintf(out, "%llx %zx %s\n", (unsigned long long)(uintptr_t)at, sizeof code, names[i]);
        fflush(out);
        void (*work)(long);
        *(void **)&work = at;
        run(work, ms);
    }
    return 0;
}
