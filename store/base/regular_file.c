/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int look_beneath(const char *root, const char *path, int flags)
{
    struct open_how how = {.flags = (__u64)(unsigned)(O_PATH | O_CLOEXEC | flags),
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -errno;
    long fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
    int code = fd < 0 ? -errno : 0;
    close(folder);
    return code < 0 ? code : (int)fd;
}

/* `flags`: O_NOFOLLOW, or 0. */
static int look(const char *root, const char *path, int flags)
{
    if (root)
        return look_beneath(root, path, flags);
    int looked = open(path, O_PATH | O_CLOEXEC | flags);
    return looked < 0 ? -errno : looked;
}

/* The very file that was looked at, whatever its path leads to now. Takes `looked`. */
static int open_looked(int looked, const struct stat *st, uint64_t bytes_max)
{
    int code = !S_ISREG(st->st_mode) ? -EINVAL : (uint64_t)st->st_size > bytes_max ? -EFBIG : 0;
    if (code == 0) {
        char self[64];
        snprintf(self, sizeof self, "/proc/self/fd/%d", looked);
        code = open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        code = code < 0 ? -errno : code;
    }
    close(looked);
    return code;
}

int cs_open_regular(const char *root, const char *path, uint64_t bytes_max, struct stat *st)
{
    struct stat own;
    st = st ? st : &own;
    int looked = look(root, path, 0);
    if (looked < 0)
        return looked;
    if (fstat(looked, st) == 0)
        return open_looked(looked, st, bytes_max);
    int code = -errno;
    close(looked);
    return code;
}

int cs_open_owned(const char *root, const char *path, uint64_t bytes_max, uid_t owner)
{
    struct stat st;
    int looked = look(root, path, O_NOFOLLOW);
    if (looked < 0)
        return looked;
    int code = fstat(looked, &st) < 0                   ? -errno
               : st.st_uid != 0 && st.st_uid != owner   ? -EPERM
               : S_ISREG(st.st_mode) && st.st_nlink > 1 ? -EMLINK
                                                        : 0;
    if (code == 0)
        return open_looked(looked, &st, bytes_max);
    close(looked);
    return code;
}

int cs_stat_beneath(const char *root, const char *path, struct stat *st)
{
    int looked = look_beneath(root, path, 0);
    int code = looked < 0 ? looked : fstat(looked, st) < 0 ? -errno : 0;
    if (looked >= 0)
        close(looked);
    return code;
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
