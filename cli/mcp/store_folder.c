/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client names stores by a path within the folder. Links are followed before it is compared with the folder, so that
 * none leads out of it. */
#include "cli/mcp/mcp.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN_STORE "cyclescope.store" /* in a folder of stores, where the client names none */
#define ENTRIES_LOOKED_AT 1000

/* One of its folders is a recording. */
static bool is_store(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    bool found = false;
    for (unsigned n = 0; folder && !found && n < ENTRIES_LOOKED_AT && (entry = readdir(folder)); n++) {
        char meta[PATH_MAX];
        found = entry->d_name[0] != '.' &&
                snprintf(meta, sizeof meta, "%s/%s/epoch.meta", path, entry->d_name) < (int)sizeof meta &&
                access(meta, F_OK) == 0;
    }
    if (folder)
        closedir(folder);
    return found;
}

int mcp_folder_open(struct mcp *mcp, const char *path, struct cs_error *err)
{
    char real[PATH_MAX];
    struct stat st;
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return cs_fail(err, errno, "the folder %s can't be made: %s", path, strerror(errno));
    if (!realpath(path, real) || stat(real, &st) < 0)
        return cs_fail(err, errno, "the folder %s can't be read: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return cs_fail(err, ENOTDIR, "%s is no folder", path);
    if (snprintf(mcp->folder, sizeof mcp->folder, "%s", real) >= (int)sizeof mcp->folder)
        return cs_fail(err, ENAMETOOLONG, "the path of the folder %s is too long", path);
    mcp->one_store = is_store(real);
    return 0;
}

static bool goes_up(const char *path)
{
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]))
            return true;
    }
    return false;
}

static bool is_inside(const char *folder, const char *real)
{
    const size_t n = strlen(folder);
    return strncmp(real, folder, n) == 0 && (real[n] == '/' || !real[n] || strcmp(folder, "/") == 0);
}

int mcp_store_path(const struct mcp *mcp, const char *store, bool exists, char *path, size_t size,
                   struct cs_error *err)
{
    char real[PATH_MAX], above[PATH_MAX];
    if (mcp->one_store && store && strcmp(store, ".") != 0)
        return cs_fail(err, EINVAL, "this server has one store: leave \"store\" out");
    const char *name = store ? store : mcp->one_store ? "." : OWN_STORE;
    if (!*name || *name == '/' || *name == '-' || goes_up(name))
        return cs_fail(err, EINVAL, "a store is a path within the server's folder, without \"..\"");
    if (snprintf(path, size, "%s/%s", mcp->folder, name) >= (int)size || size > PATH_MAX)
        return cs_fail(err, ENAMETOOLONG, "the path of the store is too long");
    if (realpath(path, real)) {
        if (!is_inside(mcp->folder, real))
            return cs_fail(err, EINVAL, "the store leads out of the server's folder by a link");
        snprintf(path, size, "%s", real);
        return 0;
    }
    if (errno != ENOENT || exists)
        return cs_fail(err, errno, "there is no store %.200s", name);
    /* It will be made: its folder must be there, and its last part must be new, not a link that leads nowhere yet. */
    struct stat st;
    snprintf(above, sizeof above, "%s", path);
    char *last = strrchr(above, '/');
    *last++ = '\0';
    if (!*last || lstat(path, &st) == 0 || !realpath(above, real) || !is_inside(mcp->folder, real))
        return cs_fail(err, EINVAL, "no store can be made at %.200s", name);
    return 0;
}
