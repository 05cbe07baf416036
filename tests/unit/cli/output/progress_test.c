/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/output/output.h"
#include "tests/unit/test.h"

#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull

/* All that is there, as text: a terminal gives it in pieces. */
static void read_all(int from, char *seen, size_t room)
{
    struct pollfd ready = {.fd = from, .events = POLLIN};
    size_t have = 0;
    for (ssize_t n;
         have < room - 1 && poll(&ready, 1, 100) > 0 && (n = read(from, seen + have, room - 1 - have)) > 0;)
        have += (size_t)n;
    seen[have] = 0;
}

/* What a bar that has worked for `seconds` draws on that descriptor, read from the other end. */
static void draw_once(int to, int from, double seconds, uint64_t done, uint64_t total, const char *unit,
                      char *seen, size_t room)
{
    int kept = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(to, STDERR_FILENO);
    struct progress bar;
    progress_init(&bar, "reading", unit, 0);
    bar.started_ns -= (uint64_t)(seconds * (double)SECOND_NS);
    bar.drawn_ns = bar.started_ns;
    progress_of(&bar, done, total);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    read_all(from, seen, room);
}

/* The same; again where the machine was busy for so long in between that the rate became another. */
static void draw(int to, int from, double seconds, uint64_t done, uint64_t total, const char *unit,
                 const char *rate, char *seen, size_t room)
{
    int tries = 0;
    do
        draw_once(to, from, seconds, done, total, unit, seen, room);
    while (!strstr(seen, rate) && ++tries < 10);
    assert_non_null(strstr(seen, rate));
}

TEST(a_terminal_shows_share_rate_and_what_is_left_within_its_width)
{
    static const unsigned short widths[] = {40, 80, 200};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        int master, slave;
        struct winsize size = {.ws_row = 24, .ws_col = widths[i]};
        char seen[1024];
        assert_int_equal(openpty(&master, &slave, NULL, NULL, &size), 0);
        draw(slave, master, 2, 25000000, 100000000, "B", "12.5 MB/s", seen, sizeof seen);
        assert_non_null(strstr(seen, " 25 %"));
        assert_non_null(strstr(seen, "6 s left"));
        const char *text = strstr(seen, "reading");
        assert_non_null(text);
        unsigned width = 0;
        for (; *text; text++)
            width += (*text & 0xc0) != 0x80;
        assert_true(width < widths[i]);
        draw(slave, master, 4, 8000000, 0, "records", "8.0 M records, 2.0 M records/s", seen, sizeof seen);
        draw(slave, master, 2, 300, 1000, "images", "150 images/s", seen, sizeof seen);
        close(master);
        close(slave);
    }
}

TEST(the_first_second_shows_nothing)
{
    int master, slave;
    char seen[1024];
    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    draw_once(slave, master, 0.5, 50, 100, "images", seen, sizeof seen);
    assert_string_equal(seen, "");
    close(master);
    close(slave);
}

TEST(a_pipe_gets_nothing)
{
    int ends[2];
    char seen[1024];
    assert_int_equal(pipe(ends), 0);
    draw_once(ends[1], ends[0], 5, 50, 100, "images", seen, sizeof seen);
    assert_string_equal(seen, "");
    close(ends[0]);
    close(ends[1]);
}

TEST(a_remark_stands_alone_in_its_line)
{
    int master, slave, kept = dup(STDERR_FILENO);
    char seen[1024];
    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    draw_once(slave, master, 2, 300, 1000, "images", seen, sizeof seen);
    assert_non_null(strstr(seen, "reading"));
    dup2(slave, STDERR_FILENO);
    remark("records were lost");
    remark("and more");
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    read_all(master, seen, sizeof seen);
    assert_string_equal(seen, "\r\033[Kcyclescope: records were lost\r\ncyclescope: and more\r\n");
    close(master);
    close(slave);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_shows_share_rate_and_what_is_left_within_its_width),
        cmocka_unit_test(the_first_second_shows_nothing),
        cmocka_unit_test(a_pipe_gets_nothing),
        cmocka_unit_test(a_remark_stands_alone_in_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
