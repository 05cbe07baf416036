/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/profile/ask_debuginfod.h"
#include "cli/command/command.h"
#include "cli/output/output.h"
#include "image/file/debuginfod.h"
#include "store/base/clock.h"
#include "store/base/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define SECONDS 60
#define SECONDS_MAX 600

static double samples_of(const struct profile_image *image, unsigned event)
{
    double sum = 0;
    for (unsigned i = 0; i < image->n_parts; i++)
        if (image->parts[i].event == event)
            sum += (double)image->parts[i].ref->head->period_sum;
    return sum;
}

struct sought {
    const struct profile_image *image;
    double samples;
};

CS_ORDER(by_samples, struct sought, cs_order(b->samples, a->samples))

static enum cs_image_lack lack_of(const struct profile *profile, const struct profile_image *image)
{
    struct cs_image_code *code;
    struct cs_error ignored = {0};
    if (cs_image_open(&image->image, profile->store, &code, &ignored) < 0)
        return CS_IMAGE_LACKS_NOTHING;
    enum cs_image_lack lack = cs_image_lacks(code);
    cs_image_close(code);
    return lack;
}

void ask_debuginfod(const struct profile *profile)
{
    const char *told = getenv("DEBUGINFOD_MAXTIME");
    double seconds = told ? strtod(told, NULL) : 0;
    struct sought *list =
        cs_debuginfod_possible() && profile->n_images ? calloc(profile->n_images, sizeof *list) : NULL;
    struct progress bar;
    size_t n = 0;
    int rc = 0;
    if (!list)
        return;
    for (size_t i = 0; i < profile->n_images; i++)
        if (profile->images[i].image.kind == CS_IMAGE_ELF && profile->images[i].image.build_id[0])
            list[n++] =
                (struct sought){&profile->images[i], samples_of(&profile->images[i], profile->main_event)};
    cs_sort(list, n, by_samples);
    double until = cs_monotonic_seconds() + (seconds > 0 ? fmin(seconds, SECONDS_MAX) : SECONDS);
    progress_init(&bar, "asking debuginfod", "images", n);
    for (size_t i = 0; i < n && rc >= 0; i++) {
        enum cs_image_lack lack = lack_of(profile, list[i].image);
        double left = until - cs_monotonic_seconds();
        progress_step(&bar, i);
        if (lack == CS_IMAGE_LACKS_NOTHING)
            continue;
        /* A file that was gone may lack names, too. */
        while (left > 0 && lack != CS_IMAGE_LACKS_NOTHING &&
               (rc = cs_debuginfod_ask(list[i].image->image.build_id, lack, left)) == 1) {
            left = until - cs_monotonic_seconds();
            lack = lack == CS_IMAGE_LACKS_FILE ? lack_of(profile, list[i].image) : CS_IMAGE_LACKS_NOTHING;
        }
        if (left <= 0)
            rc = -ETIMEDOUT;
    }
    progress_fini(&bar);
    free(list);
    if (rc == -ETIMEDOUT)
        remark("debuginfod gave no answer in time; names that only it has are missing (DEBUGINFOD_MAXTIME: "
               "seconds to wait)");
    else if (rc == -ENOEXEC)
        remark("DEBUGINFOD_URLS is set, but debuginfod-find isn't installed: names that only a server has "
               "are missing");
    else if (rc < 0)
        remark("debuginfod can't be asked: what it says can't be kept in the user's cache");
}
