/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a binary is: the code behind an image of the store, its bytes, its procedures, its source lines.
 *
 * Files of this room:
 *   apart              work on a file in a child without rights
 *   code               what others ask: ties the files below together
 *   debuginfod         files that only a server still has
 *   debug_file         where else an image or its debug information lies
 *   demangle           names of C++ and Rust for people
 *   dwarf_reader       numbers of DWARF sections, within their bounds
 *   eh_frame           the records of frame descriptions
 *   elf                an ELF file, mapped
 *   give_up_rights     for a child that reads what strangers wrote
 *   go_table           Go's own table of functions
 *   identity           which image a file is: build-id, else a hash
 *   kallsyms           a list of kernel symbols
 *   line_program       the line of one address, without the whole table
 *   lines              source lines and inlined calls
 *   plt                dynamic relocations: stubs, slots, pointers
 *   procedure_cache    the list of procedures, kept between commands
 *   procedure_lookup   looking things up in that list
 *   procedures         the list, gathered from whatever tells
 *   ranges             nested address ranges
 *   segments           file offsets to addresses, for a sampler
 *   tag_points         the compiler plugin's table of tags
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
 * says for the others. An image whose file is gone or was replaced (build-id differs) still opens: it then
 * has no bytes, its procedures are those that the store names, and cs_image_trouble() has the sentence that a
 * report should show.
 *
 * Opening maps the file and reads section headers only; symbols are read on the first look-up, DWARF on the
 * first cs_image_frames_at. Damaged files give fewer answers, never a crash. One owner a cs_image_code: not
 * thread-safe, because look-ups fill caches. */
#ifndef CS_IMAGE_CODE_H
#define CS_IMAGE_CODE_H

#include "image/isa/decode.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_image_code;

enum cs_image_procedure_source {
    CS_IMAGE_FROM_SYMBOL,  /* .symtab of the image or of its debug file */
    CS_IMAGE_FROM_DYNSYM,  /* .dynsym: exported names only */
    CS_IMAGE_FROM_MINI,    /* .gnu_debugdata */
    CS_IMAGE_FROM_GO,      /* .gopclntab, which Go's programs have though they are stripped */
    CS_IMAGE_FROM_PLT,     /* a stub; named after what it calls: "puts@plt" */
    CS_IMAGE_FROM_CFI,     /* an .eh_frame entry without a name: "sub_<hex start>" */
    CS_IMAGE_FROM_SECTION, /* a section without any of these: ".init" */
    CS_IMAGE_FROM_STORE,   /* names the store keeps (kernel, JIT, tags) */
};

struct cs_image_part {
    uint64_t start, size;
};

struct cs_image_procedure {
    const char *name; /* as the linker knows it; cs_image_demangle for people */
    uint64_t start, size;
    enum cs_image_procedure_source source;
    unsigned n_parts;                  /* 1 + its .cold parts */
    const struct cs_image_part *parts; /* parts[0] is {start, size} */
};

/* One level of inlining. frames[0] is the innermost function; the line of frames[i + 1] is where it called
 * frames[i]. Strings live as long as the code. */
struct cs_image_frame {
    const char *function; /* linkage name where there is one, else the plain one; "" unknown */
    const char *file;     /* absolute where DWARF allows; "" unknown */
    unsigned line, column;
    unsigned discriminator; /* DWARF's, tells apart what stands on one line; of the call for frames[1…] */
    unsigned first_line;    /* where the function is declared; 0 unknown */
};

/* `store` (for names and kept copies of code, may be NULL) is only used during the call. Fails for lack of memory only; all else is
 * cs_image_trouble(). */
int cs_image_open(const struct cs_store_image *image, struct cs_store *store, struct cs_image_code **out,
                  struct cs_error *err);
/* The same for a file of which no profile speaks: fails when it can't be read or is no ELF file. */
int cs_image_open_file(const char *path, struct cs_image_code **out, struct cs_error *err);
/* Memory that opening this file takes for a copy of it; 0: it is mapped, or can't be opened. */
uint64_t cs_image_bytes_to_copy(const char *path);
void cs_image_close(struct cs_image_code *code);

/* What another file could tell of it. */
enum cs_image_lack { CS_IMAGE_LACKS_NOTHING, CS_IMAGE_LACKS_FILE, CS_IMAGE_LACKS_NAMES };
enum cs_image_lack cs_image_lacks(struct cs_image_code *code);

const char *cs_image_trouble(const struct cs_image_code *code);  /* one sentence, "" = none */
const char *cs_image_path(const struct cs_image_code *code);     /* the file that was opened, "" = none */
const char *cs_image_build_id(const struct cs_image_code *code); /* hex, "" = none */

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

/* File and line of frames[0] alone, without its function: spares the walk through a unit's functions, which
 * takes most of the time where few addresses are asked. */
bool cs_image_line_at(struct cs_image_code *code, uint64_t offset, struct cs_image_frame *frame);

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

/* Demangles a C++ or Rust name into `capacity` bytes; a name that isn't mangled is copied. Returns `text`. */
char *cs_image_demangle(const char *name, char *text, size_t capacity);

/* The same, shorter: of C++ without template arguments, parameters and the type that it returns. */
char *cs_image_short_name(const char *name, char *text, size_t room);

/* How well `wanted`, what somebody typed, names the symbol `name`: 3 whole (mangled or not), 2 in short or but for
 * its parameters, 1 in short without its namespaces; 0 not at all. */
int cs_image_name_fits(const char *name, const char *wanted);

/* What a caller wants kept as long as the code is open, found again by `key` (an address of the caller's own).
 * Takes `pointer` over: `destroy` frees it when the code is closed, or at once when memory is out (-ENOMEM).
 */
int cs_image_attach(struct cs_image_code *code, const void *key, void *pointer,
                    void (*destroy)(void *pointer));
void *cs_image_attached(const struct cs_image_code *code, const void *key); /* NULL: nothing */

#endif
