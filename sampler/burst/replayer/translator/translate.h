/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Translations of the target's blocks, made when they are first met.
 *
 * This module runs the target's code over copies of its pages. A file calls only files above it.
 *
 * Files of this module:
 *   blocks          tables of translated blocks
 *   trace           the records of a burst and how to read them
 *   regions         the target's memory map, looked up
 *   fault_windows   regions whose pages come and go without changing mappings
 *   pages           copies of data pages
 *   code_pages      copies of code pages, for the translator
 *   decoder         loads libZydis's shared object into the runner
 *   instruction     what an instruction is to the translator
 *   register_slots  which registers a block notes, and when
 *   emit            the few instructions that the translator writes
 *   code_memory     the memory of the code cache, mapped twice
 *   block_code      the parts of a block's translation
 *   translate       blocks of the target to blocks of the code cache
 *   signal_entry    into translated code and out of it, by signals
 */
#pragma once

#include "sampler/burst/replayer/translator/register_slots.h"

/* The translation of the block at pc, made if need be; jumps to it that waited are linked. NULL: see
 * translate_cause. */
struct block *translate(uint64_t pc);
extern enum cs_burst_cause translate_cause;
extern unsigned blocks_translated;
void translations_prepare(void); /* memory for the next ones, nothing being stopped */
bool translations_full(void);
void translations_flush(void);
uint64_t translation_link_target(uint32_t link);
void translation_remember_indirect(const struct block *block);
/* Translates what may come next. */
void translations_expand(const uint32_t *executed, unsigned n, unsigned levels);
/* Another translation of each of these blocks that also notes, before the instructions at the given
 * addresses, registers (bit = number) and words of the stack, in the place of the present one until
 * translations_unprobe(). */
void translations_probe(const uint32_t *numbers, unsigned n, const struct probe *probes, unsigned n_probes);
void translations_unprobe(void);

/* Exit stubs: addresses of the runner's own that nothing can be run at, one for each reason why translated
 * code leaves. Only translated code and run_burst() get there: the target's jumps go to translations. */
#define LINKS_MAX 131072
enum {
    STUB_ENTER,
    STUB_INDIRECT,                      /* to hot.target, which isn't among the targets known */
    STUB_STOP,                          /* + number of the block that ends the burst */
    STUB_MISS = STUB_STOP + BLOCKS_MAX, /* + number of the link that waits for its target's translation */
    EXIT_STUBS = STUB_MISS + LINKS_MAX
};
extern uint8_t exit_stubs[];
bool in_cache(uint64_t addr);
