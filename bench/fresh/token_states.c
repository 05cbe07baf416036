/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A lexer's automaton of 48 states and 32 classes of letters, over a text of 8 KB, counts the tokens. Variant 1: four
 * parts of the text at a time. */
#include "../kernels/kernel.h"

enum { STATES = 48, CLASSES = 32, TEXT = 8192, PART = TEXT / 4 };

struct lexer {
    uint16_t next[STATES * CLASSES];
    uint8_t text[TEXT];
    volatile uint64_t tokens;
    int parts;
};

HOT static uint64_t count_tokens(const struct lexer *l)
{
    uint64_t tokens = 0;
    size_t state = 0;
    for (size_t i = 0; i < TEXT; i++) {
        state = l->next[state + l->text[i]];
        tokens += state == 0;
    }
    return tokens;
}

HOT static uint64_t count_in_parts(const struct lexer *l)
{
    uint64_t tokens = 0;
    size_t a = 0, b = 0, c = 0, d = 0;
    for (size_t i = 0; i < PART; i++) {
        a = l->next[a + l->text[i]];
        b = l->next[b + l->text[i + PART]];
        c = l->next[c + l->text[i + 2 * PART]];
        d = l->next[d + l->text[i + 3 * PART]];
        tokens += a == 0;
        tokens += b == 0;
        tokens += c == 0;
        tokens += d == 0;
    }
    return tokens;
}

static uint64_t turn(void *argument)
{
    struct lexer *l = argument;
    l->tokens += (l->parts ? count_in_parts : count_tokens)(l);
    return TEXT;
}

int main(int argc, char **argv)
{
    static struct lexer l;
    uint64_t seed = 1442695040888963407u;
    for (int i = 0; i < STATES * CLASSES; i++)
        l.next[i] = (uint16_t)((next_random(&seed) >> 20) % STATES * CLASSES);
    for (int i = 0; i < TEXT; i++)
        l.text[i] = (uint8_t)((next_random(&seed) >> 20) % CLASSES);
    l.parts = variant(argc, argv);
    return run_kernel("token_states", argc, argv, turn, &l);
}
