// SPDX-License-Identifier: MIT
// The RISC-V board's own nodes of the device tree: harts with caches and TLBs, devices in the
// format of QEMU's virt board, and the PMU's rows.
#include <libfdt.h>
#include <stdio.h>
#include <string.h>

#include "board/tree.h"
#include "dev/devices.h"
#include "isa/rv/arch.h"

enum { MAX_REGIONS = 5 };
// Two follow for each hart: the hart and its interrupt controller.
enum { PHANDLE_PLIC = 1, PHANDLE_FINISHER, PHANDLE_L2, PHANDLE_CPU };

static uint32_t cpu_phandle(uint32_t hart) { return PHANDLE_CPU + 2 * hart; }
static uint32_t intc_phandle(uint32_t hart) { return cpu_phandle(hart) + 1; }

// -- Harts.

// NULL name: the design has no node.
static tl_pmu_node node_of(const tl_device *device) {
    const tl_pmu *pmu = tl_pmu_window_pmu(device);
    tl_pmu_node node = {.name = NULL};
    if (pmu->type->describe_node)
        pmu->type->describe_node(pmu, &node);
    return node;
}

static bool is_cache_a_device(const tl_board *board) {
    for (uint32_t i = 0; i < board->n_devices; i++)
        if (strcmp(board->devices[i]->type->name, "pmu") == 0 && node_of(board->devices[i]).is_l2_cache)
            return true;
    return false;
}

static void first_level(tl_tree *t, char side, const tl_cache_config *cache, const tl_tlb_config *tlb) {
    const struct {
        const char *suffix;
        uint32_t value;
    } rows[] = {
        {"cache-size", cache->size_bytes}, {"cache-block-size", cache->line_bytes}, {"cache-sets", tl_tree_sets_of(cache)},
        {"tlb-size", tlb->entries},        {"tlb-sets", tlb->entries / tlb->ways},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        char name[32];
        snprintf(name, sizeof name, "%c-%s", side, rows[i].suffix);
        tl_tree_number(t, name, rows[i].value);
    }
}

static void hart(tl_tree *t, const tl_board *board, uint32_t i) {
    const tl_config *config = &board->machine->config;
    char isa[128];
    snprintf(isa, sizeof isa, "rv64imafdc_zicntr_zicsr_zifencei_zihpm_zba_zbb_zbs%s%s",
             board->pmu && board->pmu->has_smcntrpmf ? "_smcntrpmf" : "", board->pmu && board->pmu->has_sscofpmf ? "_sscofpmf" : "");
    tl_tree_begin_at(t, "cpu", i);
    tl_tree_text(t, "device_type", "cpu");
    tl_tree_number(t, "reg", i);
    tl_tree_text(t, "status", "okay");
    tl_tree_text(t, "compatible", "riscv");
    tl_tree_text(t, "riscv,isa", isa);
    tl_tree_text(t, "mmu-type", "riscv,sv48");
    first_level(t, 'i', &config->l1i, &config->itlb);
    first_level(t, 'd', &config->l1d, &config->dtlb);
    tl_tree_flag(t, "tlb-split");
    tl_tree_number(t, "next-level-cache", PHANDLE_L2);
    tl_tree_number(t, "phandle", cpu_phandle(i));
    tl_tree_begin(t, "interrupt-controller");
    tl_tree_number(t, "#interrupt-cells", 1);
    tl_tree_number(t, "#address-cells", 0);
    tl_tree_flag(t, "interrupt-controller");
    tl_tree_text(t, "compatible", "riscv,cpu-intc");
    tl_tree_number(t, "phandle", intc_phandle(i));
    tl_tree_end(t);
    tl_tree_end(t);
}

static void l2_cache(tl_tree *t, const tl_board *board) {
    const tl_cache_config *l2 = &board->machine->config.l2;
    tl_tree_number(t, "cache-level", 2);
    tl_tree_number(t, "cache-size", l2->size_bytes);
    tl_tree_number(t, "cache-block-size", l2->line_bytes);
    tl_tree_number(t, "cache-sets", tl_tree_sets_of(l2));
    tl_tree_flag(t, "cache-unified");
    tl_tree_number(t, "phandle", PHANDLE_L2);
}

