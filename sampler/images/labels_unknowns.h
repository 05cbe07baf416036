/* SPDX-License-Identifier: GPL-2.0-or-later */
/* By what profiles are kept apart besides image and event, and why a sample could not be placed on an image. */
#pragma once

enum cs_label {
    CS_LABEL_NONE,
    CS_LABEL_PROCESS,
    CS_LABEL_COMMAND,
    CS_LABEL_CGROUP,
    CS_LABEL_THREAD,
    CS_LABEL_CONTAINER,
    CS_LABEL_ATTRIBUTE, /* of OpenTelemetry's thread context */
    CS_LABEL_LASTING    /* the process where it runs for 2 s, else the command */
};

/* Offsets in the image "[unknown]". A lookup that fails returns -(1 + cause). */
enum cs_unknown {
    CS_UNKNOWN_NO_MAPPING, /* the process has nothing executable mapped there that we know of */
    CS_UNKNOWN_NO_PROCESS, /* the process was gone before its maps could be read */
    CS_UNKNOWN_REPLACED,   /* two images were there within the interval: neither is credited */
    CS_UNKNOWN_NO_FILE,    /* the image's file was gone and its layout with it */
    CS_UNKNOWN_KERNEL,     /* a kernel address outside of text and modules, or kernel addresses are hidden */
    CS_UNKNOWN_GENERATION, /* an exec or fork record was lost, so the incarnation is not certain */
    CS_UNKNOWN_CUT,        /* more mappings, changes of them or files than are remembered */
    CS_UNKNOWN_N
};

const char *cs_unknown_name(enum cs_unknown cause);     /* "no-mapping" */
const char *cs_unknown_counter(enum cs_unknown cause);  /* "unknown.no-mapping" */
const char *cs_unknown_sentence(enum cs_unknown cause); /* for people */
