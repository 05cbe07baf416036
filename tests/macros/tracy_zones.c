/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part in C of a program written for Tracy, after its public manual. */
#include <tracy/TracyC.h>

#include <string.h>

void zones_of_c(void (*change)(const char *), void (*spin)(unsigned));

void zones_of_c(void (*change)(const char *), void (*spin)(unsigned))
{
    TracyCZoneN(outer, "in C", 1);
    change("in C");
    spin(30);
    {
        TracyCZone(inner, 1);
        TracyCZoneText(inner, "text", 4);
        change("zones_of_c");
        spin(50);
        TracyCZoneEnd(inner)
    }
    TracyCZoneNC(off, "off", 0xff, 0);
    change("in C");
    spin(20);
    TracyCZoneEnd(off);
    TracyCZoneName(outer, "named in C", strlen("named in C"));
    change("named in C");
    spin(30);
    TracyCMessageL("a message");
    TracyCPlotI("plot of C", 7);
    TracyCFrameMarkNamed("frames of C") TracyCZoneEnd(outer);
}
