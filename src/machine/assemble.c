// SPDX-License-Identifier: MIT
// Puts a machine together from its description: the only file above the parts that knows which parts there are.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "dev/snooper.h"
#include "machine/machine.h"
#include "mem/mem_signals.h"
#include "pmu/ccache/ccache.h"
#include "pmu/dhpc/dhpc.h"

static tl_status name_units(tl_machine *machine, uint64_t **shared_tally, tl_error *err) {
    const tl_config *config = &machine->config;
    uint32_t n_shared = tl_memory_n_units(config), n_units = config->n_harts * TL_N_HART_UNITS + n_shared;
    tl_unit *units = tl_arena_alloc(&machine->arena, n_units * sizeof *units);
    uint32_t n_slots = config->n_harts * TL_S_N_SLOTS;
    for (uint32_t k = 0; k < n_shared; k++) {
        tl_memory_unit unit;
        tl_memory_unit_at(config, k, &unit);
        n_slots += unit.type->n_signals;
    }
    machine->tally = tl_arena_alloc(&machine->arena, n_slots * sizeof *machine->tally);
    if (!units || !machine->tally)
        return tl_fail(err, TL_ENOMEM, "no memory for %u tallies", n_slots);

    uint32_t u = 0, slot = 0;
    for (uint32_t i = 0; i < config->n_harts; i++)
        for (uint32_t k = 0; k < TL_N_HART_UNITS; k++, u++) {
            const tl_hart_unit_row *row = &tl_hart_units[k];
            slot = i * TL_S_N_SLOTS + row->first_slot;
            char path[32];
            snprintf(path, sizeof path, row->path_format, i);
            units[u] = (tl_unit){
                .type = &row->type, .path = tl_arena_strdup(&machine->arena, path), .tally = machine->tally + slot, .first_slot = slot};
        }
    slot = config->n_harts * TL_S_N_SLOTS;
    for (uint32_t k = 0; k < n_shared; k++, u++) {
        tl_memory_unit unit;
        tl_memory_unit_at(config, k, &unit);
        units[u] = (tl_unit){
            .type = unit.type, .path = tl_arena_strdup(&machine->arena, unit.path), .tally = machine->tally + slot, .first_slot = slot};
        shared_tally[k] = units[u].tally;
        slot += unit.type->n_signals;
    }
    for (uint32_t k = 0; k < n_units; k++)
        if (!units[k].path)
            return tl_fail(err, TL_ENOMEM, "no memory for the names of %u units", n_units);
    machine->probe = (tl_probe){.units = units, .n_units = n_units, .tally = machine->tally, .n_slots = n_slots};
    return TL_OK;
}

static tl_status new_harts(tl_machine *machine, tl_error *err) {
    for (uint32_t i = 0; i < machine->config.n_harts; i++) {
        tl_hart *h = tl_arena_alloc(&machine->arena, sizeof *h);
        if (!h)
            return tl_fail(err, TL_ENOMEM, "no memory for hart%u", i);
        h->id = i;
        h->config = &machine->config;
        h->ram = machine->ram;
        h->tally = machine->tally + i * TL_S_N_SLOTS;
        h->core = machine->core;
        h->run_vline = h->reservation_paddr = h->break_pc[0] = h->break_pc[1] = TL_NO_LINE;
        h->horizon = h->insn_limit = UINT64_MAX;
        h->priv = TL_PRIV_U;
        machine->harts[i] = h;
        tl_status status = tl_bpred_init(&h->bp, &machine->config, &machine->arena, err);
        if (status != TL_OK)
            return status;
    }
    machine->n_harts = machine->config.n_harts;
    return TL_OK;
}

