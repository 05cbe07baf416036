/* SPDX-License-Identifier: MIT */
/* The module of require "cyclescope": it tags the Lua function that runs, for Debian's unmodified lua5.4 (and any
 * Lua 5.4). Compiled with LuaJIT's headers it serves LuaJIT, which interprets while a hook is set. cyclescope.stop()
 * takes the hook away; the program's own tags and counters stay.
 *
 *      local cyclescope = require "cyclescope"      -- or: lua5.4 -l cyclescope program.lua
 *      cyclescope.start()                           -- require does it already
 *      cyclescope.stop()
 *      cyclescope.set("phase", "parse")             -- a tag of the program's own
 *      cyclescope.add("rows", 10)                   -- a counter
 *
 * A call/return hook writes the tag "lua" with a number for each function prototype: named once, at its first
 * call, "name (file:line)". C functions are "[C] name". On return the tag is the caller's again. Tail calls
 * are followed. Coroutines get the hook when they are created through coroutine.create or wrap. An error that
 * unwinds leaves the failed function's tag until the next call or return. Cost: the interpreter's hook, some
 * 0.1 us a call. */
#include "signals/cyclescope.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

#if LUA_VERSION_NUM < 502 /* LuaJIT: the interface of 5.1 */
#define lua_newuserdatauv(L, size, values) lua_newuserdata(L, size)
#define lua_rawlen lua_objlen
static void lua_rawgetp(lua_State *L, int table, const void *key)
{
    lua_pushlightuserdata(L, (void *)(size_t)key);
    lua_rawget(L, table); /* a pseudo-index */
}
static void lua_rawsetp(lua_State *L, int table, const void *key)
{
    lua_pushlightuserdata(L, (void *)(size_t)key);
    lua_insert(L, -2);
    lua_rawset(L, table);
}
#define HOOK_IS_RETURN(event) ((event) == LUA_HOOKRET || (event) == LUA_HOOKTAILRET)
#else
#define HOOK_IS_RETURN(event) ((event) == LUA_HOOKRET)
#endif

#define FUNCTIONS_MAX 65536u /* slots of the cache, a power of two */

/* Of one Lua state; lives in its registry. A function is known by the address of its prototype's source text
 * and its first line, C functions by their own address: both stable while they can run. */
struct tags {
    cs_signal signal;
    uint64_t last;
    uint32_t n;
    struct {
        const void *key;
        int line;
        uint32_t tag; /* 0 = free */
    } slot[FUNCTIONS_MAX];
};

static const char registry_key = 'k';

static struct tags *tags_of(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &registry_key);
    struct tags *t = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return t;
}

static void name(lua_State *L, lua_Debug *ar, cs_signal signal, uint64_t tag)
{
    char text[256];
    lua_getinfo(L, "n", ar);
    const char *called = ar->name ? ar->name : *ar->what == 'm' ? "main chunk" : "?";
    if (*ar->what == 'C')
        snprintf(text, sizeof text, "[C] %s", called);
    else
        snprintf(text, sizeof text, "%s (%s:%d)", called, ar->short_src, ar->linedefined);
    cs_name(signal, tag, text);
}

#define TAG_UNCHANGED UINT64_MAX

/* The tag of the function that `ar` is about; named when it is new. LuaJIT's own functions (math.sin) have no address
 * and no returns: they are their caller's. */
static uint64_t tag_of(lua_State *L, lua_Debug *ar, struct tags *t)
{
    if (!lua_getinfo(L, "S", ar))
        return 0;
    const void *key = ar->source;
    if (*ar->what == 'C') {
        lua_getinfo(L, "f", ar);
        key = (const void *)lua_tocfunction(L, -1);
        lua_pop(L, 1);
        if (!key)
            return TAG_UNCHANGED;
    }
    size_t i = (((size_t)key >> 3) * 31 + (size_t)ar->linedefined) * 0x9e3779b97f4a7c15ull >> 20;
    for (i &= FUNCTIONS_MAX - 1; t->slot[i].tag != 0; i = (i + 1) & (FUNCTIONS_MAX - 1))
        if (t->slot[i].key == key && t->slot[i].line == ar->linedefined)
            return t->slot[i].tag;
    if (t->n >= FUNCTIONS_MAX / 2)
        return 0; /* "others" */
    t->slot[i].key = key;
    t->slot[i].line = ar->linedefined;
    t->slot[i].tag = ++t->n;
    name(L, ar, t->signal, t->n);
    return t->n;
}

static void hook(lua_State *L, lua_Debug *ar)
{
    struct tags *t = tags_of(L);
    lua_Debug caller;
    if (!t)
        return;
    uint64_t tag = !HOOK_IS_RETURN(ar->event)    ? tag_of(L, ar, t)
                   : lua_getstack(L, 1, &caller) ? tag_of(L, &caller, t)
                                                 : 0;
    if (tag != TAG_UNCHANGED)
        cs_set(t->signal, tag);
}

static int start(lua_State *L)
{
    lua_sethook(L, hook, LUA_MASKCALL | LUA_MASKRET, 0);
    return 0;
}

static int stop(lua_State *L)
{
    lua_sethook(L, NULL, 0, 0);
    cs_set(tags_of(L)->signal, 0);
    return 0;
}

/* coroutine.create and wrap, with the creator's hook carried over (Lua starts coroutines with the creator's
 * hook, but start() may come later than the coroutine: cyclescope.start(co)). */
static int start_in(lua_State *L)
{
    lua_State *in = lua_isthread(L, 1) ? lua_tothread(L, 1) : L;
    return start(in);
}

/* A value of a tag by its text: numbered and named at first use, kept in the upvalue table. */
static int set(lua_State *L)
{
    const char *signal_name = luaL_checkstring(L, 1), *value = luaL_checkstring(L, 2);
    const cs_signal signal = cs_define(CS_ANY_WORD, signal_name, CS_TAG);
    lua_pushfstring(L, "%s\n%s", signal_name, value);
    lua_rawget(L, lua_upvalueindex(1));
    if (lua_isnil(L, -1)) {
        const lua_Integer n = (lua_Integer)lua_rawlen(L, lua_upvalueindex(1)) + 1;
        lua_pushboolean(L, 1);
        lua_rawseti(L, lua_upvalueindex(1), (int)n);
        lua_pushfstring(L, "%s\n%s", signal_name, value);
        lua_pushinteger(L, n);
        lua_rawset(L, lua_upvalueindex(1));
        cs_name(signal, (uint64_t)n, value);
        lua_pushinteger(L, n);
    }
    cs_set(signal, (uint64_t)lua_tointeger(L, -1));
    return 0;
}

static int add(lua_State *L)
{
    cs_add(cs_define(CS_ANY_WORD, luaL_checkstring(L, 1), CS_COUNTER), (uint64_t)luaL_optinteger(L, 2, 1));
    return 0;
}

CS_API int luaopen_cyclescope(lua_State *L);
int luaopen_cyclescope(lua_State *L)
{
    cs_attach();
    struct tags *t = lua_newuserdatauv(L, sizeof *t, 0);
    memset(t, 0, sizeof *t);
    t->signal = cs_define(CS_ANY_WORD, "lua", CS_TAG);
    cs_name(t->signal, 0, "others");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &registry_key);

    lua_newtable(L);
    static const luaL_Reg functions[] = {{"start", start_in}, {"stop", stop}, {"add", add}, {NULL, NULL}};
    luaL_setfuncs(L, functions, 0);
    lua_newtable(L);
    lua_pushcclosure(L, set, 1);
    lua_setfield(L, -2, "set");
    start(L);
    return 1;
}
