/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that run vector code, AVX-512 where the machine has it, with branches that depend on the results.
 * usage: burst_vectors THREADS. Runs until it is killed. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 512
struct work {
    float a[N], b[N], c[N];
    char text[256];
};

__attribute__((noinline, optimize("O3"), target_clones("arch=x86-64-v4", "avx2", "default"))) static float
multiply(float *restrict c, const float *restrict a, const float *restrict b)
{
    float sum = 0;
    for (int i = 0; i < N; i++)
        c[i] = a[i] * b[i] + c[i] * 0.5F;
    for (int i = 0; i < N; i++)
        sum += c[i] > 1 ? c[i] : -c[i];
    return sum;
}

static void *forever(void *arg)
{
    struct work *work = calloc(1, sizeof *work);
    uint32_t x = (uint32_t)(uintptr_t)arg * 2654435761U + 1;
    volatile unsigned found = 0;
    if (!work)
        return NULL;
    for (;;) {
        for (int i = 0; i < N; i += 7) {
            x = x * 1664525 + 1013904223;
            work->a[i] = (float)(x >> 20) / 1000;
            work->b[i] = x & 1 ? work->a[(i * 5) % N] : (float)i;
        }
        float sum = multiply(work->c, work->a, work->b);
        snprintf(work->text, sizeof work->text, "%.3f %u", (double)sum, x);
        if (strchr(work->text, '7') && strlen(work->text) > 12)
            found++;
    }
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 2;
    pthread_t thread;
    for (long i = 1; i < n; i++)
        if (pthread_create(&thread, NULL, forever, (void *)i))
            return 3;
    forever(NULL);
    return 0;
}
