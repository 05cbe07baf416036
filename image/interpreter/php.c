/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PHP 8.2 without threads (NTS), as Debian builds it. A running call is a zend_execute_data; those of C functions are in the same
 * list. One run of the native loop serves several: it began with the one whose call says ZEND_CALL_TOP. A process has one list, so
 * all of its threads are said to run it. Zend/zend_compile.h, zend_globals.h. */
#include "image/interpreter/interpreter.h"

#include <stdio.h>
#include <string.h>

struct offsets {
    uint32_t version; /* major << 8 | minor */
    uint16_t current; /* executor_globals → the call that runs */
    /* a call */
    uint16_t instruction, function, call_flags, previous;
    uint32_t flag_top;
    /* a function; of the user's: also instructions, file */
    uint16_t type, name, scope, instructions, file;
    uint16_t class_name, instruction_line;
    uint16_t string_length, string_text;
};

static const struct offsets versions[] = {
    {0x0802, 488, 0, 24, 40, 48, 0x20000, 0, 8, 16, 88, 152, 8, 24, 16, 24},
};

enum { INTERNAL = 1 };

static uint64_t word(const struct cs_process_memory *memory, uint64_t addr)
{
    uint64_t value;
    return addr && memory->read(memory->arg, addr, &value, sizeof value) ? value : 0;
}

static bool open_php(uint64_t version, const uint8_t *state, size_t n, char name[32],
                     struct cs_interpreter_offsets *offsets)
{
    _Static_assert(sizeof(struct offsets) <= sizeof offsets->bytes, "room for PHP's");
    (void)state, (void)n;
    snprintf(name, 32, "PHP %u.%u", (unsigned)(version >> 24 & 0xff), (unsigned)(version >> 16 & 0xff));
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (versions[i].version == (version >> 16 & 0xffff)) {
            memcpy(offsets->bytes, &versions[i], sizeof versions[i]);
            return true;
        }
    return false;
}

static uint8_t type_of(const struct cs_process_memory *memory, const struct offsets *o, uint64_t function)
{
    uint8_t type;
    return memory->read(memory->arg, function + o->type, &type, sizeof type) ? type : INTERNAL;
}

static size_t frames_of(const struct cs_process_memory *memory, uint64_t root,
                        const struct cs_interpreter_offsets *offsets, int tid,
                        struct cs_interpreted_frame *frames, size_t room)
{
    struct offsets own;
    const struct offsets *o = memcpy(&own, offsets->bytes, sizeof own);
    uint64_t call = word(memory, root + o->current);
    size_t n = 0;
    (void)tid;
    for (size_t steps = 0; call && n < room && steps < 2 * room;
         steps++) { /* some calls have no function: generators' links */
        uint64_t function = word(memory, call + o->function), at = 0;
        uint32_t flags = (uint32_t)word(memory, call + o->call_flags);
        bool internal = function && type_of(memory, o, function) == INTERNAL;
        if (function && !internal)
            at = word(memory, call + o->instruction) - word(memory, function + o->instructions);
        if (function)
            frames[n++] = (struct cs_interpreted_frame){
                .code = function, .at = at, .entry = !internal && (flags & o->flag_top)};
        call = word(memory, call + o->previous);
    }
    return n;
}

static void text_at(const struct cs_process_memory *memory, const struct offsets *o, uint64_t string,
                    char *text, size_t room)
{
    uint64_t n = word(memory, string + o->string_length);
    n = n < room - 1 ? n : room - 1;
    text[0] = '\0';
    if (string && memory->read(memory->arg, string + o->string_text, text, n))
        text[n] = '\0';
    else
        text[0] = '\0';
}

static void name_of(const struct cs_process_memory *memory, const struct cs_interpreter_offsets *offsets,
                    const struct cs_interpreted_frame *frame, struct cs_interpreted_name *name)
{
    struct offsets own;
    const struct offsets *o = memcpy(&own, offsets->bytes, sizeof own);
    uint64_t function = word(memory, frame->code + o->name), scope = word(memory, frame->code + o->scope);
    uint32_t line = 0;
    size_t n = 0;
    *name = (struct cs_interpreted_name){.line = 0};
    if (scope) {
        text_at(memory, o, word(memory, scope + o->class_name), name->function, sizeof name->function - 3);
        n = strlen(name->function);
        memcpy(name->function + n, "::", 3);
        n += 2;
    }
    if (function)
        text_at(memory, o, function, name->function + n, sizeof name->function - n);
    else
        snprintf(name->function, sizeof name->function, "{main}"); /* as PHP's own traces say */
    if (type_of(memory, o, frame->code) == INTERNAL)
        return;
    text_at(memory, o, word(memory, frame->code + o->file), name->file, sizeof name->file);
    uint64_t instruction = word(memory, frame->code + o->instructions) + frame->at;
    if (memory->read(memory->arg, instruction + o->instruction_line, &line, sizeof line))
        name->line = line;
}

static const char *const files[] = {"php", "libphp", NULL};

const struct cs_interpreter_kind cs_interpreter_php = {
    .root = "executor_globals",
    .version_text = "X-Powered-By: PHP/",
    .loop = "execute_ex",
    .names = files,
    .open = open_php,
    .frames = frames_of,
    .name = name_of,
};
