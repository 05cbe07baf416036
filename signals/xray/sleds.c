/* SPDX-License-Identifier: MIT */
/* The table of sleds isn't named in memory, so the image's file says where it lies: the section `xray_instr_map`. The
 * file may be another one by now. It is believed only where its program headers are those in memory. A sled is
 * believed only where it has the bytes that the compiler, or we, put there. */
#include "signals/xray/xray.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IMAGES_MAX 256u
#define SECTIONS_MAX 512u
#define NAMES_BYTES 65536u

/* As LLVM lays it out. */
struct sled {
    uint64_t at, function; /* from version 2 on each relative to itself */
    uint8_t kind, always, version, padding[13];
};
enum kind { ENTER = 0, EXIT = 1, TAIL = 2, ENTER_WITH_ARGUMENTS = 3 };

/* What was found in an image's file. */
struct image {
    uintptr_t bias, headers;
    uint64_t headers_sum;
    const struct sled *sleds;
    size_t n;
};
static struct image images[IMAGES_MAX];
static unsigned n_images;

/* ---- where an image's table is ---- */

static uint64_t sum_of(const ElfW(Phdr) * headers, size_t n)
{
    const unsigned char *p = (const unsigned char *)headers;
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < n * sizeof *headers; i++)
        sum = (sum ^ p[i]) * 1099511628211u;
    return sum;
}

/* Whether [at, at + bytes) is memory of the image, with these flags. */
static bool loaded(const struct dl_phdr_info *info, uintptr_t at, size_t bytes, unsigned flags)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + h->p_vaddr;
        if (h->p_type == PT_LOAD && (h->p_flags & flags) == flags && at >= start && bytes <= h->p_memsz &&
            at - start <= h->p_memsz - bytes)
            return true;
    }
    return false;
}

static bool read_at(int fd, void *out, size_t bytes, uint64_t at)
{
    return at < INT64_MAX && pread(fd, out, bytes, (off_t)at) == (ssize_t)bytes;
}

struct scratch {
    ElfW(Ehdr) file;
    ElfW(Shdr) sections[SECTIONS_MAX];
    ElfW(Phdr) programs[64];
    char names[NAMES_BYTES];
};

static bool find_section(int fd, struct scratch *s, const struct dl_phdr_info *info, ElfW(Shdr) * out)
{
    if (!read_at(fd, &s->file, sizeof s->file, 0) || memcmp(s->file.e_ident, ELFMAG, SELFMAG) != 0 ||
        s->file.e_shentsize != sizeof s->sections[0] || s->file.e_shnum > SECTIONS_MAX ||
        s->file.e_shstrndx >= s->file.e_shnum || s->file.e_phnum != info->dlpi_phnum ||
        s->file.e_phnum > 64 ||
        !read_at(fd, s->sections, s->file.e_shnum * sizeof s->sections[0], s->file.e_shoff) ||
        !read_at(fd, s->programs, s->file.e_phnum * sizeof s->programs[0], s->file.e_phoff) ||
        memcmp(s->programs, info->dlpi_phdr, s->file.e_phnum * sizeof s->programs[0]) != 0)
        return false;
    const ElfW(Shdr) *names = &s->sections[s->file.e_shstrndx];
    if (names->sh_size >= sizeof s->names || !read_at(fd, s->names, names->sh_size, names->sh_offset))
        return false;
    s->names[names->sh_size] = '\0';
    for (unsigned i = 0; i < s->file.e_shnum; i++)
        if (s->sections[i].sh_name < names->sh_size && (s->sections[i].sh_flags & SHF_ALLOC) &&
            strcmp(s->names + s->sections[i].sh_name, "xray_instr_map") == 0) {
            *out = s->sections[i];
            return true;
        }
    return false;
}

static void find_table(const struct dl_phdr_info *info, struct image *image)
{
    ElfW(Shdr) section;
    const char *path = info->dlpi_name && info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
    struct scratch *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const int fd = s != MAP_FAILED ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    image->n = 0;
    if (fd >= 0 && find_section(fd, s, info, &section) &&
        loaded(info, info->dlpi_addr + section.sh_addr, section.sh_size, PF_R)) {
        image->sleds = (const struct sled *)(info->dlpi_addr + section.sh_addr);
        image->n = section.sh_size / sizeof(struct sled);
    }
    if (fd >= 0)
        close(fd);
    if (s != MAP_FAILED)
        munmap(s, sizeof *s);
}

