/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Status as lines of "key value"; a line that does not fit is left out whole. */
#include "sampler/daemon/state.h"
#include "sampler/perf/target.h"
#include "store/base/clock.h"
#include "store/base/kernel_files.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

uint64_t cs_daemon_resident_bytes(uint64_t *own)
{
    unsigned long size, resident = 0, shared = 0;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    char statm[128];
    cs_kernel_text(statm, sizeof statm, "/proc/self/statm");
    if (sscanf(statm, "%lu %lu %lu", &size, &resident, &shared) != 3 || shared > resident)
        resident = shared = 0;
    if (own)
        *own = (resident - shared) * page;
    return resident * page;
}

/* Of those that still run; what a child has waited for counts with it. */
static double running_children_seconds(void)
{
    pid_t *pids;
    const int n = cs_processes_below(getpid(), &pids);
    double ticks = 0;
    for (int i = 0; i < n; i++) {
        char text[1024] = "";
        unsigned long own[2], waited[2];
        if (pids[i] != getpid())
            cs_kernel_text(text, sizeof text, "/proc/%d/stat", (int)pids[i]);
        const char *used = cs_stat_field(text, 14);
        if (used && sscanf(used, "%lu%lu%lu%lu", &own[0], &own[1], &waited[0], &waited[1]) == 4)
            ticks += (double)(own[0] + own[1] + waited[0] + waited[1]);
    }
    if (n > 0)
        free(pids);
    return ticks / (double)sysconf(_SC_CLK_TCK);
}

