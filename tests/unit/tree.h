/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removes what a test wrote. */
#ifndef CS_TESTS_TREE_H
#define CS_TESTS_TREE_H

#include <ftw.h>
#include <stdio.h>

static inline int remove_entry(const char *file, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(file);
}

/* The directory and all below. */
static inline int remove_tree(const char *path)
{
    return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
