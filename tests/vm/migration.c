/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shipped reader across migrations, with rivals on both CPUs: whatever it returns lies between two
 * read()s of the kernel. Cycles only: the emulated machine with two CPUs counts nothing else. */
#include "tests/vm/truth.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

int failures;

enum { ROUNDS = 400, CPUS = 2 };

static void move_to(unsigned cpu)
{
    cpu_set_t there;
    CPU_ZERO(&there);
    CPU_SET(cpu, &there);
    sched_setaffinity(0, sizeof there, &there);
}

static pid_t rival_on(unsigned cpu)
{
    pid_t rival = fork();
    if (rival == 0) {
        move_to(cpu);
        for (;;)
            spin(1000000);
    }
    return rival;
}

int main(void)
{
    if (sysconf(_SC_NPROCESSORS_ONLN) < CPUS) {
        printf("skipped: one CPU\n");
        return 77;
    }
    pid_t rivals[CPUS] = {rival_on(0), rival_on(1)};
    struct open_pmc p = open_pmc(CYCLES, for_user_reading);
    unsigned torn = 0, outside = 0, inside = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        move_to(i % CPUS);
        spin(1000);
        bool whole = true;
        uint64_t before = read_event(p.fd).value, user = cs_pmc_read(&p.pmc, &whole),
                 after = read_event(p.fd).value;
        torn += !whole;
        inside += whole && before <= user && user <= after;
        outside += whole && (user < before || user > after);
    }
    for (unsigned i = 0; i < CPUS; i++) {
        kill(rivals[i], SIGKILL);
        waitpid(rivals[i], NULL, 0);
    }
    expect("migrated-readings-outside-two-reads", 0, outside, 0);
    report("migrated-readings-inside", 0.5 * ROUNDS, ROUNDS, inside);
    report("migrated-readings-refused", 0, 0.5 * ROUNDS, torn);
    close_pmc(&p);
    return failures != 0;
}
