#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Our device trees as dtc reads them, beside those of QEMU's virt boards.

  tree_qemu.py DUMP_TREE ISA

dtc must find nothing to say about ours. Every device that both have must stand at the same node with the same address, interrupt and
compatible strings, because the same firmware and kernels run on both. Exits 77 (skipped) where dtc or QEMU is missing.
"""
import re
import shutil
import subprocess
import sys
import tempfile

BOARDS = {
    "riscv64": {
        "qemu": ["qemu-system-riscv64", "-M", "virt"],
        "package": "qemu-system-misc",
        "wanted": r"^/(cpus|memory|chosen|soc|reboot|poweroff)",
        "unwanted": "pci",
    },
    # RAM stands elsewhere, which moves its node. QEMU's cluster lies in a socket. Message interrupts, the flash and 24 slots of virtio
    # are not on our board.
    "aarch64": {
        "qemu": ["qemu-system-aarch64", "-M", "virt,gic-version=2", "-cpu", "cortex-a53", "-nic", "none"],
        "package": "qemu-system-arm",
        "wanted": r"^/(cpus(?!/cpu-map)|chosen|psci|timer|intc|pl011|pl031|apb-pclk|virtio_mmio@a000[02468ace]00$)",
        "unwanted": "v2m",
    },
}
# Properties that must be the same wherever both trees have the node.
SAME = ["compatible", "#address-cells", "#size-cells", "#interrupt-cells", "device_type", "mmu-type", "timebase-frequency", "stdout-path",
        "clock-frequency", "value", "offset", "interrupts", "reg", "ranges", "interrupt-controller", "enable-method", "cpu_on", "cpu_off",
        "cpu_suspend", "migrate", "always-on", "clock-names", "#clock-cells", "clock-output-names", "dma-coherent"]
# Where we differ on purpose: dtc wants #address-cells in every interrupt controller.
DIFFERENT = re.compile(r"^/cpus/cpu@\d+/interrupt-controller #address-cells$")


def dts_of(dtb):
    out = subprocess.run(["dtc", "-I", "dtb", "-O", "dts", dtb], check=True, capture_output=True, text=True)
    return out.stdout, [line for line in out.stderr.splitlines() if line.strip()]


def parse(text):
    """Nodes by path, each a dict of properties as dtc prints them."""
    nodes, path = {}, []
    for line in text.splitlines():
        line = line.strip()
        if line.endswith("{"):
            path.append(line[:-1].strip())
            nodes["/" + "/".join(path[1:])] = {}
        elif line.startswith("}"):
            path.pop()
        elif path and line.endswith(";"):
            name, _, value = line[:-1].partition(" = ")
            nodes["/" + "/".join(path[1:])][name] = value
    return nodes


def phandles(nodes):
    return {node["phandle"].strip("<>"): path for path, node in nodes.items() if "phandle" in node}


def resolved(nodes, value):
    """Interrupts of harts, with the phandles as paths: pairs of (controller, number)."""
    words, names = value.strip("<>").split(), phandles(nodes)
    return sorted((names[words[i]], int(words[i + 1], 0)) for i in range(0, len(words), 2))


def led_to(nodes, value):
    return [phandles(nodes)[word] for word in value.strip("<>").split()]


def compare(ours, theirs):
    for path in sorted(set(ours) & set(theirs)):
        mine, other = ours[path], theirs[path]
        for name in SAME:
            if mine.get(name) != other.get(name) and not DIFFERENT.match(f"{path} {name}"):
                yield f"{path}: {name} is {mine.get(name)}, QEMU has {other.get(name)}"
        if "interrupts-extended" in mine and resolved(ours, mine["interrupts-extended"]) != resolved(theirs, other["interrupts-extended"]):
            yield f"{path}: interrupts-extended differs"
        for name in ("interrupt-parent", "regmap", "cpu", "clocks"):
            if name in mine and led_to(ours, mine[name]) != led_to(theirs, other[name]):
                yield f"{path}: {name} leads to another node"


# What Linux's stock drivers of debug components ask for, at the addresses of docs/aarch64-debug.md. QEMU has none.
CORESIGHT = [("cpu-debug", 0x10000, r'"arm,coresight-cpu-debug\0arm,primecell"'),
             ("cti", 0x20000, r'"arm,coresight-cti-v8-arch\0arm,coresight-cti\0arm,primecell"')]


def check_debug(ours, harts):
    """A node for each component of each hart, which leads to the hart and to a fixed clock."""
    wanted = {}
    for hart in range(harts):
        for name, distance, compatible in CORESIGHT:
            address = 0xB000000 + 0x100000 * hart + distance
            wanted[f"/{name}@{address:x}"] = (compatible, address, f"/cpus/cpu@{hart}")
    found = {path for path in ours if re.match(r"/(cpu-debug|cti)@", path)}
    if found != set(wanted):
        yield f"{harts} harts: debug components are {sorted(found)}"
        return
    for path, (compatible, address, cpu) in wanted.items():
        node = ours[path]
        if (node["compatible"], [int(word, 0) for word in node["reg"].strip("<>").split()]) != (compatible, [0, address, 0, 0x1000]):
            yield f"{path}: compatible and reg are {node['compatible']}, {node['reg']}"
        if led_to(ours, node["cpu"]) != [cpu] or led_to(ours, node["clocks"]) != ["/apb-pclk"] or node["clock-names"] != '"apb_pclk"':
            yield f"{path}: hart or clock differ"


def main():
    dump, isa = sys.argv[1:3]
    board = BOARDS[isa]
    qemu = board["qemu"]
    if not shutil.which("dtc") or not shutil.which(qemu[0]):
        print(f"dtc or {qemu[0]} is missing: install device-tree-compiler and {board['package']}")
        return 77
    problems, n_nodes = [], 0
    for harts, ram_mib in ((1, 128), (2, 512), (8, 3072)):
        with tempfile.TemporaryDirectory() as folder:
            mine, other = folder + "/tally.dtb", folder + "/qemu.dtb"
            subprocess.run([dump, isa, mine, str(harts), str(ram_mib)], check=True)
            subprocess.run([*qemu[:2], qemu[2] + f",dumpdtb={other}", *qemu[3:], "-smp", str(harts), "-m", str(ram_mib), "-display", "none"],
                           check=True, capture_output=True, timeout=60)
            text, warnings = dts_of(mine)
            problems += [f"dtc: {line}" for line in warnings]
            ours, theirs = parse(text), parse(dts_of(other)[0])
            wanted = {path for path, node in theirs.items()
                      if re.match(board["wanted"], path) and board["unwanted"] not in path}
            problems += [f"{harts} harts: {path} is missing" for path in sorted(wanted - set(ours))]
            problems += [f"{harts} harts: {line}" for line in compare(ours, theirs)]
            problems += check_debug(ours, harts if isa == "aarch64" else 0)
            n_nodes += len(set(ours) & set(theirs))
    print("\n".join(problems) or f"{n_nodes} nodes agree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
