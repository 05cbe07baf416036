/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that runtimes make: names of perf maps, and of what a process registered. */
#include "sampler/dynamic/jit.h"
#include "sampler/dynamic/jit_code.h"
#include "signals/segment.h"
#include "store/base/clock.h"
#include "store/kept_code.h"
#include "tests/unit/made_root.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
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
    const uint64_t now = cs_monotonic_ns();
    assert_true(cs_jit_offset(jit, &image, 6, now, now, 0x9010, 7) != in_5); /* replaced by a later method */
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

#define AT_ONCE 400

struct asking {
    struct cs_jit *jit;
    const struct cs_store_image *image;
    unsigned named;
};

static void *ask_for_offsets(void *arg)
{
    struct asking *a = arg;
    for (uint64_t i = 0; i < 200 * AT_ONCE; i++)
        a->named += cs_jit_offset(a->jit, a->image, 7, 100, 100, 0x10000 + i % AT_ONCE * 0x100, 7) != 7;
    return NULL;
}

/* Samples are placed by who drains, bursts by their own thread, while the names grow and move. */
static void two_threads_may_ask_at_once(void **state)
{
    (void)state;
    static char lines[AT_ONCE * 48];
    char tmp[80];
    size_t n = 0;
    snprintf(tmp, sizeof tmp, "%s/tmp", root);
    struct cs_store_image image = {.id = "x1", .kind = CS_IMAGE_JIT, .path = "[jit] x", .build_id = ""};
    struct cs_jit *jit = cs_jit_open(proc, tmp, NULL);
    struct asking asking = {.jit = jit, .image = &image};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask_for_offsets, &asking), 0);
    for (unsigned i = 0; i < AT_ONCE; i++) {
        n += (size_t)snprintf(lines + n, sizeof lines - n, "%x 100 method_%u_of_a_growing_map\n",
                              0x10000 + i * 0x100, i);
        put("tmp/perf-7.map", lines);
        cs_jit_refresh(jit);
        (void)cs_jit_offset(jit, &image, 7, 100, 100, 0x10010, 7);
    }
    pthread_join(thread, NULL);
    assert_true(asking.named > 0);
    assert_true(cs_jit_offset(jit, &image, 7, 100, 100, 0x10010 + (AT_ONCE - 1) * 0x100, 7) >> 63);
    cs_jit_close(jit);
}

/* A look comes long after the line was written: the time before that belongs to the method that was there. */
static void a_line_of_a_perf_map_holds_from_when_it_was_written(void **state)
{
    (void)state;
    const struct timespec pause = {0, 60000000};
    char tmp[80], map[100];
    snprintf(tmp, sizeof tmp, "%s/tmp", root);
    snprintf(map, sizeof map, "%s/tmp/perf-8.map", root);
    struct cs_store_image image = {.id = "x1", .kind = CS_IMAGE_JIT, .path = "[jit] x", .build_id = ""};
    struct cs_jit *jit = cs_jit_open(proc, tmp, NULL);
    put("tmp/perf-8.map", "9000 100 first\n");
    const uint64_t begin = cs_monotonic_ns(), first = cs_jit_offset(jit, &image, 8, begin, begin, 0x9010, 7);
    assert_true(first >> 63);
    nanosleep(&pause, NULL); /* sleeps: times of a file differ */
    const uint64_t written = cs_monotonic_ns();
    put("tmp/perf-8.map", "9000 100 first\n9000 100 second\n");
    nanosleep(&pause, NULL); /* sleeps: times of a file differ */
    cs_jit_refresh(jit);
    const uint64_t before = written - 20000000, after = written + 30000000;
    assert_int_equal(cs_jit_offset(jit, &image, 8, before, before, 0x9010, 7), first);
    assert_true(cs_jit_offset(jit, &image, 8, after, after, 0x9010, 7) != first);
    /* Its owner may set the file's time, but not to one before the last look. */
    const struct timespec never[2] = {{0, 0}, {0, 0}};
    put("tmp/perf-8.map", "9000 100 first\n9000 100 second\n9000 100 third\n");
    assert_int_equal(utimensat(AT_FDCWD, map, never, 0), 0);
    cs_jit_refresh(jit);
    assert_int_equal(cs_jit_offset(jit, &image, 8, before, before, 0x9010, 7), first);
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

static void put_bytes(FILE *f, uint64_t value, size_t size)
{
    assert_int_equal(fwrite(&value, size, 1, f), 1); /* little-endian, as this machine */
}

/* A jitdump file as the specification says: one method of 8 bytes. */
static void put_dump(const char *path, uint64_t start, const char *name)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    const uint32_t header[10] = {0x4A695444, 1, 40, cs_jit_code_machine()};
    assert_int_equal(fwrite(header, sizeof header, 1, f), 1);
    put_bytes(f, 0, 4);
    put_bytes(f, 16 + 40 + strlen(name) + 1 + 8, 4);
    const uint64_t load[6] = {0, 7, start, start, 8, 1};
    assert_int_equal(fwrite(load, sizeof load, 1, f), 1);
    fputs(name, f);
    fputc(0, f);
    put_bytes(f, 0xc3c3c3c3c3c3c3c3, 8);
    fclose(f);
}

