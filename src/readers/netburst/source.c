// SPDX-License-Identifier: MIT
// The counters of a Pentium 4 as the source of a report. Texts of events become MSR writes
// (pmu/netburst/catalogue.h), the same for each core. All events count all the time: those that
// want one detector are refused. Both threads of a core are counted, and hart 0 of the core has the
// count.
#include <string.h>

#include "base/bits.h"
#include "machine/keys.h"
#include "readers/netburst/source.h"

static const char sampled_by_default[] = "global_power_events:RUNNING";
static const char default_events[] =
    "instr_retired:NBOGUSNTAG+NBOGUSTAG,uops_retired:NBOGUS,global_power_events:RUNNING,branch_retired:MMNM+MMTM,replay_event:l1_load_miss";

static tl_status configure(const tl_run_options *options, const tl_pmu_preset *preset, tl_config *config, tl_error *err) {
    (void)preset;
    if (config->core.kind != TL_CORE_OUT_OF_ORDER)
        return tl_fail(err, TL_EINVAL, "-P netburst: machine %s has no detailed core, which this PMU counts; choose --machine netburst",
                       config->name);
    tl_keys_set(config, "pentium4", 1);
    if (options->sample_period != 0)
        tl_keys_set(config, "netburst.ds64", 1); // addresses of libraries have more than 32 bits
    return TL_OK;
}

// ---- The truth beside a count.

enum { LOADS = 1, STORES = 2 }; // of MSR_PEBS_MATRIX_VERT

// Events that the records of the core say, and the signals that count the same. cause: of
// MSR_PEBS_ENABLE; kinds: of MSR_PEBS_MATRIX_VERT; upstream: of a request that tags.
static const struct {
    uint8_t event;
    uint16_t mask;
    uint32_t cause, kinds;
    uint8_t upstream;
    uint16_t upstream_mask;
    const char *truth;
} truths[] = {
    {TL_NB_INSTR_RETIRED, 3, 0, 0, 0, 0, "instructions"},
    {TL_NB_INSTR_COMPLETED, 1, 0, 0, 0, 0, "instructions"},
    {TL_NB_UOPS_RETIRED, 1, 0, 0, 0, 0, "core.retire_uop + core.alone"},
    {TL_NB_UOPS_RETIRED, 2, 0, 0, 0, 0, "core.taken_back_uop"},
    {TL_NB_UOPS_RETIRED, 3, 0, 0, 0, 0, "core.retire_uop + core.alone + core.taken_back_uop"},
    {TL_NB_BRANCH_RETIRED, 15, 0, 0, 0, 0, "hart.insn_branch + hart.insn_jal + hart.insn_jalr"},
    {TL_NB_BRANCH_RETIRED, 10, 0, 0, 0, 0, "bp.cond_miss + bp.target_miss"},
    {TL_NB_BRANCH_RETIRED, 12, 0, 0, 0, 0, "hart.branch_taken + hart.insn_jal + hart.insn_jalr"},
    {TL_NB_MISPRED_BRANCH_RETIRED, 1, 0, 0, 0, 0, "bp.cond_miss + bp.target_miss"},
    {TL_NB_RETIRED_BRANCH_TYPE, 2, 0, 0, 0, 0, "hart.insn_branch"},
    {TL_NB_RETIRED_BRANCH_TYPE, 8, 0, 0, 0, 0, "hart.return"},
    {TL_NB_RETIRED_BRANCH_TYPE, 16, 0, 0, 0, 0, "hart.insn_jalr"},
    {TL_NB_RETIRED_MISPRED_BRANCH_TYPE, 2, 0, 0, 0, 0, "bp.cond_miss"},
    {TL_NB_GLOBAL_POWER_EVENTS, 1, 0, 0, 0, 0, "cycles"},
    {TL_NB_FRONT_END_EVENT, 1, 0, 0, TL_NB_UOP_TYPE, 2, "hart.insn_load + hart.insn_fp_load - hart.unc_read"},
    {TL_NB_FRONT_END_EVENT, 1, 0, 0, TL_NB_UOP_TYPE, 4, "hart.insn_store + hart.insn_fp_store - hart.unc_write"},
    {TL_NB_FRONT_END_EVENT, 1, 0, 0, TL_NB_UOP_TYPE, 6,
     "hart.insn_load + hart.insn_fp_load - hart.unc_read + hart.insn_store + hart.insn_fp_store - hart.unc_write"},
    {TL_NB_FRONT_END_EVENT, 2, 0, 0, TL_NB_UOP_TYPE, 2, "core.taken_back_load"},
    {TL_NB_REPLAY_EVENT, 1, 1 << 0, LOADS, 0, 0, "core.load_miss - core.load_miss_wrong"},
    {TL_NB_REPLAY_EVENT, 1, 1 << 2, LOADS, 0, 0, "core.load_dtlb_miss - core.load_dtlb_miss_wrong"},
    {TL_NB_REPLAY_EVENT, 1, 1 << 2, STORES, 0, 0, "core.store_dtlb_miss - core.store_dtlb_miss_wrong"},
    {TL_NB_REPLAY_EVENT, 1, 1 << 2, LOADS | STORES, 0, 0,
     "core.load_dtlb_miss - core.load_dtlb_miss_wrong + core.store_dtlb_miss - core.store_dtlb_miss_wrong"},
    {TL_NB_REPLAY_EVENT, 1, 1 << 10, LOADS, TL_NB_LOAD_PORT_REPLAY, 2, "core.load_split - core.load_split_wrong"},
    {TL_NB_REPLAY_EVENT, 1, 1 << 10, STORES, TL_NB_STORE_PORT_REPLAY, 2, "core.store_split"},
};

