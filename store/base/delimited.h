/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts inside CSV (RFC 4180) and JSON (RFC 8259). A field of CSV is quoted only where it must be. A JSON string gets
 * its quotes always, and U+FFFD for what is no UTF-8. What could mislead (store/base/text.h) is escaped, so that it is
 * exact and yet harmless on a terminal. Nothing is cut.
 *
 * A CSV name is a text from outside. CSV has no escapes, so it is cleaned. Where a spreadsheet would take it
 * for a formula (it begins with = + - @) an apostrophe is put before it. A number stays as it is. */
#pragma once

#include <stdio.h>

/* Failures are found by ferror(). */
void cs_csv_name(FILE *to, const char *text);
void cs_json_string(FILE *to, const char *text);
/* `n` bytes of a JSON text that is valid already, its misleading characters escaped: they are only found in
 * strings. */
void cs_json_harmless(FILE *to, const char *text, size_t n);
