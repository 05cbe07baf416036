/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Did a run wait longer? By the runs that nothing recorded: they are many, and each has its elapsed time and its CPU time.
 *
 * The rest of the elapsed time is waiting, but for a CPU too. Of a program with one thread the kernel says how long it had none.
 * That is taken off exactly, and no load of the machine is a wait. Of several threads and processes only a bound is there, and
 * they run at the same time. So the elapsed time must surely have grown in four ways: as it is, without the CPU time, without
 * the bound, and without both. Then more CPU time explains the growth in no case, whichever part of it was in the way of
 * others, and load in none. A growth of waits that the CPU time or the load may be isn't found here.
 *
 * Each way is judged in pairs of neighbours, as the pace (verdict/estimate.h). All have to agree, so that chance makes this no more
 * often than one of them. Recorded waits have nine tenths of a check's level, because they are few and say where. A growth that many
 * runs show is far below the rest of it. */
#pragma once

#include "cli/gate/turns/timed.h"
#include "cli/gate/verdict/verdict.h"

#define GATE_OFF_CPU_CHANCE (0.1 * GATE_CHANCE)
#define GATE_RECORDED_WAITS_CHANCE (GATE_CHANCE - GATE_OFF_CPU_CHANCE) /* where both are judged */

struct gate_off_cpu {
    bool known;
    bool exact;                    /* a program with one thread */
    struct gate_estimate estimate; /* of the way with the least growth, as a share of a run */
    double base_ns, head_ns;       /* off the CPU; of several threads the elapsed time */
    double high;                   /* the largest upper end of all ways */
    bool grew;                     /* surely, and by more than is ignored */
};

/* `whole_ns`: of a run, what a growth is a share of. `least`: a smaller growth is ignored. False: no memory. */
bool gate_off_cpu(const struct gate_timed *timed, double whole_ns, double least, struct gate_off_cpu *out);

/* Time in the kernel, by the same runs: the growth as a share of the CPU time, where it is sure and has at least half of `change`.
 * The program's layout doesn't make the kernel slower. Else 0. */
double gate_kernel_time_grew(const struct gate_timed *timed, double change);
