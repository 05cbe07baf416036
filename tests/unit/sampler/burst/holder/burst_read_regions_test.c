/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the holder makes of a program's memory map, above all: memory of devices is known as such. */
#include "sampler/burst/holder/read_regions.h"
#include "sampler/burst/runner/boundary.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

static void read_map(const char *text)
{
    int fd = memfd_create("maps", 0);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    assert_int_equal(dup2(fd, CS_BURST_FD_MAPS), CS_BURST_FD_MAPS);
    if (fd != CS_BURST_FD_MAPS)
        close(fd);
}

/* The kind of a shared mapping of a file of this name. */
static unsigned kind_of(const char *name)
{
    char line[300];
    snprintf(line, sizeof line,
             "7f0000000000-7f0000004000 rw-s 00001000 00:05 1041                       %s\n", name);
    read_map(line);
    assert_true(regions_refresh() >= 0);
    assert_int_equal(boundary->ask.n_regions, 1);
    assert_true(boundary->regions[0].start == 0x7f0000000000 && boundary->regions[0].end == 0x7f0000004000);
    assert_true(boundary->regions[0].r && boundary->regions[0].w && !boundary->regions[0].x);
    assert_true(boundary->regions[0].shared);
    return boundary->regions[0].kind;
}

TEST(memory_of_devices_is_known)
{
    static const char *const names[] = {"/dev/mem",
                                        "/dev/uio0",
                                        "/dev/dri/card0",
                                        "/dev/nvidia0",
                                        "/dev/infiniband/uverbs0",
                                        "/sys/devices/pci0000:00/0000:00:03.0/resource0",
                                        "/proc/bus/pci/00/03.0",
                                        "/dmabuf:",
                                        "anon_inode:[vfio-device]",
                                        "anon_inode:[perf_event]"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(kind_of(names[i]), REGION_DEVICE);
}

TEST(plain_memory_is_no_device)
{
    static const char *const names[] = {"/dev/shm/PostgreSQL.123", "/dev/zero (deleted)",
                                        "/usr/lib/libc.so.6",      "/home/dev/mem",
                                        "/memfd:jit (deleted)",    "/device",
                                        "anon_inode:[io_uring]",   "/SYSV00000000 (deleted)"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(kind_of(names[i]), REGION_FILE);
}

/* By the mounts as the program sees them; numbers there are decimal, and those of a map aren't. */
TEST(mounts_that_may_never_answer_are_known)
{
    static const char mounts[] =
        "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
        "30 22 0:41 / /mnt/a\\040-\\040nfs rw shared:7 master:2 - fuse.sshfs host:/a rw,user_id=0\n"
        "31 22 0:42 / /tmp rw - tmpfs fuse rw\n"
        "32 22 0:43 /x /mnt/fuse rw - nfs4 server:/x rw\n"
        "33 22 8:65 / /mnt/ntfs rw - fuseblk /dev/sde1 rw\n"
        "34 22 0:65 / /v rw - btrfs /dev/sdf rw\n";
    static const struct {
        const char *device;
        bool waits;
    } cases[] = {{"fe:00", false}, {"00:29", true},  {"00:2a", false}, {"00:2b", true},
                 {"08:41", false}, {"00:41", false}, {"00:01", false}, {"00:29", true}};
    char folder[] = "/tmp/burst-mounts-XXXXXX", path[64], line[300];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/mountinfo", folder);
    FILE *f = fopen(path, "w");
    assert_true(f && fputs(mounts, f) >= 0 && fclose(f) == 0);
    int fd = open(folder, O_PATH | O_DIRECTORY);
    assert_int_equal(dup2(fd, CS_BURST_FD_PROCESS), CS_BURST_FD_PROCESS);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(line, sizeof line, "7f0000000000-7f0000004000 r-xp 00001000 %s 1041    /a/file\n",
                 cases[i].device);
        read_map(line);
        assert_true(regions_refresh() >= 0);
        assert_int_equal(boundary->regions[0].may_wait, cases[i].waits);
        assert_int_equal(boundary->regions[0].kind, REGION_FILE);
    }
    unlink(path);
    rmdir(folder);
}

TEST(the_kernels_regions_are_told_apart)
{
    read_map("555500000000-555500001000 r-xp 00000000 08:01 77                         /bin/x\n"
             "555500002000-555500003000 rw-p 00000000 00:00 0 \n"
             "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n"
             "7ffc00100000-7ffc00104000 r--p 00000000 00:00 0                          [vvar]\n"
             "7ffc00104000-7ffc00106000 r-xp 00000000 00:00 0                          [vdso]\n");
    assert_int_equal(regions_refresh(), 1);
    assert_int_equal(boundary->ask.n_regions, 5);
    static const unsigned kinds[] = {REGION_FILE, REGION_ANONYMOUS, REGION_STACK, REGION_CLOCK, REGION_VDSO};
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(boundary->regions[i].kind, kinds[i]);
    assert_int_equal(regions_refresh(), 0); /* the same map */
}

static int room(void **state) /* where the runner has what holder and replayer share */
{
    (void)state;
    return mmap(boundary, BOUNDARY_BYTES_MAX, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0) == MAP_FAILED;
}

int main(int argc, char **argv)
{
    (void)argc;
    /* The heap, at a random distance behind the program, would be where the room is to be in one run of twenty. */
    if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE) && personality(ADDR_NO_RANDOMIZE) >= 0)
        execv("/proc/self/exe", argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_devices_is_known),
        cmocka_unit_test(plain_memory_is_no_device),
        cmocka_unit_test(mounts_that_may_never_answer_are_known),
        cmocka_unit_test(the_kernels_regions_are_told_apart),
    };
    return cmocka_run_group_tests(tests, room, NULL);
}
