/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of this process that are huge and pages that aren't, as the kernel's list of mappings says they are. */
#include "sampler/burst/page_sizes.h"
#include "store/base/foreign.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HUGE ((size_t)2 << 20)
#define BYTES (4 * HUGE)

static char *small, *huge, *empty;

/* Whether the mapping that begins at or before `at` has huge pages, read apart from what is tested. */
static bool has_huge_pages(const char *at)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    char line[4096];
    unsigned long from, to, kb;
    bool here = false, found = false;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            here = from <= (uintptr_t)at && (uintptr_t)at < to;
        else if (here && sscanf(line, "AnonHugePages: %lu", &kb) == 1)
            found = kb >= HUGE / 1024;
    }
    if (file)
        fclose(file);
    return found;
}

static char *mapped(int advice)
{
    char *area = mmap(NULL, BYTES + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(area, MAP_FAILED);
    area += (HUGE - (uintptr_t)area % HUGE) % HUGE;
    (void)madvise(area, BYTES, advice);
    return area;
}

static int make_pages(void **state)
{
    (void)state;
    small = mapped(MADV_NOHUGEPAGE);
    huge = mapped(MADV_HUGEPAGE);
    empty = mapped(MADV_NOHUGEPAGE);
    memset(small, 1, BYTES);
    memset(huge, 1, BYTES);
    return 0;
}

static enum cs_foreign_page page_at(struct cs_page_sizes *sizes, pid_t pid, const char *at)
{
    uint64_t addr = (uintptr_t)at;
    return cs_page_sizes_ask(sizes, pid, &addr, 1) ? (enum cs_foreign_page)addr : CS_FOREIGN_PAGE_UNKNOWN;
}

static void judge(struct cs_page_sizes *sizes)
{
    uint64_t at[CS_PAGE_SIZES_MOST];
    unsigned n = 0;
    for (size_t i = 0; i < BYTES; i += HUGE / 4) {
        at[n++] = (uintptr_t)small + i;
        at[n++] = (uintptr_t)huge + i;
    }
    assert_true(n <= CS_PAGE_SIZES_MOST && cs_page_sizes_ask(sizes, getpid(), at, n));
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(at[i], i % 2 ? CS_FOREIGN_PAGE_HUGE : CS_FOREIGN_PAGE_SMALL);
}

TEST(huge_pages_are_told_from_small_ones)
{
    struct cs_page_sizes *sizes = cs_page_sizes_open();
    assert_non_null(sizes);
    if (!has_huge_pages(huge)) {
        cs_page_sizes_close(sizes);
        skip();
    }
    uint64_t at = (uintptr_t)huge;
    if (cs_foreign_page_sizes(getpid(), &at, 1) != -ENOTTY) { /* Linux 6.7 */
        judge(sizes);
        assert_int_equal(page_at(sizes, getpid(), empty), CS_FOREIGN_PAGE_UNKNOWN);
        cs_foreign_limit(CS_FOREIGN_LIMIT_MS); /* by the helper, too */
        judge(sizes);
    }
    cs_page_sizes_by_mapping(sizes);
    judge(sizes);
    cs_foreign_limit(0);
    cs_page_sizes_close(sizes);
}

TEST(mappings_are_read_of_one_process_for_a_time)
{
    struct cs_page_sizes *sizes = cs_page_sizes_open();
    assert_non_null(sizes);
    cs_page_sizes_by_mapping(sizes);
    assert_int_equal(page_at(sizes, getpid(), small), CS_FOREIGN_PAGE_SMALL);
    assert_int_equal(page_at(sizes, getppid(), small), CS_FOREIGN_PAGE_UNKNOWN); /* too soon */
    assert_int_equal(page_at(sizes, getpid(), small), CS_FOREIGN_PAGE_SMALL);
    cs_page_sizes_close(sizes);
}

TEST(of_a_process_that_is_gone_nothing_is_known)
{
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (int by_mapping = 0; by_mapping < 2; by_mapping++) {
        struct cs_page_sizes *sizes = cs_page_sizes_open();
        assert_non_null(sizes);
        if (by_mapping)
            cs_page_sizes_by_mapping(sizes);
        assert_int_equal(page_at(sizes, child, small), CS_FOREIGN_PAGE_UNKNOWN);
        cs_page_sizes_close(sizes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(huge_pages_are_told_from_small_ones),
        cmocka_unit_test(mappings_are_read_of_one_process_for_a_time),
        cmocka_unit_test(of_a_process_that_is_gone_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, make_pages, NULL);
}
