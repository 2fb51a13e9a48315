// SPDX-License-Identifier: MIT
// The flattened device tree for firmware and kernels. It describes the board in the format of
// QEMU's virt board, with the harts' caches and TLBs and the PMU's rows. The first error of libfdt
// sticks, because the code below then reads like the tree.
#include <inttypes.h>
#include <libfdt.h>
#include <stdio.h>
#include <string.h>

#include "board/board.h"
#include "dev/devices.h"
#include "isa/rv/arch.h"

enum { MAX_CELLS = 4 * TL_MAX_HARTS, SEED_BYTES = 32, MAX_REGIONS = 5 };
// Two follow for each hart: the hart and its interrupt controller.
enum { PHANDLE_PLIC = 1, PHANDLE_FINISHER, PHANDLE_L2, PHANDLE_CPU };

typedef struct tree {
    void *fdt;
    int error; // 0, or the first that libfdt gave
} tree;

static uint32_t cpu_phandle(uint32_t hart) { return PHANDLE_CPU + 2 * hart; }
static uint32_t intc_phandle(uint32_t hart) { return cpu_phandle(hart) + 1; }

static void note(tree *t, int error) { t->error = t->error ? t->error : error; }

static void begin(tree *t, const char *name) { note(t, t->error ? t->error : fdt_begin_node(t->fdt, name)); }

static void begin_at(tree *t, const char *name, uint64_t address) {
    char text[64];
    snprintf(text, sizeof text, "%s@%" PRIx64, name, address);
    begin(t, text);
}

static void end(tree *t) { note(t, t->error ? t->error : fdt_end_node(t->fdt)); }

static void bytes(tree *t, const char *name, const void *value, size_t n) {
    note(t, t->error ? t->error : fdt_property(t->fdt, name, value, (int)n));
}

static void flag(tree *t, const char *name) { bytes(t, name, NULL, 0); }
static void text(tree *t, const char *name, const char *value) { bytes(t, name, value, strlen(value) + 1); }
static void number(tree *t, const char *name, uint32_t value) { note(t, t->error ? t->error : fdt_property_u32(t->fdt, name, value)); }
static void number64(tree *t, const char *name, uint64_t value) { note(t, t->error ? t->error : fdt_property_u64(t->fdt, name, value)); }

static void cells(tree *t, const char *name, const uint32_t *values, uint32_t n) {
    fdt32_t raw[MAX_CELLS];
    for (uint32_t i = 0; i < n; i++)
        raw[i] = cpu_to_fdt32(values[i]);
    bytes(t, name, raw, n * sizeof *raw);
}

static void reg(tree *t, uint64_t address, uint64_t size) {
    uint32_t values[] = {(uint32_t)(address >> 32), (uint32_t)address, (uint32_t)(size >> 32), (uint32_t)size};
    cells(t, "reg", values, TL_COUNT_OF(values));
}

// A string list is its strings with their ends.
#define STRINGS(t, name, list) bytes(t, name, list, sizeof(list))

// -- Harts.

static uint32_t sets_of(const tl_cache_config *cache) { return cache->size_bytes / (cache->ways * cache->line_bytes); }

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

static void first_level(tree *t, char side, const tl_cache_config *cache, const tl_tlb_config *tlb) {
    const struct {
        const char *suffix;
        uint32_t value;
    } rows[] = {
        {"cache-size", cache->size_bytes}, {"cache-block-size", cache->line_bytes}, {"cache-sets", sets_of(cache)},
        {"tlb-size", tlb->entries},        {"tlb-sets", tlb->entries / tlb->ways},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        char name[32];
        snprintf(name, sizeof name, "%c-%s", side, rows[i].suffix);
        number(t, name, rows[i].value);
    }
}

static void hart(tree *t, const tl_board *board, uint32_t i) {
    const tl_config *config = &board->machine->config;
    char isa[128];
    snprintf(isa, sizeof isa, "rv64imafdc_zicntr_zicsr_zifencei_zihpm_zba_zbb_zbs%s%s",
             board->pmu && board->pmu->has_smcntrpmf ? "_smcntrpmf" : "", board->pmu && board->pmu->has_sscofpmf ? "_sscofpmf" : "");
    begin_at(t, "cpu", i);
    text(t, "device_type", "cpu");
    number(t, "reg", i);
    text(t, "status", "okay");
    text(t, "compatible", "riscv");
    text(t, "riscv,isa", isa);
    text(t, "mmu-type", "riscv,sv48");
    first_level(t, 'i', &config->l1i, &config->itlb);
    first_level(t, 'd', &config->l1d, &config->dtlb);
    flag(t, "tlb-split");
    number(t, "next-level-cache", PHANDLE_L2);
    number(t, "phandle", cpu_phandle(i));
    begin(t, "interrupt-controller");
    number(t, "#interrupt-cells", 1);
    number(t, "#address-cells", 0);
    flag(t, "interrupt-controller");
    text(t, "compatible", "riscv,cpu-intc");
    number(t, "phandle", intc_phandle(i));
    end(t);
    end(t);
}

