/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mcp/tools.h"
#include "cli/output/memory.h"

#include <assert.h>
#include <string.h>

#define TEXT(name_, description_)                                                                            \
    {                                                                                                        \
        .name = name_, .kind = IS_TEXT, .option = name_, .description = description_                         \
    }
#define FLAG(name_, option_, description_)                                                                   \
    {                                                                                                        \
        .name = name_, .kind = IS_FLAG, .option = option_, .description = description_                       \
    }
#define NUMBER(name_, option_, least_, most_, description_)                                                  \
    {                                                                                                        \
        .name = name_, .kind = IS_NUMBER, .option = option_, .least = least_, .most = most_,                 \
        .description = description_                                                                          \
    }
#define STORE_OF(name_, option_, required_, description_)                                                    \
    {                                                                                                        \
        .name = name_, .kind = IS_STORE, .option = option_, .required = required_,                           \
        .description = description_                                                                          \
    }
#define BUILD(name_, option_, description_)                                                                  \
    {                                                                                                        \
        .name = name_, .kind = IS_TEXT, .option = option_, .most = BUILD_ID_MAX, .description = description_ \
    }
#define COMMAND(name_, option_, required_, description_)                                                     \
    {                                                                                                        \
        .name = name_, .kind = IS_COMMAND, .option = option_, .required = required_,                         \
        .description = description_                                                                          \
    }
#define BY(...)                                                                                              \
    {                                                                                                        \
        .name = "by", .kind = IS_CHOICE, .option = "by", .choices = {__VA_ARGS__},                           \
        .description = "what a row is (default: function)"                                                   \
    }
#define STORE                                                                                                \
    STORE_OF("store", "store", false,                                                                        \
             "which store, as a path within the server's folder; leave it out for the usual one")
#define EPOCH                                                                                                \
    TEXT("epoch", "which recording: its name, -2 (the one before the newest), or all (default: the newest)")
#define EVENT TEXT("event", "the event that shares are of")
#define IMAGE TEXT("image", "only this binary: base name, or six digits of its build-id")
#define FUNCTION                                                                                             \
    {                                                                                                        \
        .name = "function", .kind = IS_TEXT, .description = "which function (default: the hottest)"          \
    }
#define LIMIT                                                                                                \
    {                                                                                                        \
        .name = "limit", .kind = IS_LIMIT, .least = 1, .most = LIMIT_MAX,                                    \
        .description = "most rows of each table (default: 20)"                                               \
    }

static const struct tool tools[] = {
    {"explain",
     "One document about what costs most. It has a claim, its evidence with bounds, and the source line with "
     "its context. Then come ruled-out causes, what to try, the expected gain, and the command that verifies "
     "a change. \"stands_out\" lists up to six places whose cost may be avoidable. Begin here. If \"claim\" "
     "is null, \"missing\" says what to record.",
     LIMIT_MAX,
     0,
     {FUNCTION, STORE, EPOCH, EVENT, IMAGE}},
    {"prof",
     "Where CPU time went: the hottest functions, lines, images or threads of a recording.",
     20,
     0,
     {BY("function", "image", "line", "process", "thread"), STORE, EPOCH, EVENT, IMAGE, LIMIT}},
    {"calc",
     "Why one function is slow: cycles and stalls of each instruction, causes with bounds, and what usually "
     "helps.",
     20,
     0,
     {FUNCTION, STORE, EPOCH, EVENT, IMAGE, LIMIT}},
    {"waits",
     "Where threads waited: for what, in which function, how long, and who ended it. Needs a recording with "
     "waits.",
     20,
     0,
     {FLAG("critical_path", "critical-path",
           "what one thread's time was spent on, also in threads that it waited for, and what a faster "
           "function would save"),
      TEXT("process", "only this process or thread"), STORE, EPOCH, LIMIT}},
    {"diff",
     "What changed between two recordings, and what is only noise. Without before and after: the last two "
     "recordings of the store.",
     20,
     0,
     {STORE_OF("before", NULL, false, "a store; goes with after"),
      STORE_OF("after", NULL, false, "another store"), BY("function", "image", "line"),
      FLAG("waits", "waits", "compare waits instead of CPU time"), STORE, LIMIT}},
    {"gate",
     "A verdict: is the head slower than the base? Says slower, same, faster or can't tell for work, pace "
     "and waits, with ranges, and which functions grew. Give base and head, stores with recordings of "
     "several runs. Or give image: two builds of one program in one store. Or give base_command and "
     "command: both run in turn, if the server's user allowed both programs.",
     20,
     2,
     {STORE_OF("base", "base", false, "a store of the base; goes with head"),
      STORE_OF("head", "head", false, "a store of the head"), STORE,
      TEXT("image", "the program whose builds are compared, by path or base name: by default the newest two"),
      BUILD("base_build", "base-build", "the first digits of the base's build-id; goes with image"),
      BUILD("head_build", "head-build", "the first digits of the head's build-id; goes with image"),
      COMMAND("base_command", "base-command", false, "the base's allowed path, then its arguments"),
      COMMAND("command", NULL, false, "the head's allowed path, then its arguments; no shell reads them"),
      COMMAND("relink", "relink", false,
              "an allowed program, then its arguments. It links base and head again in place, in a layout by "
              "the variable CYCLESCOPE_LAYOUT (0: as it was). It runs if only the pace changed, and says if "
              "layout did that"),
      NUMBER("seconds", "for", 5, MCP_RECORD_SECONDS_MAX, "how long both commands run in turn (default: 60)"),
      LIMIT}},
    {"record",
     "Runs a program that the server's user has allowed, and adds a recording of it to the store.",
     20,
     0,
     {COMMAND("command", NULL, true, "the program's allowed path, then its arguments; no shell reads them"),
      NUMBER("seconds", "seconds", 0.1, MCP_RECORD_SECONDS_MAX, "end after this time (default: 60)"),
      FLAG("waits", "waits", "also time off the CPU (needs root)"),
      NUMBER("burst_rate", "burst-rate", 1, 300, "bursts per second: 30 give explain and calc more evidence"),
      NUMBER("frequency", "frequency", 1, 20000, "samples per second (default: 1000)"), STORE}},
};

