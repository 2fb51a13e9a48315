// SPDX-License-Identifier: MIT
// Drives one run. The machine runs to the nearest stop: the end of an interval, a limit, or the
// border of a region of interest. Totals are read at stops only, and observing costs the run loop
// nothing.
#include "session/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/bits.h"
#include "isa/a64/block/interp.h"
#include "isa/a64/step/step.h"
#include "model/code_map.h"
#include "model/isa.h"
#include "session/code_file.h"
#include "session/digest.h"
#include "session/forward.h"
#include "session/guest.h"
#include "session/plan.h"
#include "session/pmus.h"
#include "session/read_at_end.h"
#include "session/recording_names.h"
#include "session/region.h"
#include "session/sampler.h"

enum { MAX_NOTES = 200 };

struct tl_session {
    tl_plan *plan;
    tl_machine *machine;
    tl_guest *guest;        // NULL: not loaded
    tl_run_options options; // strings are the arena's
    tl_arena arena;
    tl_tap *tap;       // for cycle records; NULL: none
    void *reader;      // of the plan's source, while the program runs; NULL: none
    void *pmu_sampler; // of the plan's source; NULL: it does not sample
    struct {           // as the program left it, once counters were read for a report
        tl_reading *reading;
        uint64_t *totals;
        uint64_t instructions, cycles;
    } left;
    const char *notes[MAX_NOTES];
    uint32_t n_notes;
    uint64_t n_intervals; // completed
    tl_regions *regions;  // of interest; NULL: everything counts
    tl_forward *forward;  // NULL: one engine executes everything
    tl_result *previous;  // at the end of the last interval
    uint64_t host_ns;
    tl_sampler sampler;
    tl_code_file *code_file; // NULL: no host profile
    tl_code_map *code_map;   // of a recording; NULL: none
    // The end of an interval; NULL: nobody watches.
    void (*watch_interval)(void *ctx, uint64_t now_cycles);
    void *watch_ctx;
    bool has_events; // options named some
    bool has_ended;
    tl_end_reason reason;
    int status, signal;
    char message[sizeof((tl_error *)0)->text];
};

const char *tl_session_version(void) { return TL_VERSION; }

void tl_session_options_init(tl_run_options *ret_options) {
    *ret_options =
        (tl_run_options){.size = sizeof *ret_options, .std_fd = {0, 1, 2}, .translate_after_runs = TL_USUAL_TRANSLATE_AFTER_RUNS};
}

static uint64_t host_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static const tl_engine_type *engine_of_riscv(tl_engine engine) {
    switch (engine) {
    case TL_ENGINE_STEP: return &tl_engine_step;
    case TL_ENGINE_INTERP: return &tl_engine_interp;
#ifdef TL_HAS_TRANSLATOR
    case TL_ENGINE_TRANSLATE:
    case TL_ENGINE_FASTEST: return &tl_engine_translate;
#else
    case TL_ENGINE_TRANSLATE: return NULL;
    case TL_ENGINE_FASTEST: return &tl_engine_interp;
#endif
    }
    return NULL;
}

const tl_engine_type *tl_session_engine(tl_engine engine, tl_isa_number isa) {
    if (isa == TL_ISA_RISCV64)
        return engine_of_riscv(engine);
    switch (engine) {
    case TL_ENGINE_STEP: return &tl_engine_a64_step;
    case TL_ENGINE_INTERP:
    case TL_ENGINE_FASTEST: return &tl_engine_a64_interp;
    case TL_ENGINE_TRANSLATE: return NULL;
    }
    return NULL;
}

tl_status tl_session_no_engine(const tl_config *config, tl_error *err) {
    if (config->isa != TL_ISA_RISCV64)
        return tl_fail(err, TL_EINVAL, "machine %s executes AArch64 instructions, which engines interp and step do; use --engine interp",
                       config->name);
    return tl_fail(err, TL_EINVAL, "the translating engine needs an x86-64 Linux host; use --engine interp");
}

_Static_assert((int)TL_COLD_RUNS == (int)TL_USUAL_TRANSLATE_AFTER_RUNS, "what is promised is so");
_Static_assert((int)TL_MIN_CODE_CACHE_BYTES == (int)TL_LEAST_CODE_CACHE_BYTES, "what is promised works");

// value * factor / divisor without overflow in between, as long as the result fits; divisor > 0.
static uint64_t scale(uint64_t value, uint64_t factor, uint64_t divisor) {
    __extension__ typedef unsigned __int128 wide;
    wide result = (wide)value * factor / divisor;
    return result > UINT64_MAX ? UINT64_MAX : (uint64_t)result;
}

