/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sampler notes registers and knows nothing of analysis; the interpreter knows nothing of the sampler. This joins
 * them by a callback. */
#include "cli/record/follow_paths.h"
#include "analysis/interpret/abstract_run.h"
#include "store/base/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Images that are open: a daemon sees thousands in its months, files that are gone since among them. */
#define CODES_MAX 64
#define CODES_FULL 48 /* a path may meet some more */
#define CODES_KEPT 24
#define COPIED_MAX (UINT64_C(128) << 20) /* of all images that are copied to be read: those outside of /usr */

struct known_code {
    char id[CS_IMAGE_ID_MAX];
    struct cs_image_code *code; /* NULL: none that can be read */
    uint64_t used;              /* by this path, at last */
    uint64_t copied;            /* bytes */
};

struct path_follower {
    struct cs_abstract_runner *runner;
    struct cs_sampler *sampler; /* of the path at hand */
    pid_t pid;
    uint64_t time_ns, paths;
    struct known_code codes[CODES_MAX];
    unsigned n_codes;
    uint64_t copied; /* bytes, of all */
};

static struct cs_image_code *code_of(struct path_follower *f, const struct cs_store_image *image)
{
    struct cs_error ignored;
    for (unsigned i = 0; i < f->n_codes; i++)
        if (strcmp(f->codes[i].id, image->id) == 0) {
            f->codes[i].used = f->paths;
            struct known_code found = f->codes[i];
            if (i > 0) { /* towards the front: most are in few */
                f->codes[i] = f->codes[i - 1];
                f->codes[i - 1] = found;
            }
            return found.code;
        }
    if (f->n_codes == CODES_MAX)
        return NULL;
    struct known_code *new = &f->codes[f->n_codes++];
    memcpy(new->id, image->id, sizeof new->id);
    new->used = f->paths;
    new->copied = image->kind == CS_IMAGE_ELF ? cs_image_bytes_to_copy(image->path) : 0;
    if ((image->kind != CS_IMAGE_ELF && image->kind != CS_IMAGE_VDSO) ||
        f->copied + new->copied > COPIED_MAX || cs_image_open(image, NULL, &new->code, &ignored) < 0)
        new->code = NULL;
    new->copied = new->code ? new->copied : 0;
    f->copied += new->copied;
    return new->code;
}

CS_ORDER(by_use, struct known_code, cs_order(b->used, a->used))

/* Between two paths. */
static void close_unused(struct path_follower *f)
{
    if (f->n_codes < CODES_FULL && f->copied < COPIED_MAX / 4 * 3)
        return;
    cs_abstract_runner_forget(f->runner);
    cs_sort(f->codes, f->n_codes, by_use);
    while (f->n_codes > CODES_KEPT || (f->n_codes && f->copied > COPIED_MAX / 2)) {
        f->copied -= f->codes[--f->n_codes].copied;
        cs_image_close(f->codes[f->n_codes].code);
    }
}

static struct cs_image_code *code_at(void *arg, uint64_t address, uint64_t *offset)
{
    struct path_follower *f = arg;
    const struct cs_store_image *image;
    return cs_sampler_locate(f->sampler, f->pid, address, f->time_ns, &image, offset) == 0 ? code_of(f, image)
                                                                                           : NULL;
}

int path_follower_open(struct path_follower **out, struct cs_error *err)
{
    struct path_follower *f = calloc(1, sizeof *f);
    if (!f)
        return cs_fail(err, ENOMEM, "no memory to follow paths");
    int rc = cs_abstract_runner_open(code_at, f, &f->runner, err);
    if (rc < 0)
        path_follower_close(f);
    else
        *out = f;
    return rc;
}

void path_follower_close(struct path_follower *f)
{
    if (!f)
        return;
    for (unsigned i = 0; i < f->n_codes; i++)
        cs_image_close(f->codes[i].code);
    cs_abstract_runner_close(f->runner);
    free(f);
}

void follow_path(void *arg, struct cs_sampler *sampler, const struct cs_thread_state *state,
                 struct cs_followed_path *out)
{
    _Static_assert(CS_PATHS_STEPS_MAX >= CS_ABSTRACT_RUN_STEPS, "room for all steps");
    struct path_follower *f = arg;
    struct cs_abstract_run_start start = {
        .pc = state->pc, .flags = state->flags, .stack = state->stack, .stack_bytes = state->stack_bytes};
    struct cs_abstract_run path;
    close_unused(f);
    f->paths++;
    f->sampler = sampler;
    f->pid = state->pid;
    f->time_ns = state->time_ns;
    memcpy(start.reg, state->reg, sizeof start.reg);
    cs_abstract_runner_run(f->runner, &start, &path);
    out->n = path.n;
    for (unsigned i = 0; i < path.n; i++)
        out->edge[i] = (struct cs_path_edge){path.step[i].from, path.step[i].to};
    out->open = path.open;
    out->n_ways = path.n_ways;
    memcpy(out->way, path.way, sizeof out->way);
}