// RAM begins on a huge page of the host and asks for huge pages: a guest that misses its caches would miss the host's TLB, too. Guest
// pages are handed out in order, so little is touched that the guest does not use.
static bool map_ram(tl_machine *machine) {
    const size_t huge_bytes = (size_t)2 << 20;
    machine->ram_mapped_bytes = machine->config.ram_bytes + huge_bytes;
    void *mapped = mmap(NULL, machine->ram_mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        return false;
    machine->ram_mapped = mapped;
    machine->ram = (uint8_t *)tl_align_up((uintptr_t)mapped, huge_bytes);
    madvise(machine->ram, machine->config.ram_bytes, MADV_HUGEPAGE); // a wish: hosts without them work, slower
    return true;
}

static void notice_hpc(void *ctx, const tl_hart *h, tl_notice notice) {
    static const tl_dhpc_notice_kind kinds[] = {[TL_NOTICE_TRAP_ENTRY] = TL_DHPC_TRAP_ENTRY,
                                                [TL_NOTICE_TRAP_RETURN] = TL_DHPC_TRAP_RETURN,
                                                [TL_NOTICE_ECALL] = TL_DHPC_ECALL_TAKEN,
                                                [TL_NOTICE_SATP] = TL_DHPC_SATP_WRITTEN};
    tl_dhpc_notice(ctx, h->id, kinds[notice], h->now);
}

static void set_left_out(tl_dhpc_config *how, const tl_hpc_config *c) {
    how->left_out[TL_DHPC_CORE][0] = ~c->core_events;
    how->left_out[TL_DHPC_CORE][1] = ~c->u74_events;
    how->left_out[TL_DHPC_CORE][2] = ~c->stack_events;
    how->left_out[TL_DHPC_LLC][0] = ~c->slice_events;
    how->left_out[TL_DHPC_LLC][1] = ~c->slice_core_events;
    how->left_out[TL_DHPC_MEM][0] = ~c->memory_events;
    how->left_out[TL_DHPC_DEVICE][0] = ~c->device_events;
    how->left_out[TL_DHPC_MMIO][0] = ~c->bus_events;
    how->left_out[TL_DHPC_FABRIC][0] = ~c->fabric_events;
}

static tl_dhpc_config hpc_config(const tl_config *config) {
    static const tl_dhpc_ctxsw policies[] = {[TL_HPC_ON_TRAP] = TL_DHPC_TRAP,
                                             [TL_HPC_ON_SATP] = TL_DHPC_SATP,
                                             [TL_HPC_ON_ECALL] = TL_DHPC_ECALL,
                                             [TL_HPC_ON_NOTHING] = TL_DHPC_NEVER_SET};
    const tl_hpc_config *c = &config->dhpc;
    tl_dhpc_config how = {
        .fifo_depth = c->fifo_depth,
        .mode = config->hpc == TL_HPC_TIMED ? TL_DHPC_TIMED : TL_DHPC_FUNCTIONAL,
        .t_req = c->t_req_cycles,
        .t_grant = c->t_grant_cycles,
        .t_lookup = c->t_lookup_cycles,
        .t_resp = c->t_resp_cycles,
        .beat = c->beat_cycles,
        .sampling = c->sampling == TL_HPC_LIVE ? TL_DHPC_LIVE : TL_DHPC_SNAPSHOT,
        .ctxsw_policy = policies[c->ctxsw_policy],
        .strict_user = c->strict_user == TL_ON,
        .user_class_mask = (uint8_t)c->user_classes,
        .hpcc = c->csr_base,
        .hpcm = c->csr_base + 1,
        .hpcmh = c->csr_base + 2,
        .hpcr = c->csr_read_base,
        .hpcrh = c->csr_read_base + 1,
    };
    set_left_out(&how, c);
    return how;
}

// One fabric for all harts.
static tl_status attach_hpc(tl_machine *machine, tl_error *err) {
    const tl_config *config = &machine->config;
    if (config->hpc == TL_HPC_NONE)
        return TL_OK;
    const tl_dhpc_config how = hpc_config(config);
    tl_dhpc *hpc;
    tl_status status = tl_dhpc_new_on(&how, 64, machine->n_harts, &machine->pmu_host, &machine->arena, &hpc, err);
    if (status != TL_OK)
        return status;
    machine->hpc = hpc;
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        tl_hart *h = machine->harts[i];
        h->pmus[h->n_pmus++] = tl_dhpc_port(hpc, i);
        h->notice = notice_hpc;
        h->notice_ctx = hpc;
    }
    return TL_OK;
}

// As a kernel would do it: each a CSR instruction without a result. useren by set and clear, so that no stale trigger is written back.
void tl_machine_hand_over_hpc(tl_machine *machine, tl_hart *h, bool is_granted) {
    const tl_dhpc_config *how = machine->hpc ? tl_dhpc_config_of(machine->hpc) : NULL;
    if (!how)
        return;
    const tl_dhpc_access accesses[] = {
        {.csr = how->hpcc, .op = TL_CSR_CLEAR, .operand = TL_DHPC_TRIGGER, .priv = TL_PRIV_S},
        {.csr = how->hpcm, .op = TL_CSR_WRITE, .is_rd_x0 = true, .is_rs1_x0 = true, .priv = TL_PRIV_S},
        {.csr = how->hpcc, .op = is_granted ? TL_CSR_SET : TL_CSR_CLEAR, .operand = TL_DHPC_USEREN, .priv = TL_PRIV_S},
    };
    for (size_t i = 0; i < TL_COUNT_OF(accesses); i++)
        (void)tl_dhpc_execute(machine->hpc, h->id, h->now, &accesses[i], NULL);
}

static uint64_t *tally_of_bus(const tl_machine *machine) {
    for (uint32_t i = 0; i < machine->probe.n_units; i++)
        if (machine->probe.units[i].type == &tl_mem_unit_types[TL_MEM_UNIT_BUS])
            return machine->probe.units[i].tally;
    return NULL;
}

