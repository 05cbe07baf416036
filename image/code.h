/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a binary is: the code behind an image of the store, its bytes, its procedures, its source lines.
 *
 * Files of this module:
 *   code               what others ask: ties the rooms below together
 *   charged            which instruction took the time of a sample
 *   demangle           names of C++, Rust and D for people
 *   shared_code        opened and unpacked once for all that reads a store
 *   process_memory     the memory of a process, however it is read
 *   thread_variable    where a thread-local variable of a process lies
 *   variable           where a variable of static storage lies
 *
 *      struct cs_image_code *code;
 *      if (cs_image_open(ref->image, store, &code, &err) < 0) ...
 *      const struct cs_image_procedure *p = cs_image_procedure_at(code, offset); // NULL: nothing known there
 *      struct cs_image_frame frames[16];
 *      unsigned n = cs_image_frames_at(code, offset, frames, 16); // 0: no line information
 *      cs_image_close(code);
 *
 * Offsets are the store's: ELF virtual addresses (p_vaddr space) for ELF and vDSO images, what store/store.h
 * says for the others. An image whose file is gone or was replaced (build-id differs) still opens. It then
 * has no bytes, and its procedures are those that the store names. The function cs_image_trouble() has the
 * sentence that a report should show.
 *
 * Opening maps the file and reads section headers only; symbols are read on the first look-up, DWARF on the
 * first cs_image_frames_at. Damaged files give fewer answers, never a crash. One owner a cs_image_code: not
 * thread-safe, because look-ups fill caches. */
#pragma once

#include "image/debug/frame.h"
#include "image/file/debuginfod.h"
#include "image/isa/decode.h"
#include "image/procedures/procedure.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_image_code;

/* `store` (for names and kept copies of code, may be NULL) is only used during the call. Fails for lack of memory only; all else is
 * cs_image_trouble(). */
int cs_image_open(const struct cs_store_image *image, struct cs_store *store, struct cs_image_code **out,
                  struct cs_error *err);
/* The same for a file of which no profile speaks: fails when it can't be read or is no ELF file. */
int cs_image_open_file(const char *path, struct cs_image_code **out, struct cs_error *err);
/* Memory that opening this file takes for a copy of it; 0: it is mapped, or can't be opened. */
uint64_t cs_image_bytes_to_copy(const char *path);
void cs_image_close(struct cs_image_code *code);
/* Memory that its files and their unpacked debug information take. */
uint64_t cs_image_bytes_held(const struct cs_image_code *code);
/* For another part of its owner's work: closed once more. */
struct cs_image_code *cs_image_share(struct cs_image_code *code);

/* What another file could tell of it: see cs_debuginfod_ask. */
enum cs_image_lack cs_image_lacks(struct cs_image_code *code);

const char *cs_image_trouble(const struct cs_image_code *code); /* one sentence, "" = none */
const char *cs_image_path(const struct cs_image_code *code);    /* the file that was opened, "" = none */

/* Bytes of the section of that name, as they are in the file; NULL: there is none. */
const uint8_t *cs_image_section(const struct cs_image_code *code, const char *name, size_t *n);

/* Procedures in ascending order of start. */
size_t cs_image_procedures(struct cs_image_code *code);
const struct cs_image_procedure *cs_image_procedure_nth(struct cs_image_code *code, size_t i);
/* Its place in that order. */
size_t cs_image_procedure_index(const struct cs_image_code *code, const struct cs_image_procedure *procedure);
/* The procedure one of whose parts holds `offset`, NULL when none. */
const struct cs_image_procedure *cs_image_procedure_at(struct cs_image_code *code, uint64_t offset);
/* By name (mangled or demangled) or "0x…" address; NULL when there is none. `*n_found` (may be NULL) says how
 * many have that name; the i-th of them (0…) is returned. */
const struct cs_image_procedure *cs_image_procedure_named(struct cs_image_code *code, const char *name,
                                                          unsigned i, unsigned *n_found);

