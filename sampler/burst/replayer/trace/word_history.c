/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When does the trace change the words that were polled, and to what? Addresses of all stores are in the
 * trace. For a word that is written once they are enough, and they help where it is written a few times. Up
 * to the first write it holds what it held before, from the last on what it holds in the end. Between them
 * it holds anything, often the same: a loop over data that has settled. Where that isn't enough the burst is
 * run once more, with the word noted at the beginning of each block that writes it. */
#include "sampler/burst/replayer/trace/word_history.h"
#include "sampler/burst/replayer/translator/pages.h"
#include "sampler/burst/replayer/translator/signal_entry.h"
#include "sampler/burst/replayer/translator/translate.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"

#include <sys/mman.h>

#define FEW 8
#define WRITERS_MAX 256 /* blocks; translations_probe takes as many */
#define CHANGES_MAX 400000
#define VISITS_MAX 60000 /* of the blocks that write one word */
#define AGAIN_MAX_TICKS 120000000
#define FILTER_BITS 4096

struct history histories[POLLED_WORDS_MAX];
static struct change changes[CHANGES_MAX];
static uint32_t n_changes;
static struct change few[POLLED_WORDS_MAX][FEW];
static uint32_t writes[BLOCKS_MAX], visits[BLOCKS_MAX]; /* words that a block writes; how often it ran */
static uint32_t writers[WRITERS_MAX], n_writers;
static bool many_writers, twice[POLLED_WORDS_MAX]; /* twice: by one block */
static uint64_t filter[FILTER_BITS / 64];

static bool filtered(uint64_t word, bool set)
{
    unsigned bit = (unsigned)(word >> 3) % FILTER_BITS;
    if (set)
        filter[bit / 64] |= 1ULL << bit % 64;
    return filter[bit / 64] >> bit % 64 & 1;
}

static void wrote(const struct polled_words *polled, uint64_t word, uint32_t number, uint64_t position,
                  uint32_t *mine)
{
    for (unsigned i = 0; i < polled->n_words; i++) {
        if (polled->word[i].addr != word)
            continue;
        struct history *h = &histories[i];
        if (h->n < FEW)
            few[i][h->n] = (struct change){(uint32_t)position, h->n ? 0 : polled->word[i].before};
        h->n++;
        twice[i] |= *mine >> i & 1;
        *mine |= 1U << i;
    }
    if (*mine && !writes[number]) {
        if (n_writers == WRITERS_MAX) {
            many_writers = true;
            return;
        }
        writers[n_writers++] = number;
    }
    writes[number] |= *mine;
}

uint64_t history_begin(const struct polled_words *polled, const struct run *run,
                       const struct registers *registers)
{
    uint64_t position = 0;
    memset(filter, 0, sizeof filter);
    memset(visits, 0, sizeof visits);
    memset(twice, 0, sizeof twice);
    while (n_writers)
        writes[writers[--n_writers]] = 0;
    many_writers = false;
    for (unsigned i = 0; i < polled->n_words; i++) {
        filtered(polled->word[i].addr, true);
        histories[i] = (struct history){
            .change = few[i], .before = polled->word[i].before, .after = polled->word[i].after};
    }
    for (const uint8_t *p = run->start, *next; p < run->end; p = next) {
        const struct block *block = record_block(p);
        const struct memory_op *op = &memory_ops[block->first_op], *end = op + block->n_ops;
        uint32_t number = (uint32_t)(block - blocks), mine = 0;
        next = record_next(p);
        if (!record_whole(run, next))
            break;
        visits[number]++;
        for (; op < end; op++) {
            if (!(op->flags & OP_WRITE))
                continue;
            uint64_t addr = operand_address(op, record_slots(p), registers), size = op->size;
            if (op->flags & OP_REPEAT) {
                uint64_t times = record_slots(p)[op->count_slot];
                size *= times < 65536 ? times : 65536;
            }
            for (uint64_t word = addr & ~7ULL; word < addr + size; word += 8)
                if (filtered(word, false))
                    wrote(polled, word, number, position, &mine);
        }
        position += block->n_insns;
    }
    for (unsigned i = 0; i < polled->n_words; i++) {
        histories[i].known = histories[i].n && histories[i].n <= FEW;
        histories[i].some = histories[i].known;
    }
    return position;
}

