/* SPDX-License-Identifier: MIT */
/* Clang pass plugin: the same tag points as the GCC plugin's (plugin.cc says which, and why there), from LLVM's
 * intermediate code. Here is what needs the compiler's structures; options, names and the assembler text of a point are
 * in point.c, for both.
 *
 *      clang -fpass-plugin=cyclescope-clang.so                                  defaults
 *      clang -fplugin=... -fpass-plugin=... -mllvm -cyclescope=methods          an option; as often as wanted
 *
 * C++, because LLVM's C interface can neither register a pass nor ask for loops, dominators and costs.
 *
 * The pass runs at the end of the optimisation pipeline: vectorisation, unrolling and inlining have happened. Points are
 * inline assembler that touches no memory the program knows, so that code may move across them as far as it may across
 * a call of a function that reads and writes nothing of it. Callees are taken before their callers, so that it is known
 * whether they write a tag. */
#include "llvm/ADT/SCCIterator.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include "signals/plugin/point.h"

using namespace llvm;

#define LOOK_AHEAD 4u /* blocks on the way to the next point */

static cl::list<std::string> given("cyclescope",
                                   cl::desc("cyclescope plugin: NAME[=VALUE], see docs/signals.md"));

namespace
{
/* What is known of a whole module. */
struct module_work {
    cs_point_options options;
    DenseSet<const Function *> taggers; /* that write their own tag first */
    DenseSet<const Function *> quiet;   /* that write no tag, nor call any that may */
    DenseSet<const Function *> resolvers;
    bool position_independent;
};

/* One function's work. */
class instrumenter
{
  public:
    instrumenter(module_work &work, Function &function, FunctionAnalysisManager &analyses)
        : module(work), fun(function), loops(analyses.getResult<LoopAnalysis>(function)),
          evolution(analyses.getResult<ScalarEvolutionAnalysis>(function)),
          costs(analyses.getResult<TargetIRAnalysis>(function)),
          library(analyses.getResult<TargetLibraryAnalysis>(function)),
          dominators(analyses.getResult<DominatorTreeAnalysis>(function))
    {
    }
    unsigned run();

  private:
    module_work &module;
    Function &fun;
    LoopInfo &loops;
    ScalarEvolution &evolution;
    TargetTransformInfo &costs;
    TargetLibraryInfo &library;
    DominatorTree &dominators;
    const cs_point_options &options = module.options;
    DenseMap<const Loop *, unsigned> number;        /* of loops that count, from 1 */
    DenseMap<const BasicBlock *, Loop *> region_of; /* NULL: the method */
    DenseMap<const BasicBlock *, bool> silent;      /* entered from another region without a point */
    DenseMap<std::pair<BasicBlock *, BasicBlock *>, Instruction *> on_edges;
    struct wanted {
        Instruction *before; /* NULL: on the edge */
        BasicBlock *from, *to;
        Loop *region;
        cs_point_kind kind;
        bool tag;
        unsigned add_word;
    };
    std::vector<wanted> points;
    bool tagging = false; /* has points of its own at entry */
    bool naming = false;  /* has points where control comes back */

