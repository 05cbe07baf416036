/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests analysis/contexts: totals, callers, callees and trees of chains that recurse, against a model that looks
 * at each chain by itself. It also tests short names of C++. */
#include "analysis/contexts/calls.h"
#include "image/code.h"
#include "tests/unit/give_name.h"
#include "tests/unit/test.h"
#include "tests/unit/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS 9
#define DEPTH_MAX 8
#define CHAINS 500

static uint64_t state = 0x9e3779b97f4a7c15ull;
static unsigned draw(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state % below);
}

struct chain { /* outermost first */
    unsigned depth, frame[DEPTH_MAX];
    uint64_t samples;
};

static struct chain chains[CHAINS];
static char path[] = "/tmp/cs-calls-XXXXXX";
static struct cs_store *store;
static struct cs_error err;

static uint64_t offset_of(unsigned function)
{
    return 1ull << 63 | (uint64_t)(function + 1) << 24;
}

/* Half of the chains in one process, half in the other. */
static int fill_store(void **unused)
{
    (void)unused;
    struct cs_store_image image = {
        .id = "x0123456789abcdef", .kind = CS_IMAGE_JIT, .path = "[made]", .build_id = ""};
    assert_non_null(mkdtemp(path));
    assert_int_equal(cs_store_open(path, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    for (unsigned f = 0; f < FUNCTIONS; f++) {
        char name[8];
        snprintf(name, sizeof name, "f%u", f);
        assert_int_equal(give_name(store, &image, offset_of(f), 1 << 24, name, &err), 0);
    }
    for (unsigned half = 0; half < 2; half++) {
        struct cs_contexts *tree = cs_contexts_open();
        struct cs_table *table = cs_table_open(&cs_schema_contexts);
        struct cs_store_profile_head head = {.event = "cpu-clock", .unit = "ns"};
        snprintf(head.label, sizeof head.label, "process %u", half);
        for (unsigned i = half; i < CHAINS; i += 2) {
            struct chain *c = &chains[i];
            *c = (struct chain){.depth = 1 + draw(DEPTH_MAX), .samples = 1 + draw(9)};
            uint32_t node = CS_CONTEXTS_ROOT;
            for (unsigned k = 0; k < c->depth; k++) {
                c->frame[k] = draw(FUNCTIONS);
                node = (uint32_t)cs_contexts_child(tree, node, (uint32_t)cs_contexts_image(tree, image.id),
                                                   offset_of(c->frame[k]) + draw(3));
            }
            cs_contexts_add(tree, node, c->samples);
        }
        assert_int_equal(cs_contexts_put(tree, table), 0);
        assert_int_equal(cs_store_merge(store, &cs_contexts_profile, &head, table, &err), 0);
        cs_table_close(table);
        cs_contexts_close(tree);
    }
    return 0;
}

static int remove_store(void **unused)
{
    (void)unused;
    cs_store_close(store);
    return remove_tree(path);
}

static void open_calls(struct cs_calls *calls, const char *label, bool by_label)
{
    struct cs_calls_wanted wanted = {
        .event = "cpu-clock", .label = label, .inlines = true, .by_label = by_label};
    assert_int_equal(cs_calls_open(calls, store, &wanted, &err), 0);
}

static unsigned model_number(const struct cs_calls *calls, uint32_t function)
{
    return (unsigned)strtoul(calls->functions[function].name + 1, NULL, 10);
}

static int first_of(const struct chain *c, unsigned f)
{
    for (unsigned k = 0; k < c->depth; k++)
        if (c->frame[k] == f)
            return (int)k;
    return -1;
}

static int last_of(const struct chain *c, unsigned f)
{
    for (unsigned k = c->depth; k-- > 0;)
        if (c->frame[k] == f)
            return (int)k;
    return -1;
}

TEST(self_and_total_are_those_of_the_chains_however_they_recurse)
{
    struct cs_calls calls;
    open_calls(&calls, NULL, false);
    uint64_t all = 0, selves = 0;
    for (unsigned i = 0; i < CHAINS; i++)
        all += chains[i].samples;
    assert_int_equal(calls.total, all);
    assert_int_equal(calls.n_functions, FUNCTIONS + 1);
    for (uint32_t n = 1; n < calls.n_functions; n++) {
        unsigned f = model_number(&calls, n);
        uint64_t self = 0, total = 0;
        for (unsigned i = 0; i < CHAINS; i++) {
            self += chains[i].frame[chains[i].depth - 1] == f ? chains[i].samples : 0;
            total += first_of(&chains[i], f) >= 0 ? chains[i].samples : 0;
        }
        assert_int_equal(calls.functions[n].self, self);
        assert_int_equal(calls.functions[n].total, total);
        selves += self;
    }
    assert_int_equal(selves, all);
    cs_calls_close(&calls);
}

TEST(callers_and_callees_are_those_of_the_chains_and_add_up)
{
    struct cs_calls calls;
    open_calls(&calls, NULL, false);
    for (uint32_t n = 1; n < calls.n_functions; n++) {
        unsigned f = model_number(&calls, n);
        uint64_t callers[FUNCTIONS + 1] = {0}, callees[FUNCTIONS] = {0};
        for (unsigned i = 0; i < CHAINS; i++) {
            const struct chain *c = &chains[i];
            int first = first_of(c, f), last = last_of(c, f);
            if (first < 0)
                continue;
            callers[first ? c->frame[first - 1] : FUNCTIONS] += c->samples;
            callees[last + 1 < (int)c->depth ? c->frame[last + 1] : f] += c->samples;
        }
        uint64_t *in = cs_calls_callers(&calls, n), *out = cs_calls_callees(&calls, n), sum_in = in[0],
                 sum_out = 0;
        assert_int_equal(in[0], callers[FUNCTIONS]);
        for (uint32_t g = 1; g < calls.n_functions; g++) {
            assert_int_equal(in[g], callers[model_number(&calls, g)]);
            assert_int_equal(out[g], callees[model_number(&calls, g)]);
            sum_in += in[g];
            sum_out += out[g];
        }
        assert_int_equal(sum_in, calls.functions[n].total);
        assert_int_equal(sum_out, calls.functions[n].total);
        free(in);
        free(out);
    }
    cs_calls_close(&calls);
}

TEST(trees_from_a_function_hold_its_total_inverted_or_not)
{
    struct cs_calls calls;
    open_calls(&calls, NULL, false);
    for (uint32_t n = 1; n < calls.n_functions; n++) {
        struct cs_contexts *out = cs_calls_inverted(&calls, n), *in = cs_calls_below(&calls, n);
        const struct cs_context *root_out = cs_contexts_at(out, 0), *root_in = cs_contexts_at(in, 0);
        assert_int_equal(root_out->total, calls.functions[n].total);
        assert_int_equal(root_in->total, calls.functions[n].total);
        assert_int_equal(cs_contexts_at(in, root_in->first_child)->offset, n);
        assert_int_equal(cs_contexts_at(in, root_in->first_child)->next_sibling, 0);
        cs_contexts_close(out);
        cs_contexts_close(in);
    }
    struct cs_contexts *all = cs_calls_inverted(&calls, 0);
    for (uint32_t c = cs_contexts_at(all, 0)->first_child; c; c = cs_contexts_at(all, c)->next_sibling)
        assert_int_equal(cs_contexts_at(all, c)->total, calls.functions[cs_contexts_at(all, c)->offset].self);
    cs_contexts_close(all);
    cs_calls_close(&calls);
}

TEST(a_label_chooses_its_chains_and_labels_part_the_tree)
{
    struct cs_calls one, both;
    uint64_t half = 0;
    for (unsigned i = 1; i < CHAINS; i += 2)
        half += chains[i].samples;
    open_calls(&one, "process 1", false);
    assert_int_equal(one.total, half);
    open_calls(&both, NULL, true);
    uint32_t process = cs_calls_find(&both, "process 1", NULL);
    assert_true(process > 0);
    assert_int_equal(both.functions[process].total, half);
    uint32_t f = cs_calls_find(&both, "f3", NULL);
    uint64_t *callers = cs_calls_callers(&both, f);
    assert_int_equal(callers[0], 0); /* a process called what was outermost */
    free(callers);
    cs_calls_close(&one);
    cs_calls_close(&both);
}

TEST(short_names_leave_out_templates_parameters_and_types)
{
    static const char *const names[][2] = {
        {"_Z8hash_oneRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "hash_one"},
        {"_ZNSt3mapImiSt4lessImESaISt4pairIKmiEEEixEOm", "std::map<>::operator[]"},
        {"_ZNSt6vectorImSaImEE9push_backEOm", "std::vector<>::push_back"},
        {"_ZSt3maxIiERKT_S2_S2_", "std::max<>"},
        {"_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run"},
        {"_Znwm", "operator new"},
        {"_Z3addIiiEDTplfp_fp0_ET_T0_", "add<>"},
        {"_ZlsRSoi", "operator<<"},
        {"_ZZ4mainENKUliE_clEi", "main::{lambda#1}::operator()"},
        {"_ZN9__gnu_cxx3fooIiEET_S1_", "__gnu_cxx::foo<>"},
        {"handler (app.py:12)", "handler (app.py:12)"},
        {"main", "main"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[200], tiny[4];
        cs_image_short_name(names[i][0], tiny, sizeof tiny);
        assert_true(strlen(tiny) < sizeof tiny);
        if (names[i][0][0] == '_' &&
            strcmp(cs_image_demangle(names[i][0], text, sizeof text), names[i][0]) == 0)
            continue; /* no C++ runtime here */
        assert_string_equal(cs_image_short_name(names[i][0], text, sizeof text), names[i][1]);
    }
}

TEST(a_name_fits_whole_or_in_short_or_without_its_namespaces)
{
    static const struct {
        const char *symbol, *wanted;
        int fits;
    } cases[] = {
        {"main", "main", 3},
        {"main", "mai", 0},
        {"main", "", 0},
        {"_Z3addii", "_Z3addii", 3},
        {"_Z3addii", "add(int, int)", 3},
        {"_Z3addii", "add", 2},
        {"_Z3addii", "ad", 0},
        {"_ZNSt6vectorImSaImEE9push_backEOm", "std::vector<>::push_back", 2},
        {"_ZNSt6vectorImSaImEE9push_backEOm", "vector<>::push_back", 1},
        {"_ZNSt6vectorImSaImEE9push_backEOm", "push_back", 1},
        {"_ZNSt6vectorImSaImEE9push_backEOm", "back", 0},
    };
    char text[200];
    bool runtime = strcmp(cs_image_demangle("_Z3addii", text, sizeof text), "_Z3addii") != 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (runtime || cases[i].symbol[0] != '_')
            assert_int_equal(cs_image_name_fits(cases[i].symbol, cases[i].wanted), cases[i].fits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(self_and_total_are_those_of_the_chains_however_they_recurse),
        cmocka_unit_test(callers_and_callees_are_those_of_the_chains_and_add_up),
        cmocka_unit_test(trees_from_a_function_hold_its_total_inverted_or_not),
        cmocka_unit_test(a_label_chooses_its_chains_and_labels_part_the_tree),
        cmocka_unit_test(short_names_leave_out_templates_parameters_and_types),
        cmocka_unit_test(a_name_fits_whole_or_in_short_or_without_its_namespaces),
    };
    return cmocka_run_group_tests(tests, fill_store, remove_store);
}
