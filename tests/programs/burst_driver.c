/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bursts of one process, one after the other, with a summary. The benchmarks burst-hold and burst-exact run
 * it, and it is a tool to try things. usage: burst_driver [-n BURSTS] [-i INSTRUCTIONS] [-g GAP_MS] [-P
 * PACE_INSTRUCTIONS] [-v] [-e] [-s SECONDS] (-p PID | -- COMMAND...) */
#include "sampler/burst/runner_process.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *values, int n, double q)
{
    if (!n)
        return 0;
    qsort(values, (size_t)n, sizeof *values, ascending);
    return values[(int)((n - 1) * q)];
}

/* A thread of the process that is running now, at random; the process itself when none is. */
static pid_t pick_thread(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    pid_t chosen = pid;
    int running = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char stat[64], text[512] = "";
        snprintf(stat, sizeof stat, "/proc/%d/task/%.20s/stat", (int)pid, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(stat, "r");
        if (!file)
            continue;
        const char *end = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
        fclose(file);
        if (end && end[1] && end[2] == 'R' && rand() % ++running == 0)
            chosen = atoi(entry->d_name);
    }
    if (dir)
        closedir(dir);
    return chosen;
}

int main(int argc, char **argv)
{
    int wanted = 100, gap_ms = 5, option, edges = 0, limit = 3600;
    struct cs_burst_command command = {.instructions = 4000,
                                       .lead_ns = 50000,
                                       .timeout_ms = 50,
                                       .stopped_max_us = 20000,
                                       .stopped_first_us = 1000,
                                       .keep_out_of_idle = 1};
    pid_t pid = 0;
    while ((option = getopt(argc, argv, "+n:i:g:p:s:veP:")) > 0)
        switch (option) {
        case 'n':
            wanted = atoi(optarg);
            break;
        case 'i':
            command.instructions = (uint32_t)atoi(optarg);
            break;
        case 'g':
            gap_ms = atoi(optarg);
            break;
        case 's':
            limit = atoi(optarg);
            break;
        case 'p':
            pid = atoi(optarg);
            break;
        case 'P':
            command.timed_instructions = (uint32_t)atoi(optarg);
            command.timed_stopped_max_us = 5000;
            break;
        case 'v':
            command.verify = 1;
            break;
        case 'e':
            edges = 1;
            break;
        default:
            return 2;
        }
    bool child = !pid;
    if (child && (pid = fork()) == 0) {
        execvp(argv[optind], argv + optind);
        _exit(127);
    }
    usleep(200000);
    struct cs_error err = {0};
    struct cs_burst_runner *runner = NULL;
    double spent_us;
    if (cs_burst_runner_open(pid, &runner, &spent_us, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    int bursts = 0, causes[CS_BURST_CAUSE_N] = {0}, skips[CS_BURST_SKIP_N] = {0}, differed = 0;
    double *stopped = calloc((size_t)wanted, sizeof *stopped), *copy = calloc((size_t)wanted, sizeof *copy),
           *timed_stopped = calloc((size_t)wanted, sizeof *timed_stopped);
    double *run = calloc((size_t)wanted, sizeof *run), pages = 0, faults = 0, translated = 0,
           instructions = 0, blocks = 0;
    double stopped_sum = 0, verified = 0, timed_ns = 0, timed_instructions = 0, tried = 0, matched = 0,
           ambiguous = 0, beyond = 0;
    unsigned timed = 0, with_interval = 0, timing_cost_ns = 0;
    srand((unsigned)pid);
    time_t until = time(NULL) + limit;
    while (bursts < wanted && time(NULL) < until) {
        command.tid = (uint32_t)pick_thread(pid);
        command.lead_ns = 20000 + (uint32_t)rand() % 60000;
        const struct cs_burst_shared *answer = cs_burst_runner_go(runner, &command, &err);
        if (!answer) {
            fprintf(stderr, "%s\n", err.text);
            break;
        }
        const struct cs_burst_outcome *o = &answer->outcome;
        skips[o->skip]++;
        if (o->skip == CS_BURST_SKIP_GONE && kill(pid, 0))
            break;
        if (o->skip == CS_BURST_SKIP_GONE && child && waitpid(pid, NULL, WNOHANG) == pid)
            break;
        if (!o->skip) {
            causes[o->cause]++;
            differed += o->differed != 0;
            if (o->differed)
                fprintf(stderr, "differs: block %u, at %#lx, expected %#lx; start %#lx\n", o->verified,
                        (unsigned long)o->differed_at, (unsigned long)o->differed_want,
                        (unsigned long)o->start);
            stopped[bursts] = o->stopped_ns / 1e3;
            copy[bursts] = o->copy_ns / 1e3;
            run[bursts] = o->run_ns / 1e3;
            stopped_sum += o->stopped_ns / 1e3;
            pages += o->pages_copied;
            faults += o->pages_faulted;
            translated += o->blocks_translated;
            instructions += o->instructions;
            blocks += o->blocks;
            verified += o->verified;
            bursts++;
            if (o->timing_tried)
                timed_stopped[timed++] = o->stopped_ns / 1e3;
            with_interval += o->n_intervals > 0;
            for (unsigned i = 0; i < o->n_intervals; i++) {
                if (!o->interval[i].after_ns) /* with waking up */
                    continue;
                timed_ns += o->interval[i].ns;
                timed_instructions += (double)o->interval[i].instructions;
                if (edges)
                    printf("interval at %#lx, %u us after: %lu instructions in %u ns\n",
                           (unsigned long)o->interval[i].hot_branch, o->interval[i].after_ns / 1000,
                           (unsigned long)o->interval[i].instructions, o->interval[i].ns);
            }
            tried += o->timing_tried;
            matched += o->timing_found;
            ambiguous += o->timing_ambiguous;
            beyond += o->timing_beyond;
            timing_cost_ns = o->timing_cost_ns;
            if (edges)
                printf("burst %d: %s at %#lx, %u instructions, %u pages + %u faults, %u translated, stopped "
                       "%.1f us, %u edges "
                       "%u memory %u branches %u lines\n",
                       bursts, cs_burst_cause_name(o->cause), (unsigned long)o->stop_at, o->instructions,
                       o->pages_copied, o->pages_faulted, o->blocks_translated, o->stopped_ns / 1e3,
                       o->n_edges, o->n_memory, o->n_branches, o->n_lines);
        }
        usleep((useconds_t)gap_ms * 1000);
    }
    cs_burst_runner_close(runner);
    if (child)
        kill(pid, SIGKILL);
    double n = bursts ? bursts : 1;
    printf("{\"bursts\":%d,\"instructions\":%.0f,\"blocks\":%.0f,\"stopped_us\":%.1f,\"stopped_p99_us\":%.1f,"
           "\"stopped_sum_us\":%.0f,"
           "\"copy_us\":%.1f,\"run_us\":%.1f,\"run_p99_us\":%.1f,\"pages\":%.1f,\"faults\":%.1f,"
           "\"translated\":%.1f,"
           "\"verified_blocks\":%.0f,\"differed\":%d",
           bursts, instructions / n, blocks / n, quantile(stopped, bursts, .5),
           quantile(stopped, bursts, .99), stopped_sum, quantile(copy, bursts, .5), quantile(run, bursts, .5),
           quantile(run, bursts, .99), pages / n, faults / n, translated / n, verified, differed);
    for (unsigned i = 0; i < CS_BURST_CAUSE_N; i++)
        if (causes[i])
            printf(",\"end.%s\":%d", cs_burst_cause_name(i), causes[i]);
    for (unsigned i = 1; i < CS_BURST_SKIP_N; i++)
        if (skips[i])
            printf(",\"skip.%s\":%d", cs_burst_skip_name(i), skips[i]);
    if (command.timed_instructions)
        printf(",\"timed\":%u,\"timed_stopped_us\":%.0f,\"timed_stopped_p99_us\":%.0f,\"with_interval\":%u,"
               "\"tried\":%.0f,\"matched\":%.0f,\"ambiguous\":%.0f,"
               "\"beyond\":%.0f,"
               "\"snapshot_us\":%.1f,\"instructions_us\":%.1f",
               timed, quantile(timed_stopped, (int)timed, .5), quantile(timed_stopped, (int)timed, .99),
               with_interval, tried, matched, ambiguous, beyond, timing_cost_ns / 1e3,
               timed_ns > 0 ? 1e3 * timed_instructions / timed_ns : 0);
    printf("}\n");
    free(stopped);
    free(timed_stopped);
    free(copy);
    free(run);
    return 0;
}