static void l2_cache(tree *t, const tl_board *board) {
    const tl_cache_config *l2 = &board->machine->config.l2;
    number(t, "cache-level", 2);
    number(t, "cache-size", l2->size_bytes);
    number(t, "cache-block-size", l2->line_bytes);
    number(t, "cache-sets", sets_of(l2));
    flag(t, "cache-unified");
    number(t, "phandle", PHANDLE_L2);
}

static void harts(tree *t, const tl_board *board) {
    begin(t, "cpus");
    number(t, "#address-cells", 1);
    number(t, "#size-cells", 0);
    number(t, "timebase-frequency", TL_TIMEBASE_HZ);
    for (uint32_t i = 0; i < board->n_harts; i++)
        hart(t, board, i);
    begin(t, "cpu-map");
    begin(t, "cluster0");
    for (uint32_t i = 0; i < board->n_harts; i++) {
        char name[16];
        snprintf(name, sizeof name, "core%u", i);
        begin(t, name);
        number(t, "cpu", cpu_phandle(i));
        end(t);
    }
    end(t);
    end(t);
    end(t);

    if (!is_cache_a_device(board)) {
        begin(t, "l2-cache");
        text(t, "compatible", "cache");
        l2_cache(t, board);
        end(t);
    }
}
// -- Devices.

// Two interrupts of every hart, as interrupts-extended lists them.
static void hart_interrupts(tree *t, const tl_board *board, tl_irq first, tl_irq second) {
    uint32_t values[MAX_CELLS], n = 0;
    for (uint32_t i = 0; i < board->n_harts; i++) {
        values[n++] = intc_phandle(i);
        values[n++] = first;
        values[n++] = intc_phandle(i);
        values[n++] = second;
    }
    cells(t, "interrupts-extended", values, n);
}

static void one_interrupt(tree *t, const tl_device *device) {
    number(t, "interrupts", device->irq);
    number(t, "interrupt-parent", PHANDLE_PLIC);
}

static void clint(tree *t, const tl_board *board, const tl_device *device) {
    (void)device;
    STRINGS(t, "compatible", "sifive,clint0\0riscv,clint0");
    hart_interrupts(t, board, TL_IRQ_MSI, TL_IRQ_MTI);
}

static void plic(tree *t, const tl_board *board, const tl_device *device) {
    (void)device;
    STRINGS(t, "compatible", "sifive,plic-1.0.0\0riscv,plic0");
    hart_interrupts(t, board, TL_IRQ_MEI, TL_IRQ_SEI);
    flag(t, "interrupt-controller");
    number(t, "#interrupt-cells", 1);
    number(t, "#address-cells", 0);
    number(t, "riscv,ndev", TL_PLIC_SOURCES);
    number(t, "phandle", PHANDLE_PLIC);
}

static void uart(tree *t, const tl_board *board, const tl_device *device) {
    (void)board;
    text(t, "compatible", "ns16550a");
    number(t, "clock-frequency", 3686400);
    one_interrupt(t, device);
}

static void rtc(tree *t, const tl_board *board, const tl_device *device) {
    (void)board;
    text(t, "compatible", "google,goldfish-rtc");
    one_interrupt(t, device);
}

static void finisher(tree *t, const tl_board *board, const tl_device *device) {
    (void)board;
    (void)device;
    STRINGS(t, "compatible", "sifive,test1\0sifive,test0\0syscon");
    number(t, "phandle", PHANDLE_FINISHER);
}

static void virtio(tree *t, const tl_board *board, const tl_device *device) {
    (void)board;
    text(t, "compatible", "virtio,mmio");
    one_interrupt(t, device);
}

// Counters in a window. There is no interrupt: a PMU raises lines of harts. A node that is the
// cache's, too, has its geometry.
static void pmu_window(tree *t, const tl_board *board, const tl_device *device) {
    tl_pmu_node node = node_of(device);
    bytes(t, "compatible", node.compatible, node.compatible_bytes);
    if (node.is_l2_cache)
        l2_cache(t, board);
    for (uint32_t i = 0; i < node.n_numbers; i++)
        number(t, node.numbers[i].name, node.numbers[i].value);
}

// A region is a range of its own, so that drivers map it by itself.
static void read_window(tree *t, const tl_board *board, const tl_device *device) {
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
    cells(t, "reg", values, n);
    bytes(t, "reg-names", names, n_names);
    text(t, "compatible", window->compatible);
}

