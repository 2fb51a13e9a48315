// SPDX-License-Identifier: MIT
// Registers of the NetBurst PMU, by their MSR numbers. The threads of a core share the cells, but
// for IA32_DS_AREA.
#include "base/bits.h"
#include "pmu/netburst/state.h"

static const char NBX[] = "docs/netburst.md, section 10";
static const char SDM[] = "Intel SDM vol. 3, MSRs of family 0FH", LINUX[] = "Linux, perf_event_p4.h";

// ---- behavior

static tl_netburst *core_of(const tl_regfile *file) { return tl_netburst_thread_of(file)->core; }

static void changed(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value) {
    (void)index, (void)old_value, (void)value;
    core_of(file)->is_stale = true;
}

static tl_presence if_early_model(const tl_regfile *file, uint32_t index, bool is_high) {
    (void)index, (void)is_high;
    return core_of(file)->settings.model <= 2 ? TL_PRESENT : TL_ABSENT;
}
static tl_presence if_ssu_escr1(const tl_regfile *file, uint32_t index, bool is_high) {
    (void)index, (void)is_high;
    return core_of(file)->settings.ssu_escr1 ? TL_PRESENT : TL_ABSENT;
}

static uint32_t mode_of(uint64_t cccr) { return (uint32_t)(cccr >> TL_CCCR_THREAD_LSB) & 3; }

// A cleared OVF takes back what it has raised. A mode that changes sets the bounds of the XCCCR.
static void status_written(tl_regfile *file, uint32_t counter, uint64_t value) {
    tl_netburst *n = core_of(file);
    if (mode_of(value) != tl_nbx_mode_of(n->xcccr[counter]))
        n->xcccr[counter] = tl_nbx_of_mode(n->xcccr[counter], mode_of(value));
    const uint32_t bit = UINT32_C(1) << counter;
    if (!(value & TL_CCCR_OVF)) {
        n->raised &= ~bit;
        n->wrapped &= ~bit;
    }
    n->is_stale = true;
}
#define BLOCK(name, first)                                                                                  \
    static void name##_written(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value) {      \
        (void)old_value;                                                                                    \
        status_written(file, first + index, value);                                                         \
    }
BLOCK(bpu, 0)
BLOCK(ms, 4)
BLOCK(flame, 8)
BLOCK(iq, 12)
#undef BLOCK

// Bit 11 is there in four CCCRs of models 2, 3, 4 and 6.
static uint64_t extended_if_any(const tl_regfile *file, uint32_t index, uint64_t old, uint64_t wanted) {
    const uint32_t model = core_of(file)->settings.model, counter = 12 + index;
    const bool has = (model == 2 || model == 3 || model == 4 || model == 6) && counter != 13 && counter != 14;
    (void)old;
    return has ? wanted : 0;
}

// Bits 25 and 26 name the thread that reads or writes, and the other one.
static uint64_t threads_seen(const tl_regfile *file, uint64_t value) {
    const bool is_swapped = tl_netburst_thread_of(file)->index == 1;
    const uint64_t mine = value >> 25 & 1, other = value >> 26 & 1;
    value &= ~(uint64_t)(TL_PEBS_MY_THREAD | TL_PEBS_OTHER_THREAD);
    return value | (is_swapped ? other : mine) << 25 | (is_swapped ? mine : other) << 26;
}
static uint64_t show_pebs_enable(tl_regfile *file, uint32_t index, uint64_t stored) { return (void)index, (void)stored, threads_seen(file, *core_of(file)->pebs_enable); }
static void pebs_enable_written(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value) {
    *core_of(file)->pebs_enable = threads_seen(file, value);
    changed(file, index, old_value, value);
}

static uint64_t show_ds_area(tl_regfile *file, uint32_t index, uint64_t stored) { return (void)index, (void)stored, tl_netburst_thread_of(file)->ds_area; }
static void ds_area_written(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value) {
    (void)index, (void)old_value;
    tl_netburst_thread_of(file)->ds_area = value;
}

// ---- extension NBX

