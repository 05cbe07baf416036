/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that who reads them pays for dearly: a perf map of many lines, a jitdump of many methods (half of them moves, which
 * name nothing), a file as large as it can be but empty.   Usage: bombs SECONDS map|dump|sparse MEGABYTES */
#include "hostile.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>

struct dump_head {
    uint32_t magic, version, total_size, elf_mach, pad, pid;
    uint64_t timestamp, flags;
};
struct dump_load {
    uint32_t id, total_size;
    uint64_t timestamp;
    uint32_t pid, tid;
    uint64_t vma, code_addr, code_size, code_index;
};
struct dump_move {
    uint32_t id, total_size;
    uint64_t timestamp;
    uint32_t pid, tid;
    uint64_t vma, old_code_addr, new_code_addr, code_size, code_index;
};

static void write_map(FILE *file, size_t bytes, uint64_t code)
{
    for (size_t n = 0; n < bytes;)
        n += (size_t)fprintf(file, "%lx 10 method_of_no_interest_%zu\n", (unsigned long)(code + n % 4096), n);
}

/* A method, then a move from where there was none, and so on. */
static void write_dump(FILE *file, size_t bytes, uint64_t code)
{
    struct dump_head head = {0x4a695444, 1, sizeof head, EM_X86_64, 0, (uint32_t)getpid(), 1, 0};
    struct {
        struct dump_load load;
        char name[8];
        struct dump_move move;
    } pair = {.name = "method"};
    uint32_t pid = (uint32_t)getpid();
    fwrite(&head, sizeof head, 1, file);
    for (size_t n = 0; n < bytes; n += sizeof pair) {
        uint32_t load_size = sizeof pair.load + sizeof pair.name;
        pair.load = (struct dump_load){0, load_size, n + 2, pid, pid, code, code + n % 4096, 16, n};
        pair.move =
            (struct dump_move){1, sizeof pair.move, n + 2, pid, pid, code, 16 + n, code + n % 4096, 16, n};
        fwrite(&pair, sizeof pair, 1, file);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    const char *how = argv[2];
    size_t bytes = strtoull(argv[3], NULL, 10) << 20;
    char path[64];
    uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static const uint8_t loop[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
    if (code == MAP_FAILED)
        harmed("mmap");
    memcpy(code, loop, sizeof loop);
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
    if (!strcmp(how, "dump"))
        snprintf(path, sizeof path, "/tmp/jit-%d.dump", (int)getpid());
    else
        snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *file = fopen(path, "w+");
    if (!file)
        harmed("the file");
    if (!strcmp(how, "map"))
        write_map(file, bytes, (uint64_t)(uintptr_t)code);
    else if (!strcmp(how, "dump"))
        write_dump(file, bytes, (uint64_t)(uintptr_t)code);
    fflush(file);
    if (!strcmp(how, "sparse") && ftruncate(fileno(file), (off_t)bytes))
        harmed("ftruncate");
    if (!strcmp(how, "dump") &&
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0) == MAP_FAILED)
        harmed("the marker");
    void (*run)(uint64_t) = (void (*)(uint64_t))(uintptr_t)code;
    for (double until = seconds_now() + strtod(argv[1], NULL); seconds_now() < until;)
        run(1000000);
    fclose(file);
    unlink(path);
    return unharmed();
}
