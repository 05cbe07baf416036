/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A JIT compiler at scale. It makes METHODS methods, all by half of its time, and runs them by turns, each for some
 * microseconds. It describes them in a perf map or a jitdump file (names of a virtual machine's length, bytes, lines).
 *
 *      jit_methods METHODS SECONDS map|dump FOLDER      jitdump files go to FOLDER, perf maps to /tmp
 *
 * Prints "pid NUMBER", "cpu SECONDS" and "rss KB" of itself, and "run NAME TURNS": all turns, of which one method
 * has a tenth. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define METHOD_BYTES 64u
#define TURNS 2000u /* of the loop in a method */
#define LINES 4u
#define FAVOURITE 7u

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#if defined(__x86_64__)
#define MACHINE 62u
static void emit(unsigned char *at)
{
    const uint32_t turns = TURNS;
    const unsigned char code[] = {0xb9, 0,    0,    0,    0,
                                  0xff, 0xc9, 0x75, 0xfc, 0xc3}; /* mov ecx; dec; jnz; ret */
    memcpy(at, code, sizeof code);
    memcpy(at + 1, &turns, sizeof turns);
}
#else
#define MACHINE 183u
static void emit(unsigned char *at)
{
    const uint32_t code[] = {0x52800000u | TURNS << 5, 0x71000400u, 0x54ffffe1u,
                             0xd65f03c0u}; /* mov; subs; b.ne; ret */
    memcpy(at, code, sizeof code);
}
#endif

static void name_of(unsigned i, char *name, size_t size)
{
    snprintf(name, size, "Lcom/example/shop/catalogue/Class%05u;::method%u(Ljava/lang/String;I)V", i / 16,
             i % 16);
}

static void word(FILE *out, uint64_t value, size_t bytes)
{
    fwrite(&value, 1, bytes, out); /* little-endian */
}

static FILE *open_map(void)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    return fopen(path, "we");
}

static FILE *open_dump(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/jit-%d.dump", folder, (int)getpid());
    FILE *out = fopen(path, "w+e");
    if (!out)
        return NULL;
    word(out, 0x4A695444u, 4), word(out, 1, 4), word(out, 40, 4), word(out, MACHINE, 4), word(out, 0, 4);
    word(out, (uint64_t)getpid(), 4), word(out, 0, 8), word(out, 0, 8);
    fflush(out);
    if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(out), 0) ==
        MAP_FAILED) /* how readers find it */
        return NULL;
    return out;
}

static void tell_map(FILE *out, const unsigned char *at, const char *name)
{
    fprintf(out, "%" PRIxPTR " %x %s\n", (uintptr_t)at, METHOD_BYTES, name);
}

static void tell_dump(FILE *out, const unsigned char *at, const char *name, unsigned i)
{
    const char file[] = "Class.java";
    word(out, 2, 4), word(out, 16 + 16 + LINES * (16 + sizeof file), 4), word(out, i, 8); /* its lines */
    word(out, (uintptr_t)at, 8), word(out, LINES, 8);
    for (unsigned line = 0; line < LINES; line++) {
        word(out, (uintptr_t)at + line * 2, 8), word(out, 10 + line, 4), word(out, 0, 4);
        fwrite(file, 1, sizeof file, out);
    }
    word(out, 0, 4), word(out, 16 + 40 + strlen(name) + 1 + METHOD_BYTES, 4), word(out, i, 8); /* itself */
    word(out, (uint64_t)getpid(), 4), word(out, (uint64_t)getpid(), 4), word(out, (uintptr_t)at, 8);
    word(out, (uintptr_t)at, 8), word(out, METHOD_BYTES, 8), word(out, i, 8);
    fwrite(name, 1, strlen(name) + 1, out);
    fwrite(at, 1, METHOD_BYTES, out);
}

/* Makes the methods from `made` to `wanted`, and says so. */
static void make(unsigned char *code, unsigned made, unsigned wanted, FILE *out, int is_map)
{
    for (; made < wanted; made++) {
        char name[128];
        unsigned char *at = code + (size_t)made * METHOD_BYTES;
        name_of(made, name, sizeof name);
        emit(at);
        if (is_map)
            tell_map(out, at, name);
        else
            tell_dump(out, at, name, made);
    }
    if (fflush(out) != 0)
        exit(1);
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    const unsigned n = (unsigned)strtoul(argv[1], NULL, 10);
    const double seconds = strtod(argv[2], NULL), begin = now();
    const int is_map = strcmp(argv[3], "map") == 0;
    unsigned char *code = mmap(NULL, (size_t)n * METHOD_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FILE *out = is_map ? open_map() : open_dump(argv[4]);
    if (n <= FAVOURITE || code == MAP_FAILED || !out)
        return 1;
    uint64_t turns = 0, state = 88172645463325252ull;
    unsigned made = 0;
    for (;;) {
        const double at = now();
        if (at >= begin + seconds)
            break;
        unsigned wanted = (unsigned)(((at - begin) / (seconds / 2) + 0.02) * n); /* all by half of the time */
        wanted = wanted < n ? wanted : n;
        wanted = wanted > FAVOURITE ? wanted : FAVOURITE + 1;
        if (wanted - made > n / 100 || (wanted == n && made < n)) {
            make(code, made, wanted, out, is_map);
            made = wanted;
        }
        for (unsigned i = 0; i < 1000; i++, turns++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            void (*method)(void);
            const unsigned char *method_at =
                code + (size_t)(i % 10 == 0 ? FAVOURITE : state % made) * METHOD_BYTES;
            memcpy(&method, &method_at, sizeof method);
            method();
        }
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    char name[128];
    name_of(FAVOURITE, name, sizeof name);
    printf("pid %d\ncpu %.3f\nrss %ld\nrun %s %" PRIu64 "\n", (int)getpid(),
           (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6,
           used.ru_maxrss, name, turns);
}