// The text of a formula; NULL: no signals say it.
static const char *truth_text(const tl_netburst_request *request, tl_arena *arena) {
    const char *text = NULL;
    if (request->owners != 0 || request->threads != 0 || request->context_mask != 0 || request->bounds != 0 || request->idle != 0 ||
        request->filter != 3 << TL_CCCR_THREAD_LSB)
        return NULL;
    for (uint32_t i = 0; i < TL_COUNT_OF(truths); i++)
        if (truths[i].event == request->event && truths[i].mask == request->mask && truths[i].upstream == request->upstream &&
            truths[i].upstream_mask == request->upstream_mask && truths[i].kinds == request->matrix_vert &&
            truths[i].cause == (request->pebs_enable & TL_PEBS_CAUSES))
            return truths[i].truth;
    for (uint32_t bit = 0; bit < 16; bit++) {
        const tl_netburst_mask *mask = tl_netburst_mask_of((tl_netburst_event)request->event, bit);
        if (!mask || !(request->mask >> bit & 1))
            continue;
        if (!mask->sources || !*mask->sources || strchr(mask->sources, '#'))
            return NULL;
        text = text ? tl_arena_printf(arena, "%s + %s", text, mask->sources) : mask->sources;
    }
    return text;
}

static tl_status describe(const tl_netburst_request *request, const char *name, uint32_t n_harts, tl_catalogue *catalogue, tl_arena *arena,
                          tl_counted *ret_counted, tl_error *err) {
    const char *text = truth_text(request, arena);
    *ret_counted = (tl_counted){.name = name, .unit = "", .meaning = ""};
    const tl_cell **cells = tl_arena_alloc(arena, n_harts * sizeof *cells);
    uint32_t *n_cells = tl_arena_alloc(arena, n_harts * sizeof *n_cells);
    if (!cells || !n_cells)
        return tl_no_memory(err);
    ret_counted->cells = cells;
    ret_counted->n_cells = n_cells;
    if (!text) {
        ret_counted->no_truth = "no signal counts it";
        return TL_OK;
    }
    ret_counted->truth_text = text;
    return tl_catalogue_formula(catalogue, text, &ret_counted->truth, err);
}

