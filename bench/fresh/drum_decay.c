/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sound of struck drums that fade: a resonance of second order a drum, whose sample needs the two before. The drums are
 * struck again before they are silent. Variant 1: four drums at a time. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { DRUMS = 4, SAMPLES = 4096, STRIKE = 1024 };

struct kit {
    double before[DRUMS], now[DRUMS], loudness[DRUMS];
    int together;
};

#define NEXT(k) 1.9 * now##k - 0.98 * before##k

HOT static void play(struct kit *k, int drum)
{
    double now0 = k->now[drum] + 1, before0 = k->before[drum], loudness0 = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double next0 = NEXT(0) + (i % STRIKE == 0);
        before0 = now0;
        now0 = next0;
        loudness0 += now0 * now0;
    }
    k->now[drum] = now0;
    k->before[drum] = before0;
    k->loudness[drum] += loudness0;
}

HOT static void play_together(struct kit *k)
{
    double now0 = k->now[0] + 1, before0 = k->before[0], loudness0 = 0, now1 = k->now[1] + 1,
           before1 = k->before[1], loudness1 = 0, now2 = k->now[2] + 1, before2 = k->before[2], loudness2 = 0,
           now3 = k->now[3] + 1, before3 = k->before[3], loudness3 = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double strike = i % STRIKE == 0, next0 = NEXT(0) + strike, next1 = NEXT(1) + strike,
               next2 = NEXT(2) + strike, next3 = NEXT(3) + strike;
        before0 = now0;
        before1 = now1;
        before2 = now2;
        before3 = now3;
        now0 = next0;
        now1 = next1;
        now2 = next2;
        now3 = next3;
        loudness0 += now0 * now0;
        loudness1 += now1 * now1;
        loudness2 += now2 * now2;
        loudness3 += now3 * now3;
    }
    double now[] = {now0, now1, now2, now3}, before[] = {before0, before1, before2, before3};
    memcpy(k->now, now, sizeof now);
    memcpy(k->before, before, sizeof before);
    k->loudness[0] += loudness0;
    k->loudness[1] += loudness1;
    k->loudness[2] += loudness2;
    k->loudness[3] += loudness3;
}

static uint64_t turn(void *argument)
{
    struct kit *k = argument;
    if (k->together)
        play_together(k);
    else
        for (int drum = 0; drum < DRUMS; drum++)
            play(k, drum);
    return DRUMS * SAMPLES;
}

int main(int argc, char **argv)
{
    static struct kit k;
    k.together = variant(argc, argv);
    for (int drum = 0; drum < DRUMS; drum++)
        k.now[drum] = drum;
    int status = run_kernel("drum_decay", argc, argv, turn, &k);
    printf("result=%.6f %.6f\n", k.loudness[0], k.loudness[3]);
    return status;
}
