/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of JIT methods: out of made-up jitdump files, whole, cut and lying. Kept in a store, read from there as those
 * of any image. */
#include "image/code.h"
#include "sampler/dynamic/jit_code.h"
#include "sampler/dynamic/jit_methods.h"
#include "sampler/dynamic/jitdump.h"
#include "store/base/bytes.h"
#include "store/base/kept_lines.h"
#include "store/kept_code.h"
#include "tests/unit/give_name.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define START 0x7f0000001000u
#define REPEATED "\xff"

static char folder[] = "/tmp/jit-lines-XXXXXX";

static void put_row(struct cs_bytes *out, uint64_t addr, int line, int column, const char *file, size_t n)
{
    cs_bytes_put_u64(out, addr);
    cs_bytes_put_u32(out, (uint32_t)line);
    cs_bytes_put_u32(out, (uint32_t)column);
    cs_bytes_put_raw(out, file, n);
    cs_bytes_put_u8(out, 0);
}

static void begin(struct cs_bytes *out, uint32_t id, uint64_t addr, uint64_t rows)
{
    cs_bytes_put_u32(out, id);
    cs_bytes_put_u32(out, 0);
    cs_bytes_put_u64(out, 1);
    if (id == 2) {
        cs_bytes_put_u64(out, addr);
        cs_bytes_put_u64(out, rows);
    }
}

static void end(struct cs_bytes *out, size_t from)
{
    while ((out->used - from) % 8)
        cs_bytes_put_u8(out, 0);
    const uint32_t size = (uint32_t)(out->used - from);
    memcpy(out->start + from + 4, &size, sizeof size);
}

/* Three lines of two files, not in order. */
static struct cs_bytes three_rows(uint64_t count)
{
    struct cs_bytes out = {0};
    begin(&out, 2, START, count);
    put_row(&out, START + 16, 7, 1, "/srv/b.x", 8);
    put_row(&out, START + 4, 5, 3, "/srv/a.x", 8);
    put_row(&out, START + 9, 6, 0, REPEATED, 1);
    end(&out, 0);
    return out;
}

static const char *file(const struct cs_jitdump_lines *lines, size_t i)
{
    return (const char *)lines->files.start + lines->rows[i].file;
}

TEST(rows_are_read_in_order)
{
    struct cs_jitdump_lines lines = {0};
    struct cs_bytes record = three_rows(3);
    assert_true(cs_jitdump_lines_read(&lines, record.start, record.used, "f", 17));
    assert_int_equal(lines.n, 3);
    assert_int_equal(lines.rows[0].at, 4);
    assert_int_equal(lines.rows[0].line, 5);
    assert_int_equal(lines.rows[0].column, 3);
    assert_string_equal(file(&lines, 0), "/srv/a.x");
    assert_int_equal(lines.rows[1].at, 9);
    assert_string_equal(file(&lines, 1), "/srv/a.x");
    assert_int_equal(lines.rows[2].line, 7);
    assert_string_equal(file(&lines, 2), "/srv/b.x");
    cs_jitdump_lines_fini(&lines);
    assert_true(cs_jitdump_lines_read(&lines, record.start, record.used, "f", 16)); /* one lies behind it */
    assert_int_equal(lines.n, 2);
    cs_jitdump_lines_fini(&lines);
    cs_bytes_fini(&record);
}

/* V8's: addresses 64 too high, and freed names of the right length. */
TEST(what_v8_writes_is_put_right)
{
    static const char freed[] = "\xbc\xcb\x02\0\0\0\0\0\x11\x22\x33\x44\x55\x66\x77\x88urns.js";
    struct cs_jitdump_lines lines = {0};
    struct cs_bytes record = {0};
    begin(&record, 2, START, 3);
    put_row(&record, START + 64, 4, 15, freed, sizeof freed - 1);
    put_row(&record, START + 70, 5, 1, freed, sizeof freed - 1);
    put_row(&record, START + 80, 6, 1, freed, sizeof freed - 1);
    end(&record, 0);
    assert_true(cs_jitdump_lines_read(&lines, record.start, record.used,
                                      "JS:*turns /home/me/sourc/turns.js:4:15", 99));
    assert_int_equal(lines.n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(lines.rows[i].line, 4 + i);
        assert_string_equal(file(&lines, i), "/home/me/sourc/turns.js");
    }
    assert_int_equal(lines.rows[0].at, 0);
    assert_int_equal(lines.rows[2].at, 16);
    cs_jitdump_lines_fini(&lines);
    /* The same in a script of another name: no file. */
    assert_true(cs_jitdump_lines_read(&lines, record.start, record.used,
                                      "JS:*turns /home/me/sourc/burnt.js:4:15", 99));
    assert_int_equal(lines.n, 3);
    assert_string_equal(file(&lines, 1), "");
    cs_jitdump_lines_fini(&lines);
    cs_bytes_fini(&record);
}