static tl_presence if_nbx(const tl_regfile *file, uint32_t index, bool is_high) {
    (void)index, (void)is_high;
    return core_of(file)->settings.nbx ? TL_PRESENT : TL_ABSENT;
}
static tl_presence if_escr(const tl_regfile *file, uint32_t index, bool is_high) {
    return tl_netburst_has_escr(core_of(file), (tl_escr)index) ? if_nbx(file, index, is_high) : TL_ABSENT;
}

static uint64_t show_cap(tl_regfile *file, uint32_t index, uint64_t stored) { return (void)index, stored | core_of(file)->n_threads << 8; }

static uint64_t show_xescr(tl_regfile *file, uint32_t index, uint64_t stored) { return (void)stored, tl_nbx_threads_of(core_of(file), (tl_escr)index); }
static void xescr_written(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value) {
    uint64_t *escr = &core_of(file)->escr[index];
    *escr = (*escr & ~UINT64_C(15)) | tl_nbx_flags_of(value);
    changed(file, index, old_value, value);
}

static void xcccr_written(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value) {
    uint64_t *cccr = &core_of(file)->cccr[index];
    *cccr = (*cccr & ~(UINT64_C(3) << TL_CCCR_THREAD_LSB)) | (uint64_t)tl_nbx_mode_of(value) << TL_CCCR_THREAD_LSB;
    changed(file, index, old_value, value);
}

static uint64_t show_context(tl_regfile *file, uint32_t index, uint64_t stored) { return (void)index, (void)stored, tl_netburst_thread_of(file)->context; }
static void context_written(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value) {
    (void)index, (void)old_value;
    tl_netburst_set_context(core_of(file), tl_netburst_thread_of(file)->index, value);
}

// Seed 0 would stay 0.
static void random_written(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value) {
    const uint32_t seed = (uint32_t)(value >> TL_NBX_SEED_LSB);
    (void)index, (void)old_value;
    core_of(file)->lfsr = seed ? seed : 1;
}

static void banked_written(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value) {
    tl_nbx_bind_banks(core_of(file));
    changed(file, index, old_value, value);
}

static uint64_t show_tag(tl_regfile *file, uint32_t index, uint64_t stored) {
    const tl_netburst *n = core_of(file);
    (void)index, (void)stored;
    if (*n->bank >= n->n_banks)
        return 0;
    return n->is_full && *n->bank == TL_NBX_BANKS - 1 ? UINT64_MAX : n->banks[*n->bank].tag;
}
static uint64_t show_status(tl_regfile *file, uint32_t index, uint64_t stored) {
    const tl_netburst *n = core_of(file);
    return (void)index, (void)stored, n->n_banks | (n->is_full ? (uint64_t)TL_NBX_FULL : 0);
}
static void status_of_banks_written(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value) {
    (void)index, (void)old_value, (void)value;
    tl_nbx_forget_banks(core_of(file));
}
static uint64_t show_bank_counter(tl_regfile *file, uint32_t index, uint64_t stored) {
    const tl_netburst *n = core_of(file);
    return (void)stored, tl_nbx_bank_value(n, (uint32_t)*n->bank, index);
}
static void bank_counter_written(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value) {
    tl_netburst *n = core_of(file);
    (void)old_value;
    tl_nbx_set_bank_value(n, (uint32_t)*n->bank, index, value);
}

// ---- fields

#define BIT(title, at, kind, sentence) {.name = title, .lsb = at, .width_bits = 1, .access = kind, .meaning = sentence}
#define BITS(title, at, width, kind, sentence) {.name = title, .lsb = at, .width_bits = width, .access = kind, .meaning = sentence}
#define RESERVED(at, width) {.name = "reserved", .lsb = at, .width_bits = width, .access = TL_WPRI, .meaning = "Reserved."}

static const tl_field counter_fields[] = {
    BITS("COUNT", 0, 40, TL_RW, "Counts what the CCCR with the same number selects; it wraps at 2^40."), RESERVED(40, 24),
};

