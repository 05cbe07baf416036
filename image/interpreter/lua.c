/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lua 5.4 (from 5.4.2 on). There is no list of threads to start from: a Lua thread (lua_State) is known only to the C
 * code that runs it. So frames are taken where a native chain is at hand (sampler/chains/lua.bpf.h). The loop,
 * luaV_execute, has no exported name. It is the largest procedure that lua_callk reaches in three direct calls, and
 * several times as large as all others.
 *
 * A function of Lua has no name. A function's name is what its caller's instructions say, as in debug.getinfo, so two
 * functions are distinguished by where they are defined. See lopcodes.h, lobject.h, ldebug.c. */
#include "image/file/eh_frame.h"
#include "image/file/elf.h"
#include "image/interpreter/interpreter.h"
#include "image/interpreter/lua_offsets.h"
#include "store/base/array.h"
#include "store/base/order.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct cs_lua_offsets versions[] = {
    {0x050402, 8, 16, 32, 40, 48, 0, 16, 32, 62, 2, 4, 32, 24, 8, 0x46},
};

/* ---- the loop ---- */

enum {
    LOOP_BYTES_MIN = 4096,
    CALLS_DEEP = 3,
    REACHED_MAX = 4096,
    PIECES_MAX = 65536,    /* a file that says it is Lua can be anything: its own has a thousand, */
    SCANNED_MAX = 2 << 20, /* and 300 KB of code */
};

struct piece {
    uint64_t start, size;
    bool reached;
};

struct pieces {
    CS_ARRAY(struct piece) list;
    size_t scanned; /* bytes */
};

static int keep_piece(uint64_t start, uint64_t size, bool continues, void *arg)
{
    struct pieces *p = arg;
    if (p->list.n >= PIECES_MAX)
        return -E2BIG;
    struct piece *piece = continues ? NULL : cs_array_add(&p->list);
    if (piece)
        *piece = (struct piece){start, size, false};
    return 0;
}

CS_ORDER(by_start, struct piece, cs_order(a->start, b->start))

static struct piece *piece_at(struct pieces *p, uint64_t start)
{
    const struct piece wanted = {.start = start};
    return cs_find(&wanted, p->list.at, p->list.n, by_start);
}

/* Calls and jumps by a 32-bit distance, wherever their bytes stand: what leads to a beginning is believed. */
static size_t reach(const struct elf_file *file, struct pieces *p, const struct piece *from,
                    struct piece **to, size_t capacity)
{
    size_t n = 0, left = 0;
    bool executable;
    const uint8_t *code = elf_file_at(file, from->start, &n, &executable);
    n = code && executable ? (n < from->size ? n : from->size) : 0;
    n = n < SCANNED_MAX - p->scanned ? n : SCANNED_MAX - p->scanned;
    p->scanned += n;
    for (size_t i = 0; i + 5 <= n && left < capacity; i++) {
        int32_t distance;
        if (code[i] != 0xe8 && code[i] != 0xe9)
            continue;
        memcpy(&distance, code + i + 1, sizeof distance);
        struct piece *piece = piece_at(p, from->start + i + 5 + (uint64_t)(int64_t)distance);
        if (!piece || piece->reached)
            continue;
        piece->reached = true;
        to[left++] = piece;
    }
    return left;
}

static bool find_loop(const struct elf_file *file, uint64_t root, uint64_t *start, uint64_t *bytes)
{
    const struct elf_section *section = elf_file_section(file, ".eh_frame");
    size_t n = 0, first = 0, n_reached = 1;
    const uint8_t *frames = section ? elf_file_contents(file, section, &n) : NULL;
    struct pieces p = {.list = {0}};
    struct piece *reached[REACHED_MAX], *largest = NULL;
    if (!frames || elf_file_isa(file) != CS_ISA_X86_64)
        return false;
    (void)cs_image_cfi_each(file->header.e_ident, frames, n, section->header.sh_addr, keep_piece, &p);
    cs_sort(p.list.at, p.list.n, by_start);
    reached[0] = piece_at(&p, root);
    for (unsigned deep = 0; reached[0] && deep < CALLS_DEEP; deep++)
        for (size_t end = n_reached; first < end; first++)
            n_reached += reach(file, &p, reached[first], reached + n_reached, REACHED_MAX - n_reached);
    for (size_t i = 0; reached[0] && i < n_reached; i++)
        if (!largest || reached[i]->size > largest->size)
            largest = reached[i];
    bool found = largest && largest->size >= LOOP_BYTES_MIN;
    if (found) {
        *start = largest->start;
        *bytes = largest->size;
    }
    cs_array_free(&p.list);
    return found;
}

