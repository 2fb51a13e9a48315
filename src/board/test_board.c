// SPDX-License-Identifier: MIT
// The board on a real machine. The tests check the routing of accesses, ticks, interrupt lines and
// console bytes, and the device tree as libfdt reads it. Accesses come through the bus.
#include "board/board.h"

#include <errno.h>
#include <fcntl.h>
#include <libfdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isa/a64/step/step.h"
#include "isa/rv/privileged.h"
#include "machine/keys.h"
#include "machine/test_rig.h"
#include "mem/mem_signals.h"
#include "model/engine.h"
#include "pmu/ccache/ccache.h"
#include "pmu/ccache/snooper.h"

static const tl_agent HART = {.kind = TL_AGENT_HART_DATA};
enum { CLOCK_HZ = 50000000 }; // five cycles per tick of machine time

typedef struct rig {
    tl_machine *machine;
    tl_board board;
    int in[2], out[2]; // pipes: [1] writes
} rig;

static void start_with(rig *r, uint32_t n_harts, const char *disk, uint32_t l2_counters) {
    tl_config config = tl_test_config(n_harts);
    tl_keys_set(&config, "l2.counters", l2_counters);
    tl_keys_set(&config, "l2.snooper", l2_counters ? 1000 : 0);
    config.clock_hz = CLOCK_HZ;
    r->machine = tl_test_machine_of(&config);
    tl_error err;
    assert_int_equal(pipe(r->in), 0);
    assert_int_equal(pipe(r->out), 0);
    tl_system_options options = {.disk = disk, .console_in = r->in[0], .console_out = r->out[1]};
    if (tl_board_init(&r->board, r->machine, &options, &err) != TL_OK)
        fail_msg("%s", err.text);
    tl_board_tick(&r->board, 0);
}

static void start(rig *r, uint32_t n_harts, const char *disk) { start_with(r, n_harts, disk, 0); }

static void stop(rig *r) {
    tl_board_done(&r->board);
    tl_machine_free(r->machine);
    for (int i = 0; i < 2; i++) {
        close(r->in[i]);
        close(r->out[i]);
    }
}

static uint64_t in(rig *r, uint64_t paddr, uint32_t size_bytes) {
    uint64_t value = 0;
    if (!r->board.bus.read(r->board.bus.ctx, &HART, paddr, size_bytes, &value))
        fail_msg("nobody answers at %llx", (unsigned long long)paddr);
    return value;
}

static void out(rig *r, uint64_t paddr, uint32_t size_bytes, uint64_t value) {
    if (!r->board.bus.write(r->board.bus.ctx, &HART, paddr, size_bytes, value))
        fail_msg("nobody answers at %llx", (unsigned long long)paddr);
}

static bool answers(rig *r, uint64_t paddr, uint32_t size_bytes) {
    uint64_t value;
    bool can_read = r->board.bus.read(r->board.bus.ctx, &HART, paddr, size_bytes, &value);
    assert_int_equal(r->board.bus.write(r->board.bus.ctx, &HART, paddr, size_bytes, 0), can_read);
    return can_read;
}

static bool is_raised(const rig *r, uint32_t hart, tl_irq irq) {
    const tl_hart *h = r->machine->harts[hart];
    return (irq == TL_IRQ_SEI ? h->irq_lines : h->irqs_pending) >> irq & 1;
}

static void test_devices_stand_where_the_map_says(void **state) {
    (void)state;
    rig r;
    start(&r, 1, NULL);
    assert_int_equal(in(&r, 0x200bff8, 8), 0);     // mtime
    assert_int_equal(in(&r, 0xc000000 + 4, 4), 0); // a priority
    assert_int_equal(in(&r, 0x10000005, 1), 0x60); // LSR
    assert_int_equal(in(&r, 0x10001000, 4), 0x74726976);
    assert_int_equal(in(&r, 0x10008000, 4), 0x74726976);
    assert_int_equal(in(&r, 0x10001008, 4), 0); // no disk
    assert_int_equal(in(&r, 0x101004, 4), 0);   // RTC, nothing latched yet
    assert_int_equal(in(&r, 0x100000, 4), 0);
    stop(&r);
}

