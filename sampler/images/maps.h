/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which process had what mapped where, and when. A PID lives through incarnations (a fork, then each exec).
 * Each has a space: its executable mappings, those replaced lately with the time of their end. dcpi-1997
 * section 4.3.2.
 *
 * Invariant: a lookup names an image only if that image alone was at the address during the whole interval
 * asked about. Otherwise it says why not.
 *
 *      function              writer (the session's thread)   other threads
 *      cs_maps_fork ... expire   yes, one only               no
 *      cs_maps_find              yes                         yes (RCU, liburcu-bp: no registration)
 *
 * Spaces are immutable and shared by forks; a change makes a new one. Memory: a process costs about 200 bytes
 * and its space, until one expiry after its exit. */
#pragma once

#include "sampler/images/images.h"
#include "sampler/images/labels_unknowns.h"

struct cs_maps;

struct cs_maps_location {
    struct cs_mapped_image *image;
    uint64_t offset;             /* in the image's own terms (ELF: vaddr) */
    uint64_t map_start, map_end; /* of the mapping it lies in */
    uint32_t label;              /* index, see cs_maps_label; 0 = "" */
    bool jit;                    /* anonymous or memfd code: names come from the process */
};

struct cs_mapped_piece {
    uint64_t start, end, pgoff;
    struct cs_mapped_image *image;
    bool jit;
};

struct cs_maps *cs_maps_open(struct cs_images *images, const char *proc, enum cs_label label);
void cs_maps_close(struct cs_maps *maps);

/* Records, in the order of their times. 0 or -ENOMEM. */
int cs_maps_fork(struct cs_maps *maps, pid_t pid, pid_t parent, uint64_t time_ns);
int cs_maps_exec(struct cs_maps *maps, pid_t pid, const char *comm, uint64_t time_ns);
int cs_maps_comm(struct cs_maps *maps, pid_t pid, const char *comm, uint64_t time_ns);
int cs_maps_mmap(struct cs_maps *maps, const struct cs_mapped_file *file, uint64_t time_ns);
int cs_maps_exit(struct cs_maps *maps, pid_t pid, uint64_t time_ns);
/* Of threads, with CS_LABEL_THREAD only. */
void cs_maps_thread_born(struct cs_maps *maps, pid_t tid, pid_t pid, pid_t parent_tid);
void cs_maps_thread_named(struct cs_maps *maps, pid_t tid, pid_t pid, const char *name, uint64_t time_ns);
void cs_maps_thread_ended(struct cs_maps *maps, pid_t tid);
/* Whose a thread is, 0 = nobody knows; its label. */
pid_t cs_maps_process_of(struct cs_maps *maps, pid_t tid);
/* With CS_LABEL_LASTING: processes that run at `now_ns` for 2 s have labels of their own. Before samples are placed. */
void cs_maps_note_lasting(struct cs_maps *maps, uint64_t now_ns);
/* The label of any text; "(others)" for new ones where there are `most`. */
uint32_t cs_maps_text_label(struct cs_maps *maps, const char *text, uint32_t most);
uint32_t cs_maps_thread_label(struct cs_maps *maps, pid_t tid, uint64_t time_ns);
/* As cs_threads_renamed. */
uint64_t cs_maps_thread_renamed(struct cs_maps *maps, pid_t tid, uint64_t from_ns, uint64_t to_ns);

/* Reads /proc/PID/maps: what was there before we came, or what a lost record would have told. `since_ns` is
 * when it counts from. 0, -ESRCH, -EACCES, -ENOMEM. */
int cs_maps_scan(struct cs_maps *maps, pid_t pid, uint64_t since_ns);
/* All processes. Returns how many. */
int cs_maps_scan_all(struct cs_maps *maps, uint64_t since_ns);

/* Between begin and end of a batch of records, mappings are published to readers at its end alone: a storm of them
 * costs one copy of a space, not one each. */
void cs_maps_batch(struct cs_maps *maps, bool begins);
/* Mappings that were too many to keep, by process (cs_space_put) or in all. */
uint64_t cs_maps_cut(const struct cs_maps *maps);

/* Forgets what ended before `horizon_ns`; frees what no reader can see any more. */
void cs_maps_expire(struct cs_maps *maps, uint64_t horizon_ns);

/* The image at `addr` of `pid` throughout [from_ns, to_ns]. 0, or -(1 + enum cs_unknown). */
int cs_maps_find(struct cs_maps *maps, pid_t pid, uint64_t addr, uint64_t from_ns, uint64_t to_ns,
                 struct cs_maps_location *out);
/* As cs_space_change. */
uint64_t cs_maps_change(struct cs_maps *maps, pid_t pid, uint64_t addr, uint64_t *from_ns, uint64_t to_ns);
/* When that last happened to some process; 0: never. */
uint64_t cs_maps_replaced_ns(const struct cs_maps *maps);
/* Label of a process for samples that are no mapping's (the kernel's). */
uint32_t cs_maps_label_of(struct cs_maps *maps, pid_t pid, uint64_t time_ns);
/* Path of the jitdump file that the process had mapped, as it saw it; false = none. Any thread. */
bool cs_maps_jitdump(struct cs_maps *maps, pid_t pid, uint64_t time_ns, char *path, size_t size);
struct cs_jit_process {
    pid_t pid;
    uint64_t since_ns; /* when it began, or did its last exec; 0: before all */
};
/* The writer's: processes that got code without a file since the last call, the first 32 of them; valid until the next record. */
unsigned cs_maps_new_jit(struct cs_maps *maps, const struct cs_jit_process **which);
const char *cs_maps_label(const struct cs_maps *maps, uint32_t label);
/* Calls `changed` for each process whose mappings are others now than before, `forked` (may be NULL) for each child of
 * a process that was met before. */
void cs_maps_tell_changes(struct cs_maps *maps, void (*changed)(void *arg, pid_t pid),
                          void (*forked)(void *arg, pid_t pid, pid_t parent), void *arg);
/* The executable mappings that a process has now, ascending: calls `each`. False: it isn't known, or has ended. */
bool cs_maps_each(struct cs_maps *maps, pid_t pid,
                  void (*each)(void *arg, const struct cs_mapped_piece *piece), void *arg);
/* Is it known, and as far as notices tell not ended? */
bool cs_maps_is_running(struct cs_maps *maps, pid_t pid);
/* Whose memory it had as it began, until its exec. 0: its own, or unknown, or the parent has ended or has executed another program. */
pid_t cs_maps_parent(struct cs_maps *maps, pid_t pid);
unsigned cs_maps_processes(const struct cs_maps *maps);
/* Threads that began since the session did, by the kernel's records; *forks: processes, whose first threads are among
 * them. */
uint64_t cs_maps_born(const struct cs_maps *maps, uint64_t *forks);
/* PIDs of those that haven't ended, as far as the records tell: at most `capacity`; returns how many there are. */
unsigned cs_maps_running(const struct cs_maps *maps, pid_t *pids, unsigned capacity);
