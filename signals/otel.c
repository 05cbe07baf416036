/* SPDX-License-Identifier: MIT */
/* OpenTelemetry's process context. One part is OTEP 4719's header in a memfd's private mapping named
 * OTEL_CTX. The other is a ProcessContext message with the names of OTEP 4947's attributes. And where the
 * thread-local pointer is defined.
 *
 *   header   "OTEL_CTX" | version 2 | payload bytes | time of publication, 0 = being written | payload address
 *   payload  1: Resource { 1: KeyValue ... }   2: KeyValue threadlocal.schema_version   2: KeyValue ..._key_map
 *
 * The mapping is one page ("typically", says the OTEP: there are readers that look at no larger one), and the message
 * is memory of ours. A message is measured before it is written (`out` NULL), so that lengths are minimal and nothing
 * is changed where it doesn't fit. Everything below is changed under the lock. */
#include "signals/cyclescope_otel.h"
#include "signals/runtime.h"

#include <linux/memfd.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAYLOAD_BYTES (64u << 10) /* pages that are not written take no memory */
#define KEYS_MAX 256u
#define NAME_BYTES 64u
#define RESOURCE_BYTES 4096u
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* Weak: page.c's is the line's word. */
CS_API __thread struct cs_otel_record *volatile otel_thread_ctx_v1 __attribute__((weak));

struct header {
    char signature[8];
    uint32_t version, payload_bytes;
    uint64_t published_at_ns, payload;
};

static struct {
    volatile struct header *header; /* NULL: not published yet */
    unsigned n_keys;
    char keys[KEYS_MAX][NAME_BYTES];
    size_t resource_bytes;
    uint8_t resource[RESOURCE_BYTES]; /* a Resource message */
    bool watches_fork;
    uint8_t payload[PAYLOAD_BYTES];
} context;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- protobuf: what is needed of it ---- */

/* Tag and length of field `field`, whose `n` bytes follow. */
static size_t put_head(uint8_t *out, unsigned field, size_t n)
{
    size_t at = 1;
    if (out)
        out[0] = (uint8_t)(field << 3 | 2);
    for (;; n >>= 7, at++) {
        if (out)
            out[at] = (uint8_t)((n & 127) | (n > 127 ? 128 : 0));
        if (n < 128)
            return at + 1;
    }
}

static size_t put_text(uint8_t *out, unsigned field, const char *text)
{
    const size_t n = strlen(text), at = put_head(out, field, n);
    if (out)
        memcpy(out + at, text, n); /* NOLINT(bugprone-not-null-terminated-result) */
    return at + n;
}

/* KeyValue as field `field`: `value` is an AnyValue of `n` bytes, which the caller puts behind. */
static size_t put_key(uint8_t *out, unsigned field, const char *key, size_t n)
{
    size_t at = put_head(out, field, put_text(NULL, 1, key) + put_head(NULL, 2, n) + n);
    at += put_text(out ? out + at : NULL, 1, key);
    return at + put_head(out ? out + at : NULL, 2, n);
}

static size_t put_pair(uint8_t *out, unsigned field, const char *key, const char *text)
{
    const size_t at = put_key(out, field, key, put_text(NULL, 1, text));
    return at + put_text(out ? out + at : NULL, 1, text);
}

/* ArrayValue: AnyValue after AnyValue. */
static size_t put_key_names(uint8_t *out)
{
    size_t at = 0;
    for (unsigned i = 0; i < context.n_keys; i++) {
        at += put_head(out ? out + at : NULL, 1, put_text(NULL, 1, context.keys[i]));
        at += put_text(out ? out + at : NULL, 1, context.keys[i]);
    }
    return at;
}