static void take_note(void *ctx, const char *sentence) {
    tl_session *session = ctx;
    if (session->n_notes < MAX_NOTES) {
        const char *copy = tl_arena_strdup(&session->arena, sentence);
        if (copy)
            session->notes[session->n_notes++] = copy;
    }
    if (session->options.warn)
        session->options.warn(session->options.ctx, sentence);
}

static bool wants_stop(void *ctx) {
    const tl_session *session = ctx;
    return session->options.wants_stop && session->options.wants_stop(session->options.ctx);
}

// Copies options needed after tl_session_new has returned.
static tl_status copy_options(tl_session *session, const tl_run_options *given, tl_error *err) {
    tl_run_options *o = &session->options;
    *o = *given;
    session->has_events = given->events != NULL && given->sample_period == 0;
    o->machine = o->events = o->metrics = o->pmu = NULL; // the plan's
    o->overrides = NULL;
    o->argv = session->plan->outline->header.argv;
    o->env = session->plan->outline->header.env;
    o->regions = NULL; // they have strings of their own
    o->n_regions = 0;
    o->roi_start = session->plan->outline->header.roi_start;
    o->roi_stop = session->plan->outline->header.roi_stop;
    o->fast_forward_to = NULL; // so has that place
    o->repeated_part = NULL;   // so has the configuration
    const char **strings[] = {&o->program,        &o->sysroot, &o->root,   &o->bios, &o->kernel,
                              &o->kernel_symbols, &o->initrd,  &o->append, &o->disk};
    for (size_t i = 0; i < TL_COUNT_OF(strings); i++) {
        if (!*strings[i])
            continue;
        *strings[i] = tl_arena_strdup(&session->arena, *strings[i]);
        if (!*strings[i])
            return tl_no_memory(err);
    }
    return TL_OK;
}

static tl_status choose_part(const tl_run_options *options, const tl_engine_type *core, tl_config *config, tl_error *err) {
    if (!options->repeated_part)
        return TL_OK;
    if (core != tl_session_engine(TL_ENGINE_TRANSLATE, TL_ISA_RISCV64))
        return tl_fail(err, TL_EINVAL,
                       "engine %s makes no translated code, of which a part could be repeated; use a RISC-V machine with in-order harts "
                       "and --engine translate",
                       core->name);
    uint32_t part = TL_N_CODE_PARTS - 1;
    while (part != TL_CODE_PART_NONE && strcmp(tl_code_part_names[part], options->repeated_part) != 0)
        part--;
    if (part == TL_CODE_PART_NONE)
        return tl_fail(
            err, TL_EINVAL,
            "translated code has no part %s: parts are data-lookup, line-use, page-use, fetch-lookup, fetch-use, prediction and hit-path",
            options->repeated_part);
    config->repeated_part = (tl_code_part)part;
    return TL_OK;
}

// The fastest engine may turn out to be one that this host forbids, by a policy against executable
// memory say.
static tl_status new_machine(tl_session *session, const tl_run_options *options, const tl_engine_type *core, tl_error *err) {
    tl_plan *plan = session->plan;
    if (options->code_cache_bytes != 0)
        plan->config.code_cache_bytes = (uint32_t)options->code_cache_bytes;
    plan->config.n_cold_runs = (uint32_t)options->translate_after_runs;
    tl_status status = choose_part(options, core, &plan->config, err);
    if (status != TL_OK)
        return status;
    plan->outline->header.engine = core->name;
    status = tl_machine_new(&plan->config, core, &session->machine, err);
    if (status == TL_EACCESS && options->engine == TL_ENGINE_FASTEST && core != tl_session_engine(TL_ENGINE_INTERP, plan->config.isa)) {
        core = &tl_engine_interp;
        status = tl_machine_new(&plan->config, core, &session->machine, err);
    }
    if (options->engine == TL_ENGINE_FASTEST && core == &tl_engine_interp)
        plan->outline->header.engine = "interp, since this host runs no translated code";
    return status;
}

// The detailed core is its own engine.
static tl_status check_detailed(const tl_run_options *options, const tl_config *config, tl_error *err) {
    if (options->engine != TL_ENGINE_FASTEST)
        return tl_fail(err, TL_EINVAL, "machine %s has a detailed core, which is an engine of its own; leave --engine away", config->name);
    return TL_OK;
}

