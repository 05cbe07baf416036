/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that runs the target's code over copies of its pages, and has no rights: the user of the target or
 * nobody, no capabilities, none of root's groups, no files but the target's memory, to be read, and the few system
 * calls that give_up_rights.c allows. Whoever takes it over has what the target had anyway.
 *
 * A file calls only files above it: first what runs the code, then pure readers of the trace, then the process.
 * Files of this room:
 *   blocks             tables of translated blocks
 *   trace              the records of a burst and how to read them
 *   regions            the target's memory map, looked up
 *   fault_windows      regions whose pages come and go without changing mappings
 *   pages              copies of data pages
 *   code_pages         copies of code pages, for the translator
 *   decoder            loads libZydis's shared object into the runner
 *   instruction        what an instruction is to the translator
 *   register_slots     which registers a block notes, and when
 *   emit               the few instructions that the translator writes
 *   code_memory        the memory of the code cache, mapped twice
 *   block_code         the parts of a block's translation
 *   translate          blocks of the target to blocks of the code cache
 *   signal_entry       into translated code and out of it, by signals
 *   memory_profile     what memory instructions and code touched
 *   branch_predictors  what branches did, by simulated predictors
 *   match_registers    where in the trace a register snapshot fits
 *   trace_to_rows      a trace to rows
 *   timing_samples     when to take snapshots, and from those to timed intervals
 *   polled_words       which words of memory tell how far the thread is
 *   word_history       when the trace changes them
 *   trace_position     how far the thread was at each poll
 *   warm_caches        which pages give the thread its caches back
 *   timed_burst        how fast the thread ran what the trace holds
 *   list_steps         where the trace says that the thread will go, for verify
 *   address_space      an address space that holds nothing but the replayer
 *   give_up_rights     from there on this process can do next to nothing
 *   replayer           starts with nothing, then answers the holder's questions
 */
#ifndef CS_SAMPLER_BURST_REPLAYER_REPLAYER_H
#define CS_SAMPLER_BURST_REPLAYER_REPLAYER_H

#include <stdbool.h>
#include <stdint.h>

extern bool have_fsgsbase; /* start.c learns it */
/* In a process of its own, whose parent is the holder: gives up all rights, as this user and group or less,
 * and serves. */
_Noreturn void replayer_main(int32_t parent, uint32_t uid, uint32_t gid);

#endif
