// SPDX-License-Identifier: GPL-2.0-or-later
// A program written for Perfetto's SDK, after its public manual (docs/instrumentation/track-events.md): nothing of
// cyclescope. It prints the shares of its own CPU time by slice, by its own clock, as "slice NAME SHARE", and what its
// counters had as share of time by value.
#include <perfetto.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <thread>

PERFETTO_DEFINE_CATEGORIES(
    perfetto::Category("rendering").SetDescription("Events from the graphics subsystem"),
    perfetto::Category("io"), perfetto::Category("category"), perfetto::Category("benchmark"),
    perfetto::Category("network").SetDescription("Network upload and download statistics"),
    perfetto::Category("rendering.debug").SetTags("debug", "my_custom_tag"));
PERFETTO_TRACK_EVENT_STATIC_STORAGE();

static double cpu()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

static std::map<std::string, double> truth, depths;
static double last;
static std::string innermost = "0", depth = "0";
static void change(const std::string &to) // from now on `to` runs
{
    const double now = cpu();
    truth[innermost] += now - last;
    depths[depth] += now - last;
    last = now;
    innermost = to;
}

static void spin(unsigned n)
{
    for (volatile unsigned i = 0; i < n * 1000; i++)
        ;
}

struct Player {
    int number = 1;
    const char *name() const { return "one"; }
};

static void DrawPlayer(const Player &my_player)
{
    int player_number = my_player.number;
    TRACE_EVENT("rendering", "DrawPlayer", "player_number", player_number);
    change("DrawPlayer");
    spin(60);
    (void)player_number;
    change("DrawGame");
}

static void LoadGame(unsigned turn)
{
    TRACE_EVENT_BEGIN("io", "Loading");
    change("Loading");
    spin(80);
    {
        std::string dynamic_name = turn % 2 ? "odd" : "even";
        TRACE_EVENT("io", perfetto::DynamicString{dynamic_name});
        change(dynamic_name);
        spin(30);
        TRACE_EVENT_INSTANT("io", "nothing");
        change("Loading");
    }
    TRACE_EVENT_END("io");
    change("0");
}

static void OnNewRequest(size_t request_id)
{
    // A slice of a track of its own: what the thread does stays what it was.
    TRACE_EVENT_BEGIN("category", "HandleRequest", perfetto::Track(request_id));
    TRACE_EVENT("rendering", "HandleRequestPhase1", perfetto::Flow::ProcessScoped(request_id));
    change("HandleRequestPhase1");
    spin(40);
    TRACE_EVENT_END("category", perfetto::Track(request_id));
    spin(40);
    change("0");
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 3;
    perfetto::TracingInitArgs args;
    args.backends |= perfetto::kInProcessBackend;
    perfetto::Tracing::Initialize(args);
    perfetto::TrackEvent::Register();
    Player my_player;
    perfetto::CounterTrack memory_track =
        perfetto::CounterTrack("Memory").set_unit("bytes").set_multiplier(1024);
    auto desc = perfetto::ThreadTrack::Current().Serialize();
    desc.set_name("Main");
    perfetto::TrackEvent::SetTrackDescriptor(perfetto::ThreadTrack::Current(), desc);
    const double start = last = cpu();
    for (unsigned turn = 0; cpu() - start < seconds; turn++) {
        LoadGame(turn);
        {
            TRACE_EVENT("rendering,benchmark", "DrawGame", [&](perfetto::EventContext ctx) {
                auto *event = ctx.event<perfetto::protos::pbzero::PlayerInfoExtension>();
                event->set_player_info()->set_name(my_player.name()), event->set_turn(turn);
            });
            change("DrawGame");
            spin(50);
            DrawPlayer(my_player);
            spin(50);
            change("0");
        }
        OnNewRequest(turn);
        if (TRACE_EVENT_CATEGORY_ENABLED("rendering")) {
            TRACE_EVENT("rendering", perfetto::StaticString{turn % 3 ? "often" : "seldom"});
            change(turn % 3 ? "often" : "seldom");
            spin(30);
            change("0");
        }
        {
            TRACE_EVENT("network", nullptr, [&](perfetto::EventContext ctx) { ctx.event()->set_name("x"); });
            change("network");
            spin(30);
            change("0");
        }
        {
            TRACE_EVENT0("network", "legacy");
            change("legacy");
            spin(30);
            change("0");
        }
        const unsigned now = 1 + turn % 3;
        change("0");
        TRACE_COUNTER("category", "Queue", now - 0.2);
        depth = std::to_string(now);
        uint64_t timestamp = perfetto::TrackEvent::GetTraceTimeNs();
        TRACE_COUNTER("category", memory_track, timestamp, 4);
        TRACE_COUNTER("category", perfetto::CounterTrack("Done").set_is_incremental(true), 2);
        spin(10 * now);
    }
    change("0");
    const double all = cpu() - start;
    for (auto &row : truth)
        printf("slice\t%s\t%f\n", row.first.c_str(), row.second / all);
    for (auto &row : depths)
        printf("Queue\t%s\t%f\n", row.first.c_str(), row.second / all);
}
