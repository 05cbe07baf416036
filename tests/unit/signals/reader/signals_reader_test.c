/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader against segments that are damaged, hostile, or change while it looks. Good segments are written
 * here by the layout in segment.h, without the runtime. */

#include "tests/fuzz/segment_fuzz.c"
#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

enum { N_LINES = 8, SIGNALS_AT = 4096, OWNERS_AT = 8192, LINES_AT = 12288, NAMES_AT = 16384, SIZE = 20480 };

static struct cs_segment_header *header(uint8_t *s)
{
    return (struct cs_segment_header *)(void *)s;
}

static void name(uint8_t *s, unsigned signal, uint64_t value, const char *text, size_t length)
{
    struct cs_segment_header *h = header(s);
    struct cs_segment_name *n = (void *)(s + NAMES_AT + h->names_used);
    n->bytes = (uint32_t)((sizeof *n + length + 8) & ~(size_t)7);
    n->signal = (uint16_t)signal;
    n->length = (uint16_t)length;
    n->value = value;
    memcpy(n->text, text, length);
    h->names_used += n->bytes;
}

static void name_code(uint8_t *s, uint64_t value, const char *text, uint64_t start, uint64_t size)
{
    struct cs_segment_header *h = header(s);
    struct cs_segment_name *n = (void *)(s + NAMES_AT + h->names_used);
    const struct cs_segment_code code = {start, size};
    name(s, 4, value, text, strlen(text));
    memcpy((uint8_t *)n + n->bytes, &code, sizeof code);
    n->bytes += (uint32_t)sizeof code;
    h->names_used += sizeof code;
}

static void good(uint8_t *s)
{
    memset(s, 0, SIZE);
    *header(s) = (struct cs_segment_header){.magic = CS_SEGMENT_MAGIC,
                                            .version = CS_SEGMENT_VERSION,
                                            .header_bytes = sizeof(struct cs_segment_header),
                                            .pid = 1,
                                            .size = SIZE,
                                            .signals_at = SIGNALS_AT,
                                            .owners_at = OWNERS_AT,
                                            .lines_at = LINES_AT,
                                            .names_at = NAMES_AT,
                                            .names_size = SIZE - NAMES_AT,
                                            .n_lines = N_LINES,
                                            .line_bytes = CS_LINE_BYTES,
                                            .lines_used = 2,
                                            .exe_base = 0x400000};
    struct cs_segment_signal *signals = (void *)(s + SIGNALS_AT);
    strcpy(signals[4].name, "phase");
    signals[4].kind = CS_SIGNAL_TAG;
    signals[4].word = 4;
    struct cs_segment_owner *owners = (void *)(s + OWNERS_AT);
    owners[1] = (struct cs_segment_owner){.tid = 77, .generation = 3};
    ((uint64_t *)(void *)(s + LINES_AT + CS_LINE_BYTES))[4] = 2;
    name(s, 4, 1, "one", 3);
    name(s, 4, 2, "two", 3);
    name_code(s, 9, "made", 0x7000, 0x40);
}

