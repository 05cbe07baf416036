/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handler's part of interpreted frames: CPython's list of the running thread (image/interpreter/python.c is the reference), put
 * in the places of the native loop's frames. Included by unwind.bpf.h alone, behind its maps.
 *
 * Both lists are joined from the outer end: a run of the loop that has just begun has no frame yet, and it is the innermost. The
 * leaf stays what was interrupted, so that a sample's own place is the same with chains and without. */
#ifndef CS_SAMPLER_CHAINS_PYTHON_BPF_H
#define CS_SAMPLER_CHAINS_PYTHON_BPF_H

#define PYTHON_THREADS 128
#define FRAME_BYTES 80U /* of a Python frame: all that is asked for lies in them */

struct python_walk {
    struct chain_scratch *s;
    const struct cs_python_offsets *o;
    __u64 interpreter, at, self;
    __u32 is_3_11;
};

static __always_inline __u64 python_word(__u64 addr)
{
    __u64 value = 0;
    bpf_probe_read_user(&value, sizeof value, (const void *)addr);
    return value;
}

/* Is it this thread's state? Else on to the next one, also of the next interpreter. */
static long python_thread(__u32 i, void *context)
{
    struct python_walk *w = context;
    (void)i;
    if (!w->at) {
        w->interpreter = w->interpreter ? python_word(w->interpreter + w->o->interpreter_next) : 0;
        if (!w->interpreter)
            return 1;
        w->at = python_word(w->interpreter + w->o->threads);
        return 0;
    }
    if (python_word(w->at + w->o->thread_id) == w->self)
        return 1;
    w->at = python_word(w->at + w->o->thread_next);
    return 0;
}

/* Tells of code that wasn't met lately: its name is read while the process lives. */
static __always_inline void tell_code(__u64 key)
{
    __u32 pid = bpf_get_current_pid_tgid() >> 32;
    __u64 is = key ^ (__u64)pid << 32;
    __u32 at = (is * 0x9E3779B97F4A7C15ULL) >> 51 & (CS_CHAIN_CODES - 1);
    __u64 *told = bpf_map_lookup_elem(&chain_codes, &at);
    if (!told || *told == is)
        return;
    struct cs_chain_want message = {pid, CS_CHAIN_NO_IMAGE, key};
    if (bpf_ringbuf_output(&chain_wants, &message, sizeof message, 0) == 0)
        *told = is;
}

static long python_frame(__u32 i, void *context)
{
    struct python_walk *w = context;
    struct chain_scratch *s = w->s;
    const char *frame = (const char *)s->python_frame;
    (void)i;
    if (!w->at || bpf_probe_read_user(s->python_frame, FRAME_BYTES, (const void *)w->at) != 0)
        return 1;
    __u64 previous = *(const __u64 *)(frame + (w->o->frame_previous & 0x78)),
          code = *(const __u64 *)(frame + (w->o->frame_code & 0x78));
    __u8 owner = *(const __u8 *)(frame + (w->o->frame_owner & 0x7f)),
         is_entry = *(const __u8 *)(frame + (w->o->frame_is_entry & 0x7f));
    w->at = previous;
    if (!w->is_3_11 && owner == w->o->owner_of_shims) { /* in front of the one that the loop began with */
        if (s->n_python)
            s->python[(s->n_python - 1) & (CS_CHAIN_PYTHON_FRAMES - 1)] |= CS_TREE_RUN;
        return 0;
    }
    __u64 key = (code & CS_TREE_ADDR_MASK) | CS_TREE_INTERPRETED |
                (__u64)(s->python_number & 15) << CS_TREE_INTERPRETER_SHIFT;
    tell_code(key);
    s->python[s->n_python & (CS_CHAIN_PYTHON_FRAMES - 1)] = key | (w->is_3_11 && is_entry ? CS_TREE_RUN : 0);
    s->n_python++;
    return s->n_python >= CS_CHAIN_PYTHON_FRAMES;
}

struct python_join {
    struct chain_scratch *s;
    __u32 native, python; /* left of each: the next one is one below */
    __u32 in_group, first, n_kernel;
};

/* Puts one frame to the joined ones, outermost first. */
static long join_frame(__u32 i, void *context)
{
    struct python_join *j = context;
    struct chain_scratch *s = j->s;
    (void)i;
    if (!j->native)
        return 1;
    __u64 native = s->frames[(j->native - 1) & (CS_CHAIN_FRAMES - 1)],
          python = s->python[(j->python - 1) & (CS_CHAIN_PYTHON_FRAMES - 1)];
    int room = s->n_joined + j->native + 1 < CS_CHAIN_FRAMES, user_leaf = j->native == j->n_kernel + 1;
    if (j->in_group) {
        if (j->python && room && (j->first || !(python & CS_TREE_RUN))) {
            s->joined[s->n_joined & (CS_CHAIN_FRAMES - 1)] = python & ~CS_TREE_RUN;
            s->n_joined++;
            j->python--;
            j->first = 0;
            return 0;
        }
        j->in_group = 0;
        if (j->native > 1) {
            j->native--;
            return 0;
        }
    } else if ((native & CS_TREE_RUN) && !(native >> 63) && j->python) {
        j->in_group = j->first = 1;
        return 0;
    } else if (user_leaf && j->python && room) { /* of a run that isn't seen: it is about to begin */
        s->joined[s->n_joined & (CS_CHAIN_FRAMES - 1)] = python & ~CS_TREE_RUN;
        s->n_joined++;
        j->python--;
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
static __always_inline void join_python(struct chain_scratch *s, __u64 self, __u32 n_kernel)
{
    __u32 number = s->python_number;
    const struct cs_chain_interpreter *it = bpf_map_lookup_elem(&chain_interpreters, &number);
    if (!it || !is_mapped(s, s->run_at))
        return;
    struct python_walk w = {.s = s,
                            .o = &it->offsets,
                            .self = self,
                            .is_3_11 = it->offsets.frame_is_entry != CS_PYTHON_NO_OFFSET};
    w.interpreter = python_word(it->root + s->bias + it->offsets.interpreters);
    w.at = w.interpreter ? python_word(w.interpreter + it->offsets.threads) : 0;
    s->n_python = 0;
    bpf_loop(PYTHON_THREADS, python_thread, &w, 0);
    if (w.at && it->offsets.c_frame != CS_PYTHON_NO_OFFSET)
        w.at = python_word(w.at + it->offsets.c_frame);
    if (w.at)
        w.at = python_word(w.at + it->offsets.current_frame);
    if (w.at)
        bpf_loop(2 * CS_CHAIN_PYTHON_FRAMES, python_frame, &w, 0);
    struct python_join j = {.s = s, .native = s->n, .python = s->n_python, .n_kernel = n_kernel};
    bpf_loop(4 * CS_CHAIN_FRAMES, join_frame, &j, 0);
}

#endif
