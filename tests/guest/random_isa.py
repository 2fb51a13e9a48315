#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a program of random RISC-V instruction streams, as assembler source on standard output.

  random_isa.py --seed 1 --streams 200 --length 80 [--mix int,mul,bit,fp,mem,amo,flow,csr] >random.S
  riscv64-linux-gnu-gcc -march=rv64gc_zba_zbb_zbs -nostdlib -static random.S -o random

Each stream starts with random registers and scratch memory, runs straight through (branches go forward, loops are
counted), and prints all integer and floating point registers, fcsr and a hash of the scratch memory. The program needs
two system calls, write and exit. Two machines agree when the outputs agree; a different line names stream and register,
and `grep -n stream_N:` in the source shows what ran. The same arguments give the same program on every machine.
"""
import argparse
import random

# Fixed roles; everything else is fair game. s0 points to the middle of the scratch memory, sp to somewhere in it,
# gp to the runtime's save area, t6 counts loops.
RESERVED = {"zero", "sp", "gp", "s0", "t6"}
X = ["zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"]
X += ["s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"]
F = [f"f{i}" for i in range(32)]
FREE = [x for x in X if x not in RESERVED]
SHORT = ["s1", "a0", "a1", "a2", "a3", "a4", "a5"]  # what compressed forms can name, less s0
SCRATCH_BYTES = 8192

INT_RR = "add sub sll slt sltu xor srl sra or and addw subw sllw srlw sraw".split()
INT_RI = "addi slti sltiu xori ori andi addiw".split()
SHIFT64, SHIFT32 = "slli srli srai".split(), "slliw srliw sraiw".split()
MUL = "mul mulh mulhsu mulhu div divu rem remu mulw divw divuw remw remuw".split()
BIT_RR = "add.uw sh1add sh1add.uw sh2add sh2add.uw sh3add sh3add.uw andn orn xnor max maxu min minu rol rolw ror rorw".split()
BIT_RR += "bclr bext binv bset".split()
BIT_R = "clz clzw ctz ctzw cpop cpopw sext.b sext.h zext.h orc.b rev8".split()
BIT_RI64, BIT_RI32 = "slli.uw rori bclri bexti binvi bseti".split(), ["roriw"]
MODES = ["rne", "rtz", "rdn", "rup", "rmm", "dyn"]
LOADS = {"lb": 1, "lbu": 1, "lh": 2, "lhu": 2, "lw": 4, "lwu": 4, "ld": 8}
STORES = {"sb": 1, "sh": 2, "sw": 4, "sd": 8}
AMOS = "amoswap amoadd amoand amoor amoxor amomin amomax amominu amomaxu".split()
SPECIAL_X = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 2**63 - 1, 2**63, 2**64 - 1]
SPECIAL_S = [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x3FC00000, 0x4B7FFFFF, 0x4F000000, 0x5F000000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x7F800001]
SPECIAL_D = [0, 1, 0xFFFFFFFFFFFFF, 0x10000000000000, 0x3FF0000000000000, 0x3FF8000000000000, 0x41E0000000000000, 0x43E0000000000000]
SPECIAL_D += [0x47EFFFFFE0000000, 0x380FFFFFE0000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001]


class Stream:
    def __init__(self, rng, number, mix):
        self.rng, self.number, self.lines, self.labels = rng, number, [], 0
        self.kinds = [kind for kind in mix for _ in range(WEIGHTS[kind])]

    # -- operands --
    def source(self):
        return self.rng.choice(X)

    def target(self):
        return "zero" if self.rng.random() < 0.03 else self.rng.choice(FREE)

    def integer(self):
        pick = self.rng.random()
        if pick < 0.4:
            return (self.rng.choice(SPECIAL_X) + self.rng.choice((0, 0, 1, -1))) % 2**64
        return self.rng.getrandbits(64) >> self.rng.choice((0, 0, 8, 32, 33, 56))

    def fraction_pattern(self, bits):
        value = self.rng.getrandbits(bits)
        if self.rng.random() < 0.5:  # long runs of equal bits: what rounding finds hard
            value = (1 << self.rng.randrange(bits + 1)) - (1 << self.rng.randrange(bits + 1))
        return value % (1 << bits)

    def float_image(self):
        sign, pick = self.rng.getrandbits(1), self.rng.random()
        if pick < 0.45:  # double, exponent near one so that operations interact
            if self.rng.random() < 0.3:
                return self.rng.choice(SPECIAL_D) ^ sign << 63
            return sign << 63 | self.rng.choice((1023, 1023, 1023, 60, 2040)) + self.rng.randint(-5, 5) << 52 | self.fraction_pattern(52)
        if pick < 0.95:
            single = self.rng.choice(SPECIAL_S)
            if self.rng.random() >= 0.3:
                single = self.rng.choice((127, 127, 127, 30, 250)) + self.rng.randint(-4, 4) << 23 | self.fraction_pattern(23)
            return 0xFFFFFFFF00000000 | sign << 31 | single
        return self.rng.getrandbits(64)  # a single that is not boxed

    def emit(self, text):
        self.lines.append("    " + text)

    # -- one instruction (or a short idiom) of each kind --
    def make_int(self):
        rng, rd, a, b = self.rng, self.target(), self.source(), self.source()
        pick = rng.random()
        if pick < 0.40:
            self.emit(f"{rng.choice(INT_RR)} {rd}, {a}, {b}")
        elif pick < 0.60:
            self.emit(f"{rng.choice(INT_RI)} {rd}, {a}, {rng.choice((-2048, -1, 0, 1, 2047, rng.randint(-2048, 2047)))}")
        elif pick < 0.75:
            self.emit(f"{rng.choice(SHIFT64)} {rd}, {a}, {rng.randrange(64)}")
        elif pick < 0.82:
            self.emit(f"{rng.choice(SHIFT32)} {rd}, {a}, {rng.randrange(32)}")
        elif pick < 0.88:
            self.emit(f"{rng.choice(('lui', 'auipc'))} {rng.choice(FREE)}, {rng.randrange(1 << 20)}")
        elif pick < 0.94:
            self.emit(f"li {rng.choice(FREE)}, {self.integer():#x}")
        else:  # two-operand forms that compress
            rd = rng.choice(SHORT)
            op = rng.choice(("c.add", "c.sub", "c.xor", "c.or", "c.and", "c.addw", "c.subw", "c.mv"))
            self.emit(f"{op} {rd}, {rng.choice(SHORT)}")

    def make_mul(self):
        self.emit(f"{self.rng.choice(MUL)} {self.target()}, {self.source()}, {self.source()}")

    def make_bit(self):
        rng, rd, a = self.rng, self.target(), self.source()
        pick = rng.random()
        if pick < 0.5:
            self.emit(f"{rng.choice(BIT_RR)} {rd}, {a}, {self.source()}")
        elif pick < 0.75:
            op = rng.choice(BIT_R)
            if op == "ctzw":  # qemu 7.2 looks at the upper half when the lower is zero
                self.emit(f"sext.w {rd}, {a}")
                a = rd
            self.emit(f"{op} {rd}, {a}")
        elif pick < 0.95:
            self.emit(f"{rng.choice(BIT_RI64)} {rd}, {a}, {rng.randrange(64)}")
        else:
            self.emit(f"{rng.choice(BIT_RI32)} {rd}, {a}, {rng.randrange(32)}")

    def make_fp(self):
        rng, w, rm = self.rng, self.rng.choice("sd"), self.rng.choice(MODES)
        fd, a, b, c = (rng.choice(F) for _ in range(4))
        pick = rng.random()
        if pick < 0.30:
            self.emit(f"{rng.choice(('fadd', 'fsub', 'fmul', 'fdiv'))}.{w} {fd}, {a}, {b}, {rm}")
        elif pick < 0.45:
            self.emit(f"{rng.choice(('fmadd', 'fmsub', 'fnmadd', 'fnmsub'))}.{w} {fd}, {a}, {b}, {c}, {rm}")
        elif pick < 0.50:
            self.emit(f"fsqrt.{w} {fd}, {a}, {rm}")
        elif pick < 0.58:
            self.emit(f"{rng.choice(('fsgnj', 'fsgnjn', 'fsgnjx', 'fmin', 'fmax'))}.{w} {fd}, {a}, {b}")
        elif pick < 0.65:
            self.emit(f"{rng.choice(('feq', 'flt', 'fle'))}.{w} {self.target()}, {a}, {b}")
        elif pick < 0.68:
            self.emit(f"fclass.{w} {self.target()}, {a}")
        elif pick < 0.74:
            self.emit(f"fcvt.{rng.choice(('w', 'wu', 'l', 'lu'))}.{w} {self.target()}, {a}, {rm}")
        elif pick < 0.80:
            kind = rng.choice(("w", "wu", "l", "lu"))
            self.emit(f"fcvt.{w}.{kind} {fd}, {self.source()}" + ("" if w == "d" and kind[0] == "w" else f", {rm}"))
        elif pick < 0.84:
            self.emit(f"fcvt.s.d {fd}, {a}, {rm}" if w == "s" else f"fcvt.d.s {fd}, {a}")
        elif pick < 0.88:
            self.emit(rng.choice((f"fmv.x.w {self.target()}, {a}", f"fmv.x.d {self.target()}, {a}", f"fmv.w.x {fd}, {self.source()}", f"fmv.d.x {fd}, {self.source()}")))
        else:  # fresh operands, or everything ends as NaN
            temporary = rng.choice(FREE)
            self.emit(f"li {temporary}, {self.float_image():#x}")
            self.emit(f"fmv.d.x {fd}, {temporary}")

    def address(self, width):
        """An operand OFFSET(BASE) inside the scratch memory, mostly aligned; s0 is its middle, a page border."""
        rng, base = self.rng, self.rng.choice(("s0", "s0", "s0", "sp"))
        offset = rng.choice((rng.randint(-64, 64), rng.randint(-2048, 2047), rng.randrange(256)))
        if base == "sp":
            offset = rng.randrange(504)
        if rng.random() < 0.75:
            offset &= -width
        return f"{max(-2048, offset)}({base})"

    def make_mem(self):
        rng, pick = self.rng, self.rng.random()
        if pick < 0.4:
            op = rng.choice(list(LOADS))
            self.emit(f"{op} {self.target()}, {self.address(LOADS[op])}")
        elif pick < 0.75:
            op = rng.choice(list(STORES))
            self.emit(f"{op} {self.source()}, {self.address(STORES[op])}")
        elif pick < 0.95:
            op = rng.choice(("flw", "fld", "fsw", "fsd"))
            self.emit(f"{op} {rng.choice(F)}, {self.address(4 if op[2] == 'w' else 8)}")
        else:
            self.emit(rng.choice(("fence", "fence rw, w", "fence.i", "fence.tso")))

    def make_amo(self):
        rng, width = self.rng, self.rng.choice("wd")
        at, old, failed = rng.sample(FREE, 3)
        order = rng.choice(("", "", ".aq", ".rl", ".aqrl"))
        offset = rng.randint(-2048, 2040) & (-4 if width == "w" else -8)
        self.emit(f"addi {at}, s0, {offset}")
        if rng.random() < 0.7:
            self.emit(f"{rng.choice(AMOS)}.{width}{order} {rng.choice((old, at, 'zero'))}, {self.source()}, ({at})")
        else:
            label = f"retry_{self.number}_{self.labels}"  # a page fault in between may cost the reservation
            self.labels += 1
            self.lines.append(label + ":")
            self.emit(f"lr.{width}{order if order != '.rl' else ''} {old}, ({at})")
            self.emit(f"addi {old}, {old}, {rng.randint(-9, 9)}")
            self.emit(f"sc.{width}{order if order != '.aq' else ''} {failed}, {old}, ({at})")
            self.emit(f"bnez {failed}, {label}")

    def make_csr(self):
        rng, rd = self.rng, self.target()
        self.emit(
            rng.choice(
                (
                    f"csrrwi {rd}, frm, {rng.randrange(5)}",  # an invalid mode would make dynamic rounding illegal
                    f"csrrw {rd}, fflags, {self.source()}",
                    f"csrrs {rd}, fflags, {self.source()}",
                    f"csrrc {rd}, fflags, {self.source()}",
                    f"csrrsi {rd}, fflags, {rng.randrange(32)}",
                    f"csrrci {rd}, fflags, {rng.randrange(32)}",
                    f"csrrs {rd}, fcsr, zero",
                )
            )
        )

    def make_flow(self):
        rng, label, pick = self.rng, f"{self.number}_{self.labels}", self.rng.random()
        self.labels += 1
        simple = [kind for kind in self.kinds if kind != "flow"] or ["int"]
        if pick < 0.65:
            op = rng.choice(("beq", "bne", "blt", "bge", "bltu", "bgeu"))
            self.emit(f"{op} {self.source()}, {rng.choice((self.source(), 'zero'))}, skip_{label}")
        elif pick < 0.75:
            self.emit(f"jal {rng.choice(FREE)}, skip_{label}")
        elif pick < 0.85:
            register = rng.choice(FREE)
            self.emit(f"lla {register}, skip_{label}")
            self.emit(f"jalr {rng.choice(('zero', register, rng.choice(FREE)))}, 0({register})")
        else:  # a counted loop: the same instructions again, with changing data
            self.emit(f"li t6, {rng.randint(2, 20)}")
            self.lines.append(f"loop_{label}:")
            for _ in range(rng.randint(1, 6)):
                self.make(rng.choice(simple))
            self.emit("addi t6, t6, -1")
            self.emit(f"bnez t6, loop_{label}")
        for _ in range(rng.randint(0, 4)):
            self.make(rng.choice(simple))
        self.lines.append(f"skip_{label}:")

    def make(self, kind):
        getattr(self, "make_" + kind)()

    def text(self, length):
        rng = self.rng
        values = [f"    .dword {self.integer():#x}" for _ in range(32)] + [f"    .dword {self.float_image():#x}" for _ in range(32)]
        values.append(f"    .dword {rng.randrange(5) << 5 | rng.getrandbits(5):#x}")
        compressed = rng.random() < 0.8
        body = ["", f"stream_{self.number}:", "    .option " + ("rvc" if compressed else "norvc")]
        while sum(1 for line in self.lines if line.startswith(" ")) < length:
            self.make(rng.choice(self.kinds))
        if not compressed:
            self.lines = [line.replace("    c.", "    ") for line in self.lines]
            self.lines = [two_to_three(line) for line in self.lines]
        return "\n".join(body + self.lines + ["    .option norvc", "    lla t6, finish", "    jr t6"]), "\n".join(values)


def two_to_three(line):
    """The long form of a two-operand line that was compressed: `sub a0, a1` becomes `sub a0, a0, a1`."""
    words = line.replace(",", "").split()
    if len(words) == 3 and words[0] in ("add", "sub", "xor", "or", "and", "addw", "subw"):
        return f"    {words[0]} {words[1]}, {words[1]}, {words[2]}"
    return line


WEIGHTS = {"int": 30, "mul": 6, "bit": 10, "fp": 24, "mem": 18, "amo": 4, "csr": 3, "flow": 8}

RUNTIME = r"""
# -- runtime: runs the streams one after the other. gp points to `save`: 32 x, 32 f, fcsr.
    .globl _start
