/* SPDX-License-Identifier: MIT */
/* cyclescope.h: say what your program is doing, for the price of one store.
 *
 * A *signal* is a 64-bit word that each thread keeps up to date in a cache line of its own. A *tag* says what
 * runs now (a method, a loop, a phase, a request's kind); a *counter* only grows (bytes allocated,
 * iterations). Another process (`cyclescope observe -p PID`, `cyclescope signals -p PID`) reads the line from
 * the CPU next door while the program runs on. Nothing here waits for it, asks it, or knows whether it is
 * there.
 *
 *      #include <cyclescope.h>                      // link with -lcyclescope, or libcyclescope.a
 *
 *      enum { PARSE = 1, PLAN, RUN };
 *      static cs_signal phase, rows;
 *
 *      int main(void)
 *      {
 *          phase = cs_define(CS_ANY_WORD, "phase", CS_TAG);
 *          rows  = cs_define(CS_ANY_WORD, "rows", CS_COUNTER);
 *          cs_name(phase, PARSE, "parse");
 *          cs_name(phase, RUN, "run");
 *          cs_set(phase, PARSE);                    // one store
 *          ...
 *          {
 *              CS_SCOPE(phase, RUN);                // RUN until the block is left, then what it was
 *              cs_add(rows, 1);                     // one add to memory
 *          }
 *      }
 *
 * What a set costs: `mov value, 8*word(line)`, where `line` is one load of a thread-local pointer that the
 * compiler hoists. One more load where `signal` is a variable. Give cs_define a word of your choice (4 to 14)
 * and a constant to cs_set, and that load goes away too. Cycles are in docs/signals.md.
 *
 * Nothing here can hurt the program. No segment, no permission, no memory, no /proc, more than 8192 threads,
 * all words taken: the same stores go to memory that nobody reads. Functions return a negative errno for
 * callers who check it. All may be ignored. Nothing prints, exits, installs a signal handler or starts a
 * thread. It holds one file descriptor (close-on-exec); a program that closes all descriptors may close it
 * too.
 *
 * Threads. The line of a thread appears when it starts, if the library was linked with the program (it wraps
 * pthread_create and thrd_create). It is given back when the thread ends. In a program that loads the
 * library with dlopen, threads attach themselves by cs_attach() or by any other function here but the inline
 * ones. Until then their stores go to a line that nobody reads. A fully static program links
 * libcyclescope-static.a with -Wl,--wrap=pthread_create.
 *
 * fork: the child gets a segment of its own at the same addresses; lines, words and names are what they were
 * in the parent. (Not after vfork, which shares, nor _Fork or a raw clone, which go on writing the parent's
 * line.) exec: the segment is gone. The new program makes its own. Several copies of the library in a process
 * (static and shared) share one segment. Set-uid and set-gid programs publish nothing. Readers: processes
 * that may ptrace the program, which are its owner's, and root's, from the same or an outer container.
 *
 *      function                 thread-safe   in a signal handler   blocks
 *      cs_set cs_add cs_get     own line      yes                   never
 *      cs_attach                yes           no                    another attach, define or name
 *      cs_define cs_name        yes           no                    another attach, define or name
 *      cs_name_code             yes           no                    another attach, define or name
 *
 * CYCLESCOPE_SIGNALS=off in the environment: publish nothing. */
#ifndef CYCLESCOPE_H
#define CYCLESCOPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A signal is the index of its word in the line. */
typedef unsigned cs_signal;

#define CS_ANY_WORD 0xffffffffu
/* Words with a meaning of their own: compiled-in tags and counters (GCC plugin, trace-pc). */
#define CS_WORD_CODE 0u        /* tag: address of the method or loop that runs */
#define CS_WORD_ITERATIONS 1u  /* counter: loop iterations */
#define CS_WORD_CALLS 2u       /* counter: methods entered */
#define CS_WORD_ALLOCATIONS 3u /* counter: allocations */
#define CS_WORD_SCRAP 15u      /* where a signal that could not be defined is written */

/* Kinds; CS_ADDRESS may be added to CS_TAG: values are addresses in this process. */
#define CS_TAG 1u
#define CS_COUNTER 2u
#define CS_ADDRESS 0x100u

#define CS_API __attribute__((visibility("default")))
#define CS_HOT static inline __attribute__((always_inline, unused, no_instrument_function))

