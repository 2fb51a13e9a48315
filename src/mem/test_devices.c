// SPDX-License-Identifier: MIT
// Accesses of harts to devices, and accesses of devices to RAM. Latencies: tl_rig_config(), and 37
// cycles for a device.
#include "isa/rv/arch.h"
#include "mem/test_rig.h"

static const uint64_t MIB = 1 << 20, DEVICE = 0x10000000;

typedef struct log { // the last access that reached the device
    uint32_t hart, size_bytes, n_reads, n_writes;
    uint64_t paddr, value;
    tl_hart *waits; // it cannot be answered yet
} log;

static const tl_agent MASTER = {.kind = TL_AGENT_DEVICE};

static bool bus_read(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t *ret_value) {
    log *l = ctx;
    if (paddr - DEVICE >= 256)
        return false;
    if (l->waits) {
        l->waits->waits_for_device = true;
        return false;
    }
    *l = (log){agent->id, size_bytes, l->n_reads + 1, l->n_writes, paddr, 0, NULL};
    *ret_value = UINT64_C(0x8877665544332211); // wider than asked for
    return true;
}

static bool bus_write(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t value) {
    log *l = ctx;
    if (paddr - DEVICE >= 256)
        return false;
    *l = (log){agent->id, size_bytes, l->n_reads, l->n_writes + 1, paddr, value, NULL};
    return true;
}

typedef struct fixture {
    tl_rig rig;
    log log;
    tl_bus bus;
    uint64_t *bus_tally, *dma_tally, *l2_tally, *noc_tally, *mem_tally;
} fixture;

static tl_hart *start(fixture *f, uint32_t n_harts) {
    tl_config config = tl_rig_config();
    config.n_harts = n_harts;
    config.mem.mmio_cycles = 37;
    *f = (fixture){.bus = {.read = bus_read, .write = bus_write}};
    f->bus.ctx = &f->log;
    tl_rig_start(&f->rig, &config);
    tl_memory_set_bus(f->rig.memory, &f->bus);
    f->l2_tally = f->rig.shared_tally[0];
    f->noc_tally = f->rig.shared_tally[1];
    f->mem_tally = f->rig.shared_tally[2];
    f->bus_tally = f->rig.shared_tally[3];
    f->dma_tally = f->rig.shared_tally[4];
    return f->rig.harts[0];
}

static void stop(fixture *f) {
    tl_error err;
    if (tl_memory_check_identities(f->rig.memory, &err) != TL_OK)
        fail_msg("%s", err.text);
    tl_rig_stop(&f->rig);
}

static void test_device_access_costs_its_time_and_no_cache_look_up(void **state) {
    (void)state;
    fixture f;
    tl_hart *h = start(&f, 2);
    h = f.rig.harts[1];
    for (uint32_t size = 1; size <= 8; size *= 2) {
        assert_true(tl_rig_load(h, DEVICE + 8, size));
        assert_int_equal(h->mem_value, UINT64_C(0x8877665544332211) & UINT64_MAX >> (64 - 8 * size));
        assert_int_equal(f.log.size_bytes, size);
        assert_int_equal(f.log.hart, 1);
        assert_true(tl_rig_store(h, DEVICE + 16, size, UINT64_MAX));
        assert_int_equal(f.log.value, UINT64_MAX >> (64 - 8 * size));
        assert_int_equal(f.log.paddr, DEVICE + 16);
    }
    assert_int_equal(h->now, 8 * 37);
    assert_int_equal(h->tally[TL_S_HART_CYC_MMIO], 8 * 37);
    assert_int_equal(h->tally[TL_S_HART_UNC_READ], 4);
    assert_int_equal(h->tally[TL_S_HART_UNC_WRITE], 4);
    assert_int_equal(f.bus_tally[TL_BUS_READ], 4);
    assert_int_equal(f.bus_tally[TL_BUS_WRITE], 4);
    assert_int_equal(h->tally[TL_S_L1D_LOAD], 0);
    assert_int_equal(h->tally[TL_S_L1D_STORE], 0);
    assert_int_equal(h->tally[TL_S_DTLB_ACCESS], 8);
    assert_null(tl_read_hit(h, DEVICE + 8, 8));
    stop(&f);
}

