/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of words that two threads fill from their halves of a text, under one lock. The head hashes a word while it holds the lock,
 * now and then; the base has hashed it before. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 11, WORDS = 6000, BATCH = 500, TEXT = 600000, PASSES = 5 };
#ifndef EVERY
#define EVERY 16 /* of so many words one is hashed under the lock */
#endif
struct entry {
    struct entry *next;
    uint64_t count;
    char word[40];
};
static struct entry *slot[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char words[WORDS][40];
static uint16_t text[TEXT];

static uint64_t next(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x;
}

static void make_text(void)
{
    uint64_t x = 88172645463325252;
    for (unsigned i = 0; i < WORDS; i++) {
        const unsigned n = 8 + (unsigned)(next(&x) % 30);
        for (unsigned k = 0; k < n; k++)
            words[i][k] = (char)('a' + next(&x) % 26);
    }
    for (unsigned i = 0; i < TEXT; i++)
        text[i] = (uint16_t)(next(&x) % WORDS * (next(&x) % WORDS) / WORDS);
}

__attribute__((noinline)) static uint64_t hash_word(const char *word)
{
    uint64_t h = 14695981039346656037u;
    for (unsigned turn = 0; turn < 1; turn++)
        for (const char *c = word; *c; c++)
            h = (h ^ (unsigned char)*c) * 1099511628211u;
    return h ^ h >> 32;
}

__attribute__((noinline)) static void count_in(const char *word, uint64_t hash)
{
    struct entry **at = &slot[hash % SLOTS];
    while (*at && strcmp((*at)->word, word) != 0)
        at = &(*at)->next;
    if (!*at) {
        *at = calloc(1, sizeof **at);
        strcpy((*at)->word, word);
    }
    (*at)->count++;
}

static void count_words(const uint16_t *from, unsigned step)
{
    uint64_t hash[BATCH];
    for (unsigned i = 0; i < BATCH; i++)
        if (!HEAD || i % EVERY)
            hash[i] = hash_word(words[from[i * step]]);
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < BATCH; i++) {
        if (HEAD && i % EVERY == 0)
            hash[i] = hash_word(words[from[i * step]]);
        count_in(words[from[i * step]], hash[i]);
    }
    pthread_mutex_unlock(&lock);
}

static void *work(void *second)
{
    for (unsigned pass = 0; pass < PASSES; pass++)
        for (unsigned i = 0; i < TEXT; i += 2 * BATCH)
            count_words(text + i + (second != NULL), 2);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    uint64_t sum = 0;
    make_text();
    pthread_create(&thread, NULL, work, (void *)1);
    work(NULL);
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < SLOTS; i++)
        for (const struct entry *e = slot[i]; e; e = e->next)
            sum += e->count * e->count;
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