// Keys of the detailed core would change nothing.
static tl_status check_in_order(const tl_run_options *options, const tl_config *config, tl_error *err) {
    for (const char *const *setting = options->overrides; setting && *setting; setting++)
        if (!strncmp(*setting, "core.", 5) && strncmp(*setting, "core.kind=", 10) != 0)
            return tl_fail(err, TL_EINVAL,
                           "%s: machine %s has an in-order core, which this key does not change; choose a machine with core.kind: "
                           "out_of_order, such as ooo",
                           *setting, config->name);
    return TL_OK;
}

tl_status tl_session_new(const tl_run_options *given, tl_session **ret_session, tl_error *err) {
    tl_run_options options;
    tl_session_options_init(&options);
    if (given->size < offsetof(tl_run_options, max_insns))
        return tl_fail(err, TL_EINVAL, "the size of tl_run_options is %u: call tl_run_options_init first", given->size);
    memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);

    if (options.code_cache_bytes != 0 &&
        (options.code_cache_bytes < TL_LEAST_CODE_CACHE_BYTES || options.code_cache_bytes > TL_MOST_CODE_CACHE_BYTES))
        return tl_fail(err, TL_EINVAL, "code_cache_bytes = %" PRIu64 ": must be between %d and %d, or 0 for the default",
                       options.code_cache_bytes, TL_LEAST_CODE_CACHE_BYTES, TL_MOST_CODE_CACHE_BYTES);
    if (options.translate_after_runs > UINT32_MAX)
        return tl_fail(err, TL_EINVAL, "translate_after_runs = %" PRIu64 ": must be at most %" PRIu32, options.translate_after_runs,
                       UINT32_MAX);

    tl_session *session = calloc(1, sizeof *session);
    if (!session)
        return tl_no_memory(err);
    tl_arena *arena = &session->arena;
    tl_status status = tl_plan_new(&options, &session->plan, err);
    if (status != TL_OK)
        goto out;
    const tl_engine_type *core = tl_session_engine(options.engine, session->plan->config.isa);
    if (session->plan->config.core.kind == TL_CORE_OUT_OF_ORDER) {
        status = check_detailed(&options, &session->plan->config, err);
        if (status != TL_OK)
            goto out;
        core = &tl_engine_ooo;
        options.engine = TL_ENGINE_STEP; // nothing stands in for it
    } else if ((status = check_in_order(&options, &session->plan->config, err)) != TL_OK) {
        goto out;
    } else if (!core) {
        status = tl_session_no_engine(&session->plan->config, err);
        goto out;
    }
    status = new_machine(session, &options, core, err);
    if (status != TL_OK)
        goto out;
    status = copy_options(session, &options, err);
    session->sampler.machine = options.host_profile ? session->machine : NULL;
    if (status == TL_OK && options.host_symbols != TL_HOST_SYMBOLS_NONE)
        status = tl_code_file_new(options.host_symbols, session->machine, arena, &session->code_file, err);
    uint32_t n_cells = session->machine->probe.n_cells;
    if (status == TL_OK && n_cells != tl_catalogue_n_cells(session->plan->outline->catalogue))
        status = tl_fail(err, TL_EINVAL, "the machine has %u signals, its catalogue %u", n_cells,
                         tl_catalogue_n_cells(session->plan->outline->catalogue));
    const tl_source_type *source = session->plan->source_type;
    if (status == TL_OK && source && source->check)
        status = source->check(session->plan->source, session->machine, err);
    if (status == TL_OK && source && source->attach && options.sample_period == 0)
        status = source->attach(session->plan->source, session->machine, &session->plan->outline->arena, arena, &session->reader, err);
    if (status == TL_OK)
        status = tl_regions_new(&options, session->machine, arena, &session->regions, err);
    if (status == TL_OK)
        status = tl_forward_new(&options, session->machine, arena, &session->forward, err);
out:
    if (status != TL_OK) {
        tl_session_free(session);
        return status;
    }
    *ret_session = session;
    return TL_OK;
}

// A loaded library may define missing functions. A name that stays unknown is reported later.
static void look_for_places(void *ctx) {
    tl_session *session = ctx;
    if (session->regions && session->guest)
        (void)!tl_regions_resolve(session->regions, session->guest, NULL);
    if (session->forward && session->guest)
        (void)!tl_forward_resolve(session->forward, session->guest, NULL);
}

