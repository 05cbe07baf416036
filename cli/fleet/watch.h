/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which functions became dearer per unit of work, in the past of many services.
 *
 *     struct watch w = {.least = 0.05, .since = INT64_MIN};
 *     for each service: watch_service(&w, "web", cells, n);   // its samples, in any order
 *     watch_conclude(&w);
 *     for (i < w.n_found) w.test[i] ...                       // by cause, the dearest cause first
 *
 * The unit of work is a sample of the service: shares are compared, and the factor that all functions share is taken out.
 * An epoch is a span of time of the caller's choice, by its number. Where the build-id of an image changes on a host, the
 * host's epochs before are compared with those after, as `diff` compares runs. Every third epoch that no build began
 * at is looked at in the same way. The false discovery rate is over all functions, changes and services together. The chance of
 * the n-th look at one change is multiplied by n (n + 1). So a daily watch stays below the rate. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WATCH_BEFORE_MIN 9 /* epochs before a change, if need be from before the change before it */
#define WATCH_EPOCHS_MAX 30
#define WATCH_BLOCK                                                                                          \
    3 /* epochs that are one run: what neighbours have in common is then in the runs' spread */
#define WATCH_IMAGE_PERCENT_MIN 1.0 /* of the service's samples: build-ids of rarer images appear late */
#define WATCH_DISCOVERY 0.01

/* Samples of one function on one host in one epoch. Texts are the caller's, during the call. */
struct watch_cell {
    const char *host, *image, *build, *function; /* build: "" unknown */
    int64_t epoch;
    double samples;
    uint32_t of_host, of_epoch, of_image, of_build, of_function; /* watch_service's */
};

struct watch_test {
    char *service, *function, *image; /* function "": samples without a name */
    /* The image whose build-id changed, from what to what; NULL: no build changed. */
    char *cause, *old_build, *build;
    unsigned others; /* images whose build-ids changed at the same time */
    int64_t epoch;   /* the first one of the change */
    double a, b;     /* percent of the service's samples */
    double
        percent; /* what it grew by, in percent of the service's time for the same work; negative: cheaper */
    double chance, discovery;
    bool moved; /* functions of the same image and cause became cheaper by as much */
    unsigned cause_number;
};

struct watch {
    double least;  /* percent: smaller growth isn't reported */
    int64_t since; /* earlier changes aren't looked at */
    struct watch_test *test;
    size_t n_tests, capacity, n_found; /* after watch_conclude the first n_found are the findings */
    size_t looked_at;                  /* pairs of function and change */
    size_t services, services_untold;  /* untold: none of its epochs could be compared */
    size_t builds;                     /* changes of build-ids */
    unsigned causes;
};

/* 0, -ENOMEM, or -EFBIG: too many hosts times epochs. */
int watch_service(struct watch *watch, const char *service, struct watch_cell *cells, size_t n);
int watch_conclude(struct watch *watch);
void watch_fini(struct watch *watch);
