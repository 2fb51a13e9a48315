// SPDX-License-Identifier: MIT
// Finding the debug, CTI and PMU blocks of a core. No address is guessed beyond what a parameter,
// the device tree or a ROM table says, because an access of a block without power may never end.
#include <linux/io.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/printk.h>
#include <linux/smp.h>

#include <asm/cputype.h>

#include "host.h"
#include "registers.h"

static const char *const names[XCM_N_BLOCKS] = {"debug", "cti", "pmu"};
static const u32 types[XCM_N_BLOCKS] = {0x15, 0x14, 0x16};

static phys_addr_t address_in_tree(int cpu, const char *compatible) {
    struct device_node *node, *core;
    struct resource resource;
    phys_addr_t found = 0;

    for_each_compatible_node(node, NULL, compatible) {
        core = of_parse_phandle(node, "cpu", 0);
        if (!core)
            continue;
        if (!found && of_cpu_node_to_id(core) == cpu && of_address_to_resource(node, 0, &resource) == 0)
            found = resource.start;
        of_node_put(core);
    }
    return found;
}

// An entry of a ROM table (DDI 0314, 10): a distance in pages, and whether the component is there.
enum { ROM_PRESENT = 1, ROM_ENTRIES = 960, ROM_NEXT = 4 };

static int walk_rom(u64 mpidr, phys_addr_t rom, struct xcm_blocks *blocks) {
    void __iomem *table = ioremap(rom, 0x1000);
    int i, block;

    if (!table)
        return -ENOMEM;
    for (i = 0; i < ROM_ENTRIES; i++) {
        const u32 entry = readl(table + ROM_NEXT * i);
        const phys_addr_t at = rom + (s32)(entry & 0xfffff000);
        void __iomem *component;

        if (entry == 0)
            break;
        if (!(entry & ROM_PRESENT))
            continue;
        component = ioremap(at, 0x1000);
        if (!component)
            continue;
        for (block = 0; block < XCM_N_BLOCKS; block++)
            if (blocks->base[block] == 0 && (readl(component + DEVTYPE) & 0xff) == types[block] && readl(component + DEVAFF0) == (u32)mpidr)
                blocks->base[block] = at;
        iounmap(component);
    }
    iounmap(table);
    return 0;
}

int xcm_find_blocks(int cpu, u64 mpidr, phys_addr_t rom, struct xcm_blocks *blocks) {
    phys_addr_t debug;
    int block, error;

    if (blocks->base[XCM_DBG] == 0)
        blocks->base[XCM_DBG] = address_in_tree(cpu, "arm,coresight-cpu-debug");
    if (blocks->base[XCM_CTI] == 0)
        blocks->base[XCM_CTI] = address_in_tree(cpu, "arm,coresight-cti");
    if (rom != 0) {
        error = walk_rom(mpidr, rom, blocks);
        if (error)
            return error;
    }
    // A PMU without a node of its own is found by the debug block. A53 places it behind debug and
    // CTI (DDI 0500, table 11-30); its identification is checked at attach.
    debug = blocks->base[XCM_DBG];
    if (blocks->base[XCM_PMU] == 0 && debug != 0 && blocks->base[XCM_CTI] == debug + 0x10000)
        blocks->base[XCM_PMU] = debug + 0x20000;
    for (block = 0; block < XCM_N_BLOCKS; block++) {
        if (blocks->base[block] != 0)
            continue;
        pr_err("xcm: no %s block of core %d: parameter %s_base, rom or a device tree node must say where it is\n", names[block], cpu,
               names[block]);
        return -ENXIO;
    }
    return 0;
}

static void read_affinity(void *to) { *(u64 *)to = read_cpuid_mpidr(); }

int xcm_affinity_of(int cpu, u64 *ret_mpidr) { return smp_call_function_single(cpu, read_affinity, ret_mpidr, 1); }

int xcm_verify_blocks(u64 mpidr, void __iomem *const windows[XCM_N_BLOCKS], const struct xcm_blocks *blocks) {
    static const u8 cidr[] = {0x0d, 0x90, 0x05, 0xb1};
    int block, i;

    for (block = 0; block < XCM_N_BLOCKS; block++) {
        const u32 type = readl(windows[block] + DEVTYPE) & 0xff;
        bool is_component = true;

        for (i = 0; i < ARRAY_SIZE(cidr); i++)
            is_component &= (readl(windows[block] + CIDR0 + 4 * i) & 0xff) == cidr[i];
        if (!is_component || type != types[block]) {
            pr_err("xcm: there is no %s block at %pa\n", names[block], &blocks->base[block]);
            return -ENODEV;
        }
        if (readl(windows[block] + DEVAFF0) != (u32)mpidr || readl(windows[block] + DEVAFF1) != (u32)(mpidr >> 32)) {
            pr_err("xcm: the %s block at %pa is another core's\n", names[block], &blocks->base[block]);
            return -ENODEV;
        }
    }
    return 0;
}
