// SPDX-License-Identifier: MIT
// Registers of the counters, from the privileged manual and the chapters of Sscofpmf and Smcntrpmf.
// rvhpm.c holds access rights and the timing of writes.
#include "base/bits.h"
#include "pmu/rvhpm/rvhpm.h"

static const char ZICNTR[] = "Unprivileged ISA, Zicntr and Zihpm", HPM[] = "Privileged ISA, Hardware Performance Monitor",
                  COUNTEREN[] = "Privileged ISA, Counter-Enable Registers", INHIBIT[] = "Privileged ISA, mcountinhibit",
                  SSCOFPMF[] = "Sscofpmf 1.0", SMCNTRPMF[] = "Smcntrpmf 1.0";

// ---- existing counters ----

static tl_presence if_counter(const tl_regfile *file, uint32_t index, bool is_high) {
    (void)is_high;
    return tl_rvhpm_has(tl_rvhpm_of(file), TL_HPM_FIRST + index) ? TL_PRESENT : TL_ZERO;
}
static tl_presence if_event(const tl_regfile *file, uint32_t index, bool is_high) {
    if (is_high && !tl_rvhpm_of(file)->preset->has_sscofpmf)
        return TL_ABSENT;
    return if_counter(file, index, is_high);
}
static tl_presence if_sscofpmf(const tl_regfile *file, uint32_t index, bool is_high) {
    (void)index, (void)is_high;
    return tl_rvhpm_of(file)->preset->has_sscofpmf ? TL_PRESENT : TL_ABSENT;
}
static tl_presence if_smcntrpmf(const tl_regfile *file, uint32_t index, bool is_high) {
    (void)index, (void)is_high;
    return tl_rvhpm_of(file)->preset->has_smcntrpmf ? TL_PRESENT : TL_ABSENT;
}

// ---- legal field values ----

static uint64_t known_event(const tl_regfile *file, uint32_t index, uint64_t old, uint64_t wanted) {
    (void)index, (void)old;
    return tl_rvhpm_legal_selector(tl_rvhpm_of(file), wanted);
}
static uint64_t with_sscofpmf(const tl_regfile *file, uint32_t index, uint64_t old, uint64_t wanted) {
    (void)index, (void)old;
    return tl_rvhpm_of(file)->preset->has_sscofpmf ? wanted : 0;
}
static uint64_t to_width(const tl_regfile *file, uint32_t index, uint64_t old, uint64_t wanted) {
    (void)old;
    return wanted & tl_counter_mask(&tl_rvhpm_of(file)->counters[TL_HPM_FIRST + index].events.counter);
}
static uint64_t existing_counters(const tl_regfile *file, uint32_t index, uint64_t old, uint64_t wanted) {
    (void)index, (void)old;
    const tl_rvhpm *p = tl_rvhpm_of(file);
    uint64_t legal = 0;
    for (uint32_t n = TL_HPM_FIRST; n < TL_HPM_N; n++)
        if (tl_rvhpm_has(p, n))
            legal |= wanted & UINT64_C(1) << (n - TL_HPM_FIRST);
    return legal;
}

// ---- behavior ----

static uint64_t read_cycle(tl_regfile *file, uint32_t index, uint64_t stored) {
    (void)index, (void)stored;
    return tl_rvhpm_counter(tl_rvhpm_of(file), TL_HPM_CYCLE);
}
static uint64_t read_time(tl_regfile *file, uint32_t index, uint64_t stored) {
    (void)index, (void)stored;
    const tl_pmu *pmu = &tl_rvhpm_of(file)->pmu;
    return pmu->host->time(pmu->host->ctx, pmu->hart);
}
static uint64_t read_instret(tl_regfile *file, uint32_t index, uint64_t stored) {
    (void)index, (void)stored;
    return tl_rvhpm_counter(tl_rvhpm_of(file), TL_HPM_INSTRET);
}
static uint64_t read_hpm(tl_regfile *file, uint32_t index, uint64_t stored) {
    (void)stored;
    return tl_rvhpm_counter(tl_rvhpm_of(file), TL_HPM_FIRST + index);
}
static void cycle_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value) {
    (void)index, (void)old;
    tl_rvhpm_set_counter(tl_rvhpm_of(file), TL_HPM_CYCLE, value);
}
static void instret_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value) {
    (void)index, (void)old;
    tl_rvhpm_set_counter(tl_rvhpm_of(file), TL_HPM_INSTRET, value);
}
static void hpm_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value) {
    (void)old;
    tl_rvhpm_set_counter(tl_rvhpm_of(file), TL_HPM_FIRST + index, value);
}

