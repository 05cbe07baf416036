/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The C++ runtime's own demangler where that library is installed (loaded on the first mangled name); Rust's
 * v0 names stay as they are, its older names lose their hash. */
#include "image/code.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef char *demangler(const char *name, char *buffer, size_t *size, int *status);

static demangler *runtime;

static void find_runtime(void)
{
    void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    if (library)
        *(void **)&runtime = dlsym(library, "__cxa_demangle");
}

static bool is_hash(const char *text)
{
    return strncmp(text, "::h", 3) == 0 && strspn(text + 3, "0123456789abcdef") == 16 && !text[19];
}

char *cs_image_demangle(const char *name, char *text, size_t capacity)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    size_t mangled = strcspn(name, "@");
    char copy[4096];
    snprintf(text, capacity, "%s", name);
    if (strncmp(name, "_Z", 2) != 0 || mangled >= sizeof copy)
        return text;
    pthread_once(&once, find_runtime);
    /* "@plt" isn't part of the mangled name; ".isra.0" is understood as a clone */
    memcpy(copy, name, mangled);
    copy[mangled] = 0;
    int status = -1;
    char *plain = runtime ? runtime(copy, NULL, NULL, &status) : NULL;
    if (plain && status == 0) {
        size_t n = strlen(plain);
        if (n > 19 && is_hash(plain + n - 19))
            plain[n - 19] = 0;
        snprintf(text, capacity, "%s%s", plain, name + mangled);
    }
    free(plain);
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
    cs_image_demangle(name, full, sizeof full);
    if (strncmp(name, "_Z", 2) != 0 || strncmp(full, "_Z", 2) == 0) { /* no C++, or nobody could read it */
        snprintf(text, room, "%s", full);
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
    snprintf(text, room, "%s", start < to ? start : out);
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
