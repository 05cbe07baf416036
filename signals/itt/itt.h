/* SPDX-License-Identifier: MIT */
/* What the Instrumentation and Tracing Technology API (ITT, github.com/intel/ittapi) becomes here.
 *
 * Files of this module:
 *   itt        tables of names and the binary interface (this header)
 *   collector  entry, and what each thread does: tasks, frames, waits
 *   counters   counters
 *   jit        code that a JIT compiler reports
 *
 * Many libraries and programs are built with ITT calls: libomp, TBB, OpenCV, OpenVINO, Blender. The calls do nothing
 * until the environment names a collector:
 *
 *      INTEL_LIBITTNOTIFY64=PREFIX/lib/libcyclescope-itt.so.1 ./program
 *
 *      ITT                               here
 *      task, event (innermost)           tag "task", value named by the task
 *      frame, region                     tag "frame", named by the domain or region
 *      sync object being waited for      tag "wait", named by the object; 0 = not waiting
 *      thread name                       tag "thread"
 *      counter                           counter of that name, as long as words are free
 *      JIT API (INTEL_JIT_PROFILER64)    lines of /tmp/perf-PID.map, which `cyclescope record` reads
 *
 * Tags are of the thread that makes the call. Begin and end nest within a thread, at most ITT_DEPTH deep; what is deeper
 * keeps the outer tag. A region or frame that ends on another thread ends there.
 * The interface is that of version 3: the program's static part calls __itt_api_init with a table of its function
 * pointers. Nothing here fails the program, prints or blocks; objects are never freed (programs keep pointers). */
#ifndef CS_SIGNALS_ITT_H
#define CS_SIGNALS_ITT_H

#include "signals/cyclescope.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define ITT_DEPTH 24
#define ITT_NAMES_MAX 16384 /* strings of all kinds; further ones have no name */
#define ITT_NAME_BYTES 200  /* of a shown name */

/* ---- the binary interface: only what is used here has a name ---- */
struct itt_function {
    const char *name;
    void **pointer; /* what the program calls */
    void *first;    /* its value before the collector came */
    void *none;     /* its value where the collector has none: the static part's own, or NULL */
    int group;
};
struct itt_global {
    unsigned char magic[8];
    unsigned long version[3];
    volatile long initialised, mutex_initialised, counter;
    pthread_mutex_t mutex;
    void *library, *error_handler;
    const char **path;
    struct itt_function *functions; /* ends with a name of NULL */
};
struct itt_id {
    unsigned long long word[3];
};
/* Both begin as the interface has it; programs read `flags` alone. */
struct itt_domain {
    volatile int flags; /* 0 = switched off */
    const char *text;
    const void *wide;
    int tag; /* "reserved to the runtime": ours */
    void *extra;
    struct itt_domain *next;
};
struct itt_string {
    const char *text;
    const void *wide;
    int tag;
    void *extra;
    struct itt_string *next;
};

/* ---- itt.c ---- */
/* A collector's function by the interface's name, NULL = none. */
void *itt_find(const char *name);
/* The number of a name, the same for the same bytes; 0 = no name or too many. Takes a lock: cold. `named` is a bit of
 * what follows: the name is published as value of that tag, once. */
enum itt_tag { ITT_TASK, ITT_FRAME, ITT_WAIT, ITT_THREAD, ITT_TAGS };
uint32_t itt_name(const char *text, enum itt_tag tag);
/* Word of a tag in the line. */
extern cs_signal itt_word[ITT_TAGS];
/* Defines the tags, once. */
void itt_open(void);
/* Before a thread writes to its line: makes sure that it has one. */
void itt_attach(void);

/* ---- counters.c: see itt.c's table ---- */
void *itt_counter_create(const char *name, const char *domain);
void *itt_counter_create_typed(const char *name, const char *domain, int type);
void itt_counter_inc(void *counter);
void itt_counter_inc_delta(void *counter, unsigned long long n);
void itt_counter_dec(void *counter);
void itt_counter_dec_delta(void *counter, unsigned long long n);
void itt_counter_set_value(void *counter, const void *value);
void itt_counter_inc_v3(const struct itt_domain *domain, struct itt_string *name);
void itt_counter_inc_delta_v3(const struct itt_domain *domain, struct itt_string *name, unsigned long long n);

/* ---- collector.c ---- */
struct itt_domain *itt_domain_create(const char *name);
struct itt_string *itt_string_handle_create(const char *name);
void itt_task_begin(const struct itt_domain *, struct itt_id, struct itt_id, struct itt_string *);
void itt_task_begin_fn(const struct itt_domain *, struct itt_id, struct itt_id, void *function);
void itt_task_end(const struct itt_domain *);
void itt_task_begin_ex(const struct itt_domain *, const void *clock, unsigned long long when, struct itt_id,
                       struct itt_id, struct itt_string *);
void itt_task_end_ex(const struct itt_domain *, const void *clock, unsigned long long when);
void itt_region_begin(const struct itt_domain *, struct itt_id, struct itt_id, struct itt_string *);
void itt_region_end(const struct itt_domain *, struct itt_id);
void itt_frame_begin_v3(const struct itt_domain *, struct itt_id *);
void itt_frame_end_v3(const struct itt_domain *, struct itt_id *);
int itt_event_create(const char *name, int length);
int itt_event_start(int event);
int itt_event_end(int event);
void itt_thread_set_name(const char *name);
void itt_sync_create(void *object, const char *type, const char *name, int attribute);
void itt_sync_rename(void *object, const char *name);
void itt_sync_destroy(void *object);
void itt_sync_prepare(void *object);
void itt_sync_acquired(void *object);

#endif
