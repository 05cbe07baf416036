/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the address tags of a process mean: which image, method, loop and source line. Learns where images lie
 * while the process lives (addresses_read_mappings), opens their files when a value is asked for.
 *
 *      struct addresses *a = addresses_open();
 *      addresses_read_mappings(a, pid);                        // and again, as code may be loaded later
 *      addresses_of(a, reader);
 *      puts(addresses_text(a, value));                // "compress_block loop 3 (compress.c:412)"
 *      addresses_close(a);
 *
 * Every region (method or loop) has one *standing* value, whatever point of it wrote the tag, and wherever
 * its image lay in this run. It is minus its offset in the main executable, else 2^62 plus a hash of image
 * and offset. What is no address of a mapped file stands for itself. */
#pragma once

#include "signals/reader/reader.h"
#include "store/store.h"

struct addresses;

/* NULL: no memory. All functions take NULL and then know nothing. */
struct addresses *addresses_open(void);
void addresses_close(struct addresses *a);
/* Reads the process's mappings, if it still lives. */
void addresses_read_mappings(struct addresses *a, pid_t pid);
/* Where its main executable lies. */
void addresses_of(struct addresses *a, const struct cs_reader *reader);

/* `value` as the process wrote it, or a standing value that was given out. */
uint64_t addresses_standing(struct addresses *a, uint64_t value);
/* NULL: not known. Lives as long as `a`. */
const char *addresses_text(struct addresses *a, uint64_t value);
/* The point that stands for the region; false where the value lies in no image. Strings live as long as `a`.
 */
bool addresses_place(struct addresses *a, uint64_t value, struct cs_store_image *image, uint64_t *offset);
