#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads with objdump all the host code that the translator made of a guest, and holds it to what it may be.

  check_emitted.py EMITTED_CODE ENGINE random SEED small|usual
  check_emitted.py EMITTED_CODE ENGINE guest HARTS PROGRAM [ARG...]

EMITTED_CODE is the program built from emitted_code.c. For each hart: every byte is an instruction that exists; those of the guest begin
where the front-end says; each direct jump and call leads to the beginning of an instruction of the same block, to a thunk, or, once linked, to the
entry of a block; what is called has the arguments it takes; calls through a register stand in the thunks only, and lead to the functions they are meant
for; nothing is written but what belongs to the hart; what was patched later is a link or the entry of a block that became stale. Exits 77 (skipped) where there is no
objdump or the host is not an x86-64.
"""
import os
import re
import subprocess
import sys
import tempfile

import host_code

CALLED_BY_THUNKS = {"tl_block_execute", "tl_block_stop_before", "enter_by_link", "enter_indirect", "enter_again", "enter_fetched", "enter_cold",
                    "enter_handler", "enter_returned", "execute_at", "line_lost_at"}
DIRECT = re.compile(r"^(jmp|call|j[a-z]+) 0x([0-9a-f]+)$")
CONSTANT = re.compile(r"^(?:mov|movabs) ([er][a-z0-9]+),0x([0-9a-f]+)$")
MEMORY = re.compile(r"\[(r[a-z0-9]+)(?:\+(r[a-z0-9]+)\*([1248]))?(?:([+-])0x([0-9a-f]+))?\]")
RIP = re.compile(r"\[rip # 0x([0-9a-f]+)\]")
MAX_BLOCK_BYTES = 130 # a line and an instruction that straddles into it
READS_FIRST = ("cmp", "test", "comis", "ucomis", "push", "call", "jmp", "bt ")
WIDE = {"eax": "rax", "ecx": "rcx", "edx": "rdx", "ebx": "rbx", "esp": "rsp"}


DEC_RBP = bytes((0x48, 0xFF, 0xCD))


class Wrong(Exception):
    pass


class Piece:
    def __init__(self, cells, code):
        self.is_cold = cells[0] == "cold"
        at, n_bytes, self.block, self.code, self.near, self.start, self.n_insns = (int(cell, 16) for cell in cells[1:8])
        self.is_stale, self.pc, self.pend = cells[8] == "1", int(cells[9], 16), int(cells[10], 16)
        self.begin = code + at
        self.end = self.begin + n_bytes
        self.lines = [self.begin + int(cell, 16) for cell in cells[11:]]


class Hart:
    def __init__(self, folder, number, symbols):
        self.thunks, self.cells, self.ranges, self.pieces, self.reaches = {}, [], {}, [], set()
        with open(f"{folder}/{number}.facts", encoding="ascii") as file:
            for line in file:
                self.take(line.split())
        self.symbols = symbols_at(symbols, *self.anchor)
        self.parts = {}
        for when in ("made", "final"):
            hot = host_code.disassemble(f"{folder}/{number}.{when}.hot", self.code)
            cold = host_code.disassemble(f"{folder}/{number}.{when}.cold", self.code + self.hot_bytes)
            self.parts[when] = {at: (length, text) for at, length, text in hot + cold}
        self.images = {}
        for when in ("made", "final"):
            for part, at in (("hot", self.code), ("cold", self.code + self.hot_bytes)):
                with open(f"{folder}/{number}.{when}.{part}", "rb") as file:
                    self.images[when, part] = (at, file.read())
        self.links = set()
        self.entries = {at for piece in self.pieces for at in (piece.code, piece.near)}

    def take(self, cells):
        if cells[0] == "anchor":
            self.anchor = cells[1], int(cells[2], 16)
        elif cells[0] == "code":
            self.code, self.code_bytes, self.hot_bytes, self.written = (int(cell, 16) for cell in cells[1:])
        elif cells[0] == "numbers":
            self.numbers = int(cells[1], 16)
        elif cells[0] == "thunk":
            self.thunks[cells[1]] = int(cells[2], 16)
        elif cells[0] == "cells":
            self.cells.append(int(cells[1], 16))
        elif cells[0] == "range":
            self.ranges[cells[1]] = (int(cells[2], 16), int(cells[2], 16) + int(cells[3], 16))
        elif cells[0] == "bias":
            self.bias = int(cells[1], 16)
        elif cells[0] == "memory":
            self.memory = int(cells[1], 16)
        elif cells[0] == "reach":
            self.reaches.add((int(cells[1], 16), int(cells[2], 16)))
        else:
            self.pieces.append(Piece(cells[1:], self.code))

    def range_of(self, address):
        for name, (begin, end) in self.ranges.items():
            if begin <= address < end:
                return name
        return None

    def bytes_at(self, when, at, n_bytes):
        for (image_when, _), (base, data) in self.images.items():
            if image_when == when and base <= at < base + len(data):
                return data[at - base:at - base + n_bytes]
        raise Wrong(f"{at:x} is outside the code")

    def instructions(self, begin, end, when="made"):
        """[(at, length, text)] that fill begin..end exactly."""
        found, at, code = [], begin, self.parts[when]
        while at < end:
            if at not in code:
                raise Wrong(f"{at:x}: no instruction begins here")
            length, text = code[at]
            if "(bad)" in text or "(" in text or text.startswith("."):
                raise Wrong(f"{at:x}: {text}")
            found.append((at, length, text))
            at += length
        if at != end:
            raise Wrong(f"{found[-1][0]:x}: {found[-1][2]} reaches beyond {end:x}")
        return found


def symbols_at(names, anchor, address):
    """{address: name} of the functions of the program, as it was loaded."""
    offset = address - next(at for name, at in names if name == anchor)
    return {at + offset: name for name, at in names}


def functions_of(program):
    """[(name, address)]; names of files of their own may come twice."""
    out = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    return [(cells[2], int(cells[0], 16)) for cells in (line.split() for line in out.splitlines()) if len(cells) == 3 and cells[1] in "tT"]


def constants_before(code, index):
    """What registers hold at code[index] by constants moved there, looking back as far as there are only such moves."""
    held = {}
    while index > 0:
        index -= 1
        match = CONSTANT.match(code[index][2])
        if not match and code[index][2] != "xor edx,edx":
            break
        if not match:
            held.setdefault("rdx", 0)
            continue
        held.setdefault(WIDE.get(match[1], match[1]), int(match[2], 16))
    return held


def check_thunks(hart):
    thunks = hart.bytes_at("made", hart.code, hart.numbers - hart.code).rstrip(b"\0") # the numbers are aligned
    code = hart.instructions(hart.code, hart.code + len(thunks))
    starts = {at for at, _, _ in code}
    for name, at in hart.thunks.items():
        if at not in starts:
            raise Wrong(f"the {name} thunk begins within an instruction")
    called, reaches = set(), set()
    for index, (at, _, text) in enumerate(code):
        direct = DIRECT.match(text)
        if direct and int(direct[2], 16) not in starts:
            raise Wrong(f"{at:x}: {text} leaves the thunks")
        if text == "call rax":
            name = hart.symbols.get(constants_before(code, index).get("rax"))
            if name not in CALLED_BY_THUNKS:
                raise Wrong(f"{at:x}: {name} is called")
            called.add(name)
        elif text.startswith("call QWORD PTR [rax"):
            port = MEMORY.search(code[index - 1][2])
            if not code[index - 1][2].startswith("mov rax,QWORD PTR [rbx"):
                raise Wrong(f"{at:x}: {text} is not through the port")
            reaches.add((int(port[5], 16) * (-1 if port[4] == "-" else 1) + hart.bias, int(MEMORY.search(text)[5], 16)))
        elif text.startswith("call") and not direct and text != "call rcx":
            raise Wrong(f"{at:x}: {text}")
    if called != CALLED_BY_THUNKS:
        raise Wrong(f"the thunks call only {sorted(called)}")
    if reaches != hart.reaches:
        raise Wrong(f"the thunks go through {sorted(reaches)} of the port")


def check_call(hart, piece, code, index, name):
    """The arguments of a thunk: translator.h."""
    at, _, text = code[index]
    held = constants_before(code, index)

    def need(register, is_right, what):
        if register not in held or not is_right(held[register]):
            raise Wrong(f"{at:x}: {text} ({name}) without {what} in {register}")

    is_own = piece.block.__eq__
    if name in ("slow", "stop", "trap", "trap_return"):
        need("rax", is_own, "the block")
        need("rdx", lambda k: k < piece.n_insns, "an instruction of it")
    elif name == "body":
        need("rcx", lambda f: hart.symbols.get(f, "").startswith("call_"), "a body")
    elif name == "call":
        if hart.symbols.get(held.get("rcx"), "").startswith("reserve_"):
            if code[index - 2][2] != "mov rdx,rax":
                raise Wrong(f"{at:x}: {text} ({name}) without the address in rdx")
        else:
            need("rdx", is_own, "the block")
        need("rcx", lambda f: f in hart.symbols, "a function")
    elif name == "link":
        need("rcx", is_own, "the block")
        need("rdx", lambda site: True, "a place to patch")
    elif name == "ecall":
        need("rcx", lambda pc: piece.pc <= pc < piece.pc + MAX_BLOCK_BYTES, "the pc of the call")
    elif name in ("indirect", "sret"):
        need("rdx", piece.pend.__eq__, "what is in flight")
    elif name.startswith(("register", "return")):
        need("rdx", piece.pend.__eq__, "what is in flight")
        if name.startswith("register"):
            need("rcx", lambda pc: piece.pc <= pc < piece.pc + MAX_BLOCK_BYTES, "the pc of the jump")
        if code[index + 1][2] != "jmp rcx":
            raise Wrong(f"{at:x}: {text} ({name}) is not followed by the jump")
    elif name in ("reach_load", "reach_store"):
        need("rdx", lambda offset: hart.memory + offset == piece.block, "the block")
        need("rcx", lambda word: word & 7 in (0, 1, 3, 7) and (word >> 3 & 0x7f) < piece.n_insns, "a size and an instruction of it")
        if [text.split(" ")[0] for _, _, text in code[index + 1:index + 3]] != ["jmp", "jmp"]: # back, or behind the instruction
            raise Wrong(f"{at:x}: {text} ({name}) is not followed by two jumps")
    elif name in ("jump", "jump_link", "taken"):
        if not code[index - 1][2].startswith("lea rdx,[rcx"):
            raise Wrong(f"{at:x}: {text} ({name}) without the target in rdx")
    elif name in ("again", "fetch"):
        need("rax", is_own, "the block")
        if name == "fetch":
            need("rdx", piece.pc.__eq__, "its pc")
            if code[index + 1][2] != f"jmp 0x{piece.start:x}":
                raise Wrong(f"{at:x}: {text} ({name}) is not followed by the jump to the block behind its look-up")


BY_VIEW = {f"{name}_{view}" for name in ("register", "register_link", "return") for view in "usm"}
KINDS = {"call": {"slow", "body", "call", "unwatched", "fetch", "reach_load", "reach_store", "jump", "jump_link", "not_taken", "taken"} | BY_VIEW,
         "jmp": {"stop", "link", "indirect", "again", "trap", "trap_return", "ecall", "sret"}}


def check_operands(hart, piece, at, text, base_of_cells):
    rip = RIP.search(text)
    if rip:
        address = int(rip[1], 16)
        if text.startswith("paddq"):
            if address != hart.numbers + 16 * piece.n_insns:
                raise Wrong(f"{at:x}: {text} is not the number of the block's instructions")
        elif hart.range_of(address) is None:
            raise Wrong(f"{at:x}: {text} reaches nothing of the hart's")
    memory = MEMORY.search(text)
    if memory and memory[1] == "rbx":
        disp = int(memory[5] or "0", 16) * (-1 if memory[4] == "-" else 1)
        address = hart.ranges["hart"][0] + hart.bias + disp
        # An index spares a constant: what lies at the sum is in the range that the beginning is in.
        if not memory[2] and hart.range_of(address) is None:
            raise Wrong(f"{at:x}: {text} reaches nothing of the hart's")
    operation, _, operands = text.partition(" ")
    first = operands.split(",")[0]
    if WIDE.get(first, first) in ("rbx", "rsp") and not operation.startswith(READS_FIRST):
        raise Wrong(f"{at:x}: {text} changes {first}")
    if operation == "jmp":
        if not memory:
            raise Wrong(f"{at:x}: {text}")
        disp = int(memory[5] or "0", 16) * (-1 if memory[4] == "-" else 1)
        cells = {hart.ranges["hart"][0] + hart.bias + disp} if memory[1] == "rbx" else {c + disp for c in base_of_cells}
        if not cells & set(hart.cells):
            raise Wrong(f"{at:x}: {text} does not jump through the cache of jumps")


def check_block(hart, hot, cold):
    code = {piece: hart.instructions(piece.begin, piece.end) for piece in (hot, cold)}
    own = {at for part in code.values() for at, _, _ in part}
    for at in hot.lines + [hot.code, hot.near, hot.start]:
        if at not in own:
            raise Wrong(f"{at:x}: an instruction of the guest, or an entry, begins within one of the host")
    thunk_at = {at: name for name, at in hart.thunks.items()}
    n_links = 0
    for part in code.values():
        constants = set()
        for index, (at, length, text) in enumerate(part):
            match = CONSTANT.match(text)
            if match:
                constants.add(int(match[2], 16))
            direct = DIRECT.match(text)
            if not direct:
                if text.startswith("call") or text.startswith("ret") or text == "hlt" or text.startswith(("syscall", "int", "ud2")):
                    raise Wrong(f"{at:x}: {text}")
                if text == "jmp rcx" and thunk_at.get(int(part[index - 1][2].rpartition("0x")[2], 16)) in BY_VIEW:
                    continue
                if text == "jmp rdx" and part[index - 2][2].startswith("mov rdx,QWORD PTR ["): # rax had to be put in order in between
                    text = part[index - 2][2].replace("mov rdx,", "jmp ")
                check_operands(hart, hot, at, text, constants)
                continue
            kind, target = direct[1], int(direct[2], 16)
            if target in own and kind != "call":
                continue
            name = thunk_at.get(target)
            if name not in KINDS.get(kind, ()):
                raise Wrong(f"{at:x}: {text} leads to {name or 'nowhere'}")
            check_call(hart, hot, part, index, name)
            if name == "link":
                site = constants_before(part, index)["rdx"]
                offset = site - hart.written + hart.code # patched through the other mapping
                if hart.parts["made"].get(offset - 1, (0, ""))[1].split(" ")[0] != "jmp" or offset - 1 not in own:
                    raise Wrong(f"{at:x}: the link at {offset:x} is no jump of the block")
                hart.links.add(offset)
                n_links += 1
    return n_links


def check_patches(hart):
    """Bytes that differ from those that were made: displacements of links, and entries of stale blocks."""
    overwritten = {}
    for piece in hart.pieces:
        if piece.is_stale and not piece.is_cold:
            overwritten[piece.code] = piece
            if piece.near == piece.start: # else it falls into `code`
                overwritten[piece.near] = piece
    n_linked = 0
    allowed = set()
    for site in hart.links:
        allowed.update(range(site, site + 4))
        at = site - 1
        code = hart.bytes_at("final", at, 5) # the disassembler may be out of step behind the entry of a stale block
        if code == hart.bytes_at("made", at, 5):
            continue
        if any(begin <= at < begin + 18 for begin in overwritten):
            continue
        if code[0] != 0xE9 or at + 5 + int.from_bytes(code[1:], "little", signed=True) not in hart.entries:
            raise Wrong(f"{at:x}: {code.hex()}: a link that leads to no entry")
        n_linked += 1
    for at, piece in overwritten.items():
        first = at
        if at == piece.near:
            if hart.bytes_at("final", at, 3) != DEC_RBP:
                raise Wrong(f"{at:x}: the near entry of a stale block keeps the look-up that its link has counted")
            at += 3
        code = hart.bytes_at("final", at, 15)
        end = at + {0xB8: 5}.get(code[0], 10 if code[1] == 0xB8 else 7)
        value = int.from_bytes(code[end - at - (8 if end - at == 10 else 4):end - at], "little")
        target = end + 5 + int.from_bytes(code[end - at + 1:end - at + 5], "little", signed=True)
        if value != piece.block or code[end - at] != 0xE9 or target != hart.thunks["again"]:
            raise Wrong(f"{at:x}: the entry of a stale block does not ask again: {code.hex()}")
        allowed.update(range(first, end + 5))
    n_different = 0
    for part in ("hot", "cold"):
        base, made = hart.images["made", part]
        final = hart.images["final", part][1]
        for offset, (a, b) in enumerate(zip(made, final)):
            if a != b and base + offset not in allowed:
                raise Wrong(f"{base + offset:x}: {a:02x} became {b:02x}, and no link or entry is there")
            n_different += a != b
    return n_linked, len(overwritten), n_different


def check_hart(folder, number, symbols):
    hart = Hart(folder, number, symbols)
    check_thunks(hart)
    by_block = {}
    for piece in hart.pieces:
        by_block.setdefault(piece.block, {})[piece.is_cold] = piece
    n_links = 0
    for parts in by_block.values():
        n_links += check_block(hart, parts[False], parts[True])
    ends = sorted((piece.begin, piece.end) for piece in hart.pieces)
    for (_, end), (begin, _) in zip(ends, ends[1:]):
        if begin < end:
            raise Wrong(f"{begin:x}: two pieces of code lie over each other")
    if not (hart.code <= ends[0][0] and ends[-1][1] <= hart.code + hart.code_bytes):
        raise Wrong("code lies outside its memory")
    n_linked, n_overwritten, n_different = check_patches(hart)
    print(f"hart {number}: {len(by_block)} blocks, {len(hart.parts['made'])} instructions, {n_linked} of {n_links} links made, "
          f"{n_overwritten} entries overwritten, {n_different} bytes patched")
    return len(by_block), n_linked, n_overwritten


def main():
    program, mode = sys.argv[1], sys.argv[3]
    if not host_code.is_there():
        print("skipped: no objdump")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        status = subprocess.run([program, folder] + sys.argv[2:], check=False).returncode
        if status != 0:
            print(f"{program} ended with {status}")
            return 77 if status == 77 else 1
        symbols = functions_of(program)
        seen = []
        for number in sorted(int(name.split(".")[0]) for name in os.listdir(folder) if name.endswith(".facts")):
            try:
                seen.append(check_hart(folder, number, symbols))
            except Wrong as wrong:
                print(f"hart {number}: {wrong}")
                return 1
    # A check of nothing proves nothing.
    if seen[0][0] < 200 or seen[0][1] < 50 or mode == "random" and seen[0][2] < 10:
        print("too little code was made")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