// ---- Resolution.

enum { CAUSE_SECOND_LEVEL = 1 << 1 }; // of MSR_PEBS_ENABLE

// Fails if not one of the wanted bits is modeled.
static tl_status refuse_mask(tl_netburst_event event, uint32_t wanted, const char *name, tl_error *err) {
    const char *reason = NULL;
    for (uint32_t bit = 0; bit < 16; bit++) {
        const tl_netburst_mask *mask = event == TL_NB_NO_EVENT || !(wanted >> bit & 1) ? NULL : tl_netburst_mask_of(event, bit);
        if (mask && mask->fidelity != TL_NOT_MODELED)
            return TL_OK;
        reason = mask ? mask->note : reason;
    }
    return reason ? tl_fail(err, TL_EINVAL, "pmu netburst: %s is not modeled: %s", name, reason) : TL_OK;
}

// A count that is always 0 would look like a real one.
static tl_status refuse_not_modeled(const tl_netburst_request *request, const char *name, tl_error *err) {
    const uint32_t cause = request->pebs_enable & TL_PEBS_CAUSES;
    if (cause == CAUSE_SECOND_LEVEL)
        return tl_fail(err, TL_EINVAL, "pmu netburst: %s is not modeled: No replay tells a miss of the second level.", name);
    const tl_status status = refuse_mask((tl_netburst_event)request->event, request->mask, name, err);
    return status == TL_OK ? refuse_mask((tl_netburst_event)request->upstream, request->upstream_mask, name, err) : status;
}

static uint32_t n_threads_of(const tl_config *config) { return config->core.threads > 1 ? 2 : 1; }

// Options of extension NBX need its key, threads that the core has, and a reader that they fit.
static tl_status check_nbx(const tl_netburst_request *request, const tl_netburst_settings *settings, const tl_config *config, bool samples,
                           tl_error *err) {
    const uint32_t n_threads = n_threads_of(config);
    const uint32_t threads =
        (uint32_t)(request->threads | request->threads >> TL_NBX_OS_LSB | request->bounds >> TL_NBX_ACTIVE_LSB) | request->idle;
    const char *option = tl_netburst_nbx_option(request);
    if (!option)
        return TL_OK;
    if (!settings->nbx)
        return tl_fail(err, TL_EINVAL, "'%s': %s is of extension NBX, which this machine lacks; add --set netburst.nbx=on", request->name,
                       option);
    if (threads >> n_threads)
        return tl_fail(err, TL_EINVAL, "'%s': the mask names thread %d, and a core of machine %s has %u; threads count from 0",
                       request->name, 31 - __builtin_clz(threads), config->name, n_threads);
    if (request->assists && !samples)
        return tl_fail(err, TL_EINVAL, "'%s': assist samples, and tally stat counts; use tally record -P netburst -c PERIOD",
                       request->name);
    if (request->is_banked && tl_netburst_event_rows[request->event].is_ti)
        return tl_fail(err, TL_EINVAL, "'%s': this event is of no thread, so its counts have no context; leave banks out", request->name);
    if (request->is_banked && samples)
        return tl_fail(err, TL_EINVAL, "'%s': banks count by context, and tally record samples; use tally stat, or name a context: ctx=TAG",
                       request->name);
    return TL_OK;
}

enum { OF_T0 = TL_ESCR_T0_USR | TL_ESCR_T0_OS, OF_T1 = TL_ESCR_T1_USR | TL_ESCR_T1_OS };

bool netburst_request_of_thread(const tl_netburst_request *request, uint32_t thread, tl_netburst_request *ret_request) {
    const uint64_t mask = UINT64_C(1) << thread | UINT64_C(1) << (thread + TL_NBX_OS_LSB);
    *ret_request = *request;
    ret_request->owners = (uint8_t)((request->owners ? request->owners : OF_T0 | OF_T1) & (thread == 0 ? OF_T0 : OF_T1));
    ret_request->threads &= mask;
    return ret_request->owners != 0;
}

