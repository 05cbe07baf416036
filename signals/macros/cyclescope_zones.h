/* SPDX-License-Identifier: MIT */
/* What cyclescope_tracy.h and cyclescope_perfetto.h share: zones as values of a tag, named once.
 *
 * Files of this module:
 *   cyclescope_zones     this
 *   cyclescope_tracy     Tracy's macros (C and C++): installed as cyclescope/tracy/Tracy.hpp and TracyC.h
 *   cyclescope_perfetto  the macros of Perfetto's SDK (C++): installed as cyclescope/perfetto.h
 *
 * A program that was written for one of them is rebuilt, unchanged, with -I PREFIX/include/cyclescope before the
 * other's folder, and with -lcyclescope. The value of a name is a hash of it. The same name is the same value
 * wherever it occurs, in all files and libraries of the process. A zone costs a load of that number, a load of what
 * was before, and two stores.
 *
 * Thread-safe. Nothing here fails the program, allocates, blocks (but where cyclescope.h does) or prints. */
#ifndef CYCLESCOPE_ZONES_H
#define CYCLESCOPE_ZONES_H

#include <cyclescope.h>
#include <stdio.h>
#include <string.h>

#define CS_ZONES_COLD static __attribute__((noinline, cold, unused))
/* One for all files of a program or library. */
#define CS_ZONES_SHARED __attribute__((weak, visibility("hidden")))
#define CS_ZONES_NAMES 4096u /* a power of two; what doesn't fit has a number and no name */
#define CS_ZONES_PROBES 32u
#define CS_ZONES_PLOTS 64u

/* A tag whose values are names. */
struct cs_zones {
    const char *tag;
    cs_signal word;
    int defined;
};

/* A place in the source; `value` is set when it is passed first. */
struct cs_zone_site {
    const char *name; /* NULL: the function's, with file and line */
    const char *function, *file;
    unsigned line;
    uint64_t value;
};

/* A zone that runs: what to go back to. */
struct cs_zone {
    uint64_t before;
    int active;
};

CS_ZONES_SHARED uint64_t cs_zones_named[CS_ZONES_NAMES]; /* 0 = free */

/* The number of a name, never 0. */
CS_ZONES_COLD uint64_t cs_zones_value(struct cs_zones *zones, const char *text, size_t length)
{
    if (!__atomic_load_n(&zones->defined, __ATOMIC_ACQUIRE)) {
        zones->word = cs_define(CS_ANY_WORD, zones->tag, CS_TAG);
        __atomic_store_n(&zones->defined, 1, __ATOMIC_RELEASE);
    }
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    hash = (hash ^ hash >> 48) & 0xffffffffffffu; /* a JSON number */
    hash += hash == 0;
    const uint64_t key = hash | (uint64_t)zones->word << 48;
    for (unsigned i = 0; i < CS_ZONES_PROBES; i++) {
        uint64_t *entry = &cs_zones_named[(hash + i) % CS_ZONES_NAMES],
                 there = __atomic_load_n(entry, __ATOMIC_RELAXED);
        if (!there &&
            __atomic_compare_exchange_n(entry, &there, key, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            char name[200];
            snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : (int)sizeof name - 1,
                     text);
            cs_name(zones->word, hash, name);
            break;
        }
        if (there == key)
            break;
    }
    return hash;
}

CS_ZONES_COLD uint64_t cs_zones_site(struct cs_zones *zones, struct cs_zone_site *site)
{
    char text[200];
    const char *name = site->name, *slash = site->file ? strrchr(site->file, '/') : NULL;
    if (!name) {
        snprintf(text, sizeof text, "%s (%s:%u)", site->function, slash ? slash + 1 : site->file, site->line);
        name = text;
    }
    const uint64_t value = cs_zones_value(zones, name, strlen(name));
    __atomic_store_n(&site->value, value, __ATOMIC_RELEASE);
    return value;
}

CS_HOT uint64_t cs_zones_site_value(struct cs_zones *zones, struct cs_zone_site *site)
{
    const uint64_t value = __atomic_load_n(&site->value, __ATOMIC_ACQUIRE);
    return __builtin_expect(value != 0, 1) ? value : cs_zones_site(zones, site);
}

CS_HOT struct cs_zone cs_zone_begin_value(struct cs_zones *zones, uint64_t value)
{
    struct cs_zone zone = {cs_get(zones->word), 1};
    cs_set(zones->word, value);
    return zone;
}

CS_HOT struct cs_zone cs_zone_begin(struct cs_zones *zones, struct cs_zone_site *site, int active)
{
    struct cs_zone none = {0, 0};
    return active ? cs_zone_begin_value(zones, cs_zones_site_value(zones, site)) : none;
}

CS_HOT void cs_zone_end(struct cs_zones *zones, struct cs_zone zone)
{
    if (zone.active)
        cs_set(zones->word, zone.before);
}

/* ---- numbers with a name: looked up by the name's address, which stays what it is ---- */

struct cs_zones_plot {
    const char *name; /* set last */
    cs_signal word;
};
CS_ZONES_SHARED struct cs_zones_plot cs_zones_plots[CS_ZONES_PLOTS];
CS_ZONES_SHARED unsigned cs_zones_plots_used;

CS_ZONES_COLD cs_signal cs_zones_new_plot(const char *name, unsigned kind)
{
    char text[48];
    snprintf(text, sizeof text, "%s", name);
    const cs_signal word = cs_define(CS_ANY_WORD, text, kind);
    if (__atomic_load_n(&cs_zones_plots_used, __ATOMIC_RELAXED) < CS_ZONES_PLOTS) {
        const unsigned i = __atomic_fetch_add(&cs_zones_plots_used, 1, __ATOMIC_RELAXED);
        if (i < CS_ZONES_PLOTS) {
            cs_zones_plots[i].word = word;
            __atomic_store_n(&cs_zones_plots[i].name, name, __ATOMIC_RELEASE);
        }
    }
    return word;
}

/* Its word: the scrap word when all are taken. */
CS_HOT cs_signal cs_zones_plot_word(const char *name, unsigned kind)
{
    for (unsigned i = 0; i < CS_ZONES_PLOTS; i++) {
        const char *there = __atomic_load_n(&cs_zones_plots[i].name, __ATOMIC_ACQUIRE);
        if (there == name)
            return cs_zones_plots[i].word;
        if (!there)
            break;
    }
    return cs_zones_new_plot(name, kind);
}

/* A number that goes up and down is a tag: shares of time by value. Whole and not negative, as tags are. */
CS_HOT uint64_t cs_zones_number(double number)
{
    return !(number > 0) ? 0 : number < 9e18 ? (uint64_t)(number + 0.5) : UINT64_MAX / 2;
}

#endif
