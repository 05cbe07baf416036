/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The readers of image/ against binutils, on this test's own executable: build-id, segments, frame
 * descriptions, stubs, lines, and its separate debug file. Nested ranges against a search through all. */
#include "image/file/eh_frame.h"
#include "image/file/elf.h"
#include "image/file/identity.h"
#include "image/file/ranges.h"
#include "image/file/segments.h"
#include "image/shared_code.h"
#include "tests/unit/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char self[512], folder[64];

static FILE *run(const char *command)
{
    char text[1200];
    snprintf(text, sizeof text, command, self);
    FILE *out = popen(text, "r");
    assert_non_null(out);
    return out;
}

TEST(build_id_and_segments_are_those_of_readelf)
{
    struct cs_image_segments ours;
    char line[512], id[100] = "";
    int fd = open(self, O_RDONLY | O_CLOEXEC);
    assert_int_equal(cs_image_segments_of_file(&ours, fd), 0);
    close(fd);
    FILE *theirs = run("readelf -nW %s");
    while (fgets(line, sizeof line, theirs))
        if (strstr(line, "Build ID: "))
            sscanf(strstr(line, "Build ID: "), "Build ID: %99s", id);
    pclose(theirs);
    assert_int_equal(strlen(id), 40);
    assert_string_equal(ours.build_id, id);
    theirs = run("readelf -lW %s");
    unsigned n = 0;
    uint64_t offset, vaddr, size;
    while (fgets(line, sizeof line, theirs))
        if (sscanf(line, " LOAD %" SCNx64 " %" SCNx64 " %*x %" SCNx64, &offset, &vaddr, &size) == 3) {
            assert_true(n < ours.n_segments);
            assert_int_equal(ours.segments[n].file_offset, offset);
            assert_int_equal(ours.segments[n].vaddr, vaddr);
            assert_int_equal(ours.segments[n].file_size, size);
            assert_int_equal(cs_image_vaddr(&ours, offset + size - 1), vaddr + size - 1);
            n++;
        }
    pclose(theirs);
    assert_true(n >= 2);
    assert_int_equal(ours.n_segments, n);
}

TEST(two_segments_of_code_in_one_page_of_the_file_are_told_apart)
{
    const struct cs_image_segments layout = {.is_elf = true,
                                             .n_segments = 4,
                                             .segments = {{0, 0x1080, 0x400000, false},
                                                          {0x1080, 0x380, 0x501080, true},
                                                          {0x1400, 0x700, 0x602400, true},
                                                          {0x1b00, 0x1600, 0x703b00, true}}};
    assert_int_equal(cs_image_vaddr(&layout, 0x1080), 0x501080);
    assert_int_equal(cs_image_vaddr(&layout, 0x13ff), 0x5013ff);
    assert_int_equal(cs_image_vaddr(&layout, 0x1400), 0x602400);
    assert_int_equal(cs_image_vaddr(&layout, 0x1b00), 0x703b00);
    assert_int_equal(cs_image_vaddr(&layout, 0x30ff), 0x7050ff);
    assert_int_equal(cs_image_vaddr(&layout, 0x100), 0x400100);
    /* mappings of them: one page, the same one again, three */
    assert_int_equal(cs_image_vaddr_of_mapping(&layout, 0x1000, 0x1000, 0), 0x501000);
    assert_int_equal(cs_image_vaddr_of_mapping(&layout, 0x1000, 0x1000, 1), 0x602000);
    assert_int_equal(cs_image_vaddr_of_mapping(&layout, 0x1000, 0x3000, 0), 0x703000);
    /* a part of the last one */
    assert_int_equal(cs_image_vaddr_of_mapping(&layout, 0x2000, 0x1000, 0), 0x704000);
}