// Names the bytes of every file, because a report must identify the counted program.
static void name_images(tl_session *session) {
    tl_header *header = &session->plan->outline->header;
    tl_image_path paths[TL_MAX_IMAGE_PATHS];
    uint32_t n = tl_plan_images(&session->options, session->plan->config.isa, paths);
    for (uint32_t i = 0; i < n && i < header->n_images; i++) {
        char digest[TL_DIGEST_BYTES];
        const char *root = session->options.kind == TL_RUN_USER ? session->options.root : NULL;
        if (tl_digest_file(root, paths[i].path, digest, NULL) == TL_OK)
            header->images[i].digest = tl_arena_strdup(&session->plan->outline->arena, digest);
    }
    header->digest = header->n_images > 0 ? header->images[0].digest : NULL;
}

static void note_partition(tl_session *session) {
    const tl_config *config = &session->plan->config;
    char sentence[200];
    if (config->n_partitions == 1)
        return;
    snprintf(sentence, sizeof sentence,
             "this runs on one of the %u partitions of %s, without the units that they share; tally tenants runs several",
             config->n_partitions, config->name);
    take_note(session, sentence);
}

static tl_status cannot_sample(const tl_source_type *type, tl_error *err) {
    char names[160] = "";
    size_t used = 0;
    for (const tl_source_type *const *source = tl_source_types; *source && used < sizeof names; source++)
        if ((*source)->attach_sampling)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s-P %s", used ? " and " : "", (*source)->pmu->name);
    return tl_fail(err, TL_EINVAL, "nothing samples with pmu %s; %s can sample, and tally stat -P %s counts", type->pmu->name, names,
                   type->pmu->name);
}

tl_status tl_session_sample(tl_session *session, const tl_sample_taker *sampling, const tl_source **ret_source, tl_error *err) {
    tl_plan *plan = session->plan;
    const tl_source_type *type = plan->source_type;
    if (!type->attach_sampling)
        return cannot_sample(type, err);
    *ret_source = plan->source;
    return type->attach_sampling(plan->source, session->machine, sampling, &plan->outline->arena, &session->arena, &session->pmu_sampler,
                                 err);
}

void tl_session_tell_losses(tl_session *session) {
    if (session->pmu_sampler && session->plan->source_type->tell_losses)
        session->plan->source_type->tell_losses(session->pmu_sampler);
}

static void changed_space(void *ctx) {
    const tl_session *session = ctx;
    tl_recorded_board_spaces(session->code_map, session->machine);
}

static void interrupted(void *ctx, tl_hart *h) {
    tl_session *session = ctx;
    session->plan->source_type->interrupted(session->pmu_sampler, h);
}

tl_status tl_session_load(tl_session *session, tl_error *err) {
    // The index is tl_run_kind.
    static const tl_guest_type *const types[] = {&tl_guest_user, &tl_guest_system, &tl_guest_system};
    if (session->guest)
        return tl_fail(err, TL_EINVAL, "the program is loaded already");
    const tl_guest_setup setup = {.machine = session->machine,
                                  .options = &session->options,
                                  .warn = take_note,
                                  .wants_stop = wants_stop,
                                  .mapped_code = look_for_places,
                                  .interrupted = session->pmu_sampler ? interrupted : NULL,
                                  .changed_space = session->code_map && session->options.kind == TL_RUN_BOOT ? changed_space : NULL,
                                  .code_map = session->code_map,
                                  .ctx = session};
    tl_status status = types[session->options.kind]->load(&setup, &session->guest, err);
    if (status != TL_OK)
        return status;
    if (session->plan->remark)
        take_note(session, session->plan->remark);
    note_partition(session);
    if (session->code_file)
        tl_code_file_set_guest(session->code_file, session->guest);
    name_images(session);
    if (session->pmu_sampler)
        session->plan->source_type->begin_sampling(session->pmu_sampler);
    if (session->reader && !session->regions)
        session->plan->source_type->enable(session->reader);
    if (session->forward)
        return tl_forward_begin(session->forward, session->guest, err);
    if (!session->regions)
        return TL_OK;
    tl_regions_watch_markers(session->regions);
    return tl_regions_resolve(session->regions, session->guest, err);
}

// Totals for the user: of everything, or of the region of interest.
static void read_totals(tl_session *session, uint64_t *ret_values) {
    const tl_machine *machine = session->machine;
    tl_machine_sync(session->machine);
    if (session->regions)
        tl_regions_totals(session->regions, ret_values);
    else
        memcpy(ret_values, machine->tally, machine->probe.n_cells * sizeof *ret_values);
}

