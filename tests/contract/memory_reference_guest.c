// SPDX-License-Identifier: MIT
// The memory system against reference_memory.h on real programs. A stepping machine is made to ask
// its ports for every access, because cells are emptied as soon as they are used. Each port is a
// stand-in that puts the question to the reference first. After every instruction all tallies of
// the memory system are equal. The program then runs undisturbed on the block front-end. Equal
// tallies show that cells answer as the ports would. Usage: memory_reference_guest MACHINE HARTS
// PROGRAM [ARG...]; MACHINE is default, small or odd. TALLY_TEST_INSNS bounds the run. Exit status:
// 0 all equal, 1 not, 2 usage.
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "isa/rv/hart.h"
#include "linux/os.h"
#include "mem/memory.h"

#include "reference_memory.h"

static ref_memory reference;
static tl_machine *observed; // the machine with the stand-ins
static const tl_mem_port *real_port;
static int n_wrong;

static void wrong(const tl_hart *h, const char *what, uint64_t ours, uint64_t theirs) {
    if (n_wrong++ < 20)
        fprintf(stderr, "hart%u, instruction %" PRIu64 ", pc 0x%" PRIx64 ": %s is %" PRIu64 ", the reference says %" PRIu64 "\n", h->id,
                h->instret, h->pc, what, ours, theirs);
}

// ---- stand-ins ----

// The pipeline and the operating system move clocks and drop reservations.
static ref_hart *prepare(tl_hart *h) {
    ref_hart *ref = &reference.harts[h->id];
    ref->now = h->now;
    if (h->reservation_paddr == TL_NO_LINE)
        ref->reservation = TL_NO_LINE;
    if (h->reservation_paddr != ref->reservation)
        wrong(h, "the reservation", h->reservation_paddr, ref->reservation);
    if (ref->satp != h->context)
        wrong(h, "satp", h->context, ref->satp);
    return ref;
}

static bool judge(tl_hart *h, bool ours, bool theirs) {
    const ref_hart *ref = &reference.harts[h->id];
    if (ours != theirs)
        wrong(h, "success", ours, theirs);
    if (!ours && !theirs && (h->trap_cause != ref->cause || h->trap_value != ref->value))
        wrong(h, "the trap's value", h->trap_value, ref->value);
    if (h->now != ref->now)
        wrong(h, "now", h->now, ref->now);
    if (h->reservation_paddr != ref->reservation)
        wrong(h, "the reservation", h->reservation_paddr, ref->reservation);
    return ours;
}

static void empty_data_slots(tl_hart *h, uint64_t vaddr) {
    for (uint32_t i = 0; i < 2; i++) {
        tl_data_slot *cell = tl_data_slot_of(h, vaddr + i * 8);
        cell->read_tag = cell->write_tag = TL_NO_LINE;
    }
}

// Whether the access must wait for other harts (mem/contest.h), which the reference knows nothing
// of: then it is not asked. An access that misses the DTLB, or traps, does not wait.
static bool must_wait(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, bool is_store, bool is_atomic) {
    tl_hart_mem *hm = tl_mem_of(h);
    uint64_t last = vaddr + size_bytes - 1, ends[] = {vaddr, last};
    bool waits = false;
    if (is_atomic && (vaddr & (size_bytes - 1)) != 0)
        return false;
    for (uint32_t i = 0; i < ((vaddr ^ last) & h->line_mask ? 2 : 1); i++) {
        uint32_t entry = tl_tlb_find(&hm->dtlb.tlb, ends[i]);
        uint8_t needed = is_store ? TL_PTE_U | TL_PTE_W | TL_PTE_D : TL_PTE_U | TL_PTE_R;
        if (entry == TL_NO_ENTRY || (hm->dtlb.tlb.pages[entry].flags & needed) != needed)
            return false;
        uint64_t paddr = hm->dtlb.tlb.pages[entry].paddr | (ends[i] & ~hm->dtlb.tlb.masks[entry]);
        waits |= tl_l1d_would_refuse(hm, paddr & h->line_mask, is_store);
    }
    return waits;
}

static bool waits(tl_hart *h, bool ours, uint64_t now) {
    if (ours || h->trap_cause != TL_TRAP_NOT_YET || h->now != now)
        wrong(h, "an access that must wait", ours, false);
    return false;
}

static bool load(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) {
    if (must_wait(h, vaddr, size_bytes, false, false))
        return waits(h, real_port->load(h, vaddr, size_bytes), h->now);
    prepare(h);
    bool theirs = ref_data(&reference, h->id, vaddr, size_bytes, REF_LOAD, 0), ours = real_port->load(h, vaddr, size_bytes);
    empty_data_slots(h, vaddr);
    return judge(h, ours, theirs);
}