TEST(a_build_id_is_found_among_other_notes_and_only_whole)
{
    const uint8_t notes[] = {4,   0,   0,   0, 8, 0, 0,   0,   1,   0, 0,    0,    'G',  'N',  'U',  0, 1, 2,
                             3,   4,   5,   6, 7, 8, 4,   0,   0,   0, 5,    0,    0,    0,    3,    0, 0, 0,
                             'N', 'o', 't', 0, 9, 9, 9,   9,   9,   0, 0,    0,    4,    0,    0,    0, 5, 0,
                             0,   0,   3,   0, 0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 0xef, 0x01, 0x23, 0, 0, 0};
    char hex[CS_IMAGE_BUILD_ID_MAX];
    cs_image_build_id_of_notes(notes, sizeof notes, hex);
    assert_string_equal(hex, "abcdef0123");
    for (size_t n = 0; n < sizeof notes - 3; n++) {
        uint8_t *cut = malloc(n + 1); /* so that reads beyond it are seen by a sanitizer */
        memcpy(cut, notes, n);
        cs_image_build_id_of_notes(cut, n, hex);
        assert_string_equal(hex, "");
        free(cut);
    }
    uint8_t bytes[21] = {0};
    cs_image_build_id_text(bytes, 20, hex);
    assert_int_equal(strlen(hex), 40);
    cs_image_build_id_text(bytes, 21, hex);
    assert_string_equal(hex, "");
    cs_image_build_id_text(bytes, 3, hex);
    assert_string_equal(hex, "");
}

/* A file of `size` bytes, all `fill` but for the one at `odd`. */
static const char *file_of(const char *name, size_t size, int fill, size_t odd)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *bytes = malloc(size);
    memset(bytes, fill, size);
    bytes[odd] = 'x';
    FILE *f = fopen(path, "w");
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    fclose(f);
    free(bytes);
    return path;
}

TEST(a_file_is_the_image_by_its_build_id_else_by_what_it_holds)
{
    const char *path = file_of("contents", 100000, 'a', 5);
    struct cs_store_image image = {.path = "/bin/it", .build_id = ""};
    int fd = open(path, O_RDONLY);
    cs_image_identity_of_file(fd, image.id);
    close(fd);
    assert_true(cs_image_is_file(&image, "", path));
    assert_false(cs_image_is_file(&image, "", file_of("contents", 100000, 'a', 6)));
    assert_false(
        cs_image_is_file(&image, "", file_of("contents", 100001, 'a', 5))); /* its size is part of it */
    assert_false(cs_image_is_file(&image, "", "/nowhere/at/all"));
    image.build_id = "abcdef01";
    assert_true(cs_image_is_file(&image, "abcdef01", path));
    assert_false(cs_image_is_file(&image, "abcdef02", path));
    assert_false(cs_image_is_file(&image, "", path));
}

/* Counts of 4,294,967,295 program headers and of a million sections in a file of 300 bytes, and of sections and notes as large as a
 * file with holes says it is: libelf takes each at its word. */
TEST(what_a_file_says_of_its_counts_costs_nobody_time_or_memory)
{
    struct cs_image_segments layout;
    struct elf_file *file = NULL;
    struct cs_error err;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (int kind = 0; kind < 4; kind++) {
        char path[128];
        struct {
            Elf64_Ehdr head;
            Elf64_Phdr note;
            Elf64_Shdr zero;
            char rest[45];
        } all = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                          .e_type = ET_DYN,
                          .e_machine = EM_X86_64,
                          .e_version = EV_CURRENT,
                          .e_phoff = sizeof all.head,
                          .e_phnum = 1,
                          .e_phentsize = sizeof(Elf64_Phdr),
                          .e_shoff = sizeof all.head + sizeof all.note,
                          .e_shentsize = sizeof(Elf64_Shdr)},
                 .note = {.p_type = PT_NOTE, .p_filesz = 1ULL << 39}};
        off_t size = sizeof all;
        if (kind == 0) {
            all.head.e_phnum = PN_XNUM;
            all.head.e_shnum = 1;
            all.zero.sh_info = UINT32_MAX;
        } else if (kind == 1) {
            all.head.e_phnum = PN_XNUM;
            all.zero.sh_info = UINT32_MAX / sizeof(Elf64_Phdr);
            all.head.e_shnum = 1;
            size = 1LL << 39;
        } else if (kind == 2) {
            all.zero.sh_size = 2000000; /* extended numbering */
            size = 200 << 20;
        } else {
            size = 1LL << 39;
        }
        snprintf(path, sizeof path, "%s/counts", folder);
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        assert_int_equal(write(fd, &all, sizeof all), sizeof all);
        assert_int_equal(ftruncate(fd, size), 0);
        assert_int_equal(cs_image_segments_of_file(&layout, fd), 0);
        assert_string_equal(layout.build_id, "");
        if (size < 1 << 30 && elf_file_open(path, &file, &err) == 0) {
            assert_true(file->n_sections < 100000 && file->n_segments < 10000);
            elf_file_close(file);
        }
        close(fd);
        unlink(path);
    }
    getrusage(RUSAGE_SELF, &after);
    assert_true(
        after.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_utime.tv_sec - before.ru_stime.tv_sec < 2);
    assert_true(after.ru_maxrss - before.ru_maxrss < 64 << 10);
}

