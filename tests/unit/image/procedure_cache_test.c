/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The truth is the same list read without a cache. Two images: this program, which has symbols, and the C
 * library, which has exported names, stubs and frame descriptions. */
#include "image/code.h"
#include "image/file/elf.h"
#include "tests/unit/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define IMAGES 2
#define SUM_AT 8     /* bytes from the start of an entry; what follows is summed */
#define KEY_ENDS 256 /* the head and the key are shorter */

static char folder[64], paths[IMAGES][512], ids[IMAGES][100];

static int take_libc(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (info->dlpi_name && strstr(info->dlpi_name, "libc.so"))
        snprintf(paths[1], sizeof paths[1], "%s", info->dlpi_name);
    return 0;
}

static void caching(bool on)
{
    setenv("CYCLESCOPE_CACHE", on ? folder : "", 1);
}

static struct cs_image_code *opened(int i)
{
    struct cs_store_image image = {.path = paths[i], .build_id = ids[i], .kind = CS_IMAGE_ELF};
    struct cs_image_code *code;
    struct cs_error err = {0};
    assert_int_equal(cs_image_open(&image, NULL, &code, &err), 0);
    assert_string_equal(cs_image_path(code), paths[i]);
    return code;
}

static int find_images(void **unused)
{
    (void)unused;
    snprintf(folder, sizeof folder, "/tmp/procedure_cache_test.%d", (int)getpid());
    if (readlink("/proc/self/exe", paths[0], sizeof paths[0] - 1) < 0)
        return -1;
    dl_iterate_phdr(take_libc, NULL);
    for (int i = 0; i < IMAGES; i++) {
        struct elf_file *file;
        struct cs_error err = {0};
        if (elf_file_open(paths[i], &file, &err) < 0)
            return -1;
        snprintf(ids[i], sizeof ids[i], "%s", file->build_id);
        elf_file_close(file);
    }
    return 0;
}

/* The key stands in the entry and has the build-id. Says how many entries have it. */
static unsigned entry_path(int i, char path[300])
{
    unsigned n = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
        char one[300], head[512] = "";
        if (!strstr(e->d_name, ".procedures"))
            continue;
        snprintf(one, sizeof one, "%.40s/%.250s", folder, e->d_name);
        int fd = open(one, O_RDONLY | O_CLOEXEC);
        if (pread(fd, head, sizeof head - 1, 0) > 0 && memmem(head, sizeof head, ids[i], strlen(ids[i])) &&
            ++n == 1)
            memcpy(path, one, sizeof one);
        close(fd);
    }
    if (d)
        closedir(d);
    return n;
}

static int empty(void **unused)
{
    (void)unused;
    char path[300];
    for (int i = 0; i < IMAGES; i++)
        while (entry_path(i, path))
            unlink(path);
    chmod(folder, 0700);
    return 0;
}

static int forget(void **unused)
{
    empty(unused);
    return rmdir(folder);
}

static void same_procedure(const struct cs_image_procedure *a, const struct cs_image_procedure *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (!a)
        return;
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->start, b->start);
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->source, b->source);
    assert_int_equal(a->n_parts, b->n_parts);
    for (unsigned k = 0; k < a->n_parts; k++) {
        assert_int_equal(a->parts[k].start, b->parts[k].start);
        assert_int_equal(a->parts[k].size, b->parts[k].size);
    }
}

/* Look-ups first, when little has been taken from the entry; then all. */
static void same_as_uncached(int i)
{
    caching(true);
    struct cs_image_code *cached = opened(i);
    caching(false);
    struct cs_image_code *truth = opened(i);
    const struct cs_image_procedure *last = cs_image_procedure_nth(truth, cs_image_procedures(truth) - 1);
    for (uint64_t at = 0; at < last->start + last->size + 64; at += 7)
        same_procedure(cs_image_procedure_at(truth, at), cs_image_procedure_at(cached, at));
    assert_int_equal(cs_image_procedures(truth), cs_image_procedures(cached));
    for (size_t k = 0; k < cs_image_procedures(truth); k++)
        same_procedure(cs_image_procedure_nth(truth, k), cs_image_procedure_nth(cached, k));
    for (size_t k = 0; k < cs_image_procedures(truth); k += 97) {
        const char *name = cs_image_procedure_nth(truth, k)->name;
        same_procedure(cs_image_procedure_named(truth, name, 0, NULL),
                       cs_image_procedure_named(cached, name, 0, NULL));
    }
    cs_image_close(truth);
    cs_image_close(cached);
}

