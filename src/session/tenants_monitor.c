// SPDX-License-Identifier: MIT
// A run under a monitor; see tenants_monitor.h.
//
// The monitor hears a partition's totals without what was counted in switches. The truth goes its
// own way: accounts are charged when harts stand still and when a newcomer gets them. Both meet
// again only where a report puts them side by side.
#include "session/tenants_monitor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/hex_file.h"
#include "machine/keys.h"
#include "session/account.h"
#include "session/description.h"
#include "session/tenants_guest.h"
#include "session/tenants_records.h"

enum { WRITING_CYCLES = 100 }; // between two looks at a block that is being written

// ---- What the monitor asks.

static tl_monitor_totals partition_totals(void *ctx, uint32_t partition, uint32_t hart, uint64_t cycle) {
    tl_tenants_part *p = &((tl_tenants *)ctx)->parts[partition];
    if (p->is_gated)
        return (tl_monitor_totals){.tally = p->charged, .gated = p->gated};
    if (hart < p->machine->n_harts) {
        tl_hart *h = p->machine->harts[hart];
        // While one hart waits for its job, another may still get work after that.
        const uint64_t idle_to = tl_lesser(cycle, p->waits_from);
        p->machine->engine->sync(h);
        if (!tl_hart_has_work(h) && h->now < idle_to) // its clock is moved when it gets work
            h->tally[TL_S_HART_IDLE_CYCLE] += idle_to - h->now;
    }
    return (tl_monitor_totals){.tally = p->machine->tally, .gated = p->gated};
}

static const uint64_t *shared_totals(void *ctx, uint32_t tag) {
    const tl_tenants *t = ctx;
    return tag == TL_MONITOR_NONE ? tl_chip_tally(t->chip) : tl_chip_tagged(t->chip, tag);
}

// ---- Building.

static tl_status find_monitor(tl_tenants *t, tl_error *err) {
    const char *name = t->options.monitor ? t->options.monitor : t->plan.monitor;
    char names[160] = "none";
    if (!name || strcmp(name, "none") == 0)
        return TL_OK;
    for (const tl_pmu_type *const *type = tl_pmu_types; *type; type++) {
        if (!(*type)->chip_monitor)
            continue;
        if (strcmp((*type)->name, name) == 0) {
            t->monitor_type = t->monitor_type ? t->monitor_type : (*type)->chip_monitor;
            t->monitor_pmu = *type;
            return TL_OK;
        }
        const size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, " or %s", (*type)->name);
    }
    if (t->options.monitor)
        return tl_fail(err, TL_EINVAL, "monitor = %.60s: must be %s", name, names);
    return tl_fail(err, TL_EFORMAT, "%.160s:%u: monitor = %.60s: must be %s", t->plan.file_name, t->plan.monitor_line, name, names);
}

static tl_status list_tenants(tl_tenants *t, tl_error *err) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->plan.n_vms; i++)
        n += t->plan.vms[i].n_contexts;
    t->tenants = tl_arena_alloc(&t->arena, n * sizeof *t->tenants);
    if (!t->tenants)
        return tl_tenants_no_memory(err);
    for (uint32_t i = 0; i < t->plan.n_vms; i++)
        for (uint32_t k = 0; k < t->plan.vms[i].n_contexts; k++)
            t->tenants[t->n_tenants++] =
                (tl_monitor_tenant){.partition = t->plan.vms[i].partition, .vm = i + 1, .context = k, .tag = t->vms[i].first_account + k};
    return TL_OK;
}

static tl_status new_arrays(tl_tenants *t, tl_error *err) {
    const size_t n_bytes = t->parts[0].machine->probe.n_cells * sizeof(uint64_t);
    for (uint32_t i = 0; i < t->n_accounts; i++)
        if (!(t->accounts[i].remainders = tl_arena_alloc(&t->arena, n_bytes)))
            return tl_tenants_no_memory(err);
    for (uint32_t i = 0; i < t->config.n_partitions; i++) {
        tl_tenants_part *p = &t->parts[i];
        p->is_gated = p->n_vms == 0;
        p->gated = tl_arena_alloc(&t->arena, n_bytes);
        p->stint = tl_arena_alloc(&t->arena, n_bytes);
        if (!p->gated || !p->stint)
            return tl_tenants_no_memory(err);
    }
    return TL_OK;
}

