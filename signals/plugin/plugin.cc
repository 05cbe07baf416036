/* SPDX-License-Identifier: MIT */
/* GCC plugin: writes the tag of the innermost method or loop that runs into the thread's line (shim-2015
 * section 6.1).
 *
 * The pass runs after all GIMPLE optimisation, so that inlining, unrolling and vectorisation have happened
 * and are not disturbed. A *region* is a loop, or the function outside its loops. A point is wanted where
 * control enters another region: function entry, edges between regions, and where it comes back: after calls
 * that may have written tags, at landing pads and other abnormal arrivals. Points of stretches that end at
 * once (return, next point) are left out.
 *
 * Everything that doesn't need the compiler's own structures is in point.c. */
/* The compiler's headers need this order. */
/* clang-format off */
#include "gcc-plugin.h"
#include "plugin-version.h"
#include "tree.h"
#include "basic-block.h"
#include "cfgloop.h"
#include "cgraph.h"
#include "context.h"
#include "diagnostic-core.h"
#include "gimple.h"
#include "gimple-iterator.h"
#include "gimple-ssa.h"
#include "ssa.h"
#include "stringpool.h"
#include "attribs.h"
#include "tree-cfg.h"
#include "tree-inline.h"
#include "tree-pass.h"
#include "tree-ssa-loop-niter.h"
#include "except.h"
#include "tree-eh.h"
#include "rtl.h"
/* clang-format on */

#include "signals/plugin/point.h"

#if GCCPLUGIN_VERSION >= 14000
#define last_stmt last_nondebug_stmt
#endif

int plugin_is_GPL_compatible;

#define LOOK_AHEAD 4u /* blocks on the way to the next point */

static struct cs_point_options options;
typedef hash_set<int_hash<int, -1, -2>> decl_set;
static decl_set *taggers; /* DECL_UID of functions that write their own tag first */
static decl_set *quiet;   /* DECL_UID of functions that write no tag, nor call any that may */

namespace
{
const pass_data cs_pass_data = {GIMPLE_PASS,
                                "cyclescope",
                                OPTGROUP_NONE,
                                TV_NONE,
                                PROP_cfg | PROP_ssa,
                                0,
                                0,
                                0,
                                TODO_update_ssa_only_virtuals};

/* One function's work. */
class instrumenter
{
  public:
    explicit instrumenter(function *f) : fun(f) {}
    unsigned run();

  private:
    function *fun;
    bool tagging = false;    /* has points of its own at entry */
    bool naming = false;     /* has points where control comes back */
    auto_vec<int> region_of; /* by block: number of its loop, 0 = the method */
    auto_vec<int> size_of;
    auto_vec<bool> silent; /* by block: entered from another region without a point */
    unsigned points = 0;