static void test_holes_and_misfits_fault(void **state) {
    (void)state;
    rig r;
    start(&r, 1, NULL);
    const uint64_t holes[] = {0,          0xfffff,    0x102000,   0x1fffff8,  0x2010000,  0xbffffff8, 0xc600000,     0xfffffff,
                              0x10000100, 0x10000ff8, 0x10009000, 0x20000000, 0x7ffffff8, 0x80000000, UINT64_MAX - 7};
    for (size_t i = 0; i < TL_COUNT_OF(holes); i++)
        if (answers(&r, holes[i] & ~UINT64_C(7), 8))
            fail_msg("somebody answers at %llx", (unsigned long long)holes[i]);
    assert_false(answers(&r, 0x200bffc, 8)); // misaligned
    assert_false(answers(&r, 0x2004002, 4));
    assert_true(answers(&r, 0x2004004, 4));
    stop(&r);
}

static void test_slots_of_virtio_on_the_arm_board_do_not_overlap(void **state) {
    (void)state;
    enum { MAGIC = 0x74726976, DEVICE_ID = 8, NONE = 0, BLOCK = 2 };
    char disk[] = "/tmp/test_board_XXXXXX";
    const int fd = mkstemp(disk);
    assert_int_equal(ftruncate(fd, 4096), 0);
    close(fd);
    tl_config config;
    tl_config_default(&config);
    config.isa = TL_ISA_AARCH64;
    config.ram_bytes = 64 << 20;
    rig r = {0};
    tl_error err;
    const tl_system_options options = {.disk = disk, .console_in = -1, .console_out = -1};
    assert_int_equal(tl_machine_new(&config, &tl_engine_a64_step, &r.machine, &err), TL_OK);
    assert_int_equal(tl_board_init(&r.board, r.machine, &options, &err), TL_OK);
    for (uint64_t k = 0; k < 8; k++) {
        assert_int_equal(in(&r, 0xa000000 + 0x200 * k, 4), MAGIC);
        assert_int_equal(in(&r, 0xa000000 + 0x200 * k + DEVICE_ID, 4), k == 0 ? BLOCK : NONE);
    }
    assert_false(answers(&r, 0xa001000, 4));
    tl_board_done(&r.board);
    tl_machine_free(r.machine);
    unlink(disk);
}

static void test_timer_is_due_in_its_cycle(void **state) {
    (void)state;
    rig r;
    start(&r, 2, NULL);
    tl_hart *h = r.machine->harts[0];
    h->now = 1003; // mtime 200
    h->horizon = 100000;
    assert_int_equal(in(&r, 0x200bff8, 8), 200);
    assert_int_equal(h->horizon, 100000); // reading changes no schedule
    out(&r, 0x2004008, 8, 300);
    assert_int_equal(r.board.next_event, 1500);
    assert_int_equal(h->horizon, 0); // the run loop must read the new schedule
    tl_board_tick(&r.board, 1499);
    assert_false(is_raised(&r, 1, TL_IRQ_MTI));
    assert_int_equal(r.board.next_event, 1500);
    tl_board_tick(&r.board, 1500);
    assert_true(is_raised(&r, 1, TL_IRQ_MTI));
    assert_false(is_raised(&r, 0, TL_IRQ_MTI));
    assert_int_equal(r.board.next_event, UINT64_MAX);
    stop(&r);
}

static void test_an_access_far_ahead_raises_no_other_timer(void **state) {
    (void)state;
    rig r;
    start(&r, 2, NULL);
    out(&r, 0x2004008, 8, 100); // hart 1, cycle 500
    r.machine->harts[0]->now = 5000;
    out(&r, 0x2000000, 4, 0);
    (void)in(&r, 0x200bff8, 8);
    assert_false(is_raised(&r, 1, TL_IRQ_MTI)); // it may still stand before 500
    assert_int_equal(r.board.next_event, 500);
    stop(&r);
}