_start:
    .option norelax
    .option norvc
    lla gp, save
    sd zero, 1024(gp)           # number of the stream
next_stream:
    ld s1, 1024(gp)
    li t0, N_STREAMS
    beq s1, t0, all_done
    # scratch memory gets the same contents for each stream
    lla t0, scratch
    li t1, SCRATCH_BYTES / 8
    li t2, 0x9e3779b97f4a7c15
    mv t3, t2
1:  sd t3, 0(t0)
    mul t3, t3, t2
    srli t4, t3, 29
    xor t3, t3, t4
    addi t0, t0, 8
    addi t1, t1, -1
    bnez t1, 1b
    # initial registers: 65 doublewords of the stream's row
    lla t0, values
    li t1, 65 * 8
    mul t1, t1, s1
    add t0, t0, t1
    sd t0, 1032(gp)
    ld t1, 512(t0)
    fscsr t1
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    fld f\n, 256 + 8 * \n(t0)
    .endr
    lla t1, table
    slli t2, s1, 3
    add t1, t1, t2
    ld t1, 0(t1)
    sd t1, 1040(gp)
    .irp n, 1,6,7,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30
    ld x\n, 8 * \n(t0)
    .endr
    li x31, 0
    lla s0, scratch + SCRATCH_BYTES / 2
    addi sp, s0, 512
    mv tp, s0
    ld t0, 1040(gp)
    jr t0

