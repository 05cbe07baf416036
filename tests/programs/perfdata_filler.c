/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a recording of perf (perf.data) with as many samples as wanted over real images of this system, so that
 * readers can be timed. Usage: perfdata_filler SAMPLES IMAGES FILE [FOLDER-OF-IMAGES [DEPTH]]. Samples are skewed
 * as profiles are: a few hot addresses in each image, images themselves of very different weight. With a DEPTH
 * they have call chains of up to that many callers, which branch as they go inwards: 131,072 different ones. */
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOT_ADDRESSES 2000 /* an image */
#define PLACE_BITS 17      /* of a place that a chain leads to */
#define DEPTH_MAX 120

struct image {
    char path[256];
    uint64_t addr, pgoff, size;
    uint8_t build_id[20], build_id_size;
};

static uint64_t state = 88172645463325252ull;
static uint64_t random_next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void take_build_id(const uint8_t *notes, uint64_t size, struct image *im)
{
    for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
        const Elf64_Nhdr *note = (const void *)(notes + at);
        uint64_t desc = at + sizeof *note + (note->n_namesz + 3u) / 4 * 4;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz <= sizeof im->build_id &&
            desc + note->n_descsz <= size) {
            memcpy(im->build_id, notes + desc, note->n_descsz);
            im->build_id_size = (uint8_t)note->n_descsz;
        }
        at = desc + (note->n_descsz + 3u) / 4 * 4;
    }
}

/* The executable segment and the build-id of an ELF file; 0 when there is none. */
static int look(const char *path, struct image *im)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), found = 0;
    struct stat st;
    if (fd < 0)
        return 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 8192) {
        const uint8_t *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            const Elf64_Ehdr *e = (const void *)map;
            const Elf64_Phdr *p = (const void *)(map + e->e_phoff);
            if (memcmp(map, ELFMAG, SELFMAG) == 0 && e->e_ident[EI_CLASS] == ELFCLASS64 &&
                e->e_machine == EM_X86_64 && e->e_phoff + e->e_phnum * sizeof *p <= (uint64_t)st.st_size) {
                for (int i = 0; i < e->e_phnum; i++)
                    if (p[i].p_type == PT_NOTE && p[i].p_offset + p[i].p_filesz <= (uint64_t)st.st_size) {
                        take_build_id(map + p[i].p_offset, p[i].p_filesz, im);
                    } else if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_X) && p[i].p_filesz > 4096) {
                        im->pgoff = p[i].p_offset & ~4095ull;
                        im->size = (p[i].p_offset + p[i].p_filesz - im->pgoff) & ~4095ull;
                        found = 1;
                    }
            }
            munmap((void *)(uintptr_t)map, (size_t)st.st_size);
        }
    }
    close(fd);
    if (found)
        snprintf(im->path, sizeof im->path, "%.255s", path);
    return found && im->build_id_size;
}

static size_t collect(struct image *images, size_t most, const char *folder)
{
    static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu",
                                          "/usr/bin",
                                          "/usr/sbin",
                                          "/usr/lib/llvm-14/lib",
                                          "/usr/lib/python3.11/lib-dynload",
                                          "/usr/lib/x86_64-linux-gnu/perl/5.36.0/auto"};
    size_t n = 0;
    for (size_t f = 0; f < (folder ? 1 : sizeof folders / sizeof *folders); f++) {
        const char *at = folder ? folder : folders[f];
        DIR *d = opendir(at);
        for (const struct dirent *e; d && n < most && (e = readdir(d)) != NULL;) {
            char path[512];
            struct stat st;
            snprintf(path, sizeof path, "%s/%s", at, e->d_name);
            if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && look(path, &images[n])) {
                images[n].addr = 0x7000000000ull + 0x40000000ull * n;
                n++;
            }
        }
        if (d)
            closedir(d);
    }
    return n;
}

static void put(FILE *to, const void *bytes, size_t n)
{
    if (fwrite(bytes, 1, n, to) != n) {
        perror("perfdata_filler");
        exit(1);
    }
}

static void put_maps(FILE *to, const struct image *images, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct {
            struct perf_event_header head;
            uint32_t pid, tid;
            uint64_t addr, len, pgoff;
            uint8_t build_id_size, reserved[3], build_id[20];
            uint32_t prot, flags;
            char path[256];
        } map = {.head = {PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID, 0},
                 .pid = 100,
                 .tid = 100,
                 .addr = images[i].addr,
                 .len = images[i].size,
                 .pgoff = images[i].pgoff,
                 .build_id_size = images[i].build_id_size,
                 .prot = 5,
                 .flags = 2};
        memcpy(map.build_id, images[i].build_id, sizeof map.build_id);
        strncpy(map.path, images[i].path, sizeof map.path - 1);
        size_t size = offsetof(__typeof__(map), path) + (strlen(map.path) / 8 + 1) * 8;
        map.head.size = (uint16_t)size;
        put(to, &map, size);
    }
}