double cs_daemon_cpu_seconds(void)
{
    static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    double seconds = running_children_seconds();
    for (unsigned i = 0; i < 2; i++) {
        struct rusage usage;
        getrusage(whose[i], &usage);
        seconds += (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    }
    return seconds;
}

struct lines {
    char *at, *end;
};

static void put(struct lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct lines *lines, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(lines->at, (size_t)(lines->end - lines->at), format, args);
    va_end(args);
    if (n > 0 && n < lines->end - lines->at)
        lines->at += n;
    else
        *lines->at = '\0'; /* a line that doesn't fit is left out whole */
}

static double rested_seconds(const struct cs_daemon *daemon, uint64_t now_ns)
{
    const double left =
        daemon->resting_until_ns > now_ns ? (double)(daemon->resting_until_ns - now_ns) / 1e9 : 0;
    return daemon->cpu.rested_s > left ? daemon->cpu.rested_s - left : 0;
}

void cs_daemon_status(struct cs_daemon *daemon, char text[CS_DAEMON_CONTROL_ANSWER_MAX])
{
    struct lines lines = {text, text + CS_DAEMON_CONTROL_ANSWER_MAX};
    struct cs_sampler_statistics s;
    uint64_t now = cs_monotonic_ns();
    double uptime_s = (double)(now - daemon->started_ns) / 1e9;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    cs_daemon_statistics(daemon, &s);

    put(&lines, "pid %ld\n", (long)getpid());
    put(&lines, "store %s\n", daemon->settings.store);
    put(&lines, "epoch %s\n", daemon->store ? cs_store_epoch_name(daemon->store) : "");
    put(&lines, "driver %s\n", daemon->sampler ? s.driver : "none");
    for (unsigned i = 0; daemon->sampler && i < cs_sampler_events(daemon->sampler); i++)
        put(&lines, "event %s\n", cs_sampler_event(daemon->sampler, i));
    put(&lines, "uptime_s %.1f\n", uptime_s);
    put(&lines, "cpu_percent %.4f\n", uptime_s > 0 ? 100 * daemon->cpu_at_check / uptime_s : 0);
    put(&lines, "cpu_percent_lately %.4f\n", 100 * daemon->cpu_share);
    put(&lines, "rested_percent %.2f\n", uptime_s > 0 ? 100 * rested_seconds(daemon, now) / uptime_s : 0);
    put(&lines, "disk_today_bytes %" PRIu64 "\n",
        daemon->disk.before + daemon->disk.now - daemon->disk.at_begin);
    put(&lines, "memory_bytes %" PRIu64 "\n", cs_daemon_resident_bytes(NULL));
    put(&lines, "memory_peak_bytes %" PRIu64 "\n", (uint64_t)usage.ru_maxrss * 1024);
    put(&lines, "rate_hz %.2f\n", s.rate_hz);
    put(&lines, "budget_percent %.3f\n",
        daemon->settings.frequency_hz > 0 || daemon->settings.period > 0 ? 0 : 100 * daemon->settings.budget);
    if (!isnan(s.loss))
        put(&lines, "loss_percent %.4f\n", 100 * s.loss);
    put(&lines, "sample_cost_us %.3f\n", s.sample_cost_us);
    put(&lines, "samples %" PRIu64 "\n", s.delivered);
    put(&lines, "samples_per_s %.2f\n", uptime_s > 0 ? (double)s.delivered / uptime_s : 0);
    put(&lines, "table_hit_percent %.2f\n",
        s.delivered ? 100 * (1 - (double)s.entries / (double)s.delivered) : 0);
    put(&lines, "unknown %" PRIu64 "\n", s.unknown);
    put(&lines, "unknown_percent %.4f\n", s.delivered ? 100 * (double)s.unknown / (double)s.delivered : 0);
    for (unsigned cause = 0; daemon->sampler && cause < CS_UNKNOWN_N; cause++)
        put(&lines, "unknown.%s %" PRIu64 "\n", cs_unknown_name((enum cs_unknown)cause),
            cs_sampler_unknown(daemon->sampler, (enum cs_unknown)cause));
    put(&lines, "chain_frames %" PRIu64 "\n", s.chain_frames);
    put(&lines, "chain_bytes %" PRIu64 "\n", s.chain_bytes);
    for (unsigned end = 0; end < CS_SAMPLER_CHAIN_ENDS; end++)
        put(&lines, "chains.%s %" PRIu64 "\n", cs_sampler_chain_end(end), s.chain_ends[end]);
    if (s.waits) {
        put(&lines, "wait_seconds %.1f\n", s.wait_seconds);
        put(&lines, "waits_kept %" PRIu64 "\n", s.waits_kept);
        put(&lines, "waits_all_from_ms %.0f\n", (double)s.waits_all_from_ns / 1e6);
        put(&lines, "waits_lost %" PRIu64 "\n", s.waits_lost);
        put(&lines, "waits_uncounted %" PRIu64 "\n", s.waits_uncounted);
    }
    put(&lines, "lost %" PRIu64 "\n", s.lost + daemon->dropped);
    put(&lines, "map_records_lost %" PRIu64 "\n", s.map_records_lost);
    put(&lines, "mappings_cut %" PRIu64 "\n", s.mappings_cut);
    put(&lines, "images_cut %" PRIu64 "\n", s.images_cut);
    put(&lines, "interpreters_cut %" PRIu64 "\n", s.interpreters_cut);
    put(&lines, "unanswered %" PRIu64 "\n", s.unanswered);
    put(&lines, "image_conflicts %" PRIu64 "\n", s.image_conflicts);
    put(&lines, "jit_cut %" PRIu64 "\n", s.jit_cut);
    put(&lines, "merged %" PRIu64 "\n", s.merged);
    put(&lines, "pending %" PRIu64 "\n", s.pending);
    put(&lines, "images %" PRIu64 "\n", s.images);
    put(&lines, "processes %" PRIu64 "\n", s.processes);
    put(&lines, "merges %" PRIu64 "\n", s.merges);
    put(&lines, "merge_failures %" PRIu64 "\n", s.merge_failures);
    if (daemon->last_merge_ns) {
        put(&lines, "last_merge_age_s %.1f\n", (double)(now - daemon->last_merge_ns) / 1e9);
        put(&lines, "last_merge_took_ms %.1f\n", (double)daemon->last_merge_took_ns / 1e6);
    }
    if (daemon->intervals)
        put(&lines, "interval_ms %" PRIu64 "\n", cs_intervals_length_ms(daemon->intervals));
    if (daemon->burst) {
        struct cs_burst_statistics bursts;
        cs_burst_statistics(daemon->burst, &bursts);
        put(&lines, "bursts %" PRIu64 "\n", bursts.bursts);
        put(&lines, "burst_held_median_us %.1f\n", bursts.stopped_median_us);
        put(&lines, "burst_held_p99_us %.1f\n", bursts.stopped_p99_us);
        put(&lines, "burst_held_max_us %.1f\n", bursts.stopped_max_us);
        put(&lines, "burst_runners %" PRIu64 "\n", bursts.runners_now);
        put(&lines, "burst_memory_bytes %" PRIu64 "\n", bursts.runners_bytes);
    }
    if (daemon->paths) {
        struct cs_paths_statistics paths;
        cs_paths_statistics(daemon->paths, &paths);
        put(&lines, "paths %" PRIu64 "\n", paths.paths);
        put(&lines, "path_moments %" PRIu64 "\n", paths.snapshots);
    }
    put(&lines, "sessions %" PRIu64 "\n", daemon->sessions);
    put(&lines, "epochs_removed %" PRIu64 "\n", daemon->epochs_removed);
    if (daemon->settings.export_to[0])
        put(&lines, "exports %" PRIu64 "\nexport_failures %" PRIu64 "\n", daemon->sends,
            daemon->send_failures);
    if (daemon->last_failure[0])
        put(&lines, "last_failure %s\n", daemon->last_failure);
}
