/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which words of the thread's memory are to be read while it runs (holder/poll_words.c). That is decided while
 * the thread is still stopped. Some are words that the beginning of the trace writes again and again, as
 * counters and stacks are. Others are words that the burst changed, from pages taken at random, as data that
 * is written once. Where there are none of the first, the others begin to change when another loop is reached,
 * and they would report only its time. */
#include "sampler/burst/replayer/trace/polled_words.h"
#include "sampler/burst/replayer/translator/pages.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/timing_model.h"

#define LINE 64
#define TABLE 512

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

static void add(struct polled_words *polled, uint64_t addr)
{
    struct polled_word word = {.addr = addr};
    if (polled->n_words == POLLED_WORDS_MAX || !page_word(addr, &word.before, &word.after) ||
        word.before == word.after)
        return;
    for (unsigned i = 0; i < polled->n_words; i++)
        if (polled->word[i].addr / LINE == addr / LINE)
            return;
    polled->word[polled->n_words++] = word;
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

static void choose_often(struct polled_words *polled, const struct run *run,
                         const struct registers *registers, uint64_t until)
{
    memset(often, 0, sizeof often);
    const uint8_t *p = run->start, *next;
    for (unsigned n = 0; p < run->end && n < CS_MODEL_POLLED_BLOCKS && (n % 64 || tsc() < until);
         n++, p = next) {
        const struct block *block = record_block(p);
        const struct memory_op *op = &memory_ops[block->first_op];
        next = record_next(p);
        if (next >= run->end)
            break;
        for (unsigned i = 0; i < block->n_ops; i++)
            if ((op[i].flags & (OP_WRITE | OP_REPEAT)) == OP_WRITE)
                count(operand_address(&op[i], record_slots(p), registers) & ~7ULL);
    }
    for (unsigned tries = 0; tries < 4 * CS_MODEL_POLLED_OFTEN && polled->n_words < CS_MODEL_POLLED_OFTEN;
         tries++) {
        unsigned most = 0;
        for (unsigned i = 1; i < TABLE; i++)
            if (often[i].count > often[most].count)
                most = i;
        if (often[most].count < 2)
            return;
        often[most].count = 0;
        add(polled, often[most].addr);
    }
}

bool polled_words_choose(struct polled_words *polled, const struct run *run,
                         const struct registers *registers, uint64_t ticks_a_us)
{
    polled->n_words = polled->n_polls = 0;
    polled->ticks_a_us = ticks_a_us;
    uint64_t begin = tsc(), most = CS_MODEL_POLLED_CHOOSE_NS / 1000 * ticks_a_us;
    choose_often(polled, run, registers, begin + most / 2);
    if (!polled->n_words)
        return false;
    while (polled->n_words < POLLED_WORDS_MAX && tsc() < begin + most) {
        uint64_t word = page_changed_word(random());
        if (word)
            add(polled, word);
    }
    return true;
}
