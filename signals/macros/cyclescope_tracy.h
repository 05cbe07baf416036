/* SPDX-License-Identifier: MIT */
/* cyclescope_tracy.h: Tracy's macros (github.com/wolfpld/tracy), as signals.
 *
 *      c++ -I PREFIX/include/cyclescope ... -lcyclescope     # <tracy/Tracy.hpp>, <tracy/TracyC.h> are this file
 *
 *      Tracy                                            here
 *      ZoneScoped, ZoneNamed, ZoneTransient, their      tag "zone", its innermost one: the zone's name, or
 *        N, C, S forms; TracyCZone and its forms;       "FUNCTION (FILE:LINE)" where it has none
 *        ZoneName(V,F,VF), TracyCZoneName(F)
 *      FrameMark, FrameMarkNamed(NAME)                  counters "frames", NAME: frames ended
 *      FrameMarkStart(NAME), FrameMarkEnd(NAME)         tag "frame" of the thread that calls; the one begun last
 *      TracyPlot, TracyCPlot(F,I)                       a tag of the plot's name with its value: whole, not negative
 *      tracy::SetThreadName, TracyCSetThreadName        tag "thread"
 *      ZoneIsActive, TracyIsConnected, TracyIsStarted   true
 *      TracyLockable, TracySharedLockable               the plain lock
 *
 * These are compiled to nothing, arguments and all, in all their forms: ZoneText, ZoneColor, ZoneValue, FrameImage,
 * TracyPlotConfig, TracyMessage, TracyLogString, TracyAppInfo. So are TracyAlloc and TracyFree, LockMark, LockableName,
 * TracyCLock and TracyCSharedLock, TracyParameter, TracyFiber, TracyBeginSamplingProfiling. Not there: the headers for
 * graphics (TracyVulkan.hpp and so on) and for Lua, and names of namespace tracy that aren't in the manual. The
 * functions that macros of TracyC.h call aren't there either. TRACY_ENABLE need not be defined: to have no
 * zones, leave this header out.
 *
 * Plots and named frames take a word of the thread's line each, of which there are some ten: see cyclescope.h. */
#ifndef CYCLESCOPE_TRACY_H
#define CYCLESCOPE_TRACY_H

#include <cyclescope_zones.h>
#include <stdarg.h>

#pragma GCC system_header /* zones within zones shadow each other, as Tracy's do */

#ifndef TracyFunction
#define TracyFunction __FUNCTION__
#endif
#ifndef TracyFile
#define TracyFile __FILE__
#endif
#ifndef TracyLine
#define TracyLine __LINE__
#endif

CS_ZONES_SHARED struct cs_zones cs_tracy_zones = {"zone", CS_WORD_SCRAP, 0};
CS_ZONES_SHARED struct cs_zones cs_tracy_frames = {"frame", CS_WORD_SCRAP, 0};
CS_ZONES_SHARED struct cs_zones cs_tracy_threads = {"thread", CS_WORD_SCRAP, 0};

CS_HOT void cs_tracy_rename(struct cs_zone zone, const char *text, size_t length)
{
    if (zone.active)
        cs_set(cs_tracy_zones.word, cs_zones_value(&cs_tracy_zones, text, length));
}
__attribute__((format(printf, 2, 3), unused)) static void cs_tracy_rename_format(struct cs_zone zone,
                                                                                 const char *format, ...)
{
    char text[200];
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    cs_tracy_rename(zone, text, n < 0 ? 0 : strlen(text));
}
CS_HOT void cs_tracy_frame(const char *name)
{
    cs_add(cs_zones_plot_word(name ? name : "frames", CS_COUNTER), 1);
}
CS_HOT void cs_tracy_frame_start(const char *name)
{
    const uint64_t value = cs_zones_value(&cs_tracy_frames, name, strlen(name));
    cs_set(cs_tracy_frames.word, value);
}
CS_HOT void cs_tracy_frame_end(void)
{
    cs_set(cs_tracy_frames.word, 0);
}
CS_HOT void cs_tracy_plot(const char *name, double value)
{
    cs_set(cs_zones_plot_word(name, CS_TAG), cs_zones_number(value));
}
CS_HOT void cs_tracy_thread(const char *name)
{
    const uint64_t value = cs_zones_value(&cs_tracy_threads, name, strlen(name));
    cs_set(cs_tracy_threads.word, value);
}

