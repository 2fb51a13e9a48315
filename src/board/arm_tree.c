// SPDX-License-Identifier: MIT
// The Arm board's own nodes of the device tree: harts with caches, PSCI, timers and devices in the
// format of QEMU's virt board. Bindings: Documentation/devicetree/bindings in the kernel's
// sources, arm/cpus.yaml, arm/psci.yaml, interrupt-controller/arm,gic.yaml.
#include <string.h>

#include "board/arm_debug.h"
#include "board/tree.h"
#include "dev/devices.h"
#include "isa/a64/arch.h"

enum { PHANDLE_GIC = TL_ARM_PHANDLE_GIC, PHANDLE_CLOCK, PHANDLE_L2, PHANDLE_CPU };
enum { SHARED = 0, PRIVATE = 1, FIRST_PRIVATE = 16, FIRST_SHARED = 32, EDGE = 1, LEVEL = 4, PRIVATE_HARTS_LSB = 8 };
enum { GIC_DISTRIBUTOR_BYTES = 0x10000, BUS_HZ = 24000000 };

static uint32_t cpu_phandle(uint32_t hart) { return PHANDLE_CPU + hart; }

// -- Harts.

static void first_level(tl_tree *t, const char *const names[3], const tl_cache_config *cache) {
    tl_tree_number(t, names[0], cache->size_bytes);
    tl_tree_number(t, names[1], cache->line_bytes);
    tl_tree_number(t, names[2], tl_tree_sets_of(cache));
}

static void hart(tl_tree *t, const tl_board *board, uint32_t i) {
    static const char *const l1i[] = {"i-cache-size", "i-cache-line-size", "i-cache-sets"};
    static const char *const l1d[] = {"d-cache-size", "d-cache-line-size", "d-cache-sets"};
    const tl_config *config = &board->machine->config;
    tl_tree_begin_at(t, "cpu", i);
    tl_tree_text(t, "device_type", "cpu");
    tl_tree_text(t, "compatible", "arm,cortex-a53");
    tl_tree_number(t, "reg", i);
    if (board->has_firmware && config->n_harts > 1)
        tl_tree_text(t, "enable-method", "psci");
    first_level(t, l1i, &config->l1i);
    first_level(t, l1d, &config->l1d);
    tl_tree_number(t, "next-level-cache", PHANDLE_L2);
    tl_tree_number(t, "phandle", cpu_phandle(i));
    tl_tree_end(t);
}

static void harts(tl_tree *t, const tl_board *board) {
    const tl_cache_config *l2 = &board->machine->config.l2;
    tl_tree_begin(t, "cpus");
    tl_tree_number(t, "#address-cells", 1);
    tl_tree_number(t, "#size-cells", 0);
    for (uint32_t i = 0; i < board->n_harts; i++)
        hart(t, board, i);
    tl_tree_cpu_map(t, board->n_harts, cpu_phandle);
    tl_tree_begin(t, "l2-cache");
    tl_tree_text(t, "compatible", "cache");
    tl_tree_number(t, "cache-level", 2);
    tl_tree_flag(t, "cache-unified");
    tl_tree_number(t, "cache-size", l2->size_bytes);
    tl_tree_number(t, "cache-line-size", l2->line_bytes);
    tl_tree_number(t, "cache-sets", tl_tree_sets_of(l2));
    tl_tree_number(t, "phandle", PHANDLE_L2);
    tl_tree_end(t);
    tl_tree_end(t);
}

static uint32_t private_flags(const tl_board *board) { return LEVEL | ((UINT32_C(1) << board->n_harts) - 1) << PRIVATE_HARTS_LSB; }

