/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPython 3.11 and later. From 3.13 on an interpreter has a table of where it keeps what: _Py_DebugOffsets, at the
 * beginning of _PyRuntime, also in the file. The table is believed if it fits together. A thread's frames are a list of
 * _PyInterpreterFrame, innermost first. One run of the native loop serves several of them. It began with the frame that
 * says so (3.11: is_entry). From 3.12 on it began with the one before a frame without code that lies on the C stack. */
#include "image/interpreter/interpreter.h"
#include "image/interpreter/python_offsets.h"

#include <stdio.h>
#include <string.h>

#define NO CS_PYTHON_NO_OFFSET

static const struct cs_python_offsets versions[] = {
    {0x030b, 40, 0, 16, 8, 152, 56, 8, 32, 48, 69, 8, 68, NO, 128, 112, 72, 48, 72},
    {0x030c, 40, 0, 72, 8, 136, 56, 0, 0, 8, 70, 24, NO, 3, 128, 112, 68, 40, 56},
};

/* Where in the list that is told (8 bytes each) what is wanted stands. Include/internal/pycore_debug_offsets.h. */
struct debug_offsets_at {
    uint32_t since; /* major << 8 | minor */
    uint8_t interpreters, interpreter_next, threads;
    uint8_t thread_bytes, thread_next, current_frame, thread_id;
    uint8_t frame_bytes, frame_previous, frame_code, frame_owner;
    uint8_t code_bytes, filename, qualname, first_line;
    uint8_t object_bytes, object_type, string_bytes, string_state, string_length, string_ascii;
};
static const struct debug_offsets_at layouts[] = {
    {0x030e, 5, 8, 9, 20, 22, 24, 25, 29, 30, 31, 34, 36, 37, 39, 41, 46, 47, 73, 74, 75, 76},
    {0x030d, 5, 8, 9, 19, 21, 23, 24, 28, 29, 30, 33, 34, 35, 37, 39, 44, 45, 67, 68, 69, 70},
};
enum {
    DEBUG_OFFSETS_BYTES = 77 * 8,
    DEBUG_OFFSETS_VERSION = 1,
    DEBUG_OFFSETS_FREE_THREADED = 2,
    OWNER_OF_SHIMS = 3,    /* FRAME_OWNED_BY_CSTACK in 3.13, _BY_INTERPRETER since */
    FRAME_GLOBALS = 24,    /* not in the list */
    FRAME_BYTES_READ = 80, /* of a frame, by the handler of samples */
};

static uint64_t word(const struct cs_process_memory *memory, uint64_t addr)
{
    uint64_t value;
    return addr && memory->read(memory->arg, addr, &value, sizeof value) ? value : 0;
}

static uint8_t byte(const struct cs_process_memory *memory, uint64_t addr)
{
    uint8_t value;
    return addr && memory->read(memory->arg, addr, &value, sizeof value) ? value : 0;
}

struct debug_offsets {
    const uint8_t *bytes;
    bool fits;
};

/* An offset below `end`, else it doesn't fit. */
static uint16_t take(struct debug_offsets *list, unsigned at, uint64_t end)
{
    uint64_t value = 0;
    memcpy(&value, list->bytes + (size_t)8 * at, sizeof value);
    list->fits = list->fits && value < end && value < NO;
    return (uint16_t)value;
}