static void test_csr_time_follows_mtime(void **state) {
    (void)state;
    rig r;
    start(&r, 2, NULL);
    r.machine->harts[0]->now = 500;
    out(&r, 0x200bff8, 8, 1000000);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(tl_hart_time(r.machine->harts[i], 500), 1000000);
        assert_int_equal(tl_hart_time(r.machine->harts[i], 505), 1000001);
        assert_int_equal(tl_hart_cycle_of_time(r.machine->harts[i], 1000001), 505);
    }
    r.machine->harts[0]->now = 510;
    assert_int_equal(in(&r, 0x200bff8, 8), 1000002);
    out(&r, 0x2004000, 8, 1000010);
    assert_int_equal(r.board.next_event, 550);
    stop(&r);
}

static void test_serial_interrupt_reaches_supervisor_mode(void **state) {
    (void)state;
    rig r;
    start(&r, 2, NULL);
    out(&r, 0xc000000 + 4 * 10, 4, 1);         // priority
    out(&r, 0xc002000 + 0x80 * 3, 4, 1 << 10); // hart 1, S
    out(&r, 0x10000001, 1, 2);                 // transmitter empty
    assert_true(is_raised(&r, 1, TL_IRQ_SEI));
    assert_false(is_raised(&r, 1, TL_IRQ_MEI) || is_raised(&r, 0, TL_IRQ_SEI));
    assert_int_equal(in(&r, 0xc200004 + 0x1000 * 3, 4), 10);
    assert_false(is_raised(&r, 1, TL_IRQ_SEI));
    assert_int_equal(in(&r, 0x10000002, 1), 0x02);
    out(&r, 0xc200004 + 0x1000 * 3, 4, 10);
    assert_false(is_raised(&r, 1, TL_IRQ_SEI));
    stop(&r);
}

static void expect_output(rig *r, const char *expected) {
    char bytes[8192] = {0};
    fcntl(r->out[0], F_SETFL, O_NONBLOCK); // the test's own end
    ssize_t n = read(r->out[0], bytes, sizeof bytes - 1);
    if (n < 0)
        assert_int_equal(errno, EAGAIN);
    assert_string_equal(bytes, expected);
}

static void print(rig *r, const char *text) {
    for (; *text; text++)
        out(r, 0x10000000, 1, (uint8_t)*text);
}

static void test_console_output_is_flushed_by_lines_and_ticks(void **state) {
    (void)state;
    rig r;
    start(&r, 1, NULL);
    print(&r, "one\ntw");
    expect_output(&r, "one\n");
    print(&r, "o");
    expect_output(&r, "");
    tl_board_tick(&r.board, 10);
    expect_output(&r, "two");
    print(&r, "login: ");
    for (int i = 0; i < 100; i++)
        (void)in(&r, 0x10000005, 1); // waits for input: the prompt is seen first
    expect_output(&r, "login: ");
    char line[6000];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = 0;
    print(&r, line); // longer than the buffer
    tl_board_tick(&r.board, 20);
    expect_output(&r, line);
    print(&r, "end");
    tl_board_done(&r.board);
    expect_output(&r, "end");
    stop(&r);
}

static void test_console_input_never_blocks_and_ends(void **state) {
    (void)state;
    rig r;
    start(&r, 1, NULL);
    int flags = fcntl(r.in[0], F_GETFL);
    out(&r, 0x10000001, 1, 1); // receiver interrupts: polls each millisecond
    assert_int_equal(r.board.next_event, CLOCK_HZ / 1000 + 1);
    assert_int_equal(write(r.in[1], "ab", 2), 2);
    for (const char *at = "ab"; *at; at++) {
        tl_board_tick(&r.board, r.board.next_event);
        r.machine->harts[0]->now = r.board.now_cycles;
        assert_int_equal(in(&r, 0x10000005, 1), 0x61);
        assert_int_equal(in(&r, 0x10000000, 1), *at);
    }
    assert_int_equal(in(&r, 0x10000005, 1), 0x60);
    close(r.in[1]);
    r.in[1] = -1;
    tl_board_tick(&r.board, r.board.next_event); // sees the end
    assert_int_equal(r.board.next_event, UINT64_MAX);
    assert_int_equal(fcntl(r.in[0], F_GETFL), flags);
    stop(&r);
}

