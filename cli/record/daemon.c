/* SPDX-License-Identifier: GPL-2.0-or-later */
/* daemon: the sampler left on. `start` forks unless --foreground (systemd); the rest talks to it. */
#include "sampler/daemon/daemon.h"
#include "cli/command/command.h"
#include "cli/record/daemon_status.h"
#include "cli/record/follow_paths.h"
#include "cli/output/output.h"
#include "sampler/daemon/control.h"
#include "sampler/daemon/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define GIVEN_MAX 32
#define VALUE_MAX 1200

struct given {
    struct cs_daemon_setting_given settings[GIVEN_MAX];
    char values[GIVEN_MAX][VALUE_MAX];
    char config[VALUE_MAX];
};

/* The daemon leaves this directory; what the user named from here must stay what it is. */
static void absolute(const char *path, char out[VALUE_MAX])
{
    char here[VALUE_MAX];
    if (path[0] == '/' || strcmp(path, "-") == 0 || !getcwd(here, sizeof here))
        snprintf(out, VALUE_MAX, "%s", path);
    else
        snprintf(out, VALUE_MAX, "%.600s/%.590s", here, path);
}

static void take_options(const struct parsed *args, struct given *given)
{
    unsigned n = 0;
    for (const struct cs_setting *s = cs_daemon_setting_list; s->name && n + 1 < GIVEN_MAX; s++) {
        const char *value = option(args, s->name), *next;
        if (!value)
            continue;
        if (strcmp(s->name, "store") == 0 || strcmp(s->name, "log") == 0)
            absolute(value, given->values[n]);
        else if (strcmp(s->name, "events") == 0)
            for (unsigned i = 0; (next = option_nth(args, "events", i)) != NULL; i++) {
                size_t used = strlen(given->values[n]);
                snprintf(given->values[n] + used, VALUE_MAX - used, "%s%s", i ? "," : "", next);
            }
        else
            snprintf(given->values[n], VALUE_MAX, "%s", value);
        given->settings[n] = (struct cs_daemon_setting_given){s->name, given->values[n]};
        n++;
    }
    if (option(args, "config"))
        absolute(option(args, "config"), given->config);
}

/* "READY=1" to systemd, when it asked for it. */
static void notify_systemd(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || strlen(path) >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, strlen(path));
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    sendto(fd, "READY=1", 7, MSG_NOSIGNAL, (struct sockaddr *)&address, size);
    close(fd);
}

/* This program again, as `export`, at the lowest priority. */
static pid_t send_to_server(const char *store, const char *url, int log)
{
    sigset_t none;
    pid_t child = fork();
    if (child != 0)
        return child;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        (log >= 0 && dup2(log, STDERR_FILENO) < 0) || setpriority(PRIO_PROCESS, 0, 19) < 0)
        _exit(CS_EXIT_FAILED);
    execl("/proc/self/exe", "cyclescope", "export", "--store", store, "--to", "clickhouse", url,
          (char *)NULL);
    _exit(CS_EXIT_FAILED);
}

static void ready_in_foreground(void *arg)
{
    (void)arg;
    notify_systemd();
}

/* Tells the waiting parent, then lets go of the terminal. */
static void ready_in_background(void *arg)
{
    int *pipe_end = arg;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
    if (write(*pipe_end, "", 1) == 1)
        close(*pipe_end);
    if (chdir("/") < 0)
        return;
}

static int start_in_background(struct cs_daemon_start *start)
{
    int ends[2];
    struct cs_error err;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return failed_with("can't make a pipe: %s", strerror(errno));
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        return failed_with("can't fork: %s", strerror(errno));
    if (child == 0) {
        close(ends[0]);
        setsid();
        start->ready = ready_in_background;
        start->arg = &ends[1];
        int rc = cs_daemon_run(start, &err);
        _exit(rc < 0 ? failed(&err) : CS_EXIT_OK);
    }
    close(ends[1]);
    char byte;
    ssize_t n = read(ends[0], &byte, 1);
    close(ends[0]);
    if (n != 1) {
        int status;
        waitpid(child, &status, 0);
        return CS_EXIT_FAILED; /* the child has said why */
    }
    printf("the daemon runs (process %ld); cyclescope daemon status tells how it is\n", (long)child);
    return CS_EXIT_OK;
}

static int run_start(const struct parsed *args)
{
    static struct given given; /* lives as long as the daemon: SIGHUP applies it again */
    char socket_path[VALUE_MAX] = "";
    struct cs_error err;
    take_options(args, &given);
    if (option(args, "socket"))
        absolute(option(args, "socket"), socket_path);
    struct cs_daemon_start start = {.config_file = given.config[0] ? given.config : NULL,
                                    .given = given.settings,
                                    .socket_path = socket_path[0] ? socket_path : NULL,
                                    .send = send_to_server,
                                    .follow_path = follow_path};
    static struct path_follower *follower; /* as long */
    if (path_follower_open(&follower, &err) < 0)
        return failed(&err);
    start.follow_arg = follower;
    if (!option_given(args, "foreground"))
        return start_in_background(&start);
    start.ready = ready_in_foreground;
    return cs_daemon_run(&start, &err) < 0 ? failed(&err) : CS_EXIT_OK;
}

