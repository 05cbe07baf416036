/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The head of a log as it is in a file (LOG.md). Of version 1 it ends before `further`. */
#pragma once

#include "observer/log/log.h"

struct cs_observe_log_file_head {
    char numbers[offsetof(struct cs_observe_log_head, tags)];
    char tags[CS_OBSERVE_LOG_TAGS_1][CS_OBSERVE_LOG_NAME_MAX];
    char counters[CS_COUNTERS_MAX][CS_OBSERVE_LOG_NAME_MAX];
    char further[CS_TAGS_MAX - CS_OBSERVE_LOG_TAGS_1][CS_OBSERVE_LOG_NAME_MAX];
};
#define CS_OBSERVE_LOG_HEAD_1 offsetof(struct cs_observe_log_file_head, further)
