/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's part reports a descriptor's inode at the time of the wait. The path comes from /proc/PID/fd, and is
 * believed only if it is that inode. It is asked once an inode. */
#include "sampler/waits/objects.h"

#include "store/base/kernel_files.h"
#include "store/base/text.h"

#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATHS 1024 /* remembered, power of two */

struct known {
    uint64_t inode;
    uint32_t device, pid;
    char text[CS_WAIT_OBJECT_MAX];
};

struct cs_wait_objects {
    char proc[64];
    struct known paths[PATHS];
};

struct cs_wait_objects *cs_wait_objects_open(const char *proc)
{
    assert(proc);
    struct cs_wait_objects *o = calloc(1, sizeof *o);
    if (o)
        snprintf(o->proc, sizeof o->proc, "%s", proc);
    return o;
}

void cs_wait_objects_close(struct cs_wait_objects *o)
{
    free(o);
}

/* The inode of a process's descriptor, by its fdinfo: stat would ask the file's file system, which may never answer. 0: not
 * known. */
static uint64_t inode_of(const struct cs_wait_objects *o, const struct cs_wait_record *r)
{
    char text[512];
    cs_kernel_text(text, sizeof text, "%s/%" PRIu32 "/fdinfo/%" PRIu32, o->proc, r->pid,
                   (uint32_t)r->args[0]);
    const char *at = strstr(text, "ino:");
    return at ? strtoull(at + 4, NULL, 10) : 0;
}

static void read_path(const struct cs_wait_objects *o, const struct cs_wait_record *r, char *out)
{
    char link[128], path[PATH_MAX];
    snprintf(link, sizeof link, "%s/%" PRIu32 "/fd/%" PRIu32, o->proc, r->pid, (uint32_t)r->args[0]);
    ssize_t n = inode_of(o, r) == r->inode ? readlink(link, path, sizeof path - 1) : -1;
    if (n > 0)
        cs_text_clean(out, CS_WAIT_OBJECT_MAX, path, (size_t)n);
    else
        cs_text_clean(out, CS_WAIT_OBJECT_MAX, r->name, sizeof r->name);
}

static void path_of(struct cs_wait_objects *o, const struct cs_wait_record *r, char *out)
{
    uint64_t hash = (r->inode ^ (uint64_t)r->device << 32 ^ r->pid) * 0x9E3779B97F4A7C15ULL;
    struct known *k = &o->paths[hash >> 54 & (PATHS - 1)];
    if (k->inode != r->inode || k->device != r->device || k->pid != r->pid || !*k->text) {
        k->inode = r->inode;
        k->device = r->device;
        k->pid = r->pid;
        read_path(o, r, k->text);
    }
    memcpy(out, k->text, CS_WAIT_OBJECT_MAX);
}

static void socket_of(const struct cs_wait_record *r, char *out)
{
    char peer[INET6_ADDRSTRLEN] = "", name[sizeof r->name + 1];
    if (r->family == AF_UNIX) {
        cs_text_clean(name, sizeof name, r->name, sizeof r->name);
        snprintf(out, CS_WAIT_OBJECT_MAX, *name ? "unix socket %s" : "unix socket%s", name);
    } else if (r->family != AF_INET && r->family != AF_INET6) {
        snprintf(out, CS_WAIT_OBJECT_MAX, "socket of family %u", r->family);
    } else if (!r->peer_port) {
        snprintf(out, CS_WAIT_OBJECT_MAX, "port %u", r->local_port);
    } else if (inet_ntop(r->family, r->peer, peer,
                         sizeof peer)) { /* many clients are one object: by the server's port */
        bool serves =
            r->class == CS_WAIT_SERVES || (r->class != CS_WAIT_ASKS && r->peer_port >= r->local_port);
        snprintf(out, CS_WAIT_OBJECT_MAX, serves ? "peer %s of port %u" : "peer %s:%u", peer,
                 serves ? r->local_port : r->peer_port);
    }
}

static void add_holder(const struct cs_wait_record *r, char *out)
{
    char name[17];
    size_t at = strlen(out);
    cs_text_clean(name, sizeof name, r->name, sizeof name - 1);
    snprintf(out + at, CS_WAIT_OBJECT_MAX - at, " that %s (%" PRIu32 ") holds%s", name,
             (uint32_t)r->waker_tid, r->circle ? CS_WAIT_DEAD_LOCK : "");
}

void cs_wait_object(struct cs_wait_objects *o, const struct cs_wait_record *r, char out[CS_WAIT_OBJECT_MAX])
{
    memset(out, 0, CS_WAIT_OBJECT_MAX);
    if (r->reason == CS_WAIT_LOCK && r->call == __NR_futex) {
        bool pi = (r->args[1] & 127) == 6 || (r->args[1] & 127) == 13; /* LOCK_PI, LOCK_PI2 */
        snprintf(out, CS_WAIT_OBJECT_MAX, "%s 0x%" PRIx64, pi ? "pi futex" : "futex", (uint64_t)r->args[0]);
        if (r->waker_kind == CS_WAKER_NO_END && r->waker_tid)
            add_holder(r, out);
    } else if (S_ISSOCK(r->mode)) {
        socket_of(r, out);
    } else if (S_ISFIFO(r->mode) && !*r->name) {
        snprintf(out, CS_WAIT_OBJECT_MAX, "pipe %" PRIu64, (uint64_t)r->inode);
    } else if (r->mode && r->reason != CS_WAIT_POLL) {
        path_of(o, r, out);
    }
}