static tl_status list_vms(tl_tenants *t, tl_monitor_vm **ret_vms, tl_error *err) {
    *ret_vms = tl_arena_alloc(&t->arena, t->plan.n_vms * sizeof **ret_vms);
    if (!*ret_vms)
        return tl_tenants_no_memory(err);
    for (uint32_t i = 0; i < t->plan.n_vms; i++)
        (*ret_vms)[i] = (tl_monitor_vm){
            .vm = i + 1, .is_confidential = t->plan.vms[i].is_confidential, .contexts_read_vm = t->plan.vms[i].contexts_read_vm};
    return TL_OK;
}

static bool is_overridden(const tl_tenants *t, const char *sentence) {
    const size_t n = strcspn(sentence, " :");
    for (const char *const *o = t->options.overrides; o && *o; o++)
        if (strncmp(*o, sentence, n) == 0 && (*o)[n] == '=')
            return true;
    return false;
}

// The design refuses a key of the machine, or lacks what confidential VMs need.
static tl_status tell_refusal(const tl_tenants *t, tl_status status, const tl_error *why, tl_error *err) {
    tl_error placed = {0};
    if (status == TL_ENOENT) // what is missing serves confidential VMs only
        for (uint32_t i = 0; i < t->plan.n_vms; i++)
            if (t->plan.vms[i].is_confidential)
                return tl_fail(err, TL_EFORMAT, "%.160s:%u: vms[%u].confidential = on: %.300s", t->plan.file_name,
                               t->plan.vms[i].confidential_line, i, why->text);
    if (status != TL_EINVAL || is_overridden(t, why->text))
        return tl_fail(err, status, "%s", why->text);
    status = tl_description_blame(t->options.machine ? t->options.machine : t->plan.machine, why, &placed);
    return t->options.machine ? tl_fail(err, status, "%s", placed.text) : tl_tenants_fail_on(t, t->plan.machine_line, status, &placed, err);
}

static tl_status create(tl_tenants *t, tl_error *err) {
    void *settings = tl_arena_alloc(&t->arena, t->monitor_pmu->settings_size);
    if (!settings)
        return tl_tenants_no_memory(err);
    tl_pmu_settings_of(t->monitor_pmu, &t->config, settings);
    tl_monitor_vm *vms = NULL;
    tl_status status = list_vms(t, &vms, err);
    if (status != TL_OK)
        return status;
    if (t->options.oob_key)
        status = tl_hex_file_read(t->options.oob_key, "the key of the operator", t->oob.key, sizeof t->oob.key, err);
    if (status != TL_OK)
        return status;
    const tl_monitor_plan plan = {.settings = settings,
                                  .is_safe = t->plan.profile == TL_CHIP_SAFE,
                                  .n_partitions = t->config.n_partitions,
                                  .n_harts = t->config.n_harts,
                                  .n_slices = t->config.l2_slices,
                                  .n_mem_channels = t->config.mem_channels,
                                  .save_cycles = t->config.os.switch_cycles,
                                  .flush_cycles = (uint32_t)tl_lesser(tl_machine_flush_cycles(&t->config), UINT32_MAX),
                                  .units = &t->parts[0].machine->probe,
                                  .shared_units = &t->shared_units,
                                  .tenants = t->tenants,
                                  .n_tenants = t->n_tenants,
                                  .vms = vms,
                                  .n_vms = t->plan.n_vms,
                                  .operator_key = t->options.oob_key ? t->oob.key : NULL,
                                  .measures_cost = t->options.wants_cost,
                                  .host = {t, partition_totals, shared_totals}};
    tl_error why = {0};
    status = t->monitor_type->create(&plan, &t->arena, &t->monitor, &why);
    return status == TL_OK ? TL_OK : tell_refusal(t, status, &why, err);
}

tl_status tl_tenants_monitor_start(tl_tenants *t, tl_error *err) {
    tl_status status = TL_OK;
    t->has_readers = t->options.oob != NULL;
    for (uint32_t i = 0; i < t->plan.n_vms; i++)
        t->has_readers |= t->vms[i].plan->board != NULL;
    for (uint32_t i = 0; t->monitor && status == TL_OK && i < t->config.n_partitions; i++)
        if (t->parts[i].n_vms > 0)
            status = t->monitor_type->start(t->monitor, i, (uint32_t)(t->parts[i].vms[0] - t->vms) + 1, 0, err);
    return status;
}