static bool open_lua(uint64_t version, const uint8_t *state, size_t n, char name[32],
                     struct cs_interpreter_offsets *offsets)
{
    unsigned is = (unsigned)(version >> 8 & 0xffffff);
    (void)state, (void)n;
    snprintf(name, 32, "Lua %u.%u.%u", is >> 16, is >> 8 & 0xff, is & 0xff);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (versions[i].version >> 8 == is >> 8 && versions[i].version <= is) {
            offsets->lua = versions[i];
            return true;
        }
    return false;
}

/* ---- names ---- */

/* Of 5.4: a Proto, a string, a variable's name; all have 16 bytes in lists, and a name at 0. */
enum {
    PROTO_TYPE = 8,
    PROTO_UPVALUES_N = 16,
    PROTO_CONSTANTS_N = 20,
    PROTO_CODE_N = 24,
    PROTO_VARIABLES_N = 36,
    PROTO_FIRST_LINE = 44,
    PROTO_CONSTANTS = 56,
    PROTO_CODE = 64,
    PROTO_UPVALUES = 80,
    PROTO_VARIABLES = 104,
    PROTO_SOURCE = 112,
    PROTO_BYTES = 120,
    IS_PROTO = 10,
    STRING_SHORT_LENGTH = 11,
    STRING_LONG_LENGTH = 16,
    STRING_TEXT = 24,
    IS_SHORT = 4,
    IS_LONG = 0x14,
    INSTRUCTIONS_MAX = 4096, /* in front of a call that are looked at */
    VARIABLES_MAX = 200,
};

/* Lists of one instruction set: 5.4's. */
enum opcode {
    MOVE = 0,
    GETUPVAL = 9,
    GETTABUP = 11,
    GETTABLE = 12,
    GETI = 13,
    GETFIELD = 14,
    SETTABUP = 15,
    SETFIELD = 18,
    SELF = 20,
    MMBIN = 46,
    MMBINK = 48,
    JMP = 56,
    CALL = 68,
    TFORCALL = 76,
    EXTRAARG = 82,
};

struct instruction {
    enum opcode op;
    unsigned a, b, c;
    bool k;
};

static struct instruction decode(uint32_t word)
{
    return (struct instruction){word & 0x7f, word >> 7 & 0xff, word >> 16 & 0xff, word >> 24, word >> 15 & 1};
}

static uint64_t word_of(const uint8_t *proto, unsigned at)
{
    uint64_t value;
    memcpy(&value, proto + at, sizeof value);
    return value;
}

static uint32_t half_of(const uint8_t *proto, unsigned at)
{
    uint32_t value;
    memcpy(&value, proto + at, sizeof value);
    return value;
}

static uint64_t word(const struct cs_process_memory *memory, uint64_t addr)
{
    uint64_t value;
    return addr && memory->read(memory->arg, addr, &value, sizeof value) ? value : 0;
}

static bool read_proto(const struct cs_process_memory *memory, uint64_t addr, uint8_t proto[PROTO_BYTES])
{
    return addr && memory->read(memory->arg, addr, proto, PROTO_BYTES) && proto[PROTO_TYPE] == IS_PROTO;
}

static void text_at(const struct cs_process_memory *memory, uint64_t string, char text[256])
{
    uint8_t head[STRING_TEXT];
    text[0] = '\0';
    if (!string || !memory->read(memory->arg, string, head, sizeof head))
        return;
    uint8_t type = head[PROTO_TYPE];
    if (type != IS_SHORT && type != IS_LONG)
        return;
    uint64_t n = type == IS_SHORT ? head[STRING_SHORT_LENGTH] : word_of(head, STRING_LONG_LENGTH);
    n = n < 255 ? n : 255;
    text[memory->read(memory->arg, string + STRING_TEXT, text, n) ? n : 0] = '\0';
}

static void constant(const struct cs_process_memory *memory, const uint8_t *proto, unsigned i, char text[256])
{
    if (i < half_of(proto, PROTO_CONSTANTS_N))
        text_at(memory, word(memory, word_of(proto, PROTO_CONSTANTS) + 16 * (uint64_t)i), text);
}

static void upvalue(const struct cs_process_memory *memory, const uint8_t *proto, unsigned i, char text[256])
{
    if (i < half_of(proto, PROTO_UPVALUES_N))
        text_at(memory, word(memory, word_of(proto, PROTO_UPVALUES) + 16 * (uint64_t)i), text);
}

/* The variable that lives in a register at an instruction: variables are listed as they begin, each alive takes a register. */
static void variable(const struct cs_process_memory *memory, const uint8_t *proto, unsigned reg, size_t at,
                     char text[256])
{
    uint32_t n = half_of(proto, PROTO_VARIABLES_N);
    for (uint32_t i = 0; i < n && i < VARIABLES_MAX; i++) {
        uint8_t entry[16];
        if (!memory->read(memory->arg, word_of(proto, PROTO_VARIABLES) + 16 * (uint64_t)i, entry,
                          sizeof entry) ||
            half_of(entry, 8) > at)
            return;
        if (at < half_of(entry, 12) && reg-- == 0) {
            text_at(memory, word_of(entry, 0), text);
            return;
        }
    }
}