tl_status tl_session_can_tap(const tl_session *session, uint32_t *ret_n_harts,
                             void (**ret_disassemble)(uint32_t bits, uint64_t pc, char *buffer, size_t size), tl_error *err) {
    const tl_machine *machine = session->machine;
    if (!machine->engine->tap || !machine->engine->isa->disassemble)
        return tl_fail(
            err, TL_EINVAL,
            "machine %s has an in-order core, which has no uops to trace; choose a machine with core.kind: out_of_order, such as ooo",
            session->plan->config.name);
    if (session->regions && tl_regions_are_several(session->regions))
        return tl_fail(err, TL_EINVAL, "a trace is of one region of interest, and several are given; name one");
    *ret_n_harts = machine->n_harts;
    *ret_disassemble = machine->engine->isa->disassemble;
    return TL_OK;
}

tl_status tl_session_tap(tl_session *session, tl_tap *tap, tl_error *err) {
    const bool is_inside = !session->regions || tl_regions_is_inside(session->regions);
    session->tap = tap;
    return tl_machine_tap(session->machine, is_inside ? tap : NULL, err);
}

// A hart stands before a place where a region may begin or end.
static tl_status cross_border(tl_session *session, const tl_hart *hart, tl_error *err) {
    bool has_crossed;
    tl_status status = tl_regions_cross(session->regions, session->guest, hart, take_note, session, &has_crossed, err);
    if (status == TL_OK && has_crossed && session->tap)
        status = tl_session_tap(session, session->tap, err);
    if (status != TL_OK || !has_crossed || !session->reader)
        return status;
    if (tl_regions_is_inside(session->regions))
        session->plan->source_type->enable(session->reader);
    else
        session->plan->source_type->disable(session->reader);
    return TL_OK;
}

// The fast engine or the detailed core may have to go on. `hart`: stands at a breakpoint, or NULL.
static tl_status take_turn(tl_session *session, const tl_hart *hart, tl_error *err) {
    return tl_forward_turn(session->forward, session->guest, hart, take_note, session, err);
}

static uint64_t retired(const tl_session *session) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < session->machine->n_harts; i++)
        sum += session->machine->harts[i]->instret;
    return sum;
}

// Every hart, the idle ones included, stands at that cycle or behind it.
static bool has_reached(const tl_session *session, uint64_t cycle) {
    for (uint32_t i = 0; i < session->machine->n_harts; i++) {
        if (session->machine->harts[i]->now < cycle)
            return false;
    }
    return true;
}

static uint64_t at_most(uint64_t base, uint64_t more) { return more > UINT64_MAX - base ? UINT64_MAX : base + more; }

// End of the current interval in instructions or cycles; UINT64_MAX for the other.
static void interval_end(const tl_session *session, uint64_t *ret_insns, uint64_t *ret_cycle) {
    *ret_insns = *ret_cycle = UINT64_MAX;
    uint64_t length = session->options.interval_length, n = session->n_intervals + 1;
    switch (session->options.interval) {
    case TL_INTERVAL_NONE: break;
    case TL_INTERVAL_INSTRUCTIONS: *ret_insns = scale(n, length, 1); break;
    case TL_INTERVAL_CYCLES: *ret_cycle = scale(n, length, 1); break;
    case TL_INTERVAL_NS: {
        uint64_t ns = scale(n, length, 1);
        *ret_cycle = scale(ns, session->plan->config.clock_hz, 1000000000);
        break;
    }
    }
}

static void end_run(tl_session *session, tl_end_reason reason, const char *message) {
    session->has_ended = true;
    if (session->forward)
        tl_forward_end(session->forward);
    session->reason = reason;
    snprintf(session->message, sizeof session->message, "%s", message);
    for (uint32_t i = 0; i < session->machine->n_pmus; i++) {
        const tl_machine_pmu *row = &session->machine->pmus[i];
        char sentence[400];
        if (row->pmu && row->type->tell_loss && row->type->tell_loss(row->pmu, sentence, sizeof sentence))
            take_note(session, sentence);
    }
}

