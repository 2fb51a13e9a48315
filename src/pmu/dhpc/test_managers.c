// SPDX-License-Identifier: MIT
// Managers of a machine. Each counter of the tables shows the named totals of its own instance. A
// counter without signals is not built. Software can discover all counters. The cost follows.
#include "isa/rv/arch.h"
#include "model/hart_signals.h"
#include "pmu/dhpc/test_rig.h"

// ---- a machine of units only ----

enum { MAX_UNITS = 192, MAX_SLOTS = 4096 };

static const tl_signal l2_signals[] = {
#define S(text) \
    { .name = text, .meaning = "Counts.", .max_step = 8 }
    S("read"),           S("readmiss"),        S("write"),          S("writemiss"),      S("writeback"),      S("read_i"),
    S("read_ld"),        S("read_st"),         S("unc_read"),       S("unc_write"),      S("probe_out"),      S("evict_clean"),
    S("evict_dirty"),    S("back_invalidate"), S("upgrade"),        S("prefetch_read"),  S("prefetch"),       S("prefetch_hit"),
    S("dma_read"),       S("dma_write"),       S("dma_readmiss"),   S("dma_writemiss"),  S("busy"),           S("read_hart0"),
    S("read_hart1"),     S("read_hart2"),      S("read_hart3"),     S("read_hart4"),     S("read_hart5"),     S("read_hart6"),
    S("read_hart7"),     S("readmiss_hart0"),  S("readmiss_hart1"), S("readmiss_hart2"), S("readmiss_hart3"), S("readmiss_hart4"),
    S("readmiss_hart5"), S("readmiss_hart6"),  S("readmiss_hart7")};