/* Who wrote the register before `at`, if one instruction did that whichever way was taken; `n`: none. */
static size_t writer(const uint32_t *code, size_t at, unsigned reg)
{
    size_t last = at;
    while (last-- > 0) {
        struct instruction i = decode(code[last]);
        if (i.op != JMP && i.op != EXTRAARG && i.a == reg)
            break;
    }
    for (size_t i = 0; last < at && i < last; i++)
        if (decode(code[i]).op == JMP) {
            int64_t to = (int64_t)i + 1 + (int64_t)(code[i] >> 7) - 0xffffff;
            if (to > (int64_t)last && to <= (int64_t)at)
                return at;
        }
    return last < at ? last : at;
}

/* What the instruction at `at` takes from where it calls: the name there. */
static void name_of_call(const struct cs_process_memory *memory, const uint8_t *proto, const uint32_t *code,
                         size_t at, char text[256])
{
    struct instruction call = decode(code[at]);
    if (call.op == SELF || (call.op >= GETTABUP && call.op <= GETFIELD)) {
        snprintf(text, 256, "index");
    } else if (call.op >= SETTABUP && call.op <= SETFIELD) {
        snprintf(text, 256, "newindex");
    } else if (call.op >= MMBIN && call.op <= MMBINK) {
        static const char *const events[] = {"add",  "sub",  "mul", "mod",  "pow", "div",
                                             "idiv", "band", "bor", "bxor", "shl", "shr"};
        if (call.c - 6 < sizeof events / sizeof *events)
            snprintf(text, 256, "%s", events[call.c - 6]);
    } else if (call.op == TFORCALL) {
        snprintf(text, 256, "for iterator");
    }
    if (call.op != CALL)
        return;
    size_t from = writer(code, at, call.a);
    struct instruction i = decode(code[from]);
    if (from == at)
        return;
    if (i.op == MOVE && i.b < i.a)
        variable(memory, proto, i.b, from, text);
    else if (i.op == GETUPVAL)
        upvalue(memory, proto, i.b, text);
    else if (i.op == GETTABUP || i.op == GETFIELD || (i.op == SELF && i.k))
        constant(memory, proto, i.c, text);
}

static void name_by_caller(const struct cs_process_memory *memory, const struct cs_interpreted_frame *frame,
                           char text[256])
{
    uint8_t proto[PROTO_BYTES];
    static const size_t instruction = sizeof(uint32_t);
    if (!read_proto(memory, frame->caller, proto))
        return;
    uint64_t n = half_of(proto, PROTO_CODE_N), begin = word_of(proto, PROTO_CODE),
             at = (frame->caller_at - begin) / instruction - 1;
    if (frame->caller_at <= begin || at >= n || at >= INSTRUCTIONS_MAX)
        return;
    uint32_t code[INSTRUCTIONS_MAX];
    if (memory->read(memory->arg, begin, code, (at + 1) * instruction))
        name_of_call(memory, proto, code, at, text);
}

/* As luaO_chunkid shows it: a file, what the program chose, or text that was compiled. */
static void file_of(const char *source, char file[256])
{
    size_t length = strcspn(source, "\n");
    if (*source == '@' || *source == '=')
        snprintf(file, 256, "%s", source + 1);
    else
        snprintf(file, 256, "[string \"%.*s\"]", length < 200 ? (int)length : 200, source);
}

static void name_of(const struct cs_process_memory *memory, const struct cs_interpreter_offsets *offsets,
                    const struct cs_interpreted_frame *frame, struct cs_interpreted_name *name)
{
    uint8_t proto[PROTO_BYTES];
    char source[256];
    (void)offsets;
    *name = (struct cs_interpreted_name){.first_line = 0};
    if (!read_proto(memory, frame->code, proto))
        return;
    name->first_line = half_of(proto, PROTO_FIRST_LINE);
    text_at(memory, word_of(proto, PROTO_SOURCE), source);
    if (*source)
        file_of(source, name->file);
    if (name->first_line)
        name_by_caller(memory, frame, name->function);
    if (!name->function[0])
        snprintf(name->function, sizeof name->function, "%s", name->first_line ? "function" : "main chunk");
}

static const char *const files[] = {"lua", "liblua", NULL};

const struct cs_interpreter_kind cs_interpreter_lua = {
    .root = "lua_callk",
    .version_text = "$LuaVersion: Lua ",
    .loop = "luaV_execute",
    .names = files,
    .named_by_caller = true,
    .open = open_lua,
    .find_loop = find_loop,
    .name = name_of,
};
