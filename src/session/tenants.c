// SPDX-License-Identifier: MIT
// Tenants on a chip; see tenants.h.
//
// Counting rests on one idea: a partition's totals go to one account at a time. When the harts of a
// partition stand still, the growth since the last such moment is charged to the account that was
// open, and another one is opened. Nothing is estimated, and the accounts of a partition always add
// up to its totals. Shared units tag each burst with the account instead.
#include "session/tenants.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "session/description.h"
#include "session/run.h"
#include "session/tenants_clients.h"
#include "session/tenants_guest.h"
#include "session/tenants_jobs.h"
#include "session/tenants_monitor.h"
#include "session/tenants_oob.h"
#include "session/tenants_records.h"
#include "session/tenants_state.h"

tl_status tl_tenants_no_memory(tl_error *err) { return tl_no_memory(err); }

void tl_tenants_init(tl_tenants_options *ret_options) {
    *ret_options = (tl_tenants_options){.size = sizeof *ret_options, .std_fd = {0, 1, 2}};
}

// ---- Accounts.

// Everything that the partition counted since the last charge belongs to the open account. The
// harts stand at `cycle` or at the first boundary after it.
void tl_tenants_charge(tl_tenants *t, uint32_t partition, uint64_t cycle) {
    tl_tenants_part *p = &t->parts[partition];
    tl_tenants_account *a = &t->accounts[p->account];
    tl_machine_sync(p->machine);
    for (uint32_t i = 0; i < p->machine->probe.n_cells; i++) {
        uint64_t growth = p->machine->tally[i] - p->charged[i];
        a->cells[i] += growth;
        if (t->monitor && p->is_gated)
            p->gated[i] += growth;
        p->charged[i] = p->machine->tally[i];
    }
    if (cycle > p->charged_cycle) {
        a->active_cycles += cycle - p->charged_cycle;
        p->charged_cycle = cycle;
    }
}

uint32_t tl_tenants_account_at(const tl_tenants_vm *v, uint32_t context) {
    tl_os_report end;
    bool is_alive = context < v->plan->n_contexts && !v->guest->has_ended(v, context, &end);
    return v->first_account + (is_alive ? context : v->plan->n_contexts + TL_NO_CONTEXT);
}

static uint32_t switching_of(const tl_tenants_vm *v) { return v->first_account + v->plan->n_contexts + TL_SWITCHING; }

// ---- What the chip asks.

static const tl_tenants_vm *other_vm(const tl_tenants_part *p, uint32_t *ret_index) {
    for (uint32_t k = 1; k < p->n_vms; k++) {
        uint32_t i = (p->running + k) % p->n_vms;
        if (!p->vms[i]->has_ended) {
            *ret_index = i;
            return p->vms[i];
        }
    }
    return NULL;
}

static tl_status run_partition(void *ctx, uint32_t partition, uint64_t until, tl_chip_event *ret_event, tl_error *err) {
    tl_tenants *t = ctx;
    tl_tenants_part *p = &t->parts[partition];
    if (p->write_bytes > 0) { // the second half of a copy from file to file
        *ret_event = (tl_chip_event){.kind = TL_CHIP_SUBMIT, .job = {.tag = p->account, .n_bytes = p->write_bytes, .is_write = true}};
        p->write_bytes = 0;
        return TL_OK;
    }
    tl_tenants_vm *v = p->vms[p->running];
    if (t->jobs)
        tl_tenants_jobs_wait(t->jobs, partition);
    for (;;) {
        uint32_t other;
        uint64_t limit = tl_lesser(until, p->turn_end);
        tl_os_report report = {0};
        tl_status status = v->guest->run(v, limit, &report, err);
        const uint64_t end = tl_tenants_clients_take_end(t, partition);
        if (status != TL_OK)
            return status;
        switch (report.stop) {
        case TL_OS_BREAK: break;
        case TL_OS_LIMIT:
            if (t->must_stop) {
                ret_event->kind = TL_CHIP_STOPPED;
                return TL_OK;
            }
            if (end < limit || limit < p->turn_end) {
                *ret_event = (tl_chip_event){.kind = TL_CHIP_RAN, .cycle = end < limit ? end : 0};
                return TL_OK;
            }
            if (!other_vm(p, &other)) {
                p->turn_end = UINT64_MAX;
                break;
            }
            p->wants_vm = true;
            *ret_event = (tl_chip_event){.kind = TL_CHIP_SWITCH, .cycle = v->guest->halt(v)};
            return TL_OK;
        case TL_OS_SWITCH:
            p->wants_vm = false;
            p->next = report.next;
            *ret_event = (tl_chip_event){.kind = TL_CHIP_SWITCH, .cycle = report.cycle};
            return TL_OK;
        case TL_OS_READ: *ret_event = (tl_chip_event){.kind = TL_CHIP_READ, .cycle = report.cycle}; return TL_OK;
        case TL_OS_TRANSFER: {
            bool is_read = report.n_bytes[0] > 0;
            p->hart = report.break_hart;
            p->waits_from = report.cycle;
            p->write_bytes = is_read ? report.n_bytes[1] : 0;
            *ret_event = (tl_chip_event){.kind = TL_CHIP_SUBMIT,
                                         .cycle = report.cycle,
                                         .job = {.tag = p->account, .n_bytes = report.n_bytes[!is_read], .is_write = !is_read}};
            return TL_OK;
        }
        case TL_OS_DEADLOCK:
        case TL_OS_EXITED:
        case TL_OS_KILLED:
            v->has_ended = true;
            v->is_deadlocked = report.stop == TL_OS_DEADLOCK;
            memcpy(v->message, report.message, sizeof v->message);
            ret_event->cycle = v->guest->halt(v);
            p->wants_vm = true;
            p->ends = !other_vm(p, &other);
            if (!p->ends || t->monitor) {
                ret_event->kind = TL_CHIP_SWITCH;
                return TL_OK;
            }
            tl_tenants_charge(t, partition, ret_event->cycle);
            p->account = p->idle;
            ret_event->kind = TL_CHIP_ENDED;
            return TL_OK;
        }
    }
}