static bool store(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    if (must_wait(h, vaddr, size_bytes, true, false))
        return waits(h, real_port->store(h, vaddr, size_bytes, value), h->now);
    prepare(h);
    bool theirs = ref_data(&reference, h->id, vaddr, size_bytes, REF_STORE, 0), ours = real_port->store(h, vaddr, size_bytes, value);
    empty_data_slots(h, vaddr);
    return judge(h, ours, theirs);
}

static bool amo(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, tl_amo op, uint64_t operand) {
    if (must_wait(h, vaddr, size_bytes, true, true))
        return waits(h, real_port->amo(h, vaddr, size_bytes, op, operand), h->now);
    prepare(h);
    bool theirs = ref_amo(&reference, h->id, vaddr, size_bytes, op, operand), ours = real_port->amo(h, vaddr, size_bytes, op, operand);
    empty_data_slots(h, vaddr);
    return judge(h, ours, theirs);
}

static bool load_reserved(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) {
    if (must_wait(h, vaddr, size_bytes, false, true))
        return waits(h, real_port->load_reserved(h, vaddr, size_bytes), h->now);
    prepare(h);
    bool theirs = ref_load_reserved(&reference, h->id, vaddr, size_bytes), ours = real_port->load_reserved(h, vaddr, size_bytes);
    empty_data_slots(h, vaddr);
    return judge(h, ours, theirs);
}

static bool store_conditional(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    uint64_t paddr;
    bool is_reserved = tl_memory_translate(observed->memory, h, vaddr, &paddr) && (paddr & h->line_mask) == h->reservation_paddr;
    if (is_reserved && must_wait(h, vaddr, size_bytes, true, true))
        return waits(h, real_port->store_conditional(h, vaddr, size_bytes, value), h->now);
    const ref_hart *ref = prepare(h);
    bool theirs = ref_store_conditional(&reference, h->id, vaddr, size_bytes, value);
    bool ours = real_port->store_conditional(h, vaddr, size_bytes, value);
    if (ours && h->mem_value != ref->result)
        wrong(h, "the result of SC", h->mem_value, ref->result);
    empty_data_slots(h, vaddr);
    return judge(h, ours, theirs);
}

static bool fetch(tl_hart *h, uint64_t vaddr) {
    tl_hart_mem *hm = tl_mem_of(h);
    uint32_t entry = tl_tlb_find(&hm->itlb.tlb, vaddr);
    uint64_t paddr = entry == TL_NO_ENTRY ? 0 : hm->itlb.tlb.pages[entry].paddr | (vaddr & ~hm->itlb.tlb.masks[entry]);
    if (entry != TL_NO_ENTRY && tl_l1i_would_refuse(hm, paddr & h->line_mask))
        return waits(h, real_port->fetch(h, vaddr), h->now);
    prepare(h);
    bool theirs = ref_fetch(&reference, h->id, vaddr), ours = real_port->fetch(h, vaddr);
    // The front-end reads the cell; it is emptied after the instruction.
    return judge(h, ours, theirs);
}

static void fence_i(tl_hart *h) {
    ref_drop_fetch_lines(&reference, h->id, 0, UINT64_MAX);
    real_port->drop_code(h);
}

static void flush_tlb(tl_hart *h, uint64_t vaddr, bool is_all) {
    ref_flush_tlb(&reference, h->id, vaddr, is_all);
    real_port->flush_translation(h, vaddr, is_all);
}

static bool fetch_hits(tl_hart *h, uint64_t vaddr, uint64_t *ret_pline) { return real_port->fetch_hits(h, vaddr, ret_pline); }

static void context_changed(tl_hart *h) { real_port->context_changed(h); }

static const tl_mem_port stand_in = {.load = load,
                                     .store = store,
                                     .amo = amo,
                                     .load_reserved = load_reserved,
                                     .store_conditional = store_conditional,
                                     .fetch = fetch,
                                     .fetch_hits = fetch_hits,
                                     .drop_code = fence_i,
                                     .flush_translation = flush_tlb,
                                     .context_changed = context_changed};

// Requests of the operating system to the memory system pass here, because the linker wraps these
// names (meson.build).
void __real_tl_memory_switch_context(tl_hart *h, uint64_t satp);
void __real_tl_memory_code_changed(tl_memory *memory, uint64_t page_paddr);
void __wrap_tl_memory_switch_context(tl_hart *h, uint64_t satp);
void __wrap_tl_memory_code_changed(tl_memory *memory, uint64_t page_paddr);

void __wrap_tl_memory_switch_context(tl_hart *h, uint64_t satp) {
    if (observed && h == observed->harts[h->id]) {
        ref_flush_tlb(&reference, h->id, 0, true);
        reference.harts[h->id].satp = satp;
    }
    __real_tl_memory_switch_context(h, satp);
}

