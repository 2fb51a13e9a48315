// SPDX-License-Identifier: MIT
// Interrupt, page tables, stepping and accounts of a reading; see watch.h.
#include "compare/watch.h"

#include <string.h>

#include "compare/design.h"
#include "compare/interval.h"
#include "isa/rv/privileged.h"
#include "linux/memory/vm_space.h"
#include "mem/mem_signals.h"

enum {
    CSR_SCAUSE = 0x142,
    CSR_SEPC = 0x141,
    CSR_SSCRATCH = 0x140,
    KERNEL_T0 = 0, // in the kernel's data
    KERNEL_PC = 8,
    KERNEL_SP = 16,
    MAX_STEPS = 1000000, // of a reading, which takes some hundreds
    ROOT_INDEX = 128,
    PTE_BYTES = 8,
};

tl_status tl_watch_no_room(tl_error *err) { return tl_fail(err, TL_EINVAL, "the reader does not fit into its place; watch fewer events"); }

uint64_t tl_watch_word(const tl_watch *w, uint32_t place) {
    uint64_t value;
    memcpy(&value, tl_watch_bytes(w, place), sizeof value);
    return value;
}

void tl_watch_set_word(const tl_watch *w, uint32_t place, uint64_t value) { memcpy(tl_watch_bytes(w, place), &value, sizeof value); }

tl_assembler tl_watch_code(const tl_watch *w, uint32_t place, uint32_t n_bytes) {
    tl_assembler a;
    tl_asm_init(&a, tl_watch_bytes(w, place), n_bytes, TL_WATCH_VADDR + place);
    return a;
}

void tl_watch_save(tl_assembler *a, uint32_t first, uint32_t last) {
    for (uint32_t i = TL_T0; i <= TL_T2; i++)
        tl_asm_sd(a, i, TL_SP, 8 * (int32_t)i);
    for (uint32_t i = first; i <= last; i++)
        tl_asm_sd(a, i, TL_SP, 8 * (int32_t)i);
}

void tl_watch_restore(tl_assembler *a, uint32_t first, uint32_t last) {
    for (uint32_t i = TL_T0; i <= TL_T2; i++)
        tl_asm_ld(a, i, TL_SP, 8 * (int32_t)i);
    for (uint32_t i = first; i <= last; i++)
        tl_asm_ld(a, i, TL_SP, 8 * (int32_t)i);
}

uint64_t tl_watch_truth(const tl_watch *w, const tl_sources *sources) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < sources->n_cells; i++)
        sum += w->environment.machine->tally[sources->cells[i]];
    return sum;
}

// Interrupted: keep t0, pc and sp, and go to the reader. Called back: the other way round.
tl_status tl_watch_make_upcall(tl_watch *w, tl_error *err) {
    tl_assembler a = tl_watch_code(w, TL_WATCH_KERNEL, TL_WATCH_KERNEL_DATA - TL_WATCH_KERNEL);
    tl_asm_csrrw(&a, TL_SP, CSR_SSCRATCH, TL_SP);
    tl_asm_sd(&a, TL_T0, TL_SP, KERNEL_T0);
    tl_asm_csrr(&a, TL_T0, CSR_SCAUSE);
    uint32_t is_call = tl_asm_branch(&a, TL_ASM_GE, TL_T0, TL_X0);
    tl_asm_csrr(&a, TL_T0, CSR_SEPC);
    tl_asm_sd(&a, TL_T0, TL_SP, KERNEL_PC);
    tl_asm_csrr(&a, TL_T0, CSR_SSCRATCH);
    tl_asm_sd(&a, TL_T0, TL_SP, KERNEL_SP);
    tl_asm_csrw(&a, CSR_SSCRATCH, TL_SP);
    tl_asm_load_constant(&a, TL_T0, TL_WATCH_VADDR + TL_WATCH_USER);
    tl_asm_csrw(&a, CSR_SEPC, TL_T0);
    tl_asm_ld(&a, TL_T0, TL_SP, KERNEL_T0);
    tl_asm_load_constant(&a, TL_SP, TL_WATCH_VADDR + TL_WATCH_USER_DATA);
    tl_asm_sret(&a);
    tl_asm_bind(&a, is_call);
    tl_asm_ld(&a, TL_T0, TL_SP, KERNEL_PC);
    tl_asm_csrw(&a, CSR_SEPC, TL_T0);
    tl_asm_csrw(&a, CSR_SSCRATCH, TL_SP);
    tl_asm_ld(&a, TL_T0, TL_SP, KERNEL_T0);
    tl_asm_ld(&a, TL_SP, TL_SP, KERNEL_SP);
    tl_asm_sret(&a);
    return a.is_full ? tl_watch_no_room(err) : TL_OK;
}

// ---- Tables and registers, as firmware and kernel would have set them up.

