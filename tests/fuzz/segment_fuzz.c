/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a segment of signals: every function of the reader, on a file of them. With -fsanitize=fuzzer
 * a fuzz target; tests/unit/signals/reader/signals_reader_test.c calls it with mutations of a good segment.
 * Sources: signals/reader/reader*.c */
#include "signals/reader/reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* What a reader may hand out: valid text without control characters. */
static void judge(const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p < 0x20 || *p == 0x7f)
            abort();
}

static int visit(unsigned signal, uint64_t value, const char *name, void *arg)
{
    (void)value;
    if (signal >= CS_SCRAP_WORD)
        abort();
    judge(name);
    return ++*(unsigned *)arg > 1000;
}

static void read_all(struct cs_reader *reader)
{
    struct cs_seen_signal signals[CS_SIGNALS_MAX];
    static struct cs_seen_thread threads[64];
    unsigned n = cs_reader_signals(reader, signals), names = 0;
    for (unsigned i = 0; i < n; i++)
        judge(signals[i].name);
    (void)cs_reader_find(reader, "phase");
    n = cs_reader_threads(reader, threads, 64);
    for (unsigned i = 0; i < n && i < 64; i++)
        for (unsigned w = 0; w < CS_SIGNALS_MAX; w++) {
            const char *name = cs_reader_name(reader, w, threads[i].values[w]);
            if (name)
                judge(name);
            (void)cs_reader_address(reader, threads[i].values[w]);
        }
    (void)cs_reader_names(reader, visit, &names);
    for (uint32_t line = 0; line < 3; line++) {
        const volatile uint64_t *word = cs_reader_word(reader, line * 4000, 15);
        const volatile struct cs_segment_owner *owner = cs_reader_owner(reader, line * 4000);
        (void)(word ? *word : 0);
        (void)(owner ? owner->tid : 0);
    }
    (void)(cs_reader_lines_lost(reader) + cs_reader_names_lost(reader));
}

static bool named_code(void *arg, uint64_t start, uint64_t code_bytes, const char *name)
{
    (void)start, (void)code_bytes;
    judge(name);
    return ++*(unsigned *)arg < 1000;
}

/* The same bytes as this process's own segment, by a descriptor. */
static void read_code(const uint8_t *bytes, size_t size)
{
    struct cs_code_names *names;
    const uint32_t pid = (uint32_t)getpid();
    const int fd = memfd_create(CS_SEGMENT_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    (void)!pwrite(fd, &pid, sizeof pid, offsetof(struct cs_segment_header, pid));
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        abort();
    if (cs_code_names_open((pid_t)pid, &names) == 0) {
        unsigned n = 0;
        for (unsigned i = 0; i < 3; i++)
            (void)cs_code_names_read(names, named_code, &n);
        cs_code_names_close(names);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[64], why[CS_WHY_MAX];
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct cs_reader *reader;
    if (cs_reader_open_file(path, &reader, why) == 0) {
        read_all(reader);
        cs_reader_close(reader);
    } else {
        judge(why);
    }
    close(fd);
    read_code(bytes, size);
    return 0;
}
