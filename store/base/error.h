/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One error, one sentence. A function that can fail for a reason a user should read takes a `struct cs_error
 * *` (never NULL). It returns a negative errno after filling it; only cli/ prints it. The sentence says what
 * failed, where, and what to do; it has no trailing newline.
 *
 * This module holds the small things that every module may use, and knows nothing of profiles.
 *
 * Files of this module:
 *   error         one error, one sentence (this header)
 *   array         growing arrays
 *   bisect        bisection of what is sorted
 *   bytes         little-endian numbers, varints and texts, written and read
 *   text          foreign text made harmless; the name that was meant
 *   clock         clocks as one number
 *   when          times as people write and read them
 *   delimited     CSV fields and JSON strings
 *   order         what comes first, for qsort and bsearch
 *   random        pseudo-random numbers
 *   regular_file  the one opener for paths that somebody else chose
 *   kernel_files  what the kernel says in small files of /proc and /sys
 *   hash_seed     what nobody knows of our tables
 *   foreign       calls that a stranger may leave unanswered, made by a helper
 *   foreign_worker  what that helper does
 *   raw_calls     system calls without libc
 *   unused_user   users that no process has
 *   kept_lines    a row of source lines, as it lies in a file
 *   cache         what can be worked out again, by a key
 *   map           from a key to its index in an array
 */
#pragma once

struct cs_error {
    int code;       /* positive errno, 0 = no error */
    char text[512]; /* the sentence */
};

/* Fills `err` and returns -code, so that `return cs_fail(err, ENOENT, "...")` reads well. */
int cs_fail(struct cs_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* which can't see that it returns less than 0 */
#define cs_fail(...) ((cs_fail)(__VA_ARGS__), -1)
#endif