static void harts(tl_tree *t, const tl_board *board) {
    tl_tree_begin(t, "cpus");
    tl_tree_number(t, "#address-cells", 1);
    tl_tree_number(t, "#size-cells", 0);
    tl_tree_number(t, "timebase-frequency", TL_TIMEBASE_HZ);
    for (uint32_t i = 0; i < board->n_harts; i++)
        hart(t, board, i);
    tl_tree_cpu_map(t, board->n_harts, cpu_phandle);
    tl_tree_end(t);

    if (!is_cache_a_device(board)) {
        tl_tree_begin(t, "l2-cache");
        tl_tree_text(t, "compatible", "cache");
        l2_cache(t, board);
        tl_tree_end(t);
    }
}
// -- Devices.

// Two interrupts of every hart, as interrupts-extended lists them.
static void hart_interrupts(tl_tree *t, const tl_board *board, tl_irq first, tl_irq second) {
    uint32_t values[TL_TREE_MAX_CELLS], n = 0;
    for (uint32_t i = 0; i < board->n_harts; i++) {
        values[n++] = intc_phandle(i);
        values[n++] = first;
        values[n++] = intc_phandle(i);
        values[n++] = second;
    }
    tl_tree_cells(t, "interrupts-extended", values, n);
}

static void one_interrupt(tl_tree *t, const tl_device *device) {
    tl_tree_number(t, "interrupts", device->irq);
    tl_tree_number(t, "interrupt-parent", PHANDLE_PLIC);
}

static void clint(tl_tree *t, const tl_board *board, const tl_device *device) {
    (void)device;
    TL_TREE_STRINGS(t, "compatible", "sifive,clint0\0riscv,clint0");
    hart_interrupts(t, board, TL_IRQ_MSI, TL_IRQ_MTI);
}

static void plic(tl_tree *t, const tl_board *board, const tl_device *device) {
    (void)device;
    TL_TREE_STRINGS(t, "compatible", "sifive,plic-1.0.0\0riscv,plic0");
    hart_interrupts(t, board, TL_IRQ_MEI, TL_IRQ_SEI);
    tl_tree_flag(t, "interrupt-controller");
    tl_tree_number(t, "#interrupt-cells", 1);
    tl_tree_number(t, "#address-cells", 0);
    tl_tree_number(t, "riscv,ndev", TL_PLIC_SOURCES);
    tl_tree_number(t, "phandle", PHANDLE_PLIC);
}

static void uart(tl_tree *t, const tl_board *board, const tl_device *device) {
    (void)board;
    tl_tree_text(t, "compatible", "ns16550a");
    tl_tree_number(t, "clock-frequency", 3686400);
    one_interrupt(t, device);
}

static void rtc(tl_tree *t, const tl_board *board, const tl_device *device) {
    (void)board;
    tl_tree_text(t, "compatible", "google,goldfish-rtc");
    one_interrupt(t, device);
}

static void finisher(tl_tree *t, const tl_board *board, const tl_device *device) {
    (void)board;
    (void)device;
    TL_TREE_STRINGS(t, "compatible", "sifive,test1\0sifive,test0\0syscon");
    tl_tree_number(t, "phandle", PHANDLE_FINISHER);
}

static void virtio(tl_tree *t, const tl_board *board, const tl_device *device) {
    (void)board;
    tl_tree_text(t, "compatible", "virtio,mmio");
    one_interrupt(t, device);
}

// Counters in a window. There is no interrupt: a PMU raises lines of harts. A node that is the
// cache's, too, has its geometry.
static void pmu_window(tl_tree *t, const tl_board *board, const tl_device *device) {
    tl_pmu_node node = node_of(device);
    tl_tree_bytes(t, "compatible", node.compatible, node.compatible_bytes);
    if (node.is_l2_cache)
        l2_cache(t, board);
    for (uint32_t i = 0; i < node.n_numbers; i++)
        tl_tree_number(t, node.numbers[i].name, node.numbers[i].value);
}

// A region is a range of its own, so that drivers map it by itself.
static void read_window(tl_tree *t, const tl_board *board, const tl_device *device) {
    const tl_read_window *window = tl_read_window_of(device);
    uint64_t address = device->base_paddr;
    uint32_t values[4 * MAX_REGIONS], n = 0;
    char names[MAX_REGIONS * 16];
    size_t n_names = 0;
    (void)board;
    for (uint32_t i = 0; i < window->n_regions && i < MAX_REGIONS; i++) {
        const uint64_t size = window->regions[i].size_bytes;
        values[n++] = (uint32_t)(address >> 32);
        values[n++] = (uint32_t)address;
        values[n++] = (uint32_t)(size >> 32);
        values[n++] = (uint32_t)size;
        n_names += (size_t)snprintf(names + n_names, 16, "%.15s", window->regions[i].name) + 1;
        address += size;
    }
    tl_tree_cells(t, "reg", values, n);
    tl_tree_bytes(t, "reg-names", names, n_names);
    tl_tree_text(t, "compatible", window->compatible);
}

