/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report says of the time in which the target waited, and of the processes that ran then. */
#include "observer/observation.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void cs_observation_look_around(struct cs_observation *o)
{
    struct cs_observe_company now, *last = &o->company[1];
    char link[64], exe[sizeof o->became] = "";
    cs_observe_company(o->seen.pid, &now);
    last->children_ns = now.children_ns > last->children_ns ? now.children_ns : last->children_ns;
    last->throttled_ns = now.throttled_ns > last->throttled_ns ? now.throttled_ns : last->throttled_ns;
    if (now.has_cpus) {
        last->has_cpus = true;
        last->cpus = now.cpus;
    }
    memcpy(last->idle_ns, now.idle_ns, sizeof last->idle_ns);
    snprintf(link, sizeof link, "/proc/%d/exe", (int)o->seen.pid);
    const ssize_t n = readlink(link, exe, sizeof exe - 1);
    if (n <= 0 || (size_t)n == sizeof exe - 1)
        return;
    exe[n] = '\0';
    if (!o->began[0])
        memcpy(o->began, exe, sizeof o->began);
    if (strcmp(exe, o->began) != 0)
        memcpy(o->became, exe, sizeof o->became);
}

/* Another CPU that was idle for most of the time. */
static int idle_cpu(const struct cs_observation *o)
{
    const double whole_ns = (double)(o->ended_clock - o->looked_clock) / o->seen.cycles_per_second * 1e9;
    double most = 0.5 * whole_ns;
    int found = CS_ANY_CPU;
    for (unsigned cpu = 0; cpu < CS_OBSERVE_IDLE_CPUS && cpu < CPU_SETSIZE; cpu++) {
        /* proc(5): it may fall; of a CPU that has gone offline it is 0. */
        const double idle = (double)(int64_t)(o->company[1].idle_ns[cpu] - o->company[0].idle_ns[cpu]);
        if (idle > most && CPU_ISSET(cpu, &o->before) && cpu != o->seen.placement.target &&
            cpu != o->seen.placement.observer) {
            most = idle;
            found = (int)cpu;
        }
    }
    return found;
}

/* Who had the CPU while the target waited for it. */
static void blame(const struct cs_observation *o, double waited_ns, char *to, size_t size)
{
    const unsigned cpu = o->seen.placement.target;
    const double children = (double)(o->company[1].children_ns - o->company[0].children_ns),
                 throttled = (double)(o->company[1].throttled_ns - o->company[0].throttled_ns),
                 ran = (double)(o->waiting[1].ran_ns - o->waiting[0].ran_ns);
    const int free_cpu = idle_cpu(o);
    if (o->company[1].has_cpus && !o->options.keep_cpus && !CPU_ISSET(cpu, &o->company[1].cpus))
        snprintf(to, size,
                 "its own affinity keeps it from that CPU. Give the CPU that it takes as --target-cpu.");
    else if (throttled >= 0.5 * waited_ns)
        snprintf(to, size, "the CPU quota of its cgroup (cpu.max) stopped it for %.2f s.", throttled * 1e-9);
    else if (children >= 0.5 * waited_ns)
        snprintf(to, size, "its own children, which have that CPU too, ran for %.2f s.", children * 1e-9);
    else if (o->options.keep_cpus)
        snprintf(to, size, "other programs or the observer had its CPUs.");
    else if (ran * (o->waiting[1].threads - 1.0) >= 0.5 * waited_ns)
        snprintf(to, size, "its own threads compete for that CPU (observe pins them all to one).");
    else if (free_cpu != CS_ANY_CPU)
        snprintf(to, size, "other programs ran there. Try --target-cpu %d: that CPU was mostly idle.",
                 free_cpu);
    else
        snprintf(to, size, "other programs ran there, and no other CPU was free.");
}

/* What ran and wasn't observed. */
static void note_company(struct cs_observation *o)
{
    char sentence[400];
    const double children = (double)(o->company[1].children_ns - o->company[0].children_ns) * 1e-9;
    if (children >= 0.01) {
        snprintf(sentence, sizeof sentence, "children of the program ran for %.2f s and were not observed",
                 children);
        cs_observation_note(o, sentence);
    }
    if (o->became[0] && o->seen.signals) {
        snprintf(sentence, sizeof sentence,
                 "the program became %.200s by an exec: what that publishes was not read", o->became);
        cs_observation_note(o, sentence);
    }
}

void cs_observation_note_waiting(struct cs_observation *o)
{
    double ran = (double)(o->waiting[1].ran_ns - o->waiting[0].ran_ns);
    double waited = (double)(o->waiting[1].waited_ns - o->waiting[0].waited_ns);
    o->seen.waited = ran + waited > 0 ? waited / (ran + waited) : 0;
    note_company(o);
    if (o->seen.waited < 0.1)
        return;
    char sentence[320], who[160], cpu[24] = "its CPUs";
    blame(o, waited, who, sizeof who);
    if (!o->options.keep_cpus)
        snprintf(cpu, sizeof cpu, "CPU %u", o->seen.placement.target);
    snprintf(sentence, sizeof sentence, "The program waited for %s for %.0f %% of its runnable time: %s", cpu,
             100 * o->seen.waited, who);
    cs_observation_note(o, sentence);
}
