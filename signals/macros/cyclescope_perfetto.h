/* SPDX-License-Identifier: MIT */
/* cyclescope_perfetto.h: the track-event macros of Perfetto's SDK (C++), as signals.
 *
 *      c++ -I PREFIX/include/cyclescope ... -lcyclescope     # <perfetto.h> is this file
 *
 *      Perfetto                                         here
 *      TRACE_EVENT, TRACE_EVENT_BEGIN, _END; the old    tag "slice": the innermost event's name, or its category
 *        TRACE_EVENT0 to 2, _BEGIN0 to 2, _END0 to 2    where the name is nullptr
 *      TRACE_COUNTER                                    a tag of the counter's name with its value: whole, not
 *                                                       negative; a counter where the track is incremental
 *      TRACE_EVENT_CATEGORY_ENABLED                     true
 *
 * The slice is the calling thread's. So an event on a track of its own, or with a time stamp, is left out. Its first
 * further argument is neither a string literal, nor a lambda, nor a flow, nor a TrackEvent field. Further arguments are
 * compiled to nothing. So are TRACE_EVENT_INSTANT and its old forms, PERFETTO_DEFINE_CATEGORIES and what belongs to it,
 * PERFETTO_TRACK_EVENT_STATIC_STORAGE. The same holds for perfetto::Tracing::Initialize, perfetto::TrackEvent::Register
 * and descriptors of tracks. Not there: sessions (TraceConfig, Tracing::NewTrace), data sources of the program's own,
 * EventContext outside an event's arguments, and the C interface.
 *
 * Events nest 24 deep on a thread; below that the outer one stays. Counters take a word of the thread's line each, of
 * which there are some ten: see cyclescope.h. */
#ifndef CYCLESCOPE_PERFETTO_H
#define CYCLESCOPE_PERFETTO_H

#include <cyclescope_zones.h>
#include <string>
#include <time.h>
#include <type_traits>

#pragma GCC system_header /* macros without further arguments */

CS_ZONES_SHARED struct cs_zones cs_perfetto_slices = {"slice", CS_WORD_SCRAP, 0};

namespace perfetto
{
struct StaticString {
    const char *value;
};
struct DynamicString {
    explicit DynamicString(const std::string &text) : value(text.data()), length(text.size()) {}
    explicit DynamicString(const char *text) : value(text), length(strlen(text)) {}
    DynamicString(const char *text, size_t bytes) : value(text), length(bytes) {}
    const char *value;
    size_t length;
};
struct DynamicCategory {
    explicit DynamicCategory(const std::string &text) : name(text) {}
    std::string name;
};

/* What takes any description and does nothing with it. */
struct TrackDescription {
    template <typename... Any> void set_name(const Any &...) {}
    template <typename... Any> void set_process_name(const Any &...) {}
    template <typename... Any> void set_thread_name(const Any &...) {}
    TrackDescription *mutable_process() { return this; }
    TrackDescription *mutable_thread() { return this; }
};
struct Track {
    Track() {}
    template <typename... Parent> explicit Track(uint64_t, const Parent &...) {}
    template <typename... Any> static Track Global(const Any &...) { return Track(); }
    template <typename... Any> static Track FromPointer(const Any &...) { return Track(); }
    TrackDescription Serialize() const { return TrackDescription(); }
};
struct ProcessTrack : Track {
    static ProcessTrack Current() { return ProcessTrack(); }
};
struct ThreadTrack : Track {
    static ThreadTrack Current() { return ThreadTrack(); }
    template <typename Id> static ThreadTrack ForThread(Id) { return ThreadTrack(); }
};
struct NamedTrack : Track {
    template <typename... Any> explicit NamedTrack(const Any &...) {}
};
struct CounterTrack : Track {
    template <typename... Any> explicit CounterTrack(const char *name_, const Any &...) : name(name_) {}
    template <typename Any> CounterTrack set_unit(Any) const { return *this; }
    CounterTrack set_unit_name(const char *) const { return *this; }
    CounterTrack set_unit_multiplier(int64_t n) const { return set_multiplier(n); }
    CounterTrack set_multiplier(int64_t n) const
    {
        CounterTrack other(*this);
        other.multiplier = n;
        return other;
    }
    CounterTrack set_category(const char *) const { return *this; }
    CounterTrack set_description(const char *) const { return *this; }
    CounterTrack set_is_incremental(bool is = true) const
    {
        CounterTrack other(*this);
        other.incremental = is;
        return other;
    }
    const char *name;
    int64_t multiplier = 1;
    bool incremental = false;
};

struct TrackEvent {
    static bool Register() { return true; }
    static bool IsEnabled() { return true; }
    static void Flush() {}
    static uint64_t GetTraceTimeNs()
    {
        struct timespec now;
        clock_gettime(CLOCK_BOOTTIME, &now);
        return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
    }
    template <typename... Any> static void SetTrackDescriptor(const Any &...) {}
    template <typename... Any> static void EraseTrackDescriptor(const Any &...) {}
};

enum BackendType : uint32_t { kInProcessBackend = 1, kSystemBackend = 2, kCustomBackend = 4 };
struct TracingInitArgs {
    uint32_t backends = 0;
    uint32_t shmem_size_hint_kb = 0, shmem_page_size_hint_kb = 0, shmem_batch_commits_duration_ms = 0;
    bool supports_multiple_data_source_instances = true, enable_system_consumer = true;
};
struct Tracing {
    static void Initialize(const TracingInitArgs &) {}
    static bool IsInitialized() { return true; }
    static void Shutdown() {}
};
} // namespace perfetto

