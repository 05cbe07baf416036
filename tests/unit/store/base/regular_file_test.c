/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/base/regular_file.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[4][256];
    static unsigned next;
    char *at = path[next++ % 4];
    snprintf(at, sizeof path[0], "%s/%s", folder, name);
    return at;
}

static void put(const char *name, const char *text, mode_t mode)
{
    int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/cs-regular-XXXXXX");
    return mkdtemp(folder) && chmod(folder, 0755) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command); /* NOLINT: a name of our own */
}

TEST(a_regular_file_is_opened_and_measured)
{
    struct stat st;
    char text[8] = "";
    put("file", "hello", 0644);
    int fd = cs_open_regular(NULL, in_folder("file"), 5, &st);
    assert_true(fd >= 0);
    assert_int_equal(st.st_size, 5);
    assert_int_equal(read(fd, text, sizeof text), 5);
    assert_string_equal(text, "hello");
    close(fd);
    assert_int_equal(cs_open_regular(NULL, in_folder("file"), 4, NULL), -EFBIG);
    assert_int_equal(cs_open_regular(NULL, in_folder("none"), 4, NULL), -ENOENT);
}

TEST(what_is_no_regular_file_is_refused_without_being_opened)
{
    assert_int_equal(mkfifo(in_folder("fifo"), 0666), 0); /* an open for reading would hang */
    assert_int_equal(cs_open_regular(NULL, in_folder("fifo"), 1 << 20, NULL), -EINVAL);
    assert_int_equal(cs_open_regular(NULL, folder, 1 << 20, NULL), -EINVAL);
    assert_int_equal(symlink("/dev/zero", in_folder("zero")), 0);
    assert_int_equal(cs_open_regular(NULL, in_folder("zero"), 1 << 20, NULL), -EINVAL);
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0) {
        assert_int_equal(symlink(ptsname(master), in_folder("terminal")), 0);
        assert_int_equal(cs_open_regular(NULL, in_folder("terminal"), 1 << 20, NULL), -EINVAL);
    }
    if (master >= 0)
        close(master);
}

TEST(links_stay_beneath_the_root)
{
    assert_int_equal(mkdir(in_folder("root"), 0755), 0);
    put("root/inside", "in", 0644);
    put("outside", "out", 0644);
    assert_int_equal(symlink("/inside", in_folder("root/absolute")), 0);
    assert_int_equal(symlink("../../../../../../etc/passwd", in_folder("root/upwards")), 0);
    assert_int_equal(symlink("../outside", in_folder("root/sibling")), 0);
    int fd = cs_open_regular(in_folder("root"), "/absolute", 100, NULL);
    assert_true(fd >= 0); /* as its process sees it */
    close(fd);
    assert_int_equal(cs_open_regular(in_folder("root"), "upwards", 1 << 20, NULL), -ENOENT);
    assert_int_equal(cs_open_regular(in_folder("root"), "sibling", 1 << 20, NULL), -ENOENT);
}

TEST(an_owned_file_is_no_link_and_nobody_elses)
{
    const uid_t user = geteuid();
    put("map", "x", 0644);
    int fd = cs_open_owned(NULL, in_folder("map"), 100, user);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(cs_open_owned(NULL, in_folder("map"), 0, user), -EFBIG);
    assert_int_equal(symlink("map", in_folder("link-to-map")), 0);
    assert_int_equal(cs_open_owned(NULL, in_folder("link-to-map"), 100, user), -EINVAL);
    assert_int_equal(symlink("map", in_folder("root/link")), 0);
    assert_int_equal(cs_open_owned(in_folder("root"), "link", 100, user), -EINVAL);
    assert_int_equal(link(in_folder("map"), in_folder("same-map")), 0);
    assert_int_equal(cs_open_owned(NULL, in_folder("map"), 100, user), -EMLINK);
    assert_int_equal(cs_open_owned(NULL, in_folder("fifo"), 100, user), -EINVAL);
    if (user != 0)
        return; /* nothing can be given away */
    put("theirs", "x", 0644);
    assert_int_equal(chown(in_folder("theirs"), 65534, 65534), 0);
    assert_int_equal(cs_open_owned(NULL, in_folder("theirs"), 100, 0), -EPERM);
    assert_int_equal(cs_open_owned(NULL, in_folder("theirs"), 100, 65533), -EPERM);
    fd = cs_open_owned(NULL, in_folder("theirs"), 100, 65534);
    assert_true(fd >= 0);
    close(fd);
}

TEST(everybody_may_read_what_all_folders_above_let_them)
{
    put("open", "x", 0644);
    put("closed", "x", 0600);
    assert_int_equal(mkdir(in_folder("private"), 0700), 0);
    put("private/open", "x", 0644);
    assert_true(cs_everybody_may_read(in_folder("open")));
    assert_false(cs_everybody_may_read(in_folder("closed")));
    assert_false(cs_everybody_may_read(in_folder("private/open")));
    assert_false(cs_everybody_may_read("/etc/shadow"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_regular_file_is_opened_and_measured),
        cmocka_unit_test(what_is_no_regular_file_is_refused_without_being_opened),
        cmocka_unit_test(links_stay_beneath_the_root),
        cmocka_unit_test(an_owned_file_is_no_link_and_nobody_elses),
        cmocka_unit_test(everybody_may_read_what_all_folders_above_let_them),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
