/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenTelemetry's thread context, written only from OTEP 4719 and 4947, by the ways that cyclescope's own writer
 * doesn't take. The mapping is anonymous where the kernel can name one, and the payload lies elsewhere. A thread has
 * one record whose `valid` says whether it counts. PAD: enough other thread-local storage that the loader can't place
 * it next to the program's. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/otel/writer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

#ifdef PAD
__thread char pad[PAD];
#endif
__attribute__((visibility("default"))) __thread unsigned char *otel_thread_ctx_v1;
static __thread unsigned char record[640];

static char names[256][64];
static unsigned n_names;
static unsigned char *mapping;

static unsigned char *text(unsigned char *to, int tag, const char *value)
{
    size_t n = strlen(value);
    *to++ = (unsigned char)tag;
    *to++ = (unsigned char)n; /* below 128 here */
    memcpy(to, value, n);     /* NOLINT(bugprone-not-null-terminated-result): its length is told */
    return to + n;
}

static void publish(void)
{
    unsigned char *payload = malloc(4096), *to = payload, list[2048], *end = list;
    uint32_t number;
    uint64_t word = 0;
    struct timespec now;
    for (unsigned i = 0; i < n_names; i++) {
        *end++ = 0x0a;
        *end++ = (unsigned char)(strlen(names[i]) + 2);
        end = text(end, 0x0a, names[i]);
    }
    size_t n = (size_t)(end - list), inner = n + 2 + (n > 127), whole = 31 + 2 + inner;
    *to++ = 0x12;
    *to++ = 0; /* below */
    to = text(to, 0x0a, "threadlocal.schema_version");
    *to++ = 0x12;
    *to++ = 16;
    to = text(to, 0x0a, "tlsdesc_v1_dev");
    payload[1] = (unsigned char)(to - payload - 2);
    *to++ = 0x12;
    *to++ = (unsigned char)((whole & 127) | 128); /* two bytes are a length, too */
    *to++ = (unsigned char)(whole >> 7);
    to = text(to, 0x0a, "threadlocal.attribute_key_map");
    *to++ = 0x12;
    *to++ = (unsigned char)inner;
    *to++ = 0x2a;
    if (n > 127)
        *to++ = (unsigned char)((n & 127) | 128);
    *to++ = (unsigned char)(n > 127 ? n >> 7 : n);
    memcpy(to, list, n);
    to += n;
    memcpy(mapping + 16, &word, 8); /* being updated */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    memcpy(mapping, "OTEL_CTX", 8);
    number = 2;
    memcpy(mapping + 8, &number, 4);
    number = (uint32_t)(to - payload);
    memcpy(mapping + 12, &number, 4);
    word = (uintptr_t)payload;
    memcpy(mapping + 24, &word, 8);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    clock_gettime(CLOCK_BOOTTIME, &now);
    word = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    memcpy(mapping + 16, &word, 8);
    prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, mapping, 4096, "OTEL_CTX");
}

static int key(const char *name)
{
    if (!mapping) {
        mapping = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, mapping, 4096, "OTEL_CTX") !=
            0) { /* a kernel without names */
            int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
            if (fd < 0 || ftruncate(fd, 4096) != 0)
                return -1;
            mapping = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
            close(fd);
        }
        madvise(mapping, 4096, MADV_DONTFORK);
    }
    strcpy(names[n_names], name);
    n_names++;
    publish();
    return (int)n_names - 1;
}

static void attach(unsigned request, const struct writer_attribute *attributes, unsigned n)
{
    unsigned char *at = record + 28;
    uint16_t size;
    *(volatile unsigned char *)(record + 24) = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    otel_thread_ctx_v1 = record; /* it stays there */
    for (unsigned i = 0; i < 12; i++)
        record[i] = (unsigned char)(0xA0 + i);
    for (unsigned i = 0; i < 4; i++)
        record[15 - i] = (unsigned char)(request >> 8 * i);
    memcpy(record + 16, record + 8, 8);
    record[25] = 1;
    for (unsigned i = 0; i < n; i++)
        at = text(at, attributes[i].key, attributes[i].value);
    size = (uint16_t)(at - record - 28);
    memcpy(record + 26, &size, 2);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    *(volatile unsigned char *)(record + 24) = 1;
}

static void detach(void)
{
    *(volatile unsigned char *)(record + 24) = 0;
}

const struct writer *writer_of(void)
{
    static const struct writer writer = {key, attach, detach};
    return &writer;
}
