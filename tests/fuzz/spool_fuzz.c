/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as one of the files of a spool. The first byte chooses which: its own, a waiting batch, what
 * is known of a profile. The spool opens and gives its batches, or refuses in a sentence. Nothing is written outside
 * of its folder.
 * Sources: exchange/fleet/batch.c exchange/fleet/sent.c exchange/fleet/spool.c store/[a-z]*.c store/base/[a-z]*.c store/table/[a-z]*.c */
#include "exchange/fleet/batch.h"
#include "exchange/fleet/sent.h"
#include "image/code.h"
#include "tests/fuzz/checksums.h"

#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define EPOCH "20240101T000000Z-host"
#define KNOWN_HEAD 24
enum { SPOOL, BATCH, KNOWN, KINDS };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char folder[64] = "/dev/shm/cyclescope-fuzz.XXXXXX", spool[96];

/* Only collecting looks at code. */
int cs_image_open(const struct cs_store_image *image, struct cs_store *store, struct cs_image_code **out,
                  struct cs_error *err)
{
    (void)image, (void)store, (void)out, (void)err;
    abort();
}
void cs_image_close(struct cs_image_code *code)
{
    (void)code;
}
const struct cs_image_procedure *cs_image_procedure_at(struct cs_image_code *code, uint64_t offset)
{
    (void)code, (void)offset;
    abort();
}

static void put_file(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    close(fd);
}

/* A good batch of one point. */
static void put_batch(const char *path, uint64_t sequence)
{
    struct cs_bytes bytes = {0};
    struct cs_fleet_batch_part part = {.epoch = EPOCH,
                                       .host = "host",
                                       .path = "/opt/tool",
                                       .event = "cycles",
                                       .image = {.id = "abc", .kind = CS_IMAGE_ELF},
                                       .table = cs_table_open(&cs_schema_batch)};
    struct cs_fleet_batch batch = {.spool = 1, .sequence = sequence, .parts = &part, .n_parts = 1};
    int64_t name = cs_table_text(part.table, "main");
    if (name < 0 || cs_table_add(part.table, (uint64_t[]){16, 0, 32, (uint64_t)name, 5}) < 0 ||
        cs_fleet_batch_encode(&batch, &bytes) < 0)
        abort();
    put_file(path, bytes.start, bytes.used);
    cs_bytes_fini(&bytes);
    cs_table_close(part.table);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind;
    return at->level > 0 ? remove(path) : 0;
}

static void remove_folder(void)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    rmdir(folder);
}

static int only_the_spool(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind;
    assert(at->level == 0 || strncmp(path, spool, strlen(spool)) == 0);
    return 0;
}

static int take(const struct cs_fleet_batch *batch, void *arg, struct cs_error *err)
{
    (void)err;
    assert(batch->n_parts == 0 || batch->parts);
    ++*(unsigned *)arg;
    return 0;
}

static void put_known(uint8_t *bytes, size_t size)
{
    struct cs_fleet_sent k;
    struct cs_error err;
    char path[192];
    if (size > KNOWN_HEAD)
        profile_checksums(bytes + KNOWN_HEAD, size - KNOWN_HEAD);
    if (cs_fleet_sent_path(spool, EPOCH, "abc", "cycles", "", &k, &err) < 0)
        abort();
    snprintf(path, sizeof path, "%s/known", spool);
    if (mkdir(path, 0700) || mkdir(k.directory.text, 0700))
        abort();
    put_file(k.path.text, bytes, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const uint8_t good[16] = {1, 0, 0, 0, 0, 0, 0, 0, 3};
    char file[192], batch[192];
    struct cs_fleet_spool *opened = NULL;
    struct cs_error err = {0};
    unsigned batches = 0;
    if (!spool[0]) {
        if (!mkdtemp(folder))
            abort();
        snprintf(spool, sizeof spool, "%s/spool", folder);
        atexit(remove_folder);
    }
    if (size < 1 || mkdir(spool, 0700))
        return 0;
    int kind = bytes[0] % KINDS;
    uint8_t *copy = malloc(size);
    memcpy(copy, bytes + 1, --size);
    snprintf(file, sizeof file, "%s/spool", spool);
    snprintf(batch, sizeof batch, "%s/batch-0000000000000002", spool);
    put_file(file, kind == SPOOL ? copy : good, kind == SPOOL ? size : sizeof good);
    if (kind == BATCH) {
        batch_checksums(copy, size);
        put_file(batch, copy, size);
    } else {
        put_batch(batch, 2);
    }
    if (kind == KNOWN)
        put_known(copy, size);
    int rc = cs_fleet_spool_open(spool, &opened, &err);
    if (rc == 0)
        rc = cs_fleet_spool_each(opened, take, &batches, &err);
    assert(rc == 0 ? batches == 1 : err.code == -rc && err.text[0]);
    cs_fleet_spool_close(opened);
    nftw(folder, only_the_spool, 8, FTW_PHYS);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(copy);
    return 0;
}
