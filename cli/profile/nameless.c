/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/profile/nameless.h"

#include "cli/profile/more_evidence.h"
#include "store/base/array.h"
#include "store/base/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHARE_MIN 0.01   /* of all samples: an image with less isn't worth a line */
#define MADE_UP_MIN 0.05 /* names after addresses still tell procedures apart */
#define IMAGES_MAX 4

struct of_image {
    const struct profile_image *image;
    uint64_t nameless, made_up;
};

static const struct runtime {
    const char *program, *remedy;
} runtimes[] = {
    {"node", "node --perf-basic-prof names it"},
    {"java", "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit names it, or jcmd PID "
             "Compiler.perfmap while it runs"},
    {"dotnet", "DOTNET_PerfMapEnabled=1 in its environment names it"},
    {"python", "python3 -X perf (from 3.12 on) names it"},
    {"luajit", "its own profiler, or a build that writes a perf map, names it"},
    {"ruby", "ruby --yjit-perf names it"},
    {"php", "php -d opcache.jit_debug=32 names it"},
};

static const char *made_code_remedy(const struct cs_store_image *image)
{
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        if (strstr(image_name(image), runtimes[i].program))
            return runtimes[i].remedy;
    return "its runtime names it by cs_name_code, in /tmp/perf-PID.map or in a jitdump file";
}

bool nameless_is_made_up(const char *name)
{
    return strncmp(name, "sub_", 4) == 0 && name[4] && !name[4 + strspn(name + 4, "0123456789abcdef")];
}

static bool is_nameless(const struct profile_row *row)
{
    return row->image && row->image->image.kind != CS_IMAGE_UNKNOWN &&
           row->image->image.kind != CS_IMAGE_TAG && !row->name;
}

uint64_t nameless_samples(const struct profile *p, const struct profile_rows *rows)
{
    assert(p->main_event < rows->n_events);
    uint64_t sum = 0;
    for (size_t i = 0; i < rows->n; i++)
        sum += is_nameless(&rows->row[i]) ? rows->row[i].samples[p->main_event] : 0;
    return sum;
}

CS_ORDER(by_samples, struct of_image, cs_order(b->nameless + b->made_up, a->nameless + a->made_up))

static void explain(struct output *out, const struct of_image *of, double total, bool imported)
{
    const struct cs_store_image *image = &of->image->image;
    const char *name = image_name(image);
    double share = 100 * (double)of->nameless / total;
    if ((double)of->nameless < SHARE_MIN * total)
        output_note(out,
                    "%.1f %% is in %s, whose functions are called after their addresses (sub_...): it has no "
                    "symbols. " NAMELESS_REMEDY,
                    100 * (double)of->made_up / total, name);
    else if (image->kind == CS_IMAGE_JIT)
        output_note(out, "%.1f %% has no name: code that %s made at run time; %s.", share,
                    strncmp(name, "[jit] ", 6) == 0 ? name + 6 : name, made_code_remedy(image));
    else if (imported && image->kind == CS_IMAGE_KERNEL)
        output_note(
            out,
            "%.1f %% has no name: code of the recorded kernel. Its symbols come from /proc/kallsyms where "
            "import runs on the recorded boot, else from the System.map or the vmlinux of its release.",
            share);
    else if (image->kind == CS_IMAGE_KERNEL || image->kind == CS_IMAGE_MODULE)
        output_note(out,
                    "%.1f %% has no name: code of the kernel; kernel.kptr_restrict=0 and root show its "
                    "symbols to record.",
                    share);
    else if (image->kind == CS_IMAGE_FILE && !*image->build_id && access(image->path, R_OK) == 0)
        output_note(
            out,
            "%.1f %% has no name: the recording has no build-id of %s, and the file there may not be the one "
            "that ran. Import it again with --trust-paths, or with --symfs DIR for another machine's files.",
            share, image->path);
    else if (imported && image->kind == CS_IMAGE_FILE)
        output_note(
            out,
            "%.1f %% has no name: the file %s isn't here, or has another build-id than the recorded one. "
            "Import the recording again with --symfs DIR, where the recorded machine's files are.",
            share, image->path);
    else if (image->kind == CS_IMAGE_FILE || of->image->fileless)
        output_note(out,
                    "%.1f %% has no name: the file %s has changed or is gone, and the store has no copy "
                    "(record keeps one, unless --no-keep-code).",
                    share, image->path);
    else
        output_note(out,
                    "%.1f %% has no name: %s has no symbols there. Its debug package (-dbgsym, -debuginfo) "
                    "or an unstripped build names it.",
                    share, name);
}

void nameless_explain(struct output *out, const struct profile *p, const struct profile_rows *rows)
{
    CS_ARRAY(struct of_image) images = {0};
    double total = (double)rows->total[p->main_event];
    for (size_t i = 0; i < rows->n && total > 0; i++) {
        const struct profile_row *row = &rows->row[i];
        bool nameless = is_nameless(row), made_up = row->image && row->name && nameless_is_made_up(row->name);
        size_t k = 0;
        if ((!nameless && !made_up) || !row->samples[p->main_event])
            continue;
        while (k < images.n && images.at[k].image != row->image)
            k++;
        struct of_image *of = k < images.n ? &images.at[k] : cs_array_add(&images);
        if (!of)
            break;
        of->image = row->image;
        *(nameless ? &of->nameless : &of->made_up) += row->samples[p->main_event];
    }
    cs_sort(images.at, images.n, by_samples);
    const bool imported = images.n && newest_is_imported(p->store);
    bool first = true;
    for (size_t i = 0; i < images.n && i < IMAGES_MAX; i++)
        if ((double)images.at[i].nameless >= SHARE_MIN * total ||
            (double)images.at[i].made_up >= MADE_UP_MIN * total) {
            if (first)
                output_line(out, "%s", "");
            first = false;
            explain(out, &images.at[i], total, imported);
        }
    cs_array_free(&images);
}