// The timers of Secure EL1, Non-secure EL1, the virtual one and that of EL2, which never fires.
static void timer(tl_tree *t, const tl_board *board) {
    enum { INTID_CNTHP = 26 };
    static const uint32_t intids[] = {TL_A64_INTID_CNTPS, TL_A64_INTID_CNTP, TL_A64_INTID_CNTV, INTID_CNTHP};
    uint32_t values[3 * TL_COUNT_OF(intids)];
    for (uint32_t i = 0; i < TL_COUNT_OF(intids); i++) {
        values[3 * i] = PRIVATE;
        values[3 * i + 1] = intids[i] - FIRST_PRIVATE;
        values[3 * i + 2] = private_flags(board);
    }
    tl_tree_begin(t, "timer");
    TL_TREE_STRINGS(t, "compatible", "arm,armv8-timer\0arm,armv7-timer");
    tl_tree_cells(t, "interrupts", values, TL_COUNT_OF(values));
    tl_tree_flag(t, "always-on");
    tl_tree_end(t);
}

// The performance monitors of the harts, as their design describes itself.
static void monitors(tl_tree *t, const tl_board *board) {
    for (uint32_t i = 0; i < board->machine->n_pmus; i++) {
        const tl_pmu *pmu = board->machine->pmus[i].pmu;
        tl_pmu_node node;
        if (!pmu || pmu->type->scope != TL_PMU_OF_HART || !pmu->type->describe_node)
            continue;
        const uint32_t interrupt[] = {PRIVATE, TL_A64_INTID_PMU - FIRST_PRIVATE, private_flags(board)};
        pmu->type->describe_node(pmu, &node);
        tl_tree_begin(t, node.name);
        tl_tree_bytes(t, "compatible", node.compatible, node.compatible_bytes);
        tl_tree_cells(t, "interrupts", interrupt, TL_COUNT_OF(interrupt));
        tl_tree_end(t);
    }
}

// The firmware's calls and its memory, which the kernel neither maps nor uses.
static void firmware(tl_tree *t) {
    tl_tree_begin(t, "psci");
    TL_TREE_STRINGS(t, "compatible", "arm,psci-1.0\0arm,psci-0.2\0arm,psci");
    tl_tree_text(t, "method", "smc");
    tl_tree_number(t, "cpu_suspend", 0xc4000001);
    tl_tree_number(t, "cpu_off", 0x84000002);
    tl_tree_number(t, "cpu_on", 0xc4000003);
    tl_tree_number(t, "migrate", 0xc4000005);
    tl_tree_end(t);
    tl_tree_begin(t, "reserved-memory");
    tl_tree_number(t, "#address-cells", 2);
    tl_tree_number(t, "#size-cells", 2);
    tl_tree_flag(t, "ranges");
    tl_tree_begin_at(t, "firmware", TL_RAM_BASE_PADDR);
    tl_tree_reg(t, TL_RAM_BASE_PADDR, TL_FIRMWARE_BYTES);
    tl_tree_flag(t, "no-map");
    tl_tree_end(t);
    tl_tree_end(t);
}

// -- Devices.

static void interrupt(tl_tree *t, const tl_device *device, uint32_t trigger) {
    const uint32_t values[] = {SHARED, device->irq - FIRST_SHARED, trigger};
    tl_tree_cells(t, "interrupts", values, TL_COUNT_OF(values));
}

static void gic(tl_tree *t, const tl_device *device) {
    const uint64_t interface = device->base_paddr + GIC_DISTRIBUTOR_BYTES;
    const uint32_t values[] = {0, (uint32_t)device->base_paddr, 0, GIC_DISTRIBUTOR_BYTES,
                               0, (uint32_t)interface,          0, (uint32_t)device->size_bytes - GIC_DISTRIBUTOR_BYTES};
    tl_tree_text(t, "compatible", "arm,cortex-a15-gic");
    tl_tree_cells(t, "reg", values, TL_COUNT_OF(values));
    tl_tree_flag(t, "interrupt-controller");
    tl_tree_number(t, "#interrupt-cells", 3);
    tl_tree_number(t, "#address-cells", 2);
    tl_tree_number(t, "#size-cells", 2);
    tl_tree_flag(t, "ranges");
    tl_tree_number(t, "phandle", PHANDLE_GIC);
}