static size_t put_payload(uint8_t *out)
{
    const size_t names = put_key_names(NULL);
    size_t at = put_head(out, 1, context.resource_bytes);
    if (out)
        memcpy(out + at, context.resource, context.resource_bytes);
    at += context.resource_bytes;
    at += put_pair(out ? out + at : NULL, 2, "threadlocal.schema_version", "tlsdesc_v1_dev");
    at +=
        put_key(out ? out + at : NULL, 2, "threadlocal.attribute_key_map", put_head(NULL, 5, names) + names);
    at += put_head(out ? out + at : NULL, 5, names);
    return at + put_key_names(out ? out + at : NULL);
}

/* ---- publishing ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}
static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}
static int publish(void);
static void after_fork_child(void)
{
    context.header = NULL; /* the mapping isn't inherited */
    publish();
    pthread_mutex_unlock(&lock);
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void *map_named(void)
{
    const size_t bytes = page_bytes();
    int fd = (int)syscall(SYS_memfd_create, "OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0)
        fd = (int)syscall(SYS_memfd_create, "OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *at = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    const bool named = at != MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (!named)
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    /* Without a name by either way nobody would find it. */
    if (madvise(at, bytes, MADV_DONTFORK) == 0 &&
        (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, bytes, "OTEL_CTX") == 0 || named))
        return at;
    munmap(at, bytes);
    return NULL;
}

static uint64_t later_than(uint64_t before_ns)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_BOOTTIME, &now);
    const uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return ns > before_ns ? ns : before_ns + 1;
}

/* Under the lock. */
static int publish(void)
{
    const size_t n = put_payload(NULL);
    if (n > sizeof context.payload)
        return -ENOSPC;
    void *at = context.header ? (void *)(uintptr_t)context.header : map_named();
    if (!at)
        return -EACCES;
    volatile struct header *h = at;
    const uint64_t before_ns = h->published_at_ns;
    h->published_at_ns = 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    put_payload(context.payload);
    memcpy(at, "OTEL_CTX", 8);
    h->version = 2;
    h->payload_bytes = (uint32_t)n;
    h->payload = (uintptr_t)context.payload;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    h->published_at_ns = later_than(before_ns);
    /* Once more, for readers that wait for this call. */
    (void)prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, page_bytes(), "OTEL_CTX");
    context.header = h;
    if (!context.watches_fork)
        context.watches_fork = pthread_atfork(before_fork, after_fork, after_fork_child) == 0;
    return 0;
}

static int add_key(const char *name)
{
    unsigned i = 0;
    while (i < context.n_keys && strcmp(context.keys[i], name) != 0)
        i++;
    if (i < context.n_keys)
        return (int)i;
    if (i == KEYS_MAX)
        return -ENOSPC;
    strcpy(context.keys[i], name);
    context.n_keys++;
    const int rc = publish();
    if (rc < 0)
        context.n_keys--;
    return rc < 0 ? rc : (int)i;
}

int cs_otel_key(const char *name)
{
    if (!name || !*name || strlen(name) >= NAME_BYTES)
        return -EINVAL;
    cs_define(CS_WORD_CONTEXT, "context", CS_TAG);
    pthread_mutex_lock(&lock);
    const int rc = add_key(name);
    pthread_mutex_unlock(&lock);
    return rc;
}

int cs_otel_resource(const char *const *names_and_values, unsigned n)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < 2 * n; i += 2) {
        if (!names_and_values[i] || !names_and_values[i + 1])
            return -EINVAL;
        bytes += put_pair(NULL, 1, names_and_values[i], names_and_values[i + 1]);
        if (bytes > RESOURCE_BYTES)
            return -ENOSPC;
    }
    pthread_mutex_lock(&lock);
    context.resource_bytes = 0;
    for (unsigned i = 0; i < 2 * n; i += 2)
        context.resource_bytes += put_pair(context.resource + context.resource_bytes, 1, names_and_values[i],
                                           names_and_values[i + 1]);
    const int rc = publish();
    pthread_mutex_unlock(&lock);
    return rc;
}

void cs_otel_switch(struct cs_otel_record *record)
{
    cs_otel_attach(record);
}

struct cs_otel_record *cs_otel_current(void)
{
    return otel_thread_ctx_v1;
}