static uint64_t pte_of(uint64_t paddr, uint64_t bits) { return paddr >> TL_PAGE_LOG2 << 10 | bits; }

static void map(const tl_watch *w, uint32_t from, uint32_t to, uint64_t paddr, uint64_t bits) {
    for (uint32_t at = from; at < to; at += TL_PAGE_BYTES)
        tl_watch_set_word(w, TL_WATCH_TABLES + TL_PAGE_BYTES + (at >> TL_PAGE_LOG2) * PTE_BYTES,
                          pte_of(paddr + (at - from), bits | TL_PTE_V | TL_PTE_A | TL_PTE_D));
}

static void make_tables(const tl_watch *w) {
    const tl_pmu_type *pmu = w->design->pmu;
    uint64_t base = w->base_paddr;
    memset(tl_watch_bytes(w, 0), 0, TL_WATCH_BYTES);
    tl_watch_set_word(w, TL_WATCH_TABLES, pte_of(base + TL_WATCH_TABLES + TL_PAGE_BYTES, TL_PTE_V));
    map(w, TL_WATCH_KERNEL, TL_WATCH_KERNEL_DATA, base + TL_WATCH_KERNEL, TL_PTE_R | TL_PTE_X);
    map(w, TL_WATCH_KERNEL_DATA, TL_WATCH_FIRMWARE, base + TL_WATCH_KERNEL_DATA, TL_PTE_R | TL_PTE_W);
    map(w, TL_WATCH_USER, TL_WATCH_USER_DATA, base + TL_WATCH_USER, TL_PTE_R | TL_PTE_X | TL_PTE_U);
    map(w, TL_WATCH_USER_DATA, TL_WATCH_WINDOW, base + TL_WATCH_USER_DATA, TL_PTE_R | TL_PTE_W | TL_PTE_U);
    map(w, TL_WATCH_WINDOW, TL_WATCH_WINDOW + (uint32_t)pmu->window_bytes, pmu->window_paddr, TL_PTE_R | TL_PTE_W | TL_PTE_U);
}

static void set_registers(const tl_watch *w) {
    tl_hart *h = w->hart;
    tl_rv(h)->csr.stvec = TL_WATCH_VADDR + TL_WATCH_KERNEL;
    tl_rv(h)->csr.sscratch = TL_WATCH_VADDR + TL_WATCH_KERNEL_DATA;
    tl_rv(h)->csr.mtvec = w->base_paddr + TL_WATCH_FIRMWARE;
    tl_rv(h)->csr.mscratch = w->base_paddr + TL_WATCH_FIRMWARE_DATA;
    tl_rv(h)->csr.mideleg = UINT64_C(1) << TL_IRQ_STI;
    tl_rv(h)->csr.medeleg = UINT64_C(1) << TL_CAUSE_ECALL_U;
    tl_rv(h)->csr.pmpcfg[0] = 0x1f; // everybody may do everything everywhere: NAPOT, all ones
    tl_rv(h)->csr.pmpaddr[0] = (UINT64_C(1) << 54) - 1;
    tl_rv(h)->csr.pmp_generation++;
    h->port->protection_changed(h);
}

// ---- A reading.

static tl_compare_events_added account(const tl_watch *w) {
    const tl_hart *h = w->hart;
    const tl_machine *machine = w->environment.machine;
    const uint64_t *t = h->tally;
    tl_compare_events_added sum = {.instructions = h->instret,
                                   .cycles = h->now,
                                   .l1d_reads = t[TL_S_L1D_LOAD],
                                   .l1d_writes = t[TL_S_L1D_STORE],
                                   .l1d_misses = t[TL_S_L1D_LOAD_MISS] + t[TL_S_L1D_STORE_MISS],
                                   .l1i_misses = t[TL_S_L1I_MISS],
                                   .uncached = t[TL_S_HART_UNC_READ] + t[TL_S_HART_UNC_WRITE]};
    for (uint32_t i = 0; i < machine->probe.n_units; i++)
        if (machine->probe.units[i].type == &tl_mem_unit_types[TL_MEM_UNIT_L2])
            sum.l2_reads += machine->probe.units[i].tally[TL_L2_READ];
    return sum;
}

static void add_account(tl_compare_events_added *sum, const tl_compare_events_added *a, const tl_compare_events_added *b) {
    sum->instructions += b->instructions - a->instructions;
    sum->cycles += b->cycles - a->cycles;
    sum->l1d_reads += b->l1d_reads - a->l1d_reads;
    sum->l1d_writes += b->l1d_writes - a->l1d_writes;
    sum->l1d_misses += b->l1d_misses - a->l1d_misses;
    sum->l1i_misses += b->l1i_misses - a->l1i_misses;
    sum->l2_reads += b->l2_reads - a->l2_reads;
    sum->uncached += b->uncached - a->uncached;
}