/* Squares of uniform numbers: the first images and addresses have most. */
static uint64_t address(const struct image *images, size_t n, uint64_t r)
{
    uint64_t u = r >> 44, v = (r >> 24) & 0xfffff;
    const struct image *im = &images[(u * u >> 20) * n >> 20];
    uint64_t hot = (v * v >> 20) * HOT_ADDRESSES >> 20;
    return im->addr + hot * 2654435761u % im->size;
}

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 32;
}

/* The chain to a place in the program: callers are those of its neighbours, too, the farther out the more. Where it begins
 * with the kernel's mark for user code; how many words. */
static size_t chain_to(const struct image *images, size_t n, uint64_t place, unsigned depth, uint64_t *chain)
{
    size_t used = 0;
    unsigned callers = 1 + (unsigned)(mixed(place) % depth);
    chain[used++] = PERF_CONTEXT_USER;
    for (unsigned level = 0; level <= callers; level++)
        chain[used++] = address(images, n, mixed(level << 20 | place >> level * PLACE_BITS / callers));
    return used;
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc > 6)
        return fprintf(stderr, "usage: perfdata_filler SAMPLES IMAGES FILE [FOLDER-OF-IMAGES [DEPTH]]\n"), 2;
    unsigned depth = argc == 6 ? (unsigned)strtoul(argv[5], NULL, 10) : 0;
    depth = depth < DEPTH_MAX ? depth : DEPTH_MAX;
    uint64_t n_samples = strtoull(argv[1], NULL, 10);
    size_t most = strtoul(argv[2], NULL, 10);
    struct image *images = calloc(most, sizeof *images);
    size_t n = images ? collect(images, most, argc >= 5 && *argv[4] ? argv[4] : NULL) : 0;
    FILE *to = fopen(argv[3], "w");
    if (!n || !to) {
        free(images);
        return fprintf(stderr, "perfdata_filler: no images, or %s can't be written\n", argv[3]), 1;
    }

    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_CPU_CLOCK,
                                   .sample_period = 1000000,
                                   .mmap = 1,
                                   .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                                  PERF_SAMPLE_PERIOD | (depth ? PERF_SAMPLE_CALLCHAIN : 0)};
    struct {
        uint64_t offset, size;
    } ids = {0, 0};
    struct {
        char magic[8];
        uint64_t size, attr_size, attrs_at, attrs_size, data_at, data_size, types_at, types_size, flags[4];
    } head = {.magic = {'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'},
              .size = sizeof head,
              .attr_size = sizeof attr + sizeof ids};
    head.attrs_at = sizeof head;
    head.attrs_size = head.attr_size;
    head.data_at = head.attrs_at + head.attrs_size;
    put(to, &head, sizeof head);
    put(to, &attr, sizeof attr);
    put(to, &ids, sizeof ids);
    put_maps(to, images, n);
    for (uint64_t i = 0; i < n_samples; i++) {
        struct {
            struct perf_event_header head;
            uint64_t ip;
            uint32_t pid, tid;
            uint64_t time, period, n_chain, chain[DEPTH_MAX + 2];
        } sample = {
            {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 0}, 0, 100, 100, 1000000 + i * 1000, 1000000, 0, {0}};
        uint64_t r = random_next();
        size_t size = offsetof(__typeof__(sample), n_chain);
        sample.ip = address(images, n, r);
        if (depth) {
            uint64_t u = r >> 44;
            sample.n_chain = chain_to(images, n, u * u >> (40 - PLACE_BITS), depth, sample.chain);
            sample.ip = sample.chain[1];
            size += (1 + sample.n_chain) * 8;
        }
        sample.head.size = (uint16_t)size;
        put(to, &sample, size);
    }
    head.data_size = (uint64_t)ftell(to) - head.data_at;
    if (fseek(to, 0, SEEK_SET) != 0)
        return 1;
    put(to, &head, sizeof head);
    if (fclose(to) != 0)
        return perror("perfdata_filler"), 1;
    printf("%llu samples over %zu images\n", (unsigned long long)n_samples, n);
    return 0;
}