/* NULL: there is no room for it. */
static const struct image *image_of(const struct dl_phdr_info *info)
{
    const uint64_t sum = sum_of(info->dlpi_phdr, info->dlpi_phnum);
    unsigned i = 0;
    while (i < n_images && images[i].bias != info->dlpi_addr)
        i++;
    if (i == IMAGES_MAX)
        return NULL;
    if (i < n_images && images[i].headers == (uintptr_t)info->dlpi_phdr && images[i].headers_sum == sum)
        return &images[i];
    images[i] = (struct image){info->dlpi_addr, (uintptr_t)info->dlpi_phdr, sum, NULL, 0};
    find_table(info, &images[i]);
    n_images = i == n_images ? i + 1 : n_images;
    return &images[i];
}

static int has_sleds(struct dl_phdr_info *info, size_t size, void *any)
{
    (void)size;
    const struct image *image = image_of(info);
    if (image && image->n)
        *(bool *)any = true;
    return 0;
}

bool xray_any_sleds(void)
{
    bool any = false;
    dl_iterate_phdr(has_sleds, &any);
    return any;
}

static int changes(struct dl_phdr_info *info, size_t size, void *n)
{
    (void)size;
    *(uint64_t *)n = info->dlpi_adds + info->dlpi_subs;
    return 1;
}

uint64_t xray_images_changed(void)
{
    uint64_t n = 0;
    dl_iterate_phdr(changes, &n);
    return n;
}

/* ---- one sled ---- */

static uintptr_t place(const uint64_t *field, uint8_t version)
{
    return version >= 2 ? (uintptr_t)field + *field : *field;
}

static bool usable(const struct dl_phdr_info *info, const struct sled *s)
{
    const uintptr_t at = place(&s->at, s->version);
    return s->kind <= ENTER_WITH_ARGUMENTS && at % 2 == 0 && loaded(info, at, XRAY_SLED_BYTES, PF_X) &&
           loaded(info, place(&s->function, s->version), 1, PF_X);
}

static const unsigned char nops[2][10] = {
    {0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x02, 0x00},
    {0xc3, 0x2e, 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x02, 0x00},
};
#define ON 0xba41u /* the first half of mov $, %r10d */

static uint16_t head(uintptr_t at)
{
    return __atomic_load_n((const uint16_t *)at, __ATOMIC_RELAXED);
}

static bool is_ours(uintptr_t at)
{
    int32_t displacement;
    memcpy(&displacement, (const void *)(at + 7), 4);
    const uintptr_t target = at + XRAY_SLED_BYTES + (uintptr_t)(intptr_t)displacement;
    return xray_is_page(target & ~(uintptr_t)4095);
}

/* All of it but its first two bytes. False where it isn't as the compiler left it. */
static bool prepare(const struct sled *s, uintptr_t page)
{
    const uintptr_t at = place(&s->at, s->version);
    unsigned char *bytes = (unsigned char *)at;
    const bool exit = s->kind == EXIT;
    if (head(at) == ON)
        return false;
    if (!is_ours(at) && memcmp(bytes, nops[exit], sizeof nops[0]) != 0)
        return false;
    const unsigned gate = exit ? XRAY_EXIT : s->kind == TAIL ? XRAY_TAIL : XRAY_ENTER;
    const int32_t function = (int32_t)(place(&s->function, s->version) - page);
    const int32_t displacement = (int32_t)(page + gate - (at + XRAY_SLED_BYTES));
    memcpy(bytes + 2, &function, 4);
    bytes[6] = exit ? 0xe9 : 0xe8;
    memcpy(bytes + 7, &displacement, 4);
    return true;
}

/* ---- an image ---- */

struct switching {
    bool on;
    struct xray_functions *functions; /* NULL: only count them */
    size_t capacity, n;
};

static void extent(const struct dl_phdr_info *info, uintptr_t *low, uintptr_t *high)
{
    *low = UINTPTR_MAX, *high = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + h->p_vaddr;
        if (h->p_type != PT_LOAD || !(h->p_flags & PF_X))
            continue;
        *low = start < *low ? start : *low;
        *high = start + h->p_memsz > *high ? start + h->p_memsz : *high;
    }
}

static bool allow_writing(const struct dl_phdr_info *info, bool writing)
{
    bool all = true;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        const uintptr_t start = (info->dlpi_addr + h->p_vaddr) & ~(uintptr_t)4095;
        const uintptr_t end = (info->dlpi_addr + h->p_vaddr + h->p_memsz + 4095) & ~(uintptr_t)4095;
        if (h->p_type == PT_LOAD && (h->p_flags & PF_X) &&
            mprotect((void *)start, end - start,
                     PROT_EXEC | (h->p_flags & PF_R ? PROT_READ : 0) |
                         (writing || (h->p_flags & PF_W) ? PROT_READ | PROT_WRITE : 0)) != 0)
            all = false;
    }
    return all;
}

