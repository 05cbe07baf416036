/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Foreign text made harmless: names from targets, files and kernels may hold anything. Two rules:
 *
 *   clean   for a terminal and for names: a byte that is no UTF-8 (RFC 3629), a control character, an escape, and
 *           what is invisible or turns the writing direction becomes '?'
 *   valid   for formats with escapes of their own (JSON): only broken UTF-8 is replaced, by U+FFFD
 *
 * signals/reader_names.c cleans by the same rule, in code of its own licence; a test compares the two. */
#ifndef CS_STORE_TEXT_H
#define CS_STORE_TEXT_H

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

#endif
