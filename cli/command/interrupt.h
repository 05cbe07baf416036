/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals that end a subcommand that runs for long: what was gathered is kept, then it ends. */
#pragma once

/* `also` (may be NULL) is called in the handler. From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT are noted instead of ending us, but for those that whoever started us
 * wants ignored (nohup); SIGPIPE does nothing (a reader of our messages that left is no reason to lose a recording). A program that
 * is started later has none of this. */
void interrupt_catch(void (*also)(void));
/* The last one that came; 0: none. */
int interrupt_number(void);