// One stretch; *ret_done when the caller has something to know.
static tl_status advance_once(tl_session *session, uint64_t until_insns, tl_run_state *ret_state, bool *ret_done, tl_error *err) {
    uint64_t interval_insns, interval_cycle;
    interval_end(session, &interval_insns, &interval_cycle);
    uint64_t max_insns = session->options.max_insns;
    tl_guest_limits limits = {.until_cycle = interval_cycle, .until_instret = until_insns};
    uint64_t turn_cycle = session->reader ? session->plan->source_type->next_turn(session->reader) : UINT64_MAX;
    if (turn_cycle < limits.until_cycle)
        limits.until_cycle = turn_cycle;
    if (interval_insns < limits.until_instret)
        limits.until_instret = interval_insns;
    if (max_insns && max_insns < limits.until_instret)
        limits.until_instret = max_insns;
    if (session->regions)
        limits.breaks = tl_regions_breaks(session->regions);
    if (session->forward) {
        const uint64_t phase_end = tl_forward_until(session->forward);
        limits.until_instret = phase_end < limits.until_instret ? phase_end : limits.until_instret;
        limits.breaks = tl_forward_breaks(session->forward);
    }
    tl_guest_report report = {0};
    tl_status status = session->guest->type->run(session->guest, &limits, &report, err);
    if (status != TL_OK) {
        end_run(session, TL_END_FAILED, err ? err->text : "");
        return status;
    }
    *ret_done = true;
    *ret_state = TL_RUN_ENDED;
    if (report.reason != TL_END_NONE) {
        session->status = report.status;
        session->signal = report.signal;
        end_run(session, report.reason, report.message);
        return TL_OK;
    }
    if (report.is_at_break) {
        *ret_done = false;
        const tl_hart *hart = session->machine->harts[report.break_hart];
        status = session->forward ? take_turn(session, hart, err) : cross_border(session, hart, err);
        if (status != TL_OK)
            end_run(session, TL_END_FAILED, err ? err->text : "");
        return status;
    }
    if (turn_cycle != UINT64_MAX && has_reached(session, turn_cycle))
        session->plan->source_type->turn(session->reader);
    uint64_t insns = retired(session);
    if (session->forward && insns >= tl_forward_until(session->forward)) {
        status = take_turn(session, NULL, err);
        if (status != TL_OK)
            end_run(session, TL_END_FAILED, err ? err->text : "");
    }
    if (max_insns && insns >= max_insns) {
        end_run(session, TL_END_MAX_INSNS, "");
    } else if (insns >= interval_insns || has_reached(session, interval_cycle)) {
        session->n_intervals++;
        if (session->watch_interval) {
            tl_machine_sync(session->machine);
            session->watch_interval(session->watch_ctx, session->guest->type->now_cycles(session->guest));
        }
        *ret_state = TL_RUN_INTERVAL;
    } else {
        *ret_state = TL_RUN_GOING;
        *ret_done = insns >= until_insns || wants_stop(session);
    }
    return status;
}

tl_status tl_session_advance(tl_session *session, uint64_t max_instructions, tl_run_state *ret_state, tl_error *err) {
    if (!session->guest)
        return tl_fail(err, TL_EINVAL, "no program is loaded");
    tl_run_state state = TL_RUN_ENDED;
    tl_status status = TL_OK;
    uint64_t begin_ns = host_now_ns();
    uint64_t until_insns = at_most(retired(session), max_instructions);
    tl_sampler_begin(&session->sampler);
    for (bool is_done = session->has_ended; !is_done && status == TL_OK;)
        status = advance_once(session, until_insns, &state, &is_done, err);
    tl_sampler_end(&session->sampler);
    if (status == TL_OK && session->code_file)
        status = tl_code_file_flush(session->code_file, err);
    session->host_ns += host_now_ns() - begin_ns;
    if (status == TL_OK)
        *ret_state = state;
    return status;
}

void tl_session_stop(tl_session *session, tl_end_reason reason, int signal) {
    if (session->has_ended)
        return;
    session->signal = signal;
    end_run(session, reason, "");
}

static uint64_t sim_ns_of(const tl_session *session, uint64_t cycles) { return scale(cycles, 1000000000, session->plan->config.clock_hz); }

static uint64_t now_cycles(const tl_session *session) { return session->guest ? session->guest->type->now_cycles(session->guest) : 0; }

static tl_status read_pmu(tl_session *session, tl_result *result, tl_error *err) {
    if (!session->reader)
        return TL_OK;
    const tl_perf_count *counts = session->plan->source_type->read(session->reader, &result->n_pmu_counts);
    result->pmu_counts = tl_arena_alloc(&result->arena, result->n_pmu_counts * sizeof *result->pmu_counts);
    if (!result->pmu_counts)
        return tl_no_memory(err);
    memcpy(result->pmu_counts, counts, result->n_pmu_counts * sizeof *result->pmu_counts);
    if (!session->plan->source_type->read_parts)
        return TL_OK;
    const tl_perf_part *parts = session->plan->source_type->read_parts(session->reader, &result->n_pmu_parts);
    result->pmu_parts = tl_arena_alloc(&result->arena, (result->n_pmu_parts + 1) * sizeof *result->pmu_parts);
    if (!result->pmu_parts)
        return tl_no_memory(err);
    memcpy(result->pmu_parts, parts, result->n_pmu_parts * sizeof *result->pmu_parts);
    return TL_OK;
}

