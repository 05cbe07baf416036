/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of C++ and of Rust (both its manglings) and of D, by libiberty, whose library c++filt, gdb and addr2line use.
 * A mangled name of a hundred bytes can stand for gigabytes: the text ends where the caller's buffer ends.
 *
 * A name that is cut ends with a number made of the whole, "...~0123abcd": two names that differ stay two. */
#include "image/code.h"

#include <assert.h>
#include <ctype.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h>
#endif

enum language { NOT_MANGLED, CPP, RUST, D };

#define MANGLED_MAX 4096    /* bytes; a longer one stays as it is */
#define D_REFERENCES_MAX 12 /* back references of a name of D, each of which may double it */

struct written {
    char *text;
    size_t n, capacity;
    jmp_buf full;
};

static void take(const char *piece, size_t n, void *arg)
{
    struct written *w = arg;
    const size_t room = w->capacity - 1 - w->n;
    memcpy(w->text + w->n, piece, n < room ? n : room);
    w->n += n < room ? n : room;
    if (n > room)
        longjmp(w->full, 1);
}

/* Over the end of `text`, which was cut: a number of `whole`. */
static void end_cut(char *text, size_t capacity, const char *whole)
{
    char end[16];
    int n = snprintf(end, sizeof end, "...~%08x", (unsigned)XXH3_64bits(whole, strlen(whole)));
    if (capacity < sizeof end * 2)
        return; /* no room for a name */
    size_t at = capacity - 1 - (size_t)n;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--; /* not within a character */
    strcpy(text + at, end);
}

static void put(char *text, size_t capacity, const char *name, const char *whole)
{
    if ((size_t)snprintf(text, capacity, "%s", name) >= capacity)
        end_cut(text, capacity, whole);
}

static enum language demangle_d(const char *name, struct written *w)
{
    unsigned references = 0;
    for (const char *at = name; *at; at++)
        references += *at == 'Q';
    char *plain = references <= D_REFERENCES_MAX ? dlang_demangle(name, 0) : NULL;
    if (plain)
        take(plain, strlen(plain), w);
    free(plain);
    return plain ? D : NOT_MANGLED;
}

/* The readable name of `mangled`; what doesn't fit is left out. */
static enum language demangle(const char *mangled, struct written *w, bool *cut)
{
    volatile enum language language = RUST;
    *cut = false;
    if (setjmp(w->full)) {
        *cut = true;
        return language;
    }
    if (rust_demangle_callback(mangled, DMGL_RUST, take, w))
        return RUST;
    w->n = 0;
    language = CPP; /* its limit of depth would refuse names of 1024 bytes: MANGLED_MAX bounds the depth */
    if (strncmp(mangled, "_Z", 2) == 0 &&
        cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_TYPES | DMGL_NO_RECURSE_LIMIT, take, w))
        return CPP;
    w->n = 0;
    language = D;
    return strncmp(mangled, "_D", 2) == 0 ? demangle_d(mangled, w) : NOT_MANGLED;
}

static enum language read_name(const char *name, char *text, size_t capacity)
{
    const size_t mangled =
        strcspn(name, "@"); /* "@plt" isn't part of it; ".isra.0" is understood as a clone */
    char copy[MANGLED_MAX];
    enum language language = NOT_MANGLED;
    if (name[0] == '_' && strchr("ZRD", name[1]) && name[1] && mangled < sizeof copy && capacity > 1) {
        struct written w = {.text = text, .capacity = capacity};
        bool cut;
        memcpy(copy, name, mangled);
        copy[mangled] = '\0';
        language = demangle(copy, &w, &cut);
        text[w.n] = '\0';
        if (language && cut)
            end_cut(text, capacity, name);
        else if (language)
            put(text + w.n, capacity - w.n, name + mangled, name);
    }
    if (!language && capacity)
        put(text, capacity, name, name);
    return language;
}

char *cs_image_demangle(const char *name, char *text, size_t capacity)
{
    assert(capacity > 0);
    read_name(name, text, capacity);
    return text;
}

static const char anonymous[] = "(anonymous namespace)";

