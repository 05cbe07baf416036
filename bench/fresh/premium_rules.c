/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The premium of an insurance by 4,096 rules in 64 chapters, whose code a generator wrote: 270 KB, all of which runs for each
 * customer, or is jumped over piece by piece. Variant 1: a chapter for 64 customers, then the next one. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { CHAPTERS = 64, CUSTOMERS = 64, ANSWERS = 32 };

struct customer {
    uint64_t answers[ANSWERS], premium;
};

struct insurer {
    struct customer customers[CUSTOMERS];
    int by_chapter;
};

/* An answer that is none is replaced, which never happens. */
#define RULE(n)                                                                                              \
    {                                                                                                        \
        uint64_t answer = a[((n)*11 + 3) % ANSWERS];                                                         \
        if (answer > 0x7fffffff - (n)) {                                                                     \
            answer = (answer ^ (0x1234567u * ((n) + 1) & 0x7fffffff)) + 0x1fffff + (n);                      \
            answer = ((answer | (0x3a5a5a5 ^ (n))) ^ answer >> 3) - (0x7654321 + (n));                       \
        }                                                                                                    \
        premium += answer ^ ((n)*77777u & 0xffffff);                                                         \
    }
#define RULES_4(n) RULE(n) RULE(n + 1) RULE(n + 2) RULE(n + 3)
#define RULES_16(n) RULES_4(n) RULES_4(n + 4) RULES_4(n + 8) RULES_4(n + 12)
#define CHAPTER(c)                                                                                           \
    case c:                                                                                                  \
        RULES_16(c * 64)                                                                                     \
        RULES_16(c * 64 + 16)                                                                                \
        RULES_16(c * 64 + 32)                                                                                \
        RULES_16(c * 64 + 48)                                                                                \
        break;
#define CHAPTERS_8(c)                                                                                        \
    CHAPTER(c)                                                                                               \
    CHAPTER(c + 1)                                                                                           \
    CHAPTER(c + 2)                                                                                           \
    CHAPTER(c + 3)                                                                                           \
    CHAPTER(c + 4)                                                                                           \
    CHAPTER(c + 5)                                                                                           \
    CHAPTER(c + 6)                                                                                           \
    CHAPTER(c + 7)

HOT static uint64_t rate(const uint64_t *a, int chapter)
{
    uint64_t premium = 0;
    switch (chapter) {
        CHAPTERS_8(0)
        CHAPTERS_8(8)
        CHAPTERS_8(16)
        CHAPTERS_8(24)
        CHAPTERS_8(32)
        CHAPTERS_8(40)
        CHAPTERS_8(48)
        CHAPTERS_8(56)
    }
    return premium;
}

static uint64_t turn(void *argument)
{
    struct insurer *s = argument;
    struct customer *c = s->customers;
    if (s->by_chapter)
        for (int chapter = 0; chapter < CHAPTERS; chapter++)
            for (int i = 0; i < CUSTOMERS; i++)
                c[i].premium += rate(c[i].answers, chapter);
    else
        for (int i = 0; i < CUSTOMERS; i++)
            for (int chapter = 0; chapter < CHAPTERS; chapter++)
                c[i].premium += rate(c[i].answers, chapter);
    return CUSTOMERS * CHAPTERS * 64;
}

int main(int argc, char **argv)
{
    static struct insurer s;
    uint64_t seed = 2718281828459045235u, sum = 0;
    s.by_chapter = variant(argc, argv);
    for (int i = 0; i < CUSTOMERS; i++)
        for (int k = 0; k < ANSWERS; k++)
            s.customers[i].answers[k] = next_random(&seed) >> 40;
    int status = run_kernel("premium_rules", argc, argv, turn, &s);
    for (uint64_t i = 0; i < CUSTOMERS; i++)
        sum += s.customers[i].premium * (i + 1);
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