// Nothing of the load is counted, and it can be tried again.
static void test_a_read_that_has_to_wait_leaves_nothing_behind(void **state) {
    (void)state;
    fixture f;
    tl_hart *h = start(&f, 1);
    f.log.waits = h;
    for (int i = 0; i < 3; i++) {
        assert_false(h->port->load(h, DEVICE + 8, 8));
        assert_int_equal(h->trap_cause, TL_TRAP_NOT_YET);
    }
    assert_int_equal(h->now, 0);
    assert_int_equal(h->tally[TL_S_HART_UNC_READ] + h->tally[TL_S_HART_CYC_MMIO] + f.bus_tally[TL_BUS_READ], 0);
    assert_int_equal(h->tally[TL_S_DTLB_ACCESS], 0);
    f.log.waits = NULL;
    assert_true(tl_rig_load(h, DEVICE + 8, 8));
    assert_int_equal(h->now, 37);
    assert_int_equal(h->tally[TL_S_HART_UNC_READ], 1);
    assert_false(h->port->load(h, DEVICE + 256, 8)); // nobody is there
    assert_int_equal(h->trap_cause, TL_CAUSE_LOAD_ACCESS);
    stop(&f);
}

static void test_what_devices_cannot_do_traps_and_reaches_nobody(void **state) {
    (void)state;
    fixture f;
    tl_hart *h = start(&f, 1);
    static const struct {
        char access;
        uint64_t vaddr;
        uint32_t size;
        uint64_t cause;
    } rows[] = {
        {'l', 0x10000002, 4, TL_CAUSE_LOAD_MISALIGNED},  {'s', 0x10000001, 2, TL_CAUSE_STORE_MISALIGNED},
        {'l', 0x1000003e, 8, TL_CAUSE_LOAD_MISALIGNED},  {'l', 0x80ffffff, 2, TL_CAUSE_LOAD_MISALIGNED}, // begins in RAM
        {'s', 0x80ffffff, 2, TL_CAUSE_STORE_MISALIGNED}, {'s', 0x7fffffff, 2, TL_CAUSE_STORE_MISALIGNED},
        {'r', 0x10000000, 4, TL_CAUSE_LOAD_ACCESS},      {'c', 0x10000000, 4, TL_CAUSE_STORE_ACCESS},
        {'a', 0x10000000, 8, TL_CAUSE_STORE_ACCESS},     {'f', 0x10000000, 4, TL_CAUSE_FETCH_ACCESS},
        {'l', 0x10000100, 4, TL_CAUSE_LOAD_ACCESS},      {'s', 0x10000100, 4, TL_CAUSE_STORE_ACCESS}, // nobody is there
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        uint64_t vaddr = rows[i].vaddr, look_ups = h->tally[TL_S_DTLB_ACCESS] + h->tally[TL_S_ITLB_ACCESS];
        uint32_t size = rows[i].size;
        bool is_ok = rows[i].access == 'l'   ? h->port->load(h, vaddr, size)
                     : rows[i].access == 's' ? h->port->store(h, vaddr, size, 1)
                     : rows[i].access == 'r' ? h->port->load_reserved(h, vaddr, size)
                     : rows[i].access == 'c' ? h->port->store_conditional(h, vaddr, size, 1)
                     : rows[i].access == 'a' ? h->port->amo(h, vaddr, size, TL_AMO_ADD, 1)
                                             : h->port->fetch(h, vaddr);
        assert_false(is_ok);
        assert_int_equal(h->trap_cause, rows[i].cause);
        assert_int_equal(h->trap_value, vaddr);
        bool is_crossing = vaddr == 0x80ffffff;
        assert_int_equal(h->tally[TL_S_DTLB_ACCESS] + h->tally[TL_S_ITLB_ACCESS] - look_ups, is_crossing ? 2 : 1);
    }
    assert_int_equal(f.log.n_reads + f.log.n_writes, 0);
    assert_int_equal(h->now, 0);
    assert_int_equal(h->tally[TL_S_HART_UNC_READ] + h->tally[TL_S_HART_UNC_WRITE] + h->tally[TL_S_L1D_LOAD], 0);
    tl_memory_set_bus(f.rig.memory, NULL);
    assert_false(h->port->load(h, DEVICE, 4));
    assert_int_equal(h->trap_cause, TL_CAUSE_LOAD_ACCESS);
    stop(&f);
}

