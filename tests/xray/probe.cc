/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Observes itself while it calls functions of every awkward shape, and checks after each step that the tag is the function's that
 * runs, and that arguments and results came through the sleds whole. Prints what isn't so; "checked N" at the end. */
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "signals/cyclescope.h"
extern "C" {
#include "signals/reader/reader.h"
}

#define PLAIN __attribute__((noinline, xray_never_instrument))
/* A call at the end stays a call, but where a tail call is meant. */
#define TAILS __attribute__((noinline, xray_always_instrument))
#define SLEDS TAILS __attribute__((disable_tail_calls))
#define IS(function) is((uintptr_t)(function), __LINE__)

static int bad, checked;
static volatile long sink;

PLAIN static uint64_t tag() { return cs_get(CS_WORD_CODE); }
PLAIN static void is(uintptr_t want, int line)
{
    const uint64_t now = tag();
    checked++;
    if (now != want) {
        printf("line %d: the tag is %#lx, not %#lx\n", line, (unsigned long)now, (unsigned long)want);
        bad++;
    }
}
PLAIN static void hold(bool so, int line)
{
    checked++;
    if (!so) {
        printf("line %d: a value was changed\n", line);
        bad++;
    }
}
#define HOLD(so) hold(so, __LINE__)

PLAIN static bool on(void *function)
{
    return memcmp(function, "\x41\xba", 2) == 0;
}
PLAIN static bool comes(void *function, bool state)
{
    for (int i = 0; i < 5000 && on(function) != state; i++)
        usleep(1000);
    return on(function) == state;
}

/* ---- shapes ---- */

SLEDS static void leaf() { IS(leaf); }
SLEDS static void nested()
{
    IS(nested);
    leaf();
    IS(nested);
    leaf();
    IS(nested);
}
PLAIN static void between() { leaf(); } /* belongs to its caller */
SLEDS static void around()
{
    between();
    IS(around);
}
SLEDS static long deep(long n)
{
    const long below = n ? deep(n - 1) : 0;
    if (n % 50 == 0)
        IS(deep);
    return below + 1;
}
SLEDS static long other(long n) { return n ? other(n - 1) + 1 : deep(3); }
SLEDS static void deeper() /* more frames than the ring has */
{
    HOLD(deep(2000) == 2001);
    IS(deeper);
    HOLD(other(700) == 704);
    IS(deeper);
}
SLEDS static long last(long a, double b) { IS(last); return a + (long)b; }
TAILS static long by_tail(long a, double b)
{
    IS(by_tail);
    sink += a;
    return last(a + 1, b * 2);
}
static long (*volatile through)(long, double) = last;
TAILS static long by_pointer(long a, double b) { return through(a, b); }
SLEDS static void tails()
{
    HOLD(by_tail(1, 2) == 6);
    IS(tails);
    HOLD(by_pointer(5, 2) == 7);
    IS(tails);
}

static jmp_buf out_of;
SLEDS static void jumps(int depth)
{
    if (depth)
        jumps(depth - 1);
    longjmp(out_of, 1);
}
SLEDS static void lands()
{
    for (volatile int i = 0; i < 40; i++) {
        if (!setjmp(out_of))
            jumps(i);
        leaf();
        IS(lands);
    }
}
SLEDS static void throws(int depth)
{
    if (depth)
        throws(depth - 1);
    sink++;
    throw std::runtime_error("thrown");
}
SLEDS static void catches()
{
    for (int i = 0; i < 40; i++) {
        try {
            throws(i);
        } catch (const std::exception &e) {
            HOLD(!strcmp(e.what(), "thrown"));
        }
        leaf();
        IS(catches);
    }
}

