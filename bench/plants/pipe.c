/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One process makes rows of numbers, the other one reads them from a pipe and adds them up. The head writes smaller pieces. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 800000 };
#ifndef SMALL
#define SMALL 8192 /* with 2048 the head takes 14 % more */
#endif
static char piece[1 << 14];
static size_t n_piece;

static uint64_t next(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x;
}

__attribute__((noinline)) static void send_piece(int to)
{
    for (size_t sent = 0; sent < n_piece;) {
        const ssize_t n = write(to, piece + sent, n_piece - sent);
        if (n <= 0)
            abort();
        sent += (size_t)n;
    }
    n_piece = 0;
}

__attribute__((noinline)) static void make_rows(int to)
{
    uint64_t x = 88172645463325252;
    for (unsigned r = 0; r < ROWS; r++) {
        for (unsigned c = 0; c < 6; c++) {
            uint64_t value = next(&x) % 1000000;
            char digits[8];
            unsigned n = 0;
            do
                digits[n++] = (char)('0' + value % 10);
            while (value /= 10);
            while (n)
                piece[n_piece++] = digits[--n];
            piece[n_piece++] = c == 5 ? '\n' : ',';
        }
        if (n_piece >= (HEAD ? SMALL : sizeof piece - 64))
            send_piece(to);
    }
    send_piece(to);
}

__attribute__((noinline)) static uint64_t add_up(const char *from, size_t n, uint64_t *value)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (from[i] >= '0' && from[i] <= '9') {
            *value = *value * 10 + (uint64_t)(from[i] - '0');
        } else {
            sum += *value * *value % 97;
            *value = 0;
        }
    }
    return sum;
}

static int read_rows(int from)
{
    static char text[1 << 14];
    uint64_t sum = 0, value = 0;
    for (ssize_t n; (n = read(from, text, sizeof text)) > 0;)
        sum += add_up(text, (size_t)n, &value);
    printf("%llu\n", (unsigned long long)sum);
    fflush(stdout);
    return 0;
}

int main(void)
{
    int ends[2], status;
    if (pipe(ends) < 0)
        return 1;
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        _exit(read_rows(ends[0]));
    }
    close(ends[0]);
    make_rows(ends[1]);
    close(ends[1]);
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}
