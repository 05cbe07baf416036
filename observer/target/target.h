/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The observed program and the CPUs of both.
 *
 * Files of this module:
 *   target         starting or attaching, and putting all back
 *   placement      which CPU the target runs on and which the observer spins on
 *   affinity       the target's threads on one CPU, and back, whatever ends us
 *   claims         several observers at once
 *   company        which processes had the time that the target waited
 *   fair_share     the observer takes nothing of the target's share of its CPU
 *
 * The observed program: started on its CPU, or attached to and moved there; every thread is put back where it
 * was when we leave. One owner; not thread-safe. */
#pragma once

#include "store/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct cs_observe_target;

/* Starts argv on `cpu`, or with CS_ANY_CPU where we may run; it runs on when this returns (its exec succeeded). */
int cs_observe_target_start(char *const argv[], int cpu, struct cs_observe_target **out,
                            struct cs_error *err);
/* Moves all threads of a running process to `cpu`, or with CS_ANY_CPU none. Refuses kernel threads, ourselves, and what
 * isn't ours. */
int cs_observe_target_attach(pid_t pid, int cpu, struct cs_observe_target **out, struct cs_error *err);
/* Gives attached threads their CPUs back: as soon as nobody observes them, whatever is still to be said of it. */
void cs_observe_target_release(struct cs_observe_target *t);
/* The same; a started program that still runs is left running. */
void cs_observe_target_close(struct cs_observe_target *t);

pid_t cs_observe_target_pid(const struct cs_observe_target *t);
const char *
cs_observe_target_program(const struct cs_observe_target *t); /* its executable's path, or command name */
bool cs_observe_target_started(const struct cs_observe_target *t); /* by us */
int cs_observe_target_pidfd(const struct cs_observe_target *t);    /* readable when it has ended */
bool cs_observe_target_ended(struct cs_observe_target *t);
/* Waits for the end of a program that we started: its exit code, or 128 + signal. */
int cs_observe_target_wait(struct cs_observe_target *t);
/* CPU time of a program that we started and that has ended (with its waited-for children). */
double cs_observe_target_cpu_seconds(const struct cs_observe_target *t);
/* How many threads of an attached program were moved. */
unsigned cs_observe_target_moved(const struct cs_observe_target *t);
/* Pins threads that appeared since (an attached program's new threads inherit, those of a thread that was
 * being born while we attached may not). */
void cs_observe_target_repin(struct cs_observe_target *t);
