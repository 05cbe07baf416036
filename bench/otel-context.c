/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What reading a thread's OpenTelemetry context costs a sample, and whether each sample gets the attribute of the request that it was
 * taken in. Page faults drive the overflow path (as sampler-handler does, which says why). For each fault this thread attaches one
 * of two records of three attributes, or none, and touches a page in a function of that request's own, so where a sample lies says
 * what its label must be: all samples of a run are held against that. In turns: a bare event that nobody reads, our BPF driver
 * without labels, the same by attribute, the same while nothing is ever attached. Figures are differences to the burst without
 * labels of the same round, without the fifth on either side, with their standard errors.
 *
 *     otel-context [--quick]      value: ns that an attached record of three attributes adds to a sample */
#include "bench/faults.h"
#include "signals/cyclescope_otel.h"
#include "store/base/clock.h"

#include <link.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define PAGE 4096UL
#define BURST 2048U
#define ROUNDS_MAX 2000
#define DRAIN_ROUNDS 8

enum { BARE, SAMPLE, ATTACHED, DETACHED, VARIANTS };

static unsigned char *pages;
static volatile unsigned sum;

#define REQUEST(name)                                                                                        \
    static __attribute__((noinline, aligned(64))) unsigned name(unsigned page)                               \
    {                                                                                                        \
        return pages[page * PAGE];                                                                           \
    }
REQUEST(cart)
REQUEST(pay)
REQUEST(idle)

static struct request {
    unsigned (*work)(unsigned page);
    const char *route; /* "": nothing is attached */
    struct cs_otel_record record;
    uint64_t right, wrong, without;
} requests[] = {
    {.work = cart, .route = "/cart"}, {.work = pay, .route = "/pay"}, {.work = idle, .route = ""}};
#define REQUESTS (sizeof requests / sizeof *requests)

static double burst(bool attaches)
{
    madvise(pages, BURST * PAGE, MADV_DONTNEED);
    const double begin = cs_thread_cpu_seconds();
    for (unsigned p = 0; p < BURST; p++) {
        struct request *r = &requests[p % REQUESTS];
        cs_otel_attach(attaches && *r->route ? &r->record : NULL);
        sum += r->work(p);
        cs_otel_detach();
    }
    return (cs_thread_cpu_seconds() - begin) * 1e9 / BURST;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr;
    return 1;
}

static void judge(void *arg, const struct cs_sampler_placed *placed)
{
    const uint64_t bias = *(uint64_t *)arg;
    if (!strstr(placed->image->path, "otel-context"))
        return;
    for (unsigned i = 0; i < REQUESTS; i++) {
        struct request *r = &requests[i];
        if (placed->offset - ((uint64_t)(uintptr_t)r->work - bias) >= 64)
            continue;
        if (strcmp(placed->label, r->route) == 0)
            r->right += placed->samples;
        else if (!*placed->label)
            r->without += placed->samples;
        else
            r->wrong += placed->samples;
    }
}

static struct cs_sampler *open_session(bool by_attribute, uint64_t *judged)
{
    static const char *const events[] = {"page-faults"};
    struct cs_sampler_config config = {.events = events,
                                       .n_events = 1,
                                       .period = 1,
                                       .target = CS_TARGET_PID,
                                       .pid = getpid(),
                                       .driver = CS_SAMPLER_DRIVER_BPF,
                                       .arg = judged,
                                       .placed = judged ? judge : NULL};
    struct cs_sampler *s = NULL;
    struct cs_error err;
    if (by_attribute) {
        config.label = CS_LABEL_ATTRIBUTE;
        config.attribute = "http.route";
    }
    if (cs_sampler_open(&config, &s, &err) < 0) {
        fprintf(stderr, "otel-context: %s\n", err.text);
        return NULL;
    }
    turn_on(s, false);
    for (unsigned i = 0; by_attribute && i < 100 && !cs_session_attributes_processes(s->attributes); i++)
        (void)cs_sampler_poll(s, 10, &err);
    return s;
}