static void test_devices_are_reached_through_page_tables(void **state) {
    (void)state;
    fixture f;
    tl_hart *h = start(&f, 1);
    tl_rig_tables tables = tl_rig_tables_at(f.rig.ram, TL_RAM_BASE_PADDR);
    tl_rig_map(&tables, 0x7000, DEVICE, 0, TL_RIG_RW);
    tl_memory_switch_context(h, tl_rig_satp(&tables));
    assert_true(tl_rig_store(h, 0x7020, 4, 5));
    assert_true(tl_rig_store(h, 0x7024, 4, 6));
    assert_int_equal(f.log.paddr, DEVICE + 0x24);
    assert_int_equal(f.log.n_writes, 2);
    assert_int_equal(h->tally[TL_S_DTLB_MISS], 1);
    assert_int_equal(h->tally[TL_S_PTW_WALK], 1);
    assert_int_equal(h->tally[TL_S_L1D_LOAD], 3); // the walk's
    assert_int_equal(h->tally[TL_S_L1D_STORE], 0);
    stop(&f);
}

// ---- devices that master the bus ----

static void test_device_reads_memory_and_leaves_nothing_behind(void **state) {
    (void)state;
    fixture f;
    tl_hart *h = start(&f, 1);
    // The access takes three lines.
    assert_true(tl_memory_dma(f.rig.memory, &MASTER, tl_rig_paddr(60), 70, false, 1000));
    assert_int_equal(f.dma_tally[TL_DMA_READ], 3);
    assert_int_equal(f.l2_tally[TL_L2_DMA_READ], 3);
    assert_int_equal(f.l2_tally[TL_L2_DMA_READMISS], 3);
    assert_int_equal(f.l2_tally[TL_L2_DMA_READ_HIT], 0);
    assert_int_equal(f.mem_tally[TL_MEM_READ], 3);
    assert_true(tl_memory_dma(f.rig.memory, &MASTER, tl_rig_paddr(0), 64, false, 2000));
    assert_int_equal(f.l2_tally[TL_L2_DMA_READMISS], 4);
    assert_int_equal(f.l2_tally[TL_L2_READ] + f.noc_tally[TL_NOC_REQUEST], 0);
    assert_int_equal(h->now, 0);
    stop(&f);
}

static void test_device_reads_what_a_hart_has_written(void **state) {
    (void)state;
    fixture f;
    tl_hart *h = start(&f, 2);
    assert_true(tl_rig_store(h, tl_rig_paddr(0), 8, 1));
    assert_int_equal(tl_memory_l1d_state(f.rig.memory, 0, tl_rig_paddr(0)), 'M');
    assert_true(tl_memory_dma(f.rig.memory, &MASTER, tl_rig_paddr(0), 8, false, 5000));
    assert_int_equal(tl_memory_l1d_state(f.rig.memory, 0, tl_rig_paddr(0)), 'S');
    assert_null(tl_write_hit(h, tl_rig_paddr(0), 8));
    assert_int_equal(f.l2_tally[TL_L2_DMA_READMISS], 0);
    assert_int_equal(f.l2_tally[TL_L2_DMA_READ_HIT], 1);
    assert_int_equal(f.l2_tally[TL_L2_DMA_READ_HIT_SHARED], 1);
    assert_int_equal(f.rig.shared_tally[5][TL_LINK_PROBE_GET], 1);
    assert_int_equal(f.rig.shared_tally[5][TL_LINK_RELEASE_DATA_TB], 1);
    assert_int_equal(f.l2_tally[TL_L2_PROBE_OUT], 1);
    assert_int_equal(f.l2_tally[TL_L2_WRITE], 1);
    assert_int_equal(h->tally[TL_S_L1D_PROBE_DATA], 1);
    assert_int_equal(h->tally[TL_S_L1D_WRITEBACK], 1);
    assert_int_equal(f.mem_tally[TL_MEM_WRITE], 0);
    stop(&f);
}