#define CCCR_FIELDS                                                                                                                        \
    BIT("ENABLE", 12, TL_RW, "Counter counts."),                                                                                           \
    BITS("ESCR_SELECT", 13, 3, TL_RW, "Number of the ESCR, among those of the block and of the parity of the counter."),                   \
    BITS("ACTIVE_THREAD", 16, 2, TL_RW, "Counts while no thread is active (0), one is (1), both are (2), or any number is (3)."),          \
    BIT("COMPARE", 18, TL_RW, "Counts clocks whose input passes the threshold, instead of the input."),                                    \
    BIT("COMPLEMENT", 19, TL_RW, "Passes inputs that are not above the threshold; 0: those above."),                                       \
    BITS("THRESHOLD", 20, 4, TL_RW, "Bound of COMPARE."),                                                                                  \
    BIT("EDGE", 24, TL_RW, "Counts only the first of clocks that pass one after the other."),                                              \
    BIT("FORCE_OVF", 25, TL_RW, "Each clock that counts overflows."),                                                                      \
    BIT("OVF_PMI_T0", 26, TL_RW, "An overflow interrupts thread 0."),                                                                      \
    BIT("OVF_PMI_T1", 27, TL_RW, "An overflow interrupts thread 1."),                                                                      \
    RESERVED(28, 2),                                                                                                                       \
    BIT("CASCADE", 30, TL_RW, "Counter runs once the counter that cascades into it has overflowed."),                                      \
    BIT("OVF", 31, TL_RW, "Counter has overflowed; only software clears it."),                                                             \
    RESERVED(32, 32)
#define EXTENSION \
    {.name = "EXTENDED_CASCADE", .lsb = 11, .width_bits = 1, .access = TL_WARL, .legalize = extended_if_any, .meaning = "Counter runs once counter 16 or 17 has overflowed; counters 12, 15, 16 and 17 of models 2, 3, 4 and 6 have it."}
static const tl_field cccr_fields[] = {RESERVED(0, 12), CCCR_FIELDS};
static const tl_field iq_cccr_fields[] = {RESERVED(0, 11), EXTENSION, CCCR_FIELDS};

static const tl_field escr_fields[] = {
    BIT("T1_USR", 0, TL_RW, "Counts thread 1 at CPL 1 to 3."),
    BIT("T1_OS", 1, TL_RW, "Counts thread 1 at CPL 0."),
    BIT("T0_USR", 2, TL_RW, "Counts thread 0 at CPL 1 to 3."),
    BIT("T0_OS", 3, TL_RW, "Counts thread 0 at CPL 0."),
    BIT("TAG_ENABLE", 4, TL_RW, "Tags uops for which the event happens."),
    BITS("TAG_VALUE", 5, 4, TL_RW, "Tags that such a uop gets, bit by bit."),
    BITS("EVENT_MASK", 9, 16, TL_RW, "Kinds of the event that count."),
    BITS("EVENT_SELECT", 25, 7, TL_RW, "Event; codes from 0x40 up select none."),
    RESERVED(32, 32),
};

static const tl_field misc_fields[] = {
    BITS("0", 0, 7, TL_RO, "Not part of this model."),
    {.name = "PERFMON_AVAILABLE", .lsb = 7, .width_bits = 1, .access = TL_RO, .reset = 1, .meaning = "Performance monitoring is there."},
    BITS("0", 8, 3, TL_RO, "Not part of this model."),
    BIT("BTS_UNAVAILABLE", 11, TL_RO, "There is no branch trace store."),
    BIT("PEBS_UNAVAILABLE", 12, TL_RO, "There is no precise sampling."),
    BITS("0", 13, 51, TL_RO, "Not part of this model."),
};
static const tl_field debug_fields[] = {RESERVED(0, 64)};
static const tl_field precise_fields[] = {
    {.name = "EVENTS", .lsb = 0, .width_bits = 32, .access = TL_RW, .reset = 0xfc00, .meaning = "Front-end tags of trace-cache events; no documented event needs it."},
    RESERVED(32, 32),
};
static const tl_field pebs_fields[] = {
    BITS("CAUSES", 0, 13, TL_RW, "Causes of replay tags: bit 0 first-level miss, 1 second-level miss, 2 DTLB miss, 9 MOB, 10 split."),
    RESERVED(13, 2),
    BITS("BRANCHES", 15, 2, TL_RW, "Causes of replay tags: both bits for mispredicted branches."),
    RESERVED(17, 7),
    BIT("UOP_TAG", 24, TL_RW, "Replays tag uops."),
    BIT("ENABLE_PEBS_MY_THR", 25, TL_RW, "Samples the thread that executes the access."),
    BIT("ENABLE_PEBS_OTH_THR", 26, TL_RW, "Samples the other thread."),
    RESERVED(27, 37),
};
static const tl_field matrix_fields[] = {
    BIT("LOADS", 0, TL_RW, "Replays tag loads."), BIT("STORES", 1, TL_RW, "Replays tag addresses of stores."), RESERVED(2, 2),
    BIT("BRANCHES", 4, TL_RW, "Replays tag branches."), RESERVED(5, 59),
};
static const tl_field ds_fields[] = {BITS("ADDRESS", 0, 64, TL_RW, "Linear address of the debug store area of this thread.")};

