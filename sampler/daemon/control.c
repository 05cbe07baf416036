/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The socket, its lock file, and one request of a line each way. */
#include "sampler/daemon/control.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_MS 500 /* for a peer that is silent, or doesn't read */
#define PAUSE_US 100000 /* when there is no descriptor for a connection */

void cs_daemon_control_default_path(char path[CS_DAEMON_CONTROL_PATH_MAX])
{
    const char *runtime = getenv("RUNTIME_DIRECTORY"), *xdg = getenv("XDG_RUNTIME_DIR");
    if (runtime && *runtime)
        snprintf(path, CS_DAEMON_CONTROL_PATH_MAX, "%s/control", runtime);
    else if (geteuid() == 0)
        snprintf(path, CS_DAEMON_CONTROL_PATH_MAX, "/run/cyclescope/control");
    else if (xdg && *xdg)
        snprintf(path, CS_DAEMON_CONTROL_PATH_MAX, "%s/cyclescope/control", xdg);
    else
        snprintf(path, CS_DAEMON_CONTROL_PATH_MAX, "/tmp/cyclescope-%ld/control", (long)geteuid());
}

static int address_of(const char *path, struct sockaddr_un *address, struct cs_error *err)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path || strlen(path) + 6 > CS_DAEMON_CONTROL_PATH_MAX)
        return cs_fail(err, ENAMETOOLONG, "the control socket's path %s is too long; choose a shorter one",
                       path);
    strcpy(address->sun_path, path);
    return 0;
}

/* The directory must be ours and nobody else's: who may write there could put another socket in place. */
static int private_directory(const char *path, struct cs_error *err)
{
    char directory[CS_DAEMON_CONTROL_PATH_MAX];
    struct stat st;
    snprintf(directory, sizeof directory, "%s", path);
    char *slash = strrchr(directory, '/');
    if (!slash || slash == directory)
        return cs_fail(err, EINVAL, "the control socket %s must be in a directory of its own", path);
    *slash = '\0';
    if (mkdir(directory, 0700) < 0 && errno != EEXIST)
        return cs_fail(err, errno, "can't make the directory %s: %s", directory, strerror(errno));
    if (lstat(directory, &st) < 0)
        return cs_fail(err, errno, "can't look at %s: %s", directory, strerror(errno));
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
        return cs_fail(err, EPERM, "others may write to %s; choose a directory of your own for the socket",
                       directory);
    return 0;
}

int cs_daemon_control_open(struct cs_daemon_control *control, const char *path, struct cs_error *err)
{
    assert(path[0]);
    struct sockaddr_un address;
    char lock_path[CS_DAEMON_CONTROL_PATH_MAX + 8];
    *control = (struct cs_daemon_control){.fd = -1, .lock = -1};
    int rc = address_of(path, &address, err);
    if (rc == 0)
        rc = private_directory(path, err);
    if (rc < 0)
        return rc;
    snprintf(control->path, sizeof control->path, "%s", path);
    snprintf(lock_path, sizeof lock_path, "%s.lock", path);
    control->lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (control->lock < 0 || flock(control->lock, LOCK_EX | LOCK_NB) < 0) {
        rc = errno == EWOULDBLOCK
                 ? cs_fail(err, EADDRINUSE, "a daemon runs already (its control socket is %s)", path)
                 : cs_fail(err, errno, "can't lock %s: %s", lock_path, strerror(errno));
        goto out;
    }
    unlink(path); /* left by a daemon that was killed: the lock says that nobody has it */
    control->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    mode_t mask = umask(0177);
    bool bound = control->fd >= 0 && bind(control->fd, (struct sockaddr *)&address, sizeof address) == 0;
    umask(mask);
    if (!bound || listen(control->fd, 8) < 0)
        rc = cs_fail(err, errno, "can't open the control socket %s: %s", path, strerror(errno));
out:
    if (rc < 0)
        cs_daemon_control_close(control);
    return rc;
}

void cs_daemon_control_close(struct cs_daemon_control *control)
{
    if (control->fd >= 0) {
        close(control->fd);
        unlink(control->path);
    }
    if (control->lock >= 0)
        close(control->lock);
    control->fd = control->lock = -1;
}

static int send_whole(int fd, const char *text, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return -1;
        text += sent;
        n -= (size_t)sent;
    }
    return 0;
}