static void make_entry(int i)
{
    caching(true);
    struct cs_image_code *code = opened(i);
    assert_true(cs_image_procedures(code) > 64);
    cs_image_close(code);
}

TEST(an_entry_says_what_the_image_says)
{
    for (int i = 0; i < IMAGES; i++) {
        char path[300];
        make_entry(i);
        assert_int_equal(entry_path(i, path), 1);
        same_as_uncached(i);
    }
}

static char entry[300]; /* that was read last */

static char *read_entry(int i, size_t *size)
{
    assert_int_equal(entry_path(i, entry), 1);
    int fd = open(entry, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    *size = (size_t)lseek(fd, 0, SEEK_END);
    char *bytes = malloc(*size);
    assert_int_equal(pread(fd, bytes, *size, 0), *size);
    close(fd);
    return bytes;
}

static void write_entry(const char *bytes, size_t size)
{
    int fd = open(entry, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

TEST(a_damaged_or_cut_entry_is_as_good_as_none)
{
    size_t size;
    make_entry(1);
    char *bytes = read_entry(1, &size);
    for (size_t k = 0; k < 6; k++) {
        size_t at = k * (size - 1) / 5;
        bytes[at] ^= 0x10;
        write_entry(bytes, size);
        same_as_uncached(1);
        bytes[at] ^= 0x10;
        write_entry(bytes, at);
        same_as_uncached(1);
    }
    free(bytes);
}

TEST(an_entry_whose_sum_is_right_but_nothing_else_does_no_harm)
{
    size_t size;
    uint64_t state = 1;
    make_entry(1);
    char *bytes = read_entry(1, &size), *bad = malloc(size);
    for (int k = 0; k < 200; k++) {
        memcpy(bad, bytes, size);
        for (int n = 0; n < 1 + k; n++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            bad[KEY_ENDS + (state >> 20) % (size - KEY_ENDS)] = (char)(state >> 12);
        }
        uint64_t sum = XXH3_64bits(bad + SUM_AT + 8, size - SUM_AT - 8);
        memcpy(bad + SUM_AT, &sum, 8);
        write_entry(bad, size);
        caching(true);
        struct cs_image_code *code = opened(1);
        size_t letters = 0;
        for (uint64_t at = 0; at < 2 << 20; at += 4001) {
            const struct cs_image_procedure *p = cs_image_procedure_at(code, at);
            letters += p ? strlen(p->name) : 0;
        }
        for (size_t i = 0; i < cs_image_procedures(code); i++)
            letters += strlen(cs_image_procedure_nth(code, i)->name);
        assert_true(letters > 0);
        cs_image_close(code);
    }
    free(bytes);
    free(bad);
}

TEST(an_image_that_changed_under_its_build_id_is_read_anew)
{
    char copy[128], kept[512];
    struct timespec times[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    snprintf(copy, sizeof copy, "%s.copy", folder);
    snprintf(kept, sizeof kept, "%s", paths[1]);
    char command[800];
    snprintf(command, sizeof command, "cp %s %s", kept, copy);
    assert_int_equal(system(command), 0);
    assert_int_equal(utimensat(AT_FDCWD, copy, times, 0), 0);
    make_entry(1);
    snprintf(paths[1], sizeof paths[1], "%s", copy);
    make_entry(1);
    char path[300];
    assert_int_equal(entry_path(1, path), 2); /* one for each time */
    same_as_uncached(1);
    snprintf(paths[1], sizeof paths[1], "%s", kept);
    unlink(copy);
}

TEST(without_a_folder_to_write_to_all_is_read)
{
    setenv("CYCLESCOPE_CACHE", "/proc/nowhere/cache", 1);
    struct cs_image_code *code = opened(1);
    assert_true(cs_image_procedures(code) > 64);
    cs_image_close(code);
    setenv("CYCLESCOPE_CACHE", "/dev/null", 1);
    code = opened(1);
    assert_true(cs_image_procedures(code) > 64);
    cs_image_close(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_entry_says_what_the_image_says, empty),
        cmocka_unit_test_setup(a_damaged_or_cut_entry_is_as_good_as_none, empty),
        cmocka_unit_test_setup(an_entry_whose_sum_is_right_but_nothing_else_does_no_harm, empty),
        cmocka_unit_test_setup(an_image_that_changed_under_its_build_id_is_read_anew, empty),
        cmocka_unit_test_setup(without_a_folder_to_write_to_all_is_read, empty),
    };
    return cmocka_run_group_tests(tests, find_images, forget);
}
