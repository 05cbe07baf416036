/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's part: what lies behind the descriptors that a thread waited for. Only waits.bpf.h includes it.
 *
 * Of several descriptors (poll, select, epoll) the one that tells most is described: the classes are in that order. Of an
 * epoll those are looked at that ended the wait; after a timeout, the first ones in its tree. */
#pragma once

#include "sampler/waits/wait_rows.bpf.h"

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1
#define TCP_LISTEN 10
#define BOUND_BY_PROGRAM 8 /* SOCK_BINDPORT_LOCK */

#define POLLED 16   /* descriptors looked at */
#define SELECTED 64 /* of select the first ones */
#define EPOLL_READY 4
#define EPOLL_STEPS 64 /* of a walk in its tree: half as many nodes */

struct wait_pollfd {
    int fd;
    short events, revents;
};
struct list_head___waits {
    struct list_head___waits *next;
} __attribute__((preserve_access_index));
struct rb_node {
    unsigned long __rb_parent_color;
    struct rb_node *rb_right, *rb_left;
} __attribute__((preserve_access_index));
struct rb_root {
    struct rb_node *rb_node;
} __attribute__((preserve_access_index));
struct rb_root_cached {
    struct rb_root rb_root;
} __attribute__((preserve_access_index));
struct epoll_filefd {
    struct file *file;
} __attribute__((preserve_access_index));
struct epitem {
    struct rb_node rbn;
    struct list_head___waits rdllink;
    struct epoll_filefd ffd;
} __attribute__((preserve_access_index));
struct eventpoll {
    struct list_head___waits rdllist;
    struct rb_root_cached rbr;
} __attribute__((preserve_access_index));

static __always_inline __u64 file_of(const struct cs_wait_record *r, __u32 fd)
{
    struct task_struct___waits *task = (void *)r->task;
    struct fdtable *table = BPF_CORE_READ(task, files, fdt);
    struct file **files = BPF_CORE_READ(table, fd), *file = 0;
    if (fd >= BPF_CORE_READ(table, max_fds) || bpf_probe_read_kernel(&file, sizeof file, files + fd) != 0)
        return 0;
    return (__u64)file;
}

/* A connection that was accepted remembers by which interface its first packet came; one that was opened here doesn't. */
static __always_inline int was_accepted(struct sock *sock, __u16 family)
{
    struct inet_sock *inet = (void *)sock;
    struct ipv6_pinfo *six = BPF_CORE_READ(inet, pinet6);
    return BPF_CORE_READ(inet, mc_index) || (family == AF_INET6 && six && BPF_CORE_READ(six, mcast_oif));
}

static __always_inline __u32 class_of_socket(struct sock *sock)
{
    __u16 family = BPF_CORE_READ(sock, __sk_common.skc_family);
    int listens = BPF_CORE_READ(sock, __sk_common.skc_state) == TCP_LISTEN;
    if (family == AF_UNIX) {
        struct unix_sock *socket = (void *)sock, *peer = (void *)BPF_CORE_READ(socket, peer);
        return listens                             ? CS_WAIT_LISTENS
               : BPF_CORE_READ(socket, addr)       ? CS_WAIT_SERVES
               : peer && BPF_CORE_READ(peer, addr) ? CS_WAIT_ASKS
                                                   : CS_WAIT_PAIR;
    }
    if (family != AF_INET && family != AF_INET6)
        return CS_WAIT_EVENTS;
    if (BPF_CORE_READ(sock, sk_type) == SOCK_STREAM)
        return listens ? CS_WAIT_LISTENS : was_accepted(sock, family) ? CS_WAIT_SERVES : CS_WAIT_ASKS;
    return !BPF_CORE_READ(sock, __sk_common.skc_dport) &&
                   BPF_CORE_READ_BITFIELD_PROBED(sock, sk_userlocks) & BOUND_BY_PROGRAM
               ? CS_WAIT_SERVES
               : CS_WAIT_ASKS;
}

static __always_inline struct sock *socket_of_file(struct file *file)
{
    struct socket *socket = BPF_CORE_READ(file, private_data);
    return BPF_CORE_READ(socket, sk);
}

static __always_inline __u32 class_of_file(struct file *file)
{
    switch (BPF_CORE_READ(file, f_inode, i_mode) & 0170000) {
    case 0140000:
        return class_of_socket(socket_of_file(file));
    case 0010000:
        return CS_WAIT_PIPES;
    case 0:
        return CS_WAIT_EVENTS;
    default:
        return CS_WAIT_FILES;
    }
}

/* Another descriptor: it is the one to describe where none before it tells more. */
VERIFIED_ONCE int wait_look_at(struct cs_wait_record *r, __u64 file)
{
    if (!r || !file)
        return 0;
    __u32 class = class_of_file((struct file *)file);
    r->classes |= 1 << (class & 15);
    if (class > r->class) {
        r->class = class;
        r->file = file;
    }
    return 0;
}

