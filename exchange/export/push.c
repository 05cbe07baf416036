/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One pprof profile in the message that a back end receives. Pyroscope: push.v1.PushRequest. Parca:
 * parca.profilestore.v1alpha1.WriteRawRequest. Both are a list of series, and a series is labels and profiles. */
#include "exchange/export/export.h"
#include "exchange/export/protobuf.h"
#include "store/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

extern const struct cs_exporter cs_export_pprof;

static void put_label(struct cs_bytes *labels, const char *name, const char *value)
{
    struct cs_bytes pair = {0};
    char *valid = value && *value ? cs_text_valid(value) : NULL;
    if (valid) {
        cs_proto_bytes(&pair, 1, name, strlen(name));
        cs_proto_bytes(&pair, 2, valid, strlen(valid));
        cs_proto_message(labels, 1, &pair);
    }
    free(valid);
    cs_bytes_fini(&pair);
}

/* Both call a profile of a CPU "process_cpu"; the types of its values follow from the profile. */
static void put_labels(const struct cs_export *from, struct cs_bytes *labels)
{
    put_label(labels, "__name__", "process_cpu");
    put_label(labels, "hostname", from->host);
    put_label(labels, "service_name", from->service);
}

static int write_series(struct cs_export *from, FILE *to, bool parca, struct cs_error *err)
{
    struct cs_bytes series = {0}, part = {0}, request = {0};
    char *profile = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&profile, &n);
    if (!memory)
        return cs_fail(err, errno, "no memory for a profile");
    int rc = cs_export_pprof.write(from, memory, err);
    if (fclose(memory) != 0 && rc == 0)
        rc = cs_fail(err, ENOMEM, "no memory for a profile");
    put_labels(from, parca ? &part : &series);
    if (parca)
        cs_proto_message(&series, 1, &part);
    if (rc == 0)
        cs_proto_bytes(&part, 1, profile, n);
    cs_proto_message(&series, 2, &part);
    cs_proto_message(&request, parca ? 2 : 1, &series);
    cs_proto_number(&request, 3, parca); /* normalized: addresses are those of the ELF file */
    if (rc == 0 && request.failed)
        rc = cs_fail(err, ENOMEM, "no memory for a message");
    if (rc == 0)
        fwrite(request.start, 1, request.used, to);
    free(profile);
    cs_bytes_fini(&series);
    cs_bytes_fini(&part);
    cs_bytes_fini(&request);
    return rc;
}

static int write_pyroscope(struct cs_export *from, FILE *to, struct cs_error *err)
{
    return write_series(from, to, false, err);
}

static int write_parca(struct cs_export *from, FILE *to, struct cs_error *err)
{
    return write_series(from, to, true, err);
}

const struct cs_exporter cs_export_pyroscope = {"pyroscope", true, write_pyroscope};
const struct cs_exporter cs_export_parca = {"parca", true, write_parca};