static tl_status check_cost(const tl_tenants *t, tl_error *err) {
    const tl_account_type *account = t->monitor_pmu ? tl_account_find(t->monitor_pmu) : NULL;
    if (!t->monitor_pmu)
        return tl_fail(err, TL_EINVAL, "%.160s: the cost is that of a monitor, and the run has none; name one with --monitor",
                       t->plan.file_name);
    if (!account || !account->page || !account->page->fill_run)
        return tl_fail(err, TL_EINVAL, "monitor %s does not measure its cost; leave the cost out", t->monitor_pmu->name);
    return TL_OK;
}

// Keys of a file that mean nothing without a monitor.
static tl_status check_without(const tl_tenants *t, tl_error *err) {
    for (uint32_t i = 0; i < t->plan.n_vms; i++) {
        const tl_vm_plan *vm = &t->plan.vms[i];
        if (vm->is_confidential)
            return tl_fail(err, TL_EFORMAT,
                           "%.160s:%u: vms[%u].confidential = on: hides the VM from readers of a monitor, and none runs; "
                           "name one with monitor:",
                           t->plan.file_name, vm->confidential_line, i);
        for (uint32_t k = 0; k < vm->n_contexts && !vm->board; k++)
            if (!vm->contexts[k].has_no_window)
                return tl_fail(err, TL_EFORMAT,
                               "%.160s:%u: vms[%u].contexts[%u].client: names a reader of a monitor, and none runs; "
                               "name one with monitor:",
                               t->plan.file_name, vm->contexts[k].line, i, k);
    }
    return TL_OK;
}

tl_status tl_tenants_monitor_open(tl_tenants *t, tl_error *err) {
    tl_status status = find_monitor(t, err);
    if (status == TL_OK && !t->monitor_type && !t->options.monitor) // --monitor none is a choice
        status = check_without(t, err);
    if (status == TL_OK && t->options.wants_cost)
        status = check_cost(t, err);
    if (status != TL_OK || !t->monitor_pmu)
        return status;
    status = tl_tenants_name_shared_units(&t->arena, &t->shared_units, err);
    if (status == TL_OK)
        status = list_tenants(t, err);
    if (status == TL_OK)
        status = new_arrays(t, err);
    return status == TL_OK ? create(t, err) : status;
}

// ---- Running.

static uint32_t scale_of(const tl_tenants *t) {
    uint32_t scale = 1;
    for (uint32_t i = 0; i < t->monitor_type->n_events(t->monitor); i++) {
        const tl_monitor_event *event = t->monitor_type->event(t->monitor, i);
        scale = event->scale > scale ? event->scale : scale;
    }
    return scale;
}

// Counters of units stop: what lies below a whole scale of this stint stays with the account.
static void end_stint(tl_tenants *t, uint32_t partition) {
    tl_tenants_part *p = &t->parts[partition];
    const uint32_t scale = scale_of(t);
    for (uint32_t i = 0; i < p->machine->probe.n_cells; i++) {
        const uint64_t monitored = p->charged[i] - p->gated[i];
        t->accounts[p->account].remainders[i] += (monitored - p->stint[i]) % scale;
        p->stint[i] = monitored;
    }
}

void tl_tenants_halt(tl_tenants *t, uint32_t partition, uint64_t cycle) {
    tl_tenants_part *p = &t->parts[partition];
    uint32_t vm = TL_MONITOR_NONE, context = TL_MONITOR_NONE;
    end_stint(t, partition);
    p->is_gated = true;
    if (!p->ends) {
        const tl_tenants_vm *to = p->vms[p->to];
        const uint32_t place = tl_tenants_account_at(to, p->next) - to->first_account;
        vm = (uint32_t)(to - t->vms) + 1;
        context = place < to->plan->n_contexts ? place : TL_MONITOR_NONE;
    }
    t->monitor_type->halt(t->monitor, partition, cycle, vm, context);
    t->has_halted = true;
}