// Called with the `until` of run_partition.
static void begin_partition(void *ctx, uint32_t partition, uint64_t until) {
    tl_tenants *t = ctx;
    const tl_tenants_part *p = &t->parts[partition];
    tl_tenants_vm *v = p->n_vms > 0 && p->write_bytes == 0 ? p->vms[p->running] : NULL;
    if (v && v->guest->begin_ahead && !tl_tenants_jobs_has(t->jobs, partition) && v->guest->begin_ahead(v, tl_lesser(until, p->turn_end)))
        tl_tenants_jobs_add(t->jobs, partition, v->os);
}

static tl_status answer_partition(void *ctx, uint32_t partition, uint64_t cycle, tl_error *err) {
    tl_tenants *t = ctx;
    tl_tenants_part *p = &t->parts[partition];
    tl_status status = t->monitor_type->reach(t->monitor, cycle, err);
    if (status == TL_OK)
        p->vms[p->running]->guest->answer(p->vms[p->running]);
    return status;
}

static void resume_partition(void *ctx, uint32_t partition, uint64_t cycle) {
    tl_tenants_part *p = &((tl_tenants *)ctx)->parts[partition];
    p->waits_from = p->write_bytes > 0 ? cycle : UINT64_MAX;
    tl_tenants_vm *v = p->vms[p->running];
    v->guest->wait(v, p->hart, cycle);
}

void tl_tenants_enter(tl_tenants *t, uint32_t partition, uint64_t *cycle, uint32_t *ret_tag) {
    tl_tenants_part *p = &t->parts[partition];
    tl_tenants_vm *to = p->vms[p->to];
    p->running = p->to;
    *cycle = to->guest->enter(to, p->next, *cycle);
    tl_tenants_charge(t, partition, *cycle);
    p->account = *ret_tag = tl_tenants_account_at(to, to->guest->context(to));
    if (p->wants_vm)
        p->turn_end = to->plan->quantum_cycles == 0 ? UINT64_MAX : *cycle + to->plan->quantum_cycles;
}

// The steps from the stop of a context to the start of the next. Everything between two charges is
// the work of switching.
static tl_status switch_partition(void *ctx, uint32_t partition, uint64_t cycle, uint64_t *ret_cycle, uint32_t *ret_tag, tl_error *err) {
    tl_tenants *t = ctx;
    tl_tenants_part *p = &t->parts[partition];
    tl_tenants_vm *from = p->vms[p->running];
    (void)err;
    tl_tenants_charge(t, partition, cycle);
    p->to = p->running;
    if (p->wants_vm && !p->ends) {
        (void)other_vm(p, &p->to);
        p->next = p->vms[p->to]->guest->context(p->vms[p->to]);
    }
    if (!p->ends) {
        t->accounts[p->account].n_switches++;
        t->accounts[switching_of(from)].n_switches++;
    }
    if (t->monitor)
        tl_tenants_halt(t, partition, cycle);
    p->account = p->ends ? p->idle : switching_of(from);
    if (!p->ends)
        from->guest->leave(from);
    *ret_cycle = t->monitor ? TL_CHIP_LATER : cycle;
    if (!t->monitor)
        tl_tenants_enter(t, partition, ret_cycle, ret_tag);
    return TL_OK;
}

// ---- Building.