static bool open_debug_offsets(uint64_t version, const uint8_t *state, size_t n, struct cs_python_offsets *o)
{
    const struct debug_offsets_at *t = layouts, *end = layouts + sizeof layouts / sizeof *layouts;
    struct debug_offsets list = {state, true};
    uint64_t is;
    while (t < end && t->since > (version >> 16 & 0xffff))
        t++;
    if (t == end || !state || n < DEBUG_OFFSETS_BYTES || memcmp(state, "xdebugpy", 8) != 0)
        return false;
    memcpy(&is, state + (size_t)8 * DEBUG_OFFSETS_VERSION, sizeof is);
    uint64_t thread = take(&list, t->thread_bytes, NO), frame = take(&list, t->frame_bytes, NO),
             code = take(&list, t->code_bytes, NO);
    frame = frame < FRAME_BYTES_READ ? frame : FRAME_BYTES_READ;
    *o = (struct cs_python_offsets){
        .version = (uint32_t)(version >> 16 & 0xffff),
        .interpreters = take(&list, t->interpreters, NO),
        .interpreter_next = take(&list, t->interpreter_next, NO),
        .threads = take(&list, t->threads, NO),
        .thread_next = take(&list, t->thread_next, thread),
        .thread_id = take(&list, t->thread_id, thread),
        .c_frame = NO,
        .current_frame = take(&list, t->current_frame, thread),
        .frame_code = take(&list, t->frame_code, frame - 7),
        .frame_previous = take(&list, t->frame_previous, frame - 7),
        .frame_owner = take(&list, t->frame_owner, frame),
        .frame_globals = FRAME_GLOBALS,
        .frame_is_entry = NO,
        .owner_of_shims = OWNER_OF_SHIMS,
        .code_qualname = take(&list, t->qualname, code),
        .code_filename = take(&list, t->filename, code),
        .code_first_line = take(&list, t->first_line, code),
        .string_ascii = take(&list, t->string_ascii, 64),
    };
    o->string_other = o->string_ascii + 16;
    return list.fits && is == version && take(&list, DEBUG_OFFSETS_FREE_THREADED, 1) == 0 && list.fits &&
           take(&list, t->object_bytes, NO) == 16 && take(&list, t->object_type, NO) == 8 &&
           take(&list, t->string_length, NO) == 16 && take(&list, t->string_state, NO) == 32 &&
           o->string_ascii == 40 && take(&list, t->string_bytes, NO) > o->string_other;
}

static bool open_python(uint64_t version, const uint8_t *state, size_t n, char name[32],
                        struct cs_interpreter_offsets *offsets)
{
    snprintf(name, 32, "CPython %u.%u", (unsigned)(version >> 24 & 0xff), (unsigned)(version >> 16 & 0xff));
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (versions[i].version == (version >> 16 & 0xffff)) {
            offsets->python = versions[i];
            return true;
        }
    return open_debug_offsets(version, state, n, &offsets->python);
}

static char *put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    } else {
        *to++ = (char)(0xf0 | (c >> 18 & 7));
        *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    }
    return to;
}

/* PyASCIIObject: length at 16; at 32 bits: interned 2, kind 3 (bytes a character), compact 1, ascii 1. Some builds have 16 bits for
 * the first: then the byte is at most 3, which it can't be otherwise, for each string has a kind. */
static void text_at(const struct cs_process_memory *memory, const struct cs_python_offsets *o,
                    uint64_t string, char text[256])
{
    uint64_t length = word(memory, string + 16);
    uint8_t first = byte(memory, string + 32), characters[63 * 4];
    unsigned state = first > 3 ? first : (unsigned)byte(memory, string + 34) << 2, kind = state >> 2 & 7,
             ascii = state >> 6 & 1;
    char *to = text;
    *text = '\0';
    if (!string || !(state >> 5 & 1) || (kind != 1 && kind != 2 && kind != 4))
        return;
    uint64_t n = ascii ? 255 : 63; /* so many fit whatever they are */
    n = length < n ? length : n;
    if (ascii) {
        if (memory->read(memory->arg, string + o->string_ascii, text, n))
            text[n] = '\0';
        else
            *text = '\0';
        return;
    }
    if (!memory->read(memory->arg, string + o->string_other, characters, n * kind))
        return;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t c = 0;
        memcpy(&c, characters + i * kind, kind);
        to = put_utf8(to, c);
    }
    *to = '\0';
}

static void name_of(const struct cs_process_memory *memory, const struct cs_interpreter_offsets *offsets,
                    const struct cs_interpreted_frame *frame, struct cs_interpreted_name *name)
{
    const struct cs_python_offsets *o = &offsets->python;
    *name = (struct cs_interpreted_name){.first_line = 0};
    text_at(memory, o, word(memory, frame->code + o->code_qualname), name->function);
    text_at(memory, o, word(memory, frame->code + o->code_filename), name->file);
    int32_t first = 0;
    if (memory->read(memory->arg, frame->code + o->code_first_line, &first, sizeof first) && first > 0)
        name->first_line = (unsigned)first;
}

static const char *const files[] = {"python3", "libpython3", NULL};

const struct cs_interpreter_kind cs_interpreter_python = {
    .root = "_PyRuntime",
    .version = "Py_Version",
    .loop = "_PyEval_EvalFrameDefault",
    .names = files,
    .open = open_python,
    .name = name_of,
};
