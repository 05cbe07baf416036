/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any memory as a process that has OpenTelemetry's contexts: its header and payload, and a module that
 * defines the thread-local pointer. Nothing is read outside of what there is, and a reader refuses after a bounded
 * number of reads, as attribute_places.c does.
 * Sources: sampler/attributes/process_context.c image/thread_variable.c store/base/foreign.c store/base/foreign_worker.c store/base/kernel_files.c */
#include "image/thread_variable.h"
#include "sampler/attributes/process_context.h"

#include <assert.h>
#include <string.h>

#define BASE 0x10000u
#define READS_MAX 16384u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct memory {
    const uint8_t *bytes;
    size_t size;
    unsigned reads;
};

static bool read_memory(void *arg, uint64_t addr, void *to, size_t n)
{
    struct memory *m = arg;
    assert(n <= 128 << 10);
    if (m->reads++ >= READS_MAX || addr < BASE || addr - BASE > m->size || n > m->size - (addr - BASE))
        return false;
    memcpy(to, m->bytes + (addr - BASE), n);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct memory memory = {bytes, size, 0};
    const struct cs_process_memory process = {read_memory, &memory};
    struct cs_process_context context;
    struct cs_thread_variable variable;
    int rc = cs_process_context_read(&process, BASE, "key", &context);
    assert(rc <= 0 && context.key >= -1 && context.key < 256 && (rc == 0) == (context.published_ns != 0));
    for (int program = 0; program < 2; program++) {
        memory.reads = 0;
        assert(cs_thread_variable_find(&process, BASE, program, "otel_thread_ctx_v1", &variable) <= 0);
    }
    return 0;
}
