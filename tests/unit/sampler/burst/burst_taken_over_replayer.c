/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A replayer that was taken over, with the rights of every replayer (give_up_rights). It asks the holder for one address of its
 * choice, as often as it may, and passes on to everybody what it gets. That a target can take its replayer over is
 * tests/hostile/burst_takeover.c. */
#include "sampler/burst/replayer/address_space.h"
#include "sampler/burst/replayer/give_up_rights.h"
#include "sampler/burst/replayer/replayer.h"
#include "sampler/burst/runner/boundary.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"
#include "tests/unit/sampler/burst/burst_taken_over.h"

#include <linux/futex.h>
#include <linux/prctl.h>
#include <sys/mman.h>

#define MANY 6144U /* more than can be copied while the thread may stand */

static void touch(unsigned probe)
{
    static uint8_t byte;
    SYS(__NR_pread64, CS_BURST_FD_MEMORY, &byte, 1, PROBES + probe * PAGE);
}

static void pass_on(unsigned probe)
{
    static unsigned done;
    if (done & 1U << probe)
        return;
    done |= 1U << probe;
    SYS(__NR_mmap, 0, (uint64_t)probe << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    touch(probe);
}

static void look(const void *words, uint64_t bytes)
{
    const volatile uint64_t *word = words;
    for (uint64_t i = 0; i < bytes / 8; i++)
        if (word[i] == SECRET)
            pass_on(PROBE_SECRET);
        else if (word[i] == OWN)
            pass_on(PROBE_OWN);
}

static void look_at_all(void)
{
    for (unsigned i = 0; i < MANY; i++)
        if (boundary->kept_there[i])
            look(boundary->page[i], 8);
    look(&boundary->ask.registers, sizeof boundary->ask.registers);
    look(boundary->xstate, sizeof boundary->xstate);
    look(boundary->snapshots, sizeof boundary->snapshots);
    for (unsigned i = 0; i < POLLS_MAX; i++)
        look(boundary->polled.poll[i].value, sizeof boundary->polled.poll[i].value);
}

static void ask_for_chosen(struct replay_told *told)
{
    boundary->n_kept = MANY;
    for (unsigned i = 0; i < MANY; i++)
        boundary->kept[i] = CHOSEN;
    boundary->polled.n_words = POLLED_WORDS_MAX;
    for (unsigned i = 0; i < POLLED_WORDS_MAX; i++)
        boundary->polled.word[i] = (struct polled_word){CHOSEN + 8 * i, 0, 0};
    boundary->warm.asked = WARM_PAGES_MAX;
    for (unsigned i = 0; i < WARM_PAGES_MAX; i++)
        boundary->warm.page[i] = CHOSEN;
    static bool poll;
    told->poll = poll = !poll;
    told->n_snapshots = SNAPSHOTS_MAX;
    told->period_ns = 25000;
}

static _Noreturn void serve(void)
{
    for (uint32_t done = 0, question;;) {
        while ((question = __atomic_load_n(&boundary->question, __ATOMIC_ACQUIRE)) == done)
            SYS(__NR_futex, &boundary->question, FUTEX_WAIT, done, NULL, NULL, 0);
        done = question;
        look_at_all();
        memset(&boundary->told, 0, sizeof boundary->told);
        ask_for_chosen(&boundary->told);
        __atomic_store_n(&boundary->answer, done, __ATOMIC_RELEASE);
        SYS(__NR_futex, &boundary->answer, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

_Noreturn void replayer_main(int32_t parent, uint32_t uid, uint32_t gid)
{
    SYS(__NR_prctl, PR_SET_NAME, "cyclescope-repl");
    leave_only_ourselves();
    SYS(__NR_close_range, 0, CS_BURST_FD_MEMORY - 1, 0);
    SYS(__NR_close_range, CS_BURST_FD_PAGES + 1, CS_BURST_FD_FIRST_FREE - 1, 0);
    if (!give_up_rights(parent, uid, gid, -1, -1))
        die(78);
    serve();
}
