/* SPDX-License-Identifier: MIT */
/* What the compilers' plugins do that needs nothing of the compiler: their options, which functions are wanted,
 * and the assembler text of a tag point. Only plugin.cc (GCC) and clang_plugin.cc use it.
 *
 * Files of this module:
 *   point   this
 *
 * A tag point on x86-64 is, in executables (linked with libcyclescope.a; minus the point's own offset in the
 * image),
 *
 *   1: movq  $__ehdr_start - 1b, %fs:cs_page@tpoff+1664
 *
 * in executables that use the shared library ("shared-runtime"),
 *
 *      mov   cs_line@gottpoff(%rip), %r
 *      mov   %fs:(%r), %r                      # the thread's line
 *   1: movq  $__ehdr_start - 1b, 0(%r)
 *
 * or, in code that may go into a shared object (-fPIC; the point's own address),
 *
 *      mov   cs_line@gottpoff(%rip), %r
 *      mov   %fs:(%r), %r
 *   1: lea   1b(%rip), %s
 *      mov   %s, 0(%r)
 *
 * and a record in the section .debug_cyclescope_tags, which is not loaded (24 bytes, little-endian):
 *
 *      u64 address of label 1 | u32 file | u32 function | u32 line | u16 loop | u8 depth | u8 kind
 *
 * `file` and `function` are offsets in .debug_cyclescope_str. `loop` 0 is the method itself, others number
 * the function's loops from 1. `line` is the method's or the loop's first. `kind` is enum cs_point_kind. Both
 * sections go where debug information goes (strip removes them, objcopy --only-keep-debug keeps them).
 * Without them a tag is still an address that symbols and line tables resolve. */
#ifndef CS_SIGNALS_PLUGIN_POINT_H
#define CS_SIGNALS_PLUGIN_POINT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cs_point_kind {
    CS_POINT_METHOD = 1, /* entry of a method */
    CS_POINT_LOOP = 2,   /* before the first iteration */
    CS_POINT_BACK = 3,   /* back from a call, or out of an inner loop */
};

enum cs_point_tls { CS_TLS_POINTER, CS_TLS_PAGE };

struct cs_point_options {
    bool loops;            /* else methods only */
    bool every_iteration;  /* write a loop's tag in each iteration */
    bool count_iterations; /* words 1 to 3 of the line */
    bool count_calls;
    bool count_allocations;
    bool count_points;        /* word 14: tag points passed, for measuring */
    bool shared_runtime;      /* the executable is linked with libcyclescope.so */
    unsigned min_body;        /* smaller functions are part of their caller; in the compiler's size units */
    unsigned min_loop;        /* loops known to do less work in all are part of what is around */
    unsigned short_stretch;   /* stretches up to that size between two points get no point of their own */
    const char *allow, *deny; /* comma-separated names with * and ?, or @FILE with one a line; NULL = none */
    const char *brief;        /* as allow: a profile says that they are over soon, with all that they call */
    bool strict;              /* don't take for granted that functions of other files write a tag at once */
    bool verbose;
};

/* Sets the defaults. */
void cs_point_options_init(struct cs_point_options *options);
/* One option as the compiler passes it (value may be NULL); false with a sentence in `why` if it makes no
 * sense. */
bool cs_point_option(struct cs_point_options *options, const char *key, const char *value, char *why,
                     size_t size);
/* Whether a function of that (assembler or source) name is to be instrumented. */
bool cs_point_wanted(const struct cs_point_options *options, const char *name, const char *source_name);
/* Whether a function belongs to its caller, whoever calls it: it is in `brief`. */
bool cs_point_brief(const struct cs_point_options *options, const char *name, const char *source_name);

struct cs_point {
    enum cs_point_kind kind;
    bool position_independent; /* may go into a shared object */
    enum cs_point_tls tls;
    bool tag;           /* write the tag */
    unsigned add_words; /* and/or add 1 to these words: a set of bits */
    const char *file, *function;
    unsigned line, loop, depth;
};
/* Assembler template for an asm with cs_point_registers early-clobbered register outputs %0, %1. Returns its
 * length, or 0 if it doesn't fit. */
unsigned cs_point_registers(const struct cs_point *point);
size_t cs_point_text(const struct cs_point *point, char *out, size_t size);
/* The same for LLVM's inline assembler: operands are $0 and $1 there, and a register has one %. Its length, or 0. */
size_t cs_point_text_llvm(const char *text, char *out, size_t size);
/* Whether that is the template of a method's entry that uses no register. */
bool cs_point_may_move(const char *text);

#ifdef __cplusplus
}
#endif
#endif
