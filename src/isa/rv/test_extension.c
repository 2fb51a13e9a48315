// SPDX-License-Identifier: MIT
// The words are those of GNU as 2.40, but for the last ones, which are made by their manuals.
#include "isa/rv/extension.h"

#include <string.h>

#include "base/bits.h"
#include "base/testing.h"

static void test_instruction_names_its_extension(void **state) {
    (void)state;
    static const struct {
        uint32_t insn;
        const char *of;
    } rows[] = {
        {0x010572d7, "(V)"},       // vsetvli t0,a0,e32,m1,tu,mu
        {0x022180d7, "(V)"},       // vadd.vv v1,v2,v3
        {0x02056087, "(V)"},       // vle32.v v1,(a0)
        {0x020500a7, "(V)"},       // vse8.v v1,(a0)
        {0xc2202573, "(V)"},       // csrrs a0,vlenb,zero
        {0x00802573, "(V)"},       // csrrs a0,vstart,zero
        {0x6805c573, "(H)"},       // hlv.w a0,(a1)
        {0x6ea5c073, "(H)"},       // hsv.d a0,(a1)
        {0x62000073, "(H)"},       // hfence.gvma zero,zero
        {0x22b50073, "(H)"},       // hfence.vvma a0,a1
        {0x66b50073, "(H)"},       // hinval.gvma a0,a1
        {0x60002573, "(H)"},       // csrrs a0,hstatus,zero
        {0x28002573, "(H)"},       // csrrs a0,vsatp,zero
        {0x00051507, "(Zfh)"},     // flh fa0,0(a0)
        {0x00a51027, "(Zfh)"},     // fsh fa0,0(a0)
        {0x04c5f553, "(Zfh)"},     // fadd.h fa0,fa1,fa2
        {0x6cc5f543, "(Zfh)"},     // fmadd.h fa0,fa1,fa2,fa3
        {0x40258553, "(Zfh)"},     // fcvt.s.h fa0,fa1
        {0x42258553, "(Zfh)"},     // fcvt.d.h fa0,fa1
        {0x00054507, "(Q)"},       // flq fa0,0(a0)
        {0x06c5f553, "(Q)"},       // fadd.q fa0,fa1,fa2
        {0x0045200f, "Zicboz"},    // cbo.zero (a0)
        {0x0025200f, "Zicboz"},    // cbo.flush (a0)
        {0x0005200f, "Zicboz"},    // cbo.inval (a0)
        {0x0ac59533, "(Zbc)"},     // clmul a0,a1,a2
        {0x0ac5a533, "(Zbc)"},     // clmulr a0,a1,a2
        {0x08c5c533, "(Zbkb)"},    // pack a0,a1,a2
        {0x08c5c53b, "(Zbkb)"},    // packw a0,a1,a2
        {0x08c5f533, "(Zbkb)"},    // packh a0,a1,a2
        {0x6875d513, "(Zbkb)"},    // brev8 a0,a1
        {0x28c5c533, "(Zbkx)"},    // xperm8 a0,a1,a2
        {0x32c58533, "(Zkn)"},     // aes64es a0,a1,a2
        {0x30059513, "(Zkn)"},     // aes64im a0,a1
        {0x31359513, "(Zkn)"},     // aes64ks1i a0,a1,0x3
        {0x10059513, "(Zkn)"},     // sha256sum0 a0,a1
        {0x10659513, "(Zkn)"},     // sha512sig0 a0,a1
        {0x30c58533, "(Zks)"},     // sm4ed a0,a1,a2,0x0
        {0x10859513, "(Zks)"},     // sm3p0 a0,a1
        {0x01502573, "(Zkr)"},     // csrrs a0,seed,zero
        {0x00d00073, "(Zawrs)"},   // wrs.nto
        {0x01d00073, "(Zawrs)"},   // wrs.sto
        {0x16b50073, "(Svinval)"}, // sinval.vma a0,a1
        {0x18000073, "(Svinval)"}, // sfence.w.inval
        {0x18100073, "(Svinval)"}, // sfence.inval.ir
        {0x0ec5d533, "(Zicond)"},  // czero.eqz a0,a1,a2
        {0x0ec5f533, "(Zicond)"},  // czero.nez a0,a1,a2
        {0x28c5a52f, "(Zacas)"},   // amocas.w a0,a2,(a1)
        {0x28c5c52f, "(Zacas)"},   // amocas.q a0,a2,(a1)
        {0x00c5852f, "(Zabha)"},   // amoadd.b a0,a2,(a1)
        {0x81c04573, "(Zimop)"},   // mop.r.0 a0,zero
        {0x0000000b, "vendor"},    // custom-0
        {0x0000002b, "vendor"},    // custom-1
        {0x0000005b, "vendor"},    // custom-2
        {0x0000007b, "vendor"},    // custom-3
        {0x00000077, "(Zvk)"},     // vector cryptography
        {0x6cc5f54b, "(Zfh)"},     // fnmsub.h
        {0x40358553, "(Q)"},       // fcvt.s.q fa0,fa1
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        const char *of = tl_extension_of(rows[i].insn);
        if (!of || !strstr(of, rows[i].of))
            fail_msg("0x%08x: %s, want %s", rows[i].insn, of ? of : "nothing", rows[i].of);
    }
}

static void test_what_is_executed_or_means_nothing_names_none(void **state) {
    (void)state;
    static const uint32_t insns[] = {0x00000000, 0xffffffff, 0x30002573, 0xc0002573, 0x00c58533, 0x02c5d53b,
                                     0x00052507, 0x00a53027, 0x6ac5f543, 0x0ec5a52f, 0x0ff0000f, 0x00000073,
                                     0x12b50073, 0x0a05d533, 0x20c5a533, 0x60059513, 0x00000000, 0x00100073};
    for (size_t i = 0; i < TL_COUNT_OF(insns); i++) {
        const char *of = tl_extension_of(insns[i]);
        if (of)
            fail_msg("0x%08x: %s", insns[i], of);
    }
}

static void test_every_executed_instruction_names_none(void **state) {
    (void)state;
    static const uint32_t insns[] = {
#define INSN(id, mnemonic, match, mask, format, class, size) match,
#include "isa/rv/insn_all.def"
#undef INSN
    };
    for (size_t i = 0; i < TL_COUNT_OF(insns); i++) {
        if (tl_extension_of(insns[i]))
            fail_msg("0x%08x: %s", insns[i], tl_extension_of(insns[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instruction_names_its_extension),
        cmocka_unit_test(test_every_executed_instruction_names_none),
        cmocka_unit_test(test_what_is_executed_or_means_nothing_names_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