/* Cut everywhere, in memory of just that size. */
TEST(bytecodes_places_are_no_lines_of_code)
{
    struct cs_jitdump_lines lines = {0};
    struct cs_bytes record = three_rows(3);
    assert_false(cs_jitdump_lines_read(&lines, record.start, record.used, "JS:^turns /srv/a.js:4:15", 17));
    assert_int_equal(lines.n, 0);
    assert_true(cs_jitdump_lines_read(&lines, record.start, record.used, "JS:*turns /srv/a.js:4:15", 17));
    assert_int_equal(lines.n, 3);
    cs_jitdump_lines_fini(&lines);
    cs_bytes_fini(&record);
}

TEST(what_is_cut_or_lies_is_read_within_its_bounds)
{
    static const char *const methods[] = {"f", "JS:*f /srv/a.x:1:2"};
    struct cs_bytes record = three_rows(3);
    for (size_t n = 0; n <= record.used; n++) {
        uint8_t *cut = malloc(n ? n : 1);
        memcpy(cut, record.start, n);
        for (unsigned m = 0; m < 2; m++) {
            struct cs_jitdump_lines lines = {0};
            (void)cs_jitdump_lines_read(&lines, cut, n, methods[m], 1000);
            assert_true(lines.n <= 3);
            cs_jitdump_lines_fini(&lines);
        }
        free(cut);
    }
    cs_bytes_fini(&record);
    static const uint64_t counts[] = {0, 1, 4, UINT32_MAX, UINT64_MAX};
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct cs_jitdump_lines lines = {0};
        record = three_rows(counts[i]);
        const bool any = cs_jitdump_lines_read(&lines, record.start, record.used, "f", 1000);
        assert_int_equal(any, counts[i] > 0);
        assert_int_equal(lines.n, counts[i] < 3 ? counts[i] : 3);
        cs_jitdump_lines_fini(&lines);
        cs_bytes_fini(&record);
    }
}

TEST(endless_names_and_rows_end)
{
    static char longest[100000];
    struct cs_jitdump_lines lines = {0};
    struct cs_bytes record = {0};
    memset(longest, 'a', sizeof longest - 1);
    begin(&record, 2, START, 3);
    put_row(&record, START, 1, 0, "x", 1);
    put_row(&record, START + 1, 2, 0, longest, strlen(longest));
    cs_bytes_put_u64(&record, START + 2); /* and one without an end */
    cs_bytes_put_raw(&record, longest, strlen(longest));
    assert_true(cs_jitdump_lines_read(&lines, record.start, record.used, "f", 10));
    assert_int_equal(lines.n, 2);
    assert_string_equal(file(&lines, 0), "x");
    assert_string_equal(file(&lines, 1), "");
    cs_jitdump_lines_fini(&lines);
    cs_bytes_fini(&record);
    begin(&record, 2, START, UINT64_MAX);
    for (unsigned i = 0; i < 3 * CS_JITDUMP_LINES_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        put_row(&record, START + i, (int)i - 10, 0, name, strlen(name));
    }
    assert_true(cs_jitdump_lines_read(&lines, record.start, record.used, "f", 1 << 20));
    assert_int_equal(lines.n, CS_JITDUMP_LINES_MAX);
    assert_int_equal(lines.rows[5].line, 0); /* below zero: unknown */
    assert_true(lines.files.used < CS_JITDUMP_LINES_FILES * 8);
    cs_jitdump_lines_fini(&lines);
    cs_bytes_fini(&record);
}

static bool take(void *arg, const struct cs_jitdump_record *code)
{
    struct cs_jitdump_record *last = arg;
    *last = *code;
    last->name = NULL;
    return true;
}

static void put_method(struct cs_bytes *out, uint64_t addr)
{
    const size_t from = out->used;
    begin(out, 0, 0, 0);
    cs_bytes_put_u64(out, 0);
    cs_bytes_put_u64(out, addr);
    cs_bytes_put_u64(out, addr);
    cs_bytes_put_u64(out, 16);
    cs_bytes_put_u64(out, 1);
    cs_bytes_put_raw(out, "f\0", 2);
    cs_bytes_put_raw(out, "0123456789abcdef", 16);
    const uint32_t size = (uint32_t)(out->used - from);
    memcpy(out->start + from + 4, &size, sizeof size);
}