void tl_tenants_warn(void *ctx, const char *sentence) {
    const tl_tenants_vm *v = ctx;
    char text[600];
    if (!v->tenants->options.warn)
        return;
    snprintf(text, sizeof text, "%.60s: %s", v->plan->name, sentence);
    v->tenants->options.warn(v->tenants->options.ctx, text);
}

bool tl_tenants_wants_stop(void *ctx) {
    tl_tenants *t = ((tl_tenants_vm *)ctx)->tenants;
    tl_tenants_oob_poll(t);
    t->must_stop = t->must_stop || (!t->is_settling && t->options.wants_stop && t->options.wants_stop(t->options.ctx));
    return t->must_stop;
}

tl_status tl_tenants_fail_on(const tl_tenants *t, uint32_t line, tl_status status, const tl_error *why, tl_error *err) {
    char sentence[sizeof why->text];
    memcpy(sentence, why->text, sizeof sentence);
    return tl_fail(err, status, "%.160s:%u: %.320s", t->plan.file_name, line, sentence);
}

tl_status tl_tenants_open_fd(tl_tenants *t, const char *path, int fd, uint32_t line, const char *what, const char *of, int *ret_fd,
                             tl_error *err) {
    tl_tenants_file file = {.is_output = fd != 0, .created = path};
    file.fd = fd == 0 ? open(path, O_RDONLY | O_CLOEXEC) : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.is_output && file.fd < 0 && errno == EEXIST) {
        file.created = NULL;
        file.fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    }
    if (file.fd < 0)
        return tl_fail(err, errno == ENOENT ? TL_ENOENT : TL_EACCESS, "%.160s:%u: %s of %.60s: %.160s: %s", t->plan.file_name, line, what,
                       of, path, strerror(errno));
    *ret_fd = file.fd;
    t->files[t->n_files++] = file;
    return TL_OK;
}

static void begin_outputs(tl_tenants *t) {
    for (uint32_t i = 0; i < t->n_files; i++)
        if (t->files[i].is_output && ftruncate(t->files[i].fd, 0) != 0)
            continue; // a device has no length
    t->has_begun = true;
}

static void close_files(tl_tenants *t) {
    for (uint32_t i = 0; i < t->n_files; i++) {
        close(t->files[i].fd);
        if (!t->has_begun && t->files[i].is_output && t->files[i].created)
            unlink(t->files[i].created);
    }
}

static tl_status new_accounts(tl_tenants *t, tl_error *err) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->plan.n_vms; i++) {
        t->vms[i].first_account = n;
        n += t->plan.vms[i].n_contexts + TL_N_OWN_ACCOUNTS;
    }
    t->n_accounts = n + t->config.n_partitions;
    t->accounts = tl_arena_alloc(&t->arena, t->n_accounts * sizeof *t->accounts);
    uint32_t n_cells = t->parts[0].machine->probe.n_cells;
    for (uint32_t i = 0; t->accounts && i < t->n_accounts; i++) {
        t->accounts[i].cells = tl_arena_alloc(&t->arena, n_cells * sizeof(uint64_t));
        if (!t->accounts[i].cells)
            return tl_tenants_no_memory(err);
    }
    for (uint32_t i = 0; i < t->config.n_partitions; i++) {
        tl_tenants_part *p = &t->parts[i];
        p->idle = n + i;
        p->account = p->n_vms > 0 ? p->vms[0]->first_account : p->idle;
        p->charged = tl_arena_alloc(&t->arena, n_cells * sizeof(uint64_t));
        if (!p->charged)
            return tl_tenants_no_memory(err);
    }
    return t->accounts ? TL_OK : tl_tenants_no_memory(err);
}

// A partition without a VM has ended before it begins.
static tl_status run_nothing(void *ctx, uint32_t partition, uint64_t until, tl_chip_event *ret_event, tl_error *err) {
    if (((tl_tenants *)ctx)->parts[partition].n_vms > 0)
        return run_partition(ctx, partition, until, ret_event, err);
    *ret_event = (tl_chip_event){.kind = TL_CHIP_ENDED};
    return TL_OK;
}

static tl_status new_chip(tl_tenants *t, tl_error *err) {
    const tl_chip_plan plan = {.config = t->config.chip,
                               .profile = t->plan.profile,
                               .n_partitions = t->config.n_partitions,
                               .n_tags = t->n_accounts,
                               .runner = {t, run_nothing, resume_partition, switch_partition, tl_tenants_horizon, answer_partition,
                                          tl_tenants_moved, t->jobs ? begin_partition : NULL}};
    tl_status status = tl_chip_new(&plan, &t->chip, err);
    for (uint32_t i = 0; status == TL_OK && i < t->config.n_partitions; i++)
        tl_chip_begin(t->chip, i, t->parts[i].account);
    return status;
}

