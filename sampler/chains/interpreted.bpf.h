/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handler's part of interpreted frames. An interpreter's own list of them (python.bpf.h, lua.bpf.h) is put in the
 * places of the native loop's frames. Only unwind.bpf.h includes it, after its maps.
 *
 * Both lists are joined from the outer end. A run of the loop that has just begun has no frame yet, and it is the
 * innermost. The leaf stays what was interrupted, so that a sample's own place is the same with chains and without. */
#pragma once

static __always_inline __u64 user_word(__u64 addr)
{
    __u64 value = 0;
    bpf_probe_read_user(&value, sizeof value, (const void *)addr);
    return value;
}

static __always_inline __u64 own_key(const struct chain_scratch *s, __u64 code)
{
    return (code & CS_TREE_ADDR_MASK) | CS_TREE_INTERPRETED |
           (__u64)(s->interpreter & 15) << CS_TREE_INTERPRETER_SHIFT;
}

/* Tells of code that wasn't met lately in that module (a hash), and who called it from where (0: not known): its name is read while the
 * process lives.
 * Not static, as others here: verified once, not at each call. */
__noinline int chain_report_code(__u64 key, __u64 module, __u64 caller, __u64 caller_at)
{
    __u32 pid = bpf_get_current_pid_tgid() >> 32;
    __u64 is = key ^ (__u64)pid << 32 ^ module;
    __u32 at = (is * 0x9E3779B97F4A7C15ULL) >> 51 & (CS_CHAIN_CODES - 1);
    __u64 *reported = bpf_map_lookup_elem(&chain_codes, &at);
    if (!reported || *reported == is)
        return 0;
    struct cs_chain_want message = {pid, CS_CHAIN_NO_IMAGE, key, caller, caller_at};
    if (bpf_ringbuf_output(&chain_wants, &message, sizeof message, 0) == 0)
        *reported = is;
    return 0;
}

#include "sampler/chains/lua.bpf.h"
#include "sampler/chains/python.bpf.h"

struct frames_join {
    struct chain_scratch *s;
    __u32 native, own; /* left of each: the next one is one below */
    __u32 in_group, first, n_kernel;
};

/* Puts one frame to the joined ones, outermost first. */
static long join_frame(__u32 i, void *context)
{
    struct frames_join *j = context;
    struct chain_scratch *s = j->s;
    (void)i;
    if (!j->native)
        return 1;
    __u64 native = s->frames[(j->native - 1) & (CS_CHAIN_FRAMES - 1)],
          own = s->own[(j->own - 1) & (CS_CHAIN_OWN_FRAMES - 1)];
    int room = s->n_joined + j->native + 1 < CS_CHAIN_FRAMES, user_leaf = j->native == j->n_kernel + 1;
    if (j->in_group) {
        if (j->own && room && (j->first || !(own & CS_TREE_RUN))) {
            s->joined[s->n_joined & (CS_CHAIN_FRAMES - 1)] = own & ~CS_TREE_RUN;
            s->n_joined++;
            j->own--;
            j->first = 0;
            return 0;
        }
        j->in_group = 0;
        if (j->native > 1) {
            j->native--;
            return 0;
        }
    } else if ((native & CS_TREE_RUN) && !(native >> 63) && j->own) {
        j->in_group = j->first = 1;
        return 0;
    } else if (user_leaf && j->own && room) { /* of a run that isn't seen: it is about to begin */
        s->joined[s->n_joined & (CS_CHAIN_FRAMES - 1)] = own & ~CS_TREE_RUN;
        s->n_joined++;
        j->own--;
        return 0;
    }
    s->joined[s->n_joined & (CS_CHAIN_FRAMES - 1)] = native >> 63 ? native : native & ~CS_TREE_RUN;
    s->n_joined++;
    j->native--;
    return 0;
}

static __always_inline int is_run(const struct cs_chain_image *image, __u64 vaddr)
{
    __u32 number = image->interpreter - 1;
    const struct cs_chain_interpreter *it = bpf_map_lookup_elem(&chain_interpreters, &number);
    return it && vaddr - it->loop < it->loop_bytes;
}

/* Makes `joined` of the frames. `self`: what the thread is known by to its C library. */
__noinline int chain_join_interpreted(struct chain_scratch *s, __u64 self, __u32 n_kernel)
{
    __u32 number = s ? s->interpreter : 0;
    const struct cs_chain_interpreter *it = bpf_map_lookup_elem(&chain_interpreters, &number);
    if (!s || !it || !is_mapped(s, s->run_at))
        return 0;
    s->n_own = 0;
    if (it->kind == CS_CHAIN_LUA)
        take_lua(s, it);
    else
        take_python(s, it, self);
    struct frames_join j = {.s = s, .native = s->n, .own = s->n_own, .n_kernel = n_kernel};
    bpf_loop(4 * CS_CHAIN_FRAMES, join_frame, &j, 0);
    return 0;
}