/* However the file is cut while it is written, the lines are met with their method, and only with it. */
TEST(lines_belong_to_the_method_behind_them)
{
    struct cs_bytes dump = {0}, rows = three_rows(3);
    cs_bytes_put_u32(&dump, 0x4A695444);
    cs_bytes_put_u32(&dump, 1);
    cs_bytes_put_u32(&dump, 40);
    while (dump.used < 40)
        cs_bytes_put_u8(&dump, 0);
    const size_t lines_at = dump.used;
    cs_bytes_put_raw(&dump, rows.start, rows.used);
    const size_t between = dump.used;
    begin(&dump, 4, 0, 0); /* what isn't known is passed over */
    end(&dump, between);
    put_method(&dump, START);
    const size_t first = dump.used;
    put_method(&dump, START);
    for (size_t cut = 0; cut <= first; cut++) {
        struct cs_jitdump_record last = {.size = 0};
        uint64_t at = 0;
        int fd = memfd_create("dump", MFD_CLOEXEC);
        assert_int_equal(write(fd, dump.start, cut), cut);
        (void)cs_jitdump_read(fd, &at, take, &last);
        assert_int_equal(write(fd, dump.start + cut, first - cut), first - cut);
        assert_int_equal(cs_jitdump_read(fd, &at, take, &last), 0);
        assert_int_equal(last.size, 16);
        assert_int_equal(last.lines_at, lines_at);
        assert_int_equal(last.code_at, first - 16);
        assert_int_equal(write(fd, dump.start + first, dump.used - first), dump.used - first);
        assert_int_equal(cs_jitdump_read(fd, &at, take, &last), 0);
        assert_int_equal(last.lines_at, 0);
        close(fd);
    }
    cs_bytes_fini(&dump);
    cs_bytes_fini(&rows);
}

static const struct cs_store_image image = {
    .id = "x0123456789abcdef", .kind = CS_IMAGE_JIT, .path = "[jit] x", .build_id = ""};

static void keep(struct cs_jit_code *code, const char *name, int line)
{
    static const uint8_t bytes[64] = {0x90};
    char versioned[CS_JIT_CODE_NAME_MAX];
    struct cs_jitdump_lines lines = {0};
    struct cs_bytes record = {0};
    begin(&record, 2, START, 3);
    put_row(&record, START + 4, line, 3, "/srv/a.x", 8);
    put_row(&record, START + 8, line + 1, 3, "/srv/b.x", 8);
    put_row(&record, START + 12, 0, 0, REPEATED, 1);
    assert_true(cs_jitdump_lines_read(&lines, record.start, record.used, name, sizeof bytes));
    (void)cs_jit_code_offset(code, &image, name, bytes, sizeof bytes, &lines, versioned);
    cs_jitdump_lines_fini(&lines);
    cs_bytes_fini(&record);
}