#define CS_TRACY_JOIN(a, b) CS_TRACY_JOINED(a, b)
#define CS_TRACY_JOINED(a, b) a##b
#define CS_TRACY_SITE CS_TRACY_JOIN(cs_tracy_site_, __LINE__)
#define CS_TRACY_PLACE(name, function)                                                                       \
    static struct cs_zone_site CS_TRACY_SITE = {name, function, TracyFile, (unsigned)TracyLine, 0}

/* ---- C ---- */
typedef struct cs_zone TracyCZoneCtx;

#define TracyCZone(ctx, active) TracyCZoneN(ctx, NULL, active)
#define TracyCZoneN(ctx, name, active)                                                                       \
    CS_TRACY_PLACE(name, __func__);                                                                          \
    TracyCZoneCtx ctx = cs_zone_begin(&cs_tracy_zones, &CS_TRACY_SITE, active);
#define TracyCZoneC(ctx, color, active) TracyCZoneN(ctx, NULL, active)
#define TracyCZoneNC(ctx, name, color, active) TracyCZoneN(ctx, name, active)
#define TracyCZoneS(ctx, depth, active) TracyCZoneN(ctx, NULL, active)
#define TracyCZoneNS(ctx, name, depth, active) TracyCZoneN(ctx, name, active)
#define TracyCZoneCS(ctx, color, depth, active) TracyCZoneN(ctx, NULL, active)
#define TracyCZoneNCS(ctx, name, color, depth, active) TracyCZoneN(ctx, name, active)
#define TracyCZoneEnd(ctx) cs_zone_end(&cs_tracy_zones, ctx);
#define TracyCZoneName(ctx, text, size) cs_tracy_rename(ctx, text, size);
#define TracyCZoneNameF(ctx, ...) cs_tracy_rename_format(ctx, __VA_ARGS__);
#define TracyCFrameMark cs_tracy_frame(NULL);
#define TracyCFrameMarkNamed(name) cs_tracy_frame(name);
#define TracyCFrameMarkStart(name) cs_tracy_frame_start(name);
#define TracyCFrameMarkEnd(name) cs_tracy_frame_end();
#define TracyCPlot(name, value) cs_tracy_plot(name, (double)(value));
#define TracyCPlotF(name, value) cs_tracy_plot(name, (double)(value));
#define TracyCPlotI(name, value) cs_tracy_plot(name, (double)(value));
#define TracyCSetThreadName(name) cs_tracy_thread(name);
#define TracyCIsConnected 1
#define TracyCIsStarted 1
#define TracyCBeginSamplingProfiling() 0

#define TracyCEndSamplingProfiling()
#define TracyCZoneText(...)
#define TracyCZoneTextF(...)
#define TracyCZoneColor(...)
#define TracyCZoneValue(...)
#define TracyCFrameImage(...)
#define TracyCPlotConfig(...)
#define TracyCAppInfo(...)
#define TracyCMessage(...)
#define TracyCMessageL(...)
#define TracyCMessageC(...)
#define TracyCMessageLC(...)
#define TracyCMessageS(...)
#define TracyCMessageLS(...)
#define TracyCMessageCS(...)
#define TracyCMessageLCS(...)
#define TracyCAlloc(...)
#define TracyCFree(...)
#define TracyCAllocN(...)
#define TracyCFreeN(...)
#define TracyCAllocS(...)
#define TracyCFreeS(...)
#define TracyCAllocNS(...)
#define TracyCFreeNS(...)
#define TracyCMemoryDiscard(...)
#define TracyCMemoryDiscardS(...)
#define TracyCFiberEnter(...)
#define TracyCFiberLeave
typedef const void *TracyCLockCtx;
typedef const void *TracyCSharedLockCtx;
#define TracyCLockAnnounce(...)
#define TracyCLockTerminate(...)
#define TracyCLockBeforeLock(...)
#define TracyCLockAfterLock(...)
#define TracyCLockAfterUnlock(...)
#define TracyCLockAfterTryLock(...)
#define TracyCLockMark(...)
#define TracyCLockCustomName(...)
#define TracyCSharedLockAnnounce(...)
#define TracyCSharedLockTerminate(...)
#define TracyCSharedLockBeforeLock(...)
#define TracyCSharedLockAfterLock(...)
#define TracyCSharedLockAfterUnlock(...)
#define TracyCSharedLockAfterTryLock(...)
#define TracyCSharedLockBeforeSharedLock(...)
#define TracyCSharedLockAfterSharedLock(...)
#define TracyCSharedLockAfterSharedUnlock(...)
#define TracyCSharedLockAfterTrySharedLock(...)
#define TracyCSharedLockMark(...)
#define TracyCSharedLockCustomName(...)

