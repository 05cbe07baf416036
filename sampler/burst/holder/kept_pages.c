/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The replayer has kept pages of earlier bursts and says which; their present content goes into the memory
 * that both share, from where the replayer takes it. It could read them by itself, one call each: 0.6 us a page
 * more while the thread stands. */
#include "sampler/burst/holder/kept_pages.h"
#include "sampler/burst/runner/sys.h"

#include <sys/mman.h>
#include <sys/uio.h>

#define BATCH 512
#define MANY 1024

static uint32_t warm;

static uint32_t n_wanted(void)
{
    uint32_t n = *(volatile uint32_t *)&boundary->n_kept;
    return n < KEPT_MAX ? n : KEPT_MAX;
}

void kept_pages_prepare(bool many)
{
    uint32_t n = n_wanted();
    if (many && n < MANY)
        n = MANY;
    for (; warm < n; warm++)
        *(volatile uint8_t *)boundary->page[warm] = 0;
}

void kept_pages_rest(void)
{
    uint64_t from = ((uint64_t)boundary->steps + PAGE - 1) & ~(PAGE - 1), to = (uint64_t)(boundary + 1);
    SYS(__NR_madvise, from, to - from, MADV_REMOVE);
    warm = 0;
}

/* [from, from + n), n at most BATCH; how many came before one that did not. */
static uint32_t copy_batch(pid_t pid, uint32_t from, uint32_t n)
{
    static struct iovec there[BATCH];
    unsigned pieces = 0;
    for (uint32_t i = 0; i < n; i++) { /* pages that follow each other are one piece: 0.4 us less */
        uint64_t addr = ((volatile uint64_t *)boundary->kept)[from + i] & ~(PAGE - 1);
        if (pieces && (uint64_t)there[pieces - 1].iov_base + there[pieces - 1].iov_len == addr)
            there[pieces - 1].iov_len += PAGE;
        else
            there[pieces++] = (struct iovec){(void *)addr, PAGE};
    }
    struct iovec here = {boundary->page[from], n * PAGE};
    long bytes = SYS(__NR_process_vm_readv, pid, &here, 1, there, pieces, 0);
    return bytes > 0 ? (uint32_t)((uint64_t)bytes / PAGE) : 0;
}

uint32_t kept_pages_copy(pid_t pid, uint64_t deadline)
{
    uint32_t n = n_wanted(), came = 0;
    for (uint32_t i = 0; i < n;) {
        uint32_t batch = n - i < BATCH ? n - i : BATCH;
        uint32_t got = tsc() < deadline ? copy_batch(pid, i, batch) : 0;
        got = got < batch ? got : batch;
        came += got;
        for (uint32_t k = 0; k < got; k++)
            boundary->kept_there[i++] = 1;
        if (got < batch)
            boundary->kept_there[i++] = 0;
    }
    return came;
}
