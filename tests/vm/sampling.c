/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sampling by overflow of a hardware counter, through the shipped sampler. With exact periods the number of
 * samples is what the counter says, to the last one. Program counters lie inside the loop. Drawn periods stay
 * in their band; both drivers agree. Usage: sampling LOOP (the program loop.c) */
#include "image/code.h"
#include "sampler/rate/period.h"
#include "sampler/sampler.h"
#include "tests/vm/truth.h"

#include <math.h>
#include <sys/wait.h>

int failures;

static const char *loop_program;
static uint64_t spin_start, spin_end;

static void from_exec(struct perf_event_attr *attr)
{
    attr->disabled = 1;
    attr->enable_on_exec = 1;
}

/* Cycles in user mode of one run of the loop, from its exec to its end. */
static uint64_t cycles_of_a_run(const char *turns)
{
    int go[2];
    char c;
    if (pipe(go) != 0)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        if (read(go[0], &c, 1) == 1)
            execl(loop_program, loop_program, turns, (char *)NULL);
        _exit(1);
    }
    int fd = open_event(CYCLES, child, -1, from_exec);
    if (write(go[1], "g", 1) != 1)
        failures++;
    waitpid(child, NULL, 0);
    uint64_t cycles = read_event(fd).value;
    close(fd);
    close(go[0]);
    close(go[1]);
    return cycles;
}

struct seen {
    uint64_t all, inside;
};

static void placed(void *arg, const struct cs_sampler_placed *p)
{
    struct seen *seen = arg;
    seen->all += p->samples;
    if (p->offset >= spin_start && p->offset < spin_end)
        seen->inside += p->samples;
}

/* One session over one run. False where the driver isn't permitted or not there. */
static bool sample(enum cs_sampler_driver driver, uint64_t period, bool fixed, char *turns, struct seen *seen)
{
    static const char *const events[] = {"cycles:u"};
    char *command[] = {(char *)loop_program, turns, NULL};
    struct cs_sampler_config config = {.events = events,
                                       .n_events = 1,
                                       .period = period,
                                       .period_exact = fixed,
                                       .target = CS_TARGET_COMMAND,
                                       .command = command,
                                       .of_threads = true, /* counts are exact where nobody else is counted */
                                       .driver = driver,
                                       .arg = seen,
                                       .placed = placed};
    struct cs_sampler *s;
    struct cs_error err = {0};
    *seen = (struct seen){0};
    if (cs_sampler_open(&config, &s, &err) < 0) {
        printf("  %s\n", err.text);
        return false;
    }
    while (cs_sampler_poll(s, 1000, &err) > 0)
        ;
    cs_sampler_stop(s, &err);
    struct cs_sampler_statistics statistics;
    cs_sampler_statistics(s, &statistics);
    bool same_driver = strcmp(statistics.driver, driver == CS_SAMPLER_DRIVER_BPF ? "bpf" : "ring") == 0;
    if (statistics.lost || statistics.unknown)
        printf("  %" PRIu64 " lost, %" PRIu64 " unknown\n", statistics.lost, statistics.unknown);
    cs_sampler_close(s);
    return same_driver;
}

static const struct {
    const char *name;
    enum cs_sampler_driver driver;
} drivers[] = {{"bpf", CS_SAMPLER_DRIVER_BPF}, {"ring", CS_SAMPLER_DRIVER_RING}};

/* An emulator whose counters count all modes, whatever is asked: the kernel's own cycles move the samples a little. */
static bool all_modes_count(void)
{
    return getenv("CS_ALL_MODES") != NULL;
}