static const tl_field cap_fields[] = {
    {.name = "VERSION", .lsb = 0, .width_bits = 8, .access = TL_RO, .reset = 2, .meaning = "Version of the extension."},
    BITS("THREADS", 8, 8, TL_RO, "Threads of the core."),
    {.name = "BANKS", .lsb = 16, .width_bits = 8, .access = TL_RO, .reset = TL_NBX_BANKS, .meaning = "Banks of counters."},
    RESERVED(24, 40),
};
static const tl_field xescr_fields[] = {
    BITS("USR", 0, 32, TL_RW, "Counts these threads at CPL 1 to 3; bits 0 and 1 are T0_USR and T1_USR of the ESCR."),
    BITS("OS", 32, 32, TL_RW, "Counts these threads at CPL 0; bits 32 and 33 are T0_OS and T1_OS of the ESCR."),
};
static const tl_field xcccr_fields[] = {
    BITS("LEAST", 0, 8, TL_RW, "Counts while at least so many threads are active; ACTIVE_THREAD of the CCCR shows both bounds."),
    BITS("MOST", 8, 8, TL_RW, "Counts while at most so many threads are active."),
    RESERVED(16, 16),
    BITS("ACTIVE", 32, 32, TL_RW, "Counts while all of these threads are active."),
};
static const tl_field idle_fields[] = {BITS("IDLE", 0, 32, TL_RW, "Counts while none of these threads is active."), RESERVED(32, 32)};
static const tl_field control_fields[] = {
    BIT("BY_ROOT", 0, TL_RW, "Tags of contexts follow the register of the page-table root (satp), or the process under the user-mode personality; off: software writes NBX_CONTEXT."),
    BIT("EXTENDED", 1, TL_RW, "Records have 64 bytes more."),
    RESERVED(2, 62),
};
static const tl_field context_fields[] = {BITS("TAG", 0, 64, TL_RW, "Tag of the context that this thread runs.")};
static const tl_field random_fields[] = {
    BITS("MASK", 0, 32, TL_RW, "Bits of a reset value that are replaced by random ones."),
    BITS("SEED", 32, 32, TL_RW, "State of the generator; a write of 0 is one of 1."),
};
static const tl_field sample_fields[] = {BITS("COUNTERS", 0, 18, TL_RW, "Counters that sample with NBX_PRESET#."), RESERVED(18, 46)};
static const tl_field banked_fields[] = {
    BITS("COUNTERS", 0, 18, TL_RW, "Counters that have a bank for each tag."), RESERVED(18, 14),
    BITS("THREAD1", 32, 18, TL_RW, "Those of them that follow the tag of thread 1; others follow thread 0."), RESERVED(50, 14),
};
static const tl_field bank_fields[] = {BITS("BANK", 0, 8, TL_RW, "Bank that NBX_BANK_TAG and NBX_BANK_COUNTER# show."), RESERVED(8, 56)};
static const tl_field tag_fields[] = {BITS("TAG", 0, 64, TL_RO, "Tag of the bank; all ones: several tags share it.")};
static const tl_field bank_status_fields[] = {
    BITS("USED", 0, 8, TL_RO, "Banks that have a tag."), BIT("FULL", 8, TL_RO, "There were more tags, and they share the last bank."), RESERVED(9, 55),
};
static const tl_field filter_fields[] = {BITS("TAG", 0, 64, TL_RW, "Tag that the counter counts, in the bits of NBX_FILTER_MASK#.")};
static const tl_field mask_fields[] = {BITS("MASK", 0, 64, TL_RW, "Bits of tags that are compared; 0: the counter has no filter.")};

