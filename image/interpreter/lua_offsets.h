/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where Lua keeps what a handler of samples needs, in bytes, on 64-bit machines: lstate.h and lobject.h of each version. A plain
 * struct, shared with the BPF program. */
#pragma once

#include <linux/types.h>

struct cs_lua_offsets {
    __u32 version; /* major << 16 | minor << 8 | the least patch */
    /* a thread of Lua (lua_State) */
    __u16 type, top, running_call, stack_last, stack;
    /* a call (CallInfo) */
    __u16 call_function, call_previous, call_instruction, call_status;
    __u16 status_c, status_fresh, status_tail; /* bits */
    __u16 closure_code;                        /* in a closure: its Proto */
    __u16 type_of_thread, type_of_closure;     /* values of a type byte */
};