static tl_status new_reading(tl_session *session, const tl_source_type *type, const tl_source *source, tl_reading **ret_reading,
                             tl_error *err) {
    if (!session->guest || session->options.kind != TL_RUN_USER)
        return tl_fail(err, TL_EINVAL, "counters are read so in runs of Linux programs only, and after the program was loaded");
    const tl_reading_of of = {.type = type,
                              .machine = session->machine,
                              .header = &session->plan->outline->header,
                              .peak_bytes = session->guest->type->peak_bytes(session->guest),
                              .instructions = retired(session),
                              .cycles = now_cycles(session),
                              .reason = session->reason,
                              .status = session->status,
                              .signal = session->signal};
    return tl_reading_make(&of, source, ret_reading, err);
}

// Reads the counters once, after the program's end. The report uses counts from before the reading,
// because the reader counts, too.
static tl_status read_at_end(tl_session *session, tl_error *err) {
    const tl_source_type *type = session->plan->source_type;
    if (!type || !type->read_at_end || session->left.reading || !session->guest || !session->has_ended || session->reason == TL_END_FAILED)
        return TL_OK;
    session->left.totals = tl_arena_alloc(&session->arena, session->machine->probe.n_cells * sizeof *session->left.totals);
    if (!session->left.totals)
        return tl_no_memory(err);
    read_totals(session, session->left.totals);
    session->left.instructions = retired(session);
    session->left.cycles = now_cycles(session);
    return new_reading(session, type, session->plan->source, &session->left.reading, err);
}

static tl_status make_rows(const tl_session *session, tl_result *result, tl_error *err) {
    const tl_plan *plan = session->plan;
    return session->left.reading ? plan->source_type->rows(plan->source, session->left.reading, result, err)
                                 : tl_outline_rows(plan->outline, result, err);
}

static tl_status fill_totals(tl_session *session, tl_result *result, tl_error *err) {
    uint32_t n_cells = session->machine->probe.n_cells;
    if (session->regions) {
        tl_machine_sync(session->machine);
        return tl_regions_result(session->regions, result, err);
    }
    result->totals = tl_arena_alloc(&result->arena, n_cells * sizeof *result->totals);
    if (!result->totals)
        return tl_no_memory(err);
    result->n_totals = n_cells;
    read_totals(session, result->totals);
    if (session->forward)
        return tl_forward_totals(session->forward, result->totals, result, err);
    if (session->left.reading)
        memcpy(result->totals, session->left.totals, n_cells * sizeof *result->totals);
    return TL_OK;
}

// Everything but rows.
static tl_status snapshot(tl_session *session, tl_result **ret_result, tl_error *err) {
    tl_result *result;
    tl_status status = tl_result_new(session->plan->outline, &result, err);
    if (status != TL_OK)
        return status;
    result->message = tl_arena_strdup(&result->arena, session->message);
    result->notes = tl_arena_alloc(&result->arena, (session->n_notes + 1) * sizeof *result->notes);
    if (!result->message || !result->notes)
        status = tl_no_memory(err);
    for (; status == TL_OK && result->n_notes < session->n_notes; result->n_notes++) {
        result->notes[result->n_notes] = tl_arena_strdup(&result->arena, session->notes[result->n_notes]);
        if (!result->notes[result->n_notes])
            status = tl_no_memory(err);
    }
    if (status == TL_OK)
        status = read_at_end(session, err);
    if (status == TL_OK)
        status = fill_totals(session, result, err);
    if (status == TL_OK)
        status = read_pmu(session, result, err);
    if (status == TL_OK) {
        struct rusage usage;
        result->instructions = session->left.reading ? session->left.instructions : retired(session);
        if (!result->sampling)
            result->cycles = session->left.reading ? session->left.cycles : now_cycles(session);
        result->sim_ns = sim_ns_of(session, result->cycles);
        result->host_ns = session->host_ns;
        result->host_peak_bytes = getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
        if (session->guest && session->guest->type->peak_bytes)
            result->guest_peak_bytes = session->guest->type->peak_bytes(session->guest);
        result->reason = session->reason;
        result->status = session->status;
        result->signal = session->signal;
    }
    if (status != TL_OK) {
        tl_result_release(result);
        return status;
    }
    *ret_result = result;
    return TL_OK;
}

