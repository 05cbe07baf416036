/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The C++ runtime's own demangler where that library is installed (loaded on the first mangled name); Rust's
 * v0 names stay as they are, its older names lose their hash. */
#include "image/code.h"

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

char *cs_image_demangle(const char *name, char *text, size_t room)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    size_t mangled = strcspn(name, "@");
    char copy[4096];
    snprintf(text, room, "%s", name);
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
        snprintf(text, room, "%s%s", plain, name + mangled);
    }
    free(plain);
    return text;
}
