/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of image/ stays written by hand though a library does it: the line of one address, by our line_program
 * and by libdw, which makes a unit's whole table first. Asked once in each unit of cyclescope itself; the value is
 * how many times as long libdw takes. Both must say the same. Damaged inputs: tests/fuzz/run image. */
#include "image/debug/line_program.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REPEATS 5

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static Elf *open_elf(const char *path, int *fd)
{
    elf_version(EV_CURRENT);
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    return *fd < 0 ? NULL : elf_begin(*fd, ELF_C_READ_MMAP, NULL);
}

static struct bytes_of section_named(Elf *elf, const char *wanted)
{
    size_t names;
    elf_getshdrstrndx(elf, &names);
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s)) != NULL;) {
        GElf_Shdr header;
        gelf_getshdr(s, &header);
        Elf_Data *data =
            strcmp(elf_strptr(elf, names, header.sh_name), wanted) == 0 ? elf_rawdata(s, NULL) : NULL;
        if (data)
            return (struct bytes_of){data->d_buf, data->d_size};
    }
    return (struct bytes_of){NULL, 0};
}

/* Each unit's first address, asked once by both. */
static unsigned measure_lines(const char *path, double *ours, double *theirs, unsigned *differ)
{
    int fd;
    Elf *elf = open_elf(path, &fd);
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    struct line_sections sections = {.line = section_named(elf, ".debug_line"),
                                     .line_str = section_named(elf, ".debug_line_str"),
                                     .str = section_named(elf, ".debug_str")};
    unsigned n = 0;
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    while (dwarf && dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0) {
        Dwarf_Attribute attribute;
        Dwarf_Word at;
        Dwarf_Addr low, high, base;
        if (dwarf_formudata(dwarf_attr(&die, DW_AT_stmt_list, &attribute), &at) != 0 ||
            dwarf_ranges(&die, 0, &base, &low, &high) <= 0 || low == 0)
            continue;
        low += (high - low) / 2;
        struct line_row row = {.line = 0};
        double start = now_us();
        bool found = line_program_find(&sections, at, low, &row);
        double middle = now_us();
        Dwarf_Line *line = dwarf_getsrc_die(&die, low);
        *theirs += now_us() - middle;
        *ours += middle - start;
        int number = 0;
        n++;
        *differ += found != (line && dwarf_lineno(line, &number) == 0 && number == (int)row.line);
    }
    dwarf_end(dwarf);
    elf_end(elf);
    close(fd);
    return n;
}

int main(void)
{
    const char *program = getenv("CYCLESCOPE");
    double ours = 0, theirs = 0, spread[2] = {1e9, 0};
    unsigned n = 0, differ = 0;
    for (int i = 0; i < REPEATS; i++) {
        double a = 0, b = 0;
        n = measure_lines(program ? program : "build/cyclescope", &a, &b, &differ);
        ours += a;
        theirs += b;
        spread[0] = b / a < spread[0] ? b / a : spread[0];
        spread[1] = b / a > spread[1] ? b / a : spread[1];
    }
    printf("line of one address in each of %u units: ours %.1f us, libdw %.1f us, %u differ\n", n,
           ours / REPEATS / n, theirs / REPEATS / n, differ / REPEATS);
    printf("{\"name\":\"image-readers\",\"value\":%.2f,\"unit\":\"times\",\"target\":1.5,\"noise\":%.2f,"
           "\"detail\":\"first line in a unit: libdw's time by ours; %u units, %u rows differ\"}\n",
           theirs / ours, spread[1] - spread[0], n, differ / REPEATS);
    return 0;
}