tl_status tl_session_result(tl_session *session, tl_result **ret_result, tl_error *err) {
    tl_result *result;
    tl_status status = snapshot(session, &result, err);
    if (status != TL_OK)
        return status;
    status = make_rows(session, result, err);
    if (status != TL_OK) {
        tl_result_release(result);
        return status;
    }
    tl_error broken;
    result->is_checked = true;
    if (tl_machine_check_identities(session->machine, &broken) != TL_OK) {
        result->broken = tl_arena_strdup(&result->arena, broken.text);
        if (!result->broken)
            result->broken = "a conservation identity does not hold";
    }
    *ret_result = result;
    return TL_OK;
}

tl_status tl_session_interval(tl_session *session, tl_result **ret_result, tl_error *err) {
    tl_result *now;
    tl_status status = snapshot(session, &now, err);
    if (status != TL_OK)
        return status;
    tl_result *interval = NULL, *zero = NULL;
    if (!session->previous) {
        status = tl_result_new(session->plan->outline, &zero, err);
        if (status == TL_OK) {
            zero->totals = tl_arena_alloc(&zero->arena, (now->n_totals + 1) * sizeof *zero->totals);
            zero->n_totals = now->is_by_region ? 0 : now->n_totals;
            zero->is_by_region = now->is_by_region;
            status = zero->totals ? TL_OK : tl_no_memory(err);
        }
    }
    if (status == TL_OK)
        status = tl_result_difference(now, zero ? zero : session->previous, &interval, err);
    tl_result_release(zero);
    if (status != TL_OK) {
        tl_result_release(now);
        return status;
    }
    tl_result_release(session->previous);
    session->previous = now;
    *ret_result = interval;
    return TL_OK;
}

tl_status tl_session_read_pmu(tl_session *session, const char *pmu, tl_reading **ret_reading, tl_error *err) {
    const tl_pmu_type *type;
    const tl_pmu_preset *preset;
    tl_status status = tl_pmus_find(pmu, &type, &preset, err);
    if (status != TL_OK)
        return status;
    const tl_source_type *source = tl_source_find(type);
    if (!source || !source->read_at_end)
        return tl_fail(err, TL_EINVAL, "no reader of pmu %s runs on a machine that stands still", type->name);
    return new_reading(session, source, NULL, ret_reading, err);
}

bool tl_session_has_written(const tl_session *session, int fd) {
    return session->guest && session->guest->type->has_written(session->guest, fd);
}

const char *tl_session_host_path(const tl_session *session, uint32_t index) {
    bool has_paths = session->guest && session->guest->type->host_path;
    return has_paths ? session->guest->type->host_path(session->guest, index) : NULL;
}

void tl_session_progress(const tl_session *session, tl_progress *ret_progress) {
    uint64_t cycles = now_cycles(session);
    tl_progress progress = {.size = ret_progress->size,
                            .instructions = retired(session),
                            .cycles = cycles,
                            .sim_ns = sim_ns_of(session, cycles),
                            .host_ns = session->host_ns};
    memcpy(ret_progress, &progress, progress.size < sizeof progress ? progress.size : sizeof progress);
}

void tl_session_host_profile(const tl_session *session, tl_host_profile *ret_profile) {
    tl_host_profile profile = session->sampler.seen;
    profile.size = ret_profile->size;
    memcpy(ret_profile, &profile, profile.size < sizeof profile ? profile.size : sizeof profile);
}

tl_session_parts tl_session_parts_of(tl_session *session) {
    return (tl_session_parts){.machine = session->machine,
                              .guest = session->guest,
                              .outline = session->plan->outline,
                              .options = &session->options,
                              .has_events = session->has_events,
                              .is_partial = session->forward != NULL,
                              .has_regions = session->regions != NULL,
                              .now_cycles = now_cycles(session),
                              .reason = session->reason,
                              .status = session->status,
                              .signal = session->signal};
}

void tl_session_watch_course(tl_session *session, void (*interval)(void *ctx, uint64_t now_cycles), tl_region_visit_fn *visit, void *ctx) {
    session->watch_interval = interval;
    session->watch_ctx = ctx;
    if (session->regions)
        tl_regions_watch_visits(session->regions, visit, ctx);
}

void tl_session_set_code_map(tl_session *session, tl_code_map *map) { session->code_map = map; }

void tl_session_free(tl_session *session) {
    if (!session)
        return;
    tl_result_release(session->previous);
    tl_reading_release(session->left.reading);
    tl_code_file_free(session->code_file);
    if (session->guest)
        session->guest->type->free(session->guest);
    tl_machine_free(session->machine);
    tl_plan_free(session->plan);
    tl_arena_done(&session->arena);
    free(session);
}
