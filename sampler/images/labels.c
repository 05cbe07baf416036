/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Label texts, numbered as they come. */
#include "sampler/images/labels.h"
#include "store/store.h"

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
    char shortened[LABEL_BYTES];
    text = fitting(text, shortened);
    size_t size = strlen(text) + 1;
    if (size == 1)
        return 0;
    struct label **bucket = &labels->buckets[XXH3_64bits(text, size) % BUCKETS];
    for (struct label *l = *bucket; l; l = l->next)
        if (strcmp(l->text, text) == 0)
            return l->number;
    if (labels->n == labels->capacity) {
        uint32_t capacity = labels->capacity ? 2 * labels->capacity : 64;
        struct label **more = realloc(labels->all, capacity * sizeof(struct label *));
        if (!more)
            return 0;
        labels->all = more;
        labels->capacity = capacity;
    }
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