static const tl_signal mem_signals[] = {S("read"), S("write"), S("row_hit"), S("row_miss"), S("row_conflict"), S("busy")};
static const tl_signal bus_signals[] = {S("read"), S("write"), S("snooped_beat")};
static const tl_signal dma_signals[] = {S("read"), S("write"), S("interrupt")};
#undef S
#define TYPE(unit) \
    { .name = #unit, .meaning = "A unit.", .signals = unit##_signals, .n_signals = TL_COUNT_OF(unit##_signals) }
static const tl_unit_type l2_type = TYPE(l2), mem_type = TYPE(mem), bus_type = TYPE(bus), dma_type = TYPE(dma);

typedef struct machine {
    tl_arena arena;
    tl_unit units[MAX_UNITS];
    char paths[MAX_UNITS][24];
    uint32_t n_units, n_cells, n_syncs, changed_harts; // bit h: hart h must ask for its deadline
    uint64_t totals[MAX_SLOTS], shown[MAX_SLOTS];      // shown: after a sync
    tl_probe probe;
    tl_pmu_host host;
    tl_dhpc *d;
    uint64_t now, asleep_since[2]; // 0: has something to run
} machine;

static void sync_all(void *ctx, uint32_t hart) {
    machine *m = ctx;
    (void)hart;
    m->n_syncs++;
    memcpy(m->shown, m->totals, sizeof m->shown);
}
static uint64_t total_named(const machine *m, const char *path) {
    tl_cell cell;
    if (tl_probe_resolve(&m->probe, path, &cell) != TL_OK)
        fail_msg("no signal %s", path);
    return m->totals[cell];
}
static uint64_t hart_total(const machine *m, uint32_t hart, const char *signal) {
    char path[64];
    snprintf(path, sizeof path, "hart%u.%s", hart, signal);
    return total_named(m, path);
}
static uint64_t cycle_of(void *ctx, uint32_t hart) { return hart_total(ctx, hart, "cycle"); }
static uint64_t cycle_in(void *ctx, uint32_t hart, uint64_t now) {
    const machine *m = ctx;
    uint64_t since = hart < 2 ? m->asleep_since[hart] : 0;
    return (since != 0 && since < now ? since : now) - hart_total(m, hart, "idle_cycle");
}
static uint64_t instret_of(void *ctx, uint32_t hart) { return hart_total(ctx, hart, "instret"); }

static void note_change(void *ctx, uint32_t hart) { ((machine *)ctx)->changed_harts |= 1u << hart; }

static void add_unit(machine *m, const tl_unit_type *type, const char *format, uint32_t number) {
    assert_true(m->n_units < MAX_UNITS && m->n_cells + type->n_signals <= MAX_SLOTS);
    snprintf(m->paths[m->n_units], sizeof m->paths[0], format, number);
    m->units[m->n_units] = (tl_unit){.type = type, .path = m->paths[m->n_units], .tally = m->shown + m->n_cells, .first_cell = m->n_cells};
    m->n_cells += type->n_signals;
    m->n_units++;
}

typedef struct shape {
    uint32_t n_harts, n_slices, n_channels;
    bool has_l2tlb, has_devices;
} shape;

static void open_machine(machine *m, const tl_dhpc_config *config, const shape *s) {
    tl_error err;
    memset(m, 0, sizeof *m);
    for (uint32_t hart = 0; hart < s->n_harts; hart++)
        for (uint32_t u = 0; u < TL_N_HART_UNITS; u++)
            if (u != TL_HART_UNIT_L2TLB || s->has_l2tlb)
                add_unit(m, &tl_hart_units[u].type, tl_hart_units[u].path_format, hart);
    for (uint32_t i = 0; i < s->n_slices; i++)
        add_unit(m, &l2_type, "l2.%u", i);
    for (uint32_t i = 0; i < s->n_channels; i++)
        add_unit(m, &mem_type, "mem%u", i);
    if (s->has_devices) {
        add_unit(m, &bus_type, "bus", 0);
        add_unit(m, &dma_type, "dma", 0);
    }
    // A sum shows its terms, because 1021 is no sum of few of them.
    for (uint32_t cell = 0; cell < m->n_cells; cell++)
        m->totals[cell] = 1000003 + (uint64_t)cell * 1021 * 1021;
    m->probe = (tl_probe){.units = m->units, .n_units = m->n_units, .tally = m->shown, .n_cells = m->n_cells};
    m->host = (tl_pmu_host){.ctx = m,
                            .probe = &m->probe,
                            .sync = sync_all,
                            .cycle = cycle_of,
                            .cycle_in = cycle_in,
                            .instret = instret_of,
                            .changed = note_change};
    m->now = UINT64_C(1) << 40;
    if (tl_dhpc_new_on(config, 64, s->n_harts, &m->host, &m->arena, &m->d, &err) != TL_OK)
        fail_msg("%s", err.text);
    sync_all(m, 0);
}

// Reads a manager; returns hpcm, and the values by bit.
static uint64_t read_manager(machine *m, uint32_t hart, uint32_t id, uint64_t bitmap, uint64_t values[static TL_DHPC_COUNTERS]) {
    rig r = {.d = m->d, .hart = hart, .now = m->now, .priv = TL_PRIV_M};
    rig_start(&r, id, bitmap);
    r.now += 200;
    uint64_t received = csrr(&r, HPCM);
    for (uint64_t bits = received; bits != 0; bits &= bits - 1)
        values[__builtin_ctzll(bits)] = csrr(&r, HPCR);
    assert_int_equal(csrr(&r, HPCC) & 0xf, TL_DHPC_EMPTY);
    m->now = r.now;
    return received;
}

static const shape full = {.n_harts = 2, .n_slices = 2, .n_channels = 1, .has_l2tlb = true, .has_devices = true};

// ---- tables ----

static void test_rows_stand_in_order_and_once(void **state) {
    (void)state;
    for (uint32_t e = 1; e < tl_dhpc_n_events; e++)
        assert_true(tl_dhpc_events[e].selector > tl_dhpc_events[e - 1].selector);
}

// The base page of a core and of a slice, by the specification's own list: written anew here.
static const char *const core_page[] = {"cycle",
                                        "instret",
                                        "l1i.read",
                                        "l1i.miss",
                                        "l1d.load",
                                        "l1d.load_miss",
                                        "l1d.store",
                                        "l1d.store_miss",
                                        "l1d.writeback",
                                        "itlb.access",
                                        "itlb.miss",
                                        "dtlb.access",
                                        "dtlb.miss",
                                        "l2tlb.access",
                                        "l2tlb.miss",
                                        "ptw.walk",
                                        "ptw.read",
                                        "exception",
                                        "interrupt",
                                        "insn_branch",
                                        "branch_taken",
                                        "bp.cond_miss",
                                        "bp.target_miss",
                                        "l1d.upgrade",
                                        "l1d.probe",
                                        "l1d.probe_data",
                                        "unc_read",
                                        "unc_write",
                                        NULL,
                                        NULL,
                                        NULL,
                                        "l1d.prefetch"};
static const char *const core_names[] = {
    "cycle",         "instret",        "l1i_read",  "l1i_readmiss", "l1d_read",  "l1d_readmiss", "l1d_write",      "l1d_writemiss",
    "l1d_writeback", "itlb_access",    "itlb_miss", "dtlb_access",  "dtlb_miss", "l2tlb_access", "l2tlb_miss",     "ptw_walk",
    "ptw_read",      "exception",      "interrupt", "br_cond",      "br_taken",  "br_mispred",   "tgt_mispred",    "l1d_upgrade",
    "l1d_probe",     "l1d_probe_data", "unc_read",  "unc_write",    "hpcr_read", "hpc_req",      "hpc_retry_flag", "prefetch"};
static const char *const slice_page[] = {"read",      "readmiss",    "write",    "writemiss", "writeback",
                                         "read_i",    "read_ld",     "read_st",  "unc_read",  "unc_write",
                                         "probe_out", "evict_clean", "dma_read", "dma_write", "busy"};

static const tl_event *row_of(uint32_t class, uint32_t extend, uint32_t bit) {
    for (uint32_t e = 0; e < tl_dhpc_n_events; e++)
        if (tl_dhpc_events[e].selector == TL_DHPC_SELECTOR(class, extend, bit))
            return &tl_dhpc_events[e];
    return NULL;
}

static void test_events_have_the_specification_s_numbers_and_names(void **state) {
    (void)state;
    char name[64];
    for (uint32_t bit = 0; bit < TL_COUNT_OF(core_names); bit++) {
        snprintf(name, sizeof name, "core.%s", core_names[bit]);
        assert_string_equal(row_of(TL_DHPC_CORE, 0, bit)->name, name);
    }
    for (uint32_t bit = 0; bit < TL_COUNT_OF(slice_page); bit++) {
        snprintf(name, sizeof name, "llc.%s", slice_page[bit]);
        assert_string_equal(row_of(TL_DHPC_LLC, 0, bit)->name, name);
    }
    for (uint32_t bit = 0; bit < 35; bit++)
        assert_non_null(row_of(TL_DHPC_CORE, 1, bit));
    assert_null(row_of(TL_DHPC_CORE, 1, 35));
    // Class 1 begins here.
    assert_string_equal(row_of(TL_DHPC_CORE, 1, 18)->name, "u74.address_generation_interlock");
    assert_string_equal(row_of(TL_DHPC_CORE, 1, 30)->name, "u74.data_cache_miss_or_mmio");
}

// ---- counters show their totals ----

static void test_a_core_s_page_shows_the_core_s_own_totals(void **state) {
    (void)state;
    machine *m = test_calloc(1, sizeof *m);
    open_machine(m, &tl_dhpc_defaults, &full);
    for (uint32_t reader = 0; reader < 2; reader++)
        for (uint32_t hart = 0; hart < 2; hart++) {
            uint64_t values[TL_DHPC_COUNTERS], started = m->now + 1;
            uint64_t received = read_manager(m, reader, TL_DHPC_ID(TL_DHPC_CORE, hart, 0), UINT64_MAX, values);
            assert_int_equal(received & UINT32_MAX, UINT32_MAX);
            // The value is that of the very cycle of its beat.
            assert_int_equal(values[0], started + 3 - hart_total(m, hart, "idle_cycle"));
            for (uint32_t bit = 1; bit < TL_COUNT_OF(core_page); bit++)
                if (core_page[bit] && values[bit] != hart_total(m, hart, core_page[bit]))
                    fail_msg("%s of hart %u", core_page[bit], hart);
        }
    tl_arena_done(&m->arena);
    test_free(m);
}

// Its total is that of its last wake-up.
static void test_idle_cycles_of_a_hart_that_sleeps_are_those_of_the_beat(void **state) {
    (void)state;
    static const tl_dhpc_sampling samplings[] = {TL_DHPC_LIVE, TL_DHPC_SNAPSHOT};
    const uint64_t wanted = UINT64_C(1) << 32 | 1 << 1 | 1; // beats 2, 1 and 0
    for (size_t i = 0; i < TL_COUNT_OF(samplings); i++) {
        machine *m = test_calloc(1, sizeof *m);
        tl_dhpc_config config = tl_dhpc_defaults;
        config.sampling = samplings[i];
        config.beat = 7;
        open_machine(m, &config, &full);
        m->asleep_since[1] = m->now - 5000;
        uint64_t ran = m->asleep_since[1] - hart_total(m, 1, "idle_cycle");
        for (uint32_t look = 0; look < 2; look++) {
            uint64_t values[TL_DHPC_COUNTERS], accepted = m->now + 1 + config.t_req + config.t_grant;
            assert_int_equal(read_manager(m, 0, TL_DHPC_ID(TL_DHPC_CORE, 1, 0), wanted, values), wanted);
            assert_int_equal(values[0], ran);
            uint64_t sampled = samplings[i] == TL_DHPC_LIVE ? accepted + config.t_lookup + 2 * 7 : accepted;
            assert_int_equal(values[32], sampled - ran);
        }
        tl_arena_done(&m->arena);
        test_free(m);
    }
}

static void test_the_client_s_own_events_are_counted(void **state) {
    (void)state;
    machine *m = test_calloc(1, sizeof *m);
    open_machine(m, &tl_dhpc_defaults, &full);
    const uint64_t own = UINT64_C(7) << 28;
    uint64_t values[TL_DHPC_COUNTERS];
    assert_int_equal(read_manager(m, 0, TL_DHPC_ID(TL_DHPC_CORE, 1, 0), own, values), own);
    assert_true(values[28] == 0 && values[29] == 0 && values[30] == 0);
    tl_dhpc_notice(m->d, 1, TL_DHPC_TRAP_ENTRY, m->now++);
    tl_dhpc_notice(m->d, 1, TL_DHPC_TRAP_RETURN, m->now++);                // already set: no change
    (void)read_manager(m, 1, TL_DHPC_ID(TL_DHPC_LLC, 0, 0), 0x1f, values); // five reads
    tl_dhpc_notice(m->d, 1, TL_DHPC_TRAP_ENTRY, m->now++);
    assert_int_equal(read_manager(m, 0, TL_DHPC_ID(TL_DHPC_CORE, 1, 0), own, values), own);
    assert_int_equal(values[28], 5);
    assert_int_equal(values[29], 1);
    assert_int_equal(values[30], 2);
    tl_arena_done(&m->arena);
    test_free(m);
}

static void test_slices_and_channels_show_their_own_totals(void **state) {
    (void)state;
    machine *m = test_calloc(1, sizeof *m);
    open_machine(m, &tl_dhpc_defaults, &full);
    for (uint32_t slice = 0; slice < 2; slice++) {
        uint64_t values[TL_DHPC_COUNTERS], all[TL_COUNT_OF(slice_page)];
        char path[64];
        for (uint32_t bit = 0; bit < TL_COUNT_OF(slice_page); bit++) {
            snprintf(path, sizeof path, "l2.%u.%s", slice, slice_page[bit]);
            all[bit] = total_named(m, path);
        }
        // l2.read and l2.write contain the uncached accesses (identity I5): these are not added
        // once more
        (void)read_manager(m, 0, TL_DHPC_ID(TL_DHPC_LLC, slice, 0), 0x7fff, values);
        for (uint32_t bit = 0; bit < TL_COUNT_OF(slice_page); bit++)
            assert_int_equal(values[bit], all[bit]);
        (void)read_manager(m, 0, TL_DHPC_ID(TL_DHPC_LLC, slice, 1), UINT64_MAX, values);
        for (uint32_t core = 0; core < 8; core++) {
            snprintf(path, sizeof path, "l2.%u.read_hart%u", slice, core);
            assert_int_equal(values[core], total_named(m, path));
            snprintf(path, sizeof path, "l2.%u.readmiss_hart%u", slice, core);
            assert_int_equal(values[32 + core], total_named(m, path));
        }
    }
    uint64_t values[TL_DHPC_COUNTERS];
    assert_int_equal(read_manager(m, 0, TL_DHPC_ID(TL_DHPC_MEM, 0, 0), 0x1f, values), 0x1f);
    assert_int_equal(values[0], total_named(m, "mem0.read"));
    assert_int_equal(values[3], total_named(m, "mem0.row_miss") + total_named(m, "mem0.row_conflict"));
    assert_int_equal(values[4], total_named(m, "mem0.busy"));
    assert_int_equal(read_manager(m, 0, TL_DHPC_ID(TL_DHPC_DEVICE, 0, 0), UINT64_MAX, values), 7);
    assert_int_equal(values[2], total_named(m, "dma.interrupt"));
    assert_int_equal(read_manager(m, 0, TL_DHPC_ID(TL_DHPC_MMIO, 0, 0), UINT64_MAX, values), 7);
    assert_int_equal(values[0], total_named(m, "bus.read"));
    tl_arena_done(&m->arena);
    test_free(m);
}

// Every counter of every manager against its row, the sources read term by term; on machines of
// several shapes.
static uint64_t sum_of(const machine *m, const char *sources, uint32_t class, uint32_t instance) {
    uint64_t sum = 0;
    for (const char *at = sources; at && *at;) {
        char unit[32], signal[64], path[128];
        int n = 0;
        assert_int_equal(sscanf(at, "%31[^.].%63[a-z0-9_]%n", unit, signal, &n), 2);
        if (class == TL_DHPC_CORE)
            snprintf(path, sizeof path, strcmp(unit, "hart") == 0 ? "hart%u.%.0s%s" : "hart%u.%s.%s", instance, unit, signal);
        else if (class == TL_DHPC_LLC)
            snprintf(path, sizeof path, "l2.%u.%s", instance, signal);
        else if (class == TL_DHPC_MEM)
            snprintf(path, sizeof path, "mem%u.%s", instance, signal);
        else
            snprintf(path, sizeof path, "%s.%s", unit, signal);
        sum += total_named(m, path);
        at += n;
        at += strncmp(at, " + ", 3) == 0 ? 3 : 0;
    }
    return sum;
}

static void test_every_counter_of_every_machine_shows_its_sources(void **state) {
    (void)state;
    const shape shapes[] = {{1, 1, 1, true, true}, {2, 2, 1, true, true}, {4, 4, 2, false, true}, {3, 1, 1, true, false}};
    uint32_t n_checked = 0;
    for (size_t i = 0; i < TL_COUNT_OF(shapes); i++) {
        machine *m = test_calloc(1, sizeof *m);
        uint32_t n_managers;
        open_machine(m, &tl_dhpc_functional, &shapes[i]);
        const tl_dhpc_manager *managers = tl_dhpc_managers(m->d, &n_managers);
        for (uint32_t k = 0; k < n_managers; k++) {
            uint32_t id = managers[k].id, class = tl_dhpc_class_of(id), instance = tl_dhpc_instance_of(id);
            uint64_t values[TL_DHPC_COUNTERS];
            assert_int_equal(read_manager(m, 0, id, UINT64_MAX, values), managers[k].implemented);
            for (uint32_t bit = 0; bit < TL_DHPC_COUNTERS; bit++) {
                const tl_event *event = row_of(class, tl_dhpc_extend_of(id), bit);
                assert_true(event != NULL || !(managers[k].implemented >> bit & 1));
                if (!(managers[k].implemented >> bit & 1) || strncmp(event->sources, "dhpc.", 5) == 0 ||
                    strcmp(event->name, "core.cycle") == 0)
                    continue;
                if (values[bit] != sum_of(m, event->sources, class, instance))
                    fail_msg("%s of instance %u", event->name, instance);
                n_checked++;
            }
        }
        tl_arena_done(&m->arena);
        test_free(m);
    }
    print_message("%u counters checked\n", n_checked);
    assert_true(n_checked > 1000);
}

static void test_what_a_machine_lacks_is_not_built(void **state) {
    (void)state;
    machine *m = test_calloc(1, sizeof *m);
    const shape small = {.n_harts = 1, .n_slices = 1, .n_channels = 1};
    uint64_t values[TL_DHPC_COUNTERS];
    open_machine(m, &tl_dhpc_defaults, &small);
    uint64_t received = read_manager(m, 0, TL_DHPC_ID(TL_DHPC_CORE, 0, 0), UINT64_MAX, values);
    // The machine has no second-level TLB.
    assert_int_equal(received & UINT32_MAX, UINT32_MAX & ~(UINT64_C(3) << 13));
    assert_int_equal(read_manager(m, 0, TL_DHPC_ID(TL_DHPC_CORE, 0, 1), UINT64_MAX, values), (UINT64_C(1) << 34) - 1);
    assert_int_equal(read_manager(m, 0, TL_DHPC_ID(TL_DHPC_DEVICE, 0, 0), UINT64_MAX, values), 0);
    assert_int_equal(read_manager(m, 0, TL_DHPC_ID(TL_DHPC_CORE, 1, 0), UINT64_MAX, values), 0);
    tl_arena_done(&m->arena);
    test_free(m);
}

// Any counters of any manager can be omitted without effect on the others.
static void test_what_is_left_out_is_not_built(void **state) {
    (void)state;
    static const struct {
        uint32_t class, extend;
    } pages[] = {{TL_DHPC_CORE, 0}, {TL_DHPC_CORE, 1},   {TL_DHPC_CORE, 2}, {TL_DHPC_LLC, 0},   {TL_DHPC_LLC, 1},
                 {TL_DHPC_MEM, 0},  {TL_DHPC_DEVICE, 0}, {TL_DHPC_MMIO, 0}, {TL_DHPC_FABRIC, 0}};
    uint64_t all[TL_COUNT_OF(pages)], values[TL_DHPC_COUNTERS];
    machine *m = test_calloc(1, sizeof *m);
    open_machine(m, &tl_dhpc_defaults, &full);
    for (size_t i = 0; i < TL_COUNT_OF(pages); i++)
        all[i] = read_manager(m, 0, TL_DHPC_ID(pages[i].class, 0, pages[i].extend), UINT64_MAX, values);
    tl_arena_done(&m->arena);
    for (size_t out = 0; out < TL_COUNT_OF(pages); out++)
        for (uint32_t is_whole = 0; is_whole < 2; is_whole++) {
            tl_dhpc_config config = tl_dhpc_defaults;
            uint64_t kept = is_whole ? 0 : all[out] & UINT64_C(0x5555555555555555);
            config.left_out[pages[out].class][pages[out].extend] = is_whole ? UINT64_MAX : UINT64_C(0xaaaaaaaaaaaaaaaa);
            assert_true(all[out] != 0 && kept != all[out]);
            open_machine(m, &config, &full);
            for (size_t i = 0; i < TL_COUNT_OF(pages); i++)
                assert_int_equal(read_manager(m, 0, TL_DHPC_ID(pages[i].class, 0, pages[i].extend), UINT64_MAX, values),
                                 i == out ? kept : all[i]);
            tl_arena_done(&m->arena);
        }
    test_free(m);
}

// A class has numbers for 128 instances.
static void test_more_units_or_harts_than_there_are_numbers_are_refused(void **state) {
    (void)state;
    machine *m = test_calloc(1, sizeof *m);
    uint64_t values[TL_DHPC_COUNTERS];
    tl_error err = {0};
    const shape many = {.n_harts = 1, .n_slices = 1, .n_channels = 128};
    open_machine(m, &tl_dhpc_defaults, &many);
    assert_int_equal(read_manager(m, 0, TL_DHPC_ID(TL_DHPC_MEM, 127, 0), 1, values), 1);
    assert_int_equal(values[0], total_named(m, "mem127.read"));
    assert_int_equal(tl_dhpc_new_on(&tl_dhpc_defaults, 64, 64, &m->host, &m->arena, &m->d, &err), TL_OK);
    assert_int_equal(tl_dhpc_new_on(&tl_dhpc_defaults, 64, 65, &m->host, &m->arena, &m->d, &err), TL_EINVAL);
    assert_int_equal(tl_dhpc_new_on(&tl_dhpc_defaults, 64, 0, &m->host, &m->arena, &m->d, &err), TL_EINVAL);
    add_unit(m, &mem_type, "mem%u", 128);
    m->probe.n_units = m->n_units;
    m->probe.n_cells = m->n_cells;
    assert_int_equal(tl_dhpc_new_on(&tl_dhpc_defaults, 64, 1, &m->host, &m->arena, &m->d, &err), TL_EINVAL);
    assert_string_equal(err.text, "pmu dhpc: 1 harts and up to 129 units of a kind: it has numbers for 1 to 64 and 128");
    tl_arena_done(&m->arena);
    test_free(m);
}

static void test_the_directory_enumerates_the_chip(void **state) {
    (void)state;
    machine *m = test_calloc(1, sizeof *m);
    uint64_t values[TL_DHPC_COUNTERS];
    open_machine(m, &tl_dhpc_defaults, &full);
    // Class 6 is reserved.
    assert_int_equal(read_manager(m, 0, TL_DHPC_ID(TL_DHPC_DIRECTORY, 0, 0), UINT64_MAX, values), 0xbf);
    const uint64_t want[] = {2, 2, 1, 1, 1, 1, 0, 1};
    for (uint32_t class = 0; class < 8; class ++)
        if (class != 6)
            assert_int_equal(values[class], want[class]);
    // From there on software asks each instance for all ones, extend by extend, until nothing
    // comes: that finds every manager.
    uint32_t n_found = 0, n_managers;
    const tl_dhpc_manager *managers = tl_dhpc_managers(m->d, &n_managers);
    for (uint32_t class = 0; class < 8; class ++)
        for (uint32_t instance = 0; instance < want[class]; instance++)
            for (uint32_t extend = 0; extend < 128; extend++) {
                uint64_t received = read_manager(m, 0, TL_DHPC_ID(class, instance, extend), UINT64_MAX, values);
                if (received == 0)
                    break;
                assert_int_equal(managers[n_found].id, TL_DHPC_ID(class, instance, extend));
                assert_int_equal(managers[n_found].implemented, received);
                n_found++;
            }
    assert_int_equal(n_found, n_managers);
    tl_arena_done(&m->arena);
    test_free(m);
}

static void test_more_than_a_hundred_events_at_once(void **state) {
    (void)state;
    machine *m = test_calloc(1, sizeof *m);
    uint32_t n_managers, n = 0;
    open_machine(m, &tl_dhpc_defaults, &full);
    const tl_dhpc_manager *managers = tl_dhpc_managers(m->d, &n_managers);
    for (uint32_t k = 0; k < n_managers; k++)
        n += (uint32_t)__builtin_popcountll(managers[k].implemented);
    print_message("%u counters in %u managers of two harts and two slices\n", n, n_managers);
    assert_true(n > 100);
    tl_arena_done(&m->arena);
    test_free(m);
}

static void test_totals_are_synced_once_per_look(void **state) {
    (void)state;
    machine *m = test_calloc(1, sizeof *m);
    uint64_t values[TL_DHPC_COUNTERS];
    open_machine(m, &tl_dhpc_defaults, &full);
    m->n_syncs = 0;
    (void)read_manager(m, 0, TL_DHPC_ID(TL_DHPC_CORE, 0, 0), UINT64_MAX, values);
    assert_int_equal(m->n_syncs, 1); // nothing has been counted between two beats
    m->totals[m->units[0].first_cell + TL_S_HART_INSTRET] += 1;
    m->totals[m->units[0].first_cell + TL_S_HART_INSN_BRANCH] += 1;
    uint64_t branches = values[19];
    (void)read_manager(m, 0, TL_DHPC_ID(TL_DHPC_CORE, 0, 0), UINT64_MAX, values);
    assert_int_equal(m->n_syncs, 2);
    assert_int_equal(values[19], branches + 1);
    m->n_syncs = 0;
    (void)read_manager(m, 0, TL_DHPC_ID(TL_DHPC_LLC, 0, 0), UINT64_MAX, values);
    assert_int_equal(m->n_syncs, 0); // no request needs those harts
    tl_arena_done(&m->arena);
    test_free(m);
}

static void test_t32_reading_touches_nothing_but_registers(void **state) {
    // The fabric can only read the totals. All of them are as they were.
    (void)state;
    machine *m = test_calloc(1, sizeof *m);
    static uint64_t before[MAX_SLOTS];
    uint64_t values[TL_DHPC_COUNTERS];
    open_machine(m, &tl_dhpc_defaults, &full);
    memcpy(before, m->totals, sizeof before);
    for (uint32_t k = 0; k < 100; k++)
        (void)read_manager(m, k % 2, TL_DHPC_ID(k % 8, 0, k / 8 % 3), UINT64_MAX, values);
    assert_memory_equal(before, m->totals, sizeof before);
    tl_arena_done(&m->arena);
    test_free(m);
}

static void test_harts_are_told_when_they_must_be_stopped_for_a_sample(void **state) {
    (void)state;
    machine *m = test_calloc(1, sizeof *m);
    open_machine(m, &tl_dhpc_defaults, &full);
    rig r = {.d = m->d, .hart = 0, .now = m->now, .priv = TL_PRIV_M};
    csrw(&r, HPCM, 3);
    assert_int_equal(m->changed_harts, 0);
    csrw(&r, HPCC, go(TL_DHPC_ID(TL_DHPC_CORE, 1, 0))); // hart 0 asks for what hart 1 counts
    assert_int_equal(m->changed_harts, 2);
    assert_int_equal(tl_dhpc_next_event(m->d, 1, r.now), r.now + 2);
    r.now += 50;
    csrr(&r, HPCC);
    m->changed_harts = 0;
    csrw(&r, HPCC, go(TL_DHPC_ID(TL_DHPC_LLC, 0, 0))); // no core's counter: the asking hart stops
    assert_int_equal(m->changed_harts, 1);
    tl_arena_done(&m->arena);
    test_free(m);
}

// ---- hardware cost ----

static void test_the_cost_is_the_sum_of_its_registers(void **state) {
    (void)state;
    // The paper's prototype in our terms: one hart; a tile of nine counters and a slice of five.
    tl_dhpc_manager managers[2] = {{.id = TL_DHPC_ID(0, 0, 0), .implemented = 0x1ff}, {.id = TL_DHPC_ID(1, 0, 0), .implemented = 0x1f}};
    tl_dhpc_cost cost = tl_dhpc_cost_of(&tl_dhpc_defaults, 1, managers, 2);
    assert_int_equal(cost.n_counters, 14);
    assert_int_equal(cost.client_fifo, 64 * 64);
    assert_int_equal(cost.client_registers, 64 + 21 + 64);
    assert_int_equal(cost.client_control, 6 + 6 + 7 + 4 + 2 + 64);
    assert_int_equal(cost.manager_counters, 14 * 64);
    assert_int_equal(cost.manager_control, 2 * (64 + 0 + 4 + 2 + 0 + 6));
    assert_int_equal(cost.arbiters, 2);
    assert_int_equal(cost.state_bits, 4096 + 149 + 89 + 896 + 152 + 2);
    // The paper remarks that the buffer is most of it.
    assert_true(cost.client_fifo * 100 / cost.state_bits >= 70);
    assert_int_equal(cost.request_wires, 88);
    assert_int_equal(cost.data_wires, 78);
    assert_int_equal(cost.wires, 3 * 166);
    // Growth of the cost: a counter adds 64 bits and no wire; a hart adds a client and two links.
    managers[0].implemented = 0x3ff;
    tl_dhpc_cost more = tl_dhpc_cost_of(&tl_dhpc_defaults, 1, managers, 2);
    assert_int_equal(more.state_bits - cost.state_bits, 64);
    assert_int_equal(more.wires, cost.wires);
    tl_dhpc_cost two = tl_dhpc_cost_of(&tl_dhpc_defaults, 2, managers, 2);
    assert_int_equal(two.clients, 2 * more.clients);
    assert_int_equal(two.wires, 2 * 166 + 2 * (166 + 2));
    tl_dhpc_config config = tl_dhpc_defaults;
    config.sampling = TL_DHPC_SNAPSHOT;
    assert_int_equal(tl_dhpc_cost_of(&config, 1, managers, 2).manager_snapshot, 15 * 64);
    config.fifo_depth = 2;
    assert_int_equal(tl_dhpc_cost_of(&config, 1, managers, 2).client_fifo, 128);
}

static void test_the_directory_s_numbers_are_no_counters(void **state) {
    (void)state;
    tl_dhpc_manager managers[2] = {{.id = TL_DHPC_ID(1, 0, 0), .implemented = 0x1f},
                                   {.id = TL_DHPC_ID(TL_DHPC_DIRECTORY, 0, 0), .implemented = 0x7f}};
    tl_dhpc_cost cost = tl_dhpc_cost_of(&tl_dhpc_defaults, 1, managers, 2);
    assert_int_equal(cost.n_counters, 5);
    assert_int_equal(cost.n_wired, 7);
    assert_int_equal(cost.manager_counters, 5 * 64);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows_stand_in_order_and_once),
    cmocka_unit_test(test_events_have_the_specification_s_numbers_and_names),
    cmocka_unit_test(test_a_core_s_page_shows_the_core_s_own_totals),
    cmocka_unit_test(test_idle_cycles_of_a_hart_that_sleeps_are_those_of_the_beat),
    cmocka_unit_test(test_the_client_s_own_events_are_counted),
    cmocka_unit_test(test_slices_and_channels_show_their_own_totals),
    cmocka_unit_test(test_every_counter_of_every_machine_shows_its_sources),
    cmocka_unit_test(test_what_a_machine_lacks_is_not_built),
    cmocka_unit_test(test_what_is_left_out_is_not_built),
    cmocka_unit_test(test_more_units_or_harts_than_there_are_numbers_are_refused),
    cmocka_unit_test(test_the_directory_enumerates_the_chip),
    cmocka_unit_test(test_more_than_a_hundred_events_at_once),
    cmocka_unit_test(test_totals_are_synced_once_per_look),
    cmocka_unit_test(test_harts_are_told_when_they_must_be_stopped_for_a_sample),
    cmocka_unit_test(test_t32_reading_touches_nothing_but_registers),
    cmocka_unit_test(test_the_cost_is_the_sum_of_its_registers),
    cmocka_unit_test(test_the_directory_s_numbers_are_no_counters),
};

TL_TEST_MAIN(tests)
