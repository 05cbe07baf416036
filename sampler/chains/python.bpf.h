/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPython's list of the running thread. Only interpreted.bpf.h includes it. */
#pragma once

#define PYTHON_THREADS 128
#define FRAME_BYTES 80U /* of a Python frame: all that is asked for lies in them */

struct python_walk {
    struct chain_scratch *s;
    const struct cs_python_offsets *o;
    __u64 interpreter, at, self;
    __u32 is_3_11;
};

/* Is it this thread's state? Else on to the next one, also of the next interpreter. */
static long python_thread(__u32 i, void *context)
{
    struct python_walk *w = context;
    (void)i;
    if (!w->at) {
        w->interpreter = w->interpreter ? user_word(w->interpreter + w->o->interpreter_next) : 0;
        if (!w->interpreter)
            return 1;
        w->at = user_word(w->interpreter + w->o->threads);
        return 0;
    }
    if (user_word(w->at + w->o->thread_id) == w->self)
        return 1;
    w->at = user_word(w->at + w->o->thread_next);
    return 0;
}

static long python_frame(__u32 i, void *context)
{
    struct python_walk *w = context;
    struct chain_scratch *s = w->s;
    const char *frame = (const char *)s->own_frame;
    (void)i;
    if (!w->at || bpf_probe_read_user(s->own_frame, FRAME_BYTES, (const void *)w->at) != 0)
        return 1;
    __u64 previous = *(const __u64 *)(frame + (w->o->frame_previous & 0x78)),
          code = *(const __u64 *)(frame + (w->o->frame_code & 0x78)),
          module = *(const __u64 *)(frame + (w->o->frame_globals & 0x78)) * 0x9E3779B97F4A7C15ULL;
    __u8 owner = *(const __u8 *)(frame + (w->o->frame_owner & 0x7f)),
         is_entry = *(const __u8 *)(frame + (w->o->frame_is_entry & 0x7f));
    w->at = previous;
    if (!w->is_3_11 && owner >= w->o->owner_of_shims) { /* in front of the one that the loop began with */
        if (s->n_own && owner == w->o->owner_of_shims)
            s->own[(s->n_own - 1) & (CS_CHAIN_OWN_FRAMES - 1)] |= CS_TREE_RUN;
        return 0;
    }
    __u64 key = own_key(s, (code & CS_TREE_CODE_MASK) | (module >> 8 & CS_TREE_MODULE_BITS));
    chain_report_code(key, module, 0, 0);
    s->own[s->n_own & (CS_CHAIN_OWN_FRAMES - 1)] = key | (w->is_3_11 && is_entry ? CS_TREE_RUN : 0);
    s->n_own++;
    return s->n_own >= CS_CHAIN_OWN_FRAMES;
}

static __always_inline void take_python(struct chain_scratch *s, const struct cs_chain_interpreter *it,
                                        __u64 self)
{
    const struct cs_python_offsets *o = &it->python;
    struct python_walk w = {
        .s = s, .o = o, .self = self, .is_3_11 = o->frame_is_entry != CS_PYTHON_NO_OFFSET};
    w.interpreter = user_word(it->root + s->bias + o->interpreters);
    w.at = w.interpreter ? user_word(w.interpreter + o->threads) : 0;
    bpf_loop(PYTHON_THREADS, python_thread, &w, 0);
    if (w.at && o->c_frame != CS_PYTHON_NO_OFFSET)
        w.at = user_word(w.at + o->c_frame);
    if (w.at)
        w.at = user_word(w.at + o->current_frame);
    if (w.at)
        bpf_loop(2 * CS_CHAIN_OWN_FRAMES, python_frame, &w, 0);
}