    static bool counts_as_loop(class loop *l);
    class loop *region_loop(basic_block bb) const;
    int region(basic_block bb) const { return region_of[bb->index]; }
    gimple *make(basic_block bb, enum cs_point_kind kind, bool tag, unsigned add_word);
    void at_start(basic_block bb, gimple *g);
    void measure();
    void entry();
    void edges();
    void iterations();
    void calls(basic_block bb);
    void after_call(gimple_stmt_iterator *gsi, gcall *call);
    bool comes_back_tagged(gcall *call) const;
    bool writes_at_once(gcall *call) const;
    bool soon_over(basic_block bb, gimple_stmt_iterator gsi, int left, unsigned blocks) const;
    bool soon_over(basic_block bb, gimple_stmt_iterator gsi) const;
    void find_silent();
};

bool instrumenter::counts_as_loop(class loop *l)
{
    if (!options.loops || loop_outer(l) == NULL)
        return false;
    /* A loop that is known to be over after little work belongs to what is around it. */
    widest_int most;
    if (options.min_loop == 0 || !max_loop_iterations(l, &most))
        return true;
    basic_block *body = get_loop_body(l);
    HOST_WIDE_INT size = 0;
    for (unsigned i = 0; i < l->num_nodes; i++)
        for (gimple_stmt_iterator g = gsi_start_bb(body[i]); !gsi_end_p(g); gsi_next(&g))
            size += estimate_num_insns(gsi_stmt(g), &eni_size_weights);
    free(body);
    return wi::gtu_p(most * (size + 1), options.min_loop);
}

class loop *instrumenter::region_loop(basic_block bb) const
{
    class loop *l = bb->loop_father;
    while (loop_outer(l) && l->num != region(bb))
        l = loop_outer(l);
    return l;
}

void instrumenter::measure()
{
    hash_map<int_hash<int, -1, -2>, bool> counted;
    region_of.safe_grow_cleared(last_basic_block_for_fn(fun));
    size_of.safe_grow_cleared(last_basic_block_for_fn(fun));
    for (auto l : loops_list(fun, 0))
        counted.put(l->num, counts_as_loop(l));
    basic_block bb;
    FOR_EACH_BB_FN(bb, fun)
    {
        class loop *l = bb->loop_father;
        while (loop_outer(l) && !*counted.get(l->num))
            l = loop_outer(l);
        region_of[bb->index] = loop_outer(l) ? l->num : 0;
        for (gimple_stmt_iterator g = gsi_start_bb(bb); !gsi_end_p(g); gsi_next(&g))
            size_of[bb->index] += estimate_num_insns(gsi_stmt(g), &eni_size_weights);
    }
}

/* Where a loop stands in the source: its exit condition's line ("for", "while"), else its first statement's.
 * A method: its declaration's. */
static location_t place(class loop *l, tree decl)
{
    location_t best = UNKNOWN_LOCATION;
    if (loop_outer(l)) {
        edge e;
        unsigned i;
        auto_vec<edge> exits = get_loop_exit_edges(l);
        FOR_EACH_VEC_ELT(exits, i, e)
        {
            gimple *last = last_stmt(e->src);
            if (best == UNKNOWN_LOCATION && last && gimple_code(last) == GIMPLE_COND)
                best = gimple_location(last);
        }
        for (gimple_stmt_iterator g = gsi_start_bb(l->header); best == UNKNOWN_LOCATION && !gsi_end_p(g);
             gsi_next(&g))
            if (!is_gimple_debug(gsi_stmt(g)) &&
                LOCATION_LOCUS(gimple_location(gsi_stmt(g))) > BUILTINS_LOCATION)
                best = gimple_location(gsi_stmt(g));
    }
    return best == UNKNOWN_LOCATION ? DECL_SOURCE_LOCATION(decl) : best;
}

gimple *instrumenter::make(basic_block bb, enum cs_point_kind kind, bool tag, unsigned add_word)
{
    class loop *l = region_loop(bb);
    const location_t where = place(l, fun->decl);
    const expanded_location at = expand_location(where);
    struct cs_point point = {};
    point.kind = kind;
    point.position_independent = flag_shlib != 0;
    point.tls = point.position_independent || options.shared_runtime ? CS_TLS_POINTER : CS_TLS_PAGE;
    point.tag = tag;
    point.add_words = (add_word ? 1u << add_word : 0) | (tag && options.count_points ? 1u << 14 : 0);
    point.file = at.file ? at.file : "";
    point.function = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(fun->decl));
    point.line = at.line;
    point.loop = region(bb);
    point.depth = loop_depth(l);
    char text[4096];
    const size_t length = cs_point_text(&point, text, sizeof text);
    if (length == 0)
        return NULL;
    auto_vec<tree, 2> unused;
    vec<tree, va_gc> *outputs = NULL;
    for (unsigned i = 0; i < cs_point_registers(&point); i++) {
        tree constraint = build_tree_list(NULL_TREE, build_string(4, "=&r"));
        tree scratch = make_ssa_name(long_unsigned_type_node);
        vec_safe_push(outputs, build_tree_list(constraint, scratch));
    }
    gasm *g = gimple_build_asm_vec(ggc_strdup(text), NULL, outputs, NULL, NULL);
    gimple_asm_set_volatile(g, true);
    gimple_asm_set_inline(g, true);
    gimple_set_location(g, where); /* samples of a point belong to its region's line */
    for (unsigned i = 0; i < gimple_asm_noutputs(g); i++)
        SSA_NAME_DEF_STMT(TREE_VALUE(gimple_asm_output_op(g, i))) = g;
    points++;
    return g;
}

void instrumenter::at_start(basic_block bb, gimple *g)
{
    gimple_stmt_iterator gsi = gsi_after_labels(bb);
    if (g)
        gsi_insert_before(&gsi, g, GSI_NEW_STMT);
}

/* ---- calls ---- */

static bool takes_function(gcall *call)
{
    for (unsigned i = 0; i < gimple_call_num_args(call); i++) {
        tree type = TREE_TYPE(gimple_call_arg(call, i));
        if (POINTER_TYPE_P(type) && FUNC_OR_METHOD_TYPE_P(TREE_TYPE(type)))
            return true;
    }
    return false;
}

/* Whether code that writes tags may run in the call. Functions that are compiled elsewhere and declared in
 * system headers do so only where they call back: those that are said not to (attribute leaf, as the C
 * library's are) and the compiler's own do not, unless they are given a function. */