static tl_status read_machine(tl_tenants *t, tl_error *err) {
    const char *machine = t->options.machine ? t->options.machine : t->plan.machine;
    tl_error why = {0};
    tl_status status = tl_description_open(machine, &t->config, &why);
    for (const char *const *o = t->options.overrides; status == TL_OK && o && *o; o++)
        status = tl_config_set(&t->config, *o, &why);
    if (status == TL_OK)
        status = tl_keys_check(&t->config, &why);
    if (status == TL_OK)
        return tl_tenants_plan_check(&t->plan, &t->config, err);
    if (t->options.machine || t->options.overrides)
        return tl_fail(err, status, "%s", why.text);
    return tl_tenants_fail_on(t, t->plan.machine_line, status, &why, err);
}

// The description of one partition: a board may have less RAM.
static tl_config config_of(const tl_tenants *t, uint32_t partition) {
    tl_config config = t->config;
    for (uint32_t i = 0; i < t->plan.n_vms; i++) {
        const tl_vm_plan *vm = &t->plan.vms[i];
        if (vm->partition == partition && vm->board && vm->board->ram_bytes != 0)
            config.ram_bytes = vm->board->ram_bytes;
    }
    return config;
}

static tl_status new_machines(tl_tenants *t, tl_error *err) {
    t->engine = tl_session_engine(t->options.engine, t->config.isa);
    if (!t->engine)
        return tl_session_no_engine(&t->config, err);
    uint64_t ram_bytes[TL_MAX_PARTITIONS];
    for (uint32_t i = 0; i < t->config.n_partitions; i++)
        ram_bytes[i] = config_of(t, i).ram_bytes;
    tl_status status = tl_chip_memory_init(ram_bytes, t->config.n_partitions, &t->memory, err);
    for (uint32_t i = 0; status == TL_OK && i < t->config.n_partitions; i++) {
        const tl_config config = config_of(t, i);
        uint8_t *ram = tl_chip_memory_window(&t->memory, i);
        status = tl_machine_new_in(&config, t->engine, ram, &t->parts[i].machine, err);
        // The host forbids generated code.
        if (status == TL_EACCESS && t->options.engine == TL_ENGINE_FASTEST) {
            t->engine = &tl_engine_interp;
            status = tl_machine_new_in(&config, t->engine, ram, &t->parts[i].machine, err);
        }
    }
    return status;
}

static tl_status build(tl_tenants *t, tl_error *err) {
    uint32_t n_contexts = 0;
    tl_status status = tl_tenants_plan_open(t->options.file, &t->plan, err);
    if (status == TL_OK)
        status = read_machine(t, err);
    if (status == TL_OK)
        status = new_machines(t, err);
    if (status != TL_OK)
        return status;
    t->vms = tl_arena_alloc(&t->arena, t->plan.n_vms * sizeof *t->vms);
    for (uint32_t i = 0; t->vms && i < t->plan.n_vms; i++) {
        const tl_vm_plan *plan = &t->plan.vms[i];
        tl_tenants_part *p = &t->parts[plan->partition];
        t->vms[i] = (tl_tenants_vm){.tenants = t, .plan = plan, .guest = plan->board ? &tl_tenants_board : &tl_tenants_programs};
        p->vms[p->n_vms++] = &t->vms[i];
        n_contexts += plan->n_contexts;
    }
    t->files = tl_arena_alloc(&t->arena, (size_t)n_contexts * 3 * sizeof *t->files);
    if (!t->vms || !t->files)
        return tl_tenants_no_memory(err);
    for (uint32_t i = 0; i < t->config.n_partitions; i++) {
        tl_tenants_part *p = &t->parts[i];
        p->turn_end = p->n_vms > 1 ? p->vms[0]->plan->quantum_cycles : UINT64_MAX;
        p->waits_from = UINT64_MAX;
    }
    status = new_accounts(t, err);
    if (status == TL_OK)
        status = tl_tenants_monitor_open(t, err);
    for (uint32_t i = 0; i < t->plan.n_vms && status == TL_OK; i++)
        status = t->vms[i].guest->load(t, &t->vms[i], err);
    if (status == TL_OK && t->options.n_jobs > 1 && !t->monitor)
        status = tl_tenants_jobs_open((uint32_t)tl_lesser(t->options.n_jobs, t->config.n_partitions), &t->jobs, err);
    if (status == TL_OK)
        status = new_chip(t, err);
    if (status == TL_OK)
        status = tl_tenants_monitor_start(t, err);
    if (status != TL_OK)
        return status;
    tl_tenants_clients_open(t);
    status = tl_tenants_oob_open(t, err);
    return status == TL_OK ? tl_tenants_records_open(t, err) : status;
}

