# SPDX-License-Identifier: GPL-2.0-or-later
"""Flat programs: `generate.py NAME` writes the source of one. Each runs `program CALLS KINDS SPAN`: so many calls, of the first
KINDS of its functions (0: all), over so many bytes of data (0: all). Fewer of either is the ablation: the same instructions, on
less code, or on less data."""
import sys

MAIN = """
#include <stdlib.h>
#include <stdio.h>
#include <sys/mman.h>
static unsigned long seed = 88172645463325252ul;
static unsigned long next(void) {{ seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17; return seed; }}
static unsigned short order[1 << 16];
static volatile unsigned long done; /* as programs count what they do: bursts can be timed by it */
int main(int argc, char **argv) {{
    unsigned long calls = strtoul(argv[1], 0, 10), kinds = strtoul(argv[2], 0, 10), span = strtoul(argv[3], 0, 10), x = 1;
    (void)argc;
    kinds = kinds ? kinds : {functions};
    span = span ? span : {bytes};
    for (unsigned i = 0; i < 1 << 16; i++) order[i] = (unsigned short)({choice} % kinds);
    prepare(span);
    for (unsigned long i = 0; i < calls; i++, done = i) x = {call};
    return x == 12345;
}}
"""


def main_of(functions, bytes, choice, call):
    return MAIN.format(functions=functions, bytes=bytes, choice=choice, call=call)


def steps(i, n):
    return "".join(f"x = (x ^ {i * 40503 + k * 7919}u) + (x >> {k % 23 + 3});" for k in range(n))


def by_pointer(n, body, bytes=0, choice="i"):
    """n functions that are called through a table in a fixed (or random) order."""
    text = ["static unsigned long mask; static unsigned char *data;",
            "#include <stddef.h>\nextern void *aligned_alloc(size_t, size_t); extern void *memset(void *, int, size_t);",
            "static void prepare(unsigned long span) { if (span) { mask = span - 1; data = aligned_alloc(4096, span);"
            " memset(data, 1, span); } }"]
    text += [f"__attribute__((noinline)) static unsigned long f{i}(unsigned long x) {{ {body(i)} return x; }}" for i in range(n)]
    text += ["static unsigned long (*const all[])(unsigned long) = {" + ",".join(f"f{i}" for i in range(n)) + "};"]
    return "\n".join(text) + main_of(n, bytes, choice, "all[order[i & 0xffff]](x)")


def pointers():
    """5,000 functions of 20 steps in a fixed order."""
    return by_pointer(5000, lambda i: steps(i, 20))


def switch():
    """A switch of 3,000 cases, each a call of its own small function, in random order."""
    n = 3000
    text = ["static void prepare(unsigned long span) { (void)span; }"]
    text += [f"__attribute__((noinline)) static unsigned long f{i}(unsigned long x) {{ {steps(i, 8)} return x; }}" for i in range(n)]
    text += ["static unsigned long go(unsigned k, unsigned long x) { switch (k) {"]
    text += [f"case {i}: return f{i}(x + {i * 3});" for i in range(n)]
    return "\n".join(text) + "} return x; }" + main_of(n, 0, "next()", "go(order[i & 0xffff], x)")


def chains():
    """600 small functions whose code fits: each multiplies its argument, in a fixed order."""
    return by_pointer(600, lambda i: "for (int k = 0; k < 12; k++) x = x * %du + %d;" % (2 * i + 3, i))


def lookups():
    """500 functions, each of which looks up a place in 256 MB that its argument decides."""
    return by_pointer(500, lambda i: f"x = (x + {i}u) * 0x9e3779b97f4a7c15ul; x += data[(x >> 20) & mask];", 256 << 20)


# ---- written after the rule was frozen ----

def templates():
    """C++: 1,500 instances of a template that fills and folds a small array, called through a base class."""
    n = 1500
    text = ["static void prepare(unsigned long span) { (void)span; }",
            "struct Shape { virtual unsigned long fold(unsigned long) const = 0; };",
            "template <int N> struct Kind : Shape { unsigned long fold(unsigned long x) const override {"
            " unsigned long a[4] = {x, x + N, x * (N | 1), x ^ N};"
            " for (int k = 0; k < 4; k++) { a[k] ^= a[(k + 1) & 3] >> (N % 13 + 1); a[k] += a[(k + 2) & 3] * (N % 7 + 3); }"
            " if (a[0] & (1ul << (N % 40))) a[1] += a[2]; else a[2] -= a[3] + N;"
            " return a[0] ^ a[1] ^ a[2] ^ a[3]; } };"]
    text += [f"static const Kind<{i}> kind{i};" for i in range(n)]
    text += ["static const Shape *const all[] = {" + ",".join(f"&kind{i}" for i in range(n)) + "};"]
    return "\n".join(text) + main_of(n, 0, "next()", "all[order[i & 0xffff]]->fold(x)")


def interpreter():
    """700 handlers of an interpreter, each of which works on registers in memory; SPAN is that of its heap, 64 MB."""
    body = lambda i: (f"unsigned long *r = (unsigned long *)data + {(i * 37) % 60};"
                      f"r[1] += x ^ {i}; r[2] = r[1] * {2 * i + 1} + r[0];"
                      f" if ((r[2] >> {i % 30 + 9}) & 1) r[3] += r[2]; else r[0] ^= r[3] >> 3;"
                      + (f" x += data[(r[2] * 0x9e3779b97f4a7c15ul >> 16) & mask];" if i % 4 == 0 else "")
                      + " return x + r[3];")
    return by_pointer(700, body, 64 << 20, "next()")


if __name__ == "__main__":
    print(globals()[sys.argv[1]]())