struct described {
    size_t n, capacity;
    struct cs_image_part *list;
};

/* A reader of a mapping would end by SIGBUS here. */
TEST(an_image_that_is_truncated_while_it_is_read_is_still_there)
{
    struct elf_file *file;
    struct cs_error err = {0};
    char path[128], command[1200];
    size_t n;
    snprintf(path, sizeof path, "%s/truncated", folder);
    snprintf(command, sizeof command, "cp %s %s", self, path);
    assert_int_equal(system(command), 0); // NOLINT: names of our own
    assert_int_equal(elf_file_open(path, &file, &err), 0);
    assert_int_equal(truncate(path, 0), 0);
    const struct elf_section *section = elf_file_section(file, ".text");
    assert_non_null(section);
    const uint8_t *bytes = elf_file_contents(file, section, &n);
    assert_non_null(bytes);
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += bytes[i];
    assert_true(n > 0 && sum > 0);
    elf_file_close(file);
}

static int describe(uint64_t start, uint64_t size, bool continues, void *arg)
{
    struct described *d = arg;
    (void)continues;
    assert_true(d->n < d->capacity);
    d->list[d->n++] = (struct cs_image_part){start, size};
    return 0;
}

static long resident_pages(void)
{
    long size, pages = -1;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%ld %ld", &size, &pages) != 2)
        pages = -1;
    if (f)
        fclose(f);
    return pages;
}

/* The section's bytes lie at the file's end from then on, where a hole is. */
static int enlarge_section(int fd, const char *name, off_t end)
{
    Elf64_Ehdr head;
    Elf64_Shdr strings, section;
    char text[16] = "";
    if (pread(fd, &head, sizeof head, 0) != sizeof head ||
        pread(fd, &strings, sizeof strings, (off_t)(head.e_shoff + head.e_shstrndx * sizeof strings)) < 0)
        return -1;
    for (unsigned i = 0; i < head.e_shnum; i++) {
        off_t at = (off_t)(head.e_shoff + i * sizeof section);
        if (pread(fd, &section, sizeof section, at) < 0 ||
            pread(fd, text, strlen(name) + 1, (off_t)(strings.sh_offset + section.sh_name)) < 0)
            return -1;
        if (strcmp(text, name) != 0)
            continue;
        section.sh_offset = 1L << 29;
        section.sh_size = (uint64_t)(end - (1L << 29));
        return pwrite(fd, &section, sizeof section, at) == sizeof section ? 0 : -1;
    }
    return -1;
}