bool mcp_is_record(const struct tool *tool)
{
    return strcmp(tool->name, "record") == 0;
}

const struct tool *mcp_tool(const char *name)
{
    assert(name);
    for (size_t t = 0; t < sizeof tools / sizeof *tools; t++)
        if (strcmp(tools[t].name, name) == 0)
            return &tools[t];
    return NULL;
}

static json_t *schema_of(const struct argument *a)
{
    static const char *const types[] = {
        [IS_STORE] = "string",  [IS_TEXT] = "string",   [IS_NUMBER] = "number", [IS_FLAG] = "boolean",
        [IS_CHOICE] = "string", [IS_COMMAND] = "array", [IS_LIMIT] = "integer"};
    json_t *s = need(json_pack("{s:s, s:s}", "type", types[a->kind], "description", a->description));
    if (a->kind == IS_STORE || a->kind == IS_TEXT) {
        json_object_set_new(s, "minLength", json_integer(1));
        json_object_set_new(s, "maxLength", json_integer(a->most > 0 ? (json_int_t)a->most : TEXT_MAX));
    } else if (a->kind == IS_NUMBER || a->kind == IS_LIMIT) {
        const bool whole = a->kind == IS_LIMIT;
        json_object_set_new(s, "minimum", whole ? json_integer((json_int_t)a->least) : json_real(a->least));
        json_object_set_new(s, "maximum", whole ? json_integer((json_int_t)a->most) : json_real(a->most));
    } else if (a->kind == IS_CHOICE) {
        json_t *all = json_array();
        for (unsigned i = 0; a->choices[i]; i++)
            json_array_append_new(all, json_string(a->choices[i]));
        json_object_set_new(s, "enum", all);
    } else if (a->kind == IS_COMMAND) {
        json_object_set_new(s, "items", json_pack("{s:s}", "type", "string"));
        json_object_set_new(s, "minItems", json_integer(1));
        json_object_set_new(s, "maxItems", json_integer(COMMAND_WORDS_MAX));
    }
    return s;
}

/* It changes nothing and starts no program of the user's. */
static bool only_reads(const struct mcp *mcp, const struct tool *tool)
{
    return !mcp_is_record(tool) && (strcmp(tool->name, "gate") != 0 || mcp->n_allowed == 0);
}

json_t *mcp_tools_list(const struct mcp *mcp)
{
    json_t *list = need(json_array());
    for (size_t t = 0; t < sizeof tools / sizeof *tools; t++) {
        json_t *properties = json_object(), *required = json_array();
        for (const struct argument *a = tools[t].arguments; a->name; a++) {
            json_object_set_new(properties, a->name, schema_of(a));
            if (a->required)
                json_array_append_new(required, json_string(a->name));
        }
        json_array_append_new(
            list,
            need(json_pack("{s:s, s:s, s:{s:s, s:o, s:o, s:b}, s:{s:b, s:b, s:b}}", "name", tools[t].name,
                           "description", tools[t].description, "inputSchema", "type", "object", "properties",
                           properties, "required", required, "additionalProperties", 0, "annotations",
                           "readOnlyHint", only_reads(mcp, &tools[t]), "destructiveHint", 0, "openWorldHint",
                           !only_reads(mcp, &tools[t]))));
    }
    return list;
}