// OF may have been set since.
static uint64_t read_event(tl_regfile *file, uint32_t index, uint64_t stored) {
    (void)stored;
    tl_rvhpm *p = tl_rvhpm_of(file);
    tl_rvhpm_update(p, TL_HPM_FIRST + index);
    return *tl_rvhpm_event(p, TL_HPM_FIRST + index);
}
static void event_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value) {
    (void)old, (void)value;
    tl_rvhpm_configure(tl_rvhpm_of(file), TL_HPM_FIRST + index);
}
static void inhibit_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value) {
    (void)index;
    for (uint64_t left = old ^ value; left != 0; left &= left - 1)
        tl_rvhpm_configure(tl_rvhpm_of(file), (uint32_t)__builtin_ctzll(left));
}
static void cyclecfg_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value) {
    (void)index, (void)old, (void)value;
    tl_rvhpm_configure(tl_rvhpm_of(file), TL_HPM_CYCLE);
}
static void instretcfg_written(tl_regfile *file, uint32_t index, uint64_t old, uint64_t value) {
    (void)index, (void)old, (void)value;
    tl_rvhpm_configure(tl_rvhpm_of(file), TL_HPM_INSTRET);
}
static uint64_t read_scountovf(tl_regfile *file, uint32_t index, uint64_t stored) {
    (void)index, (void)stored;
    return tl_rvhpm_overflows(tl_rvhpm_of(file));
}

// ---- fields ----