static void test_finisher_ends_the_run(void **state) {
    (void)state;
    rig r;
    start(&r, 1, NULL);
    r.machine->harts[0]->horizon = 1000;
    out(&r, 0x100000, 4, 0x00073333);
    assert_true(r.board.has_finished);
    assert_int_equal(r.board.finish_status, 7);
    assert_int_equal(r.machine->harts[0]->horizon, 0);
    out(&r, 0x100000, 4, 0x5555); // the first word counts
    assert_int_equal(r.board.finish_status, 7);
    out(&r, 0x100000, 4, 0x7777);
    assert_true(r.board.wants_reset);
    stop(&r);
}

static uint64_t dma_tally(const rig *r, uint32_t signal) {
    for (uint32_t i = 0; i < r->machine->probe.n_units; i++)
        if (strcmp(r->machine->probe.units[i].path, "dma") == 0)
            return r->machine->probe.units[i].tally[signal];
    fail_msg("the machine has no unit dma");
    return 0;
}

static void test_dma_reaches_ram_and_nothing_else(void **state) {
    (void)state;
    rig r;
    start(&r, 1, NULL);
    uint8_t *(*dma)(void *, uint64_t, uint64_t, bool) = r.board.host.dma;
    const uint64_t ram = 0x80000000, end = ram + (16 << 20);
    assert_ptr_equal(dma(r.board.host.ctx, ram, 1, false), r.machine->ram);
    assert_ptr_equal(dma(r.board.host.ctx, end - 64, 64, true), r.machine->ram + (16 << 20) - 64);
    assert_int_equal(dma_tally(&r, TL_DMA_READ), 1);
    assert_int_equal(dma_tally(&r, TL_DMA_WRITE), 1);
    assert_non_null(dma(r.board.host.ctx, ram + 63, 66, false)); // three lines
    assert_int_equal(dma_tally(&r, TL_DMA_READ), 4);
    assert_null(dma(r.board.host.ctx, ram - 1, 2, false));
    assert_null(dma(r.board.host.ctx, end - 1, 2, true));
    assert_null(dma(r.board.host.ctx, end, 1, true));
    assert_null(dma(r.board.host.ctx, ram, 0, false));
    assert_null(dma(r.board.host.ctx, ram, UINT64_MAX, false));
    assert_null(dma(r.board.host.ctx, UINT64_MAX, 1, false));
    assert_null(dma(r.board.host.ctx, 0x10000000, 1, false));
    assert_int_equal(dma_tally(&r, TL_DMA_READ) + dma_tally(&r, TL_DMA_WRITE), 5);
    stop(&r);
}

static void test_disk_interrupts_are_counted(void **state) {
    (void)state;
    char path[] = "/tmp/tally-test-board-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 4096), 0);
    close(fd);
    rig r;
    start(&r, 1, path);
    unlink(path);
    const uint64_t slot = 0x10001000;
    assert_int_equal(in(&r, slot + 8, 4), 2);
    assert_int_equal(in(&r, slot + 0x100, 8), 8); // sectors
    const uint32_t writes[][2] = {{0x70, 3},          {0x24, 1},          {0x20, 1},          {0x70, 0xb}, {0x30, 0},  {0x38, 8},
                                  {0x80, 0x80001000}, {0x90, 0x80002000}, {0xa0, 0x80003000}, {0x44, 1},   {0x70, 0xf}};
    for (size_t i = 0; i < TL_COUNT_OF(writes); i++)
        out(&r, slot + writes[i][0], 4, writes[i][1]);
    uint8_t *ram = r.machine->ram;
    const struct {
        uint64_t paddr;
        uint32_t n;
        uint16_t flags, next;
    } table[2] = {{0x80004000, 16, 1, 1}, {0x80005000, 513, 2, 0}};
    memcpy(ram + 0x1000, table, sizeof table);
    memset(ram + 0x5000, 0xff, 513);
    for (uint16_t i = 1; i <= 3; i++) {
        memcpy(ram + 0x2002, &i, 2);
        out(&r, slot + 0x50, 4, 0);
        assert_int_equal(ram[0x5000] | ram[0x5000 + 512], 0);
    }
    assert_int_equal(dma_tally(&r, TL_DMA_INTERRUPT), 1); // it stayed up
    out(&r, slot + 0x64, 4, 1);
    const uint16_t four = 4;
    memcpy(ram + 0x2002, &four, 2);
    out(&r, slot + 0x50, 4, 0);
    assert_int_equal(dma_tally(&r, TL_DMA_INTERRUPT), 2);
    stop(&r);
}

