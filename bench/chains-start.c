/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long the frame table of a large binary takes: the first time (at most 0.5 s for 150 MB) and from the cache (at most 20 ms).
 * The value is the worse of the two as a share of its bound, medians of runs; beside it, what libdw takes to tell the same rows one
 * by one, which is why image/unwind/cfi_rows.c runs descriptions itself. File: the argument, else the largest of some that may be there. */
#include "image/unwind/unwind.h"

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RUNS 5
#define FIRST_S 0.5
#define CACHED_S 0.02

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static const char *largest(char *path, size_t room)
{
    static const char *const patterns[] = {"/root/.rustup/toolchains/*/lib/librustc_driver-*.so",
                                           "/usr/lib/x86_64-linux-gnu/libLLVM-*.so.1",
                                           "/usr/lib/gcc/x86_64-linux-gnu/*/cc1plus"};
    off_t most = 0;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        glob_t found;
        struct stat st;
        if (glob(patterns[i], 0, NULL, &found) != 0)
            continue;
        for (size_t k = 0; k < found.gl_pathc; k++)
            if (stat(found.gl_pathv[k], &st) == 0 && st.st_size > most && st.st_size < (off_t)160 << 20) {
                most = st.st_size;
                snprintf(path, room, "%s", found.gl_pathv[k]);
            }
        globfree(&found);
    }
    return most ? path : NULL;
}

static double opened_s(const char *path, struct cs_unwind **unwind)
{
    struct cs_error err;
    double start = now_s();
    if (cs_unwind_open(path, unwind, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return now_s() - start;
}

/* Each row's start asked of libdw. */
static double libdw_s(const char *path, const struct cs_unwind_header *table)
{
    elf_version(EV_CURRENT);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    double start = now_s();
    Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
    const __u32 *first = cs_unwind_first(table);
    const struct cs_unwind_row *rows = cs_unwind_rows(table);
    for (uint32_t block = 0, row = 0; cfi && block < table->n_blocks; block++)
        for (; row < first[block + 1]; row++) {
            Dwarf_Frame *frame = NULL;
            if (dwarf_cfi_addrframe(
                    cfi, table->base + ((uint64_t)block << CS_UNWIND_BLOCK_BITS) + rows[row].at, &frame) == 0)
                free(frame);
        }
    double took = now_s() - start;
    if (cfi)
        dwarf_cfi_end(cfi);
    elf_end(elf);
    close(fd);
    return took;
}

int main(int argc, char **argv)
{
    char found[4096], folder[] = "/tmp/chains-start-XXXXXX", command[64];
    const char *path = argc > 1 && argv[1][0] != '-' ? argv[1] : largest(found, sizeof found);
    struct cs_unwind *unwind = NULL;
    double first[RUNS], cached[RUNS];
    struct stat st;
    size_t bytes;
    if (!path || stat(path, &st) < 0 || !mkdtemp(folder)) {
        printf("{\"name\":\"chains-start\",\"value\":null,\"unit\":\"x\",\"target\":1,\"noise\":0,\"detail\":"
               "\"no large binary here\"}\n");
        return 0;
    }
    setenv("CYCLESCOPE_CACHE", folder, 1);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    for (int i = 0; i < RUNS; i++) {
        if (system(command) != 0)
            return 1;
        first[i] = opened_s(path, &unwind);
        cs_unwind_close(unwind);
        cached[i] = opened_s(path, &unwind);
        if (i + 1 < RUNS)
            cs_unwind_close(unwind);
    }
    qsort(first, RUNS, sizeof *first, ascending);
    qsort(cached, RUNS, sizeof *cached, ascending);
    const struct cs_unwind_header *table = cs_unwind_table(unwind, &bytes);
    double theirs = libdw_s(path, table);
    double f = first[RUNS / 2], c = cached[RUNS / 2],
           value = f / FIRST_S > c / CACHED_S ? f / FIRST_S : c / CACHED_S;
    printf("%s: %.0f MB, %u rows, %u rules, table %.1f MB\n", path, (double)st.st_size / 1e6, table->n_rows,
           table->n_rules, (double)bytes / 1e6);
    printf("{\"name\":\"chains-start\",\"value\":%.2f,\"unit\":\"x\",\"target\":1,\"noise\":%.2f,\"detail\":"
           "\"%.0f MB: first %.3f s "
           "(bound 0.5), cached %.1f ms (bound 20); %u rows in %.1f MB; libdw row by row %.2f s\"}\n",
           value, (first[RUNS - 1] - first[0]) / FIRST_S, (double)st.st_size / 1e6, f, 1e3 * c, table->n_rows,
           (double)bytes / 1e6, theirs);
    cs_unwind_close(unwind);
    return system(command) != 0;
}
