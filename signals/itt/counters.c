/* SPDX-License-Identifier: MIT */
/* Counters of the interface are counters of the line: each thread adds to its own, readers sum. */
#include "signals/itt/itt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counter {
    struct counter *next;
    cs_signal word;
    char name[48]; /* as cs_define takes it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct counter *counters;

void *itt_counter_create(const char *name, const char *domain)
{
    char text[sizeof counters->name];
    if (!name)
        return NULL;
    snprintf(text, sizeof text, "%s%s%s", domain ? domain : "", domain && *domain ? "." : "", name);
    itt_open();
    pthread_mutex_lock(&lock);
    struct counter *c = counters;
    while (c && strcmp(c->name, text) != 0)
        c = c->next;
    if (!c && (c = calloc(1, sizeof *c))) {
        memcpy(c->name, text, sizeof text);
        c->word = cs_define(CS_ANY_WORD, text, CS_COUNTER); /* the scrap word when all are taken */
        c->next = counters;
        counters = c;
    }
    pthread_mutex_unlock(&lock);
    return c;
}

/* Types 1 to 6 are integers of 64, 32 and 16 bits, unsigned and signed; floating point can't be counted here. */
void *itt_counter_create_typed(const char *name, const char *domain, int type)
{
    return type >= 1 && type <= 6 ? itt_counter_create(name, domain) : NULL;
}

void itt_counter_inc_delta(void *counter, unsigned long long n)
{
    const struct counter *c = counter;
    if (!c)
        return;
    itt_attach();
    cs_add(c->word, n);
}
void itt_counter_inc(void *counter)
{
    itt_counter_inc_delta(counter, 1);
}
void itt_counter_dec_delta(void *counter, unsigned long long n)
{
    itt_counter_inc_delta(counter, -n);
}
void itt_counter_dec(void *counter)
{
    itt_counter_dec_delta(counter, 1);
}
/* Counters made without a type are of 64 bits. */
void itt_counter_set_value(void *counter, const void *value)
{
    const struct counter *c = counter;
    uint64_t n;
    if (!c || !value)
        return;
    memcpy(&n, value, sizeof n);
    itt_attach();
    cs_set(c->word, n);
}

void itt_counter_inc_delta_v3(const struct itt_domain *domain, struct itt_string *name, unsigned long long n)
{
    if (!name)
        return;
    void *c = __atomic_load_n(&name->extra, __ATOMIC_ACQUIRE);
    if (!c) {
        c = itt_counter_create(name->text, domain ? domain->text : NULL);
        __atomic_store_n(&name->extra, c, __ATOMIC_RELEASE);
    }
    itt_counter_inc_delta(c, n);
}
void itt_counter_inc_v3(const struct itt_domain *domain, struct itt_string *name)
{
    itt_counter_inc_delta_v3(domain, name, 1);
}
