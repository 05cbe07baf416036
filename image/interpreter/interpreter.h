/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interpreter in a file, and names of its functions in a process's memory. The handler of samples walks the
 * frames (sampler/chains/python.bpf.h, lua.bpf.h).
 *
 * Files of this module:
 *   interpreter        finds the interpreter of an image
 *   lua                Lua's loop and names
 *   lua_offsets        where Lua keeps what
 *   python             CPython's names
 *   python_offsets     where CPython keeps what: a table by version
 *
 * An interpreter is one file with a struct cs_interpreter_kind, and a table of offsets by version. What is read is
 * hostile: every loop has a bound, every pointer is an address to ask for, nothing else. The process may run meanwhile.
 * Any thread. */
#pragma once

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
    /* Of kinds that are `named_by_caller`: the code that called it, and the address where it goes on; 0: unknown. */
    uint64_t caller, caller_at;
};

struct cs_interpreted_name {
    char function[256], file[256]; /* "" unknown; UTF-8, cut where too long */
    unsigned first_line;           /* 0 unknown */
};

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
/* A child begins with the file behind `fd`, which the caller may close. 0 or negative errno. */
int cs_interpreter_ask(struct cs_apart *child, int fd);
/* 0: it is still at work. 1: `place` is filled. -ENOENT and no sentence: it is no interpreter. Else it is of a version
 * that isn't known here; `path` is for the sentence. Then the child has ended. */
int cs_interpreter_answer(struct cs_apart *child, const char *path, struct cs_interpreter_place *place,
                          struct cs_error *err);

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
    void (*name)(const struct cs_process_memory *memory, const struct cs_interpreter_offsets *offsets,
                 const struct cs_interpreted_frame *frame, struct cs_interpreted_name *name);
};
extern const struct cs_interpreter_kind cs_interpreter_python, cs_interpreter_lua;