/* ---- C++ ---- */
#ifdef __cplusplus
namespace tracy
{
class ScopedZone
{
  public:
    ScopedZone(cs_zone_site *site, bool active) : zone(cs_zone_begin(&cs_tracy_zones, site, active)) {}
    ScopedZone(const char *name, bool active) : zone()
    {
        if (active)
            zone = cs_zone_begin_value(&cs_tracy_zones, cs_zones_value(&cs_tracy_zones, name, strlen(name)));
    }
    ScopedZone(const ScopedZone &) = delete;
    ScopedZone &operator=(const ScopedZone &) = delete;
    ~ScopedZone() { cs_zone_end(&cs_tracy_zones, zone); }
    cs_zone zone;
};
inline void SetThreadName(const char *name)
{
    cs_tracy_thread(name);
}
inline void SetThreadNameWithHint(const char *name, int)
{
    cs_tracy_thread(name);
}
} // namespace tracy

#define CS_TRACY_NOTHING ((void)0)

#define ZoneNamedN(variable, name, active)                                                                   \
    CS_TRACY_PLACE(name, TracyFunction);                                                                     \
    ::tracy::ScopedZone variable(&CS_TRACY_SITE, active)
#define ZoneNamed(variable, active) ZoneNamedN(variable, nullptr, active)
#define ZoneNamedC(variable, color, active) ZoneNamedN(variable, nullptr, active)
#define ZoneNamedNC(variable, name, color, active) ZoneNamedN(variable, name, active)
#define ZoneNamedS(variable, depth, active) ZoneNamedN(variable, nullptr, active)
#define ZoneNamedNS(variable, name, depth, active) ZoneNamedN(variable, name, active)
#define ZoneNamedCS(variable, color, depth, active) ZoneNamedN(variable, nullptr, active)
#define ZoneNamedNCS(variable, name, color, depth, active) ZoneNamedN(variable, name, active)
#define ZoneTransient(variable, active) ZoneNamedN(variable, nullptr, active)
#define ZoneTransientN(variable, name, active) ::tracy::ScopedZone variable(name, active)
#define ZoneTransientS(variable, depth, active) ZoneNamedN(variable, nullptr, active)
#define ZoneTransientNS(variable, name, depth, active) ZoneTransientN(variable, name, active)
#define ZoneScoped ZoneNamedN(___tracy_scoped_zone, nullptr, true)
#define ZoneScopedN(name) ZoneNamedN(___tracy_scoped_zone, name, true)
#define ZoneScopedC(color) ZoneScoped
#define ZoneScopedNC(name, color) ZoneScopedN(name)
#define ZoneScopedS(depth) ZoneScoped
#define ZoneScopedNS(name, depth) ZoneScopedN(name)
#define ZoneScopedCS(color, depth) ZoneScoped
#define ZoneScopedNCS(name, color, depth) ZoneScopedN(name)
#define ZoneNameV(variable, text, size) cs_tracy_rename(variable.zone, text, size)
#define ZoneName(text, size) ZoneNameV(___tracy_scoped_zone, text, size)
#define ZoneNameVF(variable, ...) cs_tracy_rename_format(variable.zone, __VA_ARGS__)
#define ZoneNameF(...) ZoneNameVF(___tracy_scoped_zone, __VA_ARGS__)
#define ZoneIsActiveV(variable) (variable.zone.active != 0)
#define ZoneIsActive ZoneIsActiveV(___tracy_scoped_zone)