static void test_a_missing_disk_is_an_error(void **state) {
    (void)state;
    tl_machine *machine = tl_test_machine(1);
    tl_error err;
    tl_board board;
    tl_system_options options = {.disk = "/nonexistent/disk.img", .console_in = -1, .console_out = -1};
    assert_int_equal(tl_board_init(&board, machine, &options, &err), TL_ENOENT);
    assert_string_equal(err.text, "/nonexistent/disk.img: there is no such disk image");
    tl_machine_free(machine);
}

// -- The device tree.

static uint32_t cell(const void *fdt, const char *path, const char *name, int index) {
    int n, node = fdt_path_offset(fdt, path);
    assert_true(node >= 0);
    const fdt32_t *value = fdt_getprop(fdt, node, name, &n);
    if (!value || n < 4 * (index + 1))
        fail_msg("%s: no %s[%d]", path, name, index);
    return fdt32_to_cpu(value[index]);
}

static const char *string(const void *fdt, const char *path, const char *name) {
    int node = fdt_path_offset(fdt, path);
    assert_true(node >= 0);
    const char *value = fdt_getprop(fdt, node, name, NULL);
    if (!value)
        fail_msg("%s: no %s", path, name);
    return value;
}

static void test_tree_describes_the_harts_as_they_are(void **state) {
    (void)state;
    rig r;
    start(&r, 3, NULL);
    uint8_t fdt[16384];
    assert_int_equal(tl_board_device_tree(&r.board, "console=ttyS0", (tl_initrd_range){0x84000000, 0x84001234}, fdt, sizeof fdt, NULL),
                     TL_OK);
    assert_int_equal(fdt_check_full(fdt, sizeof fdt), 0);
    assert_string_equal(string(fdt, "/chosen", "bootargs"), "console=ttyS0");
    assert_int_equal(cell(fdt, "/chosen", "linux,initrd-start", 1), 0x84000000);
    assert_int_equal(cell(fdt, "/chosen", "linux,initrd-end", 1), 0x84001234);
    assert_int_equal(cell(fdt, "/memory@80000000", "reg", 1), 0x80000000);
    assert_int_equal(cell(fdt, "/memory@80000000", "reg", 3), 16 << 20);
    assert_int_equal(cell(fdt, "/cpus", "timebase-frequency", 0), 10000000);
    assert_string_equal(string(fdt, "/cpus/cpu@2", "riscv,isa"), "rv64imafdc_zicntr_zicsr_zifencei_zihpm_zba_zbb_zbs_smcntrpmf_sscofpmf");
    const tl_config *config = &r.machine->config;
    assert_int_equal(cell(fdt, "/cpus/cpu@1", "d-cache-size", 0), config->l1d.size_bytes);
    assert_int_equal(cell(fdt, "/cpus/cpu@1", "d-cache-sets", 0) * config->l1d.ways * cell(fdt, "/cpus/cpu@1", "d-cache-block-size", 0),
                     config->l1d.size_bytes);
    assert_int_equal(cell(fdt, "/cpus/cpu@1", "i-tlb-size", 0), config->itlb.entries);
    assert_int_equal(cell(fdt, "/l2-cache", "cache-size", 0), config->l2.size_bytes);
    assert_int_equal(cell(fdt, "/cpus/cpu@0", "next-level-cache", 0), cell(fdt, "/l2-cache", "phandle", 0));
    for (uint32_t i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "/cpus/cpu@%u/interrupt-controller", i);
        assert_int_equal(cell(fdt, "/soc/clint@2000000", "interrupts-extended", (int)(4 * i)), cell(fdt, path, "phandle", 0));
        assert_int_equal(cell(fdt, "/soc/clint@2000000", "interrupts-extended", (int)(4 * i + 1)), 3);
        assert_int_equal(cell(fdt, "/soc/clint@2000000", "interrupts-extended", (int)(4 * i + 3)), 7);
        assert_int_equal(cell(fdt, "/soc/plic@c000000", "interrupts-extended", (int)(4 * i + 1)), 11);
        assert_int_equal(cell(fdt, "/soc/plic@c000000", "interrupts-extended", (int)(4 * i + 3)), 9);
        snprintf(path, sizeof path, "/cpus/cpu-map/cluster0/core%u", i);
        assert_true(fdt_path_offset(fdt, path) > 0);
    }
    assert_int_equal(fdt_path_offset(fdt, "/cpus/cpu@3"), -FDT_ERR_NOTFOUND);
    assert_true(fdt_path_offset(fdt, "/pmu") > 0); // the preset linux of the machine
    stop(&r);
}