bool instrumenter::comes_back_tagged(gcall *call) const
{
    if (gimple_call_internal_p(call) || gimple_call_noreturn_p(call))
        return false;
    tree callee = gimple_call_fndecl(call);
    if (!callee)
        return true;
    if (quiet->contains(DECL_UID(callee)))
        return false;
    if (DECL_NAME(callee) && !takes_function(call) &&
        cs_point_brief(&options, IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(callee)),
                       IDENTIFIER_POINTER(DECL_NAME(callee))))
        return false;
    const bool elsewhere =
        fndecl_built_in_p(callee) ||
        (DECL_EXTERNAL(callee) && DECL_IN_SYSTEM_HEADER(callee) && (gimple_call_flags(call) & ECF_LEAF) != 0);
    return !elsewhere || takes_function(call) || (gimple_call_flags(call) & ECF_RETURNS_TWICE) != 0;
}

/* Whether what is called writes a tag of its own before it does anything else. Of functions elsewhere in the
 * program that is assumed with "trusting" only: many are too small for a tag. */
bool instrumenter::writes_at_once(gcall *call) const
{
    if (!comes_back_tagged(call) || (gimple_call_flags(call) & ECF_RETURNS_TWICE) != 0)
        return false;
    tree callee = gimple_call_fndecl(call);
    if (!callee)
        return !options.strict;
    if (fndecl_built_in_p(callee))
        return false;
    return taggers->contains(DECL_UID(callee)) ||
           (!options.strict && DECL_EXTERNAL(callee) && !DECL_IN_SYSTEM_HEADER(callee));
}

/* Whether on every way from here the next point or return comes before `left` units of work: then a point
 * here would name what nobody can see. Where another region begins, it has a point, unless that one is
 * silent. */
bool instrumenter::soon_over(basic_block bb, gimple_stmt_iterator gsi, int left, unsigned blocks) const
{
    for (; !gsi_end_p(gsi); gsi_next(&gsi)) {
        gimple *g = gsi_stmt(gsi);
        if (is_gimple_debug(g) || gimple_code(g) == GIMPLE_LABEL || gimple_clobber_p(g))
            continue;
        if (gimple_code(g) == GIMPLE_RETURN)
            return true;
        if (is_gimple_call(g) && writes_at_once(as_a<gcall *>(g)))
            return true;
        left -= estimate_num_insns(g, &eni_size_weights);
        if (left < 0 || is_gimple_call(g))
            return false;
    }
    if (blocks == 0)
        return false;
    edge e;
    edge_iterator ei;
    FOR_EACH_EDGE(e, ei, bb->succs)
    {
        if (e->dest == EXIT_BLOCK_PTR_FOR_FN(fun))
            continue;
        if ((e->flags & (EDGE_EH | EDGE_ABNORMAL)) != 0)
            return false;
        if (region(e->dest) != region(bb) && !silent[e->dest->index])
            continue;
        if (!soon_over(e->dest, gsi_after_labels(e->dest), left, blocks - 1))
            return false;
    }
    return true;
}

bool instrumenter::soon_over(basic_block bb, gimple_stmt_iterator gsi) const
{
    return soon_over(bb, gsi, (int)options.short_stretch, LOOK_AHEAD);
}

/* Blocks that get no point where they are entered from another region. While this is found out all count as
 * silent, so that none leans on another. */
void instrumenter::find_silent()
{
    basic_block bb;
    silent.safe_grow_cleared(last_basic_block_for_fn(fun));
    auto_vec<bool> found;
    found.safe_grow_cleared(last_basic_block_for_fn(fun));
    FOR_EACH_BB_FN(bb, fun)
    silent[bb->index] = true;
    FOR_EACH_BB_FN(bb, fun)
    found[bb->index] = soon_over(bb, gsi_after_labels(bb));
    FOR_EACH_BB_FN(bb, fun)
    silent[bb->index] = found[bb->index];
}

static bool allocates(gcall *call)
{
    tree callee = gimple_call_fndecl(call);
    if (!callee)
        return false;
    if (DECL_IS_OPERATOR_NEW_P(callee))
        return true;
    return fndecl_built_in_p(callee, BUILT_IN_MALLOC) || fndecl_built_in_p(callee, BUILT_IN_CALLOC) ||
           fndecl_built_in_p(callee, BUILT_IN_REALLOC) || fndecl_built_in_p(callee, BUILT_IN_ALIGNED_ALLOC);
}

static edge fallthrough(basic_block bb)
{
    edge e;
    edge_iterator ei;
    FOR_EACH_EDGE(e, ei, bb->succs)
    if ((e->flags & (EDGE_EH | EDGE_ABNORMAL)) == 0)
        return e;
    return NULL;
}