static void test_device_write_takes_every_copy_and_updates_the_l2(void **state) {
    (void)state;
    fixture f;
    tl_hart *h = start(&f, 2), *other = f.rig.harts[1];
    assert_true(tl_rig_load(h, tl_rig_paddr(0), 8));
    assert_true(tl_rig_load(other, tl_rig_paddr(0), 8));
    assert_true(tl_rig_fetch(other, tl_rig_paddr(0)));
    uint64_t probes = f.l2_tally[TL_L2_PROBE_OUT], reads = f.mem_tally[TL_MEM_READ];
    uint32_t generation = h->code_generation;
    assert_true(tl_memory_dma(f.rig.memory, &MASTER, tl_rig_paddr(0), 64, true, 9000));
    assert_int_equal(f.l2_tally[TL_L2_DMA_WRITE], 1);
    assert_int_equal(f.l2_tally[TL_L2_DMA_WRITEMISS], 0);
    assert_int_equal(f.l2_tally[TL_L2_DMA_WRITE_FULL_HIT_SHARED], 1);
    assert_int_equal(f.l2_tally[TL_L2_DMA_WRITE_PARTIAL], 0);
    assert_int_equal(f.rig.shared_tally[5][TL_LINK_PROBE_TAKE], 1);
    assert_int_equal(f.rig.shared_tally[6][TL_LINK_PROBE_TAKE], 1);
    assert_int_equal(f.rig.shared_tally[6][TL_LINK_PROBE_I], 1);
    assert_int_equal(f.l2_tally[TL_L2_PROBE_OUT] - probes, 3);
    assert_int_equal(f.l2_tally[TL_L2_BACK_INVALIDATE], 0);
    assert_int_equal(h->tally[TL_S_L1D_PROBE_INVALIDATE], 1);
    assert_int_equal(other->tally[TL_S_L1D_PROBE_INVALIDATE], 1);
    assert_int_equal(other->tally[TL_S_L1I_INVALIDATE], 1);
    assert_null(tl_read_hit(h, tl_rig_paddr(0), 8));
    assert_int_equal(tl_fetch_slot_of(other, tl_rig_paddr(0))->key, TL_NO_KEY);
    assert_true(h->code_generation != generation && other->code_generation != generation);
    assert_int_equal(f.mem_tally[TL_MEM_WRITE], 0); // it stands in the L2, dirty
    assert_true(tl_rig_load(h, tl_rig_paddr(0), 8));
    assert_int_equal(f.mem_tally[TL_MEM_READ], reads);
    for (uint64_t way = 1; way <= 2; way++) // the L2 has two ways and eight sets
        assert_true(tl_rig_load(h, tl_rig_paddr(way * 512), 8));
    assert_int_equal(f.mem_tally[TL_MEM_WRITE], 1);
    stop(&f);
}

static void test_line_that_a_device_took_is_shared_by_nobody(void **state) {
    (void)state;
    fixture f;
    tl_hart *h = start(&f, 1);
    assert_true(tl_rig_fetch(h, tl_rig_paddr(0)));
    assert_true(tl_rig_load(h, tl_rig_paddr(0), 8));
    assert_true(tl_memory_dma(f.rig.memory, &MASTER, tl_rig_paddr(0), 64, true, 9000));
    assert_true(tl_memory_dma(f.rig.memory, &MASTER, tl_rig_paddr(0), 64, false, 9100));
    assert_int_equal(f.l2_tally[TL_L2_DMA_READ_HIT], 1);
    assert_int_equal(f.l2_tally[TL_L2_DMA_READ_HIT_SHARED], 0);
    uint64_t probes = f.l2_tally[TL_L2_PROBE_OUT];
    assert_true(tl_memory_dma(f.rig.memory, &MASTER, tl_rig_paddr(0), 64, true, 9200));
    assert_int_equal(f.l2_tally[TL_L2_PROBE_OUT], probes);
    stop(&f);
}

static void test_device_write_to_an_absent_line_goes_to_memory(void **state) {
    (void)state;
    fixture f;
    tl_hart *h = start(&f, 1);
    uint32_t generation = h->code_generation;
    assert_true(tl_memory_dma(f.rig.memory, &MASTER, tl_rig_paddr(4096), 65, true, 0));
    assert_int_equal(f.dma_tally[TL_DMA_WRITE], 2);
    assert_int_equal(f.l2_tally[TL_L2_DMA_WRITEMISS], 2);
    assert_int_equal(f.l2_tally[TL_L2_DMA_WRITE_FULL], 1);
    assert_int_equal(f.l2_tally[TL_L2_DMA_WRITE_PARTIAL], 1);
    assert_int_equal(f.l2_tally[TL_L2_DMA_WRITE_FULL_HIT] + f.l2_tally[TL_L2_DMA_WRITE_PARTIAL_HIT], 0);
    assert_int_equal(f.mem_tally[TL_MEM_WRITE], 2);
    assert_int_equal(f.mem_tally[TL_MEM_READ], 0);
    assert_int_equal(h->code_generation, generation); // nobody ever fetched from there
    stop(&f);
}

