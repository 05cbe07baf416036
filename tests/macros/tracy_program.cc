// SPDX-License-Identifier: GPL-2.0-or-later
// A program written for Tracy, after its public manual: nothing of cyclescope. It prints the shares of its own CPU time by
// zone, by its own clock, as "zone NAME SHARE", the frames that it made a cycle of that, and shares by a plot's value.
#include <tracy/Tracy.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <string>

extern "C" void zones_of_c(void (*change)(const char *), void (*spin)(unsigned));

static double seconds_of(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

static double cpu()
{
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

static std::map<std::string, double> truth, sizes;
static double last;
static std::string innermost = "0", size = "0";
static void change(const char *to) // from now on `to` runs
{
    const double now = cpu();
    truth[innermost] += now - last;
    sizes[size] += now - last;
    last = now;
    innermost = to;
}

static void spin(unsigned n)
{
    for (volatile unsigned i = 0; i < n * 1000; i++)
        ;
}

static TracyLockable(std::mutex, mutex);
static TracyLockableN(std::recursive_mutex, named, "a name");

static void update()
{
    ZoneScoped; // named by function, file and line
    change("update");
    spin(50);
    {
        ZoneScopedN("physics");
        ZoneText("some text", 9);
        change("physics");
        spin(60);
        std::lock_guard<LockableBase(std::mutex)> lock(mutex);
        LockMark(mutex);
        ZoneValue(12);
    }
    change("update");
    spin(20);
}

static void optional(bool active)
{
    ZoneNamedNC(zone, "optional", 0xff0000, active);
    change(active ? "optional" : "render");
    spin(40);
}

static void transient(unsigned turn)
{
    std::string text = turn % 2 ? "odd" : "even";
    ZoneTransientN(zone, text.c_str(), true);
    change(text.c_str());
    spin(30);
    if (ZoneIsActiveV(zone)) {
        ZoneNameV(zone, "renamed", strlen("renamed"));
        change("renamed");
    }
    spin(30);
}

// As the observer counts them.
static unsigned long cycles()
{
#ifdef __aarch64__
    unsigned long now;
    asm volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#else
    return __builtin_ia32_rdtsc();
#endif
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 3;
    tracy::SetThreadName("main thread");
    TracyPlotConfig("size", tracy::PlotFormatType::Memory, true, true, 0);
    const unsigned long began = cycles();
    const double start = last = cpu(), start_wall = seconds_of(CLOCK_MONOTONIC);
    unsigned frames = 0;
    for (unsigned turn = 0; cpu() - start < seconds; turn++) {
        update();
        {
            ZoneScopedNC("render", tracy::Color::Blue);
            change("render");
            spin(30);
            optional(turn % 2);
            change("render");
            transient(turn);
            change("render");
        }
        change("0");
        FrameMarkStart("audio");
        zones_of_c(change, spin);
        FrameMarkEnd("audio");
        change("0");
        void *memory = malloc(10);
        TracyAlloc(memory, 10);
        TracyFree(memory);
        free(memory);
        TracyMessageL("a message");
        TracyPlot("size", (int64_t)(turn % 4 ? 3 : 100));
        size = turn % 4 ? "3" : "100";
        spin(20);
        FrameMark;
        frames++;
    }
    change("0");
    const double all = cpu() - start;
    const double hz = (double)(cycles() - began) / (seconds_of(CLOCK_MONOTONIC) - start_wall);
    for (auto &row : truth)
        printf("zone\t%s\t%f\n", row.first.c_str(), row.second / all);
    for (auto &row : sizes)
        printf("size\t%s\t%f\n", row.first.c_str(), row.second / all);
    printf("frames\t%g\n", frames / (all * hz));
    std::lock_guard<LockableBase(std::recursive_mutex)> lock(named);
}