void instrumenter::after_call(gimple_stmt_iterator *gsi, gcall *call)
{
    basic_block bb = gimple_bb(call);
    const bool count = options.count_allocations && allocates(call);
    bool tag = naming && comes_back_tagged(call) && !gimple_call_must_tail_p(call);
    const bool last = stmt_ends_bb_p(call);
    edge e = last ? fallthrough(bb) : NULL;
    if (last && (!e || e->dest == EXIT_BLOCK_PTR_FOR_FN(fun)))
        return;
    gimple_stmt_iterator next = *gsi;
    gsi_next(&next);
    if (e && region(e->dest) != region(bb))
        tag = false; /* the edge gets a point of its own, or is silent */
    else if (tag)
        tag = e ? !soon_over(e->dest, gsi_after_labels(e->dest)) : !soon_over(bb, next);
    gimple *g = tag || count ? make(bb, CS_POINT_BACK, tag, count ? 3 : 0) : NULL;
    if (!g)
        return;
    if (e)
        gsi_insert_on_edge(e, g);
    else
        gsi_insert_after(gsi, g, GSI_NEW_STMT);
}

void instrumenter::calls(basic_block bb)
{
    for (gimple_stmt_iterator gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi))
        if (gcall *call = dyn_cast<gcall *>(gsi_stmt(gsi)))
            after_call(&gsi, call);
}

/* ---- regions ---- */

/* Computed gotos have abnormal edges too, but no other code runs on the way. */
static bool is_goto(basic_block bb)
{
    gimple *last = last_stmt(bb);
    return last && gimple_code(last) == GIMPLE_GOTO;
}

void instrumenter::edges()
{
    basic_block bb;
    FOR_EACH_BB_FN(bb, fun)
    {
        edge e;
        edge_iterator ei;
        unsigned wanted = 0;
        bool unsplittable = false;
        FOR_EACH_EDGE(e, ei, bb->preds)
        {
            const bool whole = (e->flags & (EDGE_EH | EDGE_ABNORMAL)) != 0;
            const bool arrives = whole && !is_goto(e->src);
            const bool enters = e->src != ENTRY_BLOCK_PTR_FOR_FN(fun) && region(e->src) != region(bb);
            wanted += arrives || enters;
            unsplittable |= whole && (arrives || enters);
        }
        if (wanted == 0 || silent[bb->index])
            continue;
        const bool is_header = region(bb) != 0 && region_loop(bb)->header == bb;
        const enum cs_point_kind kind = is_header ? CS_POINT_LOOP : CS_POINT_BACK;
        if (unsplittable || wanted == EDGE_COUNT(bb->preds)) {
            at_start(bb, make(bb, kind, true, 0));
            continue;
        }
        FOR_EACH_EDGE(e, ei, bb->preds)
        if (e->src != ENTRY_BLOCK_PTR_FOR_FN(fun) && region(e->src) != region(bb))
            if (gimple *g = make(bb, kind, true, 0))
                gsi_insert_on_edge(e, g);
    }
}

void instrumenter::iterations()
{
    for (auto l : loops_list(fun, 0)) {
        const bool tag = tagging && options.every_iteration && region(l->header) == l->num;
        if (tag || options.count_iterations)
            at_start(l->header, make(l->header, CS_POINT_LOOP, tag, options.count_iterations ? 1 : 0));
    }
}

void instrumenter::entry()
{
    edge e = single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(fun));
    const bool tag = tagging && !silent[e->dest->index];
    if (!tag && !options.count_calls)
        return;
    /* A function that starts in a loop gets its point from there. */
    if (gimple *g = make(e->dest, region(e->dest) ? CS_POINT_LOOP : CS_POINT_METHOD, tag,
                         options.count_calls ? 2 : 0))
        gsi_insert_on_edge(e, g);
}

