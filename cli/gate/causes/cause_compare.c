/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cause grew where the least that the head has of it is above the most that the base had. It must be half of the function's growth,
 * too.
 *
 * Where both sides ran the same instructions as often, what depends on the code alone took as long as before. A chain that waits
 * longer waits for something that is in it. So it isn't what grew, and what it can't have taken is left to the other causes.
 *
 * What misses the cache often misses the TLB, too: then each of the two may have had nothing. Where neither can be named, the two are
 * compared as one. */
#include "cli/gate/causes/cause_compare.h"
#include "cli/gate/causes/surely_grew.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BURSTS_MIN 2 /* of one side, to say anything of it */
#define BURSTS_STRICT 4
#define SAMPLES_SD                                                                                           \
    2.0          /* standard deviations of the samples that a growth must be beyond, where it is strict */
#define MOST 0.5 /* of the function's growth */
#define AS_OFTEN 0.01
#define MODEL_ERROR 0.3 /* as calc has it */

struct part {
    double low, likely, high; /* as a side's seconds */
};

static double percent(const json_t *object, const char *name, const char *member)
{
    const json_t *value = json_object_get(object, name);
    return json_number_value(member ? json_object_get(value, member) : value) / 100;
}

static double bursts(const json_t *answer)
{
    return json_number_value(json_object_get(json_object_get(answer, "evidence"), "bursts"));
}

static double samples(const json_t *answer)
{
    return json_number_value(json_object_get(json_object_get(answer, "summary"), "samples"));
}

bool gate_cause_is_of_place(const char *cause)
{
    static const char *const all[] = {"front-end", "i-cache", "itlb", "alias", "split"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(cause, all[i]) == 0)
            return true;
    return false;
}

/* Not front-end: where code lies changes that. Not divider: numbers do. */
static bool is_of_code(const char *cause)
{
    return strcmp(cause, "dependency") == 0 || strcmp(cause, "port") == 0;
}

/* Of the same code a locked instruction waits longer where its line is away: where bursts saw a line that another thread takes, that
 * is what grew. */
static bool is_as_before(const struct gate_cause_side *head, const char *cause)
{
    const json_t *d = json_object_get(json_object_get(head->answer, "summary"), "dynamic");
    return is_of_code(cause) ||
           (strcmp(cause, "lock") == 0 &&
            percent(d, "false-sharing", "high") + percent(d, "true-sharing", "high") > 0);
}

static bool is_memory(const char *cause)
{
    return strcmp(cause, "d-cache") == 0 || strcmp(cause, "dtlb") == 0;
}

/* At most all of the function's time, and that much where too few bursts saw it run; but what the code takes without any stall, by
 * counts, is no stall. */
static struct part part_of(const struct gate_cause_side *side, const char *cause)
{
    const json_t *summary = json_object_get(side->answer, "summary"),
                 *d = strcmp(cause, GATE_MEMORY) == 0 ? summary : json_object_get(summary, "dynamic");
    const double fixed = percent(json_object_get(summary, "static"), cause, NULL), seconds = side->seconds,
                 least = is_of_code(cause) ? 0 : (1 - MODEL_ERROR) * side->model_seconds,
                 most = fmax(seconds - least, 0);
    const double needed = side->strict ? BURSTS_STRICT : side->counted ? 1 : BURSTS_MIN;
    if (!(bursts(side->answer) >= needed))
        return (struct part){0, most, most};
    const double high = percent(d, cause, "high") + fixed + percent(summary, "no_frequency", NULL);
    return (struct part){fmin(seconds * (percent(d, cause, "low") + fixed), most),
                         fmin(seconds * (percent(d, cause, "share") + fixed), most),
                         fmin(seconds * high, most)};
}

double gate_cause_seconds(const json_t *answer, const char *cause)
{
    const json_t *summary = json_object_get(answer, "summary"),
                 *d = strcmp(cause, GATE_MEMORY) == 0 ? summary : json_object_get(summary, "dynamic");
    const double hz = json_number_value(json_object_get(answer, "core_hz")),
                 cycles = json_number_value(json_object_get(answer, "cycles_a_sample")) * samples(answer),
                 share =
                     percent(d, cause, "share") + percent(json_object_get(summary, "static"), cause, NULL);
    return hz > 0 ? share * cycles / hz : (double)NAN;
}