void __wrap_tl_memory_code_changed(tl_memory *memory, uint64_t page_paddr) {
    if (observed && memory == observed->memory)
        for (uint32_t k = 0; k < observed->n_harts; k++)
            ref_drop_fetch_lines(&reference, k, page_paddr & ~UINT64_C(4095), 4096);
    __real_tl_memory_code_changed(memory, page_paddr);
}

// ---- after every instruction ----

// A tally that only the memory system writes, or that its reference counts as well.
static bool is_of_memory(uint32_t cell) {
    switch (cell) {
    case TL_S_HART_MISALIGNED_LOAD:
    case TL_S_HART_MISALIGNED_STORE:
    case TL_S_HART_LINE_CROSS:
    case TL_S_HART_SC_SUCCESS:
    case TL_S_HART_SC_FAIL:
    case TL_S_HART_CYC_MISALIGNED:
    case TL_S_HART_CYC_FETCH:
    case TL_S_HART_CYC_ITLB:
    case TL_S_HART_CYC_DTLB:
    case TL_S_HART_CYC_LOAD_MISS:
    case TL_S_HART_CYC_STORE_MISS: return true;
    case TL_S_L1I_READ: return false;
    default: return cell >= TL_S_L1I_FIRST && cell < TL_S_PTW_END;
    }
}

static void compare_shared(const tl_hart *h, const tl_unit *unit, const uint64_t *theirs) {
    if (memcmp(unit->tally, theirs, unit->type->n_signals * sizeof *theirs) == 0)
        return;
    for (uint32_t i = 0; i < unit->type->n_signals; i++)
        if (unit->tally[i] != theirs[i])
            wrong(h, unit->type->signals[i].name, unit->tally[i], theirs[i]);
}

static void compare_tallies(const tl_hart *h) {
    const ref_hart *ref = &reference.harts[h->id];
    for (uint32_t u = 0; u < TL_N_HART_UNITS; u++) {
        const tl_hart_unit_row *row = &tl_hart_units[u];
        for (uint32_t i = 0; i < row->type.n_signals; i++) {
            uint32_t cell = row->first_cell + i;
            if (h->tally[cell] != ref->tally[cell] && is_of_memory(cell))
                wrong(h, row->type.signals[i].name, h->tally[cell], ref->tally[cell]);
        }
    }
    const tl_unit *unit = observed->probe.units + observed->n_harts * TL_N_HART_UNITS;
    for (uint32_t s = 0; s < reference.c.l2_slices; s++)
        compare_shared(h, unit++, reference.l2_tally[s]);
    compare_shared(h, unit++, reference.noc);
    for (uint32_t c = 0; c < reference.c.mem_channels; c++)
        compare_shared(h, unit++, reference.mem_tally[c]);
}

static tl_status attach(tl_hart *h, tl_arena *arena, tl_error *err) {
    real_port = h->port;
    h->port = &stand_in;
    return tl_engine_step.attach(h, arena, err);
}

// An instruction that waits and begins its run will be fetched again: that it was is not counted.
static void give_back_fetch(const tl_hart *h) {
    static const enum tl_hart_cell cells[] = {TL_S_L1I_ACCESS, TL_S_ITLB_ACCESS};
    for (uint32_t i = 0; i < TL_COUNT_OF(cells); i++) {
        uint64_t more = reference.harts[h->id].tally[cells[i]] - h->tally[cells[i]];
        if (more <= 2)
            reference.harts[h->id].tally[cells[i]] -= more;
    }
}

static tl_stop run(tl_hart *h) {
    uint64_t limit = h->insn_limit;
    tl_stop stop = TL_STOP_LIMIT;
    while (stop == TL_STOP_LIMIT && h->instret < limit && n_wrong == 0) {
        h->insn_limit = h->instret + 1;
        uint64_t pc = h->pc;
        stop = tl_engine_step.run(h);
        if (stop == TL_STOP_WAIT)
            give_back_fetch(h);
        for (uint64_t offset = 0; offset < 4; offset += 2) // it may have looked up two lines
            tl_fetch_slot_of(h, pc + offset)->key = TL_NO_KEY;
        compare_tallies(h);
    }
    h->insn_limit = limit;
    return stop;
}

static void detach(tl_hart *h) { tl_engine_step.detach(h); }
static void fold(tl_hart *h) { tl_engine_step.sync(h); }
static const tl_engine_type asking_core = {
    .name = "asking", .title = "asks for every access", .attach = attach, .detach = detach, .isa = &tl_isa_rv64, .run = run, .sync = fold};

// ---- programs ----