static void pl011(tl_tree *t, const tl_device *device) {
    const uint32_t clocks[] = {PHANDLE_CLOCK, PHANDLE_CLOCK};
    TL_TREE_STRINGS(t, "compatible", "arm,pl011\0arm,primecell");
    tl_tree_reg(t, device->base_paddr, device->size_bytes);
    interrupt(t, device, LEVEL);
    tl_tree_cells(t, "clocks", clocks, TL_COUNT_OF(clocks));
    TL_TREE_STRINGS(t, "clock-names", "uartclk\0apb_pclk");
}

static void pl031(tl_tree *t, const tl_device *device) {
    TL_TREE_STRINGS(t, "compatible", "arm,pl031\0arm,primecell");
    tl_tree_reg(t, device->base_paddr, device->size_bytes);
    interrupt(t, device, LEVEL);
    tl_tree_number(t, "clocks", PHANDLE_CLOCK);
    tl_tree_text(t, "clock-names", "apb_pclk");
}

// Debug components of a core: arm,coresight-cpu-debug.yaml and arm,coresight-cti.yaml. The AMBA bus
// of Linux waits for the clock; its drivers find the core by phandle.
static void debug_component(tl_tree *t, const tl_device *device) {
    const uint64_t core = (device->base_paddr - TL_CORESIGHT_PADDR) / TL_CORESIGHT_STRIDE;
    tl_tree_reg(t, device->base_paddr, device->size_bytes);
    tl_tree_number(t, "clocks", PHANDLE_CLOCK);
    tl_tree_text(t, "clock-names", "apb_pclk");
    tl_tree_number(t, "cpu", cpu_phandle((uint32_t)core));
}

static void debug(tl_tree *t, const tl_device *device) {
    TL_TREE_STRINGS(t, "compatible", "arm,coresight-cpu-debug\0arm,primecell");
    debug_component(t, device);
}

static void cti(tl_tree *t, const tl_device *device) {
    TL_TREE_STRINGS(t, "compatible", "arm,coresight-cti-v8-arch\0arm,coresight-cti\0arm,primecell");
    debug_component(t, device);
}

static void virtio(tl_tree *t, const tl_device *device) {
    tl_tree_text(t, "compatible", "virtio,mmio");
    tl_tree_reg(t, device->base_paddr, device->size_bytes);
    interrupt(t, device, EDGE);
    tl_tree_flag(t, "dma-coherent");
}

static const struct {
    const char *type, *node; // of the device; in the tree
    void (*describe)(tl_tree *t, const tl_device *device);
} rows[] = {
    {"gic", "intc", gic},
    {"pl011", "pl011", pl011},
    {"pl031", "pl031", pl031},
    {"debug", "cpu-debug", debug},
    {"cti", "cti", cti},
    {"virtio_block", "virtio_mmio", virtio},
    {"virtio_empty", "virtio_mmio", virtio},
    {"virtio_console", "virtio_mmio", virtio},
};

void tl_tree_arm(tl_tree *t, const tl_board *board) {
    harts(t, board);
    timer(t, board);
    monitors(t, board);
    if (board->has_firmware)
        firmware(t);
    tl_tree_begin(t, "apb-pclk");
    tl_tree_text(t, "compatible", "fixed-clock");
    tl_tree_number(t, "#clock-cells", 0);
    tl_tree_number(t, "clock-frequency", BUS_HZ);
    tl_tree_text(t, "clock-output-names", "clk24mhz");
    tl_tree_number(t, "phandle", PHANDLE_CLOCK);
    tl_tree_end(t);
    for (uint32_t i = 0; i < board->n_devices; i++)
        for (uint32_t k = 0; k < TL_COUNT_OF(rows); k++) {
            const tl_device *device = board->devices[i];
            if (strcmp(device->type->name, rows[k].type) != 0)
                continue;
            tl_tree_begin_at(t, rows[k].node, device->base_paddr);
            rows[k].describe(t, device);
            tl_tree_end(t);
        }
}