int main(int argc, char **argv)
{
    static double costs[VARIANTS][ROUNDS_MAX], differences[ROUNDS_MAX];
    const unsigned rounds = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 200 : 1200;
    const int method = cs_otel_key("http.method"), route = cs_otel_key("http.route"),
              tenant = cs_otel_key("tenant");
    uint64_t bias = 0;
    struct cs_error err;
    cpu_set_t set;
    dl_iterate_phdr(first_object, &bias);
    for (unsigned i = 0; i < REQUESTS; i++) {
        struct cs_otel_record *r = &requests[i].record;
        cs_otel_clear(r);
        cs_otel_add(r, method, "GET", 3);
        cs_otel_add(r, route, requests[i].route, strlen(requests[i].route));
        cs_otel_add(r, tenant, "tenant-1", 8);
    }
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof set, &set);
    pages = mmap(NULL, BURST * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || tenant < 0)
        return 1;
    madvise(pages, BURST * PAGE, MADV_NOHUGEPAGE);
    const int bare = open_bare();
    struct cs_sampler *session[VARIANTS] = {[SAMPLE] = open_session(false, NULL),
                                            [ATTACHED] = open_session(true, &bias),
                                            [DETACHED] = open_session(true, NULL)};
    if (bare < 0 || !session[SAMPLE] || !session[ATTACHED] || !session[DETACHED])
        return 1;
    ioctl(bare, PERF_EVENT_IOC_DISABLE, 0);
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned k = 0; k < VARIANTS; k++) {
            const unsigned v = (k + r) % VARIANTS;
            (void)burst(false); /* warm; counts for nothing */
            if (v == BARE)
                ioctl(bare, PERF_EVENT_IOC_ENABLE, 0);
            turn_on(session[v], true);
            costs[v][r] = burst(v != DETACHED);
            turn_on(session[v], false);
            if (v == BARE)
                ioctl(bare, PERF_EVENT_IOC_DISABLE, 0);
            else if (r % DRAIN_ROUNDS == DRAIN_ROUNDS - 1)
                (void)cs_session_drain(session[v], CS_DRIVER_DRAIN_FLUSH, &err);
        }
    double above[VARIANTS], error[VARIANTS], mean[VARIANTS], of_mean;
    for (unsigned v = 0; v < VARIANTS; v++) {
        for (unsigned r = 0; r < rounds; r++)
            differences[r] = costs[v][r] - costs[SAMPLE][r];
        above[v] = trimmed(differences, rounds, &error[v]);
        for (unsigned r = 0; r < rounds; r++)
            differences[r] = costs[v][r];
        mean[v] = trimmed(differences, rounds, &of_mean);
        if (session[v])
            (void)cs_sampler_stop(session[v], &err);
        cs_sampler_close(session[v]);
    }
    uint64_t attached = 0, right = 0;
    for (unsigned i = 0; i < REQUESTS; i++) {
        attached += *requests[i].route ? requests[i].right + requests[i].wrong + requests[i].without : 0;
        right += *requests[i].route ? requests[i].right : 0;
    }
    const bool all =
        right == attached && attached > 0 && !requests[REQUESTS - 1].wrong && requests[REQUESTS - 1].right;
    printf(
        "{\"name\": \"otel-context\", \"value\": %.1f, \"unit\": \"ns a sample above the same without a "
        "label\", \"target\": "
        "60, \"noise\": %.1f, \"detail\": {\"attached\": %llu, \"labelled_rightly\": %llu, \"idle_rightly\": "
        "%llu, "
        "\"idle_labelled\": %llu, \"nothing_attached_ns\": [%.1f, %.1f], \"bare_event_ns\": [%.1f, %.1f], "
        "\"ratio_of_fault_and_sample\": %.3f}}\n",
        above[ATTACHED], error[ATTACHED], (unsigned long long)attached, (unsigned long long)right,
        (unsigned long long)requests[REQUESTS - 1].right, (unsigned long long)requests[REQUESTS - 1].wrong,
        above[DETACHED], error[DETACHED], above[BARE], error[BARE], mean[ATTACHED] / mean[SAMPLE]);
    return all ? 0 : 1;
}
