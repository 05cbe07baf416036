/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code cache is mapped twice: where it runs nobody can write, and where it is written, at an address drawn
 * at random, nothing runs. */
#include "sampler/burst/replayer/translator/code_memory.h"
#include "sampler/burst/replayer/translator/regions.h"
#include "sampler/burst/runner/runner.h"
#include "sampler/burst/runner/sys.h"

#include <sys/mman.h>

#define TRIES 64
#define TOUCHED_AHEAD (256 << 10)
#define LOWEST 0x100000000ULL
#define HIGHEST 0x7f0000000000ULL

uint8_t code_cache[CODE_CACHE_BYTES] __attribute__((aligned(2 << 20)));
int64_t code_writable_at;

static uint64_t random_place(void)
{
    uint64_t number = 0;
    if (SYS(__NR_getrandom, &number, sizeof number, 0) != (long)sizeof number)
        return 0;
    uint64_t place = LOWEST + number % (HIGHEST - LOWEST);
    return place & ~(PAGE - 1);
}

bool code_memory_open(void)
{
    long fd = SYS(__NR_memfd_create, "code", 0);
    if (fd < 0 || SYS(__NR_ftruncate, fd, CODE_CACHE_BYTES) < 0)
        return false;
    long at =
        SYS(__NR_mmap, code_cache, CODE_CACHE_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0);
    bool done = false;
    for (unsigned i = 0; i < TRIES && at == (long)code_cache && !done; i++) {
        uint64_t place = random_place();
        if (!place || regions_overlap(place, place + CODE_CACHE_BYTES))
            continue;
        long other = SYS(__NR_mmap, place, CODE_CACHE_BYTES, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
        done = other == (long)place;
        code_writable_at = (int64_t)(place - (uint64_t)code_cache);
    }
    SYS(__NR_close, fd);
    return done;
}

bool code_memory_taken(void)
{
    uint64_t place = (uint64_t)code_cache + (uint64_t)code_writable_at;
    return regions_overlap(place, place + CODE_CACHE_BYTES);
}

void code_memory_touch(const uint8_t *from)
{
    static uint64_t touched;
    uint64_t to = (uint64_t)(from - code_cache) + TOUCHED_AHEAD;
    for (; touched < to && touched < CODE_CACHE_BYTES; touched += PAGE) {
        volatile uint8_t *place = code_cache + touched;
        (void)*(place + code_writable_at);
        (void)*place;
    }
}