static tl_status take_interval(tl_tenants *t, tl_error *err) {
    uint64_t length = t->options.interval_length;
    __extension__ typedef unsigned __int128 wide;
    switch (t->options.interval) {
    case TL_INTERVAL_NONE: t->interval_cycles = t->plan.interval_cycles; return TL_OK;
    case TL_INTERVAL_CYCLES: t->interval_cycles = length; break;
    case TL_INTERVAL_NS: t->interval_cycles = (uint64_t)((wide)length * t->config.clock_hz / 1000000000); break;
    case TL_INTERVAL_INSTRUCTIONS:
        return tl_fail(err, TL_EINVAL, "partitions retire at different rates; give the interval in time or cycles, such as 10ms or 500kc");
    }
    return t->interval_cycles >= 1000 ? TL_OK : tl_fail(err, TL_EINVAL, "an interval of tenants has at least 1000 cycles");
}

tl_status tl_tenants_open(const tl_tenants_options *options, tl_tenants **ret_tenants, tl_error *err) {
    return tl_tenants_open_with(options, NULL, ret_tenants, err);
}

tl_status tl_tenants_open_with(const tl_tenants_options *options, const tl_chip_monitor_type *type, tl_tenants **ret_tenants,
                               tl_error *err) {
    if (options->size < offsetof(tl_tenants_options, machine))
        return tl_fail(err, TL_EINVAL, "the size of tl_tenants_options is %u: call tl_tenants_options_init first", options->size);
    tl_tenants *t = calloc(1, sizeof *t);
    if (!t)
        return tl_tenants_no_memory(err);
    t->monitor_type = type;
    t->oob.listener = t->oob.client = -1;
    tl_tenants_init(&t->options);
    memcpy(&t->options, options, options->size < sizeof t->options ? options->size : sizeof t->options);
    tl_status status = build(t, err);
    if (status == TL_OK)
        status = take_interval(t, err);
    t->options.file = t->options.machine = t->options.monitor = NULL; // the caller's
    t->options.overrides = NULL;
    if (t->options.max_cycles == 0)
        t->options.max_cycles = t->plan.max_cycles;
    if (status != TL_OK) {
        tl_tenants_close(t);
        return status;
    }
    begin_outputs(t);
    *ret_tenants = t;
    return TL_OK;
}

void tl_tenants_close(tl_tenants *t) {
    if (!t)
        return;
    tl_tenants_jobs_close(t->jobs);
    tl_tenants_oob_close(t);
    tl_tenants_records_close(t);
    for (uint32_t i = 0; t->vms && i < t->plan.n_vms; i++) {
        if (t->vms[i].guest)
            t->vms[i].guest->free(&t->vms[i]);
        free(t->vms[i].switch_cycles);
    }
    for (uint32_t i = 0; i < TL_MAX_PARTITIONS; i++)
        tl_machine_free(t->parts[i].machine);
    tl_chip_memory_done(&t->memory);
    close_files(t);
    tl_chip_free(t->chip);
    tl_tenants_release(t->previous);
    tl_tenants_plan_done(&t->plan);
    tl_arena_done(&t->arena);
    free(t);
}

// ---- Running.

// The chip ends: partitions that ended earlier were idle up to now.
static void settle(tl_tenants *t) {
    uint64_t now = tl_chip_now(t->chip);
    for (uint32_t i = 0; i < t->config.n_partitions; i++) {
        uint64_t cycle = tl_machine_now_cycles(t->parts[i].machine);
        now = cycle > now ? cycle : now;
    }
    for (uint32_t i = 0; i < t->config.n_partitions; i++) {
        tl_machine_settle(t->parts[i].machine, 0, now);
        tl_tenants_charge(t, i, now);
    }
    t->now = now;
}

tl_status tl_tenants_run(tl_tenants *t, tl_run_state *ret_state, tl_error *err) {
    uint64_t until = UINT64_MAX, length = t->interval_cycles;
    bool is_done = false;
    *ret_state = TL_RUN_ENDED;
    if (t->has_ended)
        return TL_OK;
    if (length != 0)
        until = length * (t->n_intervals + 1);
    if (t->options.max_cycles != 0)
        until = tl_lesser(until, t->options.max_cycles);
    tl_status status = t->monitor ? tl_tenants_run_monitored(t, until, &is_done, err) : tl_chip_run(t->chip, until, &is_done, err);
    if (t->jobs)
        tl_tenants_jobs_settle(t->jobs);
    if (status != TL_OK) {
        tl_tenants_end(t, TL_END_FAILED);
        return status;
    }
    if (t->must_stop) {
        t->must_stop = false;
        for (uint32_t i = 0; i < t->config.n_partitions; i++) // counts may be asked for now
            tl_tenants_charge(t, i, tl_machine_now_cycles(t->parts[i].machine));
        *ret_state = TL_RUN_GOING;
        return TL_OK;
    }
    if (is_done) {
        settle(t);
        t->has_ended = true;
        t->reason = TL_END_EXITED;
        tl_tenants_monitor_close(t);
        return TL_OK;
    }
    t->now = until;
    for (uint32_t i = 0; i < t->config.n_partitions; i++) {
        if (t->parts[i].account == t->parts[i].idle || t->parts[i].is_gated) // nothing moves it now
            tl_machine_settle(t->parts[i].machine, 0, until);
        tl_tenants_charge(t, i, until);
    }
    if (until == t->options.max_cycles) {
        tl_tenants_end(t, TL_END_TIMEOUT);
        return TL_OK;
    }
    t->n_intervals++;
    *ret_state = TL_RUN_GOING;
    return TL_OK;
}

