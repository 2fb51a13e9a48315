// SPDX-License-Identifier: MIT
// Windows of clients; see tenants_clients.h.
//
// A load comes in the middle of its partition's run. The partition is held there. The others and
// the monitor run up to the load's cycle before the load is answered. A reader gets the same
// numbers however far partitions run ahead of one another.
#include "session/tenants_clients.h"

#include <string.h>

#include "base/bits.h"
#include "session/tenants_monitor.h"

// The partition stands at a load of `cycle`; the others and the monitor come up to there. A load
// sees everything before the end of its cycle, unless totals of its own partition are due before.
static void catch_up(tl_tenants *t, uint32_t partition, uint64_t cycle) {
    const tl_chip_monitor_type *type = t->monitor_type;
    const uint64_t until = t->until;
    const bool was_settling = t->is_settling;
    const uint64_t target = tl_lesser(cycle + 1, type->next_of(t->monitor, partition));
    tl_chip_hold(t->chip, partition, target);
    t->is_settling = true; // a stop comes afterwards, because `present` wants all growth before it
    if (t->failure == TL_OK && !t->must_stop) {
        // A client of the others may fail meanwhile; its failure stays.
        const tl_status status = tl_tenants_run_others(t, target, &t->why);
        t->failure = t->failure == TL_OK ? status : t->failure;
    }
    t->is_settling = was_settling;
    tl_chip_release(t->chip, partition);
    t->until = until;
    type->present(t->monitor, tl_lesser(target, type->next(t->monitor)));
    t->must_stop |= t->failure != TL_OK;
}

static bool is_in_window(const tl_tenants *t, uint64_t paddr) {
    return paddr >= TL_TENANTS_WINDOW_PADDR && paddr - TL_TENANTS_WINDOW_PADDR < t->monitor_type->window_bytes(t->monitor);
}

// The client by what the hardware knows: partition, VM and context that have the harts.
static tl_monitor_client client_on(const tl_tenants_part *p) {
    const tl_tenants_vm *v = p->vms[p->running];
    const uint32_t context = tl_os_context(v->os);
    tl_monitor_client client = {
        .role = TL_MONITOR_CONTEXT, .partition = v->plan->partition, .vm = (uint32_t)(v - v->tenants->vms) + 1, .context = TL_MONITOR_NONE};
    if (context < v->plan->n_contexts) {
        client.role = v->plan->contexts[context].client;
        client.context = client.role == TL_MONITOR_CONTEXT ? context : TL_MONITOR_NONE;
    }
    return client;
}

static bool begin(tl_tenants_part *p, const tl_agent *agent, tl_monitor_client *ret_client) {
    tl_tenants *t = p->tenants;
    if (p->is_gated || agent->kind != TL_AGENT_HART_DATA)
        return false;
    catch_up(t, (uint32_t)(p - t->parts), p->machine->harts[agent->id]->now);
    *ret_client = client_on(p);
    return true;
}

static bool read_window(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t *ret_value) {
    tl_tenants_part *p = ctx;
    tl_tenants *t = p->tenants;
    tl_monitor_client client;
    if (!is_in_window(t, paddr))
        return p->below && p->below->read(p->below->ctx, agent, paddr, size_bytes, ret_value);
    return begin(p, agent, &client) && t->monitor_type->load(t->monitor, &client, paddr - TL_TENANTS_WINDOW_PADDR, size_bytes, ret_value);
}

static bool write_window(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t value) {
    tl_tenants_part *p = ctx;
    tl_tenants *t = p->tenants;
    const uint32_t partition = (uint32_t)(p - t->parts);
    tl_monitor_client client;
    if (!is_in_window(t, paddr))
        return p->below && p->below->write(p->below->ctx, agent, paddr, size_bytes, value);
    if (!begin(p, agent, &client) || !t->monitor_type->store(t->monitor, &client, paddr - TL_TENANTS_WINDOW_PADDR, size_bytes, value))
        return false;
    const uint64_t next = t->monitor_type->next_of(t->monitor, partition);
    if (next < p->run_end) { // the request needs totals before the end of this run
        p->run_end = next;
        tl_os_end_run_at(p->vms[p->running]->os, next);
    }
    return true;
}

uint64_t tl_tenants_clients_take_end(tl_tenants *t, uint32_t partition) {
    const uint64_t end = t->parts[partition].run_end;
    t->parts[partition].run_end = UINT64_MAX;
    return end;
}

void tl_tenants_clients_open(tl_tenants *t) {
    for (uint32_t i = 0; i < t->config.n_partitions; i++)
        t->parts[i].run_end = UINT64_MAX;
    if (!t->monitor || !t->monitor_type->window_bytes)
        return;
    for (uint32_t i = 0; i < t->config.n_partitions; i++) {
        tl_tenants_part *p = &t->parts[i];
        bool is_wanted = false; // boards have buses of their own
        p->tenants = t;
        p->below = tl_machine_own_bus(p->machine);
        p->bus = (tl_bus){p, read_window, write_window};
        for (uint32_t k = 0; k < p->n_vms; k++) {
            const tl_vm_plan *vm = p->vms[k]->plan;
            if (!p->vms[k]->os)
                continue;
            tl_os_window window = {.name = t->monitor_pmu->name,
                                   .paddr = TL_TENANTS_WINDOW_PADDR,
                                   .bytes = tl_align_up(t->monitor_type->window_bytes(t->monitor), 4096)};
            for (uint32_t c = 0; c < vm->n_contexts; c++)
                window.contexts |= (uint32_t)!vm->contexts[c].has_no_window << c;
            is_wanted |= window.contexts != 0;
            tl_os_set_window(p->vms[k]->os, &window);
        }
        if (is_wanted)
            tl_machine_set_bus(p->machine, &p->bus);
        t->has_readers |= is_wanted;
    }
}