static tl_status add_counter(netburst_source *o, tl_netburst_request *wanted, const tl_netburst_request *request, uint32_t event,
                             tl_error *err) {
    if (o->n_counting == TL_NETBURST_MAX_REQUESTS)
        return tl_fail(err, TL_EINVAL, "-e: pmu netburst has %d counters, and an event with banks takes one for each thread; name fewer",
                       TL_NETBURST_MAX_REQUESTS);
    wanted[o->n_counting] = *request;
    o->counting[o->n_counting++] = (uint8_t)event;
    return TL_OK;
}

static tl_status allocate(netburst_source *o, const tl_netburst_settings *settings, const tl_config *config, tl_error *err) {
    tl_netburst_request wanted[TL_NETBURST_MAX_REQUESTS], of;
    tl_status status = TL_OK;
    for (uint32_t e = 0; e < o->n_requests && status == TL_OK; e++) {
        if (!o->requests[e].is_banked)
            status = add_counter(o, wanted, &o->requests[e], e, err);
        for (uint32_t thread = 0; o->requests[e].is_banked && thread < n_threads_of(config) && status == TL_OK; thread++)
            if (netburst_request_of_thread(&o->requests[e], thread, &of))
                status = add_counter(o, wanted, &of, e, err);
    }
    return status == TL_OK ? tl_netburst_allocate(settings, OF_T0 | OF_T1, wanted, o->n_counting, &o->plan, err) : status;
}

static tl_status resolve(const tl_run_options *options, const tl_config *config, tl_catalogue *catalogue, tl_arena *arena,
                         tl_source **ret_source, tl_error *err) {
    const bool samples = options->sample_period != 0;
    tl_netburst_settings settings;
    netburst_source *o = tl_arena_alloc(arena, sizeof *o);
    const char *events = options->events ? options->events : samples ? sampled_by_default : default_events;
    char *list = tl_arena_strdup(arena, events), *rest = NULL;
    if (!o || !list)
        return tl_no_memory(err);
    tl_pmu_settings_of(&tl_pmu_netburst, config, &settings);
    o->skid = (tl_netburst_skid)settings.pmi_profile;
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (o->n_requests == TL_NETBURST_MAX_REQUESTS)
            return tl_fail(err, TL_EINVAL, "-e: pmu netburst has %d counters; name fewer events", TL_NETBURST_MAX_REQUESTS);
        tl_netburst_request *request = &o->requests[o->n_requests];
        tl_status status = tl_netburst_parse(name, settings.model, request, err);
        if (status == TL_OK)
            status = refuse_not_modeled(request, name, err);
        if (status == TL_OK && request->is_precise && !samples)
            status =
                tl_fail(err, TL_EINVAL, "'%s': pp samples, and tally stat counts; use tally record -P netburst -c PERIOD", request->name);
        if (status == TL_OK)
            status = check_nbx(request, &settings, config, samples, err);
        if (status == TL_OK)
            status = describe(request, name, config->n_harts, catalogue, arena, &o->counted[o->n_requests], err);
        if (status != TL_OK)
            return status;
        o->listed[o->n_requests] = &o->counted[o->n_requests];
        o->n_requests += 1;
    }
    if (o->n_requests == 0)
        return tl_fail(err, TL_EINVAL, "-e: an empty list of events");
    const tl_status status = samples ? netburst_sampling_allocate(o, &settings, config, err) : allocate(o, &settings, config, err);
    o->base = (tl_source){
        .type = tl_source_find(&tl_pmu_netburst), .name = "netburst:pentium4", .counted = o->listed, .n_counted = o->n_requests};
    *ret_source = &o->base;
    return status;
}

// ---- The run.

#define OTHER_CONTEXTS UINT64_MAX

