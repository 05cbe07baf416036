/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of callgrind, written by hand after its manual's format, read for each of its images. */
#include "analysis/validation/callgrind.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char format[] =
    "# callgrind format\nversion: 1\ncmd: %s -x /lib/libother.so\npositions: instr line\n"
    "events: Ir\n\n"
    "ob=(1) /opt/tool\nfl=(1) tool.c\nfn=(1) main\n"
    "0x1000 10 5\n+4 * 7\n"
    "jcnd=3/7 0x1000 10\n* *\n" /* at 0x1004, three of seven */
    "cob=(2) /lib/libother.so\ncfn=(2) work\ncalls=2 0x2000 1\n+4 11 900\n"
    "+0 11 2\n"
    "ob=(2)\nfn=(2)\n0x2000 1 1000\n-0x10 1 1\n"
    "ob=(1)\nfn=(1)\n0x1004 10 1\n";

static struct cs_truth *load(const char *command, const char *image)
{
    char path[] = "/tmp/cyclescope-callgrind.XXXXXX";
    struct cs_truth *truth = NULL;
    struct cs_error err = {0};
    int fd = mkstemp(path);
    assert_true(dprintf(fd, format, command) > 0);
    close(fd);
    int rc = cs_truth_load(path, image, &truth, &err);
    unlink(path);
    assert_true((rc == 0) == (truth != NULL));
    return truth;
}

TEST(each_image_has_its_own_counts)
{
    struct cs_truth *tool = load("/opt/tool", "/opt/tool"),
                    *other = load("/opt/tool", "/usr/lib/libother.so");
    assert_non_null(tool);
    assert_non_null(other);
    assert_int_equal(tool->n_insns, 3);
    assert_int_equal((int)cs_truth_count(tool, 0x1000), 5);
    assert_int_equal((int)cs_truth_count(tool, 0x1004), 8); /* two lines */
    assert_int_equal((int)cs_truth_count(tool, 0x1008), 2); /* without what was called */
    assert_int_equal((int)cs_truth_taken(tool, 0x1004, 0x1000), 3);
    assert_int_equal((int)cs_truth_count(other, 0x2000), 1000);
    assert_int_equal((int)cs_truth_count(other, 0x1ff0), 1);
    assert_int_equal((int)cs_truth_count(other, 0x1000), 0);
    assert_int_equal((int)tool->total, 1016);
    assert_int_equal((int)other->total, 1016);
    cs_truth_close(tool);
    cs_truth_close(other);
}

TEST(the_command_is_the_program)
{
    char folder[] = "/tmp/cyclescope-callgrind.XXXXXX", file[64], link[64];
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/tool", folder);
    snprintf(link, sizeof link, "%s/called", folder);
    close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(symlink(file, link), 0);
    struct cs_truth *tool = load("/opt/tool", "/elsewhere/tool"),
                    *other = load("/opt/tool", "/lib/libother.so"), *linked = load(link, "/opt/tool"),
                    *unknown = load("/opt/called", "/opt/tool");
    unlink(link);
    unlink(file);
    rmdir(folder);
    assert_true(tool && tool->is_program);
    assert_true(other && !other->is_program);
    assert_true(linked && linked->is_program); /* as python3 is one to python3.11 */
    assert_true(unknown && !unknown->is_program);
    assert_null(load("/opt/tool", "/opt/tool2"));
    cs_truth_close(tool);
    cs_truth_close(other);
    cs_truth_close(linked);
    cs_truth_close(unknown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_image_has_its_own_counts),
        cmocka_unit_test(the_command_is_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