    static bool split_from(const Loop *inner, const Loop *outer);
    int size(const Instruction &i) const;
    void measure();
    DebugLoc place(const Loop *l) const;
    void insert(const wanted &w);
    Instruction *edge(BasicBlock *from, BasicBlock *to);
    void at_start(BasicBlock *bb, cs_point_kind kind, bool tag, unsigned add_word);
    bool comes_back_tagged(const CallBase &call) const;
    bool writes_at_once(const CallBase &call) const;
    bool elsewhere(const Function &callee) const;
    bool soon_over(const BasicBlock *bb, BasicBlock::const_iterator at, int left, unsigned blocks) const;
    bool soon_over(const BasicBlock *bb, BasicBlock::const_iterator at) const
    {
        return soon_over(bb, at, (int)options.short_stretch, LOOK_AHEAD);
    }
    void find_silent();
    void entry();
    void iterations();
    void edges(BasicBlock *bb);
    void after_call(CallBase *call);
};

int instrumenter::size(const Instruction &i) const
{
    if (isa<PHINode>(i) || isa<DbgInfoIntrinsic>(i) || i.isLifetimeStartOrEnd())
        return 0;
    const InstructionCost cost = costs.getInstructionCost(&i, TargetTransformInfo::TCK_CodeSize);
    return cost.isValid() && *cost.getValue() < 1000 ? (int)*cost.getValue() : 1000;
}

/* LLVM makes two of a loop that `continue` leads back to: one loop in the source, so one region. Only debug information
 * tells. */
bool instrumenter::split_from(const Loop *inner, const Loop *outer)
{
    return outer && inner->getLoopID() && outer->getLoopID() && inner->getStartLoc() &&
           inner->getStartLoc() == outer->getStartLoc();
}

void instrumenter::measure()
{
    unsigned n = 0;
    for (Loop *l : loops.getLoopsInPreorder()) {
        uint64_t work = 1, most = evolution.getSmallConstantMaxTripCount(l);
        n++;
        if (!options.loops || split_from(l, l->getParentLoop()))
            continue;
        for (const BasicBlock *bb : l->blocks())
            for (const Instruction &i : *bb)
                work += (uint64_t)size(i);
        /* A loop that is known to be over after little work belongs to what is around it. */
        if (options.min_loop == 0 || most == 0 || most * work > options.min_loop)
            number[l] = n;
    }
    for (BasicBlock &bb : fun) {
        Loop *l = loops.getLoopFor(&bb);
        while (l && !number.count(l))
            l = l->getParentLoop();
        region_of[&bb] = l;
    }
}

/* Where a loop stands in the source: its exit condition's line (not that of what was inlined into it), else its first
 * statement's. A method: its declaration's. */
DebugLoc instrumenter::place(const Loop *l) const
{
    DISubprogram *declared = fun.getSubprogram();
    if (l) {
        SmallVector<BasicBlock *, 4> exiting;
        l->getExitingBlocks(exiting);
        const DebugLoc start = l->getStartLoc();
        for (const BasicBlock *bb : exiting) {
            const DebugLoc at = bb->getTerminator()->getDebugLoc();
            if (isa<BranchInst>(bb->getTerminator()) && at && at.getLine() > 0 &&
                (!start || at->getInlinedAt() == start->getInlinedAt()))
                return at;
        }
        if (start && start.getLine() > 0)
            return start;
        for (const Instruction &i : *l->getHeader())
            if (!isa<DbgInfoIntrinsic>(i) && i.getDebugLoc() && i.getDebugLoc().getLine() > 0)
                return i.getDebugLoc();
    }
    return declared ? DebugLoc(DILocation::get(fun.getContext(), declared->getLine(), 0, declared))
                    : DebugLoc();
}

/* The place of points on an edge: in the block before or behind it, else in a new one between. */
Instruction *instrumenter::edge(BasicBlock *from, BasicBlock *to)
{
    Instruction *&at = on_edges[{from, to}];
    if (at)
        return at;
    Instruction *last = from->getTerminator();
    if (last->getNumSuccessors() == 1)
        return at = last;
    if (to->getSinglePredecessor())
        return at = &*to->getFirstInsertionPt();
    BasicBlock *between =
        SplitCriticalEdge(last, GetSuccessorNumber(from, to),
                          CriticalEdgeSplittingOptions(&dominators, &loops).setMergeIdenticalEdges());
    return at = between ? between->getTerminator() : nullptr;
}

void instrumenter::insert(const wanted &w)
{
    Instruction *before = w.before ? w.before : edge(w.from, w.to);
    const DebugLoc where = place(w.region);
    const std::string file =
        where ? cast<DIScope>(where.getScope())->getFilename().str() : fun.getParent()->getSourceFileName();
    const std::string name = fun.getName().str();
    cs_point point = {};
    point.kind = w.kind;
    point.position_independent = module.position_independent;
    point.tls = point.position_independent || options.shared_runtime ? CS_TLS_POINTER : CS_TLS_PAGE;
    point.tag = w.tag;
    point.add_words = (w.add_word ? 1u << w.add_word : 0) | (w.tag && options.count_points ? 1u << 14 : 0);
    point.file = file.c_str();
    point.function = name.c_str();
    point.line = where ? where.getLine() : 0;
    point.loop = w.region ? number[w.region] : 0;
    point.depth = w.region ? w.region->getLoopDepth() : 0;
    char text[4096], translated[4096];
    if (!before || cs_point_text(&point, text, sizeof text) == 0 ||
        cs_point_text_llvm(text, translated, sizeof translated) == 0)
        return;
    IRBuilder<> at(before);
    at.SetCurrentDebugLocation(where); /* samples of a point belong to its region's line */
    Type *word = at.getInt64Ty();
    const unsigned registers = cs_point_registers(&point);
    Type *outputs = registers == 0 ? at.getVoidTy() : registers == 1 ? word : StructType::get(word, word);
    const char *constraints = registers == 0   ? "~{dirflag},~{fpsr},~{flags}"
                              : registers == 1 ? "=&r,~{dirflag},~{fpsr},~{flags}"
                                               : "=&r,=&r,~{dirflag},~{fpsr},~{flags}";
    if (!point.add_words) /* moves leave the flags alone */
        constraints = registers == 0 ? "" : registers == 1 ? "=&r" : "=&r,=&r";
    CallInst *call =
        at.CreateCall(InlineAsm::get(FunctionType::get(outputs, false), translated, constraints, true));
    call->setOnlyAccessesInaccessibleMemory();
    call->setDoesNotThrow();
    call->addFnAttr(Attribute::WillReturn);
}

void instrumenter::at_start(BasicBlock *bb, cs_point_kind kind, bool tag, unsigned add_word)
{
    points.push_back({&*bb->getFirstInsertionPt(), nullptr, bb, region_of[bb], kind, tag, add_word});
}

/* ---- calls ---- */

static bool takes_function(const CallBase &call)
{
    for (const Value *argument : call.args())
        if (argument->getType()->isPointerTy() && isa<Function>(argument->stripPointerCasts()))
            return true;
#if LLVM_VERSION_MAJOR < 17 /* later types of pointers don't say to what */
    for (const Type *type : call.getFunctionType()->params())
        if (type->isPointerTy() && !type->isOpaquePointerTy() &&
            type->getNonOpaquePointerElementType()->isFunctionTy())
            return true;
#endif
    return false;
}

/* Functions of the C library that the compiler knows, and those that are said not to call back. */
bool instrumenter::elsewhere(const Function &callee) const
{
    LibFunc known;
    return callee.isDeclaration() &&
           ((library.getLibFunc(callee, known) && callee.getName().take_front(2) != "_Z") ||
            callee.hasFnAttribute(Attribute::NoCallback));
}

/* Whether code that writes tags may run in the call. */
bool instrumenter::comes_back_tagged(const CallBase &call) const
{
    if (isa<IntrinsicInst>(call) || call.isInlineAsm() || call.doesNotReturn())
        return false;
    const auto *callee = dyn_cast<Function>(call.getCalledOperand()->stripPointerCasts());
    if (!callee)
        return true;
    if (module.quiet.count(callee))
        return false;
    const DISubprogram *declared = callee->getSubprogram();
    const std::string name = callee->getName().str(), source = declared ? declared->getName().str() : name;
    if (!takes_function(call) && cs_point_brief(&options, name.c_str(), source.c_str()))
        return false;
    return !elsewhere(*callee) || takes_function(call) || call.hasFnAttr(Attribute::ReturnsTwice);
}

/* Whether what is called writes a tag of its own before it does anything else. */
bool instrumenter::writes_at_once(const CallBase &call) const
{
    if (!comes_back_tagged(call) || call.hasFnAttr(Attribute::ReturnsTwice))
        return false;
    const auto *callee = dyn_cast<Function>(call.getCalledOperand()->stripPointerCasts());
    if (!callee)
        return !options.strict;
    return module.taggers.count(callee) ||
           (!options.strict && callee->isDeclaration() && !elsewhere(*callee));
}

/* Whether on every way from here the next point or return comes before `left` units of work: then a point here would
 * name what nobody can see. Where another region begins, it has a point, unless that one is silent. */
bool instrumenter::soon_over(const BasicBlock *bb, BasicBlock::const_iterator at, int left,
                             unsigned blocks) const
{
    for (; at != bb->end(); ++at) {
        const Instruction &i = *at;
        const auto *call = dyn_cast<CallBase>(&i);
        if (isa<ReturnInst>(i))
            return true;
        if (call && writes_at_once(*call))
            return true;
        left -= size(i);
        if (left < 0 || (call && !isa<DbgInfoIntrinsic>(i) && !i.isLifetimeStartOrEnd() &&
                         (!isa<IntrinsicInst>(i) || isa<MemIntrinsic>(i))))
            return false;
    }
    if (blocks == 0)
        return false;
    const Instruction *last = bb->getTerminator();
    if (isa<IndirectBrInst>(last) || isa<ResumeInst>(last))
        return false;
    for (const BasicBlock *next : successors(bb)) {
        if (region_of.lookup(next) != region_of.lookup(bb) && !silent.lookup(next))
            continue;
        if (!soon_over(next, next->getFirstNonPHI()->getIterator(), left, blocks - 1))
            return false;
    }
    return true;
}

/* Blocks that get no point where they are entered from another region. While this is found out all count as silent, so
 * that none leans on another. */
void instrumenter::find_silent()
{
    DenseMap<const BasicBlock *, bool> found;
    for (const BasicBlock &bb : fun)
        silent[&bb] = true;
    for (const BasicBlock &bb : fun)
        found[&bb] = soon_over(&bb, bb.getFirstNonPHI()->getIterator());
    silent = found;
}

static bool allocates(const CallBase &call)
{
    const Function *callee = call.getCalledFunction();
    const StringRef name = callee ? callee->getName() : "";
    return name == "malloc" || name == "calloc" || name == "realloc" || name == "aligned_alloc" ||
           name.take_front(4) == "_Znw" || name.take_front(4) == "_Zna";
}

void instrumenter::after_call(CallBase *call)
{
    const bool count = options.count_allocations && allocates(*call);
    bool tag = naming && comes_back_tagged(*call) && !call->isMustTailCall();
    BasicBlock *bb = call->getParent();
    if (auto *invoke = dyn_cast<InvokeInst>(call)) {
        BasicBlock *next = invoke->getNormalDest();
        if (region_of[next] != region_of[bb])
            tag = false; /* the edge gets a point of its own, or is silent */
        else if (tag)
            tag = !soon_over(next, next->getFirstNonPHI()->getIterator());
        if (tag || count)
            points.push_back({nullptr, bb, next, region_of[bb], CS_POINT_BACK, tag, count ? 3u : 0u});
    } else if (auto *plain = dyn_cast<CallInst>(call)) {
        Instruction *next = plain->getNextNode();
        if (!next || isa<UnreachableInst>(next))
            return;
        if (tag)
            tag = !soon_over(bb, next->getIterator());
        if (tag || count)
            points.push_back({next, nullptr, bb, region_of[bb], CS_POINT_BACK, tag, count ? 3u : 0u});
    }
}

/* ---- regions ---- */

void instrumenter::edges(BasicBlock *bb)
{
    unsigned wanted = 0, all = 0;
    bool unsplittable = false;
    Loop *region = region_of[bb];
    if (silent[bb])
        return;
    SmallSetVector<BasicBlock *, 8> from;
    for (BasicBlock *before : predecessors(bb)) {
        const bool enters = region_of[before] != region;
        const Instruction *last = before->getTerminator();
        all++;
        if (!enters && !bb->isEHPad())
            continue;
        wanted++;
        unsplittable |= bb->isEHPad() || isa<IndirectBrInst>(last) || isa<CallBrInst>(last);
        from.insert(before);
    }
    if (wanted == 0)
        return;
    const cs_point_kind kind = region && region->getHeader() == bb ? CS_POINT_LOOP : CS_POINT_BACK;
    if (unsplittable || wanted == all)
        return at_start(bb, kind, true, 0);
    for (BasicBlock *before : from)
        points.push_back({nullptr, before, bb, region, kind, true, 0});
}

void instrumenter::iterations()
{
    for (Loop *l : loops.getLoopsInPreorder()) {
        if (any_of(*l, [l](const Loop *inner) { return split_from(inner, l); }))
            continue; /* the inner one's header is passed each time */
        const bool tag = tagging && options.every_iteration && region_of[l->getHeader()] == l;
        if (tag || options.count_iterations)
            at_start(l->getHeader(), CS_POINT_LOOP, tag, options.count_iterations ? 1 : 0);
    }
}

void instrumenter::entry()
{
    BasicBlock *first = &fun.getEntryBlock();
    const bool tag = tagging && !silent[first];
    if (tag || options.count_calls)
        at_start(first, CS_POINT_METHOD, tag, options.count_calls ? 2 : 0);
}

unsigned instrumenter::run()
{
    measure();
    int all = 0;
    bool has_loop = false, calls_tagged = false;
    for (BasicBlock &bb : fun) {
        has_loop |= region_of[&bb] != nullptr;
        for (Instruction &i : bb) {
            all += size(i);
            if (auto *call = dyn_cast<CallBase>(&i))
                calls_tagged |= comes_back_tagged(*call);
        }
    }
    /* A small function is part of its caller, until it called what writes tags: the caller's is gone then. */
    tagging = has_loop || all >= (int)options.min_body;
    naming = tagging || calls_tagged;
    if (tagging)
        module.taggers.insert(&fun);
    else if (!calls_tagged)
        module.quiet.insert(&fun);
    find_silent();
    entry();
    if (options.every_iteration || options.count_iterations)
        iterations();
    for (BasicBlock &bb : fun)
        for (Instruction &i : bb)
            if (auto *call = dyn_cast<CallBase>(&i))
                after_call(call);
    if (naming)
        for (BasicBlock &bb : fun)
            edges(&bb);
    for (const wanted &w : points)
        insert(w);
    if (options.verbose)
        errs() << "cyclescope: " << points.size() << " points in '" << fun.getName() << "' (size " << all
               << ")\n";
    return (unsigned)points.size();
}

class cs_pass : public PassInfoMixin<cs_pass>
{
  public:
    static bool isRequired() { return true; } /* without optimisation, too */

