/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/base/regular_file.h"
#include "store/base/foreign.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int cs_open_regular(const char *root, const char *path, uint64_t bytes_max, struct stat *st)
{
    return cs_foreign_regular(root, path, bytes_max, NULL, st);
}

int cs_open_owned(const char *root, const char *path, uint64_t bytes_max, uid_t owner)
{
    assert(path);
    return cs_foreign_regular(root, path, bytes_max, &owner, NULL);
}

int cs_stat_beneath(const char *root, const char *path, struct stat *st)
{
    return cs_foreign_stat(root, path, st);
}

bool cs_everybody_may_read(const char *path)
{
    char real[PATH_MAX];
    struct stat st;
    if (!realpath(path, real) || stat(real, &st) < 0 || !(st.st_mode & S_IROTH))
        return false;
    for (char *slash; (slash = strrchr(real, '/')) && slash != real;) {
        *slash = '\0';
        if (stat(real, &st) < 0 || !(st.st_mode & S_IXOTH))
            return false;
    }
    return true;
}
