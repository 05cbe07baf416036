/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encrypts records of 1 KB by XTEA with chaining (CBC): 32 rounds of shifts and sums, each on the result of the one before.
 * Variant 1: three records at a time. */
#include "../kernels/kernel.h"

enum { RECORDS = 12, BLOCKS = 128, ROUNDS = 32 };

struct record {
    uint32_t words[2 * BLOCKS];
};

struct session {
    uint32_t key[4];
    struct record plain[RECORDS], secret[RECORDS];
    int at_once;
};

#define HALF(V, W, SUM, PART) V += (((W) << 4 ^ (W) >> 5) + (W)) ^ ((SUM) + key[PART])

HOT static void encrypt(const uint32_t *key, const struct record *in, struct record *out)
{
    uint32_t v = 0, w = 0;
    for (int b = 0; b < 2 * BLOCKS; b += 2) {
        v ^= in->words[b], w ^= in->words[b + 1];
        for (uint32_t round = 0, sum = 0; round < ROUNDS; round++) {
            HALF(v, w, sum, sum & 3);
            sum += 0x9e3779b9u;
            HALF(w, v, sum, sum >> 11 & 3);
        }
        out->words[b] = v, out->words[b + 1] = w;
    }
}

HOT static void encrypt_three(const uint32_t *key, const struct record *in, struct record *out)
{
    uint32_t v0 = 0, w0 = 0, v1 = 0, w1 = 0, v2 = 0, w2 = 0;
    for (int b = 0; b < 2 * BLOCKS; b += 2) {
        v0 ^= in[0].words[b], w0 ^= in[0].words[b + 1];
        v1 ^= in[1].words[b], w1 ^= in[1].words[b + 1];
        v2 ^= in[2].words[b], w2 ^= in[2].words[b + 1];
        for (uint32_t round = 0, sum = 0; round < ROUNDS; round++) {
            HALF(v0, w0, sum, sum & 3);
            HALF(v1, w1, sum, sum & 3);
            HALF(v2, w2, sum, sum & 3);
            sum += 0x9e3779b9u;
            HALF(w0, v0, sum, sum >> 11 & 3);
            HALF(w1, v1, sum, sum >> 11 & 3);
            HALF(w2, v2, sum, sum >> 11 & 3);
        }
        out[0].words[b] = v0, out[0].words[b + 1] = w0;
        out[1].words[b] = v1, out[1].words[b + 1] = w1;
        out[2].words[b] = v2, out[2].words[b + 1] = w2;
    }
}

static uint64_t turn(void *argument)
{
    struct session *s = argument;
    for (int r = 0; r < RECORDS; r += s->at_once)
        if (s->at_once == 3)
            encrypt_three(s->key, &s->plain[r], &s->secret[r]);
        else
            encrypt(s->key, &s->plain[r], &s->secret[r]);
    return RECORDS * BLOCKS;
}

int main(int argc, char **argv)
{
    static struct session s;
    uint64_t seed = 9600629759793949339u, sum = 0;
    s.at_once = variant(argc, argv) ? 3 : 1;
    for (int k = 0; k < 4; k++)
        s.key[k] = (uint32_t)next_random(&seed);
    for (int i = 0; i < RECORDS * BLOCKS * 2; i++)
        s.plain[i / (2 * BLOCKS)].words[i % (2 * BLOCKS)] = (uint32_t)i;
    int status = run_kernel("xtea_cbc", argc, argv, turn, &s);
    for (int i = 0; i < RECORDS * BLOCKS * 2; i++)
        sum += s.secret[i / (2 * BLOCKS)].words[i % (2 * BLOCKS)];
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
