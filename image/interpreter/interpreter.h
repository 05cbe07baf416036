/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of interpreted programs, read from the interpreter's own structures in a process's memory, and merged with
 * native chains.
 *
 * Files of this module:
 *   interpreter        finds the interpreter of an image; merges
 *   lua                Lua's loop and names; its frames are taken by the handler of samples alone
 *   lua_offsets        where Lua keeps what
 *   python             CPython's frames and names
 *   php                PHP's
 *   python_offsets     where CPython keeps what: a table by version
 *
 *     struct cs_interpreter *python;
 *     if (cs_interpreter_open("/proc/42/root/usr/bin/python3.11", load_bias, &memory, &python, &err) == 0) {
 *         n = cs_interpreter_frames(python, tid, frames, 256);     // innermost first
 *         cs_interpreter_name(python, &frames[0], &name);          // "Store.get", "store.py", 17
 *     }
 *
 * An interpreter is one file with a struct cs_interpreter_kind, and a table of offsets by version. What is read is
 * hostile: every loop has a bound, every pointer is an address to ask for, nothing else. The process may run meanwhile.
 * A caller that needs a consistent chain stops the thread. Any thread, one owner a cs_interpreter. */
#ifndef CS_IMAGE_INTERPRETER_INTERPRETER_H
#define CS_IMAGE_INTERPRETER_INTERPRETER_H

#include "image/file/apart.h"
#include "image/interpreter/lua_offsets.h"
#include "image/interpreter/python_offsets.h"
#include "image/process_memory.h"
#include "store/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_interpreted_frame {
    uint64_t code; /* address of what is run (a code object) */
    uint64_t at;   /* how far in it, in bytes */
    bool entry;    /* the native frame of the interpreter's loop began with this one */
    /* Of kinds that are `named_by_caller`: the code that called it, and the address where it goes on; 0: unknown. */
    uint64_t caller, caller_at;
};

struct cs_interpreted_name {
    char function[256], file[256]; /* "" unknown; UTF-8, cut where too long */
    unsigned line, first_line;     /* of the frame, of the function; 0 unknown */
};

struct cs_interpreter;
struct cs_interpreter_kind;
struct elf_file;

/* Where a version keeps what: the kind's own, plain bytes. */
struct cs_interpreter_offsets {
    union {
        struct cs_python_offsets python;
        struct cs_lua_offsets lua;
        unsigned char bytes[64];
    };
};

/* What an interpreter's file tells: ELF virtual addresses. */
struct cs_interpreter_place {
    const struct cs_interpreter_kind *kind;
    struct cs_interpreter_offsets offsets;
    uint64_t root, loop, loop_bytes;
    char version[32]; /* "CPython 3.11" */
};
/* By its name alone: may a file be an interpreter? */
bool cs_interpreter_may_be(const char *path);
/* -ENOENT and no sentence: it isn't. Else fails when it is of a version that isn't known here. */
int cs_interpreter_find(const char *path, struct cs_interpreter_place *place, struct cs_error *err);
/* The same without waiting: a child begins with the file behind `fd`, which the caller may close. 0 or negative errno. */
int cs_interpreter_ask(struct cs_apart *child, int fd);
/* 0: it is still at work. 1: `place` is filled. Else as above; `path` is for the sentence. Then the child has ended. */
int cs_interpreter_answer(struct cs_apart *child, const char *path, struct cs_interpreter_place *place,
                          struct cs_error *err);

/* `bias`: what is added to an ELF virtual address for one of the process. -ENOENT and no sentence: there is no interpreter in that
 * image. Else fails when it is of a version that isn't known here. `memory` is copied. */
int cs_interpreter_open(const char *path, uint64_t bias, const struct cs_process_memory *memory,
                        struct cs_interpreter **out, struct cs_error *err);
void cs_interpreter_close(struct cs_interpreter *interpreter);

/* "CPython 3.11" */
const char *cs_interpreter_version(const struct cs_interpreter *interpreter);
/* Is this address of the process in the interpreter's loop? */
bool cs_interpreter_is_loop(const struct cs_interpreter *interpreter, uint64_t pc);
/* Of one thread, by its kernel id; 0: it runs nothing interpreted, or the kind's frames can't be found so. */
size_t cs_interpreter_frames(const struct cs_interpreter *interpreter, int tid,
                             struct cs_interpreted_frame *frames, size_t room);
void cs_interpreter_name(const struct cs_interpreter *interpreter, const struct cs_interpreted_frame *frame,
                         struct cs_interpreted_name *name);

/* A native chain with interpreted frames in the places of the loop's, innermost first. Each of the loop's native frames is replaced
 * by those frames up to the next entry. `pcs[i]` as cs_unwind_chain gives them. Returns how many; `*fits` says that there are as many
 * entries as runs of the loop, or one less: a run that has just begun or is about to end. */
struct cs_merged_frame {
    uint64_t pc;                                    /* native, where `interpreted` is NULL */
    const struct cs_interpreted_frame *interpreted; /* into `frames` */
};
size_t cs_interpreter_merge(const struct cs_interpreter *interpreter, const uint64_t *pcs, size_t n_pcs,
                            const struct cs_interpreted_frame *frames, size_t n_frames,
                            struct cs_merged_frame *merged, size_t room, bool *fits);

/* What a file of an interpreter gives. */
struct cs_interpreter_kind {
    const char *root; /* symbol of its state, which tells that it is one */
    const char *
        version; /* symbol of a constant that holds its version (8 bytes: major << 24 | minor << 16 | patch << 8), or: */
    const char *version_text; /* what stands in the file before "major.minor.patch" */
    const char *loop;         /* procedure that stands for interpreted frames */
    const char *const *names; /* of files, how they begin; NULL ends them */
    bool named_by_caller;     /* a function's name isn't its own: what tells two apart is where they begin */
    /* The version's name, and `offsets` for the calls below; false: not known. `state`: `n` bytes of the file at the root. */
    bool (*open)(uint64_t version, const uint8_t *state, size_t n, char name[32],
                 struct cs_interpreter_offsets *offsets);
    /* Where `loop` is if no symbol says so; may be NULL. */
    bool (*find_loop)(const struct elf_file *file, uint64_t root, uint64_t *start, uint64_t *bytes);
    /* NULL: only a native chain leads to them. */
    size_t (*frames)(const struct cs_process_memory *memory, uint64_t root,
                     const struct cs_interpreter_offsets *offsets, int tid,
                     struct cs_interpreted_frame *frames, size_t room);
    void (*name)(const struct cs_process_memory *memory, const struct cs_interpreter_offsets *offsets,
                 const struct cs_interpreted_frame *frame, struct cs_interpreted_name *name);
};
extern const struct cs_interpreter_kind cs_interpreter_python, cs_interpreter_php, cs_interpreter_lua;

#endif