#define FrameMark cs_tracy_frame(nullptr)
#define FrameMarkNamed(name) cs_tracy_frame(name)
#define FrameMarkStart(name) cs_tracy_frame_start(name)
#define FrameMarkEnd(name) cs_tracy_frame_end()
#define TracyPlot(name, value) cs_tracy_plot(name, static_cast<double>(value))
#define TracyIsConnected true
#define TracyIsStarted true

#define TracyLockable(type, variable) type variable
#define TracyLockableN(type, variable, description) type variable
#define TracySharedLockable(type, variable) type variable
#define TracySharedLockableN(type, variable, description) type variable
#define LockableBase(type) type
#define SharedLockableBase(type) type

#define LockMark(...) CS_TRACY_NOTHING
#define LockableName(...) CS_TRACY_NOTHING
#define ZoneText(...) CS_TRACY_NOTHING
#define ZoneTextV(...) CS_TRACY_NOTHING
#define ZoneTextF(...) CS_TRACY_NOTHING
#define ZoneTextVF(...) CS_TRACY_NOTHING
#define ZoneColor(...) CS_TRACY_NOTHING
#define ZoneColorV(...) CS_TRACY_NOTHING
#define ZoneValue(...) CS_TRACY_NOTHING
#define ZoneValueV(...) CS_TRACY_NOTHING
#define FrameImage(...) CS_TRACY_NOTHING
#define TracyPlotConfig(...) CS_TRACY_NOTHING
#define TracyMessage(...) CS_TRACY_NOTHING
#define TracyMessageL(...) CS_TRACY_NOTHING
#define TracyMessageC(...) CS_TRACY_NOTHING
#define TracyMessageLC(...) CS_TRACY_NOTHING
#define TracyMessageS(...) CS_TRACY_NOTHING
#define TracyMessageLS(...) CS_TRACY_NOTHING
#define TracyMessageCS(...) CS_TRACY_NOTHING
#define TracyMessageLCS(...) CS_TRACY_NOTHING
#define TracyLogString(...) CS_TRACY_NOTHING
#define TracyAppInfo(...) CS_TRACY_NOTHING
#define TracySetProgramName(...) CS_TRACY_NOTHING
#define TracyNoop CS_TRACY_NOTHING
#define TracyAlloc(...) CS_TRACY_NOTHING
#define TracyFree(...) CS_TRACY_NOTHING
#define TracySecureAlloc(...) CS_TRACY_NOTHING
#define TracySecureFree(...) CS_TRACY_NOTHING
#define TracyAllocN(...) CS_TRACY_NOTHING
#define TracyFreeN(...) CS_TRACY_NOTHING
#define TracySecureAllocN(...) CS_TRACY_NOTHING
#define TracySecureFreeN(...) CS_TRACY_NOTHING
#define TracyAllocS(...) CS_TRACY_NOTHING
#define TracyFreeS(...) CS_TRACY_NOTHING
#define TracySecureAllocS(...) CS_TRACY_NOTHING
#define TracySecureFreeS(...) CS_TRACY_NOTHING
#define TracyAllocNS(...) CS_TRACY_NOTHING
#define TracyFreeNS(...) CS_TRACY_NOTHING
#define TracySecureAllocNS(...) CS_TRACY_NOTHING
#define TracySecureFreeNS(...) CS_TRACY_NOTHING
#define TracyMemoryDiscard(...) CS_TRACY_NOTHING
#define TracyMemoryDiscardS(...) CS_TRACY_NOTHING
#define TracySecureMemoryDiscard(...) CS_TRACY_NOTHING
#define TracySecureMemoryDiscardS(...) CS_TRACY_NOTHING
#define TracyParameterRegister(...) CS_TRACY_NOTHING
#define TracyParameterSetup(...) CS_TRACY_NOTHING
#define TracySourceCallbackRegister(...) CS_TRACY_NOTHING
#define TracyFiberEnter(...) CS_TRACY_NOTHING
#define TracyFiberEnterHint(...) CS_TRACY_NOTHING
#define TracyFiberLeave CS_TRACY_NOTHING
#define TracyBeginSamplingProfiling() false
#define TracyEndSamplingProfiling() CS_TRACY_NOTHING
#endif

#endif
