/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cross-compiled by tests/cross/code.sh. It has switches whose tables have entries of one, two and four
 * bytes, and a table of addresses. It also has calls that never return, loops, a recursion, and an indirect
 * tail call. */
#include <stdio.h>
#include <stdlib.h>

int few(int x, int y)
{
    switch (x & 7) {
    case 0:
        return y + 11;
    case 1:
        return y * 13;
    case 2:
        puts("two");
        return y ^ 5;
    case 3:
        return y / 3;
    case 4:
        return y << 3;
    case 5:
        puts("five");
        return y - 9;
    case 6:
        return ~y;
    default:
        return y | 4;
    }
}

int compared(unsigned x, int y)
{
    switch (x) {
    case 10:
        return y + 11;
    case 11:
        return y * 13;
    case 12:
        puts("twelve");
        return y ^ 5;
    case 13:
        return y / 3;
    case 14:
        return y << 3;
    case 15:
        abort();
    case 16:
        exit(y);
    default:
        return -1;
    }
}

#define CASE(i)                                                                                              \
    case i:                                                                                                  \
        *y += printf("%d %d", i, *y);                                                                        \
        break;
#define CASES8(i) CASE(i) CASE(i + 1) CASE(i + 2) CASE(i + 3) CASE(i + 4) CASE(i + 5) CASE(i + 6) CASE(i + 7)
#define CASES64(i)                                                                                           \
    CASES8(i)                                                                                                \
    CASES8(i + 8) CASES8(i + 16) CASES8(i + 24) CASES8(i + 32) CASES8(i + 40) CASES8(i + 48) CASES8(i + 56)

int many(unsigned x, int *y)
{
    switch (x) {
        CASES64(0)
        CASES64(64)
        CASES64(128)
    default:
        return 0;
    }
    return *y;
}

/* A computed goto through a table of addresses. */
int interpreter(const unsigned char *code, int n)
{
    static const void *const labels[] = {&&add, &&multiply, &&negate, &&stop};
    int at = 0, value = n;
    goto *labels[code[at++] & 3];
add:
    value += 7;
    goto *labels[code[at++] & 3];
multiply:
    value *= 3;
    goto *labels[code[at++] & 3];
negate:
    value = -value;
    goto *labels[code[at++] & 3];
stop:
    return value;
}

#ifdef __riscv
/* A table whose jump's register has the number of a floating one that is written in between. */
__asm__(".pushsection .text\n"
        ".type beside_floats, @function\n"
        "beside_floats: li a5,2\n"
        "bltu a5,a0,.Lfloats3\n"
        "slli a0,a0,2\n"
        "lla a4,.Lfloats\n"
        "add a0,a0,a4\n"
        "lw a5,0(a0)\n"
        "add a5,a5,a4\n"
        "fadd.d fa5,fa5,fa5\n"
        "jr a5\n"
        ".Lfloats0: li a0,4\n"
        "ret\n"
        ".Lfloats1: li a0,5\n"
        "ret\n"
        ".Lfloats2: li a0,6\n"
        "ret\n"
        ".Lfloats3: li a0,0\n"
        "ret\n"
        ".size beside_floats, .-beside_floats\n"
        ".section .rodata\n"
        ".align 2\n"
        ".Lfloats:\n"
        ".word .Lfloats0-.Lfloats\n"
        ".word .Lfloats1-.Lfloats\n"
        ".word .Lfloats2-.Lfloats\n"
        ".popsection");
#endif

int nested(const int *v, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        for (int k = i; k < n; k += 2)
            if (v[k] > v[i])
                sum += v[k] - v[i];
            else if (v[k] & 1)
                sum--;
    return sum;
}

int recursive(int n)
{
    return n < 2 ? n : recursive(n - 1) + recursive(n - 2);
}

int through(int (*to)(int), int x)
{
    return to(x + 1);
}

int main(int argc, char **argv)
{
    int y = argc, v[] = {1, 2, 3, 4};
    return few(argc, y) + compared((unsigned)argc, y) + many((unsigned)argc, &y) +
           interpreter((const unsigned char *)argv[0], argc) + nested(v, 4) + through(recursive, argc);
}
