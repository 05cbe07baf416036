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

static int look_beneath(const char *root, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -errno;
    long fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
    int code = fd < 0 ? -errno : 0;
    close(folder);
    return code < 0 ? code : (int)fd;
}

int cs_open_regular(const char *root, const char *path, uint64_t bytes_max, struct stat *st)
{
    struct stat own;
    st = st ? st : &own;
    int looked = root ? look_beneath(root, path) : open(path, O_PATH | O_CLOEXEC);
    if (looked < 0)
        return root ? looked : -errno;
    int code = fstat(looked, st) < 0               ? -errno
               : !S_ISREG(st->st_mode)             ? -EINVAL
               : (uint64_t)st->st_size > bytes_max ? -EFBIG
                                                   : 0;
    if (code == 0) {
        char self[64]; /* the very file that was looked at, whatever its path leads to now */
        snprintf(self, sizeof self, "/proc/self/fd/%d", looked);
        code = open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        code = code < 0 ? -errno : code;
    }
    close(looked);
    return code;
}

int cs_stat_beneath(const char *root, const char *path, struct stat *st)
{
    int looked = look_beneath(root, path);
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