TEST(a_file_of_holes_takes_no_memory_and_one_beyond_the_bound_loses_its_largest_section)
{
    struct cs_error err;
    struct elf_file *file;
    char path[64] = "/tmp/cyclescope-holes.XXXXXX", bytes[4096];
    int from = open(self, O_RDONLY | O_CLOEXEC), to = mkstemp(path);
    for (ssize_t got; (got = read(from, bytes, sizeof bytes)) > 0;)
        assert_int_equal(write(to, bytes, (size_t)got), got);
    assert_int_equal(ftruncate(to, 400L << 20), 0);
    long before = resident_pages();
    assert_int_equal(elf_file_bytes_to_copy(path), 400L << 20);
    assert_int_equal(elf_file_open(path, &file, &err), 0);
    assert_true(elf_file_isa(file) != CS_ISA_NONE);
    assert_true(resident_pages() - before < (100L << 20) / sysconf(_SC_PAGESIZE));
    elf_file_close(file);
    assert_int_equal(ftruncate(to, 5L << 30), 0);
    assert_int_equal(enlarge_section(to, ".debug_str", 5L << 30), 0);
    assert_int_equal(elf_file_open(path, &file, &err), 0);
    assert_null(elf_file_section(file, ".debug_str"));
    assert_non_null(elf_file_section(file, ".debug_line"));
    size_t n;
    const uint8_t *text = elf_file_contents(file, elf_file_section(file, ".text"), &n);
    struct elf_file *whole;
    assert_int_equal(elf_file_open(self, &whole, &err), 0);
    assert_memory_equal(text, elf_file_contents(whole, elf_file_section(whole, ".text"), &n), n);
    elf_file_close(whole);
    elf_file_close(file);
    Elf64_Ehdr head;
    assert_int_equal(pread(to, &head, sizeof head, 0), sizeof head);
    head.e_shnum = 0;
    assert_int_equal(pwrite(to, &head, sizeof head, 0), sizeof head);
    assert_int_equal(elf_file_open(path, &file, &err), -EFBIG);
    assert_non_null(strstr(err.text, "too large to be copied"));
    unlink(path);
    close(from);
    close(to);
}

TEST(frame_descriptions_are_those_of_readelf)
{
    struct elf_file *file;
    struct cs_error err = {0};
    struct described ours = {.capacity = 100000, .list = malloc(100000 * sizeof *ours.list)};
    assert_int_equal(elf_file_open(self, &file, &err), 0);
    const struct elf_section *section = elf_file_section(file, ".eh_frame");
    size_t bytes, n = 0;
    const uint8_t *at = elf_file_contents(file, section, &bytes);
    assert_int_equal(
        cs_image_cfi_each(file->header.e_ident, at, bytes, section->header.sh_addr, describe, &ours), 0);
    elf_file_close(file);
    char line[512];
    FILE *theirs = run("readelf --debug-dump=frames %s");
    while (fgets(line, sizeof line, theirs)) {
        uint64_t start, end;
        const char *pc = strstr(line, " FDE ") ? strstr(line, "pc=") : NULL;
        if (!pc || sscanf(pc, "pc=%" SCNx64 "..%" SCNx64, &start, &end) != 2)
            continue;
        assert_true(n < ours.n);
        assert_int_equal(ours.list[n].start, start);
        assert_int_equal(ours.list[n].size, end - start);
        n++;
    }
    pclose(theirs);
    assert_true(n > 20);
    assert_int_equal(ours.n, n);
    free(ours.list);
}

TEST(stubs_are_named_as_objdump_names_them)
{
    struct cs_image_code *code;
    struct cs_error err = {0};
    assert_int_equal(cs_image_open_file(self, &code, &err), 0);
    char line[512], name[200];
    unsigned n = 0;
    FILE *theirs = run("objdump -d -j .plt -j .plt.sec -j .plt.got %s 2>/dev/null");
    while (fgets(line, sizeof line, theirs)) {
        uint64_t at;
        char *end = strstr(line, "@plt>:");
        if (!end || sscanf(line, "%" SCNx64 " <%199[^>]", &at, name) != 2)
            continue;
        const struct cs_image_procedure *p = cs_image_procedure_at(code, at);
        assert_non_null(p);
        assert_int_equal(p->source, CS_IMAGE_FROM_PLT);
        assert_string_equal(p->name, name);
        assert_int_equal(p->start, at);
        n++;
    }
    pclose(theirs);
    assert_true(n > 10);
    cs_image_close(code);
}

static void note(void *closed)
{
    *(bool *)closed = true;
}

TEST(shared_code_is_open_until_it_was_closed_as_often)
{
    struct cs_image_code *code;
    struct cs_error err = {0};
    bool closed = false;
    assert_int_equal(cs_image_open_file(self, &code, &err), 0);
    assert_int_equal(cs_image_attach(code, self, &closed, note), 0);
    assert_ptr_equal(cs_image_share(code), code);
    cs_image_close(code);
    assert_false(closed);
    assert_true(cs_image_procedures(code) > 10);
    cs_image_close(code);
    assert_true(closed);
}

