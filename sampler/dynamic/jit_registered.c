/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/dynamic/jit_registered.h"

#include "store/base/clock.h"

#define SEGMENTS_MAX 64 /* held open, of all processes */
#define REST_DRAINS 20  /* where there is none */

bool cs_jit_registered_meet(struct cs_jit_registered *r, struct cs_jit_kept *kept, pid_t pid)
{
    struct cs_code_names *now = NULL;
    r->rest = r->names ? 1 : REST_DRAINS;
    if (cs_code_names_open(pid, &now) < 0)
        return false;
    const bool another = r->names && !cs_code_names_same(r->names, now);
    if (r->names || kept->n_segments == SEGMENTS_MAX) {
        kept->cut += !r->names && !r->refused;
        r->refused = !r->names;
        cs_code_names_close(now);
    } else {
        *r = (struct cs_jit_registered){.names = now, .rest = 1};
        kept->n_segments++;
    }
    return another;
}

struct adding {
    struct cs_jit_methods *methods;
    struct cs_jit_kept *kept;
    uint64_t since_ns;
};

static bool add(void *arg, uint64_t start, uint64_t size, const char *name)
{
    struct adding *to = arg;
    size_t before = to->methods->text_used;
    long text = cs_jit_methods_text(to->methods, to->kept, name);
    if (text >= 0 && !cs_jit_methods_add(to->methods, to->kept, start, size, to->since_ns, (size_t)text))
        to->methods->text_used = before;
    return !to->methods->cut;
}

void cs_jit_registered_read(struct cs_jit_registered *r, struct cs_jit_methods *methods,
                            struct cs_jit_kept *kept)
{
    size_t n = methods->n;
    if (!r->names || r->read)
        return;
    r->read = true;
    (void)cs_code_names_read(r->names, add, &(struct adding){methods, kept, r->read_ns});
    r->read_ns = cs_monotonic_ns();
    if (methods->n > n)
        cs_jit_methods_sort(methods);
}

void cs_jit_registered_refresh(struct cs_jit_registered *r)
{
    r->rest -= r->rest > 0;
    r->read = false;
}

void cs_jit_registered_drop(struct cs_jit_registered *r, struct cs_jit_kept *kept)
{
    kept->n_segments -= r->names != NULL;
    cs_code_names_close(r->names);
    *r = (struct cs_jit_registered){.names = NULL};
}