typedef struct reader {
    const netburst_source *plan;
    tl_machine *machine;
    uint32_t n_threads; // of a core
    bool is_enabled;
    uint64_t since[TL_MAX_HARTS]; // up to when times are right
    uint64_t *last;               // of counters, by hart
    tl_perf_count *counts;
    // Of banks: before they were emptied, and now.
    uint32_t n_kept, n_parts;
    tl_perf_part kept[TL_MAX_PERF_PARTS], parts[TL_MAX_PERF_PARTS];
} reader;

static tl_netburst *pmu_of(const reader *r, uint32_t hart) {
    uint32_t thread;
    return tl_netburst_of(tl_machine_pmu_of(r->machine, &tl_pmu_netburst, hart), &thread);
}

static tl_status attach(tl_source *source, tl_machine *machine, tl_arena *of_outline, tl_arena *of_run, void **ret_reader, tl_error *err) {
    const netburst_source *o = (const netburst_source *)source;
    reader *r = tl_arena_alloc(of_run, sizeof *r);
    const uint32_t n = machine->n_harts * o->n_requests;
    (void)of_outline;
    if (!r || !(r->last = tl_arena_alloc(of_run, machine->n_harts * o->n_counting * sizeof *r->last)) ||
        !(r->counts = tl_arena_alloc(of_run, n * sizeof *r->counts)))
        return tl_no_memory(err);
    r->plan = o;
    r->machine = machine;
    r->n_threads = machine->config.core.threads > 1 ? 2 : 1;
    *ret_reader = r;
    return TL_OK;
}

static uint64_t counter_of(tl_netburst *n, uint32_t counter) {
    uint64_t value = 0;
    (void)!tl_netburst_rdpmc(n, 0, counter, &value);
    return value;
}

static uint64_t msr_of(tl_netburst *n, uint32_t msr) {
    uint64_t value = 0;
    (void)!tl_netburst_rdmsr(n, 0, msr, &value);
    return value;
}

// ---- Banks.

static void add_part(reader *r, uint32_t event, uint64_t context, uint64_t count) {
    uint32_t i = 0;
    while (i < r->n_parts && (r->parts[i].event != event || r->parts[i].context != context))
        i++;
    if (i == TL_MAX_PERF_PARTS) { // the last one takes what has no place
        i = TL_MAX_PERF_PARTS - 1;
        r->parts[i].context = OTHER_CONTEXTS;
    } else if (i == r->n_parts) {
        r->parts[r->n_parts++] = (tl_perf_part){.event = event, .context = context};
    }
    r->parts[i].count += count;
}

static bool has_banks(const netburst_source *o) {
    bool result = false;
    for (uint32_t e = 0; e < o->n_requests; e++)
        result |= o->requests[e].is_banked;
    return result;
}

// The sum of all banks, or the counter. Banks that hold something become parts.
static uint64_t take_count(reader *r, tl_netburst *n, uint32_t i) {
    const netburst_source *o = r->plan;
    const uint32_t event = o->counting[i], counter = o->plan.places[i].counter;
    uint64_t sum = 0;
    if (!o->requests[event].is_banked)
        return counter_of(n, counter);
    const uint32_t n_banks = (uint32_t)msr_of(n, TL_MSR_NBX_BANK_STATUS) & 0xff;
    for (uint32_t bank = 0; bank < n_banks; bank++) {
        (void)!tl_netburst_wrmsr(n, 0, TL_MSR_NBX_BANK, bank);
        const uint64_t count = msr_of(n, TL_MSR_NBX_BANK_COUNTER + counter);
        if (count != 0)
            add_part(r, event, msr_of(n, TL_MSR_NBX_BANK_TAG), count);
        sum += count;
    }
    return sum;
}

// Banks begin empty, so all that they hold is of this time.
static void empty_banks(const netburst_source *o, tl_netburst *n) {
    if (!has_banks(o))
        return;
    (void)!tl_netburst_wrmsr(n, 0, TL_MSR_NBX_BANK_STATUS, 0);
    for (uint32_t i = 0; i < o->n_counting; i++)
        if (o->requests[o->counting[i]].is_banked)
            (void)!tl_netburst_wrmsr(n, 0, TL_MSR_COUNTER + o->plan.places[i].counter, 0);
}

