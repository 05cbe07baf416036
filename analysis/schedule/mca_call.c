/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/schedule/mca_call.h"

#include <assert.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { CPU_SECONDS_MAX = 30 };

/* Its answer is built of small pieces in 50 MB and more: in huge pages, a third of its time is saved, and of the rest a
 * fifteenth by asking the kernel for much at a time. What the user set stays. */
#define LARGE_HEAP                                                                                           \
    "GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864:glibc.malloc.mmap_threshold="       \
    "268435456"

/* Our environment and that; malloced, the strings aren't. */
static char **environment(void)
{
    size_t n = 0;
    while (environ[n])
        n++;
    char **copy = malloc((n + 2) * sizeof *copy);
    if (!copy)
        return NULL;
    memcpy(copy, environ, n * sizeof *copy);
    if (!getenv("GLIBC_TUNABLES"))
        copy[n++] = (char *)LARGE_HEAP;
    copy[n] = NULL;
    return copy;
}

static char *contents(int fd, size_t *length)
{
    struct stat st;
    if (fstat(fd, &st))
        return NULL;
    char *text = malloc((size_t)st.st_size + 1);
    if (!text)
        return NULL;
    ssize_t n = pread(fd, text, (size_t)st.st_size, 0);
    *length = n > 0 ? (size_t)n : 0;
    text[*length] = 0;
    return text;
}

int mca_call(const char *program, char *const *args, const char *input, size_t length,
             struct mca_answer *answer)
{
    assert(program && (input || length == 0));
    int fd[3] = {-1, -1, -1}, rc = 0;
    char **env = environment();
    posix_spawn_file_actions_t actions;
    memset(answer, 0, sizeof *answer);
    posix_spawn_file_actions_init(&actions);
    if (!env) {
        rc = -ENOMEM;
        goto out;
    }
    for (int i = 0; i < 3; i++) {
        fd[i] = memfd_create("schedule", MFD_CLOEXEC);
        if (fd[i] < 0 || posix_spawn_file_actions_adddup2(&actions, fd[i], i)) {
            rc = -errno;
            goto out;
        }
    }
    if (write(fd[0], input, length) != (ssize_t)length || lseek(fd[0], 0, SEEK_SET)) {
        rc = -EIO;
        goto out;
    }
    pid_t pid;
    rc = -posix_spawn(&pid, program, &actions, NULL, args, env);
    if (rc)
        goto out;
    const struct rlimit limit = {CPU_SECONDS_MAX, CPU_SECONDS_MAX};
    (void)prlimit(pid, RLIMIT_CPU, &limit, NULL);
    while (waitpid(pid, &answer->status, 0) < 0 && errno == EINTR)
        ;
    size_t ignored;
    answer->out = contents(fd[1], &answer->out_length);
    answer->err = contents(fd[2], &ignored);
    if (!answer->out || !answer->err)
        rc = -ENOMEM;
out:
    posix_spawn_file_actions_destroy(&actions);
    for (int i = 0; i < 3; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    free(env);
    return rc;
}

void mca_answer_free(struct mca_answer *answer)
{
    free(answer->out);
    free(answer->err);
}
