/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code behind an image of the store: its bytes, its procedures, its source lines.
 *
 *      struct cs_code *code;
 *      if (cs_code_open(ref->image, store, &code, &err) < 0) ...
 *      const struct cs_procedure *p = cs_code_procedure(code, offset);     // NULL: nothing known there
 *      struct cs_frame frames[16];
 *      unsigned n = cs_code_frames(code, offset, frames, 16);              // 0: no line information
 *      cs_code_close(code);
 *
 * Offsets are the store's: ELF virtual addresses (p_vaddr space) for ELF and vDSO images, what store/store.h
 * says for the others. An image whose file is gone or was replaced (build-id differs) still opens: it then
 * has no bytes, its procedures are those that the store names, and cs_code_trouble() has the sentence that a
 * report should show.
 *
 * Opening maps the file and reads section headers only; symbols are read on the first look-up, DWARF on the
 * first cs_code_frames. Damaged files give fewer answers, never a crash. One owner a cs_code: not
 * thread-safe, because look-ups fill caches. Needs nothing above store/. */
#ifndef CS_ANALYSIS_CODE_H
#define CS_ANALYSIS_CODE_H

#include "image/isa/decode.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_code;

enum cs_procedure_source {
    CS_FROM_SYMBOL,  /* .symtab of the image or of its debug file */
    CS_FROM_DYNSYM,  /* .dynsym: exported names only */
    CS_FROM_MINI,    /* .gnu_debugdata */
    CS_FROM_PLT,     /* a stub; named after what it calls: "puts@plt" */
    CS_FROM_CFI,     /* an .eh_frame entry without a name: "sub_<hex start>" */
    CS_FROM_SECTION, /* a section without any of these: ".init" */
    CS_FROM_STORE,   /* names the store keeps (kernel, JIT, tags) */
};

struct cs_part {
    uint64_t start, size;
};

struct cs_procedure {
    const char *name; /* as the linker knows it; cs_code_demangle for people */
    uint64_t start, size;
    enum cs_procedure_source source;
    unsigned n_parts;            /* 1 + its .cold parts */
    const struct cs_part *parts; /* parts[0] is {start, size} */
};

/* One level of inlining. frames[0] is the innermost function; the line of frames[i + 1] is where it called
 * frames[i]. Strings live as long as the code. */
struct cs_frame {
    const char *function; /* linkage name where there is one, else the plain one; "" unknown */
    const char *file;     /* absolute where DWARF allows; "" unknown */
    unsigned line, column;
    unsigned discriminator; /* DWARF's, tells apart what stands on one line; of the call for frames[1…] */
    unsigned first_line;    /* where the function is declared; 0 unknown */
};

/* `store` (for names, may be NULL) is only used during the call. Fails for lack of memory only; all else is
 * cs_code_trouble(). */
int cs_code_open(const struct cs_image *image, struct cs_store *store, struct cs_code **out,
                 struct cs_error *err);
/* The same for a file of which no profile speaks: fails when it can't be read or is no ELF file. */
int cs_code_open_file(const char *path, struct cs_code **out, struct cs_error *err);
void cs_code_close(struct cs_code *code);

const char *cs_code_trouble(const struct cs_code *code);  /* one sentence, "" = none */
const char *cs_code_path(const struct cs_code *code);     /* the file that was opened, "" = none */
const char *cs_code_build_id(const struct cs_code *code); /* hex, "" = none */

/* Procedures in ascending order of start. */
size_t cs_code_procedures(struct cs_code *code);
const struct cs_procedure *cs_code_nth(struct cs_code *code, size_t i);
/* The procedure one of whose parts holds `offset`, NULL when none. */
const struct cs_procedure *cs_code_procedure(struct cs_code *code, uint64_t offset);
/* By name (mangled or demangled) or "0x…" address; NULL when there is none. `*n_found` (may be NULL) says how
 * many have that name; the i-th of them (0…) is returned. */
const struct cs_procedure *cs_code_named(struct cs_code *code, const char *name, unsigned i,
                                         unsigned *n_found);

/* The chain of inlined functions at `offset`, innermost first; returns how many were written (≤ room), 0 = no
 * line information. */
unsigned cs_code_frames(struct cs_code *code, uint64_t offset, struct cs_frame *frames, unsigned room);

/* File and line of frames[0] alone, without its function: spares the walk through a unit's functions, which
 * takes most of the time where few addresses are asked. */
bool cs_code_line(struct cs_code *code, uint64_t offset, struct cs_frame *frame);

/* The bytes from `offset` to the end of what the file has for its segment; NULL outside. `executable` (may be
 * NULL) says whether they may run. */
const uint8_t *cs_code_bytes(const struct cs_code *code, uint64_t offset, size_t *n, bool *executable);
enum cs_isa cs_code_isa(const struct cs_code *code); /* CS_ISA_NONE: no code that can be read */
/* Name of the function that the PLT stub or GOT slot at `offset` reaches; NULL when it is neither. */
const char *cs_code_import(struct cs_code *code, uint64_t offset);
/* Value that a relative relocation puts at `offset` (PIE jump tables in .data.rel.ro); false when there is
 * none. */
bool cs_code_relocated(struct cs_code *code, uint64_t offset, uint64_t *value);
/* What so many bytes (≤ 8) at `offset` hold in every process that maps the image at offset + delta: segments
 * that can't be written, and pointers that the loader sets before it write-protects them. false: not known.
 */
bool cs_code_constant(struct cs_code *code, uint64_t offset, unsigned bytes, uint64_t delta, uint64_t *value);

/* Demangles a C++ or Rust name into `room` bytes; a name that isn't mangled is copied. Returns `text`. */
char *cs_code_demangle(const char *name, char *text, size_t room);

#endif
