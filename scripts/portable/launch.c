/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tarball's bin/cyclescope: it starts lib/cyclescope by the loader and the libraries of the same folder, whatever
 * the system has. Static, so that it runs anywhere. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char self[PATH_MAX - 64], loader[PATH_MAX], libraries[PATH_MAX], program[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) {
        fputs("cyclescope: /proc isn't mounted here, and nothing can be profiled without it\n", stderr);
        return 1;
    }
    self[n] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = '\0';
    }
    snprintf(loader, sizeof loader, "%s/lib/loader", self);
    snprintf(libraries, sizeof libraries, "%s/lib", self);
    snprintf(program, sizeof program, "%s/lib/cyclescope", self);
    char **args = calloc((size_t)argc + 6, sizeof *args);
    if (!args)
        return 1;
    args[0] = loader;
    args[1] = "--library-path";
    args[2] = libraries;
    args[3] = "--argv0";
    args[4] = argv[0];
    args[5] = program;
    for (int i = 1; i < argc; i++)
        args[5 + i] = argv[i];
    strcat(self, "/bin/cyclescope");
    setenv("CYCLESCOPE_SELF", self, 1); /* /proc/self/exe is the loader */
    execv(loader, args);
    perror(loader);
    return 1;
}