SLEDS static double variadic(int n, ...)
{
    va_list all;
    va_start(all, n);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += i % 2 ? va_arg(all, double) : (double)va_arg(all, long);
    va_end(all);
    return sum;
}
struct pair { long a, b; };
struct mixed { double a; long b; };
SLEDS static pair two(long a) { return {a, ~a}; }
SLEDS static mixed both(double a) { return {a, (long)a * 3}; }
SLEDS static long double longer(long double a) { return a * 2; }
SLEDS static __int128 wide(__int128 a) { return a * a; }
SLEDS static double many(double a, double b, double c, double d, double e, double f, double g, double h, long i, long j, long k, long l,
                         long m, long n, long o)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (double)(i + 2 * j + 3 * k + 4 * l + 5 * m + 6 * n + 7 * o);
}
typedef long vector __attribute__((vector_size(16)));
SLEDS static vector lanes(vector a, vector b) { return a + b; }
SLEDS static void values()
{
    HOLD(variadic(6, 1l, 2.0, 3l, 4.0, 5l, 6.5) == 21.5);
    HOLD(two(7).a == 7 && two(7).b == ~7l);
    HOLD(both(1.5).a == 1.5 && both(4).b == 12);
    HOLD(longer(1.25L) == 2.5L);
    HOLD(wide((__int128)1 << 50) == (__int128)1 << 100);
    HOLD(many(1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7) == 204 + 140);
    const vector v = lanes((vector){1, 2}, (vector){3, 4});
    HOLD(v[0] == 4 && v[1] == 6);
    IS(values);
}

static int compared;
SLEDS static int compare(const void *a, const void *b)
{
    compared++;
    return *(const int *)a - *(const int *)b;
}
SLEDS static void called_back()
{
    int numbers[64];
    for (int i = 0; i < 64; i++)
        numbers[i] = (i * 37) % 64;
    qsort(numbers, 64, sizeof *numbers, compare);
    HOLD(compared > 60 && numbers[0] == 0 && numbers[63] == 63);
    IS(called_back);
}

static volatile sig_atomic_t handled;
SLEDS static void handler(int)
{
    leaf();
    handled = handled + 1;
}
SLEDS static void interrupted()
{
    handled = 0;
    for (int i = 0; i < 100; i++) {
        raise(SIGUSR1);
        IS(interrupted);
    }
    HOLD(handled == 100);
}

SLEDS static void in_thread()
{
    nested();
    IS(in_thread);
}
PLAIN static void all_shapes()
{
    leaf(), nested(), around(), deeper(), tails(), lands(), catches(), values(), called_back(), interrupted(), in_thread();
}

/* ---- calls under way when the sleds come on ---- */

static volatile int under_way; /* 1 in the call, 2 sleds are on */
SLEDS static void waits()
{
    under_way = 1;
    while (under_way == 1)
        usleep(100);
}
SLEDS static void long_before()
{
    waits();
    IS(long_before); /* no sled of it has run: known by the return address */
    leaf();
    IS(long_before);
    nested();
    IS(long_before);
}

PLAIN static cs_reader *observe()
{
    cs_reader *reader;
    char why[CS_WHY_MAX];
    if (cs_reader_open_pid(getpid(), &reader, why) < 0) {
        printf("%s\n", why);
        exit(1);
    }
    cs_reader_announce(reader);
    return reader;
}

__attribute__((xray_never_instrument)) int main()
{
    signal(SIGUSR1, handler);
    HOLD(!on((void *)leaf));
    cs_set(CS_WORD_CODE, 77);
    HOLD(two(7).b == ~7l);
    HOLD(tag() == 77 || !"a sled that is off wrote a tag");

    std::thread before([] __attribute__((xray_never_instrument)) { long_before(); all_shapes(); });
    while (!under_way)
        usleep(100);
    for (int round = 0; round < 3; round++) {
        cs_reader *reader = observe();
        HOLD(comes((void *)leaf, true));
        if (under_way == 1) {
            usleep(20000); /* the table of functions comes after the sleds */
            under_way = 2;
            before.join();
        }
        all_shapes();
        std::thread after([] __attribute__((xray_never_instrument)) { all_shapes(); });
        after.join();

        const pid_t child = fork();
        if (child == 0) { /* nobody observes it, until it does itself */
            bad = 0;
            HOLD(comes((void *)leaf, false));
            cs_reader *own = observe();
            HOLD(comes((void *)leaf, true));
            all_shapes();
            cs_reader_close(own);
            HOLD(comes((void *)leaf, false));
            fflush(stdout);
            _exit(bad != 0);
        }
        int status = 1;
        HOLD(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        HOLD(on((void *)leaf)); /* the parent still is observed */
        cs_reader_close(reader);
        HOLD(comes((void *)leaf, false));
        usleep(30000);
        HOLD(tag() == 0);
    }
    printf("checked %d\n", checked);
    return bad != 0;
}