static void note_switch(tl_tenants_vm *from, uint64_t n_cycles) {
    if (from->n_switch_cycles == from->room_for_cycles) {
        const uint32_t room = from->room_for_cycles ? 2 * from->room_for_cycles : 64;
        uint32_t *more = realloc(from->switch_cycles, room * sizeof *more);
        if (!more)
            return; // the statistics lack a switch, nothing else does
        from->switch_cycles = more;
        from->room_for_cycles = room;
    }
    from->switch_cycles[from->n_switch_cycles++] = (uint32_t)tl_lesser(n_cycles, UINT32_MAX);
}

static void finish_switches(tl_tenants *t, uint32_t were_switching) {
    for (uint32_t i = 0; i < t->config.n_partitions; i++) {
        tl_tenants_part *p = &t->parts[i];
        tl_monitor_switch done;
        uint32_t tag = TL_CHIP_NO_TAG;
        if (!(were_switching >> i & 1) || t->monitor_type->is_switching(t->monitor, i))
            continue;
        t->monitor_type->last_switch(t->monitor, i, &done);
        uint64_t cycle = done.end_cycle;
        if (!p->ends) {
            tl_tenants_vm *from = p->vms[p->running];
            if (p->to != p->running && t->monitor_type->flushes_caches && t->monitor_type->flushes_caches(t->monitor))
                tl_machine_flush(p->machine, cycle - tl_machine_flush_cycles(&t->config));
            tl_tenants_enter(t, i, &cycle, &tag);
            note_switch(from, cycle - done.begin_cycle);
            p->is_gated = false;
        }
        tl_chip_switched(t->chip, i, cycle, tag);
    }
}

static uint32_t switching_partitions(const tl_tenants *t) {
    uint32_t set = 0;
    for (uint32_t i = 0; i < t->config.n_partitions; i++)
        set |= (uint32_t)t->monitor_type->is_switching(t->monitor, i) << i;
    return set;
}

static tl_status reach(tl_tenants *t, uint64_t cycle, tl_error *err) {
    const uint32_t were_switching = switching_partitions(t);
    tl_status status = t->monitor_type->reach(t->monitor, cycle, err);
    if (status == TL_OK && !t->has_ended)
        finish_switches(t, were_switching);
    return status;
}

uint64_t tl_tenants_horizon(void *ctx, uint32_t partition) {
    const tl_tenants *t = ctx;
    return t->monitor ? tl_lesser(t->until, t->monitor_type->next_of(t->monitor, partition)) : 0;
}

void tl_tenants_moved(void *ctx, uint64_t cycle, uint32_t tag) {
    const tl_tenants *t = ctx;
    if (t->monitor)
        t->monitor_type->moved(t->monitor, cycle, tag);
}

// Runs until `until` or a stop. Without readers, nobody reads a block before.
static tl_status run_to(tl_tenants *t, uint64_t until, bool *ret_done, tl_error *err) {
    t->until = until;
    if (!t->has_readers)
        t->monitor_type->unseen(t->monitor, until);
    for (;;) {
        const uint64_t bound = tl_lesser(until, t->monitor_type->next(t->monitor));
        t->has_halted = false;
        tl_status status = tl_chip_run(t->chip, bound, ret_done, err);
        if (status == TL_OK && t->failure != TL_OK) // within a client's access
            return tl_fail(err, t->failure, "%s", t->why.text);
        if (status != TL_OK || t->must_stop || *ret_done)
            return status;
        // A switch or a request may have brought the next cycle of the monitor forward.
        if (t->has_halted || t->monitor_type->next(t->monitor) < bound)
            continue;
        status = reach(t, bound, err);
        if (status != TL_OK || bound == until)
            return status;
    }
}

tl_status tl_tenants_run_others(tl_tenants *t, uint64_t target, tl_error *err) {
    for (;;) {
        const uint64_t bound = tl_lesser(target, t->monitor_type->next(t->monitor));
        bool is_done;
        t->until = bound;
        t->has_halted = false;
        tl_status status = tl_chip_run(t->chip, bound, &is_done, err);
        if (status != TL_OK || t->must_stop)
            return status;
        if (t->has_halted || t->monitor_type->next(t->monitor) < bound)
            continue;
        if (bound == target)
            return TL_OK;
        status = reach(t, bound, err);
        // Totals of a partition that is held may be due.
        if (status != TL_OK || (t->monitor_type->next(t->monitor) <= bound && !t->has_halted))
            return status;
    }
}

