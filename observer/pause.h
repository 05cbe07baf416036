/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the loop for a while. A timer's signal ends it, for which it has no code: a sample costs what it did. Of the thread
 * that runs the loop. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct cs_observation;

struct cs_pause {
    struct cs_observation *o;
    timer_t timer;
    struct sigaction before;
};

/* 0 or -errno. */
int cs_pause_open(struct cs_pause *p, struct cs_observation *o);
/* Runs the loop for `ns`, or until the run ends. */
void cs_pause_look(struct cs_pause *p, uint64_t ns);
/* The run hasn't ended. */
bool cs_pause_goes_on(const struct cs_pause *p);
void cs_pause_close(struct cs_pause *p);
