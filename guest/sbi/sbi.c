/* SPDX-License-Identifier: MIT
 * Calls of the firmware, and what payloads share beside them; see sbi.h. */
#include "sbi.h"

bool (*trap_hook)(outcome *);
u64 n_hpm, n_hardware, n_counters, hpm_mask;

sbi_result sbi_call(u64 eid, u64 fid, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4) {
    register u64 r0 __asm__("a0") = a0, r1 __asm__("a1") = a1, r2 __asm__("a2") = a2, r3 __asm__("a3") = a3, r4 __asm__("a4") = a4;
    register u64 r6 __asm__("a6") = fid, r7 __asm__("a7") = eid;
    __asm__ volatile("ecall" : "+r"(r0), "+r"(r1) : "r"(r2), "r"(r3), "r"(r4), "r"(r6), "r"(r7) : "memory");
    return (sbi_result){r0, r1};
}

sbi_result pmu_config(u64 base, u64 mask, u64 flags, u64 event, u64 data) {
    return sbi_call(EID_PMU, PMU_CONFIG, base, mask, flags, event, data);
}
u64 pmu_start(u64 base, u64 mask, u64 flags, u64 value) { return sbi_call(EID_PMU, PMU_START, base, mask, flags, value, 0).error; }
u64 pmu_stop(u64 base, u64 mask, u64 flags) { return sbi_call(EID_PMU, PMU_STOP, base, mask, flags, 0, 0).error; }
sbi_result pmu_fw_read(u64 n) { return sbi_call(EID_PMU, PMU_FW_READ, n, 0, 0, 0, 0); }

void find_counters(void) {
    n_counters = sbi_call(EID_PMU, PMU_NUM_COUNTERS, 0, 0, 0, 0, 0).value;
    n_hardware = 0;
    while (n_hardware < n_counters && sbi_call(EID_PMU, PMU_COUNTER_INFO, n_hardware, 0, 0, 0, 0).value >> 63 == 0)
        n_hardware += 1;
    n_hpm = n_hardware - 3;
    hpm_mask = (BIT(n_hpm) - 1) << 3;
}

u64 configured(u64 mask, u64 flags, u64 event, u64 data) {
    sbi_result r = pmu_config(0, mask, flags, event, data);
    u64 outer = check_context;
    check_context = outer << 32 | event << 12 | flags;
    CHECK(r.error, 0);
    CHECK_TRUE(r.value < 64 && (mask >> r.value & 1) == 1);
    check_context = outer;
    return r.value & 63;
}

/* Not one_instruction, whose FENCE.I empties the instruction cache. */
__asm__(".text\n .option push\n .option norvc\n .balign 8\n read_counters:\n .set csr, 0xc00\n"
        " .rept 32\n csrr a0, csr\n ret\n .set csr, csr + 1\n .endr\n .option pop");
u64 counter(u64 n) {
    extern char read_counters[];
    return ((u64(*)(void))(read_counters + 8 * n))();
}

u64 sbi_hart_start(u64 hart, void (*code)(u64 hart)) {
    *(volatile u64 *)&contexts[hart].start = (u64)code;
    __asm__ volatile("fence" ::: "memory");
    extern char _start[];
    return sbi_call(EID_HSM, 0, hart, (u64)_start, 0, 0, 0).error;
}
u64 hart_status(u64 hart) { return sbi_call(EID_HSM, 2, hart, 0, 0, 0, 0).value; }

u64 *payload_map(void) {
    enum { RAM = PTE_RWX };
    u64 *root = page_new();
    map(root, 3, 0, 0, 2, PTE_RW);
    map(root, 3, RAM_BASE + 0x200000 - USER_ALIAS, RAM_BASE + 0x200000, 1, RAM | PTE_U);
    for (u64 at = 0x200000; at < 0x2000000; at += 0x200000)
        map(root, 3, RAM_BASE + at, RAM_BASE + at, 1, RAM);
    return root;
}

_Noreturn void unexpected_s_trap(const context *in);
void unexpected_s_trap(const context *in) {
    print("FAIL: supervisor mode trapped outside run_in: cause ");
    print_hex(in->outcome.cause);
    print(", epc ");
    print_hex(in->outcome.epc);
    print(", value ");
    print_hex(in->outcome.tval);
    print("\n");
    finish(253);
}
