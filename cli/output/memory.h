/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of what is collected for the output: the command ends with a sentence where there is none. */
#pragma once

/* `pointer`; ends the program when it is NULL. */
void *need(void *pointer);
