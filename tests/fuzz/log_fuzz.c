/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a sample log: the reader gives samples and names, or refuses in a sentence. Checksums are put
 * right first, so that mutated bodies are looked into. With -fsanitize=fuzzer a fuzz target;
 * tests/unit/observer/log/observer_log_test.c calls it with mutations of a good log.
 * Sources: observer/log/log_read.c store/base/error.c */
#include "observer/log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void mend(uint8_t *bytes, size_t size)
{
    struct cs_observe_log_head head;
    struct cs_observe_log_chunk chunk;
    if (size < sizeof head)
        return;
    memcpy(&head, bytes, sizeof head);
    for (size_t at = head.head_bytes; at < size && size - at >= sizeof chunk;) {
        memcpy(&chunk, bytes + at, sizeof chunk);
        if (chunk.packed_bytes > size - at - sizeof chunk)
            return;
        chunk.hash = XXH64(bytes + at + sizeof chunk, chunk.packed_bytes, 0);
        memcpy(bytes + at, &chunk, sizeof chunk);
        at += sizeof chunk + chunk.packed_bytes;
    }
}

static void read_all(struct cs_observe_log_reader *reader)
{
    struct cs_error err = {0};
    struct cs_sample sample;
    bool gap;
    int rc;
    uint64_t samples = 0;
    while ((rc = cs_observe_log_next(reader, &sample, &gap, &err)) > 0 && samples++ < 1000000)
        if (sample.end < sample.start && sample.start < UINT64_MAX - UINT32_MAX)
            abort();
    if (rc < 0 && (err.text[0] == '\0' || strchr(err.text, '\n')))
        abort(); /* a refusal is one sentence */
    for (size_t i = 0; i < cs_observe_log_reader_names(reader); i++) {
        unsigned tag;
        uint64_t value;
        if (!cs_observe_log_reader_name(reader, i, &tag, &value) || tag >= CS_TAGS_MAX)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[64];
    struct cs_observe_log_reader *reader;
    struct cs_error err = {0};
    uint8_t *copy = malloc(size ? size : 1);
    int fd = memfd_create("log", MFD_CLOEXEC);
    if (!copy || fd < 0)
        abort();
    memcpy(copy, bytes, size);
    mend(copy, size);
    if (write(fd, copy, size) != (ssize_t)size)
        abort();
    free(copy);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (cs_observe_log_open(path, &reader, &err) == 0) {
        read_all(reader);
        cs_observe_log_reader_close(reader);
    }
    close(fd);
    return 0;
}
