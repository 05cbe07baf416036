/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which epochs of a store one receiver has: STORE/.fleet/otlp-<hash of its name>, a name a line. Written
 * again, whole, after each epoch that went. So one that went while this process was killed goes again. One
 * process at a time: another one waits. */
#pragma once

#include "store/base/error.h"

#include <stdbool.h>

struct cs_receiver_sent;

int cs_receiver_sent_open(const char *store, const char *receiver, struct cs_receiver_sent **out,
                          struct cs_error *err);
void cs_receiver_sent_close(struct cs_receiver_sent *sent);
bool cs_receiver_sent_has(const struct cs_receiver_sent *sent, const char *epoch);
int cs_receiver_sent_add(struct cs_receiver_sent *sent, const char *epoch, struct cs_error *err);