static __always_inline void describe_socket(struct cs_wait_record *r, struct sock *sock)
{
    r->family = BPF_CORE_READ(sock, __sk_common.skc_family);
    if (r->family == AF_UNIX) {
        struct unix_sock *socket = (void *)sock, *peer = (void *)BPF_CORE_READ(socket, peer);
        struct unix_address *at = BPF_CORE_READ(socket, addr);
        if (!at && peer)
            at = BPF_CORE_READ(peer, addr);
        if (at) { /* behind the family: a path, or a NUL and a name */
            const char *name = (const char *)at + bpf_core_field_offset(at->name) + 2;
            if (bpf_probe_read_kernel_str(r->name, sizeof r->name, name) <= 1 && sizeof r->name > 1) {
                r->name[0] = '@';
                bpf_probe_read_kernel_str(r->name + 1, sizeof r->name - 1, name + 1);
            }
        }
        return;
    }
    if (r->family != AF_INET && r->family != AF_INET6)
        return;
    r->local_port = BPF_CORE_READ(sock, __sk_common.skc_num);
    r->peer_port = __builtin_bswap16(BPF_CORE_READ(sock, __sk_common.skc_dport));
    if (r->family == AF_INET)
        *(__u32 *)r->peer = BPF_CORE_READ(sock, __sk_common.skc_daddr);
    else
        BPF_CORE_READ_INTO((struct in6_addr *)r->peer, sock, __sk_common.skc_v6_daddr);
    if (BPF_CORE_READ(sock, sk_type) == SOCK_STREAM && r->class == CS_WAIT_ASKS) {
        __u32 now = (__u32)bpf_jiffies64();
        r->sent_ticks = now - BPF_CORE_READ((struct tcp_sock *)sock, lsndtime);
        r->received_ticks = now - BPF_CORE_READ((struct inet_connection_sock *)sock, icsk_ack.lrcvtime);
        r->has_ticks = 1;
    }
}

VERIFIED_ONCE int wait_describe(struct cs_wait_record *r)
{
    if (!r || !r->file)
        return 0;
    struct file *file = (struct file *)r->file;
    struct inode *inode = BPF_CORE_READ(file, f_inode);
    r->mode = BPF_CORE_READ(inode, i_mode);
    r->inode = BPF_CORE_READ(inode, i_ino);
    r->device = BPF_CORE_READ(inode, i_sb, s_dev);
    if ((r->mode & 0170000) == 0140000) {
        describe_socket(r, socket_of_file(file));
        return 0;
    }
    const unsigned char *name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
    bpf_probe_read_kernel_str(r->name, sizeof r->name, name);
    return 0;
}

VERIFIED_ONCE int wait_look_at_poll(struct cs_wait_record *r)
{
    if (!r)
        return 0;
    for (__u32 i = 0; i < POLLED && i < r->args[1]; i++) {
        struct wait_pollfd at;
        if (bpf_probe_read_user(&at, sizeof at, (const struct wait_pollfd *)r->args[0] + i) != 0)
            break;
        if (at.fd >= 0)
            wait_look_at(r, file_of(r, (__u32)at.fd));
    }
    return 0;
}

VERIFIED_ONCE int wait_look_at_select(struct cs_wait_record *r)
{
    __u64 reads = 0, writes = 0;
    if (!r)
        return 0;
    if (r->args[1])
        bpf_probe_read_user(&reads, sizeof reads, (const void *)r->args[1]);
    if (r->args[2])
        bpf_probe_read_user(&writes, sizeof writes, (const void *)r->args[2]);
    reads |= writes;
    for (__u32 i = 0; i < SELECTED && i < r->args[0]; i++)
        if (reads >> i & 1)
            wait_look_at(r, file_of(r, i));
    return 0;
}

#ifndef CS_OLD_KERNEL
struct epoll_walk {
    struct cs_wait_record *r;
    __u64 node, from; /* the one at hand, and the one before it on the way */
};

static long epoll_step(__u32 index, void *arg)
{
    struct epoll_walk *w = arg;
    struct rb_node *node = (struct rb_node *)w->node;
    if (!node)
        return 1;
    struct epitem *item = (struct epitem *)(w->node - bpf_core_field_offset(struct epitem, rbn));
    __u64 left = (__u64)BPF_CORE_READ(node, rb_left), right = (__u64)BPF_CORE_READ(node, rb_right),
          above = BPF_CORE_READ(node, __rb_parent_color) & ~3UL, from = w->from;
    w->from = w->node;
    if (from == above)
        wait_look_at(w->r, (__u64)BPF_CORE_READ(item, ffd.file));
    w->node = from == above && left                                       ? left
              : right && (from == above || from == left) && from != right ? right
                                                                          : above;
    return 0;
}
#endif

VERIFIED_ONCE int wait_look_at_epoll(struct cs_wait_record *r)
{
    if (!r)
        return 0;
    struct file *file = (struct file *)file_of(r, (__u32)r->args[0]);
    struct eventpoll *epoll = BPF_CORE_READ(file, private_data);
    if (!epoll)
        return 0;
    __u64 head = (__u64)epoll + bpf_core_field_offset(epoll->rdllist),
          at = (__u64)BPF_CORE_READ(epoll, rdllist.next);
    for (int i = 0; i < EPOLL_READY && at && at != head; i++) {
        struct epitem *item = (struct epitem *)(at - bpf_core_field_offset(struct epitem, rdllink));
        wait_look_at(r, (__u64)BPF_CORE_READ(item, ffd.file));
        at = (__u64)BPF_CORE_READ(item, rdllink.next);
    }
#ifndef CS_OLD_KERNEL
    if (!r->classes) {
        struct epoll_walk walk = {r, (__u64)BPF_CORE_READ(epoll, rbr.rb_root.rb_node), 0};
        r->timed_out = 1;
        bpf_loop(EPOLL_STEPS, epoll_step, &walk, 0);
    }
#endif
    return 0;
}