static void test_every_device_stands_in_the_tree(void **state) {
    (void)state;
    rig r;
    start(&r, 1, NULL);
    uint8_t fdt[16384];
    assert_int_equal(tl_board_device_tree(&r.board, NULL, (tl_initrd_range){0}, fdt, sizeof fdt, NULL), TL_OK);
    int soc = fdt_path_offset(fdt, "/soc"), n_nodes = 0, node;
    fdt_for_each_subnode(node, fdt, soc) n_nodes++;
    assert_int_equal(n_nodes, r.board.n_devices);
    for (uint32_t i = 0; i < r.board.n_devices; i++) {
        bool is_found = false;
        fdt_for_each_subnode(node, fdt, soc) {
            int n;
            const fdt32_t *value = fdt_getprop(fdt, node, "reg", &n);
            assert_int_equal(n, 16);
            if (fdt32_to_cpu(value[1]) != r.board.devices[i]->base_paddr)
                continue;
            is_found = true;
            assert_int_equal(fdt32_to_cpu(value[3]), r.board.devices[i]->size_bytes);
            value = fdt_getprop(fdt, node, "interrupts", NULL);
            assert_int_equal(value ? fdt32_to_cpu(*value) : 0, r.board.devices[i]->irq);
        }
        assert_true(is_found);
    }
    assert_null(fdt_getprop(fdt, fdt_path_offset(fdt, "/chosen"), "linux,initrd-start", NULL));
    stop(&r);
}

// Binding sifive,ccache0: the node of the cache is that of its registers.
static void test_counters_of_the_second_level_stand_where_sifive_has_them(void **state) {
    (void)state;
    static const char node[] = "/soc/cache-controller@2010000";
    rig r;
    start_with(&r, 2, NULL, 6);
    out(&r, 0x2013000, 8, 77);
    assert_int_equal(in(&r, 0x2013000, 8), 77);
    assert_int_equal(in(&r, 0x2013004, 4), 0);
    assert_int_equal(in(&r, 0x2013030, 8), 0); // the seventh
    uint64_t value;
    assert_false(r.board.bus.read(r.board.bus.ctx, &HART, 0x2014000, 8, &value));
    tl_machine_reset_pmus(r.machine);
    assert_int_equal(in(&r, 0x2013000, 8), 0);
    uint8_t fdt[16384];
    assert_int_equal(tl_board_device_tree(&r.board, NULL, (tl_initrd_range){0}, fdt, sizeof fdt, NULL), TL_OK);
    assert_int_equal(fdt_check_full(fdt, sizeof fdt), 0);
    const tl_config *config = &r.machine->config;
    assert_string_equal(string(fdt, node, "compatible"), "sifive,ccache0");
    assert_int_equal(cell(fdt, node, "reg", 1), 0x2010000);
    assert_int_equal(cell(fdt, node, "reg", 3), 0x4000);
    assert_int_equal(cell(fdt, node, "sifive,perfmon-counters", 0), 6);
    assert_int_equal(cell(fdt, node, "cache-level", 0), 2);
    assert_int_equal(cell(fdt, node, "cache-size", 0), config->l2.size_bytes);
    assert_int_equal(cell(fdt, node, "cache-sets", 0) * config->l2.ways * cell(fdt, node, "cache-block-size", 0), config->l2.size_bytes);
    assert_int_equal(cell(fdt, "/cpus/cpu@1", "next-level-cache", 0), cell(fdt, node, "phandle", 0));
    assert_int_equal(fdt_path_offset(fdt, "/l2-cache"), -FDT_ERR_NOTFOUND); // it is described once
    stop(&r);
}

