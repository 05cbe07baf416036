/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that runtimes make: names of perf maps, and of what a process registered. */
#include "sampler/images/jit.h"
#include "signals/segment.h"
#include "tests/unit/made_root.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static void a_method_has_one_offset_in_every_process_that_made_it(void **state)
{
    (void)state;
    put("tmp/perf-5.map", "1000 100 Foo::bar\n2000 80 Foo::baz\n");
    put("tmp/perf-6.map", "9000 100 Foo::bar\nbroken line\n9000 40 Foo::later\n");
    char tmp[80];
    snprintf(tmp, sizeof tmp, "%s/tmp", root);
    struct cs_store_image image = {.id = "x1", .kind = CS_IMAGE_JIT, .path = "[jit] x", .build_id = ""};
    struct cs_jit *jit = cs_jit_open(proc, tmp, NULL);
    uint64_t in_5 = cs_jit_offset(jit, &image, 5, 100, 100, 0x1010, 7);
    assert_true(in_5 >> 63);
    assert_int_equal(cs_jit_offset(jit, &image, 5, 100, 100, 0x1011, 7), in_5 + 1);
    assert_true(cs_jit_offset(jit, &image, 5, 100, 100, 0x2010, 7) != in_5);
    assert_int_equal(cs_jit_offset(jit, &image, 5, 100, 100, 0x5000, 7), 7); /* nothing there */
    assert_true(cs_jit_offset(jit, &image, 6, 100, 100, 0x9010, 7) != in_5); /* replaced by a later method */
    put("tmp/perf-6.map", "9000 100 Foo::bar\n");
    cs_jit_close(jit);
    jit = cs_jit_open(proc, tmp, NULL);
    assert_int_equal(cs_jit_offset(jit, &image, 6, 100, 100, 0x9010, 7), in_5);
    /* A map that has grown is read again with the next drain. */
    put("tmp/perf-6.map", "9000 100 Foo::bar\na000 100 Foo::new\n");
    assert_int_equal(cs_jit_offset(jit, &image, 6, 100, 100, 0xa010, 7), 7);
    cs_jit_refresh(jit);
    assert_true(cs_jit_offset(jit, &image, 6, 100, 100, 0xa010, 7) >> 63);
    cs_jit_close(jit);
}

/* This process's own segment of signals, with one name. */
static int publish(const char *name, uint64_t start)
{
    enum {
        TEXT_BYTES = 16,
        RECORD_BYTES = sizeof(struct cs_segment_name) + TEXT_BYTES + sizeof(struct cs_segment_code)
    };
    const struct cs_segment_header header = {.magic = CS_SEGMENT_MAGIC,
                                             .version = CS_SEGMENT_VERSION,
                                             .header_bytes = sizeof header,
                                             .pid = (uint32_t)getpid(),
                                             .signals_at = 4096,
                                             .owners_at = 8192,
                                             .lines_at = 12288,
                                             .names_at = sizeof header,
                                             .names_size = RECORD_BYTES,
                                             .names_used = RECORD_BYTES,
                                             .n_lines = 1,
                                             .line_bytes = 128};
    const struct cs_segment_name head = {.bytes = RECORD_BYTES, .length = (uint16_t)strlen(name)};
    const struct cs_segment_code code = {start, 0x100};
    char text[TEXT_BYTES] = "";
    memcpy(text, name, strlen(name)); /* NOLINT(bugprone-not-null-terminated-result): it has zeros */
    int fd = memfd_create(CS_SEGMENT_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(write(fd, &header, sizeof header), sizeof header);
    assert_int_equal(write(fd, &head, sizeof head), sizeof head);
    assert_int_equal(write(fd, text, sizeof text), sizeof text);
    assert_int_equal(write(fd, &code, sizeof code), sizeof code);
    assert_int_equal(ftruncate(fd, 16384), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    return fd;
}

static void registered_code_keeps_its_name_when_its_process_becomes_another_program(void **state)
{
    (void)state;
    struct cs_store_image image = {.id = "x1", .kind = CS_IMAGE_JIT, .path = "[jit] x", .build_id = ""};
    struct cs_jit *jit = cs_jit_open(proc, root, NULL);
    int fd = publish("first::method", 0x1000);
    cs_jit_meet(jit, getpid(), 100);
    close(fd); /* an exec */
    fd = publish("later::method", 0x1000);
    cs_jit_refresh(jit);
    cs_jit_meet(jit, getpid(), 200);
    close(fd); /* it has ended */
    for (int drains = 0; drains < 100; drains++)
        cs_jit_refresh(jit);
    uint64_t first = cs_jit_offset(jit, &image, getpid(), 150, 500, 0x1010, 7);
    uint64_t later = cs_jit_offset(jit, &image, getpid(), 250, 500, 0x1010, 7);
    assert_true(first >> 63 && later >> 63 && first != later);
    assert_int_equal(cs_jit_offset(jit, &image, getpid(), 250, 500, 0x1110, 7), 7);
    cs_jit_close(jit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_has_one_offset_in_every_process_that_made_it),
        cmocka_unit_test(registered_code_keeps_its_name_when_its_process_becomes_another_program),
    };
    return cmocka_run_group_tests(tests, make_root, drop_root);
}
