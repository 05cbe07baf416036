/* SPDX-License-Identifier: MIT */
/* For a program that chooses what of itself is profiled under `cyclescope record --driver timers` (which record
 * chooses by itself where perf_event_open is out of reach). Nothing to link: without the profiler both do nothing.
 *
 *      cs_timers_pause();      // of the calling thread
 *      warm_up();
 *      cs_timers_resume(); */
#ifndef CYCLESCOPE_TIMERS_H
#define CYCLESCOPE_TIMERS_H

#ifdef __cplusplus
extern "C" {
#endif

void cs_timers_pause_thread(void) __attribute__((weak));
void cs_timers_resume_thread(void) __attribute__((weak));

static inline void cs_timers_pause(void)
{
    if (cs_timers_pause_thread)
        cs_timers_pause_thread();
}

static inline void cs_timers_resume(void)
{
    if (cs_timers_resume_thread)
        cs_timers_resume_thread();
}

#ifdef __cplusplus
}
#endif

#endif
