/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows: regions of the target's map that are mapped here as a whole, but empty. A touched page that was
 * not brought yet is an error there (userfaultfd's SIGBUS feature) and not a page of zeros. Bringing one
 * page, or dropping it, then doesn't change the mappings. It takes 10 us with its signal and 0.6. A mapping
 * for each page takes 15 and 5. Where the kernel has no userfaultfd for us, or there is no space, there are
 * none, and each page is a mapping. See userfaultfd(2), ioctl_userfaultfd(2). */
#include "sampler/burst/replayer/translator/fault_windows.h"
#include "sampler/burst/runner/sys.h"
#include "store/base/bisect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <linux/userfaultfd.h>
#include <sys/mman.h>
#include <sys/uio.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#define WINDOWS_MAX 4096
static struct window {
    uint64_t from, to, identity; /* of the region */
} windows[WINDOWS_MAX];          /* ascending, apart from each other */
static unsigned n_windows;
static int descriptor = -1; /* the userfaultfd */
static bool possible;       /* are there more windows to be had? */
#define DROPS_MAX 512
static struct iovec drops[DROPS_MAX];
static unsigned n_drops;
static int own_pidfd = -1;
static uint8_t staging[WINDOW_BRING_MAX] __attribute__((aligned(4096)));

void windows_open(int *faults, int *self)
{
    long fd = SYS(__NR_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_SIGBUS};
    if (fd >= 0 && SYS(__NR_ioctl, fd, UFFDIO_API, &api) < 0) {
        SYS(__NR_close, fd);
        fd = -1;
    }
    descriptor = (int)fd;
    possible = fd >= 0;
    own_pidfd = (int)SYS(__NR_pidfd_open, SYS(__NR_getpid, 0), 0);
    *faults = descriptor;
    *self = own_pidfd;
}

/* Index of the first window that ends above addr. */
static unsigned above(uint64_t addr)
{
    return cs_bisect(n_windows, i, windows[i].to <= addr);
}

bool window_at(uint64_t addr, uint64_t *from, uint64_t *to)
{
    unsigned i = above(addr);
    if (i == n_windows || windows[i].from > addr)
        return false;
    *from = windows[i].from;
    *to = windows[i].to;
    return true;
}

static bool map(uint64_t from, uint64_t to, const struct region *region)
{
    int protection = PROT_READ | (region->w || region->shared ? PROT_WRITE : 0);
    long at = SYS(__NR_mmap, from, to - from, protection,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
    struct uffdio_register range = {.range = {from, to - from}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (at == (long)from && SYS(__NR_ioctl, descriptor, UFFDIO_REGISTER, &range) == 0)
        return true;
    if (at == -ENOMEM || at == (long)from)
        possible = false; /* a limit that stays: not tried again at each page */
    if (at >= 0)
        SYS(__NR_munmap, at, to - from);
    return false;
}

void window_make(const struct region *region, uint64_t addr)
{
    unsigned i = above(addr);
    if (!possible || n_windows == WINDOWS_MAX || (i < n_windows && windows[i].from <= addr))
        return;
    uint64_t from = region->start, to = region->end;
    if (i < n_windows && windows[i].from < to)
        to = windows[i].from;
    if (i && windows[i - 1].to > from)
        from = windows[i - 1].to;
    if (!map(from, to, region))
        return;
    if (i && windows[i - 1].to == from && windows[i - 1].identity == region->identity) {
        windows[i - 1].to = to; /* the region has grown */
        return;
    }
    for (unsigned k = n_windows++; k > i; k--)
        windows[k] = windows[k - 1];
    windows[i] = (struct window){from, to, region->identity};
}

long window_bring(uint64_t from, uint64_t to)
{
    long bytes = SYS(__NR_pread64, CS_BURST_FD_MEMORY, staging, to - from, from) & ~(long)(PAGE - 1);
    if (bytes <= 0)
        return 0;
    struct uffdio_copy copy = {
        .dst = from, .src = (uint64_t)staging, .len = (uint64_t)bytes, .mode = UFFDIO_COPY_MODE_DONTWAKE};
    SYS(__NR_ioctl, descriptor, UFFDIO_COPY, &copy);
    return copy.copy > 0 ? copy.copy : -1;
}

/* In one call, which takes 0.6 us a page; one by one, where the kernel doesn't know that call, 2. */
void window_drop_done(void)
{
    uint64_t bytes = n_drops * PAGE;
    if (n_drops && SYS(__NR_process_madvise, own_pidfd, drops, n_drops, MADV_DONTNEED, 0) != (long)bytes)
        for (unsigned i = 0; i < n_drops; i++)
            SYS(__NR_madvise, drops[i].iov_base, PAGE, MADV_DONTNEED);
    n_drops = 0;
}

void window_drop(uint64_t addr)
{
    drops[n_drops++] = (struct iovec){(void *)addr, PAGE};
    if (n_drops == DROPS_MAX)
        window_drop_done();
}

void windows_forget_changed(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < n_windows; i++) {
        struct window window = windows[i];
        const struct region *region = region_at(window.from);
        uint64_t to = region && region->identity == window.identity ? region->end : window.from;
        if (to < window.to) {
            SYS(__NR_munmap, to, window.to - to);
            window.to = to;
        }
        if (window.to > window.from)
            windows[n++] = window;
    }
    n_windows = n;
}
