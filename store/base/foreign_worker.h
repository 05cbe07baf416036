/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the helper of foreign.h does, and we ourselves where there is none. It runs in our memory, next to our threads,
 * and may be killed anywhere. It takes no lock, allocates nothing, and calls nothing of the C library, whose errno is
 * our thread's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define CS_FOREIGN_BYTES 32768

enum cs_foreign_what {
    CS_FOREIGN_MEMORY,  /* of `pid` at `addr` */
    CS_FOREIGN_READ,    /* of the descriptor that comes with the question, at `addr` */
    CS_FOREIGN_OPEN,    /* a path of /proc */
    CS_FOREIGN_REGULAR, /* a path beneath a root, or ours */
    CS_FOREIGN_LOOK,    /* stat */
    CS_FOREIGN_PAGES,   /* of the pagemap at `path`: page sizes of the addresses in `bytes`, in their place */
};

struct cs_foreign_question {
    enum cs_foreign_what what;
    bool copy;  /* what may not answer later */
    bool owned; /* by `owner` or root, no link, no other name of it */
    uid_t owner;
    int pid;
    uint64_t addr, n, bytes_max;
    long code; /* the answer: negative errno, bytes, a descriptor */
    struct stat st;
    char *bytes;                /* room for CS_FOREIGN_BYTES; with `copy`, too */
    char root[512], path[4352]; /* "" root: our own */
};

/* Answers; `fd` for CS_FOREIGN_READ. */
void cs_foreign_work(struct cs_foreign_question *q, int fd);
/* The helper's life: questions come as messages over `socket`, with a descriptor or without. */
int cs_foreign_serve(struct cs_foreign_question *q, int socket);