static void test_snooper_knows_what_the_counters_count(void **state) {
    (void)state;
    rig r;
    start_with(&r, 1, NULL, 6);
    tl_hart *h = r.machine->harts[0];
    const tl_snooper_log *log = tl_snooper_log_of(tl_ccache_of(&tl_machine_pmu_of(r.machine, &tl_pmu_ccache, 0)->file)->snooper);
    tl_privileged_reset(h); // machine mode, no translation
    assert_true(h->port->store(h, 0x2012008, 8, 0x4001));
    assert_true(h->port->load(h, 0x80000000, 8)); // a line to read: one request
    assert_true(h->port->load(h, 0x2013008, 8));
    assert_int_equal(h->mem_value, 1);
    assert_true(h->port->load(h, 0x10000005, 1)); // the serial port's: seen, too
    assert_int_equal(log->n_beats, 3);
    assert_int_equal(log->n_watched, 1);
    assert_int_equal(log->values[1], 1);
    assert_int_equal(log->selects[1], 0x4001);
    assert_true(h->port->load(h, 0x80001000, 8));
    assert_int_equal(tl_machine_tick(r.machine, 1000), 2000); // the machine ticks the board itself
    assert_int_equal(log->n_read, 1);
    assert_int_equal(log->n_read_new, 1);
    assert_int_equal(log->values[1], 2);
    // The hart notices nothing of that.
    assert_int_equal(h->tally[TL_S_HART_UNC_READ] + h->tally[TL_S_HART_UNC_WRITE], 3);
    stop(&r);
}

// The properties that OpenSBI 1.1 reads: rows of 3, 3 and 5 cells.
static void test_pmu_rows_are_written_as_firmware_reads_them(void **state) {
    (void)state;
    static const tl_pmu_tree_event events[] = {{0x3, UINT64_C(0x1122334455667788)}, {0x10009, 0x202}};
    static const tl_pmu_tree_counters counters[] = {{1, 1, 0x1}, {0x3, 0x6, 0xfffffff8}, {0x10000, 0x10029, 0x18}};
    static const tl_pmu_tree_raw raw[] = {{0, UINT64_C(0xffffffff00000000), 0xfffffff8}};
    tl_pmu_tree pmu = {
        .has_sscofpmf = true, .events = events, .counters = counters, .raw = raw, .n_events = 2, .n_counters = 3, .n_raw = 1};
    rig r;
    start(&r, 1, NULL);
    r.board.pmu = &pmu;
    uint8_t fdt[16384];
    assert_int_equal(tl_board_device_tree(&r.board, NULL, (tl_initrd_range){0}, fdt, sizeof fdt, NULL), TL_OK);
    assert_string_equal(string(fdt, "/cpus/cpu@0", "riscv,isa"), "rv64imafdc_zicntr_zicsr_zifencei_zihpm_zba_zbb_zbs_sscofpmf");
    int n, node = fdt_node_offset_by_compatible(fdt, -1, "riscv,pmu");
    assert_true(node > 0);
    const struct {
        const char *name;
        uint32_t n, cells[9];
    } rows[] = {
        {"riscv,event-to-mhpmevent", 6, {0x3, 0x11223344, 0x55667788, 0x10009, 0, 0x202}},
        {"riscv,event-to-mhpmcounters", 9, {1, 1, 1, 3, 6, 0xfffffff8, 0x10000, 0x10029, 0x18}},
        {"riscv,raw-event-to-mhpmcounters", 5, {0, 0, 0xffffffff, 0, 0xfffffff8}},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        const fdt32_t *value = fdt_getprop(fdt, node, rows[i].name, &n);
        assert_non_null(value);
        assert_int_equal(n, 4 * rows[i].n);
        for (uint32_t k = 0; k < rows[i].n; k++)
            assert_int_equal(fdt32_to_cpu(value[k]), rows[i].cells[k]);
    }
    stop(&r);
}

