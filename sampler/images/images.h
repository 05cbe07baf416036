/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From an address at a time to (image, offset).
 *
 * Files of this module:
 *   images            every image met, once
 *   file_owner        whose word a file is
 *   incarnations      the processes behind PIDs, readable while they change
 *   kernel_image      the kernel, its modules and BPF programs
 *   bpf_programs      where the kernel has its BPF programs' code
 *   kernel_symbol     the symbol around an address of the running kernel
 *   kernel_symbol.bpf  the BPF program that asks for it
 *   labels            what profiles are kept apart by besides image and event
 *   labels_unknowns   kinds of labels, and why a sample has no image
 *   maps              who had what mapped where, and when
 *   moved_text       code of a file that lies in memory of its own
 *   proc_maps         what /proc tells of processes
 *   threads           whose a thread is, and its name
 *   space             the mappings of one process, bounded
 *   sideband          the kernel's records of processes and mappings
 *
 * Every image met in a session, once: by build-id where it has one, else by its file. An image lives as long
 * as the session, so that readers on other threads may keep pointers to it.
 *
 * One writer (the session's thread); fields of an image are written before it is published in a map and never
 * after. */
#pragma once

#include "image/file/segments.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct cs_mapped_image {
    struct cs_store_image image;
    struct cs_image_segments layout;
    bool placeable; /* false: the file was gone before its layout could be read */
    bool cut;       /* stands for those that are more than are remembered; not placeable */
    int fd;         /* the file, open while it is to be kept (cs_images_keep); -1 */
    bool sampled;   /* the writer's: it has samples, so it is worth keeping */
    bool copied;    /* the writer's: it was kept, or can't be */
    bool searched;  /* the writer's: whether it is an interpreter is known, or can't be */
    bool named;     /* names for it have been put into the store (vDSO, unknown) */
    unsigned index; /* 0, 1, 2, ... in the order met */
};

/* A mapping's file as MMAP2 or /proc/PID/maps tells it. */
struct cs_mapped_file {
    pid_t pid;
    uint64_t start, end, pgoff;
    const char *path;     /* as the process saw it */
    const char *build_id; /* hex, "" = not told */
    uint32_t major, minor;
    uint64_t inode; /* 0 = not told */
    const struct cs_mapped_file
        *before; /* of code without a file: the file whose mapping ends where this begins; NULL: none */
};

struct cs_images;

/* `proc` is "/proc" but in tests. */
struct cs_images *cs_images_open(const char *proc);
void cs_images_close(struct cs_images *images);
unsigned cs_images_count(const struct cs_images *images);
/* Mappings of files that were more than are remembered (8 MB of them): their samples are unknown. */
uint64_t cs_images_cut(const struct cs_images *images);
/* Images that have another one's build-id and another owner; `latest`: the last one that was met, behind the one that it says
 * it is. */
uint64_t cs_images_conflicts(const struct cs_images *images, const struct cs_mapped_image *latest[2]);
struct cs_mapped_image *cs_images_nth(const struct cs_images *images, unsigned i);
/* From now on the files of up to `most` images stay open, so that they can be copied when they are gone by name. */
void cs_images_keep(struct cs_images *images, unsigned most);
/* The caller's from now on: the file that stayed open, else what its path holds if that is the image, by build-id and owner; -1. */
int cs_images_take_file(struct cs_images *images, struct cs_mapped_image *image);

/* The image of a mapped file, [vdso], anonymous code. NULL when memory is short. */
struct cs_mapped_image *cs_images_of_file(struct cs_images *images, const struct cs_mapped_file *file);
/* A file in memory (memfd_create) if it is a program or a library, by way of the process that has it mapped; NULL: it is no ELF
 * file, or can't be had. */
struct cs_mapped_image *cs_images_of_memory_file(struct cs_images *images, const struct cs_mapped_file *file);
/* Opens the regular file that a process has mapped so: beneath the process's root, by the link of its mapping, or at the same
 * path here, whichever is that file by build-id or by device and inode. `proc` as in cs_images_open; `layout` and `st`
 * are filled. A descriptor, or -1 when none is. */
int cs_images_open_mapped(const char *proc, const struct cs_mapped_file *file,
                          struct cs_image_segments *layout, struct stat *st);
/* A descriptor of an image's file, by way of a process that has it mapped from `start` to `end` (deleted files too); -1: it
 * can't be had. What is opened is that image: by its build-id, where it has one, and its owner. */
int cs_images_reopen(const struct cs_images *images, const struct cs_mapped_image *image, pid_t pid,
                     uint64_t start, uint64_t end);
/* An image that is no file: kernel, module, unknown, JIT. `id` NULL: hashed from the path. */
struct cs_mapped_image *cs_images_special(struct cs_images *images, enum cs_store_image_kind kind,
                                          const char *id, const char *path, const char *build_id);
/* What processes of a user made (JIT), of one name: they name it, so that each user's is an image of its own, as files are. */
struct cs_mapped_image *cs_images_made(struct cs_images *images, const char *path, uid_t user);
