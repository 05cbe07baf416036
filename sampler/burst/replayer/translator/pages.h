/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of the target's data pages, at their own addresses. */
#pragma once

#include "sampler/burst/runner/boundary.h"

/* Brings the data page of `addr` in. CS_BURST_FULL when done, else the cause that ends the burst. */
enum cs_burst_cause page_in(uint64_t addr, bool write);
void pages_ask(void);     /* says to the holder which pages' present content it wants */
void pages_refresh(void); /* brings the kept working set up to date */
void pages_rewind(void);  /* a long burst: to where it began; from now on no page is brought */
void pages_prepare(void); /* what a long burst needs room for, before anything is stopped */
void pages_rest(void);    /* between bursts: gives back what that takes */
void pages_settle(void);  /* after a burst: drops what is not worth keeping */
void pages_forget_changed(void);
void page_touched(uint64_t addr);
/* Of a long burst: a word as it was when the thread stood, and as the burst left it. False: not of a page
 * that the target can write. */
bool page_word(uint64_t addr, uint64_t *before, uint64_t *after);
/* A word that it changed, on a page chosen by `random`; 0: none there. */
uint64_t page_changed_word(uint64_t random);
extern unsigned pages_faulted;
extern bool pages_many; /* a long burst: a fault brings the pages around it, too */

/* The runner's own clock pages, parked where address_space.c put them until the target's are touched. */
#define CLOCK_PAGES_MAX 4
struct clock_pages {
    uint64_t at, bytes;
};
extern struct clock_pages clock_pages[CLOCK_PAGES_MAX]; /* in the order of the map */
extern unsigned n_clock_pages;
