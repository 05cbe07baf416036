/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts with nothing, then answers the holder's questions (boundary.h), one at a time. */
#include "sampler/burst/replayer/replayer.h"
#include "sampler/burst/replayer/address_space.h"
#include "sampler/burst/replayer/give_up_rights.h"
#include "sampler/burst/replayer/trace/list_steps.h"
#include "sampler/burst/replayer/trace/timed_burst.h"
#include "sampler/burst/replayer/trace/trace_to_rows.h"
#include "sampler/burst/replayer/translator/code_memory.h"
#include "sampler/burst/replayer/translator/code_pages.h"
#include "sampler/burst/replayer/translator/decoder.h"
#include "sampler/burst/replayer/translator/fault_windows.h"
#include "sampler/burst/replayer/translator/pages.h"
#include "sampler/burst/replayer/translator/signal_entry.h"
#include "sampler/burst/replayer/translator/translate.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"

#include <linux/futex.h>
#include <linux/prctl.h>

static struct registers registers;
static struct run run;

static void forget_translations(void)
{
    translations_flush();
    code_forget();
}

static void prepare(const struct replay_ask *ask, struct replay_told *told)
{
    if (ask->map_changed) {
        pages_forget_changed();
        if (code_moved())
            forget_translations();
    }
    if (translations_full())
        forget_translations();
    told->taken = regions_overlap(CS_BURST_BASE, CS_BURST_BASE + CS_BURST_SPAN) || code_memory_taken();
    if (ask->timed)
        timed_burst_prepare();
    translations_prepare();
    pages_ask();
}

/* The thread stands. */
static void follow(const struct replay_ask *ask, struct replay_told *told)
{
    const struct cs_burst_command *command = &boundary->rows.command;
    struct cs_burst_outcome *outcome = &boundary->rows.outcome;
    memset(outcome, 0, sizeof *outcome);
    registers = ask->registers;
    pages_many = ask->timed;
    pages_refresh();
    blocks_translated = 0;
    uint64_t capacity = trace_room(ask->timed ? command->timed_instructions : command->instructions);
    run_burst(&registers, boundary->xstate, ask->xstate_bytes,
              ask->timed ? timed_trace_room(capacity) : capacity, ask->deadline, &run);
    outcome->cause = told->cause = run.cause;
    outcome->start = registers.rip;
    outcome->denormal = run.denormal;
    told->next = run.next;
    told->pages_faulted = pages_faulted;
    told->blocks_translated = blocks_translated;
    told->n_steps = ask->verify ? list_steps(&run, command->instructions) : 0;
    if (ask->timed)
        timed_burst_ran(&run, &registers);
}

/* It runs again. */
static void finish(const struct replay_ask *ask)
{
    if (!code_unchanged()) {
        boundary->rows.outcome.cause = CS_BURST_CODE_CHANGED;
        forget_translations();
    } else {
        trace_to_rows(&boundary->rows, &run, &registers);
        if (ask->timed)
            timed_burst_end(&boundary->rows.outcome, &run, &registers, boundary->xstate, ask->xstate_bytes);
    }
    pages_settle();
}

static void answer(const struct replay_ask *ask, struct replay_told *told)
{
    memset(told, 0, sizeof *told);
    switch (ask->kind) {
    case REPLAY_PREPARE:
        prepare(ask, told);
        break;
    case REPLAY_RUN:
        follow(ask, told);
        break;
    case REPLAY_FINISH:
        finish(ask);
        break;
    case REPLAY_FORGET:
        pages_settle();
        break;
    case REPLAY_REST:
        timed_burst_rest();
        break;
    default:
        break;
    }
}

static _Noreturn void serve(void)
{
    for (uint32_t done = 0, question;;) {
        while ((question = __atomic_load_n(&boundary->question, __ATOMIC_ACQUIRE)) == done)
            SYS(__NR_futex, &boundary->question, FUTEX_WAIT, done, NULL, NULL, 0);
        done = question;
        answer(&boundary->ask, &boundary->told);
        bool finished = boundary->ask.kind == REPLAY_FINISH;
        __atomic_store_n(&boundary->answer, done, __ATOMIC_RELEASE);
        SYS(__NR_futex, &boundary->answer, FUTEX_WAKE, 1, NULL, NULL, 0);
        if (finished)
            after_answer();
    }
}

_Noreturn void replayer_main(int32_t parent, uint32_t uid, uint32_t gid)
{
    int faults, self;
    SYS(__NR_prctl, PR_SET_NAME, "cyclescope-repl");
    leave_only_ourselves();
    if (!decoder_load(CS_BURST_FD_DECODER))
        die(72);
    if (!code_memory_open())
        die(75);
    signals_install();
    windows_open(&faults, &self);
    SYS(__NR_close_range, 0, CS_BURST_FD_MEMORY - 1, 0);
    SYS(__NR_close_range, CS_BURST_FD_PAGES + 1, CS_BURST_FD_FIRST_FREE - 1, 0);
    if (!give_up_rights(parent, uid, gid, faults, self))
        die(78);
    serve();
}
