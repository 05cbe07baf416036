/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Label texts, numbered as they come. */
#include "sampler/images/labels.h"
#include "store/base/array.h"
#include "store/base/hash_seed.h"
#include "store/store.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define BUCKETS 1024
#define LABEL_BYTES sizeof(((struct cs_store_profile_head *)NULL)->label) /* with the NUL */

struct label {
    struct label *next;
    uint32_t number;
    char text[];
};

struct cs_labels {
    struct label *buckets[BUCKETS];
    struct label **all; /* all[number - 1] */
    uint32_t n, capacity;
};

struct cs_labels *cs_labels_open(void)
{
    return calloc(1, sizeof(struct cs_labels));
}

void cs_labels_close(struct cs_labels *labels)
{
    if (!labels)
        return;
    for (uint32_t i = 0; i < labels->n; i++)
        free(labels->all[i]);
    free(labels->all);
    free(labels);
}

/* `text` as a profile's head has room for it. */
static const char *fitting(const char *text, char buffer[LABEL_BYTES])
{
    const size_t n = strlen(text), kept = LABEL_BYTES - sizeof "…~12345678";
    if (n < LABEL_BYTES)
        return text;
    const char *tail = text + n - kept;
    while ((*tail & 0xc0) == 0x80) /* in the middle of a character */
        tail++;
    snprintf(buffer, LABEL_BYTES, "…%s~%08x", tail, (unsigned)XXH3_64bits(text, n));
    return buffer;
}

uint32_t cs_labels_number(struct cs_labels *labels, const char *text)
{
    return cs_labels_number_within(labels, text, UINT32_MAX);
}

uint32_t cs_labels_number_within(struct cs_labels *labels, const char *text, uint32_t most)
{
    char shortened[LABEL_BYTES];
    text = fitting(text, shortened);
    size_t size = strlen(text) + 1;
    if (size == 1)
        return 0;
    struct label **bucket = &labels->buckets[XXH3_64bits_withSeed(text, size, cs_hash_seed) % BUCKETS];
    for (struct label *l = *bucket; l; l = l->next)
        if (strcmp(l->text, text) == 0)
            return l->number;
    if (labels->n >= most)
        return cs_labels_number(labels, "(others)");
    if (cs_array_room(labels->all, labels->n, labels->capacity) < 0)
        return 0;
    struct label *l = malloc(sizeof *l + size);
    if (!l)
        return 0;
    memcpy(l->text, text, size);
    l->next = *bucket;
    *bucket = l;
    labels->all[labels->n++] = l;
    l->number = labels->n;
    return l->number;
}

const char *cs_labels_text(const struct cs_labels *labels, uint32_t number)
{
    return number >= 1 && number <= labels->n ? labels->all[number - 1]->text : "";
}

void cs_labels_cgroup_of(const char *proc, pid_t pid, char *out, size_t size)
{
    assert(size > 0);
    char path[256], line[4200];
    out[0] = '\0';
    snprintf(path, sizeof path, "%s/%d/cgroup", proc, (int)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return;
    while (fgets(line, sizeof line, f)) { /* hierarchy:controllers:path */
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        bool unified = strncmp(line, "0::", 3) == 0;
        group[strcspn(group, "\n")] = '\0';
        if (unified || !out[0])
            snprintf(out, size, "%s", group + 1);
        if (unified && strcmp(out, "/") != 0)
            break;
    }
    fclose(f);
}

static size_t hex_digits(const char *text)
{
    return strspn(text, "0123456789abcdef");
}

/* "kubepods-burstable-pod1234abcd_....slice", "pod1234abcd-...": the first eight digits of a pod's uid. */
static const char *pod_in(const char *path, size_t n)
{
    for (const char *at = path; at + 11 <= path + n; at++)
        if (strncmp(at, "pod", 3) == 0 && (at == path || at[-1] == '-' || at[-1] == '/') &&
            hex_digits(at + 3) >= 8)
            return at + 3;
    return NULL;
}

/* Within a component of a path: RUNTIME-ID.scope, or the bare ID. NULL: there is none. */
static const char *id_in(const char *component, size_t n)
{
    for (const char *id = component; id && id + 64 <= component + n; id = id ? id + 1 : NULL) {
        if (hex_digits(id) >= 64)
            return id;
        id = memchr(id, '-', (size_t)(component + n - id));
    }
    return NULL;
}

void cs_labels_container_of(char *path)
{
    static const char *const units[] = {".service", ".scope"};
    char short_form[64];
    const char *end = path + strlen(path), *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    /* Below a container's group there may be more: libpod-ID.scope/container. */
    for (const char *to = end; to > path; to--) {
        const char *from = to;
        while (from > path && from[-1] != '/')
            from--;
        const char *id = id_in(from, (size_t)(to - from)),
                   *pod = id ? pod_in(path, (size_t)(from - path)) : NULL;
        int runtime = id > from ? (int)(id - 1 - from) : 0;
        bool named = runtime > 0 && runtime < 20;
        if (id) {
            snprintf(short_form, sizeof short_form, "%s%.8s%s%.*s %.12s", pod ? "pod " : "", pod ? pod : "",
                     pod ? " " : "", named ? runtime : 9, named ? from : "container", id);
            strcpy(path, short_form); /* a path with 64 digits is longer */
            return;
        }
        to = from;
        if (to == path)
            break;
    }
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(last), k = strlen(units[i]);
        if (n > k && strcmp(last + n - k, units[i]) == 0)
            memmove(path, last, n + 1);
    }
}
