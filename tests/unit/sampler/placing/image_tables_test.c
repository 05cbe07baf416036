/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables of new files within a limit of CPU time. */
#include "sampler/placing/image_tables.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TRIES 1000

static struct cs_images *images;
static struct cs_image_tables *tables;
static struct cs_mapped_image *own, *other;

static struct cs_mapped_image *image_of(const char *path)
{
    struct cs_image_segments layout;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool read = fd >= 0 && cs_image_segments_of_file(&layout, fd) == 0 && layout.build_id[0];
    struct cs_mapped_file file = {.pid = getpid(),
                                  .start = 0x1000,
                                  .end = 0x2000,
                                  .path = path,
                                  .build_id = read ? layout.build_id : ""};
    if (fd >= 0)
        close(fd);
    return read ? cs_images_of_file(images, &file) : NULL;
}

static int begin(void **state)
{
    (void)state;
    char path[4096] = "";
    images = cs_images_open("/proc");
    tables = cs_image_tables_open(images);
    own = readlink("/proc/self/exe", path, sizeof path - 1) > 0 ? image_of(path) : NULL;
    other = image_of("/bin/sh");
    return setenv("CYCLESCOPE_CACHE", "", 1) || !own || !other || own == other;
}

static int end(void **state)
{
    (void)state;
    cs_image_tables_close(tables);
    cs_images_close(images);
    return 0;
}

static int get(struct cs_mapped_image *image)
{
    const struct cs_unwind_header *table;
    const struct cs_mapped_image *made;
    size_t n;
    int rc = 0;
    for (int i = 0; i < TRIES && rc == 0; i++) {
        rc = cs_image_tables_get(tables, image, getpid(), 0x1000, 0x2000, &table, &n);
        if (rc == 0) {
            nanosleep(&(struct timespec){0, 10000000}, NULL); /* sleeps: between two looks */
            (void)cs_image_tables_poll(tables, &made, &table, &n);
        }
    }
    return rc;
}

TEST(without_a_limit_all_are_made)
{
    cs_image_tables_pay(tables, 5000000000);
    assert_int_equal(get(own), 1);
    assert_int_equal(get(other), 1);
}

TEST(what_a_child_took_is_paid_and_the_next_one_waits)
{
    cs_image_tables_limit(tables, 1e-9);
    cs_image_tables_pay(tables, 999900000); /* a tenth of a millisecond is left: less than the child takes */
    assert_int_equal(get(own), 1);
    assert_int_equal(get(other), -EAGAIN);
    assert_int_equal(get(own), 1); /* it is there */
    cs_image_tables_limit(tables, 1000);
    nanosleep(&(struct timespec){0, 10000000}, NULL); /* sleeps: a budget comes with time */
    assert_int_equal(get(other), 1);
}

TEST(a_dear_one_shuts_out_others_for_a_while_only)
{
    cs_image_tables_limit(tables, 1);
    cs_image_tables_pay(tables, 3600000000000);
    assert_int_equal(get(own), -EAGAIN);
    nanosleep(&(struct timespec){0, 300000000}, NULL); /* sleeps: a budget comes with time */
    assert_int_equal(get(own), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_a_limit_all_are_made, begin, end),
        cmocka_unit_test_setup_teardown(what_a_child_took_is_paid_and_the_next_one_waits, begin, end),
        cmocka_unit_test_setup_teardown(a_dear_one_shuts_out_others_for_a_while_only, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
