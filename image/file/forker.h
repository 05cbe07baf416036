/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Children from a small process. A fork copies the tables of pages of all memory, and each page that is written next. So a
 * process that will grow forks a forker first, while it is small. The forker waits for questions, and makes a child for each,
 * which is a child of the asking process all the same (CLONE_PARENT). It reads nothing of strangers, and what its children read
 * leaves no trace in it. It ends with the thread that began it. Without it children are forked here. Functions: any thread. */
#pragma once

#include "image/file/apart.h"

struct cs_forker_question {
    struct cs_apart_bounds most;
    cs_apart_work work;
    pid_t parent;
    int fd, memory;
};

/* What a child does. */
typedef void cs_forker_child(const struct cs_forker_question *question);

/* Nothing where there is one already. */
void cs_forker_begin(cs_forker_child *child);
/* The child's number, or -errno: there is no forker, or no child. */
pid_t cs_forker_ask(const struct cs_forker_question *question);