/* Up to the newline; -1 when it doesn't come. */
static int receive_line(int fd, char *line, size_t size)
{
    for (size_t have = 0; have + 1 < size;) {
        ssize_t n = recv(fd, line + have, size - 1 - have, 0);
        if (n <= 0)
            return -1;
        have += (size_t)n;
        line[have] = '\0';
        char *newline = strchr(line, '\n');
        if (newline) {
            *newline = '\0';
            return 0;
        }
    }
    return -1;
}

static void set_patience(int fd, int receive_ms, int send_ms)
{
    const struct timeval receive = {receive_ms / 1000, receive_ms % 1000 * 1000};
    const struct timeval send = {send_ms / 1000, send_ms % 1000 * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &receive, sizeof receive);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &send, sizeof send);
}

void cs_daemon_control_reply(int fd, bool well, const char *text)
{
    const char *verdict = well ? "ok\n" : "failed\n";
    if (send_whole(fd, verdict, strlen(verdict)) == 0)
        send_whole(fd, text, strlen(text));
    close(fd);
}

int cs_daemon_control_accept(struct cs_daemon_control *control, char request[CS_DAEMON_CONTROL_REQUEST_MAX])
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t size = sizeof peer;
    int fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        const int code = errno;
        if (code != EINVAL && code != EINTR)
            usleep(PAUSE_US);
        return code == EINVAL ? -EINVAL : -ECONNABORTED;
    }
    set_patience(fd, PATIENCE_MS, PATIENCE_MS);
    const bool allowed = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
                         (peer.uid == geteuid() || peer.uid == 0);
    if (receive_line(fd, request, CS_DAEMON_CONTROL_REQUEST_MAX) < 0) {
        close(fd);
        return -ECONNABORTED;
    }
    if (!allowed) {
        cs_daemon_control_reply(fd, false, "the daemon belongs to another user");
        return -ECONNABORTED;
    }
    return fd;
}

void cs_daemon_control_hang_up(struct cs_daemon_control *control)
{
    shutdown(control->fd, SHUT_RDWR);
}

static int ask_once(const char *path, const char *request, char text[CS_DAEMON_CONTROL_ANSWER_MAX],
                    bool *well, struct cs_error *err)
{
    struct sockaddr_un address;
    char answer[CS_DAEMON_CONTROL_ANSWER_MAX + 16];
    size_t have = 0;
    int rc = address_of(path, &address, err);
    if (rc < 0)
        return rc;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return cs_fail(err, errno, "can't make a socket: %s", strerror(errno));
    set_patience(fd, 60000, 5000); /* a merge may take its time */
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        rc = errno == ENOENT || errno == ECONNREFUSED
                 ? cs_fail(err, errno, "no daemon runs (nobody listens at %s); cyclescope daemon start", path)
                 : cs_fail(err, errno, "can't reach the daemon at %s: %s", path, strerror(errno));
        goto out;
    }
    int n_request = snprintf(answer, sizeof answer, "%.*s\n", CS_DAEMON_CONTROL_REQUEST_MAX - 2, request);
    if (send_whole(fd, answer, (size_t)n_request) < 0) {
        rc = cs_fail(err, EPIPE, "the daemon at %s does not listen", path);
        goto out;
    }
    while (have + 1 < sizeof answer) {
        ssize_t n = recv(fd, answer + have, sizeof answer - 1 - have, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    answer[have] = '\0';
    char *newline = strchr(answer, '\n');
    if (!newline) {
        rc = cs_fail(err, EIO, "the daemon at %s gave no answer", path);
        goto out;
    }
    *newline = '\0';
    *well = strcmp(answer, "ok") == 0;
    snprintf(text, CS_DAEMON_CONTROL_ANSWER_MAX, "%.*s", CS_DAEMON_CONTROL_ANSWER_MAX - 1, newline + 1);
out:
    close(fd);
    return rc;
}

/* A client that was kept from the CPU for longer than the daemon's patience finds the door closed: once more.
 */
int cs_daemon_control_ask(const char *path, const char *request, char text[CS_DAEMON_CONTROL_ANSWER_MAX],
                          bool *well, struct cs_error *err)
{
    int rc = ask_once(path, request, text, well, err);
    for (unsigned tries = 1; rc == -EPIPE && tries < 4; tries++)
        rc = ask_once(path, request, text, well, err);
    return rc;
}
