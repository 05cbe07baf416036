/* SPDX-License-Identifier: GPL-2.0-or-later */
/* While the runner waits for a stop awake, it has a CPU. If another thread of the program ran there, that thread stands
 * before the burst begins. Two threads that send each other messages then come to rest: the one that still runs has
 * nothing to take and no room to send. Of 314 bursts of such a program none saw a message (docs/lab/culprits.md). */
#include "sampler/burst/holder/displaced_thread.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"

#include <dirent.h>
#include <fcntl.h>

#define ASKED_MAX 16 /* threads: some 5 us each */

/* The number that a name of /proc/TID/task is; 0: none. */
static uint32_t number_of(const char *name)
{
    uint64_t number = 0;
    for (; *name >= '0' && *name <= '9' && number <= INT32_MAX; name++)
        number = number * 10 + (uint64_t)(*name - '0');
    return *name || number > INT32_MAX ? 0 : (uint32_t)number;
}

bool thread_is_displaced(uint32_t tid)
{
    static uint8_t entries[1024] __attribute__((aligned(8)));
    char path[32];
    unsigned own = 0, asked = 0;
    thread_path(tid, "/task", path);
    long fd = SYS(__NR_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    long bytes = SYS(__NR_getdents64, fd, entries, sizeof entries);
    SYS(__NR_close, fd);
    SYS(__NR_getcpu, &own, NULL, NULL);
    bool displaced = false;
    for (long at = 0; at < bytes && asked < ASKED_MAX && !displaced;) {
        const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
        uint32_t other = number_of(entry->d_name);
        struct thread_place place;
        at += entry->d_reclen;
        if (!other || other == tid)
            continue;
        asked++;
        displaced = thread_place(other, &place) && !place.asleep && place.cpu == own;
    }
    return displaced;
}
