/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers what the handler asks for to unwind: mappings of processes, unwind tables of images. One owner. */
#pragma once

#include "sampler/chains/chains.h"
#include "sampler/driver/driver.h"
#include "sampler/placing/image_tables.h"
#include "sampler/placing/resolve.h"

struct cs_session_chains;

/* `kernel` is the driver's. NULL when memory is short. */
struct cs_session_chains *cs_session_chains_open(struct cs_chain_kernel *kernel,
                                                 struct cs_session_places *places,
                                                 struct cs_image_tables *tables,
                                                 struct cs_generations *generations);
void cs_session_chains_close(struct cs_session_chains *chains);

/* This process and its children are what is sampled: its mappings and tables go to the kernel with the next feeds, unasked, and
 * those of what one of them maps later. */
void cs_session_chains_expect(struct cs_session_chains *chains, pid_t pid);
/* Before a drain's line is drawn: takes what was asked for, so that its records are there when it is answered. */
void cs_session_chains_wants(struct cs_session_chains *chains);
/* After the drain: answers. All records up to `line_ns` have been applied. */
void cs_session_chains_feed(struct cs_session_chains *chains, uint64_t line_ns);
/* A table is being made, or expected: feed soon. NULL: no. */
bool cs_session_chains_busy(const struct cs_session_chains *chains);