tl_status tl_tenants_run_monitored(tl_tenants *t, uint64_t until, bool *ret_done, tl_error *err) {
    tl_status status = run_to(t, until, ret_done, err);
    if (status != TL_OK || !t->must_stop)
        return status;
    // Somebody may read now: the run goes on until blocks are as they would be without the promise.
    uint64_t reached = tl_chip_now(t->chip);
    for (uint32_t i = 0; i < t->config.n_partitions; i++)
        if (tl_machine_now_cycles(t->parts[i].machine) > reached)
            reached = tl_machine_now_cycles(t->parts[i].machine);
    t->must_stop = false;
    t->is_settling = true;
    status = run_to(t, tl_lesser(until, reached + t->monitor_type->lag(t->monitor)), ret_done, err);
    t->is_settling = false;
    t->must_stop = !*ret_done;
    return status;
}

// ---- The end of a run.

// Nothing counts any more. The monitor goes on until all has arrived in memory.
static tl_status deliver(tl_tenants *t, tl_error *err) {
    const tl_chip_monitor_type *type = t->monitor_type;
    tl_status status = TL_OK;
    while (status == TL_OK && type->next(t->monitor) < t->now)
        status = reach(t, type->next(t->monitor), err);
    if (status == TL_OK)
        status = reach(t, t->now, err);
    type->unseen(t->monitor, 0);
    while (status == TL_OK && switching_partitions(t) != 0)
        status = reach(t, type->next(t->monitor), err);
    uint64_t end = status == TL_OK ? type->completes(t->monitor) : 0;
    do {
        while (status == TL_OK && type->next(t->monitor) <= end)
            status = reach(t, type->next(t->monitor), err);
        if (status == TL_OK)
            status = reach(t, end, err);
        end += WRITING_CYCLES;
    } while (status == TL_OK && type->is_writing(t->monitor));
    return status;
}

void tl_tenants_monitor_close(tl_tenants *t) {
    if (t->monitor)
        t->failure = deliver(t, &t->why);
    if (t->monitor && t->failure == TL_OK)
        t->failure = tl_tenants_records_end(t, &t->why);
}

// The cycle from which a partition stands still: its own, because a common one would tell a tenant
// how far its neighbors ran past the end.
static uint64_t stop_harts(const tl_tenants *t, uint32_t partition) {
    const tl_tenants_part *p = &t->parts[partition];
    const uint64_t cycle = p->is_gated ? tl_machine_now_cycles(p->machine) : p->vms[p->running]->guest->halt(p->vms[p->running]);
    return cycle > t->now ? cycle : t->now;
}

static void settle(tl_tenants *t, uint32_t partition, uint64_t cycle) {
    tl_machine_settle(t->parts[partition].machine, 0, cycle);
    tl_tenants_charge(t, partition, cycle);
}

// Returns the partition that stands still first of those that are not halted; n_partitions: none.
static uint32_t first_unhalted(const tl_tenants *t, const uint64_t *stands) {
    uint32_t first = t->config.n_partitions;
    for (uint32_t i = 0; i < t->config.n_partitions; i++)
        if (!t->parts[i].is_gated && (first == t->config.n_partitions || stands[i] < stands[first]))
            first = i;
    return first;
}

void tl_tenants_stop_monitored(tl_tenants *t) {
    const tl_chip_monitor_type *type = t->monitor_type;
    uint64_t stands[TL_MAX_PARTITIONS], end = t->now;
    for (uint32_t i = 0; i < t->config.n_partitions; i++) {
        stands[i] = stop_harts(t, i);
        end = stands[i] > end ? stands[i] : end;
        settle(t, i, stands[i]);
    }
    for (uint32_t i = first_unhalted(t, stands); i < t->config.n_partitions; i = first_unhalted(t, stands)) {
        while (t->failure == TL_OK && type->next(t->monitor) <= stands[i])
            t->failure = reach(t, type->next(t->monitor), &t->why);
        t->parts[i].ends = true;
        tl_tenants_halt(t, i, stands[i]);
        t->parts[i].account = t->parts[i].idle;
    }
    for (uint32_t i = 0; i < t->config.n_partitions; i++)
        settle(t, i, end);
    t->now = end;
    if (t->failure == TL_OK)
        t->failure = deliver(t, &t->why);
}