static void test_the_tree_depends_on_the_seed_only(void **state) {
    (void)state;
    uint8_t trees[3][16384];
    for (uint32_t i = 0; i < 3; i++) {
        rig r;
        start(&r, 2, NULL);
        r.machine->config.seed = i < 2 ? 7 : 8;
        memset(trees[i], (int)(i + 1), sizeof trees[i]);
        assert_int_equal(tl_board_device_tree(&r.board, "x", (tl_initrd_range){0}, trees[i], sizeof trees[i], NULL), TL_OK);
        stop(&r);
    }
    size_t n = fdt_totalsize(trees[0]);
    assert_memory_equal(trees[0], trees[1], n);
    assert_memory_not_equal(trees[0], trees[2], n);
}

static void test_a_tree_that_does_not_fit_is_refused(void **state) {
    (void)state;
    rig r;
    start(&r, 8, NULL);
    enum { LONG = 12000, WINDOW = 16384 };
    char *append = malloc(LONG + 1);
    uint8_t *exact = malloc(WINDOW);
    assert_true(append && exact);
    memset(append, 'a', LONG);
    append[LONG] = 0;
    tl_error err;
    assert_int_equal(tl_board_device_tree(&r.board, append, (tl_initrd_range){0}, exact, WINDOW, &err), TL_EINVAL);
    assert_string_equal(err.text, "the device tree does not fit into 16384 bytes; use a shorter kernel command line (it has 12000 bytes)");
    for (size_t size = 0; size < 9000; size += 7) { // wherever it breaks off
        uint8_t *small = malloc(size ? size : 1);
        assert_non_null(small);
        tl_status status = tl_board_device_tree(&r.board, "", (tl_initrd_range){0}, small, size, &err);
        assert_true(status == TL_OK || (status == TL_EINVAL && strstr(err.text, "does not fit")));
        free(small);
    }
    free(append);
    free(exact);
    stop(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_devices_stand_where_the_map_says),
    cmocka_unit_test(test_holes_and_misfits_fault),
    cmocka_unit_test(test_slots_of_virtio_on_the_arm_board_do_not_overlap),
    cmocka_unit_test(test_timer_is_due_in_its_cycle),
    cmocka_unit_test(test_an_access_far_ahead_raises_no_other_timer),
    cmocka_unit_test(test_csr_time_follows_mtime),
    cmocka_unit_test(test_serial_interrupt_reaches_supervisor_mode),
    cmocka_unit_test(test_console_output_is_flushed_by_lines_and_ticks),
    cmocka_unit_test(test_console_input_never_blocks_and_ends),
    cmocka_unit_test(test_finisher_ends_the_run),
    cmocka_unit_test(test_dma_reaches_ram_and_nothing_else),
    cmocka_unit_test(test_disk_interrupts_are_counted),
    cmocka_unit_test(test_a_missing_disk_is_an_error),
    cmocka_unit_test(test_tree_describes_the_harts_as_they_are),
    cmocka_unit_test(test_every_device_stands_in_the_tree),
    cmocka_unit_test(test_counters_of_the_second_level_stand_where_sifive_has_them),
    cmocka_unit_test(test_snooper_knows_what_the_counters_count),
    cmocka_unit_test(test_pmu_rows_are_written_as_firmware_reads_them),
    cmocka_unit_test(test_the_tree_depends_on_the_seed_only),
    cmocka_unit_test(test_a_tree_that_does_not_fit_is_refused),
};
TL_TEST_MAIN(tests)