static const struct {
    const char *type, *node; // of the device; in the tree, NULL: as the PMU says
    void (*describe)(tl_tree *t, const tl_board *board, const tl_device *device);
} rows[] = {
    {"clint", "clint", clint},
    {"plic", "plic", plic},
    {"uart", "serial", uart},
    {"rtc", "rtc", rtc},
    {"finisher", "test", finisher},
    {"pmu", NULL, pmu_window},
    {"read_window", "monitor", read_window},
    {"virtio_block", "virtio_mmio", virtio},
    {"virtio_empty", "virtio_mmio", virtio},
    {"virtio_console", "virtio_mmio", virtio},
};

static void devices(tl_tree *t, const tl_board *board) {
    tl_tree_begin(t, "soc");
    tl_tree_number(t, "#address-cells", 2);
    tl_tree_number(t, "#size-cells", 2);
    tl_tree_text(t, "compatible", "simple-bus");
    tl_tree_flag(t, "ranges");
    for (uint32_t i = 0; i < board->n_devices; i++)
        for (uint32_t k = 0; k < TL_COUNT_OF(rows); k++) {
            const tl_device *device = board->devices[i];
            if (strcmp(device->type->name, rows[k].type) != 0)
                continue;
            const char *name = rows[k].node ? rows[k].node : node_of(device).name;
            if (!name)
                continue;
            tl_tree_begin_at(t, name, device->base_paddr);
            if (rows[k].describe != read_window)
                tl_tree_reg(t, device->base_paddr, device->size_bytes);
            rows[k].describe(t, board, device);
            tl_tree_end(t);
        }
    tl_tree_end(t);
}

static void syscon(tl_tree *t, const char *name, const char *compatible, uint32_t value) {
    tl_tree_begin(t, name);
    tl_tree_text(t, "compatible", compatible);
    tl_tree_number(t, "regmap", PHANDLE_FINISHER);
    tl_tree_number(t, "offset", 0);
    tl_tree_number(t, "value", value);
    tl_tree_end(t);
}

// -- The PMU.

// A property of n_rows rows of row_cells cells; NULL: no room for it, or no rows.
static fdt32_t *begin_rows(tl_tree *t, const char *name, uint32_t n_rows, uint32_t row_cells) {
    void *place = NULL;
    if (n_rows > 0 && !t->error)
        tl_tree_note(t, fdt_property_placeholder(t->fdt, name, (int)(n_rows * row_cells * sizeof(fdt32_t)), &place));
    return t->error ? NULL : place;
}

static fdt32_t *put(fdt32_t *to, uint32_t value) { return *to = cpu_to_fdt32(value), to + 1; }
static fdt32_t *put64(fdt32_t *to, uint64_t value) { return put(put(to, (uint32_t)(value >> 32)), (uint32_t)value); }

static void harts_pmu(tl_tree *t, const tl_pmu_tree *pmu) {
    tl_tree_begin(t, "pmu");
    tl_tree_text(t, "compatible", "riscv,pmu");
    fdt32_t *to = begin_rows(t, "riscv,event-to-mhpmevent", pmu->n_events, 3);
    for (uint32_t i = 0; to && i < pmu->n_events; i++)
        to = put64(put(to, pmu->events[i].event), pmu->events[i].selector);
    to = begin_rows(t, "riscv,event-to-mhpmcounters", pmu->n_counters, 3);
    for (uint32_t i = 0; to && i < pmu->n_counters; i++)
        to = put(put(put(to, pmu->counters[i].first_event), pmu->counters[i].last_event), pmu->counters[i].counters);
    to = begin_rows(t, "riscv,raw-event-to-mhpmcounters", pmu->n_raw, 5);
    for (uint32_t i = 0; to && i < pmu->n_raw; i++)
        to = put(put64(put64(to, pmu->raw[i].match), pmu->raw[i].mask), pmu->raw[i].counters);
    tl_tree_end(t);
}

void tl_tree_riscv(tl_tree *t, const tl_board *board) {
    harts(t, board);
    devices(t, board);
    syscon(t, "poweroff", "syscon-poweroff", 0x5555);
    syscon(t, "reboot", "syscon-reboot", 0x7777);
    if (board->pmu)
        harts_pmu(t, board->pmu);
}
