// SPDX-License-Identifier: GPL-2.0-or-later
// Queries over a log file: an index of terms with the lines that have them, and the lines themselves.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TERM_LENGTH = 31, WINDOW = 16 * 1024, QUERY_TERMS = 4 };

typedef struct {
    off_t offset;
    int64_t time; // milliseconds since 1970
    uint32_t length;
} Line;

// The lines that have a term, in ascending order.
typedef struct {
    uint32_t *lines;
    uint32_t count, room;
} Postings;

typedef struct {
    char name[TERM_LENGTH + 1];
    uint32_t hash;
    Postings postings;
} Term;

typedef struct {
    uint32_t *slots; // numbers of terms, from 1; 0: free
    uint32_t mask;
    Term *terms;
    uint32_t count, room;
} Terms;

typedef struct {
    int file;
    char *bytes;
    off_t start;
    size_t filled;
} Source;

typedef struct {
    Source source;
    Terms terms;
    Line *lines;
    uint32_t line_count, line_room;
} Log;

typedef struct {
    const char *terms[QUERY_TERMS];
    int count;
    int64_t from, to;
} Query;

typedef struct {
    uint64_t matches, digest, milliseconds;
} Result;

// terms.c
void terms_open(Terms *terms);
void terms_close(Terms *terms);
Term *terms_find(const Terms *terms, const char *name, size_t length);
Term *terms_add(Terms *terms, const char *name, size_t length);
void postings_add(Postings *postings, uint32_t line);

// source.c
bool source_open(Source *source, int file);
void source_close(Source *source);
const char *source_text(Source *source, off_t offset, uint32_t length);

// index.c
int64_t time_parse(const char *text);
bool log_index(Log *log, int file);
void log_close(Log *log);

// query.c
void query_run(Log *log, const Query *query, Result *result);

// write.c
int log_write(uint32_t lines, uint64_t seed);
