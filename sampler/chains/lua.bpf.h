/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lua's frames (image/interpreter/lua.c). A C function that runs luaV_execute keeps its lua_State in a register that
 * the loop must save. So the state is among the words that lie above the loop's frame, and is recognised by what it
 * holds. Each state has its list of calls. A run of the loop began with the call that says FRESH. Where there are more
 * such calls than runs, a coroutine was resumed, and the outermost run serves all the rest. C functions of the list
 * have native frames, and are left out here. Only interpreted.bpf.h includes it. */
#pragma once

#define LUA_SAVED 6        /* words: %rbx, %rbp, %r12 … %r15, lowest first */
#define LUA_STATE_BYTES 56 /* all that is asked of a state lies in them */
#define LUA_CALL_BYTES 64
#define LUA_SPARE 128 /* bytes of its stack beyond the end that it tells */

struct lua_walk {
    struct chain_scratch *s;
    const struct cs_lua_offsets *o;
    __u64 call, callee; /* callee: the key of the frame before, not told yet */
    __u32 first, run,
        left; /* of the state at hand: its innermost run, the one behind its outermost, those not served yet */
    __u32 bare, bare_end; /* runs that have no frames */
};

/* A word of what was read into `own_frame`. */
static __always_inline __u64 lua_word(const struct chain_scratch *s, __u32 at)
{
    return *(const __u64 *)((const char *)s->own_frame + (at & 0x38));
}

/* The call that runs, if a state is there. */
static __always_inline __u64 lua_running(struct chain_scratch *s, const struct cs_lua_offsets *o, __u64 state)
{
    if (!state || state % 8 || state >> 47 ||
        bpf_probe_read_user(s->own_frame, LUA_STATE_BYTES, (const void *)state) != 0)
        return 0;
    __u64 top = lua_word(s, o->top), call = lua_word(s, o->running_call), last = lua_word(s, o->stack_last),
          stack = lua_word(s, o->stack);
    __u8 type = *((const __u8 *)s->own_frame + (o->type & 0x1f));
    if (type != o->type_of_thread || !stack || stack % 8 || call % 8 || top < stack || top > last + LUA_SPARE)
        return 0;
    __u64 function = user_word(call + o->call_function);
    return function >= stack && function < last ? call : 0;
}

static long lua_state(__u32 i, void *context)
{
    struct lua_walk *w = context;
    struct chain_scratch *s = w->s;
    __u32 run = (s->runs - 1 - i) & (CS_CHAIN_RUNS - 1); /* outermost first */
    __u64 saved[LUA_SAVED], state = 0;
    if (s->run_sp[run] &&
        bpf_probe_read_user(saved, sizeof saved, (const void *)(s->run_sp[run] - 8 - sizeof saved)) == 0)
#pragma unroll
        for (int k = 0; k < LUA_SAVED; k++)
            if (lua_running(s, w->o, saved[k])) {
                state = saved[k];
                break;
            }
    s->run_state[run] = state;
    s->run_same[run] = i && s->run_state[(run + 1) & (CS_CHAIN_RUNS - 1)] == state
                           ? s->run_same[(run + 1) & (CS_CHAIN_RUNS - 1)] + 1
                           : 1;
    return 0;
}

static __always_inline void lua_report(struct lua_walk *w, __u64 caller, __u64 caller_at)
{
    if (w->callee)
        chain_report_code(w->callee & ~CS_TREE_RUN, 0, w->callee & CS_TREE_RUN ? caller : 0, caller_at);
    w->callee = 0;
}

/* The list ends, or there is no more room (`cut`). Its last frame is the one that the outermost run began with. */
static __always_inline void lua_end_state(struct lua_walk *w, int cut)
{
    struct chain_scratch *s = w->s;
    __u64 *last = &s->own[(s->n_own - 1) & (CS_CHAIN_OWN_FRAMES - 1)];
    lua_report(w, 0, 0);
    if (s->n_own && !(*last & CS_TREE_RUN)) {
        *last |= CS_TREE_RUN;
        w->left--;
    }
    w->bare = cut ? w->run - w->left
                  : w->first; /* a run that is left without a cut is the innermost: it is about to end */
    w->bare_end = cut ? s->runs : w->first + w->left;
    if (cut)
        w->run = s->runs;
    w->call = 0;
}

static __always_inline int lua_next_state(struct lua_walk *w)
{
    struct chain_scratch *s = w->s;
    __u32 run = w->run & (CS_CHAIN_RUNS - 1);
    if (w->run >= s->runs)
        return 1;
    w->first = w->run;
    w->left = s->run_same[run];
    w->run += w->left;
    w->call = s->run_state[run] ? user_word(s->run_state[run] + w->o->running_call) : 0;
    if (!w->call) {
        w->bare = w->first;
        w->bare_end = w->run;
    }
    return 0;
}

static long lua_step(__u32 i, void *context)
{
    struct lua_walk *w = context;
    struct chain_scratch *s = w->s;
    (void)i;
    if (w->bare < w->bare_end) {
        s->frames[s->run_frame[w->bare & (CS_CHAIN_RUNS - 1)] & (CS_CHAIN_FRAMES - 1)] &= ~CS_TREE_RUN;
        w->bare++;
        return 0;
    }
    if (!w->call)
        return lua_next_state(w);
    if (bpf_probe_read_user(s->own_frame, LUA_CALL_BYTES, (const void *)w->call) != 0) {
        lua_end_state(w, 0);
        return 0;
    }
    __u64 function = lua_word(s, w->o->call_function), at = lua_word(s, w->o->call_instruction), code = 0,
          closure[2] = {0};
    __u16 status = *(const __u16 *)((const char *)s->own_frame + (w->o->call_status & 0x3e));
    w->call = lua_word(s, w->o->call_previous);
    if (!(status & w->o->status_c) &&
        bpf_probe_read_user(closure, sizeof closure, (const void *)function) == 0 &&
        (closure[1] & 0xff) == w->o->type_of_closure)
        code = user_word(closure[0] + w->o->closure_code);
    lua_report(w, code, at);
    int ends_run = (status & w->o->status_fresh) && w->left > 1;
    if (code) {
        __u64 key = own_key(s, code);
        s->own[s->n_own & (CS_CHAIN_OWN_FRAMES - 1)] = key | (ends_run ? CS_TREE_RUN : 0);
        s->n_own++;
        w->callee = key | (status & w->o->status_tail ? 0 : CS_TREE_RUN); /* whether its caller is known */
        w->left -= ends_run;
    }
    if (s->n_own >= CS_CHAIN_OWN_FRAMES)
        lua_end_state(w, 1);
    else if (!w->call)
        lua_end_state(w, 0);
    return 0;
}

static __always_inline void take_lua(struct chain_scratch *s, const struct cs_chain_interpreter *it)
{
    struct lua_walk w = {.s = s, .o = &it->lua};
    if (s->runs > CS_CHAIN_RUNS)
        return;
    bpf_loop(s->runs, lua_state, &w, 0);
    bpf_loop(2 * CS_CHAIN_FRAMES, lua_step, &w, 0);
}