static const tl_field mcounteren_fields[] = {
    {.name = "CY",  .lsb = 0, .width_bits = 1,  .access = TL_RW, .meaning = "Less privileged modes may read cycle."},
    {.name = "TM",  .lsb = 1, .width_bits = 1,  .access = TL_RW, .meaning = "Less privileged modes may read time."},
    {.name = "IR",  .lsb = 2, .width_bits = 1,  .access = TL_RW, .meaning = "Less privileged modes may read instret."},
    {.name = "HPM", .lsb = 3, .width_bits = 29, .access = TL_RW, .meaning = "Bit n: less privileged modes may read hpmcounter n."},
};
static const tl_field scounteren_fields[] = {
    {.name = "CY",  .lsb = 0, .width_bits = 1,  .access = TL_RW, .meaning = "User mode may read cycle, if mcounteren agrees."},
    {.name = "TM",  .lsb = 1, .width_bits = 1,  .access = TL_RW, .meaning = "User mode may read time, if mcounteren agrees."},
    {.name = "IR",  .lsb = 2, .width_bits = 1,  .access = TL_RW, .meaning = "User mode may read instret, if mcounteren agrees."},
    {.name = "HPM", .lsb = 3, .width_bits = 29, .access = TL_RW, .meaning = "Bit n: user mode may read hpmcounter n, if mcounteren agrees."},
};
static const tl_field mcountinhibit_fields[] = {
    {.name = "CY",  .lsb = 0, .width_bits = 1,  .access = TL_RW,   .meaning = "Stops mcycle."},
    {.name = "0",   .lsb = 1, .width_bits = 1,  .access = TL_RO,   .meaning = "Time cannot be stopped."},
    {.name = "IR",  .lsb = 2, .width_bits = 1,  .access = TL_RW,   .meaning = "Stops minstret."},
    {.name = "HPM", .lsb = 3, .width_bits = 29, .access = TL_WARL, .legalize = existing_counters, .meaning = "Bit n: stops mhpmcounter n; read-only zero where there is none."},
};
static const tl_field mhpmevent_fields[] = {
    {.name = "EVENT", .lsb = 0,  .width_bits = 56, .access = TL_WARL, .legalize = known_event,   .meaning = "Selects the event; 0 is none, and unknown selectors read back as 0."},
    {.name = "WPRI",  .lsb = 56, .width_bits = 2,  .access = TL_WPRI, .meaning = "Reserved."},
    {.name = "VUINH", .lsb = 58, .width_bits = 1,  .access = TL_RO,   .meaning = "There is no VU-mode."},
    {.name = "VSINH", .lsb = 59, .width_bits = 1,  .access = TL_RO,   .meaning = "There is no VS-mode."},
    {.name = "UINH",  .lsb = 60, .width_bits = 1,  .access = TL_WARL, .legalize = with_sscofpmf, .meaning = "Does not count in U-mode (Sscofpmf)."},
    {.name = "SINH",  .lsb = 61, .width_bits = 1,  .access = TL_WARL, .legalize = with_sscofpmf, .meaning = "Does not count in S-mode (Sscofpmf)."},
    {.name = "MINH",  .lsb = 62, .width_bits = 1,  .access = TL_WARL, .legalize = with_sscofpmf, .meaning = "Does not count in M-mode (Sscofpmf)."},
    {.name = "OF",    .lsb = 63, .width_bits = 1,  .access = TL_WARL, .legalize = with_sscofpmf, .meaning = "Has overflowed; while 0, an overflow sets it and makes interrupt 13 pending (Sscofpmf)."},
};
static const tl_field cfg_fields[] = {
    {.name = "WPRI",  .lsb = 0,  .width_bits = 58, .access = TL_WPRI, .meaning = "Reserved."},
    {.name = "VUINH", .lsb = 58, .width_bits = 1,  .access = TL_RO,   .meaning = "There is no VU-mode."},
    {.name = "VSINH", .lsb = 59, .width_bits = 1,  .access = TL_RO,   .meaning = "There is no VS-mode."},
    {.name = "UINH",  .lsb = 60, .width_bits = 1,  .access = TL_RW,   .meaning = "Does not count in U-mode."},
    {.name = "SINH",  .lsb = 61, .width_bits = 1,  .access = TL_RW,   .meaning = "Does not count in S-mode."},
    {.name = "MINH",  .lsb = 62, .width_bits = 1,  .access = TL_RW,   .meaning = "Does not count in M-mode."},
    {.name = "0",     .lsb = 63, .width_bits = 1,  .access = TL_RO,   .meaning = "These counters have no overflow interrupt."},
};
static const tl_field counter_fields[] = {
    {.name = "COUNT", .lsb = 0, .width_bits = 64, .access = TL_RW, .meaning = "Counts up; a write replaces the writing instruction's own increment."},
};
static const tl_field hpmcounter_fields[] = {
    {.name = "COUNT", .lsb = 0, .width_bits = 64, .access = TL_WARL, .legalize = to_width, .meaning = "Counts up in as many bits as the preset has; the others read 0."},
};
static const tl_field shadow_fields[] = {
    {.name = "COUNT", .lsb = 0, .width_bits = 64, .access = TL_RO, .meaning = "Shows the machine-level counter, where the counter-enable registers permit it."},
};
static const tl_field scountovf_fields[] = {
    {.name = "0",  .lsb = 0, .width_bits = 3,  .access = TL_RO, .meaning = "The fixed counters do not overflow."},
    {.name = "OF", .lsb = 3, .width_bits = 29, .access = TL_RO, .meaning = "Bit n: OF of mhpmevent n; in S-mode 0 where mcounteren denies the counter."},
};

#define FIELDS(table) .fields = table, .n_fields = TL_COUNT_OF(table)

// ---- registers ----

