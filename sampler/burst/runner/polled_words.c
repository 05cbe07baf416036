/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of a thread's memory, read from another CPU while the thread runs what its burst has followed: each
 * changes when the thread gets to where the trace changes it. They are to it what SHIM's software signals are
 * to an observer (ISCA 2015, section 3), only that the program doesn't know that it sends them: nothing stops
 * it, and a read costs it no more than a line that another core asks for.
 *
 * Which words is decided while the thread still stands: some that the beginning of the trace writes again and
 * again, as counters and stacks are, and others that the burst changed, from pages taken at random, as data
 * that is written once. Where there are none of the first the others begin to change when another loop is
 * reached, and its time is all that they would tell. */
#include "sampler/burst/runner/runner.h"
#include "sampler/burst/runner/sys.h"

#include <sys/uio.h>

#define OFTEN_MAX 5      /* words that are written again and again: more of them slow the thread */
#define CHOOSE_NS 26000  /* at most, half of it for those */
#define BLOCKS_MOST 2000 /* of the trace's beginning */
#define START_NS 1000000 /* for the thread to get to the first change */
#define DENSE 16         /* polls that follow each other soon: fast code is through its trace early */
#define DENSE_NS 4000    /* from one to the next */
#define SPARSE 8         /* later by a part in so many of the time so far: slow code takes longer */
#define LINE 64
#define TABLE 512

struct watch watched;

static struct {
    uint64_t addr;
    uint32_t count;
} often[TABLE];

static uint64_t random(void)
{
    static uint64_t state;
    state = state * 6364136223846793005ULL + tsc() * 2 + 1;
    return state >> 24;
}

static void add(uint64_t addr)
{
    struct watched word = {.addr = addr};
    if (watched.n_words == WATCHED_MAX || !page_word(addr, &word.before, &word.after) ||
        word.before == word.after)
        return;
    for (unsigned i = 0; i < watched.n_words; i++)
        if (watched.word[i].addr / LINE == addr / LINE)
            return;
    watched.word[watched.n_words++] = word;
}

static void count(uint64_t addr)
{
    unsigned slot = (unsigned)(addr * 0x9e3779b97f4a7c15ULL >> 40) % TABLE;
    for (unsigned tries = 0; tries < 4; tries++, slot = (slot + 1) % TABLE)
        if (often[slot].addr == addr || !often[slot].addr) {
            often[slot].addr = addr;
            often[slot].count++;
            return;
        }
}

static void choose_often(const struct run *run, const struct registers *registers, uint64_t until)
{
    memset(often, 0, sizeof often);
    const uint8_t *p = run->start, *next;
    for (unsigned n = 0; p < run->end && n < BLOCKS_MOST && (n % 64 || tsc() < until); n++, p = next) {
        const struct block *block = record_block(p);
        const struct memory_op *op = &memory_ops[block->first_op];
        next = record_next(p);
        if (next >= run->end)
            break;
        for (unsigned i = 0; i < block->n_ops; i++)
            if ((op[i].flags & (OP_WRITE | OP_REPEAT)) == OP_WRITE)
                count(operand_address(&op[i], record_slots(p), registers) & ~7ULL);
    }
    for (unsigned tries = 0; tries < 4 * OFTEN_MAX && watched.n_words < OFTEN_MAX; tries++) {
        unsigned most = 0;
        for (unsigned i = 1; i < TABLE; i++)
            if (often[i].count > often[most].count)
                most = i;
        if (often[most].count < 2)
            return;
        often[most].count = 0;
        add(often[most].addr);
    }
}

bool watch_choose(const struct run *run, const struct registers *registers, uint64_t ticks_a_us)
{
    watched.n_words = watched.n_polls = 0;
    watched.ticks_a_us = ticks_a_us;
    uint64_t begin = tsc(), most = CHOOSE_NS / 1000 * ticks_a_us;
    choose_often(run, registers, begin + most / 2);
    if (!watched.n_words)
        return false;
    while (watched.n_words < WATCHED_MAX && tsc() < begin + most) {
        uint64_t word = page_changed_word(random());
        if (word)
            add(word);
    }
    return true;
}

static uint32_t since_ns(uint64_t ticks)
{
    return (uint32_t)((ticks - watched.released) * 1000 / watched.ticks_a_us);
}

/* Are all words as they were (as they will be at the trace's end)? */
static bool all(const uint64_t *values, bool after)
{
    for (unsigned i = 0; i < watched.n_words; i++)
        if (values[i] != (after ? watched.word[i].after : watched.word[i].before))
            return false;
    return true;
}

void watch_poll(pid_t pid)
{
    static struct iovec there[WATCHED_MAX];
    static uint64_t values[WATCHED_MAX];
    struct iovec here = {values, 8 * watched.n_words};
    for (unsigned i = 0; i < watched.n_words; i++)
        there[i] = (struct iovec){(void *)watched.word[i].addr, 8};
    bool started = false;
    unsigned over = 0;
    uint64_t dense = DENSE_NS / 1000 * watched.ticks_a_us, started_at = tsc();
    watched.released = started_at;
    for (uint64_t next = tsc(); watched.n_polls < POLLS_MAX && over < 2;) {
        while (tsc() < next)
            __asm__ volatile("pause");
        uint64_t begin = tsc();
        if (SYS(__NR_process_vm_readv, pid, &here, 1, there, watched.n_words, 0) != (long)here.iov_len)
            return;
        uint64_t end = tsc();
        bool waits = !started && all(values, false);
        if (waits && since_ns(end) > START_NS)
            return;
        if (waits && watched.n_polls)
            watched.n_polls--; /* only the last before the start is of use */
        if (!started)
            started_at = begin;
        started = !waits;
        over = all(values, true) ? over + 1 : 0;
        struct poll *poll = &watched.poll[watched.n_polls++];
        *poll = (struct poll){.begin_ns = since_ns(begin), .end_ns = since_ns(end)};
        memcpy(poll->value, values, sizeof values);
        uint64_t sparse = watched.n_polls < DENSE ? 0 : (end - started_at) / SPARSE;
        next = begin + (sparse > dense ? sparse : dense);
    }
}
