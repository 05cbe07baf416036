/* SPDX-License-Identifier: MIT */
/* Names by number, and which function of the interface is which of ours. */
#include "signals/itt/itt.h"

#include <stdlib.h>
#include <string.h>

cs_signal itt_word[ITT_TAGS] = {CS_WORD_SCRAP, CS_WORD_SCRAP, CS_WORD_SCRAP, CS_WORD_SCRAP};

#define BUCKETS 4096u

struct name {
    struct name *next;
    uint32_t number;
    uint32_t published; /* bits of enum itt_tag */
    char text[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct name *buckets[BUCKETS];
static uint32_t n_names;

static void define_tags(void)
{
    static const char *const tags[ITT_TAGS] = {"task", "frame", "wait", "thread"};
    for (unsigned i = 0; i < ITT_TAGS; i++)
        itt_word[i] = cs_define(CS_ANY_WORD, tags[i], CS_TAG);
}

void itt_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, define_tags);
}

static uint32_t hash(const char *text)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h % BUCKETS;
}

uint32_t itt_name(const char *text, enum itt_tag tag)
{
    if (!text || !*text)
        return 0;
    char cut[ITT_NAME_BYTES];
    size_t length = strnlen(text, sizeof cut - 1);
    memcpy(cut, text, length);
    cut[length] = 0;
    itt_open();
    pthread_mutex_lock(&lock);
    struct name **bucket = &buckets[hash(cut)], *n = *bucket;
    while (n && strcmp(n->text, cut) != 0)
        n = n->next;
    if (!n && n_names < ITT_NAMES_MAX && (n = malloc(sizeof *n + length + 1))) {
        *n = (struct name){.next = *bucket, .number = ++n_names};
        memcpy(n->text, cut, length + 1);
        *bucket = n;
    }
    uint32_t number = n ? n->number : 0;
    if (n && !(n->published & 1u << tag)) {
        n->published |= 1u << tag;
        cs_name(itt_word[tag], number, n->text);
    }
    pthread_mutex_unlock(&lock);
    return number;
}

/* What the program does with them, see the header. Functions of the interface that aren't here do nothing. */
static const struct {
    const char *name;
    void *function;
} functions[] = {
#define FUNCTION(name)                                                                                       \
    {                                                                                                        \
        "__itt_" #name, (void *)itt_##name                                                                   \
    }
    FUNCTION(domain_create),
    FUNCTION(string_handle_create),
    FUNCTION(task_begin),
    FUNCTION(task_begin_fn),
    FUNCTION(task_end),
    FUNCTION(task_begin_ex),
    FUNCTION(task_end_ex),
    FUNCTION(region_begin),
    FUNCTION(region_end),
    FUNCTION(frame_begin_v3),
    FUNCTION(frame_end_v3),
    FUNCTION(event_create),
    FUNCTION(event_start),
    FUNCTION(event_end),
    FUNCTION(thread_set_name),
    FUNCTION(sync_create),
    FUNCTION(sync_rename),
    FUNCTION(sync_destroy),
    FUNCTION(sync_prepare),
    FUNCTION(sync_acquired),
    {"__itt_sync_cancel", (void *)itt_sync_acquired},
    FUNCTION(counter_create),
    FUNCTION(counter_create_typed),
    FUNCTION(counter_inc),
    FUNCTION(counter_inc_delta),
    FUNCTION(counter_dec),
    FUNCTION(counter_dec_delta),
    FUNCTION(counter_set_value),
    FUNCTION(counter_inc_v3),
    FUNCTION(counter_inc_delta_v3),
};

void *itt_find(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].function;
    return NULL;
}
