/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fuzz target's body on this test's own executable with bytes changed at random, in a child a batch. A
 * crash or an endless loop of the child fails the test. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/image_fuzz.c"
#include "tests/unit/test.h"

#define BATCHES 20
#define A_BATCH 40

static uint8_t *image;
static size_t image_size;

static int read_ourselves(void **unused)
{
    (void)unused;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    off_t size = lseek(fd, 0, SEEK_END);
    image = malloc((size_t)size);
    image_size = (size_t)size;
    return fd < 0 || !image || pread(fd, image, image_size, 0) != (ssize_t)size || close(fd);
}

static int forget(void **unused)
{
    (void)unused;
    free(image);
    return 0;
}

static uint64_t state;
static uint64_t draw(uint64_t n)
{
    state += 0x9e3779b97f4a7c15;
    uint64_t x = state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return (x ^ (x >> 31)) % n;
}

/* Headers and section headers are hit as often as all the rest. */
static void damage(uint8_t *bytes)
{
    for (uint64_t n = 1 + draw(200); n > 0; n--) {
        uint64_t at = draw(4) == 0   ? draw(1024)
                      : draw(3) == 0 ? image_size - 1 - draw(4096)
                                     : draw(image_size);
        bytes[at] = (uint8_t)(draw(3) == 0 ? 0xff : draw(256));
    }
}

TEST(changed_bytes_neither_crash_nor_hang)
{
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(60);
            uint8_t *copy = malloc(image_size);
            for (unsigned i = 0; copy && i < A_BATCH; i++) {
                state = batch * A_BATCH + i;
                memcpy(copy, image, image_size);
                damage(copy);
                LLVMFuzzerTestOneInput(copy, draw(10) ? image_size : draw(image_size));
            }
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status))
            fail_msg("batch %u: %s %d", batch, WIFSIGNALED(status) ? "signal" : "exit",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
}

TEST(whole_image_is_understood)
{
    assert_int_equal(LLVMFuzzerTestOneInput(image, image_size), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_image_is_understood),
        cmocka_unit_test(changed_bytes_neither_crash_nor_hang),
    };
    return cmocka_run_group_tests(tests, read_ourselves, forget);
}