finish:
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    sd x\n, 8 * \n(gp)
    .endr
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    fsd f\n, 256 + 8 * \n(gp)
    .endr
    frcsr t0
    sd t0, 512(gp)
    lla t0, scratch
    li t1, SCRATCH_BYTES / 8
    li t2, 0x9e3779b97f4a7c15
    li t3, 0
2:  ld t4, 0(t0)
    xor t3, t3, t4
    mul t3, t3, t2
    srli t4, t3, 32
    xor t3, t3, t4
    addi t0, t0, 8
    addi t1, t1, -1
    bnez t1, 2b
    sd t3, 520(gp)
    # print: "stream N" and 66 lines "NN value"; NN is hexadecimal: 00-1f x, 20-3f f, 40 fcsr, 41 memory
    lla s2, text
    ld s1, 1024(gp)
    li a0, 's'
    sb a0, 0(s2)
    addi s2, s2, 1
    mv a0, s1
    li a1, 4
    call hex
    li s3, 0
3:  mv a0, s3
    li a1, 2
    call hex
    li a0, ' '
    sb a0, -1(s2)
    slli t0, s3, 3
    add t0, t0, gp
    ld a0, 0(t0)
    li a1, 16
    call hex
    addi s3, s3, 1
    li t0, 66
    bne s3, t0, 3b
    li a0, 1
    lla a1, text
    sub a2, s2, a1
    li a7, 64
    ecall
    addi s1, s1, 1
    sd s1, 1024(gp)
    j next_stream

