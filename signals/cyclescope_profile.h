/* SPDX-License-Identifier: MIT */
/* A program that profiles a part of itself. `cyclescope record` is started on it, so every thread is seen. It uses
 * the kernel's events where they may be opened, and ptrace where they may not. Needs the program `cyclescope` in
 * PATH, or where the variable CYCLESCOPE says.
 *
 *      if (cs_profile_start("store", "--budget 1%") < 0)
 *          fprintf(stderr, "not profiled: %s\n", cs_profile_why());
 *      work();
 *      cs_profile_stop();            // the store is whole: cyclescope prof --store store
 *
 * Link with -lcyclescope. The recorder is no child that the program's own wait() would meet. It ends with the
 * program, too, however that ends, and keeps what it has. One profile at a time; any thread. */
#ifndef CYCLESCOPE_PROFILE_H
#define CYCLESCOPE_PROFILE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Returns when samples are taken. `options` of `cyclescope record`, separated by spaces, at most 32; NULL: none. 0; -EBUSY: there
 * is one already; -EPERM in a set-user-id program; -ECANCELED: the recorder gave up; else what the system said. */
int cs_profile_start(const char *store, const char *options);
/* Returns when the store is whole. 0; -ESRCH: there was none. */
int cs_profile_stop(void);
/* The last failure as one sentence: the recorder's own, where it gave up. */
const char *cs_profile_why(void);

#ifdef __cplusplus
}
#endif

#endif