unsigned instrumenter::run()
{
    const bool had_loops = loops_for_fn(fun) != NULL;
    loop_optimizer_init(AVOID_CFG_MODIFICATIONS);
    calculate_dominance_info(CDI_DOMINATORS);
    measure();

    int size = 0;
    bool has_loop = false, calls_tagged = false;
    basic_block bb;
    FOR_EACH_BB_FN(bb, fun)
    {
        size += size_of[bb->index];
        has_loop |= region(bb) != 0;
        for (gimple_stmt_iterator g = gsi_start_bb(bb); !gsi_end_p(g); gsi_next(&g))
            if (gcall *call = dyn_cast<gcall *>(gsi_stmt(g)))
                calls_tagged |= comes_back_tagged(call);
    }
    /* A small function is part of its caller, until it called what writes tags: the caller's is gone then. */
    tagging = has_loop || size >= (int)options.min_body;
    naming = tagging || calls_tagged;
    if (tagging)
        taggers->add(DECL_UID(fun->decl));
    else if (!calls_tagged)
        quiet->add(DECL_UID(fun->decl));
    find_silent();
    if (tagging || options.count_calls)
        entry();
    if (options.every_iteration || options.count_iterations)
        iterations();
    FOR_EACH_BB_FN(bb, fun)
    calls(bb);
    if (naming)
        edges();
    gsi_commit_edge_inserts();
    if (options.verbose)
        inform(DECL_SOURCE_LOCATION(fun->decl), "cyclescope: %u points in %qD (size %d)", points, fun->decl,
               size);
    loop_optimizer_finalize();
    (void)had_loops;
    free_dominance_info(CDI_DOMINATORS);
    return points ? TODO_cleanup_cfg : 0;
}

static bool resolves_ifunc(tree decl)
{
    cgraph_node *node = cgraph_node::get(decl);
    if (!node)
        return false;
    ipa_ref *ref;
    for (unsigned i = 0; node->iterate_direct_aliases(i, ref); i++)
        if (lookup_attribute("ifunc", DECL_ATTRIBUTES(ref->referring->decl)))
            return true;
    return false;
}

class cs_pass : public gimple_opt_pass
{
  public:
    explicit cs_pass(gcc::context *context) : gimple_opt_pass(cs_pass_data, context) {}
    bool gate(function *f) final override
    {
        tree d = f->decl;
        const char *source = DECL_NAME(d) ? IDENTIFIER_POINTER(DECL_NAME(d)) : "";
        return !lookup_attribute("no_instrument_function", DECL_ATTRIBUTES(d)) &&
               !lookup_attribute("naked", DECL_ATTRIBUTES(d)) &&
               !lookup_attribute("interrupt", DECL_ATTRIBUTES(d)) && !resolves_ifunc(d) &&
               cs_point_wanted(&options, IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(d)), source);
    }
    unsigned execute(function *f) final override { return instrumenter(f).run(); }
};

const pass_data cs_entry_data = {RTL_PASS, "cyclescope_entry", OPTGROUP_NONE, TV_NONE, 0, 0, 0, 0, 0};

/* The entry's point before the prologue, so that saving registers is the method's own time. A point without
 * registers may stand anywhere before the next one. */
class cs_entry_pass : public rtl_opt_pass
{
  public:
    explicit cs_entry_pass(gcc::context *context) : rtl_opt_pass(cs_entry_data, context) {}
    bool gate(function *) final override { return optimize > 0; }
    unsigned execute(function *f) final override
    {
        basic_block bb = ENTRY_BLOCK_PTR_FOR_FN(f)->next_bb;
        rtx_insn *insn, *first = NULL;
        FOR_BB_INSNS(bb, insn)
        {
            if (!NONDEBUG_INSN_P(insn))
                continue;
            rtx text = extract_asm_operands(PATTERN(insn));
            if (text && cs_point_may_move(ASM_OPERANDS_TEMPLATE(text))) {
                if (first)
                    reorder_insns(insn, insn, PREV_INSN(first));
                return 0;
            }
            if (JUMP_P(insn) || CALL_P(insn) || text)
                return 0;
            if (!first)
                first = insn;
        }
        return 0;
    }
};
} // namespace

int plugin_init(struct plugin_name_args *args, struct plugin_gcc_version *version)
{
    if (!plugin_default_version_check(version, &gcc_version)) {
        error("the cyclescope plugin was built for GCC %s, this is %s: build it again with this compiler",
              gcc_version.basever, version->basever);
        return 1;
    }
    cs_point_options_init(&options);
    for (int i = 0; i < args->argc; i++) {
        char why[512];
        if (!cs_point_option(&options, args->argv[i].key, args->argv[i].value, why, sizeof why)) {
            error("%s", why);
            return 1;
        }
    }
    quiet = new decl_set;
    taggers = new decl_set;
    struct register_pass_info pass = {new cs_pass(g), "optimized", 1, PASS_POS_INSERT_AFTER};
    register_callback(args->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &pass);
    struct register_pass_info entry_pass = {new cs_entry_pass(g), "pro_and_epilogue", 1,
                                            PASS_POS_INSERT_AFTER};
    register_callback(args->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &entry_pass);
    static struct plugin_info about = {"1", "writes a tag per method and loop; options: see docs/signals.md"};
    register_callback(args->base_name, PLUGIN_INFO, NULL, &about);
    return 0;
}
