/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings of the daemon: from a configuration file of "name = value" lines ("#" begins a comment), from
 * options of the same names, or from neither. Pure: text in, numbers out. */
#pragma once

#include "sampler/sampler.h"
#include "store/base/error.h"
#include "store/retention.h"

#include <stdint.h>

#define CS_DAEMON_SETTING_TEXT_MAX 1024

struct cs_daemon_settings {
    char store[CS_DAEMON_SETTING_TEXT_MAX];
    char log[CS_DAEMON_SETTING_TEXT_MAX];    /* "" = standard error */
    char events[CS_DAEMON_SETTING_TEXT_MAX]; /* separated by commas outside of {}; "" = the default event */
    double budget;                           /* share of the profiled work's time */
    double frequency_hz;                     /* 0 = by the budget */
    double period;
    double merge_s, epoch_s;                    /* epoch_s 0 = one epoch until told otherwise */
    double keep_age_s, keep_bytes;              /* 0 = no bound */
    double daily_bytes;                         /* that the store may grow by in a day; 0 = any */
    double intervals_s;                         /* length of an interval of the time-resolved mode, 0 = off */
    double keep_code_bytes;                     /* 0 = none is kept */
    double intervals_bytes;                     /* bound of an epoch's interval profiles */
    double memory_bytes;                        /* the daemon's own bound, without waits */
    char export_to[CS_DAEMON_SETTING_TEXT_MAX]; /* a server's URL, or "otlp URL" and the like; "" = none */
    double export_s;                            /* least time between two exports */
    double pid;                                 /* only this process and what it starts; 0 = everything */
    bool bursts, paths;                         /* burst.h, paths.h */
    bool chains;                                /* call chains of all samples */
    bool waits;                                 /* time off the CPU */
    double burst_bytes;                         /* bound of the runners of bursts */
    bool burst_real_time;                       /* follow real-time threads, too */
    enum cs_label label;
    char attribute[CS_DAEMON_SETTING_TEXT_MAX]; /* of CS_LABEL_ATTRIBUTE, else "" */
    enum cs_sampler_driver driver;
};

struct cs_daemon_setting {
    const char *name, *argument, *help;
};
/* All settings, ends with a NULL name: for --help, the documentation and the tests. */
extern const struct cs_daemon_setting cs_daemon_setting_list[];

/* Budget 0.5 %, merges every 10 minutes (dcpi-1997 section 4.3.3), a new epoch every day, 90 days, 1 GB. */
void cs_daemon_settings_init(struct cs_daemon_settings *settings);
/* The daemon's own bound: rows of 8,192 threads, their last waits and what they waited for are beside what was asked. */
double cs_daemon_memory_bytes(const struct cs_daemon_settings *settings);
/* -ENOENT: no such setting; -EINVAL: no such value. */
int cs_daemon_settings_set(struct cs_daemon_settings *settings, const char *name, const char *value,
                           struct cs_error *err);
/* A whole configuration; `where` is the file's name for the sentence. */
int cs_daemon_settings_parse(struct cs_daemon_settings *settings, const char *text, const char *where,
                             struct cs_error *err);
struct cs_store_retention cs_daemon_settings_retention(const struct cs_daemon_settings *settings);