/* This thread's line. Always valid; use the functions below. */
extern CS_API __thread volatile uint64_t *cs_line __attribute__((tls_model("initial-exec")));

/* The same line as a page of the thread's own storage, for executables linked with libcyclescope.a: define
 * CS_EXECUTABLE before including this header, and a set of a constant signal is one instruction, no load. */
struct cs_page {
    char before[1664];
    volatile uint64_t line[16];
    char after[4096 - 1664 - 16 * 8];
};
#ifdef CS_EXECUTABLE
extern __thread struct cs_page cs_page __attribute__((tls_model("local-exec")));
#define CS_LINE cs_page.line
#else
#define CS_LINE cs_line
#endif

/* ---- hot: inline, one store each ---- */

/* From now on this thread does `value`. */
CS_HOT void cs_set(cs_signal signal, uint64_t value)
{
    CS_LINE[signal] = value;
}

/* Adds to this thread's counter; one instruction on x86-64, so that a signal handler's adds are not lost. */
CS_HOT void cs_add(cs_signal signal, uint64_t n)
{
#if defined(__x86_64__)
    __asm__ volatile("addq %1, %0" : "+m"(CS_LINE[signal]) : "er"(n) : "cc");
#else
    CS_LINE[signal] = CS_LINE[signal] + n;
#endif
}

CS_HOT uint64_t cs_get(cs_signal signal)
{
    return CS_LINE[signal];
}

/* Sets until the enclosing block is left (return, break, goto, C++ exception, thread cancellation; not
 * longjmp), then restores what it was: a load and two stores. */
#define CS_SCOPE(signal, value) CS_SCOPE_AT(signal, value, __LINE__)
#define CS_SCOPE_AT(signal, value, line) CS_SCOPE_NAMED(signal, value, line)
#define CS_SCOPE_NAMED(signal, value, line)                                                                  \
    __attribute__((cleanup(cs_scope_leave), unused)) struct cs_scope cs_scope_##line =                       \
        cs_scope_enter(signal, value)

struct cs_scope {
    cs_signal signal;
    uint64_t before;
};
CS_HOT struct cs_scope cs_scope_enter(cs_signal signal, uint64_t value)
{
    struct cs_scope scope = {signal, CS_LINE[signal]};
    CS_LINE[signal] = value;
    return scope;
}
CS_HOT void cs_scope_leave(struct cs_scope *scope)
{
    CS_LINE[scope->signal] = scope->before;
}

/* ---- cold: each of these also attaches the calling thread ---- */

/* Makes the segment, unless that happened already (the library does it when it is loaded). 0, or why nothing
 * is published: -EACCES set-uid, -ECANCELED switched off by the environment, -ENOSYS and others from the
 * kernel. */
CS_API int cs_open(void);

/* Defines a signal: `word` 0 to 14 or CS_ANY_WORD (one of 4 to 14), `name` UTF-8 of at most 47 bytes, `kind`
 * CS_TAG or CS_COUNTER. The same name and kind again gives the same signal. Returns it, or CS_WORD_SCRAP when
 * words or names collide or nothing is free; setting that is harmless. */
CS_API cs_signal cs_define(cs_signal word, const char *name, unsigned kind);

/* Names a value of a tag; any time, any thread, as often as wanted (the last one holds). `name` is copied.
 * 0, -EINVAL, -ENOSPC when 16 MiB of names are there, or why nothing is published. About 0.1 us. */
CS_API int cs_name(cs_signal signal, uint64_t value, const char *name);

/* The same for a value that stands for machine code made at run time: `cyclescope record` calls samples in the
 * `bytes` from `code` on (less than 16 MiB) by this name, too. A value may have several pieces of code. Where
 * pieces overlap the one named last holds, so what is moved, or reuses freed memory, is named again. Name it
 * before it runs. Also -EINVAL without code. */
CS_API int cs_name_code(cs_signal signal, uint64_t value, const char *name, const void *code, size_t bytes);

/* Attaches this thread, if it isn't. Returns its line: stays valid, also in a forked child, until the thread
 * ends. What a JIT compiler stores into: the address may be a constant of code that one thread runs. */
CS_API volatile uint64_t *cs_attach(void);

#ifdef __cplusplus
}
#endif
#endif
