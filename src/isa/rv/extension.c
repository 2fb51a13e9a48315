// SPDX-License-Identifier: MIT
// Encodings of extensions that are not built, by their manuals. The first row that matches says it.
#include "isa/rv/extension.h"

#include <stddef.h>

#include "base/bits.h"

#define MACHINE "this machine executes rv64gc with Zba, Zbb and Zbs"
#define OF(name) "an instruction of the " name " extension; " MACHINE
#define CUSTOM "an instruction of some vendor's own; " MACHINE

typedef struct encoding {
    uint32_t mask, match;
    const char *of;
} encoding;

// clang-format off
static const encoding encodings[] = {
    {0x0000007f, 0x00000057, OF("vector (V)")},
    {0x0000007f, 0x00000077, OF("vector cryptography (Zvk)")},
    {0x0000705f, 0x00000007, OF("vector (V)")},                   // loads and stores by element width: 8, 16, 32, 64 bits
    {0x0000705f, 0x00005007, OF("vector (V)")},
    {0x0000705f, 0x00006007, OF("vector (V)")},
    {0x0000705f, 0x00007007, OF("vector (V)")},
    {0x0000705f, 0x00001007, OF("half-precision (Zfh)")},
    {0x0000705f, 0x00004007, OF("quad-precision (Q)")},
    {0x0600007f, 0x04000053, OF("half-precision (Zfh)")},
    {0x0600007f, 0x06000053, OF("quad-precision (Q)")},
    {0x06000073, 0x04000043, OF("half-precision (Zfh)")},
    {0x06000073, 0x06000043, OF("quad-precision (Q)")},
    {0xfdf0007f, 0x40200053, OF("half-precision (Zfh)")},         // conversions from a half
    {0xfdf0007f, 0x40300053, OF("quad-precision (Q)")},
    {0x8000707f, 0x80004073, OF("may-be-operations (Zimop)")},
    {0x0000707f, 0x00004073, OF("hypervisor (H)")},               // HLV, HSV
    {0xba007fff, 0x22000073, OF("hypervisor (H)")},               // HFENCE, HINVAL
    {0xfe007fff, 0x16000073, OF("fine-grained invalidation (Svinval)")},
    {0xffefffff, 0x18000073, OF("fine-grained invalidation (Svinval)")},
    {0xffffffff, 0x00d00073, OF("wait-on-reservation (Zawrs)")},
    {0xffffffff, 0x01d00073, OF("wait-on-reservation (Zawrs)")},
    {0x0000707f, 0x0000200f, OF("cache-block (Zicbom, Zicboz)")},
    {0xf800607f, 0x2800202f, OF("compare-and-swap (Zacas)")},
    {0xf800707f, 0x2800402f, OF("compare-and-swap (Zacas)")},
    {0x0000607f, 0x0000002f, OF("narrow atomics (Zabha)")},
    {0xfe00507f, 0x0e005033, OF("conditional (Zicond)")},
    {0xfe00707f, 0x0a001033, OF("carry-less multiplication (Zbc)")},
    {0xfe00707f, 0x0a002033, OF("carry-less multiplication (Zbc)")},
    {0xfe00707f, 0x0a003033, OF("carry-less multiplication (Zbc)")},
    {0xfff0707f, 0x0800403b, NULL},                               // zext.h, which is executed
    {0xfe007077, 0x08004033, OF("bit-manipulation for cryptography (Zbkb)")},
    {0xfe00707f, 0x08007033, OF("bit-manipulation for cryptography (Zbkb)")},
    {0xfff0707f, 0x68705013, OF("bit-manipulation for cryptography (Zbkb)")},
    {0xfe00707f, 0x28002033, OF("crossbar-permutation (Zbkx)")},
    {0xfe00707f, 0x28004033, OF("crossbar-permutation (Zbkx)")},
    {0xf200707f, 0x32000033, OF("scalar cryptography (Zkn)")},    // AES rounds
    {0x3a00707f, 0x30000033, OF("scalar cryptography (Zks)")},    // SM4
    {0xfe00707f, 0x30001013, OF("scalar cryptography (Zkn)")},
    {0xffe0707f, 0x10801013, OF("scalar cryptography (Zks)")},    // SM3
    {0xff00707f, 0x10001013, OF("scalar cryptography (Zkn)")},
    {0xfe00707f, 0x7e000033, OF("scalar cryptography (Zkn)")},
    {0x0000005f, 0x0000000b, CUSTOM},                             // custom-0, custom-1
    {0x0000005f, 0x0000005b, CUSTOM},
};
// clang-format on

typedef struct registers {
    uint32_t first, last;
    const char *of;
} registers;

static const registers csrs[] = {
    {0x008, 0x00a, OF("vector (V)")},     {0x00f, 0x00f, OF("vector (V)")},     {0x015, 0x015, OF("entropy-source (Zkr)")},
    {0x200, 0x2ff, OF("hypervisor (H)")}, {0x600, 0x6ff, OF("hypervisor (H)")}, {0xc20, 0xc22, OF("vector (V)")},
    {0xe12, 0xe12, OF("hypervisor (H)")},
};

const char *tl_extension_of(uint32_t insn) {
    uint32_t csr = insn >> 20, function = insn >> 12 & 7;
    for (size_t i = 0; i < TL_COUNT_OF(csrs) && (insn & 0x7f) == 0x73 && function != 0 && function != 4; i++) {
        if (csr >= csrs[i].first && csr <= csrs[i].last)
            return csrs[i].of;
    }
    for (size_t i = 0; i < TL_COUNT_OF(encodings); i++) {
        if ((insn & encodings[i].mask) == encodings[i].match)
            return encodings[i].of;
    }
    return NULL;
}
