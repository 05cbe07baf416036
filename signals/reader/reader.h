/* SPDX-License-Identifier: MIT */
/* The reading side of a target's signals. It opens the segment (segment.h) of a live process by PID, or of a
 * file. It gives checked copies of the contents, and addresses for an observer's plain loads. Never writes,
 * never stops or slows the target. May include segment.h and libc, nothing else of ours.
 *
 * Files of this module:
 *   reader          opening a segment, reading signals and lines
 *   reader_open     inside of the reader
 *   reader_locate   from a process to its segment
 *   reader_names    names of values
 *   reader_code     names of machine code, read from outside the segment
 *   reader_tids     thread numbers of an inner PID namespace
 *
 * The target is not trusted. Whatever bytes it holds, and however it changes them meanwhile, the reader stays
 * within its mapping. Geometry is checked once and kept in private memory, and a live segment must be sealed
 * against shrinking. The reader hands out only valid UTF-8 without control characters. That the values are
 * true, nobody can check.
 *
 *      struct cs_reader *reader;
 *      char why[CS_WHY_MAX];
 *      if (cs_reader_open_pid(pid, &reader, why) < 0)
 *          return complain(why);
 *      int phase = cs_reader_find(reader, "phase");
 *      const volatile uint64_t *word = cs_reader_word(reader, line, phase);
 *      uint64_t now = *word;                                  // as often as wanted
 *
 * Errors: a negative errno and one sentence in `why`. A reader has one owner, except that any thread may load
 * through the addresses that it gave until it is closed. */
#ifndef CS_SIGNALS_READER_H
#define CS_SIGNALS_READER_H

#include "signals/segment.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CS_WHY_MAX 320

struct cs_reader;

/* -ESRCH no such process, -ENOENT it publishes nothing, -EACCES may not look, -EBADMSG its segment makes no
 * sense. `pid` as the caller sees it; the target may live in namespaces of its own. */
int cs_reader_open_pid(pid_t pid, struct cs_reader **out, char why[CS_WHY_MAX]);
/* A copy of a segment in a file (for example `cp /proc/PID/fd/N file`); it is read whole into memory. */
int cs_reader_open_file(const char *path, struct cs_reader **out, char why[CS_WHY_MAX]);
void cs_reader_close(struct cs_reader *reader);
/* Tells a program that asks (segment.h, "Being observed") that it is observed, until the reader is closed or its process
 * ends. For whoever reads on and on; a look needs none. */
void cs_reader_announce(struct cs_reader *reader);

/* The target's PID as the caller sees it, 0 for a file. */
pid_t cs_reader_pid(const struct cs_reader *reader);

/* ---- signals ---- */

struct cs_seen_signal {
    char name[CS_SIGNAL_NAME_MAX];
    enum cs_signal_kind kind;
    unsigned word;
    bool is_address;
};
/* Signals defined so far, by word; returns their number. */
unsigned cs_reader_signals(const struct cs_reader *reader, struct cs_seen_signal out[CS_SIGNALS_MAX]);
/* Word of the signal of that name, or -ENOENT. */
int cs_reader_find(const struct cs_reader *reader, const char *name);

/* ---- threads ---- */

struct cs_seen_thread {
    uint32_t line;
    uint32_t tid;        /* in the target's PID namespace; see cs_reader_tid */
    uint32_t generation; /* of the line: the thread is (line, generation) */
    uint64_t values[CS_SIGNALS_MAX];
};
/* Number of lines ever used: lines 0 to this - 1 are worth a look. */
uint32_t cs_reader_lines(const struct cs_reader *reader);
/* Copies line `line`; false if no thread owned it during the whole copy. */
bool cs_reader_thread(const struct cs_reader *reader, uint32_t line, struct cs_seen_thread *out);
/* All live threads, at most `max`; returns how many there are. */
unsigned cs_reader_threads(const struct cs_reader *reader, struct cs_seen_thread *out, unsigned max);
/* The thread's id as the caller sees it (differs from `tid` in a PID namespace); 0 when it has ended. */
pid_t cs_reader_tid(const struct cs_reader *reader, uint32_t tid);

/* ---- for an observer's loop: addresses, valid until cs_reader_close, or NULL out of range ---- */
const volatile uint64_t *cs_reader_word(const struct cs_reader *reader, uint32_t line, unsigned word);
const volatile struct cs_segment_owner *cs_reader_owner(const struct cs_reader *reader, uint32_t line);

/* ---- what values mean ---- */

/* Address in the process of a value of an address tag (segment.h: negative ones are offsets into the main
 * executable); 0 = none, or not known. */
uint64_t cs_reader_address(const struct cs_reader *reader, uint64_t value);
/* The name registered for a value, or NULL. Valid until the next call with this reader. */
const char *cs_reader_name(struct cs_reader *reader, unsigned signal, uint64_t value);
/* Visits all registered names in order of registration (a later one of the same value holds); stops at a
 * non-zero return and returns it. -EBADMSG if the heap is damaged; those before the damage were visited. */
int cs_reader_names(struct cs_reader *reader,
                    int (*visit)(unsigned signal, uint64_t value, const char *name, void *arg), void *arg);

/* ---- names of machine code (cs_name_code), for whoever asks many processes: one descriptor each, no mapping ---- */

struct cs_code_names;
/* The PID's segment, if it is among the first 1,024 descriptors; 0 or a negative errno. What was opened can be read when
 * the process has ended. */
int cs_code_names_open(pid_t pid, struct cs_code_names **out);
/* Both are of one segment (a process has another one after an exec). */
bool cs_code_names_same(const struct cs_code_names *one, const struct cs_code_names *other);
/* Hands on what was registered since the last call, in order, until `each` says false: at most 16 MiB in all of the process's
 * life. -EBADMSG where it makes no sense; nothing behind that is read. */
int cs_code_names_read(struct cs_code_names *names,
                       bool (*each)(void *arg, uint64_t start, uint64_t size, const char *name), void *arg);
void cs_code_names_close(struct cs_code_names *names);

/* Threads and names for which the target found no room. */
uint64_t cs_reader_lines_lost(const struct cs_reader *reader);
uint64_t cs_reader_names_lost(const struct cs_reader *reader);

#endif
