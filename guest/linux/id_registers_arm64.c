// SPDX-License-Identifier: MIT
// Identification registers as Linux shows them to programs (HWCAP_CPUID): each MRS traps, and the
// kernel answers with the visible fields. The manual of the Cortex-A53 gives the values.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#define READ(name)                                        \
    ({                                                    \
        uint64_t value_;                                  \
        __asm__ volatile("mrs %0, " name : "=r"(value_)); \
        value_;                                           \
    })

static void check(const char *name, uint64_t value, uint64_t wanted) {
    if (value == wanted)
        return;
    printf("FAIL %s is %#llx, not %#llx\n", name, (unsigned long long)value, (unsigned long long)wanted);
    exit(1);
}

int main(void) {
    enum { HWCAP_CPUID_BIT = 1 << 11 };
    check("HWCAP_CPUID", getauxval(AT_HWCAP) & HWCAP_CPUID_BIT, HWCAP_CPUID_BIT);
    check("MIDR_EL1", READ("S3_0_C0_C0_0"), 0x410fd034);
    check("MPIDR_EL1", READ("S3_0_C0_C0_5"), 0x80000000);
    check("REVIDR_EL1", READ("S3_0_C0_C0_6"), 0x100);
    check("ID_AA64PFR0_EL1", READ("S3_0_C0_C4_0"), 0x11);
    check("ID_AA64PFR1_EL1", READ("S3_0_C0_C4_1"), 0);
    check("ID_AA64DFR0_EL1", READ("S3_0_C0_C5_0"), 6);
    check("ID_AA64ISAR0_EL1", READ("S3_0_C0_C6_0"), 0x11120);
    check("ID_AA64ISAR1_EL1", READ("S3_0_C0_C6_1"), 0);
    check("ID_AA64MMFR0_EL1", READ("S3_0_C0_C7_0"), 0xff000000);
    uint64_t flags;
    // The condition flags and other registers stay as they were.
    __asm__ volatile("cmp xzr, xzr\n\tmrs xzr, S3_0_C0_C0_0\n\tmrs %0, nzcv" : "=r"(flags) : : "cc");
    check("NZCV", flags, 0x60000000);
    puts("PASS id_registers");
    return 0;
}