TEST(what_is_kept_is_read_as_lines_of_any_image)
{
    struct cs_error err;
    struct cs_store *store;
    struct cs_image_code *open;
    struct cs_image_frame frames[4];
    struct cs_jit_code *code = cs_jit_code_open(folder);
    keep(code, "f", 10);
    keep(code, "g", 20);
    assert_true(cs_jit_code_save(code, 1 << 20, &err) >= 0);
    cs_jit_code_close(code);
    code = cs_jit_code_open(folder); /* the next recording: the newest lines of a code stay */
    keep(code, "g", 30);
    assert_true(cs_jit_code_save(code, 1 << 20, &err) >= 0);
    cs_jit_code_close(code);
    assert_int_equal(cs_store_open(folder, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    const uint64_t f = cs_jit_name_offset("f"), g = cs_jit_name_offset("g");
    assert_int_equal(give_name(store, &image, f, CS_JIT_METHOD_MAX, "f", &err), 0);
    assert_int_equal(give_name(store, &image, g, CS_JIT_METHOD_MAX, "g", &err), 0);
    assert_int_equal(cs_image_open(&image, store, &open, &err), 0);
    assert_int_equal(cs_image_frames_at(open, f + 3, frames, 4), 0);
    assert_int_equal(cs_image_frames_at(open, f + 7, frames, 4), 1);
    assert_int_equal(frames[0].line, 10);
    assert_string_equal(frames[0].file, "/srv/a.x");
    assert_string_equal(frames[0].function, "f");
    assert_int_equal(cs_image_frames_at(open, g + 8, frames, 4), 2); /* another file: inlined */
    assert_int_equal(frames[0].line, 31);
    assert_string_equal(frames[0].file, "/srv/b.x");
    assert_string_equal(frames[0].function, "");
    assert_string_equal(frames[1].file, "/srv/a.x");
    assert_string_equal(frames[1].function, "g");
    assert_int_equal(frames[1].line, 0);
    assert_int_equal(cs_image_frames_at(open, g + 12, frames, 4), 0);
    assert_int_equal(cs_image_frames_at(open, cs_jit_name_offset("h") + 8, frames, 4), 0);
    assert_true(cs_image_line_at(open, g + 4, frames));
    assert_int_equal(frames[0].line, 30);
    size_t n;
    assert_non_null(cs_image_bytes_at(open, f, &n, NULL));
    assert_int_equal(n, 64);
    cs_image_close(open);
    cs_store_close(store);
}

/* Of two stores: what the first one has stays, the rest of the second one's comes with its lines. */
TEST(what_two_stores_keep_is_joined)
{
    char other[64];
    struct cs_error err;
    struct cs_store *store;
    struct cs_image_code *open;
    struct cs_image_frame frame;
    const uint64_t g = cs_jit_name_offset("g"), h = cs_jit_name_offset("h");
    size_t n;
    snprintf(other, sizeof other, "%s/other", folder);
    assert_int_equal(mkdir(other, 0700), 0);
    struct cs_jit_code *code = cs_jit_code_open(other);
    keep(code, "h", 50);
    keep(code, "g", 60);
    assert_true(cs_jit_code_save(code, 1 << 20, &err) >= 0);
    cs_jit_code_close(code);
    assert_int_equal(cs_jit_code_combine(folder, other, image.id, 1 << 20, &err), 0);
    assert_int_equal(cs_store_open(folder, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    assert_int_equal(give_name(store, &image, h, CS_JIT_METHOD_MAX, "h", &err), 0);
    assert_int_equal(cs_image_open(&image, store, &open, &err), 0);
    assert_true(cs_image_line_at(open, h + 9, &frame));
    assert_int_equal(frame.line, 51);
    assert_string_equal(frame.file, "/srv/b.x");
    assert_true(cs_image_line_at(open, g + 4, &frame));
    assert_int_equal(frame.line, 30);
    assert_string_equal(frame.file, "/srv/a.x");
    assert_non_null(cs_image_bytes_at(open, h, &n, NULL));
    cs_image_close(open);
    cs_store_close(store);
}

TEST(more_lines_than_the_bounds_are_left_out)
{
    static const struct cs_store_image other = {
        .id = "xfedcba9876543210", .kind = CS_IMAGE_JIT, .path = "[jit] y", .build_id = ""};
    static const uint8_t bytes[CS_JITDUMP_LINES_MAX];
    char name[32], versioned[CS_JIT_CODE_NAME_MAX], *kept;
    struct cs_jitdump_lines lines = {0};
    struct cs_bytes record = {0};
    struct cs_error err;
    size_t n;
    begin(&record, 2, START, CS_JITDUMP_LINES_MAX);
    for (unsigned i = 0; i < CS_JITDUMP_LINES_MAX; i++)
        put_row(&record, START + i, 1, 1, "x", 1);
    assert_true(cs_jitdump_lines_read(&lines, record.start, record.used, "f", sizeof bytes));
    struct cs_jit_code *code = cs_jit_code_open(folder);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "m%u", i);
        (void)cs_jit_code_offset(code, &other, name, bytes, sizeof bytes, &lines, versioned);
    }
    assert_true(cs_jit_code_save(code, 100 << 20, &err) >= 0);
    cs_jit_code_close(code);
    assert_int_equal(cs_kept_code_load(folder, other.id, &kept, &n, &err), 0);
    const size_t rows = (size_t)CS_JIT_CODE_LINES * sizeof(struct cs_kept_line);
    assert_true(n > 100 * sizeof bytes + rows && n < 100 * (sizeof bytes + 64) + rows + 4096);
    free(kept);
    cs_jitdump_lines_fini(&lines);
    cs_bytes_fini(&record);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_read_in_order),
        cmocka_unit_test(what_v8_writes_is_put_right),
        cmocka_unit_test(bytecodes_places_are_no_lines_of_code),
        cmocka_unit_test(what_is_cut_or_lies_is_read_within_its_bounds),
        cmocka_unit_test(endless_names_and_rows_end),
        cmocka_unit_test(lines_belong_to_the_method_behind_them),
        cmocka_unit_test(what_is_kept_is_read_as_lines_of_any_image),
        cmocka_unit_test(what_two_stores_keep_is_joined),
        cmocka_unit_test(more_lines_than_the_bounds_are_left_out),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 ? 1 : rc;
}