/* Behind the parenthesis or bracket that closes the one at `at`. */
static const char *behind(const char *at, char open, char close)
{
    for (int depth = 0; *at; at++) {
        depth += *at == open;
        if (*at == close && at[-1] != '-' && --depth == 0)
            return at + 1;
    }
    return at;
}

/* The symbol of "operator<<", with what is no identifier but no parameter list either. */
static const char *copy_operator(const char *from, char **to)
{
    static const char word[] = "operator";
    memcpy(*to, word, sizeof word - 1);
    *to += sizeof word - 1;
    from += sizeof word - 1;
    if (strncmp(from, "()", 2) == 0)
        *(*to)++ = *from++;
    while (*from && (*from != '(' || (*to)[-1] == '('))
        *(*to)++ = *from++;
    if ((*to)[-1] == '(')
        *(*to)++ = *from++;
    return from;
}

size_t cs_image_unversioned_bytes(const char *name)
{
    const size_t n = strlen(name);
    const char *last = n > 4 ? name + n - 4 : "";
    return last[0] == ' ' && last[1] == '(' && last[2] >= '2' && last[2] <= '9' && last[3] == ')' ? n - 4 : n;
}

char *cs_image_short_name(const char *name, char *text, size_t room)
{
    char full[4096], out[sizeof full + 8], *to = out, *start = out;
    if (read_name(name, full, sizeof full) != CPP) {
        put(text, room, full, name);
        return text;
    }
    for (const char *from = full; *from;) {
        bool begins = from == full || !(isalnum((unsigned char)from[-1]) || from[-1] == '_');
        if (begins && strncmp(from, "operator", 8) == 0 && !isalnum((unsigned char)from[8]) &&
            from[8] != '_') {
            from = copy_operator(from, &to);
        } else if (*from == '<') {
            from = behind(from, '<', '>');
            *to++ = '<';
            *to++ = '>';
        } else if (strncmp(from, anonymous, sizeof anonymous - 1) == 0) {
            memcpy(to, anonymous, sizeof anonymous - 1);
            to += sizeof anonymous - 1;
            from += sizeof anonymous - 1;
        } else if (*from == '(' && ((to - out >= 8 && memcmp(to - 8, "decltype", 8) == 0) ||
                                    (to - out >= 9 && memcmp(to - 9, "decltype ", 9) == 0))) {
            from = behind(from, '(', ')'); /* a type that it returns */
        } else if (*from == '(') {
            from = behind(from, '(', ')');
            if (strncmp(from, "::", 2) != 0 && *from != '#' && *from != '}')
                break;
        } else {
            if (*from == ' ' && to > out)
                start = to + 1; /* what stands before was the type that it returns */
            *to++ = *from++;
        }
        if (to > out + sizeof out - 64)
            break;
    }
    *to = '\0';
    put(text, room, start < to ? start : out, name);
    return text;
}

bool cs_image_script_name_is(const char *name, const char *wanted)
{
    const size_t n = strlen(wanted);
    if (strncmp(name, "JS:", 3) == 0)
        name += 3 + strspn(name + 3, "*~^+");
    else if (strncmp(name, "JIT$", 4) == 0)
        name += 4;
    else
        return false;
    return n > 0 && strncmp(name, wanted, n) == 0 && (name[n] == '\0' || name[n] == ' ');
}

int cs_image_name_fits(const char *name, const char *wanted)
{
    if (cs_image_script_name_is(name, wanted))
        return 2;
    char text[4096];
    size_t n = strlen(wanted);
    cs_image_demangle(name, text, sizeof text);
    if (strcmp(name, wanted) == 0 || strcmp(text, wanted) == 0)
        return 3;
    if (strncmp(text, wanted, n) == 0 && text[n] == '(')
        return 2;
    cs_image_short_name(name, text, sizeof text);
    size_t length = strlen(text);
    if (strcmp(text, wanted) == 0)
        return 2;
    return n && length > n + 2 && strcmp(text + length - n, wanted) == 0 &&
           strncmp(text + length - n - 2, "::", 2) == 0;
}