static bool is_reader(const tl_hart *h) { return h->priv != TL_PRIV_U || (h->pc - TL_WATCH_VADDR) < (UINT64_C(1) << 30); }

static tl_status step(tl_watch *w, tl_error *err) {
    tl_hart *h = w->hart;
    uint64_t pc = h->pc, cycle = h->now;
    h->horizon = UINT64_MAX;
    h->insn_limit = h->instret + 1;
    tl_hart_limit_to_deadline(h, &h->insn_limit);
    tl_stop stop = h->engine->run(h);
    if (stop == TL_STOP_TRAP) {
        if (h->trap_cause != TL_CAUSE_ECALL_U && h->trap_cause != TL_CAUSE_ECALL_S)
            return tl_fail(err, TL_EIO, "the reader of %s trapped at 0x%llx, cause %llu, value 0x%llx", w->design->name,
                           (unsigned long long)pc, (unsigned long long)h->trap_cause, (unsigned long long)h->trap_value);
        tl_take_exception(h);
    }
    (void)tl_hart_poll(h);
    if (w->design->watch->after)
        w->design->watch->after(w, pc, cycle);
    return TL_OK;
}

static tl_status execute(tl_watch *w, tl_error *err) {
    tl_hart *h = w->hart;
    tl_status status = TL_OK;
    h->is_privileged = true;
    tl_take_interrupt(h, TL_IRQ_STI);
    for (uint32_t n = 0; status == TL_OK && is_reader(h); n++)
        status = n < MAX_STEPS ? step(w, err) : tl_compare_too_slow(w->design, w->environment.setup, "a look", err);
    h->is_privileged = false;
    h->run_vline = TL_NO_LINE;
    return status;
}

static tl_status look(tl_watch *w, tl_error *err) {
    tl_hart *h = w->hart;
    tl_machine *machine = w->environment.machine;
    uint64_t ram_end = TL_RAM_BASE_PADDR + machine->config.ram_bytes;
    if (!h->client)
        return TL_OK; // no part of the program is mapped there: no reading
    if (TL_RAM_BASE_PADDR + tl_os_peak_bytes(w->environment.os) + TL_WATCH_BYTES > ram_end)
        return tl_fail(err, TL_EINVAL, "the program uses all of ram = %llu bytes, nothing is left for the reader; give the machine more",
                       (unsigned long long)machine->config.ram_bytes);
    uint64_t *root = (uint64_t *)(void *)tl_machine_ram(machine, (h->context & ((UINT64_C(1) << 44) - 1)) << TL_PAGE_LOG2);
    if (root[ROOT_INDEX] != 0)
        return tl_fail(err, TL_EINVAL, "the program uses the addresses from 0x%llx on, where the reader wants to be",
                       (unsigned long long)TL_WATCH_VADDR);
    uint64_t break_pc[2] = {h->break_pc[0], h->break_pc[1]}, pc = h->pc;
    bool skip_break = h->skip_break;
    h->break_pc[0] = h->break_pc[1] = TL_NO_LINE;
    root[ROOT_INDEX] = pte_of(w->base_paddr + TL_WATCH_TABLES, TL_PTE_V);
    tl_machine_sync(machine);
    if (w->design->watch->reading_begins)
        w->design->watch->reading_begins(w);
    tl_compare_events_added before = account(w);
    tl_status status = execute(w, err);
    tl_machine_sync(machine);
    tl_compare_events_added after = account(w);
    root[ROOT_INDEX] = 0;
    h->break_pc[0] = break_pc[0];
    h->break_pc[1] = break_pc[1];
    h->skip_break = skip_break;
    w->environment.reader_insns += after.instructions - before.instructions;
    uint64_t look_cycles = after.cycles - before.cycles;
    if (w->result->n_looks++ == 0)
        w->result->first_look_cycles = look_cycles; // the interval begins behind it
    else if (tl_compare_is_outgrown(w->environment.setup->interval_cycles, look_cycles))
        w->result->outgrown_by_cycles = look_cycles;
    add_account(&w->result->by_reader, &before, &after);
    if (status == TL_OK && h->pc != pc)
        return tl_fail(err, TL_EIO, "the reader came back to 0x%llx instead of 0x%llx", (unsigned long long)h->pc, (unsigned long long)pc);
    return status;
}

// ---- The run.

static tl_status find_truths(tl_watch *w, tl_error *err) {
    const tl_compare_setup *setup = w->environment.setup;
    for (uint32_t i = 0; i < setup->n_events; i++) {
        tl_status status = tl_sources_resolve(setup->events[i]->sources, &w->environment.machine->probe, 0, &w->arena, &w->truths[i], err);
        if (status != TL_OK)
            return status;
    }
    return TL_OK;
}

