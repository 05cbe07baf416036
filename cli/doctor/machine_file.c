/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/doctor/machine_file.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stdio.h>

bool machine_read_file(const struct machine *m, const char *path, char *text, size_t capacity)
{
    assert(capacity > 0);
    char full[PATH_MAX];
    snprintf(full, sizeof full, "%s%s", m->root, path);
    FILE *f = fopen(full, "r");
    if (!f)
        return false;
    size_t n = fread(text, 1, capacity - 1, f);
    fclose(f);
    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    text[n] = '\0';
    return true;
}
