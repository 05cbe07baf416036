/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the stopping process knows: processes, their threads, the ring that it alone writes. Internal to stopper.c and
 * stopper_processes.c. */
#pragma once

#include "sampler/timers/stopped_thread.h"
#include "signals/timers/timer_segment.h"

#include <time.h>

#define THREADS_MAX 8192
#define PROCESSES_MAX 256
#define TIMER_SIGNAL SIGRTMIN
#define STOPS_KEPT 15
#define TABLES_NS 50000000ULL /* mappings are read no more often */
struct process {
    pid_t pid; /* 0: free */
    int memory;
    timer_t timer, moment; /* of its CPU time; of the wall clock, from there to a look */
    bool timed;
    unsigned tries;                /* to meet a thread that runs */
    uint64_t used_ns, deadline_ns; /* its CPU time at its last sample, and when the next is due */
    uint64_t tables_ns;            /* when the tables were read */
    struct process_tables tables;
};

struct thread {
    pid_t tid;
    unsigned process;
    uint64_t asked_ns; /* 0: nobody asked it to stop */
    unsigned weight;   /* so many threads ran when it was chosen */
};

struct stopper {
    struct cs_timer_segment *segment;
    double budget;
    uint64_t random, mean_ns, tick_ns;
    uint64_t held_ns[STOPS_KEPT]; /* of the last stops */
    size_t n_held;
    struct process_tables_time tables_time;
    struct process processes[PROCESSES_MAX];
    struct thread threads[THREADS_MAX];
    size_t n_threads;
    struct stopped_thread stopped;
};

/* A slot to be filled, then published; NULL: the ring is full, which is counted. */
struct cs_timer_slot *stopper_reserve(struct stopper *s, enum cs_timer_kind kind, pid_t pid, pid_t tid);
void stopper_publish(struct stopper *s, struct cs_timer_slot *slot);
void stopper_tell(struct stopper *s, enum cs_timer_kind kind, pid_t pid, pid_t tid);

uint64_t stopper_draw(struct stopper *s);
uint64_t stopper_cpu_ns(pid_t pid);
/* From half to one and a half of the mean, for each that the last sample stood for. */
void stopper_arm(struct stopper *s, struct process *p, uint64_t used_ns, unsigned weight);
/* Reads its mappings anew, and tells them. */
void stopper_read_tables(struct stopper *s, struct process *p);
void stopper_open_memory(struct process *p);
void stopper_forget_process(struct process *p);
/* The number of a process, a new one where it isn't known. PROCESSES_MAX: there are too many; it runs unseen. */
unsigned stopper_process_of(struct stopper *s, pid_t pid);