TEST(a_mapped_file_takes_no_memory_of_ours)
{
    struct cs_image_code *code;
    struct cs_error err = {0};
    Dl_info libc;
    assert_true(dladdr((void *)(uintptr_t)&puts, &libc) != 0);
    const char *paths[] = {self, libc.dli_fname};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(cs_image_open_file(paths[i], &code, &err), 0);
        assert_int_equal(cs_image_bytes_held(code), cs_image_bytes_to_copy(paths[i]));
        cs_image_close(code);
    }
}

TEST(an_image_of_a_store_is_opened_once_until_the_store_is_closed)
{
    char path[sizeof self + 8];
    struct cs_error err = {0};
    struct cs_image_code *code[2], *other;
    struct cs_store *store;
    bool closed = false;
    snprintf(path, sizeof path, "%s/store", folder);
    assert_int_equal(cs_store_open(path, CS_STORE_WRITE, &store, &err), 0);
    struct cs_store_image image = {.id = "aa", .kind = CS_IMAGE_ELF, .path = self, .build_id = ""};
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(cs_image_open_shared(&image, store, &code[i], &err), 0);
    assert_ptr_equal(code[0], code[1]);
    assert_int_equal(cs_image_attach(code[0], self, &closed, note), 0);
    image.path = "/elsewhere"; /* one id may have been seen at two places */
    assert_int_equal(cs_image_open_shared(&image, store, &other, &err), 0);
    assert_ptr_not_equal(other, code[0]);
    cs_image_close(other);
    for (unsigned i = 0; i < 600; i++) { /* those used last are kept, and what is in use stays */
        snprintf(image.id, sizeof image.id, "%u", i);
        assert_int_equal(cs_image_open_shared(&image, store, &other, &err), 0);
        cs_image_close(other);
    }
    cs_image_close(code[0]);
    assert_false(closed);
    cs_image_close(code[1]);
    assert_true(closed);
    cs_store_close(store);
}

/* Every so many of the procedures that have lines. */
TEST(lines_are_those_of_addr2line)
{
    if (getenv("CS_SANITIZED")) /* such code has checks within lines, of which binutils tells others */
        skip();
    struct cs_image_code *code;
    struct cs_error err = {0};
    unsigned n = 0;
    assert_int_equal(cs_image_open_file(self, &code, &err), 0);
    for (size_t i = 0; i < cs_image_procedures(code) && n < 20; i += 3) {
        const struct cs_image_procedure *p = cs_image_procedure_nth(code, i);
        struct cs_image_frame frames[16], line;
        unsigned depth = cs_image_frames_at(code, p->start + p->size / 2, frames, 16), their_line = 0;
        if (depth != 1) /* addr2line numbers the files of inlined code by an older DWARF */
            continue;
        char command[700], function[300] = "", place[1000] = "";
        snprintf(command, sizeof command, "addr2line -f -e %%s 0x%" PRIx64, p->start + p->size / 2);
        FILE *theirs = run(command);
        assert_int_equal(fscanf(theirs, "%299s %999s", function, place), 2);
        pclose(theirs);
        if (strstr(place, ":?")) /* binutils don't read all that clang writes */
            continue;
        assert_true(strrchr(place, ':') && sscanf(strrchr(place, ':'), ":%u", &their_line) == 1);
        *strrchr(place, ':') = '\0';
        assert_string_equal(frames[0].function, function);
        /* Of some lines in headers binutils 2.40 tells the unit's file; llvm-symbolizer says what we say. */
        if (!strstr(frames[0].file, ".h"))
            assert_string_equal(strrchr(frames[0].file, '/'), strrchr(place, '/'));
        assert_int_equal(frames[0].line, their_line);
        assert_true(cs_image_line_at(code, p->start + p->size / 2, &line));
        assert_int_equal(line.line, their_line);
        n++;
    }
    assert_true(n >= 10);
    cs_image_close(code);
}

static unsigned depth_in(const char *path, uint64_t at)
{
    struct cs_image_code *code;
    struct cs_error err = {0};
    struct cs_image_frame frames[4];
    assert_int_equal(cs_image_open_file(path, &code, &err), 0);
    unsigned depth = cs_image_frames_at(code, at, frames, 4);
    cs_image_close(code);
    return depth;
}