static struct cs_reader *open_bytes(const uint8_t *s, size_t size, int expected)
{
    char path[64], why[CS_WHY_MAX];
    struct cs_reader *reader = NULL;
    const int fd = memfd_create("segment", MFD_CLOEXEC);
    assert_int_equal(write(fd, s, size), (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(cs_reader_open_file(path, &reader, why), expected);
    close(fd);
    return reader;
}

static uint8_t segment[SIZE] __attribute__((aligned(4096)));

TEST(good_segment_is_read_as_written)
{
    good(segment);
    struct cs_reader *r = open_bytes(segment, SIZE, 0);
    struct cs_seen_thread t;
    assert_int_equal(cs_reader_find(r, "phase"), 4);
    assert_false(cs_reader_thread(r, 0, &t));
    assert_true(cs_reader_thread(r, 1, &t));
    assert_int_equal(t.tid, 77);
    assert_int_equal(t.generation, 3);
    assert_string_equal(cs_reader_name(r, 4, t.values[4]), "two");
    assert_int_equal(cs_reader_address(r, (uint64_t)-0x1234), 0x401234);
    assert_int_equal(cs_reader_address(r, 0x1234), 0x1234);
    cs_reader_close(r);
}

TEST(truncated_segments_are_refused)
{
    good(segment);
    for (size_t size = 1; size < SIZE; size += size < 512 ? 7 : 500) {
        struct cs_reader *r = open_bytes(segment, size, -EBADMSG);
        assert_null(r);
    }
}

TEST(another_version_is_told_with_both_numbers)
{
    char path[64], why[CS_WHY_MAX];
    struct cs_reader *reader = NULL;
    good(segment);
    header(segment)->version = 7;
    int fd = memfd_create("segment", MFD_CLOEXEC);
    assert_int_equal(write(fd, segment, SIZE), SIZE);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(cs_reader_open_file(path, &reader, why), -EBADMSG);
    assert_non_null(strstr(why, "version 7"));
    assert_non_null(strstr(why, "version 1"));
    close(fd);
    /* A process's segment has its version in its name. */
    assert_int_equal(cs_reader_open_pid(getpid(), &reader, why), -ENOENT);
    fd = memfd_create("cyclescope.23", MFD_CLOEXEC);
    assert_int_equal(cs_reader_open_pid(getpid(), &reader, why), -EBADMSG);
    assert_non_null(strstr(why, "version 23"));
    close(fd);
}

/* Each is a good segment with one field wrong. */
TEST(impossible_geometry_is_refused)
{
#define WRONG(field, value)                                                                                  \
    do {                                                                                                     \
        good(segment);                                                                                       \
        header(segment)->field = (value);                                                                    \
        assert_null(open_bytes(segment, SIZE, -EBADMSG));                                                    \
    } while (0)
    WRONG(magic, 0);
    WRONG(version, 2);
    WRONG(header_bytes, 4);
    WRONG(signals_at, SIZE);
    WRONG(signals_at, UINT64_MAX - 7);
    WRONG(owners_at, 8193);
    WRONG(n_lines, UINT32_MAX);
    WRONG(line_bytes, 0);
    WRONG(line_bytes, 100);
    WRONG(line_bytes, UINT32_MAX - 127);
    WRONG(lines_at, UINT64_MAX - 127);
    WRONG(names_at, 3);
    WRONG(names_size, UINT64_MAX);
}

TEST(wrong_counts_are_clamped)
{
    good(segment);
    header(segment)->lines_used = UINT32_MAX;
    header(segment)->names_used = UINT64_MAX;
    struct cs_reader *r = open_bytes(segment, SIZE, 0);
    unsigned n = 0;
    assert_int_equal(cs_reader_lines(r), N_LINES);
    assert_int_equal(cs_reader_names(r, visit, &n), -EBADMSG); /* zeroes behind the good ones */
    assert_int_equal(n, 3);
    assert_string_equal(cs_reader_name(r, 4, 1), "one");
    cs_reader_close(r);
}

static void names_that_mislead_a_terminal_are_cleaned(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *clean;
    } cases[] = {
        {"a\033[2Jb", 6, "a?[2Jb"},
        {"line\nbreak\r", 11, "line?break?"},
        {"\xff\xfe", 2, "??"},
        {"gr\xc3\xbc\xc3\x9f", 6, "gr\xc3\xbc\xc3\x9f"},
        {"cut\xc3", 4, "cut?"},
        {"\xc0\xaf", 2, "??"},
        {"\xed\xa0\x80", 3, "???"},
        {"\xe2\x80\xae"
         "evil",
         7, "?evil"},
        {"nul\0hidden", 10, "nul"},
        {"\xc2\x9b"
         "31m",
         5, "?31m"},
        {"\xf4\x90\x80\x80", 4, "????"},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        good(segment);
        name(segment, 4, 3, cases[i].bytes, cases[i].length);
        struct cs_reader *r = open_bytes(segment, SIZE, 0);
        assert_string_equal(cs_reader_name(r, 4, 3), cases[i].clean);
        cs_reader_close(r);
    }
}

TEST(mutated_segments_never_crash_or_mislead)
{
    uint64_t random = 88172645463325252ull;
    static const uint32_t hot[] = {0, SIGNALS_AT + 4 * 64, OWNERS_AT, LINES_AT, NAMES_AT};
    for (unsigned round = 0; round < 20000; round++) {
        good(segment);
        for (unsigned k = 0; k < 1 + round % 6; k++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            const uint32_t at = hot[random % 5] + (uint32_t)(random >> 8) % 200;
            segment[at] = (random >> 40) % 4 == 0 ? 0xff : (uint8_t)(random >> 32);
        }
        LLVMFuzzerTestOneInput(segment, round % 16 == 0 ? (size_t)(random % SIZE) : SIZE);
    }
}

/* A process whose segment has the right name and is sealed, and which rewrites it as fast as it can. */
static void hostile(int ready)
{
    const int fd = memfd_create(CS_SEGMENT_NAME, MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, SIZE) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        _exit(1);
    uint8_t *s = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    good(s);
    header(s)->pid = (uint32_t)getpid();
    if (write(ready, "x", 1) != 1)
        _exit(1);
    for (uint64_t random = 1;; random = random * 6364136223846793005ull + 1442695040888963407ull) {
        const uint32_t at = 48 + (uint32_t)(random >> 33) % (SIZE - 48);
        s[at] = (uint8_t)(random >> 20);
        header(s)->names_used = random >> (random % 64);
        header(s)->lines_used = (uint32_t)(random >> 32);
    }
}

TEST(segment_that_changes_meanwhile_does_no_harm)
{
    int pipes[2];
    char byte, why[CS_WHY_MAX];
    assert_int_equal(pipe(pipes), 0);
    const pid_t pid = fork();
    if (pid == 0)
        hostile(pipes[1]);
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    unsigned opened = 0;
    for (unsigned round = 0; round < 300; round++) {
        struct cs_reader *reader;
        if (cs_reader_open_pid(pid, &reader, why) < 0)
            continue;
        opened++;
        read_all(reader);
        cs_reader_close(reader);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(pipes[0]);
    close(pipes[1]);
    (void)opened; /* geometry may be broken from the first moment on */
}

/* Right name, but it could be cut under the reader's feet. */
TEST(unsealed_segment_is_not_mapped)
{
    char why[CS_WHY_MAX];
    struct cs_reader *reader;
    good(segment);
    header(segment)->pid = (uint32_t)getpid();
    const int fd = memfd_create(CS_SEGMENT_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(write(fd, segment, SIZE), SIZE);
    assert_int_equal(cs_reader_open_pid(getpid(), &reader, why), -ENOENT);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    assert_int_equal(cs_reader_open_pid(getpid(), &reader, why), 0);
    cs_reader_close(reader);
    close(fd);
}

struct heard {
    char text[256];
    unsigned n, most;
};

static bool hear(void *arg, uint64_t start, uint64_t size, const char *text)
{
    struct heard *h = arg;
    const size_t used = strlen(h->text);
    snprintf(h->text + used, sizeof h->text - used, "%s@%lx+%lx ", text, (unsigned long)start,
             (unsigned long)size);
    return ++h->n < h->most;
}

/* This process's own segment, sealed. */
static uint8_t *publish(int *fd)
{
    *fd = memfd_create(CS_SEGMENT_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(*fd, SIZE), 0);
    assert_int_equal(fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    uint8_t *s = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    good(s);
    header(s)->pid = (uint32_t)getpid();
    return s;
}

TEST(code_is_named_once_and_in_order_and_is_a_name_of_its_value_too)
{
    int fd;
    uint8_t *s = publish(&fd);
    struct cs_code_names *names;
    struct heard heard = {.most = 100}, two = {.n = 1, .most = 2};
    assert_int_equal(cs_code_names_open(getpid(), &names), 0);
    assert_int_equal(cs_code_names_read(names, hear, &heard), 0);
    name(s, 4, 3, "a name alone", 12);
    name_code(s, 9, "moved", 0x8000, 0x50);
    name_code(s, 10, "a\033[2Jb", 0x9000, 1);
    close(fd);
    memset(s, 0, 8);                                            /* a reader has what it opened */
    assert_int_equal(cs_code_names_read(names, hear, &two), 0); /* as much as is asked for */
    assert_int_equal(cs_code_names_read(names, hear, &heard), 0);
    assert_string_equal(two.text, "moved@8000+50 ");
    assert_string_equal(heard.text, "made@7000+40 a?[2Jb@9000+1 ");
    cs_code_names_close(names);
    struct cs_reader *r;
    good(s);
    r = open_bytes(s, SIZE, 0);
    assert_string_equal(cs_reader_name(r, 4, 9), "made");
    cs_reader_close(r);
    munmap(s, SIZE);
}

TEST(records_of_code_that_lie_are_the_last_that_is_read)
{
    static const struct {
        uint32_t bytes;
        uint16_t length;
    } lies[] = {{0, 4}, {7, 4}, {48, 60000}, {UINT32_MAX - 7, 4}, {1u << 20, 4}, {24, 4}};
    for (unsigned i = 0; i < sizeof lies / sizeof *lies; i++) {
        int fd;
        uint8_t *s = publish(&fd);
        struct cs_code_names *names;
        struct heard heard = {.most = 100};
        struct cs_segment_name *n = (void *)(s + NAMES_AT + header(s)->names_used);
        name_code(s, 9, "lies", 0x8000, 0x50);
        n->bytes = lies[i].bytes;
        n->length = lies[i].length;
        name_code(s, 9, "behind", 0x8000, 0x50);
        header(s)->names_used = UINT64_MAX;
        assert_int_equal(cs_code_names_open(getpid(), &names), 0);
        assert_int_equal(cs_code_names_read(names, hear, &heard), -EBADMSG);
        assert_string_equal(heard.text, "made@7000+40 ");
        cs_code_names_close(names);
        munmap(s, SIZE);
        close(fd);
    }
}

TEST(a_heap_larger_than_any_runtime_makes_is_not_read)
{
    int fd;
    struct cs_code_names *names;
    uint8_t *s = publish(&fd);
    assert_int_equal(ftruncate(fd, 64 << 20), 0);
    header(s)->size = 64 << 20;
    header(s)->names_size = (16 << 20) + 8;
    assert_int_equal(cs_code_names_open(getpid(), &names), -EBADMSG);
    header(s)->names_size = 16 << 20;
    assert_int_equal(cs_code_names_open(getpid(), &names), 0);
    cs_code_names_close(names);
    munmap(s, SIZE);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_segment_is_read_as_written),
        cmocka_unit_test(truncated_segments_are_refused),
        cmocka_unit_test(another_version_is_told_with_both_numbers),
        cmocka_unit_test(impossible_geometry_is_refused),
        cmocka_unit_test(wrong_counts_are_clamped),
        cmocka_unit_test(names_that_mislead_a_terminal_are_cleaned),
        cmocka_unit_test(mutated_segments_never_crash_or_mislead),
        cmocka_unit_test(segment_that_changes_meanwhile_does_no_harm),
        cmocka_unit_test(unsealed_segment_is_not_mapped),
        cmocka_unit_test(code_is_named_once_and_in_order_and_is_a_name_of_its_value_too),
        cmocka_unit_test(records_of_code_that_lie_are_the_last_that_is_read),
        cmocka_unit_test(a_heap_larger_than_any_runtime_makes_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