namespace cs_perfetto
{
/* Whether an event with these further arguments is the thread's own, now. Of the text of the first. */
constexpr bool has(const char *text, const char *word, size_t i)
{
    return !word[i] || (text[i] == word[i] && has(text, word, i + 1));
}
constexpr bool names_a_field(const char *text)
{
    return *text && *text != ',' && *text != '(' &&
           (has(text, "TrackEvent::k", 0) || has(text, "Flow::", 0) || names_a_field(text + 1));
}
constexpr bool own(const char *text)
{
    return !*text || *text == '"' || *text == '[' || names_a_field(text);
}

/* What began and hasn't ended, of a thread. */
struct nest {
    enum { DEPTH = 24 };
    unsigned depth;
    cs_zone zones[DEPTH];
};
inline nest &nested()
{
    static thread_local nest of_thread;
    return of_thread;
}

/* Names: a literal's number is found once a place, others are looked up each time. */
inline cs_zone open_text(const char *text, size_t length)
{
    return cs_zone_begin_value(&cs_perfetto_slices, cs_zones_value(&cs_perfetto_slices, text, length));
}
template <size_t N> inline cs_zone open(cs_zone_site &site, const char (&name)[N])
{
    if (__builtin_expect(!site.name, 0))
        __atomic_store_n(&site.name, static_cast<const char *>(name), __ATOMIC_RELEASE);
    return cs_zone_begin(&cs_perfetto_slices, &site, 1);
}
template <typename Pointer>
inline typename std::enable_if<std::is_pointer<Pointer>::value, cs_zone>::type open(cs_zone_site &,
                                                                                    const Pointer &name)
{
    return open_text(name, strlen(name));
}
inline cs_zone open(cs_zone_site &, const perfetto::StaticString &name)
{
    return open_text(name.value, strlen(name.value));
}
inline cs_zone open(cs_zone_site &, const perfetto::DynamicString &name)
{
    return open_text(name.value, name.length);
}
inline cs_zone open(cs_zone_site &, const perfetto::DynamicCategory &category)
{
    return open_text(category.name.data(), category.name.size());
}
template <typename Category, typename Name>
inline cs_zone open(cs_zone_site &site, const Category &, const Name &name)
{
    return open(site, name);
}
template <typename Category>
inline cs_zone open(cs_zone_site &site, const Category &category, decltype(nullptr))
{
    return open(site, category);
}

template <bool Own, typename Category, typename Name>
inline void begin(cs_zone_site &site, const Category &category, const Name &name)
{
    nest &n = nested();
    if (!Own)
        return;
    if (n.depth < nest::DEPTH)
        n.zones[n.depth] = open(site, category, name);
    n.depth++;
}
template <bool Own> inline void end()
{
    nest &n = nested();
    if (Own && n.depth && --n.depth < nest::DEPTH)
        cs_zone_end(&cs_perfetto_slices, n.zones[n.depth]);
}
class scope
{
  public:
    template <typename Category, typename Name>
    scope(bool is_own, cs_zone_site &site, const Category &category, const Name &name) : zone()
    {
        if (is_own)
            zone = open(site, category, name);
    }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;
    ~scope() { cs_zone_end(&cs_perfetto_slices, zone); }

