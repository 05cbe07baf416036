/* SPDX-License-Identifier: MIT */
/* The program's static part calls __itt_api_init once; from then on its calls come here. A task's begin is a load of the
 * name's number and two stores: the tag, and what it was. */
#include "signals/itt/itt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define OBJECTS_MAX 4096u /* sync objects with a name, a power of two */

/* What the innermost tags of this thread replaced. */
struct nest {
    uint32_t depth;
    uint64_t before[ITT_DEPTH];
};
static __thread struct nest tasks __attribute__((tls_model("initial-exec")));
static __thread struct nest frames __attribute__((tls_model("initial-exec")));
static __thread bool attached __attribute__((tls_model("initial-exec")));

static __attribute__((noinline, cold)) void attach(void)
{
    itt_open();
    cs_attach();
    attached = true;
}

void itt_attach(void)
{
    if (!attached)
        attach();
}

static inline void begin(struct nest *nest, enum itt_tag tag, uint64_t value)
{
    if (!attached)
        attach();
    if (nest->depth < ITT_DEPTH) {
        nest->before[nest->depth] = cs_get(itt_word[tag]);
        cs_set(itt_word[tag], value);
    }
    nest->depth++;
}

static inline void end(struct nest *nest, enum itt_tag tag)
{
    if (nest->depth && --nest->depth < ITT_DEPTH)
        cs_set(itt_word[tag], nest->before[nest->depth]);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct itt_domain *domains;
static struct itt_string *strings;

struct itt_domain *itt_domain_create(const char *name)
{
    if (!name)
        return NULL;
    pthread_mutex_lock(&lock);
    struct itt_domain *d = domains;
    while (d && strcmp(d->text, name) != 0)
        d = d->next;
    char *copy = d ? NULL : strdup(name);
    if (copy && (d = calloc(1, sizeof *d))) {
        *d = (struct itt_domain){.flags = 1, .text = copy, .next = domains};
        domains = d;
    } else {
        free(copy);
    }
    pthread_mutex_unlock(&lock);
    if (d && !d->tag)
        d->tag = (int)itt_name(name, ITT_FRAME);
    return d;
}

struct itt_string *itt_string_handle_create(const char *name)
{
    if (!name)
        return NULL;
    pthread_mutex_lock(&lock);
    struct itt_string *s = strings;
    while (s && strcmp(s->text, name) != 0)
        s = s->next;
    char *copy = s ? NULL : strdup(name);
    if (copy && (s = calloc(1, sizeof *s))) {
        *s = (struct itt_string){.text = copy, .next = strings};
        strings = s;
    } else {
        free(copy);
    }
    pthread_mutex_unlock(&lock);
    if (s && !s->tag)
        s->tag = (int)itt_name(name, ITT_TASK);
    return s;
}

void itt_task_begin(const struct itt_domain *domain, struct itt_id task, struct itt_id parent,
                    struct itt_string *name)
{
    (void)domain, (void)task, (void)parent;
    begin(&tasks, ITT_TASK, name ? (uint64_t)name->tag : 0);
}

/* A task without a name, but with its function: known by the address. */
void itt_task_begin_fn(const struct itt_domain *domain, struct itt_id task, struct itt_id parent,
                       void *function)
{
    (void)domain, (void)task, (void)parent;
    char text[32];
    snprintf(text, sizeof text, "function %p", function);
    begin(&tasks, ITT_TASK, itt_name(text, ITT_TASK));
}

void itt_task_end(const struct itt_domain *domain)
{
    (void)domain;
    end(&tasks, ITT_TASK);
}

void itt_task_begin_ex(const struct itt_domain *domain, const void *clock, unsigned long long when,
                       struct itt_id task, struct itt_id parent, struct itt_string *name)
{
    (void)clock, (void)when;
    itt_task_begin(domain, task, parent, name);
}

void itt_task_end_ex(const struct itt_domain *domain, const void *clock, unsigned long long when)
{
    (void)clock, (void)when;
    itt_task_end(domain);
}

void itt_region_begin(const struct itt_domain *domain, struct itt_id region, struct itt_id parent,
                      struct itt_string *name)
{
    (void)region, (void)parent;
    uint64_t value = name ? itt_name(name->text, ITT_FRAME) : domain ? (uint64_t)domain->tag : 0;
    begin(&frames, ITT_FRAME, value);
}

void itt_region_end(const struct itt_domain *domain, struct itt_id region)
{
    (void)domain, (void)region;
    end(&frames, ITT_FRAME);
}

void itt_frame_begin_v3(const struct itt_domain *domain, struct itt_id *frame)
{
    (void)frame;
    begin(&frames, ITT_FRAME, domain ? (uint64_t)domain->tag : 0);
}

void itt_frame_end_v3(const struct itt_domain *domain, struct itt_id *frame)
{
    (void)domain, (void)frame;
    end(&frames, ITT_FRAME);
}

/* Events are tasks whose name is given by number; the number is the tag's value. */
int itt_event_create(const char *name, int length)
{
    char text[ITT_NAME_BYTES];
    snprintf(text, sizeof text, "%.*s", name && length > 0 ? length : 0, name ? name : "");
    return (int)itt_name(text, ITT_TASK);
}

int itt_event_start(int event)
{
    begin(&tasks, ITT_TASK, (uint64_t)event);
    return 0;
}

int itt_event_end(int event)
{
    (void)event;
    end(&tasks, ITT_TASK);
    return 0;
}

void itt_thread_set_name(const char *name)
{
    uint32_t number = itt_name(name, ITT_THREAD);
    if (!attached)
        attach();
    cs_set(itt_word[ITT_THREAD], number);
}

/* ---- what a thread waits for ---- */

/* An open-addressed table, written under the lock, read without: an entry's key is set last. A reader that meets a
 * reused entry shows the newer name. */
static struct object {
    void *volatile key;
    volatile uint32_t name;
} objects[OBJECTS_MAX];
static void *const gone = &objects; /* a key that was removed: probing goes on behind it */

static struct object *find_object(void *key, bool for_writing)
{
    uint32_t at = (uint32_t)((uintptr_t)key >> 4) * 2654435761u >> 20; /* the high bits are the mixed ones */
    struct object *free_one = NULL;
    for (unsigned i = 0; i < 16; i++) {
        struct object *o = &objects[(at + i) % OBJECTS_MAX];
        void *there = __atomic_load_n(&o->key, __ATOMIC_ACQUIRE);
        if (there == key)
            return o;
        if (there == gone || !there)
            free_one = free_one ? free_one : o;
        if (!there)
            break;
    }
    return for_writing ? free_one : NULL;
}

/* libomp says where in the source: "OMP Join Barrier" and ";file;function;line;column;;". */
static void object_name(const char *type, const char *name, char *text, size_t capacity)
{
    char file[80], function[80], line[12];
    if (name && sscanf(name, ";%79[^;];%79[^;];%11[0-9]", file, function, line) == 3) {
        const char *slash = strrchr(file, '/');
        snprintf(text, capacity, "%s, %s (%s:%s)", type ? type : "", function, slash ? slash + 1 : file,
                 line);
    } else {
        snprintf(text, capacity, "%s%s%s", type ? type : "", type && *type && name && *name ? " " : "",
                 name ? name : "");
    }
}

void itt_sync_create(void *object, const char *type, const char *name, int attribute)
{
    (void)attribute;
    char text[ITT_NAME_BYTES];
    object_name(type, name, text, sizeof text);
    uint32_t number = itt_name(text, ITT_WAIT);
    pthread_mutex_lock(&lock);
    struct object *o = object ? find_object(object, true) : NULL;
    if (o) {
        o->name = number;
        __atomic_store_n(&o->key, object, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

void itt_sync_rename(void *object, const char *name)
{
    itt_sync_create(object, NULL, name, 0);
}

void itt_sync_destroy(void *object)
{
    pthread_mutex_lock(&lock);
    struct object *o = object ? find_object(object, false) : NULL;
    if (o)
        __atomic_store_n(&o->key, gone, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

void itt_sync_prepare(void *object)
{
    if (!attached)
        attach();
    const struct object *o = find_object(object, false);
    static uint32_t unnamed;
    uint32_t number = o ? o->name : 0;
    if (!number && !(number = __atomic_load_n(&unnamed, __ATOMIC_RELAXED))) {
        number = itt_name("an object without a name", ITT_WAIT);
        __atomic_store_n(&unnamed, number, __ATOMIC_RELAXED);
    }
    cs_set(itt_word[ITT_WAIT], number);
}

void itt_sync_acquired(void *object)
{
    (void)object;
    if (attached)
        cs_set(itt_word[ITT_WAIT], 0);
}

/* ---- entry ---- */

EXPORT void __itt_api_init(struct itt_global *global, int groups);
EXPORT void __itt_api_fini(struct itt_global *global);

void __itt_api_init(struct itt_global *global, int groups)
{
    if (!global || !global->functions || global->version[0] != 3)
        return;
    itt_open();
    for (struct itt_function *f = global->functions; f->name; f++) {
        void *ours = f->group & groups || !f->group ? itt_find(f->name) : NULL;
        *f->pointer = ours ? ours : f->none;
    }
}

void __itt_api_fini(struct itt_global *global)
{
    (void)global;
}
