/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A procedure returns when its start reaches a `ret`, an unresolved indirect jump, or a tail call to a
 * procedure that returns. A call that never returns ends a path. Callees are asked first, each once (the
 * answer stays with the image). A procedure met again while it is being asked counts as not returning on that
 * path, which is the least fixpoint for the first asked. Answers that leaned on such a guess aren't kept. */
#include "analysis/cfg/noreturn.h"
#include "image/isa/decode.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 12
#define ASKED_MAX 500 /* procedures a question; beyond that the answer is yes */
#define BYTES_MAX                                                                                            \
    65536 /* larger procedures return: nearly all do, and the answer would cost more than it gives */

static const char *const never[] = {
    "abort",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "__assert_fail",
    "__assert",
    "__stack_chk_fail",
    "__chk_fail",
    "__fortify_fail",
    "longjmp",
    "_longjmp",
    "siglongjmp",
    "__longjmp_chk",
    "pthread_exit",
    "__cxa_throw",
    "__cxa_rethrow",
    "__cxa_bad_cast",
    "__cxa_throw_bad_array_new_length",
    "_Unwind_Resume",
    "err",
    "errx",
    "verr",
    "verrx",
    "__libc_start_main",
    "__libc_fatal",
    "_ZSt9terminatev",
    "__assert_perror_fail",
    "_ZSt17__throw_bad_allocv",
    "_ZSt20__throw_length_errorPKc",
    "_ZSt19__throw_logic_errorPKc",
    "_ZSt20__throw_out_of_rangePKc",
    "_ZSt24__throw_out_of_range_fmtPKcz",
    "_ZSt16__throw_bad_castv",
    "_ZSt25__throw_bad_function_callv",
    "__cxa_pure_virtual",
    "thrd_exit",
};

bool cs_cfg_never_returns(const char *name)
{
    assert(name);
    size_t n = strcspn(name, "@");
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strlen(never[i]) == n && strncmp(never[i], name, n) == 0)
            return true;
    return false;
}

enum answer { UNKNOWN, YES, NO, ASKED };

/* One answer a procedure that was ever asked about, by its index. Kept with the code. */
struct answers {
    uint8_t *of;
    size_t n;
};

static const char answers_key; /* only its address counts */

static void answers_close(void *pointer)
{
    struct answers *answers = pointer;
    free(answers->of);
    free(answers);
}

/* Makes room for that procedure; NULL when memory is out. */
static struct answers *answers_for(struct cs_image_code *code, size_t procedure)
{
    struct answers *answers = cs_image_attached(code, &answers_key);
    if (!answers) {
        answers = calloc(1, sizeof *answers);
        if (!answers || cs_image_attach(code, &answers_key, answers, answers_close) < 0)
            return NULL;
    }
    if (procedure >= answers->n) {
        size_t n = 2 * procedure + 64;
        uint8_t *grown = realloc(answers->of, n);
        if (!grown)
            return NULL;
        memset(grown + answers->n, UNKNOWN, n - answers->n);
        answers->of = grown;
        answers->n = n;
    }
    return answers;
}

struct asking {
    struct cs_image_code *code;
    unsigned depth, asked;
    bool guessed;
};

static bool returns(struct asking *a, const struct cs_image_procedure *p);

static const struct cs_image_part *part_of(const struct cs_image_procedure *p, uint64_t offset)
{
    for (unsigned i = 0; i < p->n_parts; i++)
        if (offset >= p->parts[i].start && offset - p->parts[i].start < p->parts[i].size)
            return &p->parts[i];
    return NULL;
}

/* One bit a byte of the procedure, parts one after the other. */
static bool visit(uint8_t *seen, const struct cs_image_procedure *p, uint64_t offset)
{
    uint64_t at = 0;
    for (unsigned i = 0; i < p->n_parts; at += p->parts[i++].size)
        if (offset >= p->parts[i].start && offset - p->parts[i].start < p->parts[i].size) {
            at += offset - p->parts[i].start;
            bool before = seen[at / 8] & (1 << (at % 8));
            seen[at / 8] |= (uint8_t)(1 << (at % 8));
            return !before;
        }
    return false;
}

static bool leads_back(struct asking *a, uint64_t target)
{
    const struct cs_image_procedure *to = cs_image_procedure_at(a->code, target);
    return !to || to->start != target || returns(a, to);
}

/* Walks reachable code; true at the first way back. */
static bool search(struct asking *a, const struct cs_image_procedure *p, uint8_t *seen, uint64_t *stack,
                   size_t capacity)
{
    size_t n = 0;
    stack[n++] = p->start;
    while (n) {
        uint64_t at = stack[--n];
        while (part_of(p, at) && visit(seen, p, at)) {
            struct cs_isa_insn insn;
            size_t bytes_left;
            const uint8_t *bytes = cs_image_bytes_at(a->code, at, &bytes_left, NULL);
            if (!bytes || !cs_isa_decode_flow(cs_image_isa(a->code), bytes, bytes_left, at, &insn))
                return true;
            at += insn.length;
            if (insn.flow == CS_ISA_FLOW_RETURN)
                return true;
            if (insn.flow == CS_ISA_FLOW_STOP)
                break;
            if (insn.flow == CS_ISA_FLOW_CALL && !insn.indirect && !leads_back(a, insn.target))
                break;
            if (insn.flow == CS_ISA_FLOW_JUMP) {
                if (insn.indirect)
                    return true;
                if (!part_of(p, insn.target)) {
                    if (leads_back(a, insn.target))
                        return true;
                    break;
                }
                at = insn.target;
            } else if (insn.flow == CS_ISA_FLOW_BRANCH) {
                if (!part_of(p, insn.target)) {
                    if (leads_back(a, insn.target))
                        return true;
                } else if (n == capacity)
                    return true;
                else
                    stack[n++] = insn.target;
            }
        }
    }
    return false;
}

static bool returns(struct asking *a, const struct cs_image_procedure *p)
{
    uint64_t size = 0, stack[256];
    if (cs_cfg_never_returns(p->name))
        return false;
    size_t index = cs_image_procedure_index(a->code, p);
    struct answers *answers = answers_for(a->code, index);
    if (p->source == CS_IMAGE_FROM_PLT || !answers || p->size == 0)
        return true;
    if (answers->of[index] == ASKED) {
        a->guessed = true;
        return false;
    }
    if (answers->of[index] != UNKNOWN)
        return answers->of[index] == YES;
    for (unsigned i = 0; i < p->n_parts; i++)
        size += p->parts[i].size;
    uint8_t *seen =
        size <= BYTES_MAX && a->depth < DEPTH_MAX && a->asked++ < ASKED_MAX ? calloc(size / 8 + 1, 1) : NULL;
    if (!seen)
        return true;
    bool guessed_before = a->guessed;
    a->guessed = false;
    a->depth++;
    answers->of[index] = ASKED;
    bool result = search(a, p, seen, stack, sizeof stack / sizeof *stack);
    a->depth--;
    answers->of[index] = result ? YES : a->guessed && a->depth ? UNKNOWN : NO;
    a->guessed = a->depth && (guessed_before || (a->guessed && !result));
    free(seen);
    return result;
}

bool cs_cfg_returns(struct cs_image_code *code, const struct cs_image_procedure *procedure)
{
    struct asking a = {.code = code};
    return returns(&a, procedure);
}