void tl_tenants_serve_oob(tl_tenants *t) { tl_tenants_oob_serve(t); }

void tl_tenants_end(tl_tenants *t, tl_end_reason reason) {
    if (t->has_ended)
        return;
    t->has_ended = true;
    t->reason = reason;
    if (t->monitor && reason != TL_END_FAILED) {
        tl_tenants_stop_monitored(t);
        return;
    }
    for (uint32_t i = 0; i < t->config.n_partitions; i++)
        tl_tenants_charge(t, i, tl_machine_now_cycles(t->parts[i].machine));
}

// ---- Counts.

tl_status tl_tenants_name_shared_units(tl_arena *arena, tl_probe *ret_units, tl_error *err) {
    tl_unit *units = tl_arena_alloc(arena, TL_N_CHIP_UNITS * sizeof *units);
    if (!units)
        return tl_tenants_no_memory(err);
    for (uint32_t i = 0; i < TL_N_CHIP_UNITS; i++) {
        const tl_unit_type *type = &tl_chip_unit_types[i];
        units[i] = (tl_unit){.type = type, .path = tl_arena_printf(arena, "chip.%s", type->name), .first_cell = tl_chip_first_cells[i]};
        if (!units[i].path)
            return tl_tenants_no_memory(err);
    }
    *ret_units = (tl_probe){.units = units, .n_units = TL_N_CHIP_UNITS, .n_cells = TL_N_CHIP_CELLS};
    return TL_OK;
}

static tl_status name_units(tl_tenants *t, tl_tenants_counts *c, tl_error *err) {
    const tl_probe *of = &t->parts[0].machine->probe;
    tl_unit *units = tl_arena_alloc(&c->arena, of->n_units * sizeof *units);
    if (!units)
        return tl_tenants_no_memory(err);
    for (uint32_t i = 0; i < of->n_units; i++) {
        units[i] = (tl_unit){
            .type = of->units[i].type, .path = tl_arena_strdup(&c->arena, of->units[i].path), .first_cell = of->units[i].first_cell};
        if (!units[i].path)
            return tl_tenants_no_memory(err);
    }
    c->units = (tl_probe){.units = units, .n_units = of->n_units, .n_cells = of->n_cells};
    return tl_tenants_name_shared_units(&c->arena, &c->shared_units, err);
}

static tl_tenants_row *add_row(tl_tenants_counts *c, tl_tenants_view_kind kind, uint32_t n_parts) {
    tl_tenants_row *row = &c->rows[c->n_rows++];
    row->view = (tl_tenants_view){.size = sizeof row->view, .kind = kind, .name = "", .program = "", .message = ""};
    row->cells = tl_arena_alloc(&c->arena, (size_t)n_parts * c->units.n_cells * sizeof *row->cells);
    row->shared = tl_arena_alloc(&c->arena, TL_N_CHIP_CELLS * sizeof *row->shared);
    return row->cells && row->shared ? row : NULL;
}

static void add_account(const tl_tenants *t, const tl_tenants_counts *c, tl_tenants_row *row, uint32_t index) {
    const tl_tenants_account *a = &t->accounts[index];
    uint64_t n_bursts, n_bytes;
    const uint64_t *shared = tl_chip_tagged(t->chip, index);
    for (uint32_t i = 0; i < c->units.n_cells; i++)
        row->cells[i] += a->cells[i];
    for (uint32_t i = 0; i < TL_N_CHIP_CELLS; i++)
        row->shared[i] += shared[i];
    tl_chip_late(t->chip, index, &n_bursts, &n_bytes);
    row->view.late_bursts += n_bursts;
    row->view.late_bytes += n_bytes;
    row->view.active_cycles += a->active_cycles;
    row->view.n_switches += a->n_switches;
}

