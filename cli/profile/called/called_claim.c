/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code of libraries and of the kernel can't be changed, but the calling function can. All that one function calls is one
 * claim: malloc, calloc and free are the price of the same allocation. */
#include "cli/profile/called/called_claim.h"
#include "store/base/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define NAMED_FROM 0.05  /* of the calls, to be named in the claim */
#define DEEPEST_FROM 0.6 /* of the calls: what has less of them isn't what they are about */
#define COMPILED_ONCE                                                                                        \
    "a pattern compiled once, outside of the loop, or a comparison written for this one pattern"
#define NAMED_MAX 3

/* What usually helps against calls of a function, by the beginning of its name. */
const char *called_advice(const char *callee)
{
    static const struct {
        const char *names, *advice; /* names between blanks; one that ends with "*" is a beginning */
    } table[] = {
        {" deepcopy* ", "a copy of what changes only, or a change that is undone in place of a copy"},
        {" malloc calloc realloc free reallocarray aligned_alloc posix_memalign operator* _Znwm _Znam "
         "_ZdlPv* _ZdaPv* _int_malloc _int_free ",
         "memory that is kept and used again, or one allocation outside of the loop"},
        {" list_contains list_index list_count list_remove ", "a set or a dictionary in place of the list"},
        {" list_insert list_ass_slice ", "a collections.deque, or values that are added at the end"},
        {" _io_FileIO_* read pread* readv recv* write pwrite* writev send* fgetc getc fputc putc ",
         "fewer and larger calls: data that is collected in a buffer of the program"},
        {" memmove memcpy memset __memmove* __memcpy* __memset* bcopy ",
         "less data to move: another data structure, or indexes and pointers in place of copies"},
        {" strlen strcat* strcpy strncpy stpcpy strchr strstr strcmp strncmp strcasecmp memcmp __strlen* "
         "__strcmp* ",
         "fewer calls: lengths and ends of texts that are kept, fewer candidates to compare, or a number "
         "compared first"},
        {" pthread_mutex_* pthread_rwlock_* pthread_spin_* __GI___pthread_mutex_* __lll_lock* ",
         "fewer turns at the lock: values of each thread's own that are added once, or several items for one "
         "turn"},
        {" fsync fdatasync msync sync_file_range sync syncfs ",
         "one call for many records, or one at the end"},
        {" fork vfork clone posix_spawn* system popen execve* waitpid wait4 ",
         "fewer processes: one that does many pieces, or the work done in the program itself"},
        {" open openat open64 fopen* fclose close stat fstat* lstat access ",
         "files that stay open, and facts about them that are kept"},
        {" mmap munmap madvise mremap brk sbrk ", "memory that is kept and used again, not given back"},
        {" getaddrinfo gethostbyname* res_* ", "names that are looked up once and kept"},
        {" usleep nanosleep clock_nanosleep sched_yield ",
         "a wait for the event itself, in place of polling"},
        {" regcomp regexec re_search* re_compile* std::__detail::_* std::__cxx11::basic_regex* "
         "std::__cxx11::regex* ",
         COMPILED_ONCE},
        {" std::__throw* __cxa_throw __cxa_begin_catch __cxa_allocate_exception _Unwind_* ",
         "a result that says that it failed, in place of an exception, where failures are common"},
        {" __dynamic_cast ", "a virtual function or a tag, in place of a search through the types"},
        {" std::vector<>::_M_realloc* std::__cxx11::basic_string* std::_Rb_tree* std::_Hashtable* "
         "std::deque* "
         "std::__cxx11::list* std::map* std::unordered_map* std::vector<* ",
         "objects that are kept and used again, room that is reserved once, or views in place of copies"},
        {" localtime* mktime strftime strptime datetime_strptime time_strptime ",
         "a conversion written for this one format, or its result kept"},
        {" clock_gettime gettimeofday time clock __vdso* ",
         "one look at the clock for many items, or a counter that says when to look"},
        {" snprintf sprintf printf fprintf vsnprintf vsprintf vfprintf __snprintf* __sprintf* __printf* "
         "__fprintf* sscanf fscanf __isoc99_* strtod strtol ",
         "a conversion written for this one format, or fewer calls"},
        {" sigsetjmp __sigsetjmp setjmp _setjmp longjmp siglongjmp __longjmp* sigprocmask pthread_sigmask ",
         "jumps that don't save the signal mask (sigsetjmp with 0, _setjmp), because saving it is a system "
         "call"},
        {" exp* log* pow* sin* cos* tan* sqrt* atan* fmod* ",
         "values that are computed once and kept where arguments repeat, or a cheaper function of less "
         "precision"},
    };
    char word[160];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        snprintf(word, sizeof word, " %s ", callee);
        if (strstr(table[i].names, word))
            return table[i].advice;
        for (const char *star = table[i].names; (star = strchr(star, '*')); star++) {
            const char *from = star;
            while (from[-1] != ' ')
                from--;
            if (strncmp(callee, from, (size_t)(star - from)) == 0)
                return table[i].advice;
        }
    }
    return "fewer calls (the result kept, or the call outside of the loop), or a cheaper way to the same "
           "result";
}