// ---- Blocks beside the truth.

static const tl_tenants_row *find_row(const tl_tenants_counts *c, uint32_t vm, uint32_t context) {
    for (uint32_t r = 0; r < c->n_rows; r++)
        if (c->rows[r].view.kind == TL_TENANTS_CONTEXT && c->rows[r].view.vm == vm && c->rows[r].view.context == context)
            return &c->rows[r];
    return NULL;
}

static uint64_t shared_of(const tl_tenants_counts *c, const tl_tenants_row *row, const tl_monitor_event *event) {
    return tl_tenants_sum(&c->shared_units, row->shared, event->unit, event->signal);
}

// Units of a shared event, and of them those that remain in the units. `vm`: 0 stands for all.
static void share(const tl_tenants *t, const tl_tenants_counts *c, const tl_monitor_event *event, uint32_t vm, uint32_t context,
                  tl_tenants_block_value *value) {
    const uint64_t total = shared_of(c, &c->rows[0], event);
    uint64_t rest = total;
    for (uint32_t i = 0; i < t->n_tenants && !event->is_device; i++) {
        const tl_monitor_tenant *tenant = &t->tenants[i];
        if (!t->monitor_type->hears(t->monitor, tenant->vm, tenant->context))
            continue;
        const uint64_t own = shared_of(c, find_row(c, tenant->vm, tenant->context), event);
        rest -= own;
        if (vm != 0 && (vm != tenant->vm || (context != TL_MONITOR_NONE && context != tenant->context)))
            continue;
        value->truth += own;
        value->remainder += own % event->scale;
    }
    if (vm == 0) {
        value->truth = total;
        value->remainder += rest % event->scale;
    }
}

// Units of an event of partitions: of an account, or of all that belong to a VM or to anybody.
static void own(const tl_tenants *t, const tl_tenants_counts *c, const tl_monitor_event *event, uint32_t account,
                tl_tenants_block_value *value) {
    const tl_tenants_account *a = &t->accounts[account];
    value->truth += tl_tenants_sum(&c->units, a->cells, event->unit, event->signal);
    if (event->keeps_remainder)
        value->remainder += tl_tenants_sum(&c->units, a->remainders, event->unit, event->signal);
}

static void own_of_vm(const tl_tenants *t, const tl_tenants_counts *c, const tl_monitor_event *event, uint32_t vm,
                      tl_tenants_block_value *value) {
    for (uint32_t k = 0; k <= t->plan.vms[vm].n_contexts + TL_NO_CONTEXT; k++)
        own(t, c, event, t->vms[vm].first_account + k, value);
}

static void tell_truth(const tl_tenants *t, const tl_tenants_counts *c, const tl_tenants_row *row, const tl_monitor_event *event,
                       tl_tenants_block_value *value) {
    const tl_tenants_view *view = &row->view;
    if (event->is_shared)
        share(t, c, event, view->kind == TL_TENANTS_DEVICE ? 0 : view->vm,
              view->kind == TL_TENANTS_CONTEXT ? view->context : TL_MONITOR_NONE, value);
    else if (view->kind == TL_TENANTS_CONTEXT)
        own(t, c, event, t->vms[view->vm - 1].first_account + view->context, value);
    else
        for (uint32_t i = 0; i < t->plan.n_vms; i++)
            if (view->kind == TL_TENANTS_DEVICE || view->vm == i + 1)
                own_of_vm(t, c, event, i, value);
}