void history_rest(void)
{
    uint64_t from = ((uint64_t)changes + PAGE - 1) & ~(PAGE - 1),
             to = (uint64_t)(changes + CHANGES_MAX) & ~(PAGE - 1);
    SYS(__NR_madvise, from, to - from, MADV_DONTNEED);
}

/* Makes room for the words that are written often; which, bit = number. */
static uint32_t plan_notes(const struct polled_words *polled, uint64_t *capacity)
{
    uint32_t which = 0;
    n_changes = 0;
    for (unsigned i = 0; i < polled->n_words && !many_writers; i++) {
        uint32_t n = 0;
        struct history *h = &histories[i];
        if (h->n < 2 || twice[i])
            continue;
        for (unsigned k = 0; k < n_writers; k++)
            n += writes[writers[k]] >> i & 1 ? visits[writers[k]] : 0;
        if (n > VISITS_MAX || n > CHANGES_MAX - n_changes || *capacity + 8ULL * n > TRACE_BYTES)
            continue;
        h->change = &changes[n_changes];
        h->capacity = n;
        h->n = 0;
        h->some = false;
        n_changes += n;
        *capacity += 8ULL * n;
        which |= 1U << i;
    }
    return which;
}

static uint64_t read_notes(const struct run *run)
{
    uint64_t position = 0;
    for (const uint8_t *p = run->start, *next; p < run->end; p = next) {
        const struct block *block = record_block(p);
        next = record_next(p);
        if (!record_whole(run, next))
            break;
        const struct slot_note *note = &slot_notes[block->first_slot];
        for (unsigned i = 0; i < block->n_slots; i++) {
            if (note[i].reg < NOTED_WORD)
                continue;
            struct history *h = &histories[note[i].reg - NOTED_WORD];
            if (h->n < h->capacity)
                changes[(h->change - changes) + h->n++] =
                    (struct change){(uint32_t)position, record_slots(p)[i]};
        }
        position += block->n_insns;
    }
    return position;
}

bool history_again(const struct polled_words *polled, const struct run *run, uint64_t length,
                   const struct registers *registers, const void *vectors, uint64_t vectors_bytes,
                   struct run *second)
{
    static struct probe probes[WRITERS_MAX];
    static uint32_t numbers[WRITERS_MAX];
    static uint64_t addrs[POLLED_WORDS_MAX];
    unsigned n = 0;
    *second = *run;
    uint64_t capacity = (uint64_t)(run->end - run->start) + PAGE;
    uint32_t which = plan_notes(polled, &capacity);
    for (unsigned i = 0; i < polled->n_words; i++)
        addrs[i] = polled->word[i].addr;
    for (unsigned k = 0; k < n_writers; k++)
        if (writes[writers[k]] & which) {
            probes[n] = (struct probe){
                .pc = blocks[writers[k]].pc, .polled = writes[writers[k]] & which, .word_addrs = addrs};
            numbers[n++] = writers[k];
        }
    if (!n)
        return false;
    pages_rewind();
    translations_probe(numbers, n, probes, n);
    run_burst(registers, vectors, vectors_bytes, capacity, tsc() + AGAIN_MAX_TICKS, second);
    uint64_t found = read_notes(second);
    translations_unprobe();
    for (unsigned i = 0; i < polled->n_words; i++) /* a visit that noted nothing may have changed it */
        if (which >> i & 1)
            histories[i].known = histories[i].n == histories[i].capacity;
    return found >= length - length / 64;
}