hex: # a0: value, a1: digits, s2: where to; adds a newline
    slli t0, a1, 2
4:  addi t0, t0, -4
    srl t1, a0, t0
    andi t1, t1, 15
    addi t2, t1, -10
    addi t1, t1, '0'
    bltz t2, 5f
    addi t1, t1, 'a' - '0' - 10
5:  sb t1, 0(s2)
    addi s2, s2, 1
    bnez t0, 4b
    li t1, '\n'
    sb t1, 0(s2)
    addi s2, s2, 1
    ret

all_done:
    li a0, 0
    li a7, 93
    ecall

    .bss
    .balign 4096
scratch: .space SCRATCH_BYTES
save: .space 2048
text: .space 4096
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--length", type=int, default=80, help="instructions in each stream, about")
    parser.add_argument("--mix", default=",".join(WEIGHTS), help="kinds of instructions, by commas: " + ",".join(WEIGHTS))
    options = parser.parse_args()
    mix = options.mix.split(",")
    for kind in mix:
        if kind not in WEIGHTS:
            parser.error(f"unknown kind '{kind}', known: {', '.join(WEIGHTS)}")
    rng = random.Random(f"random_isa {options.seed} {options.mix}")
    streams = [Stream(rng, number, mix).text(options.length) for number in range(options.streams)]
    print(f"# SPDX-License-Identifier: MIT\n# made by random_isa.py --seed {options.seed} --streams {options.streams} --length {options.length} --mix {options.mix}")
    print(f"    .equ N_STREAMS, {options.streams}\n    .equ SCRATCH_BYTES, {SCRATCH_BYTES}\n    .text")
    print(RUNTIME)
    print("    .text\n    .option norelax")
    for body, _ in streams:
        print(body)
    print("\n    .section .rodata\n    .balign 8\ntable:")
    for number in range(options.streams):
        print(f"    .dword stream_{number}")
    print("values:")
    for _, values in streams:
        print(values)


if __name__ == "__main__":
    main()