size_t gate_causes_recorded(const json_t *answer)
{
    const json_t *summary = json_object_get(answer, "summary"), *d = json_object_get(summary, "dynamic");
    size_t n = percent(summary, GATE_MEMORY, "high") > 0;
    const char *cause;
    json_t *value;
    json_object_foreach((json_t *)d, cause, value) n +=
        gate_cause_is_recorded(cause) && percent(d, cause, "high") > 0;
    return n;
}

static const char figures[] = "0123456789abcdefx";

/* A number that doesn't say where code or data lie: an immediate, or a distance from a register. */
static bool is_constant(const char *text, size_t at)
{
    const char *behind = text + at + strspn(text + at, figures);
    return (at && (text[at - 1] == '$' || (at > 1 && text[at - 1] == '-' && text[at - 2] == '$'))) ||
           (strncmp(behind, "(%", 2) == 0 && strncmp(behind, "(%rip", 5) != 0);
}

/* Equal but for numbers: where code and data lie and, unless `constants_too`, constants. */
static bool same_words(const char *a, const char *b, bool constants_too)
{
    const char *const whole = a;
    while (*a || *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            const size_t n[2] = {strspn(a, figures), strspn(b, figures)};
            if (constants_too && is_constant(whole, (size_t)(a - whole)) &&
                (n[0] != n[1] || memcmp(a, b, n[0]) != 0))
                return false;
            a += n[0];
            b += n[1];
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return true;
}

static const char *text_of(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text ? text : "";
}

/* Why bursts hold that an instruction waits for a chain; "" where they don't. */
static const char *chain_of(const json_t *instruction)
{
    const json_t *suspects = json_object_get(instruction, "suspects");
    for (size_t i = 0; i < json_array_size(suspects); i++)
        if (strcmp(text_of(json_array_get(suspects, i), "cause"), "dependency") == 0)
            return text_of(json_array_get(suspects, i), "reason");
    return "";
}

static const json_t *instructions_of(const struct gate_cause_side *side)
{
    return json_object_get(side->answer, "instructions");
}

/* The same instructions, but for addresses in them. */
static bool has_same_text(const struct gate_cause_side side[2], bool constants_too)
{
    const json_t *const base = instructions_of(&side[0]), *const head = instructions_of(&side[1]);
    bool same = json_array_size(base) == json_array_size(head);
    for (size_t i = 0; same && i < json_array_size(base); i++)
        same = same_words(text_of(json_array_get(base, i), "instruction"),
                          text_of(json_array_get(head, i), "instruction"), constants_too);
    return same;
}

/* The same instructions, as often, and chains through memory where they were. */
static bool is_same_code(const struct gate_cause_side side[2])
{
    const double ratio = side[1].executions / side[0].executions;
    if (!(fabs(ratio - 1) < AS_OFTEN) || !has_same_text(side, false))
        return false;
    const json_t *const base = instructions_of(&side[0]), *const head = instructions_of(&side[1]);
    for (size_t i = 0; i < json_array_size(base); i++)
        if (strcmp(chain_of(json_array_get(base, i)), chain_of(json_array_get(head, i))) != 0)
            return false;
    return true;
}

/* What the head has of a cause at least, if causes of the code alone took no more than before. */
static double left_for(const struct gate_cause_side side[2], const char *cause, double high)
{
    const json_t *summary = json_object_get(side[1].answer, "summary");
    double left =
        side[1].seconds * (1 - percent(summary, "execution", NULL) - percent(summary, "unexplained", NULL) -
                           percent(summary, "no_frequency", NULL));
    const char *other;
    json_t *value;
    json_object_foreach(json_object_get(summary, "dynamic"), other, value)
    {
        const double most = part_of(&side[1], other).high;
        if (strcmp(other, cause) != 0 && !(strcmp(cause, GATE_MEMORY) == 0 && is_memory(other)))
            left -= is_as_before(&side[1], other) ? fmin(most, part_of(&side[0], other).high) : most;
    }
    return fmin(left, high);
}

static void __attribute__((format(printf, 2, 3))) no_cause(struct gate_guilty *g, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(g->cause_text, sizeof g->cause_text, format, arguments);
    va_end(arguments);
}

/* What may have grown, by how much more the head likely has. */
struct found {
    const char *most, *next; /* NULL: none */
    double first, second;
    struct part was, is;
};

static void look_at(struct found *f, const struct gate_cause_side side[2], const char *cause, bool same_code)
{
    const struct part a = part_of(&side[0], cause);
    struct part b = part_of(&side[1], cause);
    if (same_code && is_as_before(&side[1], cause))
        return;
    if (same_code)
        b.low = fmax(b.low, left_for(side, cause, b.high));
    b.likely = fmax(b.likely, b.low);
    const double more = b.likely - a.likely;
    if (more <= f->first) {
        f->next = more > f->second ? cause : f->next;
        f->second = fmax(f->second, more);
        return;
    }
    *f = (struct found){cause, f->most, more, f->first, a, b};
}

static struct found find(const struct gate_cause_side side[2], bool same_code, bool memory_as_one)
{
    struct found f = {NULL, NULL, 0, 0, {0, 0, 0}, {0, 0, 0}};
    const json_t *summary = json_object_get(side[1].answer, "summary");
    const char *cause;
    json_t *value;
    json_object_foreach(json_object_get(summary, "dynamic"), cause, value)
    {
        if (!(memory_as_one && is_memory(cause)))
            look_at(&f, side, cause, same_code);
    }
    if (memory_as_one)
        look_at(&f, side, GATE_MEMORY, same_code);
    return f;
}

static const char *words_of(const char *cause)
{
    return strcmp(cause, GATE_MEMORY) == 0 ? "misses of cache or TLB (memory)" : cause;
}

/* Bursts of the head are draws of its time's causes: few are enough where one cause has nearly all of what it has more. */
static bool name_cause(struct gate_guilty *g, const struct found *f, double growth, double margin)
{
    const char *unit = isnan(g->base) ? "% of the time" : "s of a run";
    if (!f->most || !(f->first > MOST * growth))
        no_cause(g, "no cause: none has half of the growth");
    else if (!(f->second < f->first / 2))
        no_cause(g, "no cause: %s and %s both grew", words_of(f->most), words_of(f->next));
    else if (!(f->is.low > f->was.high * (1 + margin)))
        no_cause(g, "no cause: %s: %.3g to %.3g %s, up to %.3g before; more bursts would tell",
                 words_of(f->most), f->is.low, f->is.high, unit, f->was.high);
    else {
        snprintf(g->cause, sizeof g->cause, "%s", f->most);
        g->cause_growth = f->first;
        snprintf(g->cause_text, sizeof g->cause_text, "%s: %.3g %s, %.3g before", words_of(f->most),
                 f->is.likely, unit, f->was.likely < f->was.high ? f->was.likely : f->was.high);
    }
    return *g->cause;
}

void gate_cause_compare(struct gate_guilty *g, const struct gate_cause_side side[2])
{
    assert(!*g->cause);
    const double n = bursts(side[1].answer), growth = side[1].seconds - side[0].seconds,
                 margin = side[1].strict ? SAMPLES_SD * sqrt(1 / fmax(samples(side[0].answer), 1) +
                                                             1 / fmax(samples(side[1].answer), 1))
                                         : 0;
    const bool same_code = is_same_code(side);
    g->other_code = side[0].answer && !has_same_text(side, true);
    const int least = side[1].strict ? BURSTS_STRICT : BURSTS_MIN;
    if (!(n >= least)) {
        no_cause(g, "no cause: %.0f bursts of the head met it, %d are needed", n, least);
        return;
    }
    const struct found alone = find(side, same_code, false);
    if (name_cause(g, &alone, growth, margin))
        return;
    const struct found as_one = find(side, same_code, true);
    if (as_one.most && strcmp(as_one.most, GATE_MEMORY) == 0 && as_one.first > alone.first)
        name_cause(g, &as_one, growth, margin);
}
