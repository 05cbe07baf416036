/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/layout.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define WHOLE_MAX 200

static char *put_escaped(char *at, const char *text)
{
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x80 && (isalnum(byte) || strchr("_-.:=", byte)))
            *at++ = (char)byte;
        else
            at += sprintf(at, "%%%02X", byte);
    }
    *at = '\0';
    return at;
}

void cs_store_profile_file_name(const char *event, const char *label, const char *kind,
                                char name[CS_PROFILE_NAME_MAX])
{
    assert(strlen(event) < 64 && strlen(label) < 64 && strlen(kind) < 64 /* the room of `whole` */);
    /* Each part has less than 64 bytes (struct cs_store_profile_head), three characters each at most. */
    char whole[3 * 64 * 3 + 8], *at = whole;
    if (event[0] == '.')
        at = stpcpy(at, "%2E"), event++;
    at = put_escaped(at, event);
    if (strcmp(kind, "points") != 0)
        at = put_escaped(stpcpy(at, "+"), kind);
    if (label[0])
        at = put_escaped(stpcpy(at, "@"), label);
    size_t n = (size_t)(at - whole);
    if (n <= WHOLE_MAX)
        snprintf(name, CS_PROFILE_NAME_MAX, "%.*s" CS_PROFILE_SUFFIX, WHOLE_MAX, whole);
    else
        snprintf(name, CS_PROFILE_NAME_MAX, "%.*s~%016llx" CS_PROFILE_SUFFIX, WHOLE_MAX - 17, whole,
                 (unsigned long long)XXH64(whole, n, 0));
}

bool cs_store_image_id_valid(const char *id)
{
    size_t n = strnlen(id, CS_IMAGE_ID_MAX);
    if (n == 0 || n >= CS_IMAGE_ID_MAX || id[0] == '.')
        return false;
    for (size_t i = 0; i < n; i++) {
        unsigned char byte = (unsigned char)id[i];
        if (byte >= 0x80 || (!isalnum(byte) && !strchr("_-.", byte)))
            return false;
    }
    return true;
}

bool cs_store_name_ends(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n >= m && strcmp(name + n - m, suffix) == 0;
}