static bool own_read(void *ctx, uint32_t hart, uint64_t paddr, uint32_t size_bytes, uint64_t *ret_value) {
    (void)hart;
    return tl_pmu_load(ctx, paddr - TL_L2_COUNTERS_PADDR, size_bytes, ret_value);
}

static bool own_write(void *ctx, uint32_t hart, uint64_t paddr, uint32_t size_bytes, uint64_t value) {
    (void)hart;
    return tl_pmu_store(ctx, paddr - TL_L2_COUNTERS_PADDR, size_bytes, value);
}

static tl_status attach_l2_counters(tl_machine *machine, tl_error *err) {
    const tl_config *config = &machine->config;
    if (config->l2_counters == 0)
        return TL_OK;
    tl_bus *bus = tl_arena_alloc(&machine->arena, sizeof *bus);
    if (!bus)
        return tl_fail(err, TL_ENOMEM, "no memory for the bus");
    tl_status status =
        tl_pmu_new(&tl_pmu_ccache, tl_ccache_presets[0], 64, &machine->pmu_host, 0, &machine->arena, &machine->l2_counters, err);
    if (status != TL_OK)
        return status;
    *bus = (tl_bus){.ctx = machine->l2_counters, .read = own_read, .write = own_write};
    machine->own_bus = bus;
    if (config->snooper_cycles == 0)
        return TL_OK;
    uint64_t *tally = tally_of_bus(machine);
    const tl_snooper_target target = {
        .pmu = machine->l2_counters,
        .paddr = TL_L2_COUNTERS_PADDR,
        .select_offset = TL_CCACHE_SELECT,
        .counter_offset = TL_CCACHE_COUNTER,
        .n_counters = config->l2_counters,
        .watched_tally = &tally[TL_BUS_SNOOPED_BEAT],
        .read_tally = &tally[TL_BUS_MASTER_READ],
    };
    return tl_snooper_new(&target, config->snooper_cycles, &machine->arena, &machine->snooper, err);
}

void tl_machine_set_bus(tl_machine *machine, const tl_bus *bus) {
    tl_memory_set_bus(machine->memory, bus && machine->snooper ? tl_snooper_watch(machine->snooper, bus) : bus);
}

uint64_t tl_machine_snoop(tl_machine *machine, uint64_t now) {
    return machine->snooper ? tl_snooper_look(machine->snooper, now) : UINT64_MAX;
}

void tl_machine_reset_pmus(tl_machine *machine) {
    if (machine->l2_counters)
        machine->l2_counters->type->reset(machine->l2_counters);
    for (uint32_t i = 0; i < machine->n_harts; i++)
        machine->pmus[i]->type->reset(machine->pmus[i]);
    if (machine->hpc)
        tl_dhpc_reset(machine->hpc);
}

static tl_status assemble(tl_machine *machine, tl_error *err) {
    uint64_t *shared_tally[TL_MAX_MEMORY_UNITS];
    if (!map_ram(machine))
        return tl_fail(err, TL_ENOMEM, "the host cannot map %llu MiB for ram; choose a smaller ram in the machine description",
                       (unsigned long long)(machine->config.ram_bytes >> 20));
    tl_status status = name_units(machine, shared_tally, err);
    if (status == TL_OK)
        status = new_harts(machine, err);
    if (status == TL_OK)
        status = tl_memory_new(&machine->config, &machine->arena, machine->harts, machine->ram, shared_tally, &machine->memory, err);
    for (uint32_t i = 0; status == TL_OK && i < machine->n_harts; i++)
        status = machine->core->attach(machine->harts[i], &machine->arena, err);
    if (status == TL_OK)
        status = tl_machine_attach_pmus(machine, err);
    if (status == TL_OK)
        status = attach_hpc(machine, err);
    if (status == TL_OK)
        status = attach_l2_counters(machine, err);
    return status;
}

tl_status tl_machine_new(const tl_config *config, const tl_core_type *core, tl_machine **ret_machine, tl_error *err) {
    tl_status status = tl_config_check(config, err);
    if (status != TL_OK)
        return status;
    tl_machine *machine = calloc(1, sizeof *machine);
    if (!machine)
        return tl_fail(err, TL_ENOMEM, "no memory for a machine");
    machine->config = *config;
    machine->core = core;
    status = assemble(machine, err);
    if (status != TL_OK) {
        tl_machine_free(machine);
        return status;
    }
    *ret_machine = machine;
    return TL_OK;
}

void tl_machine_free(tl_machine *machine) {
    if (!machine)
        return;
    for (uint32_t i = 0; i < machine->n_harts; i++)
        if (machine->harts[i]->engine)
            machine->core->detach(machine->harts[i]);
    tl_memory_done(machine->memory);
    if (machine->ram_mapped)
        munmap(machine->ram_mapped, machine->ram_mapped_bytes);
    tl_arena_done(&machine->arena);
    free(machine);
}