const char *called_name(const struct called *c, const struct called_call *call)
{
    if (call->kind == CALLED_PAGE_FAULT)
        return "page faults";
    if (call->kind == CALLED_SYSTEM_CALL)
        return "system calls";
    return call->callee == UINT32_MAX ? "code without a name" : c->names[call->callee];
}

size_t called_sums(const struct called *c, uint32_t line, bool by_line, struct called_sum *sums, size_t most)
{
    size_t n = 0;
    for (uint32_t i = 0; i < c->n_calls; i++) {
        const struct called_call *call = &c->calls[i];
        size_t k = 0;
        if (!called_same_function(c, call->line, line))
            continue;
        while (k < n && (strcmp(called_name(c, sums[k].first), called_name(c, call)) != 0 ||
                         (by_line && sums[k].first->line != call->line)))
            k++;
        if (k == most)
            continue;
        if (k == n)
            sums[n++] = (struct called_sum){.first = call};
        sums[k].samples += (double)call->samples;
        for (; k && sums[k].samples > sums[k - 1].samples; k--) {
            const struct called_sum swapped = sums[k];
            sums[k] = sums[k - 1];
            sums[k - 1] = swapped;
        }
    }
    return n;
}

/* "calloc, free and malloc". */
static void names_text(const struct called *c, const struct called_sum *sums, size_t n, double all,
                       char *text, size_t size)
{
    size_t named = 0, others = 0;
    *text = 0;
    while (named < n && named < NAMED_MAX && (!named || sums[named].samples >= NAMED_FROM * all))
        named++;
    others = n - named;
    for (size_t i = 0; i < named; i++) {
        const size_t at = strlen(text);
        snprintf(text + at, size - at, "%s%s",
                 !i                          ? ""
                 : i + 1 == named && !others ? " and "
                                             : ", ",
                 called_name(c, sums[i].first));
    }
    if (others)
        snprintf(text + strlen(text), size - strlen(text), " and others");
}

/* " at" and that line; of a runtime's function, ", which begins at" and that line. */
static const char *at_text(const struct called_line *line, const char *at, char text[300])
{
    if (!line->line)
        *text = 0;
    else
        snprintf(text, 300, "%s%.200s:%u", line->begins ? ", which begins at " : at, cs_base_name(line->file),
                 line->line);
    return text;
}

uint32_t called_caller(const struct called *c, uint32_t line, double all, double *samples)
{
    for (uint32_t i = 0; i < c->n_calls; i++) {
        const uint32_t caller = c->calls[i].caller;
        if (caller == UINT32_MAX || !called_same_function(c, c->calls[i].line, line))
            continue;
        *samples = 0;
        for (uint32_t k = 0; k < c->n_calls; k++)
            if (c->calls[k].caller == caller && called_same_function(c, c->calls[k].line, line))
                *samples += (double)c->calls[k].samples;
        if (*samples >= 0.5 * all)
            return caller;
    }
    return UINT32_MAX;
}

/* The function with most of the calls, and of its lines the one with most: the number of that line. */
static uint32_t most_calling(const struct called *c)
{
    uint32_t function = c->calls[0].line, line;
    for (uint32_t i = 1; i < c->n_calls; i++)
        if (called_from_function(c, c->calls[i].line) > called_from_function(c, function))
            function = c->calls[i].line;
    line = function;
    for (uint32_t i = 0; i < c->n_calls; i++)
        if (called_same_function(c, c->calls[i].line, function) &&
            called_from_line(c, c->calls[i].line) > called_from_line(c, line))
            line = c->calls[i].line;
    return line;
}

