/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands for people to paste: "cyclescope calc 'f(int)' --store x". The names in them come from programs,
 * files and other machines. Pasted into a shell a hint runs that command and nothing else, or it isn't there.
 * Pure.
 *
 * A word that a shell may read in another way is put in single quotes (POSIX; a quote in it as '\\''). A word
 * that isn't clean text (store/base/text.h) can't be pasted as it is seen, and one that begins with - would be an
 * option. Both are refused, and the hint with them. */
#pragma once

/* "cyclescope SUBCOMMAND OPERAND OPTION VALUE"; operand NULL = none, value NULL = neither it nor the option.
 * The caller frees it; NULL where a word is refused. */
char *hint_command(const char *subcommand, const char *operand, const char *option, const char *value);

/* `word` as a shell takes it for one word, itself; NULL where it is refused. The caller frees it. */
char *hint_word(const char *word);
