/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of an image's procedures, kept from one command to the next as entries of store/base/cache.h. Reading it
 * out of symbols and frame descriptions takes milliseconds an image, looking it up here microseconds. Internal to
 * image/: procedures.c asks, nobody else.
 *
 * An entry holds for one image file and one debug file: its key has build-id, sizes and times of change.
 * Every index is checked when it is used. No failure is worth a word: the list is read again then. */
#pragma once

#include "image/file/elf.h"
#include "image/procedures/procedures.h"

struct procedure_cache;

/* NULL = no entry. `debug` may be NULL; both files must stay open as long as the entry. */
struct procedure_cache *procedure_cache_open(const struct elf_file *image, const struct elf_file *debug);
void procedure_cache_close(struct procedure_cache *cache);
size_t procedure_cache_n(const struct procedure_cache *cache);
size_t procedure_cache_n_parts(const struct procedure_cache *cache); /* of procedures with several */
/* Which procedure holds `offset`; CS_IMAGE_RANGE_NONE when none does. */
uint32_t procedure_cache_find(const struct procedure_cache *cache, uint64_t offset);

/* Procedure i but for its parts. A name that isn't in the entry or in one of the files but made of the
 * address is NULL. false: damaged. */
bool procedure_cache_get(const struct procedure_cache *cache, uint32_t i,
                         struct cs_image_procedure *procedure);
/* Of a procedure with several parts: the first one's number among all of these. */
uint32_t procedure_cache_first_part(const struct procedure_cache *cache, uint32_t i);
struct cs_image_part procedure_cache_part(const struct procedure_cache *cache, uint32_t i, unsigned part);

void procedure_cache_write(const struct procedures *p, const struct elf_file *image,
                           const struct elf_file *debug);
