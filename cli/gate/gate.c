/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gate: is the head slower than the base? */
#include "cli/gate/gate.h"
#include "cli/gate/causes/cause.h"
#include "cli/gate/report/report.h"
#include "cli/gate/results/results.h"
#include "cli/gate/turns/relink.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0, 1 and 2 are verdicts. */
enum { GATE_EXIT_SAME = 0, GATE_EXIT_SLOWER = 1, GATE_EXIT_CANT_TELL = 2, GATE_EXIT_FAILED = 3 };

#define TURNS_SECONDS 60.0
#define FOLDER "cyclescope-gate-XXXXXX"

static int fails(int ignored)
{
    (void)ignored;
    return GATE_EXIT_FAILED;
}

static bool is_in_list(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || at[-1] == ',') && (!at[n] || at[n] == ','))
            return true;
    return false;
}

/* False, with a sentence, where a word of the list is none of `words`. */
static bool list_is_of(const struct parsed *args, const char *name, const char *const *words)
{
    const char *list = option(args, name);
    for (const char *at = list; at && *at;) {
        const size_t n = strcspn(at, ",");
        bool known = false;
        for (size_t i = 0; words[i]; i++)
            known |= strlen(words[i]) == n && strncmp(at, words[i], n) == 0;
        if (!known) {
            usage_error("--%s %s: the words are %s, %s%s%s", name, list, words[0], words[1],
                        words[2] ? ", " : "", words[2] ? words[2] : "");
            return false;
        }
        at += n + (at[n] == ',');
    }
    return true;
}

/* Of stores the measures that must have a verdict; of benchmarks all, as they are. */
static void require(const struct parsed *args, struct gate *gate)
{
    const char *list = option_given(args, "require") ? option(args, "require") : "pace,waits";
    for (size_t i = 0; i < gate->n_checks; i++)
        gate->check[i].required = is_in_list(list, gate->check[i].name);
}

static int write_file(const struct parsed *args, const char *name, const struct gate *gate,
                      int (*write)(const struct gate *gate, FILE *to))
{
    if (!option_given(args, name))
        return 0;
    FILE *to = fopen(option(args, name), "we");
    if (!to)
        return failed_with("--%s %s: %s", name, option(args, name), strerror(errno));
    bool bad = write(gate, to) < 0;
    bad |= ferror(to) != 0;
    bad |= fclose(to) != 0;
    return bad ? failed_with("--%s %s: not written in full", name, option(args, name)) : 0;
}