static tl_status read_block(const tl_tenants *t, tl_tenants_counts *c, tl_tenants_row *row, tl_monitor_value *values, tl_error *err) {
    const uint32_t vm = row->view.kind == TL_TENANTS_DEVICE ? TL_MONITOR_NONE : row->view.vm;
    const uint32_t context = row->view.kind == TL_TENANTS_CONTEXT ? row->view.context : TL_MONITOR_NONE;
    tl_monitor_block block;
    tl_status status = t->monitor_type->read(t->monitor, vm, context, &block, values, err);
    if (status != TL_OK)
        return status;
    row->values = tl_arena_alloc(&c->arena, c->n_events * sizeof *row->values);
    if (!row->values)
        return tl_tenants_no_memory(err);
    row->block = (tl_tenants_block){.size = sizeof row->block,
                                    .gen = block.gen,
                                    .commit_cycle = block.commit_cycle,
                                    .active_cycles = block.active_cycles,
                                    .flags = block.flags};
    for (uint32_t i = 0; i < c->n_events; i++) {
        row->values[i] = (tl_tenants_block_value){
            .size = sizeof row->values[i], .count = values[i].count, .late = values[i].late, .flags = values[i].flags};
        if (!(values[i].flags & TL_MONITOR_UNAVAILABLE))
            tell_truth(t, c, row, t->monitor_type->event(t->monitor, i), &row->values[i]);
        row->values[i].error = tl_tenants_error(&row->values[i]);
    }
    return TL_OK;
}

static tl_status list_events(const tl_tenants *t, tl_tenants_counts *c, tl_error *err) {
    c->n_events = t->monitor_type->n_events(t->monitor);
    c->events = tl_arena_alloc(&c->arena, c->n_events * sizeof *c->events);
    c->monitor = t->monitor_pmu->name;
    if (!c->events)
        return tl_tenants_no_memory(err);
    for (uint32_t i = 0; i < c->n_events; i++) {
        const tl_monitor_event *event = t->monitor_type->event(t->monitor, i);
        const char *name = tl_arena_strdup(&c->arena, event->name);
        if (!name)
            return tl_tenants_no_memory(err);
        c->events[i] = (tl_tenants_event){.size = sizeof c->events[i], .name = name, .scale = event->scale, .is_device = event->is_device};
    }
    return TL_OK;
}

// A block that says that it lost something may differ from the truth.
static tl_status check_row(const tl_tenants_counts *c, const tl_tenants_row *row, tl_error *err) {
    const uint32_t excuses = TL_TENANTS_OVERFLOW | TL_TENANTS_LOSSY | TL_TENANTS_SATURATED;
    for (uint32_t i = 0; i < c->n_events; i++) {
        const tl_tenants_block_value *value = &row->values[i];
        if (value->flags & TL_TENANTS_BUSY)
            return tl_fail(err, TL_EINVAL, "a block is still being written; this is a defect of tally, please report it");
        if (value->error == 0 || (row->block.flags | value->flags) & excuses)
            continue;
        return tl_fail(err, TL_EINVAL,
                       "%s %u.%u: %s is %" PRIu64 " in its block, and %" PRIu64 " in truth (%" PRIu64
                       " remain in units); this is a defect of tally, please report it",
                       tl_tenants_kind_name(row->view.kind), row->view.vm, row->view.context, c->events[i].name, value->count, value->truth,
                       value->remainder);
    }
    return TL_OK;
}

static int compare_cycles(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void tell_switches(const tl_tenants_vm *vm, tl_tenants_view *view) {
    if (vm->n_switch_cycles == 0)
        return;
    qsort(vm->switch_cycles, vm->n_switch_cycles, sizeof *vm->switch_cycles, compare_cycles);
    view->switch_min_cycles = vm->switch_cycles[0];
    view->switch_median_cycles = vm->switch_cycles[vm->n_switch_cycles / 2];
    view->switch_max_cycles = vm->switch_cycles[vm->n_switch_cycles - 1];
}

tl_status tl_tenants_read_blocks(tl_tenants *t, tl_tenants_counts *c, tl_error *err) {
    tl_status status = t->failure == TL_OK ? list_events(t, c, err) : tl_fail(err, t->failure, "%s", t->why.text);
    tl_monitor_value *values = status == TL_OK ? tl_arena_alloc(&c->arena, c->n_events * sizeof *values) : NULL;
    if (status == TL_OK && !values)
        return tl_tenants_no_memory(err);
    for (uint32_t r = 0; r < c->n_rows && status == TL_OK; r++) {
        tl_tenants_row *row = &c->rows[r];
        if (row->view.kind == TL_TENANTS_VM)
            tell_switches(&t->vms[row->view.vm - 1], &row->view);
        if (row->view.kind > TL_TENANTS_CONTEXT)
            continue;
        status = read_block(t, c, row, values, err);
        if (status == TL_OK && t->has_ended && t->reason != TL_END_FAILED)
            status = check_row(c, row, err);
    }
    return status;
}
