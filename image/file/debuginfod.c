/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/file/debuginfod.h"
#include "image/file/elf.h"
#include "store/base/cache.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ASK_AGAIN_S 600
#define CHILD_CPU_S 60
#define CHILD_BYTES (1UL << 30) /* of address space */
#define LOOK_MS 5
#define FOLDER_BEGINS "debuginfod."

static const char *const words[] = {
    [CS_IMAGE_LACKS_FILE] = "executable", [CS_IMAGE_LACKS_NAMES] = "debuginfo"};

bool cs_debuginfod_possible(void)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    return urls && urls[strspn(urls, " ")];
}

/* It becomes part of a command line and of a path. */
static bool is_build_id(const char *text)
{
    size_t n = strlen(text);
    return n >= 8 && n < CS_IMAGE_BUILD_ID_MAX && strspn(text, "0123456789abcdef") == n;
}

static void kept_files(struct cs_cache *cache, const char *build_id, enum cs_image_lack lack, char key[160])
{
    cs_cache_init(cache, NULL, "debuginfod", CS_DEBUGINFOD_KEPT_MAX);
    snprintf(key, 160, "%s %s", words[lack], build_id);
}

struct elf_file *elf_file_from_debuginfod(const char *build_id, bool image)
{
    struct cs_cache cache;
    struct cs_cache_entry entry;
    struct cs_error ignored = {0};
    struct elf_file *file = NULL;
    char key[160], *bytes;
    if (!is_build_id(build_id))
        return NULL;
    kept_files(&cache, build_id, image ? CS_IMAGE_LACKS_FILE : CS_IMAGE_LACKS_NAMES, key);
    if (!cs_cache_load(&cache, key, &entry))
        return NULL;
    if (entry.n > sizeof(time_t) && (bytes = malloc(entry.n)) != NULL) {
        memcpy(bytes, entry.bytes, entry.n);
        if (elf_file_from_memory(bytes, entry.n, "debuginfod's file", &file, &ignored) == 0 &&
            strcmp(file->build_id, build_id) != 0) {
            elf_file_close(file);
            file = NULL;
        }
    }
    cs_cache_entry_fini(&entry);
    return file;
}

/* An entry that is a time says when nobody had it. */
static bool asked_lately(const struct cs_cache *cache, const char *key)
{
    struct cs_cache_entry entry;
    time_t when = 0, now = time(NULL);
    if (!cs_cache_load(cache, key, &entry))
        return false;
    if (entry.n == sizeof when)
        memcpy(&when, entry.bytes, sizeof when);
    cs_cache_entry_fini(&entry);
    return when <= now && now - when < ASK_AGAIN_S;
}

static bool limit(void)
{
    const struct rlimit seconds = {CHILD_CPU_S, CHILD_CPU_S}, bytes = {CHILD_BYTES, CHILD_BYTES},
                        none = {0, 0}, file = {CS_DEBUGINFOD_FILE_MAX, CS_DEBUGINFOD_FILE_MAX};
    return setrlimit(RLIMIT_CPU, &seconds) == 0 && setrlimit(RLIMIT_AS, &bytes) == 0 &&
           setrlimit(RLIMIT_FSIZE, &file) == 0 && setrlimit(RLIMIT_CORE, &none) == 0;
}

/* The child of a process with one thread. A cache of its own, which goes with it; bounds where the user has set none. */
static _Noreturn void ask(pid_t parent, const char *build_id, const char *word, const char *folder,
                          unsigned seconds)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    char text[32];
    (void)setenv("DEBUGINFOD_CACHE_PATH", folder, 1);
    (void)unsetenv("DEBUGINFOD_PROGRESS");
    (void)setenv("DEBUGINFOD_TIMEOUT", "10", 0);
    snprintf(text, sizeof text, "%u", seconds);
    (void)setenv("DEBUGINFOD_MAXTIME", text, 1);
    snprintf(text, sizeof text, "%llu", CS_DEBUGINFOD_FILE_MAX);
    (void)setenv("DEBUGINFOD_MAXSIZE", text, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && setpgid(0, 0) == 0 && limit() &&
        null >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2)
        (void)execlp("debuginfod-find", "debuginfod-find", word, build_id, (char *)NULL);
    _exit(127);
}

/* 0: it ended well. -ETIMEDOUT: it was ended. */
static int wait_for(pid_t child, double seconds)
{
    struct timespec now, until;
    int status;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds + 1;
    for (;;) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended != 0)
            return ended < 0                                         ? -ECHILD
                   : WIFEXITED(status) && WEXITSTATUS(status) == 0   ? 0
                   : WIFEXITED(status) && WEXITSTATUS(status) == 127 ? -ENOEXEC
                                                                     : -ENOENT;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec >= until.tv_sec) {
            (void)kill(-child, SIGKILL);
            (void)kill(child, SIGKILL);
            (void)waitpid(child, &status, 0);
            return -ETIMEDOUT;
        }
        nanosleep(&(struct timespec){0, LOOK_MS * 1000000}, NULL);
    }
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    (void)remove(path);
    return 0;
}

/* What a command left that was ended while it asked. */
static void sweep(const char *caches)
{
    DIR *dir = opendir(caches);
    struct stat st;
    char path[PATH_MAX];
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;)
        if (strncmp(e->d_name, FOLDER_BEGINS, strlen(FOLDER_BEGINS)) == 0 &&
            (size_t)snprintf(path, sizeof path, "%s/%s", caches, e->d_name) < sizeof path &&
            lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && time(NULL) - st.st_mtime > ASK_AGAIN_S)
            (void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    if (dir)
        closedir(dir);
}

/* What the child brought, when it is what was asked for. */
static bool keep(const struct cs_cache *cache, const char *key, const char *folder, const char *build_id,
                 const char *word)
{
    struct cs_error ignored = {0};
    struct elf_file *file;
    struct stat st;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%s", folder, build_id, word);
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > CS_DEBUGINFOD_FILE_MAX ||
        elf_file_open(path, &file, &ignored) < 0)
        return false;
    bool kept = strcmp(file->build_id, build_id) == 0 &&
                cs_cache_save(cache, key, &(struct iovec){file->map, file->size}, 1);
    elf_file_close(file);
    return kept;
}

int cs_debuginfod_ask(const char *build_id, enum cs_image_lack lack, double seconds)
{
    assert(seconds > 0);
    struct cs_cache cache;
    char key[160], folder[PATH_MAX - 256];
    if (lack == CS_IMAGE_LACKS_NOTHING || !is_build_id(build_id) || !cs_debuginfod_possible())
        return 0;
    kept_files(&cache, build_id, lack, key);
    if (asked_lately(&cache, key))
        return 0;
    int rc = cs_cache_folder(folder, sizeof folder - 32);
    if (rc < 0)
        return rc;
    sweep(folder);
    strcat(folder, "/" FOLDER_BEGINS "XXXXXX");
    if (!mkdtemp(folder))
        return -errno;
    pid_t self = getpid(), child = fork();
    if (child == 0)
        ask(self, build_id, words[lack], folder, (unsigned)seconds + 1);
    rc = child < 0 ? -errno : wait_for(child, seconds);
    bool kept = rc == 0 && keep(&cache, key, folder, build_id, words[lack]);
    time_t now = time(NULL);
    if (!kept && (rc == 0 || rc == -ENOENT || rc == -ETIMEDOUT))
        (void)cs_cache_save(&cache, key, &(struct iovec){&now, sizeof now}, 1);
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return kept ? 1 : rc == -ENOENT ? 0 : rc;
}
