/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/profile/called/called_place.h"
#include "cli/profile/called/chain_line.h"

#include <stdio.h>
#include <string.h>

#define FRAMES_MAX 16
#define NONE CALLED_NONE

static uint32_t add_line(struct called *c, struct called_line line, const char *file)
{
    uint32_t i = 0;
    while (i < c->n_lines && (c->lines[i].line != line.line || strcmp(c->lines[i].file, file) != 0 ||
                              strcmp(c->lines[i].function, line.function) != 0))
        i++;
    if (i < c->n_lines)
        return i;
    if (i == CALLED_LINES_MAX || !(line.file = strdup(file)))
        return NONE;
    c->lines[c->n_lines++] = line;
    return i;
}

static uint32_t line_number(struct called *c, const struct cs_image_frame *frame)
{
    struct called_line line = {.line = frame->line};
    cs_image_short_name(frame->function, line.function, sizeof line.function);
    return add_line(c, line, frame->file);
}

static uint32_t named_number(struct called *c, const struct chain_line *named)
{
    struct called_line line = {.line = named->line, .begins = true};
    memcpy(line.function, named->function, sizeof line.function);
    return add_line(c, line, named->file);
}

uint32_t called_function_line(struct called *c, const char *name)
{
    struct called_line line = {.line = 0};
    cs_image_short_name(name ? name : "", line.function, sizeof line.function);
    return add_line(c, line, "");
}

/* As a program calls it: "malloc" of "__libc_malloc", "strlen" of "strlen@plt", "pthread_sigmask" of a version of it. */
static uint32_t name_number(struct called *c, const char *name)
{
    char brief[256];
    uint32_t i = 0;
    cs_image_short_name(name, brief, sizeof brief);
    brief[strncmp(brief, "operator", 8) == 0 ? strlen(brief) : strcspn(brief, "@")] = 0;
    brief[sizeof *c->names - 1] = 0;
    while (i < c->n_names && strcmp(c->names[i], brief) != 0)
        i++;
    if (i == CALLED_NAMES_MAX)
        return NONE;
    if (i == c->n_names)
        memcpy(c->names[c->n_names++], brief, sizeof *c->names);
    return i;
}

/* The import that the call around `offset` goes to: programs know it by that name, and not by that of the variant
 * that runs on this CPU. */
static uint32_t callee_at(struct called *c, struct cs_image_code *code, uint64_t offset)
{
    static const unsigned lengths[] = {5, 4};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const uint64_t start = offset + 1 - lengths[i];
        struct cs_isa_insn insn;
        size_t n = 0;
        const uint8_t *bytes = cs_image_bytes_at(code, start, &n, NULL);
        if (bytes && cs_isa_decode_flow(cs_image_isa(code), bytes, n, start, &insn) == lengths[i] &&
            insn.flow == CS_ISA_FLOW_CALL && insn.target) {
            const char *import = cs_image_import_at(code, insn.target);
            return import ? name_number(c, import) : NONE;
        }
    }
    return NONE;
}

/* How the kernel was entered, where its function's name says it. x86-64, AArch64, RISC-V. */
static bool entry_kind(const char *name, enum called_kind *kind)
{
    static const struct {
        const char *part;
        enum called_kind kind;
    } table[] = {
        {"page_fault", CALLED_PAGE_FAULT},  {"translation_fault", CALLED_PAGE_FAULT},
        {"mem_abort", CALLED_PAGE_FAULT},   {"SYSCALL", CALLED_SYSTEM_CALL},
        {"syscall", CALLED_SYSTEM_CALL},    {"el0_svc", CALLED_SYSTEM_CALL},
        {"trap_ecall", CALLED_SYSTEM_CALL}, {"sysvec", CALLED_INTERRUPT},
        {"interrupt", CALLED_INTERRUPT},    {"irq", CALLED_INTERRUPT},
        {"exc_nmi", CALLED_INTERRUPT},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strstr(name, table[i].part)) {
            *kind = table[i].kind;
            return true;
        }
    return false;
}

/* How CPython gets from a call to what is called. */
static bool is_glue(const char *name)
{
    static const char *const parts[] = {"_PyEval_",
                                        "PyEval_",
                                        "_PyObject_MakeTpCall",
                                        "_PyObject_Call",
                                        "PyObject_Call",
                                        "PyObject_Vectorcall",
                                        "_PyFunction_Vectorcall",
                                        "PyVectorcall_",
                                        "_PyVectorcall",
                                        "cfunction_",
                                        "method_vectorcall",
                                        "PyCFunction_Call",
                                        "slot_tp_call",
                                        "type_call"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strncmp(name, parts[i], strlen(parts[i])) == 0)
            return true;
    return false;
}

struct called_place called_place_at(struct called *c, struct cs_image_code *code, uint64_t offset)
{
    struct cs_image_frame frames[FRAMES_MAX], own;
    struct chain_line named;
    const struct cs_image_procedure *p = cs_image_procedure_at(code, offset);
    struct called_place place = {.line = NONE, .outer = NONE, .callee = NONE, .start = p ? p->start : 0};
    if (chain_line_frame(code, offset, &own)) {
        const unsigned n = cs_image_frames_at(code, offset, frames, FRAMES_MAX);
        unsigned i = 0;
        while (i < n && (frames[i].line != own.line || strcmp(frames[i].file, own.file) != 0))
            i++;
        if (!*own.function && p)
            own.function = p->name;
        place.line = line_number(c, &own);
        if (i + 1 < n && frames[i + 1].line && *frames[i + 1].file)
            place.outer = line_number(c, &frames[i + 1]);
        place.callee = callee_at(c, code, offset);
    } else if (chain_line_named(code, offset, &named)) {
        place.line = named_number(c, &named);
    } else if (p) {
        place.callee = name_number(c, p->name);
        place.glue = is_glue(p->name);
        place.runtime = strstr(p->name, ".py:") != NULL;
        place.stated = entry_kind(p->name, &place.kind);
    }
    return place;
}
