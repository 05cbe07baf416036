/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files without section headers: sstrip, packers, images dumped from memory. The loader needs segments only, and they
 * say where code, exported names and frame descriptions lie. Those become sections here, so that all else reads them as
 * ever. */
#pragma once

#include <stddef.h>

/* A copy of the file with section headers behind it, malloc'ed; NULL: it has some, or no dynamic segment, or isn't little-endian
 * and of 64 bits. */
char *cs_elf_with_sections(const char *bytes, size_t n, size_t *n_made);
