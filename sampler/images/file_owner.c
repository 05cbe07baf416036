/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/images/file_owner.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a group may write of our own files is our choice; root's files are more people's word than root's then. */
static bool others_may_write(const struct stat *st)
{
    if (st->st_mode & S_IWOTH)
        return true;
    if (st->st_uid == 0)
        return st->st_gid != 0 && st->st_mode & S_IWGRP;
    return st->st_uid != geteuid();
}

struct cs_file_version cs_file_version_of(const struct stat *st)
{
    return (struct cs_file_version){st->st_dev, st->st_ino,
                                    st->st_ctim.tv_sec * 1000000000LL + st->st_ctim.tv_nsec,
                                    others_may_write(st)};
}

bool cs_file_version_is(const struct cs_file_version *version, const struct stat *st)
{
    const struct cs_file_version now = cs_file_version_of(st);
    return now.device == version->device && now.inode == version->inode &&
           now.changed_ns == version->changed_ns;
}

void cs_file_owner_mark(const struct stat *st, char id[CS_IMAGE_ID_MAX])
{
    const size_t n = strnlen(id, CS_IMAGE_ID_MAX - 1);
    if (!others_may_write(st))
        return;
    if (st->st_mode & S_IWOTH)
        snprintf(id + n, CS_IMAGE_ID_MAX - n, "-o");
    else
        snprintf(id + n, CS_IMAGE_ID_MAX - n, "-%c%u", st->st_uid ? 'u' : 'g',
                 st->st_uid ? st->st_uid : st->st_gid);
}
