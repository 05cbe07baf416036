/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of tag points: regions, and tables that lie. Files are written here byte by byte. */
#include "image/debug/tag_points.h"
#include "tests/unit/test.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record { /* signals/plugin/point.h */
    uint64_t address;
    uint32_t file, function, line;
    uint16_t loop;
    uint8_t depth, kind;
};
_Static_assert(sizeof(struct record) == 24, "as the plugin writes it");

static const char texts[] = "a.c\0first\0second"; /* at 0, 4, 10 */
static char path[] = "/tmp/tagpoints_XXXXXX";

/* An ELF file with the two sections; texts_bytes may cut the last text's end off. */
static void write_file(const struct record *records, size_t bytes, size_t texts_bytes)
{
    static const char names[] = "\0.debug_cyclescope_tags\0.debug_cyclescope_str\0.shstrtab";
    const size_t tags_at = sizeof(Elf64_Ehdr), texts_at = tags_at + bytes, names_at = texts_at + texts_bytes;
    const Elf64_Shdr sections[4] = {
        {0},
        {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = tags_at, .sh_size = bytes, .sh_addralign = 1},
        {.sh_name = 24,
         .sh_type = SHT_PROGBITS,
         .sh_offset = texts_at,
         .sh_size = texts_bytes,
         .sh_addralign = 1},
        {.sh_name = 46,
         .sh_type = SHT_STRTAB,
         .sh_offset = names_at,
         .sh_size = sizeof names,
         .sh_addralign = 1},
    };
    const Elf64_Ehdr head = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_shoff = names_at + sizeof names,
        .e_ehsize = sizeof head,
        .e_shentsize = sizeof sections[0],
        .e_shnum = 4,
        .e_shstrndx = 3,
    };
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fwrite(&head, sizeof head, 1, file);
    if (bytes)
        fwrite(records, 1, bytes, file);
    fwrite(texts, 1, texts_bytes, file);
    fwrite(names, sizeof names, 1, file);
    fwrite(sections, sizeof sections, 1, file);
    assert_int_equal(fclose(file), 0);
}

static struct cs_image_tag_points *opened(void)
{
    struct cs_image_tag_points *points = NULL;
    struct cs_error err;
    assert_int_equal(cs_image_tag_points_open(path, &points, &err), 0);
    return points;
}

TEST(points_of_a_region_stand_for_its_first)
{
    const struct record records[] = {
        {0x500, 0, 4, 7, 1, 1, 3}, {0x100, 0, 4, 3, 0, 0, 1},  {0x200, 0, 4, 7, 1, 1, 2},
        {0x300, 0, 4, 3, 0, 0, 3}, {0x400, 0, 10, 3, 0, 0, 1},
    };
    write_file(records, sizeof records, sizeof texts);
    struct cs_image_tag_points *points = opened();
    static const uint64_t region[][2] = {
        {0x100, 0x100}, {0x200, 0x200}, {0x300, 0x100}, {0x400, 0x400}, {0x500, 0x200}};
    for (unsigned i = 0; i < 5; i++) {
        const struct cs_image_tag_point *p = cs_image_tag_points_at(points, region[i][0]);
        assert_non_null(p);
        assert_int_equal(p->region, region[i][1]);
    }
    const struct cs_image_tag_point *loop = cs_image_tag_points_at(points, 0x500);
    assert_string_equal(loop->function, "first");
    assert_string_equal(loop->file, "a.c");
    assert_int_equal(loop->line, 7);
    assert_int_equal(loop->loop, 1);
    assert_int_equal(loop->depth, 1);
    assert_string_equal(cs_image_tag_points_at(points, 0x400)->function, "second");
    assert_null(cs_image_tag_points_at(points, 0x201));
    cs_image_tag_points_close(points);
}

TEST(texts_outside_are_empty)
{
    const struct record records[] = {{0x100, 9999, UINT32_MAX, 3, 0, 0, 1}, {0x200, 0, 10, 3, 0, 0, 1}};
    write_file(records, sizeof records, sizeof texts - 3); /* "second" has no end */
    struct cs_image_tag_points *points = opened();
    assert_string_equal(cs_image_tag_points_at(points, 0x100)->file, "");
    assert_string_equal(cs_image_tag_points_at(points, 0x100)->function, "");
    assert_string_equal(cs_image_tag_points_at(points, 0x200)->function, "");
    assert_string_equal(cs_image_tag_points_at(points, 0x200)->file, "a.c");
    cs_image_tag_points_close(points);
}

TEST(half_a_record_is_none)
{
    const struct record records[] = {{0x100, 0, 4, 3, 0, 0, 1}, {0x200, 0, 4, 3, 0, 0, 3}};
    write_file(records, sizeof records - 1, sizeof texts);
    struct cs_image_tag_points *points = opened();
    assert_non_null(cs_image_tag_points_at(points, 0x100));
    assert_null(cs_image_tag_points_at(points, 0x200));
    cs_image_tag_points_close(points);
}

TEST(no_table_is_no_points)
{
    write_file(NULL, 0, 0);
    struct cs_image_tag_points *points = opened();
    assert_null(cs_image_tag_points_at(points, 0x100));
    cs_image_tag_points_close(points);
}

TEST(what_is_no_elf_file_is_refused)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("not one", file);
    assert_int_equal(fclose(file), 0);
    struct cs_image_tag_points *points = NULL;
    struct cs_error err = {0};
    assert_true(cs_image_tag_points_open(path, &points, &err) < 0);
    assert_null(points);
    assert_true(err.text[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_of_a_region_stand_for_its_first),
        cmocka_unit_test(texts_outside_are_empty),
        cmocka_unit_test(half_a_record_is_none),
        cmocka_unit_test(no_table_is_no_points),
        cmocka_unit_test(what_is_no_elf_file_is_refused),
    };
    const int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
