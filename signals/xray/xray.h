/* SPDX-License-Identifier: MIT */
/* Tags for programs built by clang with -fxray-instrument (and by rustc with -Z instrument-xray): a library to
 * preload, or to link.
 *
 * Files of this module:
 *   xray    what the files promise one another (this header)
 *   watch   when the sleds are on: a sleeping thread that asks whether somebody observes
 *   sleds   where they are in the images of this process, and writing them
 *   nearby  code within reach of a sled's call
 *   calls   what a sled does while it is on
 *
 * The compiler leaves a *sled* of 11 bytes at each function's entry, before each return and before each tail call. It
 * also leaves a table of them, `xray_instr_map`. A sled is a jump over nine bytes, or the return itself: that is all it
 * costs while nobody observes.
 *
 *      entry, tail call    jmp .+11; nop9         on:  mov $function - page, %r10d; call page + ENTER or TAIL
 *      return              ret; nop10             on:  mov $function - page, %r10d; jmp  page + EXIT
 *
 * clang's own runtime, which programs are linked with, does the same on demand of the program. It is neither needed nor
 * asked here, and sleds that it has switched on aren't touched. Ours differs in what a sled costs while it is on: no
 * vector registers to save, no lookup, no function pointer.
 *
 * Invariant: the first two bytes of a sled, which are aligned, are written last when it is switched on. They are the
 * only ones written when it is switched off. So a thread sees either the whole old sled or the whole new one. The nine
 * bytes behind them stay as they were written: a thread may be between the two instructions.
 *
 * Each thread keeps the frames that it entered with their tags, and a return restores the tag of the innermost frame
 * that hasn't ended. Frames are identified by the address of their return address, so that what longjmp and exceptions
 * skip is dropped. A call that was under way when the sleds were switched on is known by its return address.
 *
 *      function         called by                                    may
 *      watch            constructor, fork handlers, its own thread   allocate, wait
 *      sleds, nearby    that thread; the constructor looks only      make system calls; no malloc: the loader's lock is held
 *      calls            the program, anywhere                        touch its thread's own memory and the line */
#ifndef CS_SIGNALS_XRAY_H
#define CS_SIGNALS_XRAY_H

#include "signals/runtime.h"

#include <stdint.h>

#define XRAY_SLED_BYTES 11u
#define XRAY_FRAMES 256u /* of a thread; outer ones are found again by return addresses */

/* ---- sleds ---- */

/* Whether an image of this process has sleds. */
CS_HIDDEN bool xray_any_sleds(void);
/* Switches all of them on or off, those of images that came since too. */
CS_HIDDEN void xray_switch(bool on);
/* Counts images that came or went. */
CS_HIDDEN uint64_t xray_images_changed(void);

/* ---- nearby ---- */

/* Code pages that sleds of an image from `low` to `high` reach, or 0; `make` one where there is none. */
CS_HIDDEN uintptr_t xray_page(uintptr_t low, uintptr_t high, bool make);
CS_HIDDEN bool xray_is_page(uintptr_t at);
enum xray_gate { XRAY_ENTER = 64, XRAY_EXIT = 96, XRAY_TAIL = 112 }; /* offsets in a page */

/* ---- calls ---- */

/* A function with sleds, from its start to its last sled. */
struct xray_function {
    uintptr_t start, end;
};
struct xray_functions {
    size_t n;
    struct xray_function by_start[];
};
/* What return addresses are looked up in; may change at any time, but never goes away. */
extern CS_HIDDEN struct xray_functions *xray_functions;
/* Frames that threads noted in another epoch are void. */
extern CS_HIDDEN uint64_t xray_epoch;
CS_HIDDEN extern const char xray_entered[], xray_left[], xray_left_by_tail[]; /* code: see calls.c */

#endif
