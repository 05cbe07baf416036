/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jitdump files, written here byte by byte as the specification says. */
#include "sampler/dynamic/jitdump.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct file {
    unsigned char bytes[4096];
    size_t n;
};

static void put(struct file *f, uint64_t value, size_t size)
{
    memcpy(f->bytes + f->n, &value, size); /* little-endian, as this machine */
    f->n += size;
}
static void put_header(struct file *f)
{
    put(f, 0x4A695444, 4);
    put(f, 1, 4);  /* version */
    put(f, 40, 4); /* size of this header */
    put(f, 62, 4);
    put(f, 0, 4);
    put(f, 123, 4);
    put(f, 5, 8);
    put(f, 0, 8);
}
static void put_load(struct file *f, uint64_t start, uint64_t size, const char *name)
{
    put(f, 0, 4);
    put(f, 16 + 40 + strlen(name) + 1 + size, 4);
    put(f, 6, 8);
    put(f, 123, 4);
    put(f, 124, 4);
    put(f, start, 8);
    put(f, start, 8);
    put(f, size, 8);
    put(f, 1, 8);
    memcpy(f->bytes + f->n, name, strlen(name) + 1);
    f->n += strlen(name) + 1;
    memset(f->bytes + f->n, 0xcc, size);
    f->n += size;
}
static void put_move(struct file *f, uint64_t from, uint64_t to, uint64_t size)
{
    put(f, 1, 4);
    put(f, 16 + 48, 4);
    put(f, 7, 8);
    put(f, 123, 4);
    put(f, 124, 4);
    put(f, to, 8);
    put(f, from, 8);
    put(f, to, 8);
    put(f, size, 8);
    put(f, 1, 8);
}

static char seen[4096];
static bool of_another_clock, timed;
static bool note(void *arg, const struct cs_jitdump_record *code)
{
    (void)arg;
    size_t used = strlen(seen);
    if (timed)
        assert_int_equal(code->time_ns, of_another_clock ? 0 : code->name ? 6 : 7);
    if (code->name)
        snprintf(seen + used, sizeof seen - used, "%s at %llx, %llu bytes; ", code->name,
                 (unsigned long long)code->start, (unsigned long long)code->size);
    else
        snprintf(seen + used, sizeof seen - used, "%llx moved to %llx; ", (unsigned long long)code->was_start,
                 (unsigned long long)code->start);
    return true;
}

/* A file with the first n bytes. */
static int with(const struct file *f, size_t n)
{
    char path[] = "/tmp/jitdump-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, f->bytes, n), n);
    seen[0] = '\0';
    return fd;
}

static struct file example(void)
{
    struct file f = {.n = 0};
    put_header(&f);
    put_load(&f, 0x1000, 32, "alpha");
    put(&f, 2, 4); /* a record of another kind: debug info */
    put(&f, 24, 4);
    put(&f, 0, 8);
    put(&f, 0, 8);
    put_load(&f, 0x2000, 16, "beta(int)");
    put_move(&f, 0x1000, 0x3000, 32);
    return f;
}
#define ALL "alpha at 1000, 32 bytes; beta(int) at 2000, 16 bytes; 1000 moved to 3000; "

TEST(methods_made_and_moved_are_told_in_order)
{
    struct file f = example();
    uint64_t at = 0;
    int fd = with(&f, f.n);
    timed = true;
    assert_int_equal(cs_jitdump_read(fd, &at, note, NULL), 0);
    assert_string_equal(seen, ALL);
    assert_int_equal(at, f.n);
    assert_int_equal(cs_jitdump_read(fd, &at, note, NULL), 0); /* nothing new */
    assert_string_equal(seen, ALL);
    close(fd);
    f.bytes[32] = 1; /* flags: times are a processor's */
    of_another_clock = true;
    at = 0;
    fd = with(&f, f.n);
    assert_int_equal(cs_jitdump_read(fd, &at, note, NULL), 0);
    assert_string_equal(seen, ALL);
    of_another_clock = timed = false;
    close(fd);
}

TEST(a_file_that_grows_byte_by_byte_tells_each_method_once)
{
    struct file f = example();
    uint64_t at = 0;
    int fd = with(&f, 0);
    for (size_t n = 0; n < f.n; n++) {
        assert_int_equal(cs_jitdump_read(fd, &at, note, NULL), 0);
        assert_int_equal(pwrite(fd, f.bytes + n, 1, (off_t)n), 1);
    }
    assert_int_equal(cs_jitdump_read(fd, &at, note, NULL), 0);
    assert_string_equal(seen, ALL);
    close(fd);
}

TEST(what_is_no_jitdump_is_refused)
{
    struct file f = example();
    uint64_t at = 0;
    f.bytes[0] ^= 1;
    int fd = with(&f, f.n);
    assert_int_equal(cs_jitdump_read(fd, &at, note, NULL), -EBADMSG);
    close(fd);
    f = example();
    at = 0;
    f.bytes[40 + 4] = 3; /* a record shorter than its own head */
    fd = with(&f, f.n);
    assert_int_equal(cs_jitdump_read(fd, &at, note, NULL), -EBADMSG);
    assert_string_equal(seen, "");
    close(fd);
}

TEST(any_byte_may_be_wrong)
{
    struct file f = example();
    for (size_t i = 0; i < f.n; i++)
        for (unsigned value = 0; value < 256; value += 51) {
            struct file wrong = f;
            uint64_t at = 0;
            wrong.bytes[i] = (unsigned char)value;
            int fd = with(&wrong, wrong.n);
            int rc = cs_jitdump_read(fd, &at, note, NULL);
            assert_true(rc == 0 || rc == -EBADMSG);
            assert_true(at <= wrong.n || at <= 4096);
            close(fd);
        }
}

static bool count(void *arg, const struct cs_jitdump_record *code)
{
    *(unsigned *)arg += code->name != NULL;
    return true;
}

TEST(a_runtime_of_200000_methods_with_lines_is_read_in_one_call)
{
    struct file f = {.n = 0};
    char name[] = "/tmp/jitdump.XXXXXX";
    int fd = mkstemp(name);
    FILE *out = fdopen(fd, "w+");
    unlink(name);
    put_header(&f);
    fwrite(f.bytes, 1, f.n, out);
    f.n = 0;
    put(&f, 2, 4); /* lines: passed over */
    put(&f, 16, 4);
    put(&f, 6, 8);
    put_load(&f, 0x1000, 64, "method");
    for (unsigned i = 0; i < 200000; i++)
        fwrite(f.bytes, 1, f.n, out);
    fflush(out);
    uint64_t at = 0;
    unsigned methods = 0;
    assert_int_equal(cs_jitdump_read(fd, &at, count, &methods), 0);
    assert_int_equal(methods, 200000);
    fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_made_and_moved_are_told_in_order),
        cmocka_unit_test(a_file_that_grows_byte_by_byte_tells_each_method_once),
        cmocka_unit_test(what_is_no_jitdump_is_refused),
        cmocka_unit_test(any_byte_may_be_wrong),
        cmocka_unit_test(a_runtime_of_200000_methods_with_lines_is_read_in_one_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
