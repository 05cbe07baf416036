/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whatever the bytes are, reading them is bounded in time and memory. A package's text has some hundred bytes, Go's settings have some
 * thousand. JSON takes many times its size in memory, so a long text isn't read. */
#include "cli/gate/builds/builds.h"

#include <ctype.h>
#include <elf.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define PACKAGE_NOTE 0xcafe1a7e
#define PACKAGE_MAX (64u << 10)
#define GO_MAX (4u << 20) /* all modules that a program is made of have a line each */
#define COMMIT_MIN 7

static bool is_commit(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isxdigit((unsigned char)text[i]))
            return false;
    return n >= COMMIT_MIN;
}

static void keep_commit(struct gate_build *build, const char *text, size_t n)
{
    if (n < sizeof build->commit && is_commit(text, n))
        snprintf(build->commit, sizeof build->commit, "%.*s", (int)n, text);
}

void gate_label_of_package(const uint8_t *note, size_t n, struct gate_build *build)
{
    Elf64_Nhdr head; /* the same of both classes */
    if (!note || n < sizeof head + 4)
        return;
    memcpy(&head, note, sizeof head);
    if (head.n_type != PACKAGE_NOTE || head.n_namesz != 4 || memcmp(note + sizeof head, "FDO", 4) != 0 ||
        head.n_descsz > n - sizeof head - 4 || head.n_descsz > PACKAGE_MAX)
        return;
    const char *text = (const char *)note + sizeof head + 4;
    json_t *said = json_loadb(text, strnlen(text, head.n_descsz), 0, NULL);
    const char *name = json_string_value(json_object_get(said, "name")),
               *version = json_string_value(json_object_get(said, "version")),
               *commit = json_string_value(json_object_get(said, "commit"));
    if (name || version)
        snprintf(build->label, sizeof build->label, "%s%s%s", name ? name : "", name && version ? " " : "",
                 version ? version : "");
    if (commit)
        keep_commit(build, commit, strlen(commit));
    json_decref(said);
}

/* "build\tKEY=VALUE\n": the length of the value; 0: there is none. */
static size_t go_setting(const uint8_t *at, size_t n, const char *key, const char **value)
{
    const uint8_t *found = at ? memmem(at, n, key, strlen(key)) : NULL;
    if (!found)
        return 0;
    *value = (const char *)found + strlen(key);
    const size_t left = n - (size_t)(found - at) - strlen(key);
    const char *end = memchr(*value, '\n', left);
    return end ? (size_t)(end - *value) : 0;
}

void gate_label_of_go(const uint8_t *section, size_t n, struct gate_build *build)
{
    const char *value = NULL;
    n = n < GO_MAX ? n : GO_MAX;
    size_t length = go_setting(section, n, "build\tvcs.revision=", &value);
    if (length && !*build->commit)
        keep_commit(build, value, length);
    length = go_setting(section, n, "build\tvcs.modified=", &value);
    if (length == 4 && memcmp(value, "true", 4) == 0 && !*build->label)
        snprintf(build->label, sizeof build->label, "built from changed files");
}