static int finish(const struct parsed *args, struct gate *gate)
{
    const char *fail_on = option_given(args, "fail-on") ? option(args, "fail-on") : "slower,cant-tell";
    gate_conclude(gate);
    if (write_file(args, "markdown", gate, gate_markdown) || write_file(args, "sarif", gate, gate_sarif) ||
        write_file(args, "junit", gate, gate_junit))
        return GATE_EXIT_FAILED;
    if (option_given(args, "annotations"))
        gate_annotations(gate, stderr);
    if (gate_report(args, gate) != CS_EXIT_OK)
        return GATE_EXIT_FAILED;
    if (gate->verdict == GATE_SLOWER)
        return is_in_list(fail_on, "slower") ? GATE_EXIT_SLOWER : GATE_EXIT_SAME;
    if (gate->verdict == GATE_CANT_TELL)
        return is_in_list(fail_on, "cant-tell") ? GATE_EXIT_CANT_TELL : GATE_EXIT_SAME;
    return GATE_EXIT_SAME;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

/* Makes the folder for the runs: --keep's, which must be new or empty, or one that goes afterwards. */
static int make_folder(const struct parsed *args, char folder[PATH_MAX])
{
    const char *keep = option(args, "keep"), *temporary = getenv("TMPDIR");
    if (!keep) {
        snprintf(folder, PATH_MAX, "%s/" FOLDER, temporary && *temporary ? temporary : "/tmp");
        return mkdtemp(folder) ? 0 : failed_with("%s: no folder for the runs: %s", folder, strerror(errno));
    }
    if (!realpath(keep, folder) && (mkdir(keep, 0777) < 0 || !realpath(keep, folder)))
        return failed_with("--keep %s: %s", keep, strerror(errno));
    char store[PATH_MAX + 16];
    snprintf(store, sizeof store, "%s/base.store", folder);
    return access(store, F_OK) == 0
               ? failed_with("--keep %s has runs already; compare them with --base and --head", keep)
               : 0;
}

static int in_turn(const struct parsed *args, struct gate *gate)
{
    static char folder[PATH_MAX], store[2][PATH_MAX + 16]; /* as long as the gate */
    struct cs_error err = {0};
    struct gate_turns turns = {.base = gate_words(option(args, "base-command")),
                               .head = operand_vector(args),
                               .folder = folder,
                               .frequency = option(args, "frequency"),
                               .seconds = option_seconds(args, "for", TURNS_SECONDS),
                               .one_at_a_time = option_given(args, "one-at-a-time"),
                               .output = option_given(args, "show-output")};
    char **const relink = option_given(args, "relink") ? gate_words(option(args, "relink")) : NULL;
    gate->relinks = relink != NULL;
    gate->turns = true;
    if (option_given(args, "relink") && !relink) {
        free(turns.base);
        return fails(
            usage_error("--relink %s: no command, or a quote that isn't closed", option(args, "relink")));
    }
    if (!turns.base)
        return fails(usage_error("--base-command %s: no command, or a quote that isn't closed",
                                 option(args, "base-command")));
    int rc = make_folder(args, folder);
    if (rc == 0) {
        snprintf(store[0], sizeof store[0], "%s/base.store", folder);
        snprintf(store[1], sizeof store[1], "%s/head.store", folder);
        gate->base = turns.store[0] = store[0];
        gate->head = turns.store[1] = store[1];
        rc = gate_record_in_turn(&turns, &err);
        if (rc == 0)
            rc = gate_compare_stores(gate, &err);
        if (rc == 0 && relink && gate_may_be_layout(gate))
            rc = gate_relink(gate, &turns, relink, &err);
        if (rc == 0 && gate_wants_causes(gate))
            rc = gate_record_causes(&turns, &err);
        gate_find_causes(gate);
        if (rc == 0)
            gate_settle_layout(gate);
        if (rc == 0 && *turns.not_counted)
            gate_note(gate, "Instructions were not counted: %s.", turns.not_counted);
        if (rc < 0)
            failed(&err);
        else
            require(args, gate);
        rc = rc < 0 ? GATE_EXIT_FAILED : finish(args, gate);
        if (!option_given(args, "keep"))
            (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    } else {
        rc = GATE_EXIT_FAILED;
    }
    free(turns.base);
    free(relink);
    return rc;
}

static int compared(const struct parsed *args, struct gate *gate, bool results)
{
    struct cs_error err = {0};
    int rc = results ? gate_compare_results(gate, &err) : gate_compare_stores(gate, &err);
    if (rc < 0)
        return fails(failed(&err));
    if (!results) {
        gate_find_causes(gate);
        gate_settle_layout(gate);
        require(args, gate);
    }
    return finish(args, gate);
}

static int of_builds(const struct parsed *args, struct gate *gate)
{
    const char *const wanted[2] = {option(args, "base-build"), option(args, "head-build")};
    struct cs_error err = {0};
    struct gate_builds builds;
    gate->base = gate->head = store_location(args);
    int rc = gate_builds_open(&builds, gate->base, option(args, "image"), wanted, &err);
    gate->builds = &builds;
    if (rc == 0 && option_given(args, "repository"))
        rc = gate_builds_find_commits(&builds, option(args, "repository"), &err);
    if (rc == 0)
        rc = builds.recordings ? gate_compare_stores(gate, &err) : gate_compare_shares(gate, &err);
    if (rc == 0 && gate_wants_causes(gate))
        gate_find_causes(gate);
    gate_settle_layout(gate);
    if (rc == 0) {
        gate_builds_say(gate);
        require(args, gate);
    }
    rc = rc < 0 ? fails(failed(&err)) : finish(args, gate);
    gate->builds = NULL;
    gate_builds_close(&builds);
    return rc;
}

static int run(const struct parsed *args)
{
    static const char *const measures[] = {"work", "pace", "waits", NULL};
    static const char *const verdicts[] = {"slower", "cant-tell", NULL};
    const bool stores = option_given(args, "base") || option_given(args, "head"),
               results = option_given(args, "results"), turns = option_given(args, "base-command"),
               builds = option_given(args, "image");
    struct gate gate = {.base = option(args, "base"),
                        .head = option(args, "head"),
                        .no_experiments = option_given(args, "no-experiments")};
    if (stores + results + turns + builds != 1 || (stores && (!gate.base || !gate.head)))
        return fails(usage_error("give one of --base STORE --head STORE, --base-command COMMAND -- COMMAND, "
                                 "--results BASE HEAD, or --store STORE --image PROGRAM"));
    if (!turns && option_given(args, "relink"))
        return fails(usage_error("--relink needs --base-command"));
    if (turns && operand_count(args) < 1)
        return fails(usage_error("--base-command needs the head's command, behind --"));
    if (operand_count(args) != (results ? 2 : 0) && !turns)
        return fails(usage_error(results ? "--results needs two files, base and head"
                                         : "stores need no further operands"));
    if (!builds && (option_given(args, "base-build") || option_given(args, "head-build") ||
                    option_given(args, "repository")))
        return fails(usage_error("--base-build, --head-build and --repository need --image PROGRAM"));
    if (!list_is_of(args, "require", measures) || !list_is_of(args, "fail-on", verdicts))
        return GATE_EXIT_FAILED;
    gate.limits = (struct gate_limits){
        .ignore_below = option_number(args, "ignore-below",
                                      results ? GATE_IGNORE_BELOW_APART : GATE_IGNORE_BELOW, 0, 1000),
        .must_see =
            option_number(args, "must-see", results ? GATE_IGNORE_BELOW_APART : GATE_MUST_SEE, 0.001, 1000)};
    if (results) {
        gate.base = operand(args, 0);
        gate.head = operand(args, 1);
    }
    int rc = turns ? in_turn(args, &gate) : builds ? of_builds(args, &gate) : compared(args, &gate, results);
    gate_fini(&gate);
    return rc;
}

static const struct option_entry options[] = {
    {"base", 0, "STORE", "a store with runs of the base; each recording is a run"},
    {"head", 0, "STORE", "a store with runs of the head"},
    {"base-command", 0, "COMMAND",
     "the base's command in one text; the head's is behind --; both run in turn"},
    {"for", 0, "TIME", "how long base and head take turns, as 60s or 5m (60s)"},
    {"keep", 0, "DIR", "keep the runs there, as base.store and head.store"},
    {"one-at-a-time", 0, NULL, "never run base and head at the same time: they use one file, or one port"},
    {"relink", 0, "COMMAND",
     "links base and head again, with a layout by $CYCLESCOPE_LAYOUT: did layout change the pace?"},
    OPTION_NO_EXPERIMENTS,
    {"show-output", 0, NULL, "let both commands write where gate writes (default: nowhere)"},
    OPTION_FREQUENCY,
    {"results", 0, NULL,
     "compare two results of hyperfine, pytest-benchmark, Google Benchmark, go test -bench, or Criterion "
     "(folders)"},
    OPTION_STORE,
    OPTION_IMAGE,
    {"base-build", 0, "ID",
     "with --image: the beginning of the base's build-id (the build before the head's)"},
    {"head-build", 0, "ID", "with --image: the beginning of the head's build-id (the newest build)"},
    {"repository", 0, "DIR",
     "with --image: print the commits between the builds, by notes of this git repository"},
    {"ignore-below", 0, "PERCENT", "a smaller growth is never called slower (1; with --results 5)"},
    {"must-see", 0, "PERCENT", "\"same\" needs runs that would have shown this growth (3; with --results 5)"},
    {"require", 0, "LIST",
     "measures without whose verdict gate can't tell: of work, pace, waits (pace,waits)"},
    {"fail-on", 0, "LIST", "verdicts with an exit code: of slower, cant-tell (slower,cant-tell)"},
    {"markdown", 0, "FILE", "also write a summary for a pull request"},
    {"sarif", 0, "FILE", "also write SARIF 2.1.0"},
    {"junit", 0, "FILE", "also write JUnit XML"},
    {"annotations", 0, NULL, "also print annotations as ::error file=...,line=...:: on standard error"},
    OPTION_TOP,
    {NULL, 0, NULL, NULL},
};

const struct command command_gate = {
    "gate",
    "[BASE.json HEAD.json | -- COMMAND [ARG...]]",
    "a verdict for a pipeline: is the head slower than the base, and where?",
    "Exit code: 0 same, faster or layout, 1 slower, 2 can't tell, 3 failed.\n"
    "\n"
    "gate judges three measures. Work is the number of instructions, page faults and system calls. Pace is "
    "CPU "
    "time, in all and by function. Waits is time off the CPU. A measure is \"slower\" only if chance makes "
    "that in "
    "fewer than one of 2,000 comparisons of a program with itself. It is \"same\" only if the runs would "
    "have "
    "shown a growth of --must-see. Anything else is \"can't tell\", with what would tell.\n"
    "\n"
    "\"Layout\" is a change of time where the same instructions ran as often, because code or data lie "
    "elsewhere. A growth needs evidence of that: a cause such as front-end or split, or --relink. A cause "
    "such as "
    "d-cache that surely grew makes it \"slower\". With --relink, gate runs that command with "
    "CYCLESCOPE_LAYOUT=1 "
    "to 12, if the pace changed and the "
    "work "
    "didn't. It times base and head as the command leaves them, for as long again as --for. At the end, it "
    "runs "
    "the command with 0, the layout as it was.\n"
    "\n"
    "With --base-command, gate counts the instructions of two runs of each, then records both commands in "
    "turn. That way a drift of the machine affects both. It starts no shell. With --results, each benchmark "
    "of two files is judged.\n"
    "\n"
    "With --image, gate compares two builds of one program in one store, by default the newest two. "
    "Recordings of a "
    "command are runs. Epochs of a daemon have the shares of the program's functions only: \"slower\" is "
    "possible, "
    "\"same\" isn't.",
    options,
    run,
};