static void take_counts(reader *r) {
    const netburst_source *o = r->plan;
    memcpy(r->parts, r->kept, r->n_kept * sizeof r->parts[0]);
    r->n_parts = r->n_kept;
    for (uint32_t hart = 0; hart < r->machine->n_harts; hart++) {
        const uint64_t now = r->machine->harts[hart]->now;
        for (uint32_t e = 0; e < o->n_requests; e++) {
            tl_perf_count *count = &r->counts[hart * o->n_requests + e];
            count->enabled_cycles += now - r->since[hart];
            count->running_cycles += now - r->since[hart];
        }
        for (uint32_t i = 0; hart % r->n_threads == 0 && i < o->n_counting; i++) {
            uint64_t *last = &r->last[hart * o->n_counting + i];
            const uint64_t value = take_count(r, pmu_of(r, hart), i);
            r->counts[hart * o->n_requests + o->counting[i]].count += (value - *last) & TL_NETBURST_VALUE;
            *last = value;
        }
        r->since[hart] = now;
    }
}

static void enable(void *reader_) {
    reader *r = reader_;
    const netburst_source *o = r->plan;
    if (r->is_enabled)
        return;
    r->is_enabled = true;
    for (uint32_t hart = 0; hart < r->machine->n_harts; hart++) {
        r->since[hart] = r->machine->harts[hart]->now;
        if (hart % r->n_threads == 0)
            empty_banks(o, pmu_of(r, hart));
        for (uint32_t i = 0; hart % r->n_threads == 0 && i < o->plan.n_writes; i++)
            (void)!tl_netburst_wrmsr(pmu_of(r, hart), 0, o->plan.writes[i].msr, o->plan.writes[i].value);
        for (uint32_t i = 0; hart % r->n_threads == 0 && i < o->n_counting; i++)
            r->last[hart * o->n_counting + i] = counter_of(pmu_of(r, hart), o->plan.places[i].counter);
    }
}

static void disable(void *reader_) {
    reader *r = reader_;
    const netburst_source *o = r->plan;
    if (!r->is_enabled)
        return;
    take_counts(r);
    r->is_enabled = false;
    memcpy(r->kept, r->parts, sizeof r->kept);
    r->n_kept = r->n_parts;
    for (uint32_t hart = 0; hart < r->machine->n_harts; hart += r->n_threads)
        for (uint32_t i = 0; i < o->plan.n_writes; i++)
            (void)!tl_netburst_wrmsr(pmu_of(r, hart), 0, o->plan.writes[i].msr, 0);
}

static uint64_t next_turn(const void *r) { return (void)r, UINT64_MAX; }
static void turn(void *r) { (void)r; }

static const tl_perf_count *read(void *reader_, uint32_t *ret_n) {
    reader *r = reader_;
    if (r->is_enabled)
        take_counts(r);
    *ret_n = r->machine->n_harts * r->plan->n_requests;
    return r->counts;
}

static const tl_perf_part *read_parts(void *reader_, uint32_t *ret_n) {
    const reader *r = reader_;
    *ret_n = r->n_parts;
    return r->parts;
}

const tl_source_type tl_source_netburst = {
    .pmu = &tl_pmu_netburst,
    .configure = configure,
    .resolve = resolve,
    .attach = attach,
    .enable = enable,
    .disable = disable,
    .next_turn = next_turn,
    .turn = turn,
    .read = read,
    .read_parts = read_parts,
    .attach_sampling = netburst_sampling_attach,
    .begin_sampling = netburst_sampling_begin,
    .interrupted = netburst_sampling_interrupted,
    .tell_losses = netburst_sampling_tell_losses,
    .sampling_method = netburst_sampling_method,
};
