/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/table/wait_schemas.h"

const struct cs_schema cs_schema_waits = {"waits",
                                          CS_WAITS_N,
                                          8,
                                          {{"context", CS_KEY},
                                           {"reason", CS_KEY_TEXT},
                                           {"call", CS_KEY_TEXT},
                                           {"object", CS_KEY_TEXT},
                                           {"thread", CS_KEY_TEXT},
                                           {"waker", CS_KEY_TEXT},
                                           {"waker_context", CS_KEY},
                                           {"log2_ns", CS_KEY},
                                           {"count", CS_SUM},
                                           {"ns", CS_SUM},
                                           {"longest_ns", CS_MAX}}};

const struct cs_schema cs_schema_threads = {"threads",
                                            CS_THREADS_N,
                                            4,
                                            {{"pid", CS_KEY},
                                             {"tid", CS_KEY},
                                             {"thread", CS_KEY_TEXT},
                                             {"what", CS_KEY_TEXT},
                                             {"ns", CS_SUM},
                                             {"count", CS_SUM}}};

const struct cs_schema cs_schema_blame = {"blame",
                                          CS_BLAME_N,
                                          6,
                                          {{"context", CS_KEY},
                                           {"reason", CS_KEY_TEXT},
                                           {"object", CS_KEY_TEXT},
                                           {"holder", CS_KEY_TEXT},
                                           {"what", CS_KEY_TEXT},
                                           {"holder_context", CS_KEY},
                                           {"ns", CS_SUM}}};

const struct cs_schema cs_schema_wait_times = {"wait-times",
                                               CS_WAIT_TIMES_N,
                                               6,
                                               {{"pid", CS_KEY},
                                                {"tid", CS_KEY},
                                                {"begin_ns", CS_KEY},
                                                {"what", CS_KEY_TEXT},
                                                {"thread", CS_KEY_TEXT},
                                                {"context", CS_KEY},
                                                {"wake_ns", CS_MAX},
                                                {"end_ns", CS_MAX},
                                                {"on_ns", CS_MAX}}};
