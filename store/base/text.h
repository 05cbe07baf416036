/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Foreign text made harmless: names from targets, files and kernels may hold anything. Two rules:
 *
 *   clean   for a terminal and for names: a byte that is no UTF-8 (RFC 3629), a control character, an escape, and
 *           what is invisible or turns the writing direction becomes '?'
 *   valid   for formats with escapes of their own (JSON): only broken UTF-8 is replaced, by U+FFFD
 *
 * And which name was meant by one that isn't known:
 *
 *     struct cs_resembling r = {.word = asked};
 *     for (each known name) cs_resembling_try(&r, name);
 *     cs_fail(err, ENOENT, "there is no image %s%s", asked, cs_did_you_mean(&r).text);
 *
 * signals/reader/reader_names.c cleans by the same rule, in code of its own licence; a test compares the two. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed UTF-8 character at `text`, of which `left` bytes may be read; 0 where there is none.
 * *character may be NULL. */
size_t cs_text_character(const char *text, size_t left, uint32_t *character);

/* Could move a terminal's cursor or make a name read as another one: what `clean` replaces. */
bool cs_text_misleads(uint32_t character);

/* True when cleaning would change nothing. */
bool cs_text_is_clean(const char *text);

/* Writes the first `length` bytes of `text`, or as many as there are before a NUL, cleaned, to `out`, cut
 * between characters so that at most `size` (> 0) bytes with the NUL are used. Returns strlen(out). */
size_t cs_text_clean(char *out, size_t size, const char *text, size_t length);

/* The whole of `text`, cleaned or made valid; the caller frees it. NULL when memory is short. */
char *cs_text_cleaned(const char *text);
char *cs_text_valid(const char *text);

/* What stands behind the last slash of a path; the whole where that is nothing. */
const char *cs_base_name(const char *path);

/* How many letters must be changed, added, left out or swapped with their neighbour to make `b` of `a`. */
unsigned cs_word_distance(const char *a, const char *b);

/* Keeps the nearest of the names shown to it, a copy. */
struct cs_resembling {
    const char *word;
    char nearest[128]; /* "": none is near enough */
    unsigned distance;
};

void cs_resembling_try(struct cs_resembling *r, const char *known);
/* The same where `known` is compared and `typed` is what to type for it. */
void cs_resembling_try_as(struct cs_resembling *r, const char *known, const char *typed);
/* The same of a function, typed as it is told: f of "f.constprop.0", "n::f(int)" and "f<int>" is compared, too. */
void cs_resembling_try_function(struct cs_resembling *r, const char *typed);

/* "; did you mean NAME?" for the end of a sentence; "" where no name is near enough. */
struct cs_did_you_mean {
    char text[160];
};
struct cs_did_you_mean cs_did_you_mean(const struct cs_resembling *r);
