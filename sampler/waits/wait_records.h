/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the BPF program and its reader share: plain structs. Times are CLOCK_MONOTONIC, ns.
 *
 * Each thread has a row of totals that are exact. Of single waits a record is kept with a probability that
 * grows with their length D: min(1, D / T). Such a record stands for max(D, T) / D waits like it, so that sums
 * of times and of counts have no bias (a threshold sample: Duffield, Lund, Thorup, 2005). Each wait of at
 * least T is there. */
#pragma once

#include "sampler/chains/kernel_tables.h"

/* What a thread waits for, as the kernel part can tell it at once. */
enum cs_wait_reason {
    CS_WAIT_RUN_QUEUE, /* for a CPU: it could run */
    CS_WAIT_LOCK,      /* futex, semaphore, file lock */
    CS_WAIT_FILE,      /* calls on files: read, write, fsync, open, ... */
    CS_WAIT_SOCKET,
    CS_WAIT_PIPE,
    CS_WAIT_POLL, /* poll, select, epoll: for any of several things */
    CS_WAIT_SLEEP,
    CS_WAIT_CHILD,
    CS_WAIT_SIGNAL,
    CS_WAIT_FAULT, /* a page that has to be brought, or the lock of the address space */
    CS_WAIT_STOPPED,
    CS_WAIT_THROTTLED, /* its cgroup has used up its time */
    CS_WAIT_OTHER,
    CS_WAIT_DESCRIPTOR, /* read or write of a descriptor: file, pipe or socket, told by the record alone */
    CS_WAIT_REASONS,
};

/* What a descriptor that a thread waits for leads to; who waits for several waits for the last of these. */
enum cs_wait_class {
    CS_WAIT_NOTHING,
    CS_WAIT_EVENTS,  /* eventfd, timerfd, signalfd, netlink: no other program's doing */
    CS_WAIT_LISTENS, /* a socket that takes connections */
    CS_WAIT_SERVES,  /* a connection that was accepted, or a port that the program has chosen */
    CS_WAIT_FILES,   /* a file or a device */
    CS_WAIT_PAIR,    /* two sockets without a name */
    CS_WAIT_PIPES,
    CS_WAIT_ASKS, /* a connection that the program has opened */
};

enum cs_wait_look { /* where a system call has its descriptors */
                    CS_WAIT_LOOK_NOT,
                    CS_WAIT_LOOK_FIRST, /* its first argument */
                    CS_WAIT_LOOK_POLL,
                    CS_WAIT_LOOK_SELECT,
                    CS_WAIT_LOOK_EPOLL,
};

#define CS_WAIT_CALLS 512       /* system calls whose reason is tabled */
#define CS_WAIT_THREADS 8192U   /* rows; power of two */
#define CS_WAIT_GUESSES 32768U  /* of rows by number of thread; power of two */
#define CS_WAIT_FRAMES 256U     /* power of two */
#define CS_WAIT_RING (2U << 20) /* bytes */

/* A thread's row. The kernel writes all but `number`s of free rows; the reader frees a row whose end_ns is set. A switch
 * touches the first two lines, and of ns and times one each. */
struct cs_wait_thread {
    __u32 tid, pid;
    __u64 task;     /* the kernel's address of it: no other has it while it lives */
    __u64 end_ns;   /* seen to; 0: it lives */
    __u64 since_ns; /* it left the CPU, or came back */
    __u64 wake_ns;  /* of this absence; 0: not woken */
    __u64 on_ns;    /* on a CPU by the clock */
    __u64 exec_ns;  /* of that, what the kernel charged it: the rest went to interrupts and the hypervisor */
    __u64 exec_at_start_ns;
    __u64 start_ns;             /* seen from */
    __u32 interval_ns, draw_ns; /* T, and the length from which this absence is kept */
    __u32 waker_tid, waker_pid;
    __u8 reason, out, kept, waker_kind;
    __u32 padding[5];
    char comm[16];
    __u64 ns[16]; /* by reason */
    __u32 times[16];
};

enum cs_wait_waker {
    CS_WAKER_UNKNOWN,
    CS_WAKER_THREAD,
    CS_WAKER_INTERRUPT, /* a timer or a device */
    CS_WAKER_NO_END,    /* it still waits; waker_tid holds the lock, `name` is its name; 0: not known */
};

