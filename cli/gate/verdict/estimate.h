/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A change between two sides of runs, with its range.
 *
 * Runs that took turns are compared in pairs of neighbours, by least squares over the pairs' differences. Which of a pair came
 * first is a column, so that a drift of the machine goes out. What the machine did meanwhile (the calibration loop) is
 * another one, where it explains the differences. Other runs, and fewer than six pairs, are compared by Welch's test. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gate_run {
    unsigned side;     /* 0 base, 1 head */
    uint64_t began_ms; /* order of the runs */
    double value;      /* NAN: not measured in this run */
    double machine;    /* ns of the calibration loop; NAN: none */
};

struct gate_estimate {
    double change;    /* share: 0.04 is 4 % more */
    double low, high; /* 95 % of such ranges have the true one */
    double error;     /* one standard error */
    double freedom;   /* of Student's distribution */
    double chance;    /* that runs of one program differ as much */
    double visible;   /* the smallest growth that is found in nine cases of ten */
    unsigned runs[2];
    bool in_turn;
    double machine; /* change of the calibration loop; NAN: unknown */
    bool machine_removed;
};

/* How values of the sides relate: by ratio (all values > 0), or by difference where values are shares already. */
enum gate_scale { GATE_RATIO, GATE_DIFFERENCE };

/* Runs need not be in order. `least_error`: no estimate is surer (a count's own grain); 0: none. False: too few runs (three a
 * side), or no memory. */
bool gate_estimate(const struct gate_run *run, size_t n, enum gate_scale scale, double least_error,
                   struct gate_estimate *out);
/* Mean of the runs of a side that have a value; NAN: none has. */
double gate_mean(const struct gate_run *run, size_t n, unsigned side);
/* t that Student's distribution is beyond, to both sides, with that chance. */
double gate_student(double chance, double freedom);
