/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of a program whose input and outputs are memfds, so that nothing can block on a pipe; its CPU time
 * is limited. Internal to mca.c. */
#pragma once

#include <stddef.h>

struct mca_answer {
    char *out, *err; /* malloced, NUL-terminated */
    size_t out_length;
    int status;
};

/* 0 or negative errno; the answer is to be freed in any case. */
int mca_call(const char *program, char *const *args, const char *input, size_t length,
             struct mca_answer *answer);
void mca_answer_free(struct mca_answer *answer);
