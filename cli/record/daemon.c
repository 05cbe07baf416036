/* SPDX-License-Identifier: GPL-2.0-or-later */
/* daemon: the sampler left on. `start` forks unless --foreground (systemd); the rest talks to it. */
#include "sampler/daemon/daemon.h"
#include "cli/command/own_program.h"
#include "cli/record/daemon_status.h"
#include "cli/record/follow_paths.h"
#include "sampler/daemon/control.h"
#include "sampler/daemon/settings.h"
#include "store/base/text.h"

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

/* What the options say of a setting, NULL when nothing; `joined` holds what is made of several. */
static const char *setting_value(const struct parsed *args, const char *name, char joined[VALUE_MAX])
{
    if (strcmp(name, "events") == 0)
        return option_joined(args, "event", joined, VALUE_MAX);
    if (strcmp(name, "bursts") == 0 || strcmp(name, "paths") == 0 || strcmp(name, "chains") == 0) {
        char no[16];
        snprintf(no, sizeof no, "no-%s", name);
        return option_given(args, no) ? "off" : option_given(args, name) ? "on" : NULL;
    }
    if (strcmp(name, "waits") == 0)
        return option_given(args, name) ? "on" : NULL;
    return option(args, strcmp(name, "log") == 0 ? "remarks" : name);
}

static void take_options(const struct parsed *args, struct given *given)
{
    unsigned n = 0;
    for (const struct cs_daemon_setting *s = cs_daemon_setting_list; s->name && n + 1 < GIVEN_MAX; s++) {
        const char *value = setting_value(args, s->name, given->values[n]);
        if (!value)
            continue;
        if (strcmp(s->name, "store") == 0 || strcmp(s->name, "log") == 0)
            absolute(value, given->values[n]);
        else if (value != given->values[n])
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

/* This program again, as `export`, at the lowest priority. `to`: a ClickHouse server's URL, or "otlp URL", "pyroscope URL",
 * "parca URL"; theirs by the environment, which others can't read. */
static pid_t send_to_server(const char *store, const char *to, int log)
{
    sigset_t none;
    char kind[16];
    const size_t n = strcspn(to, " ");
    snprintf(kind, sizeof kind, "%.*s", (int)(n < sizeof kind ? n : 0), to);
    const bool clickhouse =
        strcmp(kind, "otlp") != 0 && strcmp(kind, "pyroscope") != 0 && strcmp(kind, "parca") != 0;
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
    const char *self = own_program_path();
    if (!clickhouse && setenv("CYCLESCOPE_EXPORT_URL", to + n + strspn(to + n, " "), 1) == 0)
        execl(self, "cyclescope", "export", "--store", store, "--to", kind, "--once", (char *)NULL);
    else if (clickhouse)
        execl(self, "cyclescope", "export", "--store", store, "--to", "clickhouse", to, (char *)NULL);
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
    printf("the daemon runs (process %ld); cyclescope daemon status shows its state\n", (long)child);
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

static int ask(const struct parsed *args, const char *request, char text[CS_DAEMON_CONTROL_ANSWER_MAX])
{
    char path[CS_DAEMON_CONTROL_PATH_MAX];
    struct cs_error err;
    bool well = false;
    cs_daemon_control_default_path(path);
    const char *asked = option(args, "socket");
    if (cs_daemon_control_ask(asked ? asked : path, request, text, &well, &err) < 0)
        return failed(&err);
    return well ? CS_EXIT_OK : failed_with("%s", text);
}

static int run_status(const struct parsed *args)
{
    char text[CS_DAEMON_CONTROL_ANSWER_MAX];
    int rc = ask(args, "status", text);
    return rc ? rc : daemon_status_print(args, text);
}

static int run_flush(const struct parsed *args)
{
    char text[CS_DAEMON_CONTROL_ANSWER_MAX];
    int rc = ask(args, "flush", text);
    if (rc == CS_EXIT_OK)
        report_line(stdout, "merged into the epoch %s", text);
    return rc;
}

static int run_epoch(const struct parsed *args)
{
    char text[CS_DAEMON_CONTROL_ANSWER_MAX];
    int rc = ask(args, "epoch", text);
    if (rc == CS_EXIT_OK)
        report_line(stdout, "the epoch %s begins", text);
    return rc;
}

/* Returns when the daemon is gone: its socket no longer answers, and its process has let go of what it held
   open, for which two seconds are enough (one that nobody reaps, or of another PID namespace, can't be waited
   for). */
static int run_stop(const struct parsed *args)
{
    char text[CS_DAEMON_CONTROL_ANSWER_MAX], path[CS_DAEMON_CONTROL_PATH_MAX];
    int rc = ask(args, "stop", text);
    if (rc != CS_EXIT_OK)
        return rc;
    pid_t pid = (pid_t)strtol(text, NULL, 10);
    cs_daemon_control_default_path(path);
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
    struct cs_resembling r = {.word = name ? name : ""};
    for (size_t i = 0; name && i < sizeof verbs / sizeof *verbs; i++)
        cs_resembling_try(&r, verbs[i].name);
    return usage_error("%s%sexpected start, status, flush, epoch or stop%s", name ? name : "",
                       name ? ": " : "", cs_did_you_mean(&r).text);
}

static const struct option_entry options[] = {
    {"foreground", 0, NULL, "start: stay in the foreground (for systemd)"},
    {"config", 0, "FILE", "start: read settings from FILE, and again on SIGHUP"},
    {"socket", 0, "FILE", "the control socket (/run/cyclescope/control for root)"},
    {"remarks", 0, "FILE", "the daemon's log, - for standard error (daemon.log in the store)"},
    OPTION_EVENT,
    OPTION_BUDGET,
    OPTION_FREQUENCY,
    OPTION_PERIOD,
    OPTION_PID,
    OPTION_LABEL,
    OPTION_DRIVER,
    OPTIONS_CHAINS,
    OPTION_WAITS,
    OPTIONS_BURSTS,
    OPTIONS_PATHS,
    OPTIONS_INTERVALS,
    {"merge-interval", 0, "TIME", "time between merges to disk: s, m, h, d (10m)"},
    {"epoch-length", 0, "TIME", "time after which a new epoch begins; 0 = never (24h)"},
    OPTIONS_KEEP,
    {"memory", 0, "BYTES", "memory limit of the daemon (32M); waits take up to 32M more"},
    {"export-to", 0, "URL",
     "after merges, send new samples to this ClickHouse server, or \"otlp URL\", \"pyroscope URL\", \"parca "
     "URL\" (see export)"},
    {"export-interval", 0, "TIME", "least time between two exports (10m)"},
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_daemon = {
    "daemon",
    "start|status|flush|epoch|stop",
    "profile the whole machine, continuously, for months",
    "start begins sampling into a store and merges every ten minutes.\nstatus reports what the daemon does "
    "and what it costs.\nflush merges now.\nepoch merges and begins a new epoch.\nstop merges and "
    "ends.\n\nThe configuration file has lines \"name = value\" with the names of the long options. "
    "Exceptions are events (--event), log (--remarks), and chains, waits, bursts and paths, which are on or "
    "off. SIGHUP reads the file again and reopens the log.\n\nThe defaults are a budget of 0.5 %, epochs "
    "kept for 90 days and up to 1 GB, and call chains. Waits, bursts and paths are off.",
    options,
    run,
};
