/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A game's scripts steer ships: they change the parts of a velocity one by one, and the engine reads it as a vector of four right
 * after that. Variant 1: the engine adds the steering as a vector. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

#include <xmmintrin.h>

enum { ORDERS = 1024 };

struct game {
    _Alignas(16) float velocity[4];
    _Alignas(16) float orders[ORDERS][4];
    int vectors;
};

HOT static void steer(float *velocity, const float (*orders)[4])
{
    const __m128 drag = _mm_set1_ps(0.9375f);
    for (int i = 0; i < ORDERS; i++) {
        velocity[0] += orders[i][0];
        velocity[1] += orders[i][1];
        velocity[2] += orders[i][2];
        velocity[3] += orders[i][3];
        __asm__ volatile("" ::: "memory"); /* The script is another program. */
        _mm_store_ps(velocity, _mm_mul_ps(_mm_load_ps(velocity), drag));
    }
}

HOT static void steer_by_vectors(float *velocity, const float (*orders)[4])
{
    const __m128 drag = _mm_set1_ps(0.9375f);
    for (int i = 0; i < ORDERS; i++) {
        __m128 steered = _mm_add_ps(_mm_load_ps(velocity), _mm_load_ps(orders[i]));
        _mm_store_ps(velocity, _mm_mul_ps(steered, drag));
        __asm__ volatile("" ::: "memory");
    }
}

static uint64_t turn(void *argument)
{
    struct game *g = argument;
    for (int i = 0; i < 20; i++)
        if (g->vectors)
            steer_by_vectors(g->velocity, g->orders);
        else
            steer(g->velocity, g->orders);
    return 20 * ORDERS;
}

int main(int argc, char **argv)
{
    static struct game g;
    uint64_t seed = 7640891576956012809u;
    g.vectors = variant(argc, argv);
    for (int i = 0; i < ORDERS; i++)
        for (int k = 0; k < 4; k++)
            g.orders[i][k] = (float)(int)(next_random(&seed) >> 54) - 512;
    int status = run_kernel("steer_ships", argc, argv, turn, &g);
    printf("result=%.6f %.6f %.6f %.6f\n", (double)g.velocity[0], (double)g.velocity[1],
           (double)g.velocity[2], (double)g.velocity[3]);
    return status;
}
