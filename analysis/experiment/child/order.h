/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order and its answer are in one file of memory that both processes map. It is the child's only descriptor. What comes
 * back is a stranger's word. */
#pragma once

#include "analysis/experiment/child/bare_loop.h"

enum { ORDER_CODE_BYTES = 16384, ORDER_FD = 0 };

/* What fresh pages of data hold. */
enum order_fill {
    ORDER_FILL_SMALL,    /* numbers below 64 of `grain` bytes each */
    ORDER_FILL_SAME,     /* one number */
    ORDER_FILL_FLOAT,    /* 1.0 */
    ORDER_FILL_POINTERS, /* addresses of more such pages */
};

/* Why there is no time. */
enum order_trouble {
    ORDER_DONE,
    ORDER_WILD,     /* an address that can't be mapped, or not again */
    ORDER_DIVISION, /* by zero, or the quotient is too large */
    ORDER_PAGES,    /* more data than a first-level cache holds */
    ORDER_SIGNAL,   /* an instruction that isn't allowed, or there is none */
    ORDER_RIGHTS,   /* the process couldn't give up its rights: nothing was run */
    ORDER_UNKNOWN,  /* it ended otherwise */
};

/* Where things lie in the child: code keeps what it is modulo 64 KB. Addresses of data fit 31 bits. */
#define ORDER_CODE_AT UINT64_C(0x600000000)
#define ORDER_DATA_AT UINT64_C(0x10000000)
#define ORDER_POOL_AT UINT64_C(0x20000000)
#define ORDER_POOL_HIGH_AT UINT64_C(0x720000000) /* but for these: neither half of them is 0 */

struct order {
    uint64_t first; /* address of code[0] */
    uint32_t n, head,
        exit_at; /* bytes of code; where a turn begins; where the address stands that it leaves to */
    int32_t counter, parent;
    uint32_t fill, grain, trouble;
    uint64_t pool; /* where addresses in memory lead */
    uint64_t registers[16];
    struct bare_time time; /* the answer, with `trouble` */
    _Alignas(64) uint8_t state[BARE_STATE_BYTES];
    uint8_t code[ORDER_CODE_BYTES];
};