TEST(a_debug_file_without_build_id_is_told_by_its_checksum)
{
    char command[1024], stripped[100];
    struct cs_image_code *code;
    struct cs_error err = {0};
    assert_int_equal(cs_image_open_file(self, &code, &err), 0);
    const struct cs_image_procedure *p = cs_image_procedure_named(code, "main", 0, NULL);
    assert_non_null(p);
    uint64_t at = p->start;
    cs_image_close(code);
    snprintf(stripped, sizeof stripped, "%s/stripped", folder);
    snprintf(command, sizeof command,
             "cd %s && objcopy -R .note.gnu.build-id %s whole 2>/dev/null && objcopy --only-keep-debug whole "
             "whole.debug && objcopy -g --add-gnu-debuglink=whole.debug whole stripped",
             folder, self);
    assert_int_equal(system(command), 0);
    assert_true(depth_in(stripped, at) > 0);
    snprintf(command, sizeof command, "echo >> %s/whole.debug", folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(depth_in(stripped, at), 0);
}

TEST(the_innermost_range_is_the_shortest_around_an_address)
{
    static const struct {
        uint64_t low, high;
    } nested[] = {{10, 90}, {20, 60}, {20, 40}, {45, 60}, {95, 99}, {30, 31}, {60, 90}, {50, 50}};
    const size_t n = sizeof nested / sizeof *nested;
    struct cs_image_ranges ranges = {.n = 0};
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cs_image_ranges_add(&ranges, nested[i].low, nested[i].high, (uint32_t)i), 0);
    cs_image_ranges_nest(&ranges);
    for (uint64_t at = 0; at < 110; at++) {
        uint32_t found = cs_image_ranges_find(&ranges, at), best = CS_IMAGE_RANGE_NONE;
        for (uint32_t i = 0; i < n; i++)
            if (at >= nested[i].low && at < nested[i].high &&
                (best == CS_IMAGE_RANGE_NONE ||
                 nested[i].high - nested[i].low < nested[best].high - nested[best].low))
                best = i;
        assert_int_equal(found == CS_IMAGE_RANGE_NONE ? found : ranges.range[found].id, best);
    }
    cs_image_ranges_fini(&ranges);
}

static int find_ourselves(void **unused)
{
    (void)unused;
    snprintf(folder, sizeof folder, "/tmp/image_readers_test.XXXXXX");
    return readlink("/proc/self/exe", self, sizeof self - 1) < 0 || !mkdtemp(folder);
}

static int remove_folder(void **unused)
{
    (void)unused;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    if (system("readelf --version >/dev/null 2>&1 && objdump --version >/dev/null 2>&1") != 0) {
        puts("skipped: needs readelf, objdump, objcopy and addr2line (binutils)");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(build_id_and_segments_are_those_of_readelf),
        cmocka_unit_test(two_segments_of_code_in_one_page_of_the_file_are_told_apart),
        cmocka_unit_test(a_build_id_is_found_among_other_notes_and_only_whole),
        cmocka_unit_test(what_a_file_says_of_its_counts_costs_nobody_time_or_memory),
        cmocka_unit_test(a_file_is_the_image_by_its_build_id_else_by_what_it_holds),
        cmocka_unit_test(an_image_that_is_truncated_while_it_is_read_is_still_there),
        cmocka_unit_test(a_file_of_holes_takes_no_memory_and_one_beyond_the_bound_loses_its_largest_section),
        cmocka_unit_test(frame_descriptions_are_those_of_readelf),
        cmocka_unit_test(stubs_are_named_as_objdump_names_them),
        cmocka_unit_test(shared_code_is_open_until_it_was_closed_as_often),
        cmocka_unit_test(a_mapped_file_takes_no_memory_of_ours),
        cmocka_unit_test(an_image_of_a_store_is_opened_once_until_the_store_is_closed),
        cmocka_unit_test(lines_are_those_of_addr2line),
        cmocka_unit_test(a_debug_file_without_build_id_is_told_by_its_checksum),
        cmocka_unit_test(the_innermost_range_is_the_shortest_around_an_address),
    };
    return cmocka_run_group_tests(tests, find_ourselves, remove_folder);
}