static int ask(const struct parsed *args, const char *request, char text[CS_CONTROL_ANSWER_MAX])
{
    char path[CS_CONTROL_PATH_MAX];
    struct cs_error err;
    bool well = false;
    cs_control_default_path(path);
    const char *asked = option(args, "socket");
    if (cs_control_ask(asked ? asked : path, request, text, &well, &err) < 0)
        return failed(&err);
    return well ? CS_EXIT_OK : failed_with("%s", text);
}

static int run_status(const struct parsed *args)
{
    char text[CS_CONTROL_ANSWER_MAX];
    int rc = ask(args, "status", text);
    return rc ? rc : daemon_status_print(args, text);
}

static int run_flush(const struct parsed *args)
{
    char text[CS_CONTROL_ANSWER_MAX];
    int rc = ask(args, "flush", text);
    if (rc == CS_EXIT_OK)
        printf("merged into the epoch %s\n", text);
    return rc;
}

static int run_epoch(const struct parsed *args)
{
    char text[CS_CONTROL_ANSWER_MAX];
    int rc = ask(args, "epoch", text);
    if (rc == CS_EXIT_OK)
        printf("the epoch %s begins\n", text);
    return rc;
}

/* Returns when the daemon is gone: its socket no longer answers, and its process has let go of what it held
   open, for which two seconds are enough (one that nobody reaps, or of another PID namespace, can't be waited
   for). */
static int run_stop(const struct parsed *args)
{
    char text[CS_CONTROL_ANSWER_MAX], path[CS_CONTROL_PATH_MAX];
    int rc = ask(args, "stop", text);
    if (rc != CS_EXIT_OK)
        return rc;
    pid_t pid = (pid_t)strtol(text, NULL, 10);
    cs_control_default_path(path);
    const char *asked = option(args, "socket");
    for (int tries = 0, after = 0; tries < 1200; tries++) {
        if (access(asked ? asked : path, F_OK) < 0 && (kill(pid, 0) < 0 || ++after > 40)) {
            printf("the daemon has stopped\n");
            return CS_EXIT_OK;
        }
        usleep(50000);
    }
    return failed_with("the daemon (process %ld) still runs after a minute", (long)pid);
}

static int run(const struct parsed *args)
{
    static const struct verb {
        const char *name;
        int (*run)(const struct parsed *args);
    } verbs[] = {{"start", run_start},
                 {"status", run_status},
                 {"flush", run_flush},
                 {"epoch", run_epoch},
                 {"stop", run_stop}};
    const char *name = operand(args, 0);
    for (size_t i = 0; name && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return verbs[i].run(args);
    return usage_error("expected start, status, flush, epoch or stop");
}

static const struct option_entry options[] = {
    {"foreground", 0, NULL, "start: stay in the foreground (for systemd)"},
    {"config", 'f', "FILE", "start: read settings from FILE, again on SIGHUP"},
    {"socket", 0, "PATH", "the control socket (default: /run/cyclescope/control for root)"},
    {"store", 'o', "DIR", "where profiles go"},
    {"log", 0, "FILE", "where remarks go, - for standard error (default: daemon.log in the store)"},
    {"events", 'e', "LIST", "events (default: cycles where there are any, else cpu-clock)"},
    {"budget", 0, "PERCENT", "of the profiled work's time that may be lost (default 0.5%)"},
    {"frequency", 'F', "HZ", "samples a second of a busy CPU, instead of a budget"},
    {"period", 'c', "N", "events (cpu-clock: ns) a sample, instead of a budget"},
    {"merge-interval", 0, "TIME", "between merges to disk: s, m, h, d (default 10m)"},
    {"epoch-length", 0, "TIME", "after which a new epoch begins; 0 = never (default 24h)"},
    {"keep-age", 0, "TIME", "remove epochs last written longer ago; 0 = never (default 90d)"},
    {"keep-size", 0, "BYTES", "remove the oldest epochs until the rest fits (default 1G)"},
    {"intervals", 0, "TIME", "also keep what happened in each interval of this length (see phases)"},
    {"intervals-size", 0, "BYTES", "bound of an epoch's intervals: beyond, they get longer (default 4M)"},
    {"memory", 0, "BYTES", "the daemon's own bound (default 32M)"},
    {"pid", 'p', "PID", "only this process and what it starts; needs no rights for your own"},
    {"bursts", 0, "on|off", "follow threads through bursts of instructions, within the budget (default off)"},
    {"paths", 0, "on|off", "interpret short paths from registers at timer samples (default off)"},
    {"label", 0, "NAME", "keep profiles apart by process, command or cgroup"},
    {"driver", 0, "NAME", "auto, bpf or ring (default auto)"},
    {"export-to", 0, "URL", "send what is new to this ClickHouse server after merges (see export)"},
    {"export-interval", 0, "TIME", "between two such exports at least (default 10m)"},
    {NULL, 0, NULL, NULL},
};

extern const struct command command_daemon;
const struct command command_daemon = {
    "daemon",
    "start|status|flush|epoch|stop",
    "profile the whole machine, continuously, for months",
    "start begins sampling into a store and merges every ten minutes; status tells what it does and what\n"
    "it costs; flush merges now; epoch merges and begins a new epoch; stop merges and ends.\n"
    "The configuration file has lines \"name = value\" with the names of the long options. SIGHUP reads it\n"
    "again and reopens the log.",
    options,
    run,
};