static const struct {
    const char *type, *node; // of the device; in the tree, NULL: as the PMU says
    void (*describe)(tree *t, const tl_board *board, const tl_device *device);
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

static void devices(tree *t, const tl_board *board) {
    begin(t, "soc");
    number(t, "#address-cells", 2);
    number(t, "#size-cells", 2);
    text(t, "compatible", "simple-bus");
    flag(t, "ranges");
    for (uint32_t i = 0; i < board->n_devices; i++)
        for (uint32_t k = 0; k < TL_COUNT_OF(rows); k++) {
            const tl_device *device = board->devices[i];
            if (strcmp(device->type->name, rows[k].type) != 0)
                continue;
            const char *name = rows[k].node ? rows[k].node : node_of(device).name;
            if (!name)
                continue;
            begin_at(t, name, device->base_paddr);
            if (rows[k].describe != read_window)
                reg(t, device->base_paddr, device->size_bytes);
            rows[k].describe(t, board, device);
            end(t);
        }
    end(t);
}

static void syscon(tree *t, const char *name, const char *compatible, uint32_t value) {
    begin(t, name);
    text(t, "compatible", compatible);
    number(t, "regmap", PHANDLE_FINISHER);
    number(t, "offset", 0);
    number(t, "value", value);
    end(t);
}

// -- The PMU.

// A property of n_rows rows of row_cells cells; NULL: no room for it, or no rows.
static fdt32_t *begin_rows(tree *t, const char *name, uint32_t n_rows, uint32_t row_cells) {
    void *place = NULL;
    if (n_rows > 0 && !t->error)
        note(t, fdt_property_placeholder(t->fdt, name, (int)(n_rows * row_cells * sizeof(fdt32_t)), &place));
    return t->error ? NULL : place;
}

static fdt32_t *put(fdt32_t *to, uint32_t value) { return *to = cpu_to_fdt32(value), to + 1; }
static fdt32_t *put64(fdt32_t *to, uint64_t value) { return put(put(to, (uint32_t)(value >> 32)), (uint32_t)value); }

static void harts_pmu(tree *t, const tl_pmu_tree *pmu) {
    begin(t, "pmu");
    text(t, "compatible", "riscv,pmu");
    fdt32_t *to = begin_rows(t, "riscv,event-to-mhpmevent", pmu->n_events, 3);
    for (uint32_t i = 0; to && i < pmu->n_events; i++)
        to = put64(put(to, pmu->events[i].event), pmu->events[i].selector);
    to = begin_rows(t, "riscv,event-to-mhpmcounters", pmu->n_counters, 3);
    for (uint32_t i = 0; to && i < pmu->n_counters; i++)
        to = put(put(put(to, pmu->counters[i].first_event), pmu->counters[i].last_event), pmu->counters[i].counters);
    to = begin_rows(t, "riscv,raw-event-to-mhpmcounters", pmu->n_raw, 5);
    for (uint32_t i = 0; to && i < pmu->n_raw; i++)
        to = put(put64(put64(to, pmu->raw[i].match), pmu->raw[i].mask), pmu->raw[i].counters);
    end(t);
}

// -- The whole.

// The seed of the kernel's random generator, equal in every run of a machine.
static void random_seed(tree *t, uint64_t seed) {
    uint8_t value[SEED_BYTES];
    for (uint32_t i = 0; i < SEED_BYTES; i += 8) { // splitmix64
        uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        memcpy(value + i, &z, 8);
    }
    bytes(t, "rng-seed", value, sizeof value);
}

static void chosen(tree *t, const tl_board *board, const char *append, tl_initrd_range initrd) {
    begin(t, "chosen");
    text(t, "bootargs", append ? append : "");
    text(t, "stdout-path", "/soc/serial@10000000");
    if (initrd.end > initrd.start) {
        number64(t, "linux,initrd-start", initrd.start);
        number64(t, "linux,initrd-end", initrd.end);
    }
    random_seed(t, board->machine->config.seed);
    end(t);
}

tl_status tl_board_device_tree(const tl_board *board, const char *append, tl_initrd_range initrd, uint8_t *ret_bytes, size_t size,
                               tl_error *err) {
    const tl_config *config = &board->machine->config;
    tree t = {.fdt = ret_bytes};
    note(&t, fdt_create(t.fdt, size > INT32_MAX ? INT32_MAX : (int)size));
    note(&t, t.error ? t.error : fdt_finish_reservemap(t.fdt));
    begin(&t, "");
    number(&t, "#address-cells", 2);
    number(&t, "#size-cells", 2);
    text(&t, "compatible", "riscv-virtio");
    text(&t, "model", "tally,virt");
    chosen(&t, board, append, initrd);
    begin_at(&t, "memory", TL_RAM_BASE_PADDR);
    text(&t, "device_type", "memory");
    reg(&t, TL_RAM_BASE_PADDR, config->ram_bytes);
    end(&t);
    harts(&t, board);
    devices(&t, board);
    syscon(&t, "poweroff", "syscon-poweroff", 0x5555);
    syscon(&t, "reboot", "syscon-reboot", 0x7777);
    if (board->pmu)
        harts_pmu(&t, board->pmu);
    end(&t);
    note(&t, t.error ? t.error : fdt_finish(t.fdt));
    if (t.error == -FDT_ERR_NOSPACE)
        return tl_fail(err, TL_EINVAL, "the device tree does not fit into %zu bytes; use a shorter kernel command line (it has %zu bytes)",
                       size, append ? strlen(append) : (size_t)0);
    if (t.error)
        return tl_fail(err, TL_EINVAL, "the device tree cannot be written: %s; this is a defect of tally, please report it",
                       fdt_strerror(t.error));
    return TL_OK;
}