// ---- registers

#define FIELDS(table) .fields = table, .n_fields = TL_COUNT_OF(table)
#define COUNTERS(title, first, n) \
    {.name = title, .addr = TL_MSR_COUNTER + (first), .count = n, .width_bits = 64, FIELDS(counter_fields), .written = changed, .cite = SDM, \
     .meaning = "Counters of a block."}
#define CCCRS(title, first, n, table, hook) \
    {.name = title, .addr = TL_MSR_CCCR + (first), .count = n, .width_bits = 64, FIELDS(table), .written = hook, .cite = SDM, \
     .meaning = "Configuration of the counters of a block."}
#define PLAIN(id, msr) \
    {.name = "MSR_" #id, .addr = msr, .width_bits = 64, FIELDS(escr_fields), .written = changed, .cite = SDM, .meaning = "Event selection of a detector."}
#define SOME(id, msr, hook, source) \
    {.name = "MSR_" #id, .addr = msr, .width_bits = 64, FIELDS(escr_fields), .presence = hook, .written = changed, .cite = source, .meaning = "Event selection of a detector."}

// Counters, CCCRs and ESCRs each lie in one piece, in the order of their numbers.
static const tl_reg regs[] = {
    COUNTERS("MSR_BPU_COUNTER#", 0, 4),
    COUNTERS("MSR_MS_COUNTER#", 4, 4),
    COUNTERS("MSR_FLAME_COUNTER#", 8, 4),
    COUNTERS("MSR_IQ_COUNTER#", 12, 6),
    CCCRS("MSR_BPU_CCCR#", 0, 4, cccr_fields, bpu_written),
    CCCRS("MSR_MS_CCCR#", 4, 4, cccr_fields, ms_written),
    CCCRS("MSR_FLAME_CCCR#", 8, 4, cccr_fields, flame_written),
    CCCRS("MSR_IQ_CCCR#", 12, 6, iq_cccr_fields, iq_written),
    PLAIN(BSU_ESCR0, 0x3a0), PLAIN(BSU_ESCR1, 0x3a1), PLAIN(FSB_ESCR0, 0x3a2), PLAIN(FSB_ESCR1, 0x3a3),
    PLAIN(FIRM_ESCR0, 0x3a4), PLAIN(FIRM_ESCR1, 0x3a5), PLAIN(FLAME_ESCR0, 0x3a6), PLAIN(FLAME_ESCR1, 0x3a7),
    PLAIN(DAC_ESCR0, 0x3a8), PLAIN(DAC_ESCR1, 0x3a9), PLAIN(MOB_ESCR0, 0x3aa), PLAIN(MOB_ESCR1, 0x3ab),
    PLAIN(PMH_ESCR0, 0x3ac), PLAIN(PMH_ESCR1, 0x3ad), PLAIN(SAAT_ESCR0, 0x3ae), PLAIN(SAAT_ESCR1, 0x3af),
    PLAIN(U2L_ESCR0, 0x3b0), PLAIN(U2L_ESCR1, 0x3b1), PLAIN(BPU_ESCR0, 0x3b2), PLAIN(BPU_ESCR1, 0x3b3),
    PLAIN(IS_ESCR0, 0x3b4), PLAIN(IS_ESCR1, 0x3b5), PLAIN(ITLB_ESCR0, 0x3b6), PLAIN(ITLB_ESCR1, 0x3b7),
    PLAIN(CRU_ESCR0, 0x3b8), PLAIN(CRU_ESCR1, 0x3b9), SOME(IQ_ESCR0, 0x3ba, if_early_model, SDM), SOME(IQ_ESCR1, 0x3bb, if_early_model, SDM),
    PLAIN(RAT_ESCR0, 0x3bc), PLAIN(RAT_ESCR1, 0x3bd), PLAIN(SSU_ESCR0, 0x3be), SOME(SSU_ESCR1, 0x3bf, if_ssu_escr1, LINUX),
    PLAIN(MS_ESCR0, 0x3c0), PLAIN(MS_ESCR1, 0x3c1), PLAIN(TBPU_ESCR0, 0x3c2), PLAIN(TBPU_ESCR1, 0x3c3),
    PLAIN(TC_ESCR0, 0x3c4), PLAIN(TC_ESCR1, 0x3c5), PLAIN(IX_ESCR0, 0x3c8), PLAIN(IX_ESCR1, 0x3c9),
    PLAIN(ALF_ESCR0, 0x3ca), PLAIN(ALF_ESCR1, 0x3cb), PLAIN(CRU_ESCR2, 0x3cc), PLAIN(CRU_ESCR3, 0x3cd),
    PLAIN(CRU_ESCR4, 0x3e0), PLAIN(CRU_ESCR5, 0x3e1),
    {.name = "IA32_MISC_ENABLE", .addr = TL_MSR_MISC_ENABLE, .width_bits = 64, FIELDS(misc_fields), .cite = SDM, .meaning = "Features of the processor."},
    {.name = "MSR_DEBUGCTLA", .addr = TL_MSR_DEBUGCTLA, .width_bits = 64, FIELDS(debug_fields), .cite = SDM, .meaning = "Branch traces, which this model does not have."},
    {.name = "MSR_TC_PRECISE_EVENT", .addr = TL_MSR_TC_PRECISE_EVENT, .width_bits = 64, FIELDS(precise_fields), .written = changed, .cite = SDM, .meaning = "Front-end tags of trace-cache events."},
    {.name = "MSR_PEBS_ENABLE", .addr = TL_MSR_PEBS_ENABLE, .width_bits = 64, FIELDS(pebs_fields), .read = show_pebs_enable, .written = pebs_enable_written, .cite = SDM, .meaning = "Precise sampling, and causes of replay tags."},
    {.name = "MSR_PEBS_MATRIX_VERT", .addr = TL_MSR_PEBS_MATRIX_VERT, .width_bits = 64, FIELDS(matrix_fields), .written = changed, .cite = SDM, .meaning = "Kinds of uops that replays tag."},
    {.name = "IA32_DS_AREA", .addr = TL_MSR_DS_AREA, .width_bits = 64, FIELDS(ds_fields), .read = show_ds_area, .written = ds_area_written, .cite = SDM, .meaning = "Debug store area; each thread has its own."},
    {.name = "NBX_CAP", .addr = TL_MSR_NBX_CAP, .width_bits = 64, FIELDS(cap_fields), .presence = if_nbx, .read = show_cap, .cite = NBX, .meaning = "Tells that the extension is there; key netburst.nbx."},
    {.name = "NBX_CONTROL", .addr = TL_MSR_NBX_CONTROL, .width_bits = 64, FIELDS(control_fields), .presence = if_nbx, .written = changed, .cite = NBX, .meaning = "Switches of the extension."},
    {.name = "NBX_CONTEXT", .addr = TL_MSR_NBX_CONTEXT, .width_bits = 64, FIELDS(context_fields), .presence = if_nbx, .read = show_context, .written = context_written, .cite = NBX, .meaning = "Tag of the context; each thread has its own."},
    {.name = "NBX_RANDOM", .addr = TL_MSR_NBX_RANDOM, .width_bits = 64, FIELDS(random_fields), .presence = if_nbx, .written = random_written, .cite = NBX, .meaning = "Periods that vary."},
    {.name = "NBX_SAMPLE", .addr = TL_MSR_NBX_SAMPLE, .width_bits = 64, FIELDS(sample_fields), .presence = if_nbx, .written = changed, .cite = NBX, .meaning = "Counters that sample by assists."},
    {.name = "NBX_BANKED", .addr = TL_MSR_NBX_BANKED, .width_bits = 64, FIELDS(banked_fields), .presence = if_nbx, .written = banked_written, .cite = NBX, .meaning = "Counters that have banks."},
    {.name = "NBX_BANK", .addr = TL_MSR_NBX_BANK, .width_bits = 64, FIELDS(bank_fields), .presence = if_nbx, .cite = NBX, .meaning = "Choice of a bank."},
    {.name = "NBX_BANK_TAG", .addr = TL_MSR_NBX_BANK_TAG, .width_bits = 64, FIELDS(tag_fields), .presence = if_nbx, .read = show_tag, .cite = NBX, .meaning = "Tag of the chosen bank."},
    {.name = "NBX_BANK_STATUS", .addr = TL_MSR_NBX_BANK_STATUS, .width_bits = 64, FIELDS(bank_status_fields), .presence = if_nbx, .read = show_status, .written = status_of_banks_written, .cite = NBX, .meaning = "Use of the banks; a write empties all."},
    {.name = "NBX_XESCR#", .addr = TL_MSR_NBX_XESCR, .count = TL_N_ESCRS, .width_bits = 64, FIELDS(xescr_fields), .presence = if_escr, .read = show_xescr, .written = xescr_written, .cite = NBX, .meaning = "Threads of a detector; the number is that of the ESCR in the order of addresses."},
    {.name = "NBX_XCCCR#", .addr = TL_MSR_NBX_XCCCR, .count = TL_NETBURST_COUNTERS, .width_bits = 64, FIELDS(xcccr_fields), .presence = if_nbx, .written = xcccr_written, .cite = NBX, .meaning = "Active threads while which a counter counts."},
    {.name = "NBX_IDLE#", .addr = TL_MSR_NBX_IDLE, .count = TL_NETBURST_COUNTERS, .width_bits = 64, FIELDS(idle_fields), .presence = if_nbx, .written = changed, .cite = NBX, .meaning = "Threads that must be idle while a counter counts."},
    {.name = "NBX_FILTER#", .addr = TL_MSR_NBX_FILTER, .count = TL_NETBURST_COUNTERS, .width_bits = 64, FIELDS(filter_fields), .presence = if_nbx, .written = changed, .cite = NBX, .meaning = "Context that a counter counts."},
    {.name = "NBX_FILTER_MASK#", .addr = TL_MSR_NBX_FILTER_MASK, .count = TL_NETBURST_COUNTERS, .width_bits = 64, FIELDS(mask_fields), .presence = if_nbx, .written = changed, .cite = NBX, .meaning = "Bits of tags that the filter compares."},
    {.name = "NBX_PRESET#", .addr = TL_MSR_NBX_PRESET, .count = TL_NETBURST_COUNTERS, .width_bits = 64, FIELDS(counter_fields), .presence = if_nbx, .cite = NBX, .meaning = "First value in a new bank, and after a sample."},
    {.name = "NBX_BANK_COUNTER#", .addr = TL_MSR_NBX_BANK_COUNTER, .count = TL_NETBURST_COUNTERS, .width_bits = 64, FIELDS(counter_fields), .presence = if_nbx, .read = show_bank_counter, .written = bank_counter_written, .cite = NBX, .meaning = "Counter of the chosen bank."},
};
const tl_regmap tl_netburst_regmap = {.space = "MSR", .access = "CSR nbindex (0x5c0) takes an address, and CSR nbdata (0x5c1) is the MSR there; RDPMC n is CSR 0xcc0 + n, its low half 0xce8 + n.", .regs = regs, .n_regs = TL_COUNT_OF(regs)};

// A one in the upper half of an ESCR or CCCR always faults; in other reserved bits of a CCCR, if
// the machine is strict.
uint64_t tl_netburst_reserved_bits(const tl_netburst *n, const tl_reg_at *at) {
    const tl_reg *reg = at->reg;
    const bool is_cccr = reg->addr >= TL_MSR_CCCR && reg->addr < TL_MSR_CCCR + TL_NETBURST_COUNTERS;
    const bool is_escr = reg->fields == escr_fields;
    uint64_t reserved = is_cccr || is_escr ? UINT64_C(0xffffffff) << 32 : 0;
    if (is_cccr && n->settings.strict) {
        reserved |= 0x7ff | 3 << 28;
        if (reg->fields != iq_cccr_fields || !extended_if_any(&n->threads[0]->pmu.file, at->index, 0, 1))
            reserved |= TL_CCCR_EXTENDED_CASCADE;
    }
    return reserved;
}