/* PHP writes both; the record of the jitdump's mapping may come after the first samples. */
static void a_jitdump_that_comes_later_than_the_perf_map_brings_the_code(void **state)
{
    (void)state;
    char tmp[80], path[120], store[120];
    snprintf(tmp, sizeof tmp, "%s/tmp", root);
    snprintf(path, sizeof path, "%s/tmp/jit-7.dump", root);
    snprintf(store, sizeof store, "%s/store", root);
    put("proc/7/comm", "php\n");
    put("tmp/perf-7.map", "1000 8 JIT$add\n2000 8 JIT$mix\n");
    put_dump(path, 0x1000, "JIT$add");
    struct cs_images *images = cs_images_open(proc);
    struct cs_maps *maps = cs_maps_open(images, proc, CS_LABEL_NONE);
    struct cs_store_image image = {.id = "x1", .kind = CS_IMAGE_JIT, .path = "[jit] php", .build_id = ""};
    struct cs_jit *jit = cs_jit_open(proc, tmp, maps);
    struct cs_error err = {0};
    struct cs_store *opened;
    assert_int_equal(cs_store_open(store, CS_STORE_WRITE, &opened, &err), 0);
    cs_jit_keep_code(jit, store);
    const uint64_t add = cs_jit_offset(jit, &image, 7, 100, 100, 0x1000, 7);
    assert_true(add >> 63);
    assert_true(cs_jit_save_code(jit, UINT64_MAX, &err) >= 0);
    char *bytes;
    size_t n;
    assert_true(cs_kept_code_load(store, image.id, &bytes, &n, &err) < 0);

    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    const struct cs_mapped_file file = {.pid = 7,
                                        .start = 0x5000,
                                        .end = 0x6000,
                                        .path = path,
                                        .build_id = "",
                                        .major = major(st.st_dev),
                                        .minor = minor(st.st_dev),
                                        .inode = st.st_ino};
    assert_int_equal(cs_maps_mmap(maps, &file, 50), 0);
    cs_jit_refresh(jit);
    assert_int_equal(cs_jit_offset(jit, &image, 7, 100, 200, 0x1002, 7), add + 2);
    assert_true(cs_jit_save_code(jit, UINT64_MAX, &err) >= 0);
    assert_int_equal(cs_kept_code_load(store, image.id, &bytes, &n, &err), 0);
    assert_non_null(memmem(bytes, n, "\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3", 8));
    free(bytes);
    cs_store_close(opened);
    cs_jit_close(jit);
    cs_maps_close(maps);
    cs_images_close(images);
}

/* Runtimes don't always end their last line; one that is being written isn't taken for whole. */
static void a_last_line_without_a_newline_names_code_too(void **state)
{
    (void)state;
    char tmp[80], map[60], path[60];
    const int me = getpid(); /* a process that runs: that of a dead one is whole at once */
    snprintf(tmp, sizeof tmp, "%s/tmp", root);
    snprintf(map, sizeof map, "tmp/perf-%d.map", me);
    snprintf(path, sizeof path, "1000 100 Foo::bar\n2000 80 Foo::cut");
    put(map, path);
    struct cs_store_image image = {.id = "x1", .kind = CS_IMAGE_JIT, .path = "[jit] x", .build_id = ""};
    struct cs_jit *jit = cs_jit_open(proc, tmp, NULL);
    assert_true(cs_jit_offset(jit, &image, me, 100, 100, 0x1010, 7) >> 63);
    assert_int_equal(cs_jit_offset(jit, &image, me, 100, 100, 0x2010, 7), 7);
    put(map, "1000 100 Foo::bar\n2000 80 Foo::cut_short");
    cs_jit_refresh(jit);
    assert_int_equal(cs_jit_offset(jit, &image, me, 100, 100, 0x2010, 7), 7);
    cs_jit_refresh(jit);
    assert_int_equal(cs_jit_offset(jit, &image, me, 100, 100, 0x2010, 7),
                     cs_jit_name_offset("Foo::cut_short") + 0x10);
    cs_jit_close(jit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_has_one_offset_in_every_process_that_made_it),
        cmocka_unit_test(two_threads_may_ask_at_once),
        cmocka_unit_test(a_line_of_a_perf_map_holds_from_when_it_was_written),
        cmocka_unit_test(a_last_line_without_a_newline_names_code_too),
        cmocka_unit_test(registered_code_keeps_its_name_when_its_process_becomes_another_program),
        cmocka_unit_test(a_jitdump_that_comes_later_than_the_perf_map_brings_the_code),
    };
    return cmocka_run_group_tests(tests, make_root, drop_root);
}
