// SPDX-License-Identifier: MIT
// The trace cache: lines of instructions in the order in which they were fetched, so that taken
// branches within a line cost nothing. Fetch is in one of two modes. It delivers lines that are
// here. It builds a line from instructions that it reads by line look-ups, when one is missing.
// Lines hold addresses only: the flow reads the instructions, so a line cannot be wrong, but late.
#include "timing/ooo/ooo.h"

#include "base/bits.h"

struct trace_cache {
    uint32_t ways, set_mask, uops, branches, line_cycles;
    uint64_t clock;
    trace_line *lines;
};

tl_status trace_new(const tl_core_config *config, tl_arena *arena, trace_cache **ret_traces, tl_error *err) {
    const uint32_t n_lines = config->trace_uops / config->trace_line_uops;
    trace_cache *traces = tl_arena_alloc(arena, sizeof *traces);
    if (!traces || !(traces->lines = tl_arena_alloc(arena, n_lines * sizeof *traces->lines)))
        return tl_fail(err, TL_ENOMEM, "no memory for the trace cache");
    traces->ways = config->trace_ways;
    traces->set_mask = n_lines / config->trace_ways - 1;
    traces->uops = config->trace_line_uops;
    traces->branches = config->trace_branches;
    traces->line_cycles = config->trace_line_cycles;
    *ret_traces = traces;
    return TL_OK;
}

// Heads of neighboring lines differ by some eight bytes or more.
static trace_line *set_of(const trace_cache *traces, uint64_t pc) { return &traces->lines[(pc >> 3 & traces->set_mask) * traces->ways]; }

static bool begins_with(const trace_line *line, const tl_core *core, uint64_t pc) {
    return line->pc[0] == pc && line->n_insns != 0 && line->thread == core->thread;
}

static trace_line *find(const tl_core *core, uint64_t pc) {
    const trace_cache *traces = core->shared->traces;
    trace_line *set = set_of(traces, pc);
    for (uint32_t way = 0; way < traces->ways; way++)
        if (begins_with(&set[way], core, pc))
            return &set[way];
    return NULL;
}

static void drop_built(tl_core *core) { core->trace.built.n_insns = core->trace.built.n_uops = core->trace.built.n_branches = 0; }

void trace_end(tl_core *core) {
    trace_cache *traces = core->shared->traces;
    trace_line *built = &core->trace.built, *set = set_of(traces, built->pc[0]), *victim = &set[0];
    if (built->n_insns == 0)
        return;
    for (uint32_t way = 0; way < traces->ways; way++) {
        if (begins_with(&set[way], core, built->pc[0])) {
            victim = &set[way];
            break;
        }
        if (victim->n_insns != 0 && (set[way].n_insns == 0 || set[way].used_at < victim->used_at))
            victim = &set[way];
    }
    core->tally[CORE_TRACE_FILL] += 1;
    core->tally[CORE_TRACE_EVICT] += victim->n_insns != 0 && !begins_with(victim, core, built->pc[0]);
    *victim = *built;
    victim->used_at = ++traces->clock;
    victim->thread = (uint8_t)core->thread;
    drop_built(core);
}

static void forget_lines(tl_core *core) {
    const trace_cache *traces = core->shared->traces;
    trace_line *end = traces->lines + (traces->set_mask + 1) * traces->ways;
    for (trace_line *line = traces->lines; line < end; line++)
        if (line->n_insns != 0 && line->thread == core->thread) {
            core->tally[CORE_TRACE_FLUSH] += 1;
            line->n_insns = 0;
        }
    drop_built(core);
    core->trace.n_left = 0;
}

void trace_redirect(tl_core *core) {
    drop_built(core);
    core->trace.n_left = 0;
    core->trace.line_until = 0;
}

trace_mode trace_find(tl_core *core, uint64_t pc, bool is_first) {
    trace_reader *trace = &core->trace;
    tl_hart *h = core->h;
    if (TL_UNLIKELY(trace->code_generation != h->code_generation || trace->context != h->context)) {
        trace->code_generation = h->code_generation;
        trace->context = h->context;
        forget_lines(core);
    }
    if (trace->n_left != 0 && trace->line.pc[trace->line.n_insns - trace->n_left] == pc)
        return TRACE_DELIVERS;
    if (trace->built.n_insns != 0)
        return TRACE_BUILDS;
    if (!is_first || h->now < trace->line_until)
        return TRACE_WAITS;
    core->tally[CORE_TRACE_LEFT] += trace->n_left != 0;
    core->tally[CORE_TRACE_LOOKUP] += 1;
    trace->n_left = 0;
    trace_line *line = find(core, pc);
    if (!line)
        return TRACE_BUILDS;
    line->used_at = ++core->shared->traces->clock;
    trace->line = *line;
    trace->n_left = line->n_insns;
    trace->line_until = h->now + core->shared->traces->line_cycles;
    core->tally[CORE_TRACE_HIT] += 1;
    return TRACE_DELIVERS;
}

void trace_build(tl_core *core, const tl_flow_insn *insn) {
    const trace_cache *traces = core->shared->traces;
    trace_line *built = &core->trace.built;
    const uint32_t cls = insn->pipe.cls;
    const uint32_t n_uops = cls == TL_CLASS_STORE || cls == TL_CLASS_FP_STORE ? 2 : 1;
    core->tally[CORE_BUILD_INSN] += 1;
    if (built->n_uops + n_uops > traces->uops)
        trace_end(core);
    built->pc[built->n_insns++] = insn->pc;
    built->n_uops = (uint8_t)(built->n_uops + n_uops);
    built->n_branches = (uint8_t)(built->n_branches + (cls == TL_CLASS_BRANCH));
    if (built->n_uops == traces->uops || built->n_branches == traces->branches || cls == TL_CLASS_JALR)
        trace_end(core);
}