static void number_of_samples_is_exact(unsigned d)
{
    static const struct {
        uint64_t period;
        const char *turns;
    } runs[] = {{1000003, "10000000"}, {100003, "5000000"}, {10007, "500000"}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char name[64], turns[16];
        struct seen seen;
        if (all_modes_count() && runs[i].period < 100000)
            continue; /* of such periods the kernel's handler has a good part */
        uint64_t cycles = cycles_of_a_run(runs[i].turns), wanted = cycles / runs[i].period;
        snprintf(turns, sizeof turns, "%s", runs[i].turns);
        if (!sample(drivers[d].driver, runs[i].period, true, turns, &seen)) {
            printf("SKIP driver %s is not permitted or not there\n", drivers[d].name);
            return;
        }
        snprintf(name, sizeof name, "%s-samples-at-period-%" PRIu64, drivers[d].name, runs[i].period);
        /* The exec's own instructions are a few more or less from run to run. */
        if (!all_modes_count())
            expect(name, (double)wanted, (double)seen.all, exact() ? 1 : 3 + 0.05 * (double)wanted);
        double loop = CYCLES_AN_INSTRUCTION * 2 * strtod(turns, NULL) / (double)runs[i].period;
        snprintf(name, sizeof name, "%s-samples-inside-the-loop-%" PRIu64, drivers[d].name, runs[i].period);
        if (exact())
            expect(name, floor(loop), (double)seen.inside, all_modes_count() ? 1 + ceil(0.05 * loop) : 1);
        else
            report(name, 0.9 * (double)seen.all, (double)seen.all, (double)seen.inside);
    }
}

static void drawn_periods_keep_their_mean(unsigned d)
{
    const uint64_t period = 20011;
    char turns[] = "10000000", name[64];
    struct seen seen;
    uint64_t cycles = cycles_of_a_run(turns);
    if (!sample(drivers[d].driver, period, false, turns, &seen))
        return;
    snprintf(name, sizeof name, "%s-samples-with-drawn-periods", drivers[d].name);
    report(name, floor((double)cycles / ((double)period * 17 / 16)) - 2,
           ceil((double)cycles / ((double)period * 15 / 16)) + 2, (double)seen.all);
}

/* The kernel's own record of each sample's period, with periods drawn and set as the sampler sets them. */
static void with_period_recorded(struct perf_event_attr *attr)
{
    attr->sample_period = 100003;
    attr->sample_type = PERF_SAMPLE_PERIOD;
}

static void drawn_periods_stay_in_their_band(void)
{
    enum { DRAWS = 40 };
    struct cs_rate_period state;
    uint64_t in_band = 0, odd = 0, distinct = 0, sum = 0, samples = 0, last = 0;
    int fd = open_event(CYCLES, 0, -1, with_period_recorded);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), ring = 16 * page;
    char *map = mmap(NULL, page + ring, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        expect("ring-is-mapped", 1, 0, 0);
        return;
    }
    struct perf_event_mmap_page *control = (struct perf_event_mmap_page *)map;
    cs_rate_period_init(&state, 100003, 12345);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t drawn = cs_rate_period_draw(&state);
        ioctl(fd, PERF_EVENT_IOC_PERIOD, &drawn);
        spin(200000);
    }
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
    for (uint64_t at = 0; at < head && head <= ring;) {
        const struct perf_event_header *h = (const void *)(map + page + at);
        if (h->type == PERF_RECORD_SAMPLE) {
            uint64_t period;
            memcpy(&period, h + 1, sizeof period);
            samples++;
            in_band += period >= 100003 - 100003 / 16 && period <= 100003 + 100003 / 16 + 1;
            odd += period & 1;
            distinct += period != last;
            sum += period;
            last = period;
        }
        at += h->size;
    }
    munmap(map, page + ring);
    close(fd);
    expect("recorded-periods-in-the-band", (double)samples, (double)in_band, 0);
    expect("recorded-periods-are-odd", (double)samples, (double)odd, 0);
    report("recorded-periods-differ", 0.5 * DRAWS, DRAWS + 1, (double)distinct);
    report("recorded-periods-mean", 100003 * 0.97, 100003 * 1.03,
           samples ? (double)sum / (double)samples : 0);
}

int main(int argc, char **argv)
{
    struct cs_image_code *code;
    struct cs_error err;
    if (argc != 2 || cs_image_open_file(argv[1], &code, &err) < 0)
        return 2;
    if (!has_pmu())
        return 77;
    loop_program = argv[1];
    const struct cs_image_procedure *spin_procedure = cs_image_procedure_named(code, "spin", 0, NULL);
    spin_start = spin_procedure ? spin_procedure->start : 0;
    spin_end = spin_start + (spin_procedure ? spin_procedure->size : 0);
    cs_image_close(code);
    for (unsigned d = 0; d < 2; d++) {
        number_of_samples_is_exact(d);
        if (!all_modes_count())
            drawn_periods_keep_their_mean(d);
    }
    drawn_periods_stay_in_their_band();
    return failures != 0;
}
