/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a user can do where nobody followed the code that a report is about. */
#pragma once

#include "store/store.h"

#include <stdbool.h>

/* Of what the store's recording did: "record longer, or with a higher --burst-rate". Fits after "how often is not known: ". */
const char *more_evidence(struct cs_store *store);
/* Is the newest recording that is read one of another tool? */
bool newest_is_imported(struct cs_store *store);