/* Where it is called, or where the kernel was entered without a call. */
static void where_text(const struct called_line *at, bool one_line, bool direct, char *text, size_t size)
{
    char place[300];
    if (!direct || !at->line)
        snprintf(text, size, "%s %.120s%s", direct ? "in" : "called in", at->function,
                 at_text(at, one_line ? " at " : ", mostly at ", place));
    else if (at->begins)
        snprintf(text, size, "in %.120s%s", at->function, at_text(at, "", place));
    else
        snprintf(text, size, "%s %.200s:%u in %.120s", one_line ? "at" : "mostly at", cs_base_name(at->file),
                 at->line, at->function);
}

static void add_up(const struct called *c, struct called_claim *claim)
{
    claim->line = most_calling(c);
    for (uint32_t i = 0; i < c->n_calls; i++)
        if (called_same_function(c, c->calls[i].line, claim->line)) {
            claim->samples += (double)c->calls[i].samples;
            claim->in_system_calls += (double)c->calls[i].in_system_calls;
            claim->in_faults += (double)c->calls[i].in_faults;
        }
}

void called_claim(const struct called *c, const char *through, struct called_claim *claim)
{
    struct called_sum sums[64];
    char names[420], before[220] = "", within[400] = "", from[700] = "", where[700], place[300];
    double from_caller = 0;
    *claim = (struct called_claim){.cause = "call", .words = "Calls"};
    add_up(c, claim);
    const struct called_line *at = &c->lines[claim->line];
    const size_t n = called_sums(c, claim->line, false, sums, sizeof sums / sizeof *sums);
    assert(n > 0); /* the line is one of a call */
    const double all = claim->samples;
    const bool faults = claim->in_faults >= 0.5 * all, system_calls = claim->in_system_calls >= 0.5 * all,
               direct = sums[0].first->kind != CALLED_LIBRARY;
    names_text(c, sums, n, all, names, sizeof names);
    if (through)
        snprintf(before, sizeof before, "%.200s: ", through);
    else if (c->kernel_only)
        snprintf(before, sizeof before, "the kernel's %s",
                 direct   ? ""
                 : faults ? "page faults under "
                          : "system calls: ");
    else if (!direct && (faults || claim->in_system_calls >= 0.1 * all))
        snprintf(within, sizeof within, " (%.1f %% of it is in the kernel's %s)",
                 100 * (faults ? claim->in_faults : claim->in_system_calls) / all,
                 faults ? "page faults" : "system calls");
    double in_deepest = 0;
    const char *deepest =
        through || c->kernel_only ? NULL : called_deepest(c, claim->line, DEEPEST_FROM * all, &in_deepest);
    if (deepest && strcmp(deepest, called_name(c, sums[0].first)) != 0)
        snprintf(within, sizeof within, " (%.1f %% of them are in %.128s)", 100 * in_deepest / all, deepest);
    const uint32_t caller = called_caller(c, claim->line, all, &from_caller);
    if (caller != UINT32_MAX && !called_same_function(c, caller, claim->line))
        snprintf(from, sizeof from,
                 c->lines[caller].begins ? "; it is called by %.120s%s" : ", which %.120s calls%s",
                 c->lines[caller].function, at_text(&c->lines[caller], " at ", place));
    where_text(at, called_from_line(c, claim->line) >= 0.95 * all, direct, where, sizeof where);
    snprintf(claim->text, sizeof claim->text, "%.1f %% of all samples are in %s%s%s, %s%s",
             100 * all / c->total, before, names, within, where, from);
    if (faults || system_calls) {
        claim->cause = faults ? "page-fault" : "system-call";
        claim->words = faults ? "Page faults" : "System calls";
    }
    claim->advice =
        faults ? "memory that is kept and used again, not unmapped and mapped again; or memory that is "
                 "populated ahead, or of larger pages"
        : deepest && (strstr(deepest, "/re/_") || strstr(deepest, "/sre_"))
            ? COMPILED_ONCE
            : called_advice(called_name(c, sums[0].first));
}