/* Other processors see the nine bytes before the two. */
static void all_processors_see(void)
{
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

static void turn_on(const struct dl_phdr_info *info, const struct image *image)
{
    uintptr_t low, high;
    extent(info, &low, &high);
    const uintptr_t page = xray_page(low, high, true);
    if (!page || !allow_writing(info, true))
        return;
    for (size_t i = 0; i < image->n; i++)
        if (usable(info, &image->sleds[i]))
            prepare(&image->sleds[i], page);
    all_processors_see();
    for (size_t i = 0; i < image->n; i++) {
        const struct sled *s = &image->sleds[i];
        const uintptr_t at = place(&s->at, s->version);
        if (usable(info, s) && head(at) != ON && is_ours(at))
            __atomic_store_n((uint16_t *)at, (uint16_t)ON, __ATOMIC_RELEASE);
    }
    allow_writing(info, false);
}

static void turn_off(const struct dl_phdr_info *info, const struct image *image)
{
    if (!allow_writing(info, true))
        return;
    for (size_t i = 0; i < image->n; i++) {
        const struct sled *s = &image->sleds[i];
        const uintptr_t at = place(&s->at, s->version);
        uint16_t off;
        memcpy(&off, nops[s->kind == EXIT], sizeof off);
        if (usable(info, s) && head(at) == ON && is_ours(at))
            __atomic_store_n((uint16_t *)at, off, __ATOMIC_RELEASE);
    }
    allow_writing(info, false);
}

/* A function's sleds stand one after the other. */
static void note_functions(const struct dl_phdr_info *info, const struct image *image, struct switching *w)
{
    for (size_t i = 0; i < image->n; i++) {
        const struct sled *s = &image->sleds[i];
        if (!usable(info, s))
            continue;
        const struct xray_function f = {place(&s->function, s->version),
                                        place(&s->at, s->version) + XRAY_SLED_BYTES};
        struct xray_function *last =
            w->functions && w->n > 0 && w->n <= w->capacity ? &w->functions->by_start[w->n - 1] : NULL;
        if (last && last->start == f.start)
            last->end = f.end > last->end ? f.end : last->end;
        else if (w->n++ < w->capacity && w->functions)
            w->functions->by_start[w->n - 1] = f;
    }
}

static int of_image(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct switching *w = arg;
    (void)size;
    const struct image *image = image_of(info);
    if (!image || image->n == 0)
        return 0;
    if (w->on && w->functions)
        turn_on(info, image);
    if (w->on)
        note_functions(info, image, w);
    else
        turn_off(info, image);
    return 0;
}

static int by_start(const void *x, const void *y)
{
    const struct xray_function *a = x, *b = y;
    return (a->start > b->start) - (a->start < b->start);
}

/* The two that are in use in turn: a thread may still look into the one before. */
static struct xray_functions *tables[2];
static size_t capacities[2];
static unsigned turn;

static struct xray_functions *table_for(size_t n)
{
    turn ^= 1;
    if (capacities[turn] < n) {
        const size_t capacity = 2 * n;
        void *p = mmap(NULL, sizeof(struct xray_functions) + capacity * sizeof(struct xray_function),
                       PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return NULL;
        tables[turn] = p; /* what it replaces stays: it is smaller by half */
        capacities[turn] = capacity;
    }
    return tables[turn];
}

void xray_switch(bool on)
{
    struct switching w = {.on = on};
    if (!on) {
        dl_iterate_phdr(of_image, &w);
        return;
    }
    static bool registered;
    if (!registered)
        registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0;
    dl_iterate_phdr(of_image, &w); /* counts: more than there are, as they aren't kept apart */
    w.functions = table_for(w.n + 1);
    if (!w.functions)
        return;
    w.capacity = capacities[turn];
    w.functions->n = 0;
    w.n = 0;
    dl_iterate_phdr(of_image, &w);
    const size_t n = w.n < w.capacity ? w.n : w.capacity;
    qsort(w.functions->by_start, n, sizeof w.functions->by_start[0], by_start);
    w.functions->n = n;
    __atomic_store_n(&xray_functions, w.functions, __ATOMIC_RELEASE);
}
