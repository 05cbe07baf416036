/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/doctor/doctor_events.h"
#include "cli/command/command.h"
#include "cli/output/output.h"
#include "sampler/perf/event_groups.h"
#include "sampler/perf/event_names.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct column columns[] = {
    {.key = "event", .head = "event", .kind = COLUMN_TEXT},
    {.key = "meaning", .head = "meaning", .kind = COLUMN_TEXT, .elastic = true, .wraps = true},
};

struct listing {
    struct table *table;
    const char *pattern;
    unsigned listed, matched;
};

/* Of this thread, in user mode: what anyone may count. */
static bool can_be_counted(const char *name)
{
    struct perf_event_attr attr;
    bool any_thread;
    if (cs_event_encode(name, &attr, &any_thread) != 0)
        return false;
    attr.exclude_kernel = attr.exclude_hv = 1;
    attr.disabled = 1;
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int list(void *arg, const char *name, const char *meaning)
{
    struct listing *l = arg;
    const char *plain = strstr(name, "::"); /* of the processor it goes without */
    bool core = plain && !strstr(name, "unc");
    if (l->pattern && !strcasestr(name, l->pattern) && !strcasestr(meaning, l->pattern))
        return 0;
    l->matched++;
    if (!can_be_counted(name))
        return 0;
    table_text(l->table, core ? plain + 2 : name);
    table_text(l->table, meaning);
    l->listed++;
    return 0;
}

static void list_groups(struct listing *l)
{
    const char *name, *meaning;
    for (unsigned i = 0; (name = cs_event_group_name(i, &meaning)); i++) {
        char events[512], all[640];
        struct cs_error ignored;
        if (l->pattern && !strcasestr(name, l->pattern) && !strcasestr(meaning, l->pattern))
            continue;
        l->matched++;
        if (cs_event_group(name, 1, "", events, sizeof events, &ignored) < 0)
            continue;
        snprintf(all, sizeof all, "%s: %s", meaning, events);
        table_text(l->table, name);
        table_text(l->table, all);
        l->listed++;
    }
}

int doctor_events(const struct parsed *args, const char *pattern)
{
    struct output *out = output_open(args);
    struct listing l = {.table = output_table(out, "events", columns, 2), .pattern = pattern};
    list_groups(&l);
    cs_event_names_each(list, &l);
    if (!l.listed) {
        output_drop(out);
        return l.matched
                   ? failed_with("%u event%s of this processor or kernel match%s, but none can be counted "
                                 "here; `cyclescope doctor` tells why",
                                 l.matched, l.matched == 1 ? "" : "s", l.matched == 1 ? "es" : "")
                   : failed_with("no event of this processor or of the kernel has %s in its name or meaning",
                                 pattern ? pattern : "anything");
    }
    return output_close(out);
}