static const tl_reg regs[] = {
    {.name = "scounteren", .addr = 0x106, .width_bits = 32, FIELDS(scounteren_fields), .cite = COUNTEREN,
     .meaning = "Supervisor counter-enable: what user mode may read."},
    {.name = "mcounteren", .addr = 0x306, .width_bits = 32, FIELDS(mcounteren_fields), .cite = COUNTEREN,
     .meaning = "Machine counter-enable: what less privileged modes may read."},
    {.name = "mcountinhibit", .addr = 0x320, .width_bits = 32, FIELDS(mcountinhibit_fields), .written = inhibit_written, .cite = INHIBIT,
     .meaning = "Stops counters; takes effect after the writing instruction, which still counts."},
    {.name = "mcyclecfg", .addr = 0x321, .high_addr = 0x721, .width_bits = 64, FIELDS(cfg_fields), .presence = if_smcntrpmf,
     .written = cyclecfg_written, .cite = SMCNTRPMF, .meaning = "Modes in which mcycle does not count. Presets without Smcntrpmf do not have it: an access is illegal."},
    {.name = "minstretcfg", .addr = 0x322, .high_addr = 0x722, .width_bits = 64, FIELDS(cfg_fields), .presence = if_smcntrpmf,
     .written = instretcfg_written, .cite = SMCNTRPMF, .meaning = "Modes in which minstret does not count; xRET belongs to the mode it leaves. Presets without Smcntrpmf do not have it."},
    {.name = "mhpmevent#", .addr = 0x323, .high_addr = 0x723, .count = 29, .first = 3, .width_bits = 64, FIELDS(mhpmevent_fields),
     .presence = if_event, .read = read_event, .written = event_written, .cite = SSCOFPMF, .meaning = "What the counter of the same number counts; read-only zero where there is none. An exception belongs to the mode that raised it."},
    {.name = "mcycle", .addr = 0xb00, .high_addr = 0xb80, .width_bits = 64, FIELDS(counter_fields), .read = read_cycle,
     .written = cycle_written, .cite = HPM, .meaning = "Clock cycles in which the hart had something to run; it stands still in WFI."},
    {.name = "minstret", .addr = 0xb02, .high_addr = 0xb82, .width_bits = 64, FIELDS(counter_fields), .read = read_instret,
     .written = instret_written, .cite = HPM, .meaning = "Retired instructions; what traps, ECALL and EBREAK included, does not retire."},
    {.name = "mhpmcounter#", .addr = 0xb03, .high_addr = 0xb83, .count = 29, .first = 3, .width_bits = 64, FIELDS(hpmcounter_fields),
     .presence = if_counter, .read = read_hpm, .written = hpm_written, .cite = HPM, .meaning = "Programmable counter; read-only zero where there is none."},
    {.name = "cycle", .addr = 0xc00, .high_addr = 0xc80, .width_bits = 64, FIELDS(shadow_fields), .read = read_cycle, .cite = ZICNTR,
     .meaning = "Shadow of mcycle."},
    {.name = "time", .addr = 0xc01, .high_addr = 0xc81, .width_bits = 64, FIELDS(shadow_fields), .read = read_time, .cite = ZICNTR,
     .meaning = "Machine time; it goes on in WFI."},
    {.name = "instret", .addr = 0xc02, .high_addr = 0xc82, .width_bits = 64, FIELDS(shadow_fields), .read = read_instret, .cite = ZICNTR,
     .meaning = "Shadow of minstret."},
    {.name = "hpmcounter#", .addr = 0xc03, .high_addr = 0xc83, .count = 29, .first = 3, .width_bits = 64, FIELDS(shadow_fields),
     .presence = if_counter, .read = read_hpm, .cite = ZICNTR, .meaning = "Shadow of the mhpmcounter of the same number; zero where there is none."},
    {.name = "scountovf", .addr = 0xda0, .width_bits = 32, FIELDS(scountovf_fields), .presence = if_sscofpmf, .read = read_scountovf,
     .cite = SSCOFPMF, .meaning = "The OF bits of all counters. Presets without Sscofpmf do not have it: an access is illegal."},
};

const tl_regmap tl_rvhpm_regmap = {.space = "CSR", .regs = regs, .n_regs = TL_COUNT_OF(regs)};
