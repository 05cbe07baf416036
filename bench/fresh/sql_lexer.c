/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A database splits the text of statements into tokens: names, numbers, strings and signs of any length, in any order.
 * Variant 1: the same tokens, sorted by kind and length. */
#include "../kernels/kernel.h"

enum { TOKENS = 24000, LONGEST = 12, KINDS = 4 };
enum kind { NAME, NUMBER, STRING, SIGN };

struct statement {
    char *text;
    size_t length;
    uint64_t count[KINDS], sum;
};

static int is_letter(char c)
{
    return (unsigned char)((c | 32) - 'a') < 26;
}

static int is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

HOT static uint64_t lex(const char *p, const char *end, uint64_t *count)
{
    uint64_t sum = 0;
    while (p < end) {
        const char *start = p;
        if (is_letter(*p)) {
            while (is_letter(*++p))
                ;
            count[NAME]++;
        } else if (is_digit(*p)) {
            uint64_t value = 0;
            do
                value = value * 10 + (uint64_t)(*p - '0');
            while (is_digit(*++p));
            count[NUMBER]++;
            sum += value;
        } else if (*p == '\'') {
            while (*++p != '\'')
                ;
            p++;
            count[STRING]++;
        } else {
            count[SIGN]++;
            p++;
        }
        sum += (uint64_t)(p - start);
        while (*p == ' ')
            p++;
    }
    return sum;
}

static char *write_token(char *p, int kind, int length)
{
    for (int i = 0; i < length; i++)
        switch (kind) {
        case NAME:
            *p++ = (char)('a' + (i * 7 + length) % 26);
            break;
        case NUMBER:
            *p++ = (char)('1' + i % 9);
            break;
        case STRING:
            *p++ = (char)(i == 0 || i == length - 1 ? '\'' : 'x');
            break;
        default:
            *p++ = '(';
        }
    *p++ = ' ';
    return p;
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static uint64_t turn(void *argument)
{
    struct statement *s = argument;
    s->sum += lex(s->text, s->text + s->length, s->count);
    return TOKENS;
}

int main(int argc, char **argv)
{
    static struct statement s;
    static int tokens[TOKENS];
    uint64_t seed = 4101842887655102017u;
    for (int i = 0; i < TOKENS; i++) {
        int kind = (int)(next_random(&seed) >> 20) % KINDS & 3;
        int length = kind == SIGN ? 1 : 2 + (int)(next_random(&seed) >> 40) % (LONGEST - 1);
        tokens[i] = kind * 64 + length;
    }
    if (variant(argc, argv))
        qsort(tokens, TOKENS, sizeof *tokens, by_value);
    char *p = s.text = memory(TOKENS * (LONGEST + 2), 0);
    for (int i = 0; i < TOKENS; i++)
        p = write_token(p, tokens[i] / 64, tokens[i] % 64);
    s.length = (size_t)(p - s.text);
    int status = run_kernel("sql_lexer", argc, argv, turn, &s);
    printf("result=%llu\n", (unsigned long long)s.sum);
    return status;
}