static tl_status open_watch(tl_watch *w, const tl_compare_setup *setup, tl_error *err) {
    tl_status status = tl_environment_open(setup, &w->environment, err);
    if (status != TL_OK)
        return status;
    if (w->design->pmu->window_bytes > TL_WATCH_WINDOW_BYTES)
        return tl_fail(err, TL_EINVAL, "the registers of %s take more addresses than a reader has for them", w->design->name);
    w->hart = w->environment.machine->harts[0];
    w->base_paddr = TL_RAM_BASE_PADDR + setup->config.ram_bytes - TL_WATCH_BYTES;
    make_tables(w);
    set_registers(w);
    status = find_truths(w, err);
    if (status == TL_OK)
        status = w->design->watch->prepare(w, err);
    w->hart->code_generation++;
    return status;
}

static void take_account_of_run(tl_watch *w) {
    const tl_machine *machine = w->environment.machine;
    for (uint32_t i = 0; i < machine->n_harts; i++)
        w->result->run_instructions += machine->harts[i]->instret;
    w->result->run_cycles = tl_environment_cycles(&w->environment);
    for (const tl_compare_design_type *const *design = tl_compare_designs; *design; design++)
        if ((*design)->take_overheard)
            (*design)->take_overheard(machine, w->result);
}

// The first reading precedes the program's first instructions, because the counts must cover them
// all.
static tl_status run(tl_watch *w, tl_error *err) {
    const tl_compare_setup *setup = w->environment.setup;
    tl_status status = tl_environment_run(&w->environment, UINT64_MAX, 1, err);
    uint64_t next = setup->interval_cycles;
    if (status == TL_OK && !w->environment.has_ended)
        status = look(w, err);
    next = w->hart->now + w->first_cycles;
    while (status == TL_OK && !w->environment.has_ended && w->result->outgrown_by_cycles == 0) {
        status = tl_environment_run(&w->environment, next, UINT64_MAX, err);
        next += setup->interval_cycles;
        // The last reading is at the bound.
        bool is_alive = !w->environment.has_ended || w->environment.is_bounded;
        if (status == TL_OK && is_alive)
            status = look(w, err);
    }
    return status;
}

static const tl_compare_design_type *find_slow_design(const tl_compare_setup *setup) {
    for (uint32_t i = 0; i < setup->n_designs; i++)
        if (tl_compare_designs[setup->designs[i]]->slow_keys)
            return tl_compare_designs[setup->designs[i]];
    return NULL;
}

static tl_status too_short(const tl_compare_setup *setup, tl_error *err) {
    const tl_compare_design_type *slow = find_slow_design(setup);
    if (setup->interval_cycles != setup->wanted_interval_cycles)
        return tl_fail(err, TL_EINVAL,
                       "the program ended before the second look, %llu cycles after the first, because looks take so long that they cannot "
                       "be closer; give it more to do%s%s%s",
                       (unsigned long long)setup->interval_cycles, slow ? ", or make " : "", slow ? slow->slow_keys : "",
                       slow ? " quicker" : "");
    return tl_fail(err, TL_EINVAL, "the program ended before the second look; choose a shorter interval than %llu cycles",
                   (unsigned long long)setup->interval_cycles);
}

void tl_watch_place_phase(const tl_compare_setup *setup, uint32_t n_turns, uint32_t phase, uint32_t n_phases, uint32_t *ret_first_event,
                          uint64_t *ret_first_cycles) {
    uint64_t turns_x = (uint64_t)phase * n_turns; // turns of the rotation, times n_phases
    *ret_first_event = (uint32_t)(turns_x / n_phases);
    *ret_first_cycles = setup->interval_cycles - setup->interval_cycles * (turns_x % n_phases) / n_phases;
}

tl_status tl_watch_run(const tl_compare_setup *setup, uint32_t design, uint32_t phase, uint32_t n_phases, tl_watch_result *ret_result,
                       tl_error *err) {
    *ret_result = (tl_watch_result){0};
    tl_watch w = {.design = tl_compare_designs[design], .result = ret_result};
    tl_watch_place_phase(setup, w.design->n_turns ? w.design->n_turns(setup) : 0, phase, n_phases, &w.first_event, &w.first_cycles);
    tl_status status = open_watch(&w, setup, err);
    if (status == TL_OK)
        status = run(&w, err);
    bool is_whole = status == TL_OK && ret_result->outgrown_by_cycles == 0;
    if (is_whole && ret_result->n_looks < 2)
        status = too_short(setup, err);
    if (is_whole && status == TL_OK)
        status = w.design->watch->finish(&w, err);
    if (status == TL_OK) {
        tl_machine_sync(w.environment.machine);
        status = tl_machine_check_identities(w.environment.machine, err);
    }
    if (w.environment.machine)
        take_account_of_run(&w);
    tl_environment_close(&w.environment);
    tl_arena_done(&w.arena);
    return status;
}