static void test_device_write_to_code_is_noticed_after_the_line_has_left_the_cache(void **state) {
    (void)state;
    fixture f;
    tl_hart *h = start(&f, 1);
    assert_true(tl_rig_fetch(h, tl_rig_paddr(0)));
    assert_true(tl_rig_fetch(h, tl_rig_paddr(256))); // the L1I has four lines
    uint32_t generation = h->code_generation;
    assert_true(tl_memory_dma(f.rig.memory, &MASTER, tl_rig_paddr(64), 8, true, 0));
    assert_int_not_equal(h->code_generation, generation);
    stop(&f);
}

static void test_reservation_ends_when_a_device_writes(void **state) {
    (void)state;
    fixture f;
    tl_hart *h = start(&f, 1);
    assert_true(h->port->load_reserved(h, tl_rig_paddr(0x48), 8));
    h->tally[TL_S_L1D_LOAD] += 1; // the front-end's
    assert_true(tl_memory_dma(f.rig.memory, &MASTER, tl_rig_paddr(0x7f), 1, false, 0));
    assert_int_equal(h->reservation_paddr, tl_rig_paddr(0x40));
    assert_true(tl_memory_dma(f.rig.memory, &MASTER, tl_rig_paddr(0x7f), 1, true, 0));
    assert_int_equal(h->reservation_paddr, TL_NO_LINE);
    stop(&f);
}

static void test_device_stays_within_ram(void **state) {
    (void)state;
    fixture f;
    start(&f, 1);
    const uint64_t end = TL_RAM_BASE_PADDR + 16 * MIB;
    assert_true(tl_memory_dma(f.rig.memory, &MASTER, end - 1, 1, true, 0));
    assert_true(tl_memory_dma(f.rig.memory, &MASTER, end - 1, 0, true, 0));
    assert_false(tl_memory_dma(f.rig.memory, &MASTER, end - 1, 2, true, 0));
    assert_false(tl_memory_dma(f.rig.memory, &MASTER, TL_RAM_BASE_PADDR - 1, 2, false, 0));
    assert_false(tl_memory_dma(f.rig.memory, &MASTER, tl_rig_paddr(8), UINT64_MAX, true, 0));
    assert_false(tl_memory_dma(f.rig.memory, &MASTER, UINT64_MAX, 2, true, 0));
    assert_false(tl_memory_dma(f.rig.memory, &MASTER, 0, 1, true, 0));
    assert_int_equal(f.dma_tally[TL_DMA_WRITE] + f.dma_tally[TL_DMA_READ], 1);
    stop(&f);
}

static void test_busy_slice_makes_the_hart_wait_for_the_device(void **state) {
    (void)state;
    fixture f;
    tl_hart *h = start(&f, 1);
    h->now = 1000;
    // The bus is busy until 1001.
    assert_true(tl_memory_dma(f.rig.memory, &MASTER, tl_rig_paddr(4096), 8, false, 999));
    assert_true(tl_rig_load(h, tl_rig_paddr(0), 8));
    assert_int_equal(f.l2_tally[TL_L2_BUSY], 1);
    stop(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_device_access_costs_its_time_and_no_cache_look_up),
    cmocka_unit_test(test_a_read_that_has_to_wait_leaves_nothing_behind),
    cmocka_unit_test(test_what_devices_cannot_do_traps_and_reaches_nobody),
    cmocka_unit_test(test_devices_are_reached_through_page_tables),
    cmocka_unit_test(test_device_reads_memory_and_leaves_nothing_behind),
    cmocka_unit_test(test_device_reads_what_a_hart_has_written),
    cmocka_unit_test(test_device_write_takes_every_copy_and_updates_the_l2),
    cmocka_unit_test(test_line_that_a_device_took_is_shared_by_nobody),
    cmocka_unit_test(test_device_write_to_an_absent_line_goes_to_memory),
    cmocka_unit_test(test_device_write_to_code_is_noticed_after_the_line_has_left_the_cache),
    cmocka_unit_test(test_reservation_ends_when_a_device_writes),
    cmocka_unit_test(test_device_stays_within_ram),
    cmocka_unit_test(test_busy_slice_makes_the_hart_wait_for_the_device),
};

TL_TEST_MAIN(tests)
