/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The replayer has kept pages of earlier bursts and says which. Their present content goes into the memory that
 * both share, from where the replayer takes it. It could read them by itself, one call each: 0.6 us a page more
 * while the thread stands.
 *
 * They are read by the thread's number, many in one call. By the descriptor of its memory each costs 0.7 us more, which
 * made stops of python3 longer by 16 %. While the thread stands its number is its own. One that is killed, by another
 * thread's exec, say, leaves it to others. So what was read is kept back until ptrace has found the thread standing
 * once more. */
#include "sampler/burst/holder/kept_pages.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/present_pages.h"
#include "sampler/burst/runner/sys.h"

#include <sys/mman.h>
#include <sys/uio.h>

#define MANY 1024
#define AT_ONCE 64
#define GETEVENTMSG 0x4201

static uint32_t warm, n_kept;
static uint64_t kept[KEPT_MAX]; /* what the replayer said before the thread stood */
static uint8_t state[KEPT_MAX]; /* of these pages, then */
static uint8_t staging[AT_ONCE * PAGE] __attribute__((aligned(4096))); /* what nobody else sees yet */

/* One look for those that lie near each other. */
static void look_for_pages(void)
{
    uint8_t around[PRESENT_PAGES_MAX];
    for (uint32_t i = 0, next; i < n_kept; i = next) {
        uint64_t first = kept[i] / PAGE;
        for (next = i + 1;
             next < n_kept && kept[next] > kept[next - 1] && kept[next] / PAGE - first < PRESENT_PAGES_MAX;)
            next++;
        present_pages(kept[i], (unsigned)(kept[next - 1] / PAGE - first) + 1, around);
        for (uint32_t k = i; k < next; k++)
            state[k] = around[kept[k] / PAGE - first];
    }
}

void kept_pages_prepare(bool many)
{
    uint32_t n = *(volatile uint32_t *)&boundary->n_kept;
    n_kept = n = n < KEPT_MAX ? n : KEPT_MAX;
    for (uint32_t i = 0; i < n; i++)
        kept[i] = ((volatile uint64_t *)boundary->kept)[i] & ~(PAGE - 1);
    look_for_pages();
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

/* A file may have lost a page since we looked, and would get it back. */
static bool is_there(uint32_t i)
{
    if (state[i] == PAGE_OF_FILE)
        present_pages(kept[i], 1, &state[i]);
    return state[i] != PAGE_ABSENT;
}

/* Pages [from, to), which are there: how many of the first of them were read. */
static uint32_t read_batch(uint32_t tid, uint32_t from, uint32_t to)
{
    static struct iovec there[AT_ONCE];
    unsigned pieces = 0;
    for (uint32_t i = from; i < to; i++)
        if (pieces && kept[i] == kept[i - 1] + PAGE) /* one piece: 0.4 us less */
            there[pieces - 1].iov_len += PAGE;
        else
            there[pieces++] = (struct iovec){(void *)kept[i], PAGE};
    struct iovec here = {staging, (to - from) * PAGE};
    long bytes = SYS(__NR_process_vm_readv, tid, &here, 1, there, pieces, 0);
    return bytes > 0 ? (uint32_t)((uint64_t)bytes / PAGE) : 0;
}

/* False: it doesn't any more, and another thread may have its number, and had it when we read. */
static bool stands(uint32_t tid)
{
    unsigned long message;
    return SYS(__NR_ptrace, GETEVENTMSG, tid, 0, &message) >= 0;
}

uint32_t kept_pages_copy(uint32_t tid, uint64_t deadline)
{
    uint32_t came = 0;
    for (uint32_t i = 0, end; i < n_kept; i = end) {
        for (end = i; end < n_kept && end - i < AT_ONCE && is_there(end);)
            end++;
        uint32_t got = end > i && tsc() < deadline ? read_batch(tid, i, end) : 0;
        if (got && !stands(tid))
            got = 0;
        memcpy(boundary->page[i], staging, got * PAGE);
        memset(boundary->kept_there + i, 1, got);
        came += got;
        if (got < end - i || end == i) { /* one that couldn't be read, or isn't there */
            boundary->kept_there[i + got] = 0;
            end = i + got + 1;
        }
    }
    return came;
}
