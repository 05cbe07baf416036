/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growing arrays. Capacities double, so that adding costs O(1) amortised; sizes are checked against overflow.
 * Elements move when an array grows: keep indices, not pointers. All-zero is an empty array.
 *
 *     CS_ARRAY(struct row) rows = {0};
 *     struct row *row = cs_array_add(&rows);     zeroed; NULL = no memory, the array is as it was
 *     for (size_t i = 0; i < rows.n; i++) use(&rows.at[i]);
 *     cs_array_free(&rows);
 *
 * A struct whose members have names of their own: if (cs_array_room(list, n, capacity) < 0) fail, then
 * list[n++] = one. */
#pragma once

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define CS_ARRAY(type)                                                                                       \
    struct {                                                                                                 \
        type *at;                                                                                            \
        size_t n, capacity;                                                                                  \
    }

/* Behind the macros: `at` with space for at least `wanted` elements (at most `most`), or NULL and `at` stays. */
static inline void *cs_array_grown(void *at, size_t *capacity, size_t wanted, size_t most, size_t bytes_each)
{
    if (at && wanted <= *capacity)
        return at;
    size_t fresh = *capacity < most / 2 ? 2 * *capacity : most, bytes;
    fresh = fresh < wanted ? wanted : fresh;
    fresh = fresh < 8 && most >= 8 ? 8 : fresh;
    if (wanted > most || __builtin_mul_overflow(fresh, bytes_each, &bytes))
        return NULL;
    assert(fresh >= wanted && fresh <= most);
    void *grown = realloc(at, bytes);
    if (grown)
        *capacity = fresh;
    return grown;
}

/* Makes `pointer` hold at least `wanted` elements; `capacity` is an lvalue of any unsigned type. 0 or -ENOMEM. */
#define cs_array_reserve_in(pointer, wanted, capacity)                                                       \
    ({                                                                                                       \
        size_t cs_capacity_ = (size_t)(capacity);                                                            \
        void *cs_grown_ = cs_array_grown((pointer), &cs_capacity_, (wanted),                                 \
                                         (size_t)(__typeof__(capacity))-1, sizeof *(pointer));               \
        if (cs_grown_) {                                                                                     \
            (pointer) = cs_grown_;                                                                           \
            (capacity) = (__typeof__(capacity))cs_capacity_;                                                 \
        }                                                                                                    \
        cs_grown_ ? 0 : -ENOMEM;                                                                             \
    })
/* Space for one more after the first `n`. 0 or -ENOMEM. */
#define cs_array_room(pointer, n, capacity) cs_array_reserve_in(pointer, (size_t)(n) + 1, capacity)

/* Makes `pointer` hold `wanted` elements, no more, where they are few or come at once. 0 or -ENOMEM. */
#define cs_array_resize(pointer, wanted)                                                                     \
    ({                                                                                                       \
        void *cs_resized_ = reallocarray((pointer), (wanted), sizeof *(pointer));                            \
        if (cs_resized_)                                                                                     \
            (pointer) = cs_resized_;                                                                         \
        cs_resized_ ? 0 : -ENOMEM;                                                                           \
    })

/* Of arrays made by CS_ARRAY. Space for `wanted` elements in all: 0 or -ENOMEM. */
#define cs_array_reserve(array, wanted) cs_array_reserve_in((array)->at, (wanted), (array)->capacity)
/* A new last element, zeroed; NULL when memory is short. */
#define cs_array_add(array)                                                                                  \
    (cs_array_room((array)->at, (array)->n, (array)->capacity) < 0                                           \
         ? NULL                                                                                              \
         : (__typeof__((array)->at))memset(&(array)->at[(array)->n++], 0, sizeof *(array)->at))
#define cs_array_free(array)                                                                                 \
    (free((array)->at), (array)->at = NULL, (array)->n = (array)->capacity = 0, (void)0)