  private:
    cs_zone zone;
};

/* With or without a time stamp: the value comes last. */
template <typename Value> inline void counter(const perfetto::CounterTrack &track, Value value)
{
    const double number = static_cast<double>(value) * static_cast<double>(track.multiplier);
    if (track.incremental)
        cs_add(cs_zones_plot_word(track.name, CS_COUNTER), cs_zones_number(number));
    else
        cs_set(cs_zones_plot_word(track.name, CS_TAG), cs_zones_number(number));
}
template <typename Stamp, typename Value>
inline void counter(const perfetto::CounterTrack &track, Stamp, Value value)
{
    counter(track, value);
}
inline perfetto::CounterTrack track_of(const char *name)
{
    return perfetto::CounterTrack(name);
}
inline const perfetto::CounterTrack &track_of(const perfetto::CounterTrack &track)
{
    return track;
}
} // namespace cs_perfetto

#define CS_PERFETTO_JOIN(a, b) CS_PERFETTO_JOINED(a, b)
#define CS_PERFETTO_JOINED(a, b) a##b
#define CS_PERFETTO_NOTHING ((void)0)
/* At file scope, where a semicolon follows. */
#define CS_PERFETTO_SWALLOW static_assert(true, "")
#define CS_PERFETTO_SITE                                                                                     \
    []() -> cs_zone_site & {                                                                                 \
        static cs_zone_site site;                                                                            \
        return site;                                                                                         \
    }()

#define TRACE_EVENT(category, name, ...)                                                                     \
    ::cs_perfetto::scope CS_PERFETTO_JOIN(cs_perfetto_scope_, __COUNTER__)(::cs_perfetto::own(#__VA_ARGS__), \
                                                                           CS_PERFETTO_SITE, category, name)
#define TRACE_EVENT_BEGIN(category, name, ...)                                                               \
    ::cs_perfetto::begin<::cs_perfetto::own(#__VA_ARGS__)>(CS_PERFETTO_SITE, category, name)
#define TRACE_EVENT_END(category, ...) ::cs_perfetto::end<::cs_perfetto::own(#__VA_ARGS__)>()
#define TRACE_EVENT_INSTANT(...) CS_PERFETTO_NOTHING
#define TRACE_COUNTER(category, track, ...)                                                                  \
    ::cs_perfetto::counter(::cs_perfetto::track_of(track), __VA_ARGS__)
#define TRACE_EVENT_CATEGORY_ENABLED(category) true

#define TRACE_EVENT0(category, name) TRACE_EVENT(category, name)
#define TRACE_EVENT1(category, name, ...) TRACE_EVENT(category, name)
#define TRACE_EVENT2(category, name, ...) TRACE_EVENT(category, name)
#define TRACE_EVENT_BEGIN0(category, name) TRACE_EVENT_BEGIN(category, name)
#define TRACE_EVENT_BEGIN1(category, name, ...) TRACE_EVENT_BEGIN(category, name)
#define TRACE_EVENT_BEGIN2(category, name, ...) TRACE_EVENT_BEGIN(category, name)
#define TRACE_EVENT_END0(category, name) TRACE_EVENT_END(category)
#define TRACE_EVENT_END1(category, name, ...) TRACE_EVENT_END(category)
#define TRACE_EVENT_END2(category, name, ...) TRACE_EVENT_END(category)
#define TRACE_EVENT_INSTANT0(...) CS_PERFETTO_NOTHING
#define TRACE_EVENT_INSTANT1(...) CS_PERFETTO_NOTHING
#define TRACE_EVENT_INSTANT2(...) CS_PERFETTO_NOTHING
#define TRACE_COUNTER1(category, name, value) TRACE_COUNTER(category, name, value)

#define PERFETTO_CATEGORY(name) CS_PERFETTO_NOTHING
#define PERFETTO_DEFINE_CATEGORIES(...) CS_PERFETTO_SWALLOW
#define PERFETTO_DEFINE_TEST_CATEGORY_PREFIXES(...) CS_PERFETTO_SWALLOW
#define PERFETTO_TRACK_EVENT_STATIC_STORAGE() CS_PERFETTO_SWALLOW
#define PERFETTO_DEFINE_CATEGORIES_IN_NAMESPACE(space, ...)                                                  \
    namespace space                                                                                          \
    {                                                                                                        \
    using TrackEvent = ::perfetto::TrackEvent;                                                               \
    }                                                                                                        \
    CS_PERFETTO_SWALLOW
#define PERFETTO_TRACK_EVENT_STATIC_STORAGE_IN_NAMESPACE(space) CS_PERFETTO_SWALLOW
#define PERFETTO_USE_CATEGORIES_FROM_NAMESPACE(space) CS_PERFETTO_SWALLOW
#define PERFETTO_USE_CATEGORIES_FROM_NAMESPACE_SCOPED(space) CS_PERFETTO_SWALLOW

#endif