    PreservedAnalyses run(Module &m, ModuleAnalysisManager &analyses)
    {
        module_work work;
        unsigned points = 0;
        if (!prepare(work, m))
            return PreservedAnalyses::all();
        auto &of_functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(m).getManager();
        std::vector<Function *> functions; /* callees first */
        CallGraph graph(m);
        for (auto scc = scc_begin(&graph); !scc.isAtEnd(); ++scc)
            for (CallGraphNode *node : *scc)
                if (Function *f = node->getFunction())
                    functions.push_back(f);
        for (Function *f : functions)
            if (wanted(work, *f))
                points += instrumenter(work, *f, of_functions).run();
        if (points && !m.getNamedValue("__ehdr_start")) {
            /* With -flto the linker must know before it compiles that the points need it. */
            auto *start = new GlobalVariable(m, Type::getInt8Ty(m.getContext()), true,
                                             GlobalValue::ExternalLinkage, nullptr, "__ehdr_start");
            start->setVisibility(GlobalValue::HiddenVisibility);
            appendToCompilerUsed(m, {start});
        }
        return points ? PreservedAnalyses::none() : PreservedAnalyses::all();
    }

  private:
    static bool prepare(module_work &work, Module &m)
    {
        cs_point_options_init(&work.options);
        for (const std::string &option : given) {
            const auto parts = StringRef(option).split('=');
            const std::string key = parts.first.str(), value = parts.second.str();
            char why[512];
            /* Lists are kept by the options: as long as the compiler runs. */
            if (!cs_point_option(&work.options, key.c_str(),
                                 option.find('=') == std::string::npos ? nullptr : strdup(value.c_str()), why,
                                 sizeof why)) {
                m.getContext().emitError(why);
                return false;
            }
        }
        if (Triple(m.getTargetTriple()).getArch() != Triple::x86_64) {
            m.getContext().emitError("cyclescope plugin: it knows x86-64 only, this is " +
                                     m.getTargetTriple());
            return false;
        }
        work.position_independent =
            m.getPICLevel() != PICLevel::NotPIC && m.getPIELevel() == PIELevel::Default;
        for (const GlobalIFunc &ifunc : m.ifuncs())
            if (const Function *resolver = ifunc.getResolverFunction())
                work.resolvers.insert(resolver);
        return true;
    }

    static bool wanted(const module_work &work, const Function &f)
    {
        const DISubprogram *declared = f.getSubprogram();
        const std::string name = f.getName().str(), source = declared ? declared->getName().str() : name;
        return !f.isDeclaration() && !f.hasAvailableExternallyLinkage() &&
               !f.hasFnAttribute(Attribute::Naked) && !f.hasFnAttribute(Attribute::NoProfile) &&
               f.getCallingConv() != CallingConv::X86_INTR && !work.resolvers.count(&f) &&
               cs_point_wanted(&work.options, name.c_str(), source.c_str());
    }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo()
{
    return {LLVM_PLUGIN_API_VERSION, "cyclescope", "1", [](PassBuilder &builder) {
                builder.registerOptimizerLastEPCallback(
                    [](ModulePassManager &passes, OptimizationLevel) { passes.addPass(cs_pass()); });
            }};
}
