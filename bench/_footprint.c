/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that go over so many bytes, for a time: _footprint KIND BYTES SECONDS. All bytes are used alike, but for the tree's, whose
 * first levels are used most. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define TURNS 2000000
#define NOINLINE __attribute__((noinline, noclone))

struct node {
    struct node *left, *right;
    uint64_t key;
    char padding[40];
};

static uint64_t seed = 88172645463325252ULL;

static inline uint64_t random_number(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static NOINLINE uint64_t go_anywhere(const uint64_t *words, uint64_t n)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < TURNS; i++)
        sum += words[(uint64_t)(((unsigned __int128)random_number() * n) >> 64)];
    return sum;
}

static NOINLINE uint64_t go_along(uint64_t *words, uint64_t n)
{
    static uint64_t at;
    for (unsigned i = 0; i < TURNS; i++) {
        words[at] += at;
        at = at + 1 < n ? at + 1 : 0;
    }
    return words[0];
}

static NOINLINE uint64_t go_down(const uint64_t *words, uint64_t n)
{
    enum { ROW = 1024 }; /* words */
    static uint64_t row, column;
    uint64_t sum = 0;
    for (unsigned i = 0; i < TURNS; i++) {
        sum += words[row * ROW + column];
        if (++row == n / ROW) {
            row = 0;
            column = (column + 1) % ROW;
        }
    }
    return sum;
}

static NOINLINE uint64_t follow_links(uint64_t *const *first, uint64_t n)
{
    static uint64_t *const *at;
    at = at ? at : first;
    for (unsigned i = 0; i < TURNS / 4; i++)
        at = (uint64_t *const *)*at;
    return (uint64_t)(at - first) + n;
}

static NOINLINE uint64_t search_tree(const struct node *root, uint64_t n)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < TURNS / 16; i++) {
        uint64_t key = random_number() % n;
        for (const struct node *at = root; at; at = key < at->key ? at->left : at->right) {
            sum += at->key;
            if (at->key == key)
                break;
        }
    }
    return sum;
}

static NOINLINE uint64_t add_eight(uint64_t *words, uint64_t n)
{
    const uint64_t part = n / 8;
    uint64_t sum = 0;
    for (unsigned i = 0; i < TURNS / 8; i++) {
        const uint64_t *at = words + (uint64_t)(((unsigned __int128)random_number() * part) >> 64);
        sum += at[0] + at[part] * 3 + (at[2 * part] ^ at[3 * part]) + at[4 * part] * 5 +
               (at[5 * part] ^ at[6 * part]) + at[7 * part];
    }
    return sum;
}

static struct node *grow(struct node *nodes, uint64_t from, uint64_t to)
{
    if (from >= to)
        return NULL;
    struct node *middle = &nodes[from + (to - from) / 2];
    middle->key = (uint64_t)(middle - nodes);
    middle->left = grow(nodes, from, middle->key);
    middle->right = grow(nodes, middle->key + 1, to);
    return middle;
}

/* A ring of all lines, in random order. */
static void link_lines(uint64_t *words, uint64_t lines)
{
    uint64_t *order = malloc(lines * sizeof *order);
    for (uint64_t i = 0; i < lines; i++)
        order[i] = i;
    for (uint64_t i = lines - 1; i > 0; i--) {
        uint64_t j = random_number() % i, was = order[i];
        order[i] = order[j];
        order[j] = was;
    }
    for (uint64_t i = 0; i < lines; i++)
        words[order[i] * 8] = (uint64_t)(uintptr_t)&words[order[(i + 1) % lines] * 8];
    free(order);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 3 ? argv[1] : "";
    const uint64_t bytes = argc > 3 ? strtoull(argv[2], NULL, 0) : 0, n = bytes / 8;
    uint64_t *words = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
             sum = 0;
    if (words == MAP_FAILED)
        return fprintf(stderr, "no %s bytes\n", argv[2]), 1;
    madvise(words, bytes, MADV_NOHUGEPAGE);
    memset(words, 1, bytes);
    struct node *root = NULL;
    if (!strcmp(kind, "links"))
        link_lines(words, bytes / 64);
    else if (!strcmp(kind, "tree"))
        root = grow((struct node *)words, 0, bytes / sizeof(struct node));
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        sum += !strcmp(kind, "anywhere") ? go_anywhere(words, n)
               : !strcmp(kind, "along")  ? go_along(words, n)
               : !strcmp(kind, "down")   ? go_down(words, n)
               : !strcmp(kind, "links")  ? follow_links((uint64_t *const *)words, n)
               : !strcmp(kind, "tree")   ? search_tree(root, bytes / sizeof(struct node))
                                         : add_eight(words, n);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec < atof(argv[3]));
    return sum == 1;
}
