/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The read side of a perf ring, on a file that stands for the kernel's pages. */
#include "sampler/perf/ring.h"
#include "tests/unit/test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 2U

static struct cs_ring opened(void)
{
    struct cs_ring ring;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int fd = memfd_create("ring", 0);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)((PAGES + 1) * page)), 0);
    assert_int_equal(cs_ring_open(&ring, fd, PAGES), 0);
    close(fd);
    return ring;
}

/* As the kernel does: a record of so many words, each with its number in it. */
static void write_record(struct cs_ring *ring, unsigned words, uint64_t number)
{
    struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = (uint16_t)(words * 8)};
    uint64_t at = ring->page->data_head, word;
    for (unsigned w = 0; w < words; w++) {
        memcpy(&word, &header, sizeof word);
        if (w)
            word = number << 8 | w;
        memcpy(ring->bytes + ((at + 8 * w) & (ring->size - 1)), &word, sizeof word);
    }
    ring->page->data_head = at + 8 * words;
}

TEST(records_come_whole_and_in_order_around_the_end_of_the_ring)
{
    struct cs_ring ring = opened();
    uint64_t written = 0, read = 0;
    while (read < 5000) {
        unsigned burst = (unsigned)(written * 7 % 41) + 1;
        for (unsigned i = 0; i < burst; i++, written++)
            write_record(&ring, 3 + (unsigned)(written % 9), written);
        const struct perf_event_header *header;
        assert_null(cs_ring_next(&ring)); /* not seen before the snapshot */
        cs_ring_snapshot(&ring);
        while ((header = cs_ring_next(&ring)) != NULL) {
            const uint64_t *word = (const void *)header;
            assert_int_equal(header->size, 8 * (3 + read % 9));
            for (unsigned w = 1; w < header->size / 8U; w++)
                assert_int_equal(word[w], read << 8 | w);
            read++;
        }
        assert_int_equal(read, written);
        cs_ring_release(&ring);
        assert_int_equal(ring.page->data_tail, ring.page->data_head);
    }
    cs_ring_close(&ring);
}

TEST(a_record_given_back_comes_again)
{
    struct cs_ring ring = opened();
    write_record(&ring, 4, 1);
    write_record(&ring, 4, 2);
    cs_ring_snapshot(&ring);
    assert_non_null(cs_ring_next(&ring));
    uint64_t before = ring.tail;
    assert_non_null(cs_ring_next(&ring));
    ring.tail = before;
    cs_ring_release(&ring);
    cs_ring_snapshot(&ring);
    const uint64_t *word = (const void *)cs_ring_next(&ring);
    assert_int_equal(word[1], 2 << 8 | 1);
    cs_ring_close(&ring);
}

TEST(a_size_that_cannot_be_ends_the_reading)
{
    static const uint16_t wrong[] = {0, 7, 4096};
    for (unsigned i = 0; i < 3; i++) {
        struct cs_ring ring = opened();
        write_record(&ring, 4, 1);
        ((struct perf_event_header *)(void *)ring.bytes)->size = wrong[i];
        cs_ring_snapshot(&ring);
        assert_null(cs_ring_next(&ring));
        assert_null(cs_ring_next(&ring));
        cs_ring_close(&ring);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_whole_and_in_order_around_the_end_of_the_ring),
        cmocka_unit_test(a_record_given_back_comes_again),
        cmocka_unit_test(a_size_that_cannot_be_ends_the_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