enum cs_wait_record_kind {
    CS_WAIT_ENDED, /* a wait, with the chain of who waited */
    CS_WAIT_STANDS, /* of a thread that still waits when all this ends; reg and pc of the copy are its registers */
    CS_WAIT_WOKEN, /* comes before it: the chain of who woke it; `tid` is who was woken, at wake_ns */
};

/* Cut behind `n` frames, innermost first; outermost first where `joined`. */
struct cs_wait_record {
    __u32 kind, n, n_kernel;
    __u16 joined, copied; /* a copy of the stack follows, behind all CS_WAIT_FRAMES */
    __u32 tid, pid;       /* of a WOKEN, `pid` is the waker's process: its addresses */
    __u32 chain_end, interval_ns;
    __u64 out_ns, wake_ns, in_ns;
    __u64 start_ns,
        on_ns; /* of its row, at out_ns; of a WOKEN the waker's, at wake_ns; start_ns 0: it has no row */
    __u32 waker_tid, waker_pid;
    __s32 call; /* the system call; -1: none */
    __u8 reason, waker_kind;
    __u16 family; /* of a socket */
    __u64 args[4];
    __u64 inode;
    __u64 task, file;                 /* the kernel's addresses of the thread and of the descriptor's file */
    __u32 device, mode;               /* of the descriptor; mode 0: there is none, or it has no file */
    __u32 class, classes;             /* its enum cs_wait_class; 1 << class of all that were looked at */
    __u32 sent_ticks, received_ticks; /* since something was last sent and received, where has_ticks */
    __u16 has_ticks, timed_out;       /* timed out: none of an epoll's was ready */
    __u32 circle;                     /* of one that stands: those who hold the locks wait for one another */
    __u16 local_port, peer_port;
    __u8 peer[16]; /* as the family has it */
    char comm[16]; /* of a WOKEN: the waker's */
    /* Of a wait for a CPU (RUN_QUEUE, or from wake_ns on): the name of the thread that had this CPU for the longest turn, and the
     * time of all such turns of threads that are called so; 0: none is known. */
    __u64 turn_ns, turn_comm[2];
    char name[44]; /* last part of the file's path */
    __u64 frames[CS_WAIT_FRAMES];
};
#define CS_WAIT_HEAD (sizeof(struct cs_wait_record) - CS_WAIT_FRAMES * 8)

/* Where the kernel couldn't unwind the user's part yet. No kernel frames in the copy: the record has them. */
struct cs_wait_copied {
    struct cs_wait_record record;
    struct cs_chain_copy copy; /* cut behind `n_stack` */
};

/* Functions of the kernel through which the chain of a wake-up leads, by their addresses; size 0: not known. */
enum {
    CS_WAIT_WAY_OF_CALL, /* a call lets the interrupts run that it has raised */
    CS_WAIT_WAY_OF_TIMER,
    CS_WAIT_WAY_OF_OLD_TIMER,
    CS_WAIT_WAYS
};
struct cs_wait_way {
    __u64 start, size;
};

/* Of a CPU. */
#define CS_WAIT_TURNS 16U    /* power of two */
#define CS_WAIT_TURN 500000U /* ns at least */
struct cs_wait_cpu {
    __u64 came, stack; /* the task that the last switch that was told was to, and where its kernel stack is */
    __u64 kept_ns;     /* when that thread had left, where its wait is kept; else 0 */
    __u64 clock_ns, behind_ns; /* the run queue's when it was compared last, and how far it was behind ours */
    __u64 random;
    __u64 at_stack; /* where the program at hand found itself: through memory, that it be a number */
    __u64 n;        /* long turns of threads on it, the newest at n - 1 modulo */
    struct cs_wait_turn {
        __u64 from_ns, to_ns, comm[2];
        __u32 tid, unused;
    } at[CS_WAIT_TURNS];
};

/* Numbers of free rows: the kernel takes at `taken`, the reader gives at `given`. */
struct cs_wait_free {
    __u64 given, taken;
    __u32 number[CS_WAIT_THREADS];
};
