// SPDX-License-Identifier: MIT
// Encodings of extensions that are not built: Arm DDI 0487, C4.1. The first row that matches says
// it.
#include "isa/a64/extension.h"

#include <stddef.h>

#include "base/bits.h"

#define OF(name) "an instruction of " name "; this machine executes Armv8.0-A with CRC32, AES, SHA-1 and SHA-256: build with -march=armv8-a"

typedef struct encoding {
    uint32_t mask, match;
    const char *of;
} encoding;

// clang-format off
static const encoding encodings[] = {
    {0x1e000000, 0x04000000, OF("the Scalable Vector Extension (SVE)")},
    {0x9e000000, 0x80000000, OF("the Scalable Matrix Extension (SME)")},
    {0xfe1ff800, 0xd61f0800, OF("pointer authentication (PAuth)")},       // BRAA, BLRAA, RETAA, ERETAA
    {0xffff0000, 0xdac10000, OF("pointer authentication (PAuth)")},       // PACIA .. XPACD
    {0xffe0fc00, 0x9ac03000, OF("pointer authentication (PAuth)")},       // PACGA
    {0xff200400, 0xf8200400, OF("pointer authentication (PAuth)")},       // LDRAA, LDRAB
    {0x3fa07c00, 0x08a07c00, OF("the large-system atomics (LSE)")},       // CAS
    {0xbfa07c00, 0x08207c00, OF("the large-system atomics (LSE)")},       // CASP
    {0x3ffffc00, 0x38bfc000, OF("load-acquire RCpc (LRCPC)")},
    {0x3b200c00, 0x38200000, OF("the large-system atomics (LSE)")},       // LDADD .. SWP
    {0x3f200c00, 0x19000000, OF("load-acquire RCpc (LRCPC2)")},
    {0x3b200c00, 0x19000400, OF("memory copy and set (MOPS)")},
    {0xff800000, 0x91800000, OF("memory tagging (MTE)")},                 // ADDG
    {0xff800000, 0xd1800000, OF("memory tagging (MTE)")},                 // SUBG
    {0xffe0fc00, 0x9ac01000, OF("memory tagging (MTE)")},                 // IRG
    {0xffe0fc00, 0x9ac01400, OF("memory tagging (MTE)")},                 // GMI
    {0xff200000, 0xd9200000, OF("memory tagging (MTE)")},                 // STG .. LDG
    {0xbf20f400, 0x2e008400, OF("rounding double multiply (RDM)")},
    {0xbf00d400, 0x2f00d000, OF("rounding double multiply (RDM)")},
    {0x9f20fc00, 0x0e009400, OF("the dot product (DotProd)")},
    {0x9f00f400, 0x0f00e000, OF("the dot product (DotProd)")},
    {0x9f20fc00, 0x0e009c00, OF("the 8-bit matrix multiply (I8MM)")},
    {0xbf20e400, 0x0e80a400, OF("the 8-bit matrix multiply (I8MM)")},
    {0xbf20c400, 0x2e00c400, OF("complex-number arithmetic (FCMA)")},
    {0x9f60c400, 0x0e400400, OF("half-precision arithmetic (FP16)")},     // vectors: three of a kind
    {0x9f7e0c00, 0x0e780800, OF("half-precision arithmetic (FP16)")},     // two registers
    {0xffff7c00, 0x1ee24000, NULL},                                       // FCVT from a half, which is executed
    {0xffe00000, 0x1ee00000, OF("half-precision arithmetic (FP16)")},     // scalars
    {0x7fe00000, 0x1ee00000, OF("half-precision arithmetic (FP16)")},
    {0xffc00000, 0x1fc00000, OF("half-precision arithmetic (FP16)")},     // fused
    {0xff000000, 0xce000000, OF("SHA-512, SHA-3, SM3 or SM4")},
    {0xfffff0ff, 0xd500401f, OF("flag manipulation (FlagM)")},
    {0xffe07c10, 0xba000400, OF("flag manipulation (FlagM)")},            // RMIF
    {0xffffffff, 0xd50330ff, OF("the speculation barrier (SB)")},
};
// clang-format on

const char *tl_a64_extension_of(uint32_t insn) {
    for (size_t i = 0; i < TL_COUNT_OF(encodings); i++)
        if ((insn & encodings[i].mask) == encodings[i].match)
            return encodings[i].of;
    return NULL;
}