static void shrink(tl_config *config, bool is_odd) {
    config->l1i.size_bytes = config->l1d.size_bytes = 4096;
    config->l1i.ways = config->l1d.ways = 2;
    config->l2.size_bytes = 32768;
    config->itlb = (tl_tlb_config){.entries = 4, .ways = 4};
    config->dtlb = (tl_tlb_config){.entries = 8, .ways = 2};
    config->l2tlb = (tl_tlb_config){.entries = 32, .ways = 4};
    if (!is_odd)
        return;
    config->l2_slices = 4;
    config->mem_channels = 2;
    config->l1i.prefetch = config->l1d.prefetch = config->l2.prefetch = TL_PREFETCH_NEXT_LINE;
    config->l1i.replacement = TL_REPLACE_RANDOM;
    config->l1d.replacement = config->dtlb.replacement = TL_REPLACE_PLRU;
    config->l2.replacement = TL_REPLACE_FIFO;
    config->l2tlb.replacement = TL_REPLACE_RANDOM;
}

typedef struct side {
    tl_machine *machine;
    tl_os *os;
    tl_os_report report;
} side;

static tl_status set_up(side *s, const tl_config *config, const tl_engine_type *core, char **argv, int null_fd, tl_error *err) {
    static char *const no_env[] = {NULL};
    tl_os_options options = {.program = argv[0], .argv = argv, .envp = no_env, .std_fd = {null_fd, null_fd, null_fd}};
    tl_status status = tl_machine_new(config, core, &s->machine, err);
    if (status == TL_OK && core == &asking_core) {
        observed = s->machine;
        ref_init(&reference, config, s->machine->ram);
    }
    return status == TL_OK ? tl_os_new(s->machine, &options, &s->os, err) : status;
}

static tl_status advance(side *s, uint64_t until_instret, tl_error *err) {
    tl_os_limits limits = {.until_cycle = UINT64_MAX, .until_instret = until_instret, .break_pc = {TL_NO_LINE, TL_NO_LINE}};
    tl_status status = tl_os_run(s->os, &limits, &s->report, err);
    tl_machine_sync(s->machine);
    return status;
}

int main(int argc, char **argv) {
    bool is_small = argc > 1 && strcmp(argv[1], "small") == 0, is_odd = argc > 1 && strcmp(argv[1], "odd") == 0;
    if (argc < 4 || !(is_small || is_odd || strcmp(argv[1], "default") == 0)) {
        fprintf(stderr, "usage: memory_reference_guest default|small|odd HARTS PROGRAM [ARG...]\n");
        return 2;
    }
    tl_config config;
    tl_config_default(&config);
    config.n_harts = (uint32_t)strtoul(argv[2], NULL, 10);
    if (is_small || is_odd)
        shrink(&config, is_odd);
    const char *bound = getenv("TALLY_TEST_INSNS");
    uint64_t limit = bound ? strtoull(bound, NULL, 10) : 2000000;
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    side asking = {0}, fast = {0};
    tl_error err = {0};
    tl_status status = set_up(&asking, &config, &asking_core, argv + 3, null_fd, &err);
    if (status == TL_OK)
        status = set_up(&fast, &config, &tl_engine_interp, argv + 3, null_fd, &err);
    if (status == TL_OK)
        status = advance(&asking, limit, &err);
    if (status == TL_OK && n_wrong == 0)
        status = advance(&fast, limit, &err);
    if (status == TL_OK)
        status = tl_machine_check_identities(asking.machine, &err);
    if (status != TL_OK)
        fprintf(stderr, "memory_reference_guest: %s\n", err.text);
    const tl_probe *probe = status == TL_OK ? &asking.machine->probe : NULL;
    for (uint32_t cell = 0; probe && n_wrong == 0 && cell < probe->n_cells; cell++) {
        if (asking.machine->tally[cell] != fast.machine->tally[cell]) {
            const tl_unit *unit = tl_probe_unit_of(probe, cell);
            fprintf(stderr, "%s.%s is %" PRIu64 " by the ports, %" PRIu64 " with slots\n", unit->path,
                    unit->type->signals[cell - unit->first_cell].name, asking.machine->tally[cell], fast.machine->tally[cell]);
            n_wrong = 1;
            break;
        }
    }
    if (status == TL_OK && n_wrong == 0) {
        const tl_machine *m = asking.machine;
        printf("equal after each of %" PRIu64 " instructions: %" PRIu64 " data and %" PRIu64 " fetch look-ups, %" PRIu64 " walks\n",
               tl_machine_sum(m, TL_S_HART_INSTRET), tl_machine_sum(m, TL_S_L1D_LOAD) + tl_machine_sum(m, TL_S_L1D_STORE),
               tl_machine_sum(m, TL_S_L1I_ACCESS), tl_machine_sum(m, TL_S_PTW_WALK));
    }
    tl_os_free(asking.os);
    tl_os_free(fast.os);
    if (observed)
        ref_done(&reference);
    tl_machine_free(asking.machine);
    tl_machine_free(fast.machine);
    close(null_fd);
    return status == TL_OK && n_wrong == 0 ? 0 : 1;
}
