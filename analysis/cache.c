/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each missing part of the path, from the top. */
static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = 0;
        int rc = mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
        struct stat st;
        if (rc < 0 && stat(path, &st) == 0)
            rc = 0; /* a parent that we may not write to, but that is there */
        if (slash)
            *slash = '/';
        if (rc < 0 || !slash)
            return rc;
    }
}

int cs_cache_folder(char *path, size_t room)
{
    const char *own = getenv("CYCLESCOPE_CACHE"), *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = own                               ? snprintf(path, room, "%s", own)
            : caches && *caches == '/'        ? snprintf(path, room, "%s/cyclescope", caches)
            : home && *home == '/' && home[1] ? snprintf(path, room, "%s/.cache/cyclescope", home)
                                              : 0;
    if (n <= 0)
        return -ENOENT;
    if ((size_t)n >= room)
        return -ENAMETOOLONG;
    struct stat st;
    return stat(path, &st) == 0 ? 0 : make_folders(path);
}

bool cs_cache_put(const char *path, const struct iovec *parts, unsigned n, bool others)
{
    char fresh[PATH_MAX];
    if (snprintf(fresh, sizeof fresh, "%s.XXXXXX", path) >= (int)sizeof fresh)
        return false;
    int fd = mkostemp(fresh, O_CLOEXEC);
    if (fd < 0)
        return false;
    bool whole = !others || fchmod(fd, 0644) == 0;
    for (unsigned i = 0; i < n && whole; i++)
        whole = write(fd, parts[i].iov_base, parts[i].iov_len) == (ssize_t)parts[i].iov_len;
    if (close(fd) == 0 && whole && rename(fresh, path) == 0)
        return true;
    unlink(fresh);
    return false;
}