/* The chain of inlined functions at `offset`, innermost first; returns how many were written (≤ room), 0 = no
 * line information. */
unsigned cs_image_frames_at(struct cs_image_code *code, uint64_t offset, struct cs_image_frame *frames,
                            unsigned capacity);

/* Whether these questions have answers at all. */
bool cs_image_has_lines(struct cs_image_code *code);
/* After some of these questions: a sentence for the reader, if split debug information wasn't found; else false. */
bool cs_image_lacks_inlines(const struct cs_image_code *code, char *sentence, size_t capacity);

/* File and line of frames[0] alone, without its function: spares the walk through a unit's functions, which
 * takes most of the time where few addresses are asked. */
bool cs_image_line_at(struct cs_image_code *code, uint64_t offset, struct cs_image_frame *frame);

/* The instruction that took the time of a sample at `offset`: an interrupt finds a thread at the one after it. That is the
 * one before in the basic block (by direct branches). `offset` itself where a block begins there, or code can't be read.
 * Ask in ascending order: each procedure is decoded when it differs from the last one asked for. */
uint64_t cs_image_charged(struct cs_image_code *code, uint64_t offset);

/* The bytes from `offset` to the end of what the file has for its segment; NULL outside. `executable` (may be
 * NULL) says whether they may run. */
const uint8_t *cs_image_bytes_at(const struct cs_image_code *code, uint64_t offset, size_t *n,
                                 bool *executable);
enum cs_isa cs_image_isa(const struct cs_image_code *code); /* CS_ISA_NONE: no code that can be read */
/* Name of the function that the PLT stub or GOT slot at `offset` reaches; NULL when it is neither. */
const char *cs_image_import_at(struct cs_image_code *code, uint64_t offset);
/* Value that a relative relocation puts at `offset` (PIE jump tables in .data.rel.ro); false when there is
 * none. */
bool cs_image_relocated_at(struct cs_image_code *code, uint64_t offset, uint64_t *value);
/* What so many bytes (≤ 8) at `offset` hold in every process that maps the image at offset + delta: segments
 * that can't be written, and pointers that the loader sets before it write-protects them. false: not known.
 */
bool cs_image_constant_at(struct cs_image_code *code, uint64_t offset, unsigned bytes, uint64_t delta,
                          uint64_t *value);

/* Room for any readable name but monsters: who writes names for others to merge takes it. */
#define CS_IMAGE_NAME_MAX 8192
/* Demangles a name of C++, Rust or D into `capacity` bytes; a name that isn't mangled is copied. One that has no room ends
 * with a number made of the whole, so that two names stay two. Returns `text`. */
char *cs_image_demangle(const char *name, char *text, size_t capacity);

/* The same, shorter: of C++ without template arguments, parameters and the type that it returns. */
char *cs_image_short_name(const char *name, char *text, size_t room);
/* Bytes of a JIT method's name without the number of its version, " (2)" to " (9)" (sampler/dynamic/jit_code.h): in each
 * recording other codes have the same number. */
size_t cs_image_unversioned_bytes(const char *name);

/* Whether `name` is what a JIT compiler calls the function `wanted`: "JS:*wanted /srv/a.js:1:2", "JIT$wanted". */
bool cs_image_script_name_is(const char *name, const char *wanted);
/* How well `wanted`, what somebody typed, names the symbol `name`: 3 whole (mangled or not), 2 in short or but for
 * its parameters, 1 in short without its namespaces; 0 not at all. */
int cs_image_name_fits(const char *name, const char *wanted);

/* What a caller wants kept as long as the code is open, found again by `key` (an address of the caller's own).
 * Takes `pointer` over: `destroy` frees it when the code is closed, or at once when memory is out (-ENOMEM).
 */
int cs_image_attach(struct cs_image_code *code, const void *key, void *pointer,
                    void (*destroy)(void *pointer));
void *cs_image_attached(const struct cs_image_code *code, const void *key); /* NULL: nothing */