static void tell_end(tl_tenants_counts *c, tl_tenants_view *view, const tl_tenants_vm *v, uint32_t context) {
    tl_os_report end;
    if (v->guest->has_ended(v, context, &end)) {
        view->reason = end.stop == TL_OS_KILLED ? TL_END_KILLED : TL_END_EXITED;
        view->status = end.exit_status;
        view->signal = end.signal;
    } else if (v->is_deadlocked) {
        view->reason = TL_END_DEADLOCK;
        memcpy(end.message, v->message, sizeof end.message);
    } else {
        return;
    }
    const char *message = tl_arena_strdup(&c->arena, end.message);
    view->message = message ? message : "";
}

static tl_status add_vm(const tl_tenants *t, tl_tenants_counts *c, const tl_tenants_vm *v, uint32_t number, tl_error *err) {
    tl_tenants_row *sum = add_row(c, TL_TENANTS_VM, 1);
    const char *name = tl_arena_strdup(&c->arena, v->plan->name);
    if (!sum || !name)
        return tl_tenants_no_memory(err);
    sum->view.name = name;
    sum->view.vm = number;
    sum->view.partition = v->plan->partition;
    for (uint32_t k = 0; k < v->plan->n_contexts + TL_N_OWN_ACCOUNTS; k++) {
        bool is_context = k < v->plan->n_contexts;
        tl_tenants_view_kind kind = is_context                                 ? TL_TENANTS_CONTEXT
                                    : k == v->plan->n_contexts + TL_NO_CONTEXT ? TL_TENANTS_NO_CONTEXT
                                                                               : TL_TENANTS_SWITCHING;
        tl_tenants_row *row = add_row(c, kind, 1);
        if (!row)
            return tl_tenants_no_memory(err);
        row->view.vm = number;
        row->view.partition = v->plan->partition;
        row->view.name = name;
        if (is_context) {
            row->view.context = k;
            row->view.name = tl_arena_strdup(&c->arena, v->plan->contexts[k].name);
            row->view.program = v->guest->program(v, k, &c->arena);
            if (!row->view.name || !row->view.program)
                return tl_tenants_no_memory(err);
            tell_end(c, &row->view, v, k);
        }
        add_account(t, c, row, v->first_account + k);
        add_account(t, c, sum, v->first_account + k);
        if (is_context || kind == TL_TENANTS_NO_CONTEXT)
            sum->view.n_switches -= row->view.n_switches; // those of TL_SWITCHING are all
    }
    return TL_OK;
}

// The accounts of everybody add up to what the machine counted by itself.
static tl_status check_sums(const tl_tenants *t, const tl_tenants_counts *c, tl_error *err) {
    const tl_tenants_row *device = &c->rows[0];
    for (uint32_t p = 0; p < c->n_partitions; p++)
        for (uint32_t u = 0; u < c->units.n_units; u++)
            for (uint32_t s = 0; s < c->units.units[u].type->n_signals; s++) {
                uint32_t cell = c->units.units[u].first_cell + s;
                uint64_t sum = 0, whole = device->cells[(size_t)p * c->units.n_cells + cell];
                for (uint32_t r = 1; r < c->n_rows; r++)
                    if (c->rows[r].view.kind != TL_TENANTS_VM && c->rows[r].view.partition == p)
                        sum += c->rows[r].cells[cell];
                if (sum != whole)
                    return tl_fail(err, TL_EINVAL,
                                   "p%u.%s.%s: tenants' counts sum to %" PRIu64 ", the machine counted %" PRIu64
                                   "; this is a defect of tally, please report it",
                                   p, c->units.units[u].path, c->units.units[u].type->signals[s].name, sum, whole);
            }
    for (uint32_t i = 0; i < TL_N_CHIP_CELLS; i++) {
        uint64_t sum = 0;
        for (uint32_t r = 1; r < c->n_rows; r++)
            sum += c->rows[r].view.kind != TL_TENANTS_VM ? c->rows[r].shared[i] : 0;
        if (sum != device->shared[i])
            return tl_fail(err, TL_EINVAL,
                           "shared units: tenants' counts do not sum to the chip's; this is a defect of tally, please report it");
    }
    for (uint32_t p = 0; p < c->n_partitions; p++) {
        tl_status status = tl_machine_check_identities(t->parts[p].machine, err);
        if (status != TL_OK)
            return status;
    }
    return TL_OK;
}

