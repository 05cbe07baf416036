/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The proof: single-step the stopped thread over the instructions of the trace and compare where it goes. The
 * thread really runs them, so the truth is the processor's own. For tests and `bench/run burst-exact`. */
#include "sampler/burst/holder/verify.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"

#include <signal.h>
#include <sys/wait.h>

enum { SINGLESTEP = 9, PEEKUSER = 3, POKEUSER = 6, CONT = 7 };
#define WALL 0x40000000

/* Sets or clears (0) an execution breakpoint in debug register 0: x86's user area has it behind the
 * registers. */
#define DEBUG_REGISTERS 848
static bool breakpoint(int tid, uint64_t at)
{
    return SYS(__NR_ptrace, POKEUSER, tid, DEBUG_REGISTERS + 7 * 8, 0) >= 0 &&
           (!at || (SYS(__NR_ptrace, POKEUSER, tid, DEBUG_REGISTERS, at) >= 0 &&
                    SYS(__NR_ptrace, POKEUSER, tid, DEBUG_REGISTERS + 7 * 8, 1) >= 0));
}

/* The thread's instruction pointer after one more step; 0: it is gone or did something else. */
static uint64_t go(int tid, int how)
{
    int status;
    uint64_t rip = 0;
    if (SYS(__NR_ptrace, how, tid, 0, 0) < 0 || SYS(__NR_wait4, tid, &status, WALL, NULL) != tid ||
        !WIFSTOPPED(status) || status >> 8 != SIGTRAP || SYS(__NR_ptrace, PEEKUSER, tid, 16 * 8, &rip) < 0)
        return 0;
    return rip;
}

void verify(struct cs_burst_outcome *outcome, int tid, uint32_t n)
{
    uint64_t rip = 0;
    if (SYS(__NR_ptrace, PEEKUSER, tid, 16 * 8, &rip) < 0)
        return;
    for (uint32_t k = 0; k < n; k++) {
        struct steps steps;
        memcpy(&steps, &boundary->steps[k], sizeof steps);
        if (rip != steps.pc) {
            outcome->differed = 1;
            outcome->differed_at = rip;
            outcome->differed_want = steps.pc;
            return;
        }
        if (steps.n > sizeof steps.at / sizeof *steps.at)
            return;
        if (steps.straight) /* on to the last instruction: there is no other way */
            if (!breakpoint(tid, steps.at[0]) || go(tid, CONT) != steps.at[0] || !breakpoint(tid, 0))
                return;
        for (unsigned i = 0; i < steps.n; i++) {
            bool branch = i + 1U == steps.n && steps.branch;
            do {
                rip = go(tid, SINGLESTEP);
                if (!rip)
                    return;
            } while (rip == steps.at[i] &&
                     !branch); /* a repeated string instruction steps once a repetition */
        }
        outcome->verified++;
    }
}
