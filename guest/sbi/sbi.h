/* SPDX-License-Identifier: MIT
 * What payloads of firmware share, besides ../bare/bare.h: calls of the firmware, the calls of its
 * PMU extension by name, counters by number. A program is main() in supervisor mode, on the hart
 * that the firmware boots. Everything that bare.h says of checks, modes, page tables and the board
 * holds, except that a program is not in machine mode: mhartid, msip and mtimecmp are the
 * firmware's. */
#ifndef GUEST_SBI_H
#define GUEST_SBI_H

#include "bare.h"

typedef struct sbi_result {
    u64 error, value;
} sbi_result;
sbi_result sbi_call(u64 eid, u64 fid, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4);
enum { EID_BASE = 0x10, EID_TIME = 0x54494d45, EID_IPI = 0x735049, EID_RFENCE = 0x52464e43, EID_HSM = 0x48534d, EID_PMU = 0x504d55 };
#define ERROR(n) ((u64)(n))
enum { NOT_SUPPORTED = -2, INVALID_PARAM = -3, ALREADY_STARTED = -7, ALREADY_STOPPED = -8 };

/* -- the PMU extension */
enum { PMU_NUM_COUNTERS, PMU_COUNTER_INFO, PMU_CONFIG, PMU_START, PMU_STOP, PMU_FW_READ, PMU_FW_READ_HI, PMU_SNAPSHOT };
enum { CONFIG_SKIP_MATCH = 1, CONFIG_CLEAR = 2, CONFIG_START = 4, CONFIG_VUINH = 8, CONFIG_VSINH = 16, CONFIG_UINH = 32, CONFIG_SINH = 64 };
enum { CONFIG_MINH = 128 };
enum { START_SET_VALUE = 1, STOP_RESET = 1 };
enum { EVENT_CYCLES = 1, EVENT_INSTRUCTIONS, EVENT_CACHE_REFERENCES, EVENT_CACHE_MISSES, EVENT_BRANCHES, EVENT_BRANCH_MISSES };
enum { EVENT_L1D_READ = 0x10000, EVENT_L1D_READ_MISS, EVENT_L1D_WRITE, EVENT_L1D_WRITE_MISS };
enum {
    EVENT_DTLB_READ_MISS = 0x10019,
    EVENT_DTLB_WRITE_MISS = 0x1001b,
    EVENT_ITLB_MISS = 0x10021,
    EVENT_RAW = 0x20000,
    EVENT_FIRMWARE = 0xf0000
};
enum { FW_MISALIGNED_LOAD, FW_MISALIGNED_STORE, FW_ACCESS_LOAD, FW_ACCESS_STORE, FW_ILLEGAL, FW_SET_TIMER, FW_IPI_SENT, FW_IPI_RECEIVED };
enum { FW_FENCE_I_SENT = 8, FW_FENCE_I_RECEIVED, FW_SFENCE_SENT, FW_SFENCE_RECEIVED, FW_SFENCE_ASID_SENT, FW_SFENCE_ASID_RECEIVED };
sbi_result pmu_config(u64 base, u64 mask, u64 flags, u64 event, u64 data);
u64 pmu_start(u64 base, u64 mask, u64 flags, u64 value); /* the error, 0 is none */
u64 pmu_stop(u64 base, u64 mask, u64 flags);
sbi_result pmu_fw_read(u64 counter);

/* What this machine's firmware offers: the preset is told apart by the number of counters, which
 * pmu_calls checks. */
extern u64 n_hpm, n_hardware, n_counters; /* programmable; those and cycle, time, instret; firmware's counters too */
extern u64 hpm_mask;                      /* the programmable ones */
void find_counters(void);
u64 configured(u64 mask, u64 flags, u64 event, u64 data); /* a counter's number; a failed check if there is none */
u64 counter(u64 n);                                       /* reads hpmcounter n, or cycle, time, instret */
u64 counted(u64 base, u64 mask, void (*code)(void), u64 a0, u64 a1);
enum { COUNTED_INSNS = 8, COUNTED_ALU = 7, COUNTED_JALR = 1 };

/* A function in assembly whose instructions are all 32 bits wide, but for the return; it starts a
 * cache line. */
#define COUNTED_CODE(name, ...) \
    void name(void);            \
    __asm__(".text\n.balign 64\n.globl " #name "\n" #name ":\n .option push\n .option norvc\n" __VA_ARGS__ "\n .option pop\n ret\n")

/* Called with each trap of what run_in runs; true: the interrupted code goes on. NULL: every trap
 * ends it. */
extern bool (*trap_hook)(outcome *);
/* Another hart, in supervisor mode; it stops when the function returns. */
u64 sbi_hart_start(u64 hart, void (*code)(u64 hart));
u64 hart_status(u64 hart);
/* The payload's own 2 MiB as S sees it, address for address, and as U sees it, USER_ALIAS lower; 16
 * MiB of RAM and the devices for S. */
u64 *payload_map(void);
#define FRESH_MEMORY (RAM_BASE + 0x1000000) /* 16 MiB that nothing has touched */
enum { FRESH_BYTES = 0x1000000 };

#endif