static tl_status take_counts(tl_tenants *t, tl_tenants_counts *c, tl_error *err) {
    tl_status status = name_units(t, c, err);
    if (status != TL_OK)
        return status;
    uint32_t n_rows = 1 + c->n_partitions;
    for (uint32_t i = 0; i < t->plan.n_vms; i++)
        n_rows += 1 + t->plan.vms[i].n_contexts + TL_N_OWN_ACCOUNTS;
    c->file = tl_arena_strdup(&c->arena, t->plan.file_name);
    c->machine = tl_arena_strdup(&c->arena, t->config.name);
    c->engine = t->engine->name;
    c->rows = tl_arena_alloc(&c->arena, n_rows * sizeof *c->rows);
    if (!c->file || !c->machine || !c->rows)
        return tl_tenants_no_memory(err);
    tl_tenants_row *device = add_row(c, TL_TENANTS_DEVICE, c->n_partitions);
    if (!device)
        return tl_tenants_no_memory(err);
    for (uint32_t p = 0; p < c->n_partitions; p++)
        memcpy(device->cells + (size_t)p * c->units.n_cells, t->parts[p].charged, c->units.n_cells * sizeof *device->cells);
    memcpy(device->shared, tl_chip_tally(t->chip), TL_N_CHIP_CELLS * sizeof *device->shared);
    device->view.active_cycles = c->end_cycle;
    for (uint32_t i = 0; i < t->plan.n_vms && status == TL_OK; i++)
        status = add_vm(t, c, &t->vms[i], i + 1, err);
    for (uint32_t p = 0; p < c->n_partitions && status == TL_OK; p++) {
        tl_tenants_row *row = add_row(c, TL_TENANTS_IDLE, 1);
        if (!row)
            return tl_tenants_no_memory(err);
        row->view.partition = p;
        add_account(t, c, row, t->parts[p].idle);
    }
    for (uint32_t r = 1; r < c->n_rows && status == TL_OK; r++)
        if (c->rows[r].view.kind == TL_TENANTS_VM) {
            device->view.n_switches += c->rows[r].view.n_switches;
            device->view.late_bursts += c->rows[r].view.late_bursts;
            device->view.late_bytes += c->rows[r].view.late_bytes;
        }
    if (status == TL_OK)
        status = check_sums(t, c, err);
    return status == TL_OK && t->monitor ? tl_tenants_read_blocks(t, c, err) : status;
}

static void subtract_value(tl_tenants_block_value *from, const tl_tenants_block_value *what) {
    from->count -= what->count;
    from->late -= what->late;
    from->truth -= what->truth;
    from->remainder -= what->remainder;
    from->flags |= what->flags;
    from->error = tl_tenants_error(from);
}

static void subtract(tl_tenants_counts *from, const tl_tenants_counts *what) {
    for (uint32_t r = 0; r < from->n_rows; r++) {
        tl_tenants_row *a = &from->rows[r];
        const tl_tenants_row *b = &what->rows[r];
        uint32_t n_parts = a->view.kind == TL_TENANTS_DEVICE ? from->n_partitions : 1;
        for (size_t i = 0; i < (size_t)n_parts * from->units.n_cells; i++)
            a->cells[i] -= b->cells[i];
        for (uint32_t i = 0; i < TL_N_CHIP_CELLS; i++)
            a->shared[i] -= b->shared[i];
        a->view.active_cycles -= b->view.active_cycles;
        a->view.n_switches -= b->view.n_switches;
        a->view.late_bursts -= b->view.late_bursts;
        a->view.late_bytes -= b->view.late_bytes;
        for (uint32_t i = 0; a->values && i < from->n_events; i++)
            subtract_value(&a->values[i], &b->values[i]);
    }
}

static tl_status new_counts(tl_tenants *t, tl_tenants_counts **ret_counts, tl_error *err) {
    tl_tenants_counts *c = calloc(1, sizeof *c);
    if (!c)
        return tl_tenants_no_memory(err);
    c->is_literal = t->plan.profile == TL_CHIP_LITERAL;
    c->clock_hz = t->config.clock_hz;
    c->n_partitions = t->config.n_partitions;
    c->end_cycle = t->now;
    c->is_complete = t->has_ended;
    tl_status status = take_counts(t, c, err);
    if (status == TL_OK)
        *ret_counts = c;
    else
        tl_tenants_release(c);
    return status;
}

tl_status tl_tenants_count(tl_tenants *t, bool of_interval, tl_tenants_counts **ret_counts, tl_error *err) {
    tl_tenants_counts *counts = NULL, *now = NULL;
    tl_status status = new_counts(t, &counts, err);
    if (status != TL_OK || !of_interval) {
        if (status == TL_OK)
            *ret_counts = counts;
        return status;
    }
    status = new_counts(t, &now, err);
    if (status != TL_OK) {
        tl_tenants_release(counts);
        return status;
    }
    if (t->previous) {
        subtract(counts, t->previous);
        counts->begin_cycle = t->previous->end_cycle;
    }
    counts->n_interval = t->previous ? t->previous->n_interval + 1 : 1;
    now->n_interval = counts->n_interval;
    tl_tenants_release(t->previous);
    t->previous = now;
    *ret_counts = counts;
    return TL_OK;
}
