// SPDX-License-Identifier: GPL-2.0-or-later
// Indexes a log and asks it a few hundred things: main ROUNDS LINES QUERIES
#include "logq.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 1442695040888963407u;

static uint32_t draw(uint32_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 21) % limit);
}

static const char *pick(const char *const *names, uint32_t count)
{
    return names[draw(count)];
}

// What somebody looks for: a service at a level, a word of it, perhaps on one host, in some hours.
static void ask(Log *log, Result *result)
{
    static const char *const services[] = {"svc=auth",    "svc=cart",  "svc=search",
                                           "svc=billing", "svc=media", "svc=mail"};
    static const char *const levels[] = {"level=info", "level=debug", "level=warn", "level=error"};
    static const char *const words[] = {"request", "retry", "cache", "slow", "dropped", "expired", "queue"};
    char host[8], user[16];
    Query query = {.from = INT64_MIN, .to = INT64_MAX};
    switch (draw(4)) {
    case 0:
        snprintf(user, sizeof user, "user=u%06u", draw(20000));
        query.terms[query.count++] = user;
        query.terms[query.count++] = pick(services, 6);
        break;
    case 1:
        snprintf(host, sizeof host, "host%02u", draw(24));
        query.terms[query.count++] = host;
        query.terms[query.count++] = pick(levels, 4);
        query.terms[query.count++] = pick(words, 7);
        break;
    case 2:
        query.terms[query.count++] = pick(levels, 4);
        query.terms[query.count++] = pick(words, 7);
        break;
    default:
        query.terms[query.count++] = pick(services, 6);
        query.terms[query.count++] = pick(levels, 4);
        query.from = time_parse("2031-04-01T04:00:00.000") + (int64_t)draw(12) * 3600000;
        query.to = query.from + 6 * 3600000;
        break;
    }
    query_run(log, &query, result);
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 1;
    uint32_t lines = count > 2 ? (uint32_t)atoi(arguments[2]) : 400000,
             queries = count > 3 ? (uint32_t)atoi(arguments[3]) : 400;
    Result result = {.digest = 14695981039346656037u};
    for (int round = 0; round < rounds; round++) {
        Log log;
        int file = log_write(lines, (uint64_t)round);
        if (file < 0 || !log_index(&log, file)) {
            fprintf(stderr, "logq: no log\n");
            return 1;
        }
        for (uint32_t i = 0; i < queries; i++)
            ask(&log, &result);
        printf("%u lines, %u terms, %" PRIu64 " matches, %" PRIu64 " s\n", log.line_count, log.terms.count,
               result.matches, result.milliseconds / 1000);
        log_close(&log);
    }
    printf("%016" PRIx64 "\n", result.digest);
    return 0;
}
