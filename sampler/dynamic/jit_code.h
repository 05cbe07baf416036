/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine code of sampled methods, out of jitdump files, for reports that read instructions. It is kept in the store
 * as an ELF file whose segments lie at the methods' offsets (jit.h).
 *
 * A runtime compiles a method again and again, so one name has several codes. Samples of them must not be added up by
 * instruction. Code is that of an earlier version if it has its size and three quarters of its bytes. The other bytes
 * are addresses, which differ from run to run. Otherwise it is a version of its own, and its name ends in " (2)", "
 * (3)" and so on. What the store keeps from earlier recordings counts as an earlier version.
 *
 * Source lines are kept next to the code (store/base/kept_lines.h). When code is met again, its newest lines stay.
 *
 * Bounded in methods an image and in bytes: those that are sampled later have no code. One owner. */
#pragma once

#include "sampler/dynamic/jitdump_lines.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

#define CS_JIT_CODE_METHODS 2000u         /* of an image */
#define CS_JIT_CODE_BYTES (8u << 20)      /* of an image */
#define CS_JIT_CODE_BYTES_ALL (16u << 20) /* of all */
#define CS_JIT_CODE_IMAGES 64u
#define CS_JIT_CODE_METHOD_MAX (256u << 10) /* bytes of one method */
#define CS_JIT_CODE_VERSIONS 9u
#define CS_JIT_CODE_LINES (128u << 10)     /* rows of an image, 24 bytes each; of a method: jitdump_lines.h */
#define CS_JIT_CODE_LINES_ALL (512u << 10) /* of all */
#define CS_JIT_CODE_FILES_BYTES (64u << 10) /* names of files, of an image; further ones are "" */
#define CS_JIT_CODE_NAME_MAX 528

struct cs_jit_code;

/* `store`: the folder that keeps it; copied. */
struct cs_jit_code *cs_jit_code_open(const char *store);
void cs_jit_code_close(struct cs_jit_code *code);

/* The offset of a method by that name. */
uint64_t cs_jit_name_offset(const char *name);
/* The same of the version of it that has these bytes, which are kept, and `lines` (NULL: none) with them. `versioned` gets its
 * name. */
uint64_t cs_jit_code_offset(struct cs_jit_code *code, const struct cs_store_image *image, const char *name,
                            const uint8_t *bytes, size_t n, const struct cs_jitdump_lines *lines,
                            char versioned[CS_JIT_CODE_NAME_MAX]);
/* Puts what is new into the store. */
int cs_jit_code_save(struct cs_jit_code *code, uint64_t store_max, struct cs_error *err);

/* Adds what another store keeps of an image to what this one keeps, but for methods of names that it has code of. 0, or
 * negative errno. */
int cs_jit_code_combine(const char *to_store, const char *from_store, const char *image_id,
                        uint64_t store_max, struct cs_error *err);

/* The ELF machine that this program runs on. */
uint32_t cs_jit_code_machine(void);
