// SPDX-License-Identifier: MIT
// The performance monitoring of the Pentium 4 (NetBurst): 46 detectors, each programmed by an ESCR,
// and 18 counters, each programmed by a CCCR. A tl_netburst belongs to a core and its two threads,
// which share all registers but IA32_DS_AREA.
//
// tl_netburst knows no core. It is told of each clock, and counts. feed.c connects it to the harts
// of a machine. docs/netburst.md has the rules.
#ifndef TL_PMU_NETBURST_NETBURST_H
#define TL_PMU_NETBURST_NETBURST_H

#include "model/pmu.h"

enum {
    TL_NETBURST_COUNTERS = 18,
    TL_NETBURST_THREADS = 2,
    TL_NETBURST_WIDTH_BITS = 40,
    TL_NETBURST_MAX_OUTPUT = 15, // of a detector, in one clock
    TL_NETBURST_PEBS_T0 = 16,    // the counter that samples thread 0; the next one samples thread 1
};
#define TL_NETBURST_VALUE ((UINT64_C(1) << TL_NETBURST_WIDTH_BITS) - 1)

typedef enum tl_netburst_block { TL_BLOCK_BPU, TL_BLOCK_MS, TL_BLOCK_FLAME, TL_BLOCK_IQ, TL_N_BLOCKS } tl_netburst_block;

// An ESCR, and the detector that it programs: rows of escrs.def, in the order of their addresses.
typedef enum tl_escr {
#define ESCR(id, msr, block, parity, select) TL_##id,
#include "pmu/netburst/escrs.def"
#undef ESCR
    TL_N_ESCRS
} tl_escr;

// ESCR: bits 3:0 choose threads and their privilege, USR or OS.
enum {
    TL_ESCR_T1_USR = 1 << 0,
    TL_ESCR_T1_OS = 1 << 1,
    TL_ESCR_T0_USR = 1 << 2,
    TL_ESCR_T0_OS = 1 << 3,
    TL_ESCR_TAG_ENABLE = 1 << 4,
    TL_ESCR_TAG_VALUE_LSB = 5, // 4 bits
    TL_ESCR_MASK_LSB = 9,      // 16 bits
    TL_ESCR_EVENT_LSB = 25,    // 7 bits
};

enum {
    TL_CCCR_EXTENDED_CASCADE = 1 << 11,
    TL_CCCR_ENABLE = 1 << 12,
    TL_CCCR_SELECT_LSB = 13, // 3 bits
    TL_CCCR_THREAD_LSB = 16, // 2 bits: no thread is active, one is, both are, any number
    TL_CCCR_COMPARE = 1 << 18,
    TL_CCCR_COMPLEMENT = 1 << 19,
    TL_CCCR_THRESHOLD_LSB = 20, // 4 bits
    TL_CCCR_EDGE = 1 << 24,
    TL_CCCR_FORCE_OVF = 1 << 25,
    TL_CCCR_OVF_PMI_T0 = 1 << 26,
    TL_CCCR_OVF_PMI_T1 = 1 << 27,
    TL_CCCR_CASCADE = 1 << 30,
};
#define TL_CCCR_OVF (UINT64_C(1) << 31)

// MSR numbers beside those of escrs.def.
enum {
    TL_MSR_MISC_ENABLE = 0x1a0,
    TL_MSR_DEBUGCTLA = 0x1d9,
    TL_MSR_COUNTER = 0x300, // + counter
    TL_MSR_CCCR = 0x360,    // + counter
    TL_MSR_TC_PRECISE_EVENT = 0x3f0,
    TL_MSR_PEBS_ENABLE = 0x3f1,
    TL_MSR_PEBS_MATRIX_VERT = 0x3f2,
    TL_MSR_DS_AREA = 0x600,
};

// Extension NBX (docs/netburst.md, section 10), in a range of MSRs of its own.
enum {
    TL_NBX_MAX_THREADS = 32,
    TL_NBX_BANKS = 32, // the last one is of all tags for which there is no other
    TL_MSR_NBX_CAP = 0x4e420000,
    TL_MSR_NBX_CONTROL,
    TL_MSR_NBX_CONTEXT, // of the thread
    TL_MSR_NBX_RANDOM,
    TL_MSR_NBX_SAMPLE,
    TL_MSR_NBX_BANKED,
    TL_MSR_NBX_BANK, // that the next two and NBX_BANK_COUNTER# show
    TL_MSR_NBX_BANK_TAG,
    TL_MSR_NBX_BANK_STATUS,
    TL_MSR_NBX_XESCR = 0x4e420100, // + tl_escr
    TL_MSR_NBX_XCCCR = 0x4e420200, // + counter
    TL_MSR_NBX_IDLE = 0x4e420220,  // + counter
    TL_MSR_NBX_FILTER = 0x4e420240,
    TL_MSR_NBX_FILTER_MASK = 0x4e420260,
    TL_MSR_NBX_PRESET = 0x4e420280,
    TL_MSR_NBX_BANK_COUNTER = 0x4e4202a0,
    TL_NBX_BY_ROOT = 1 << 0, // of NBX_CONTROL
    TL_NBX_EXTENDED = 1 << 1,
    TL_NBX_SEED_LSB = 32, // of NBX_RANDOM
    TL_NBX_FULL = 1 << 8, // of NBX_BANK_STATUS
    TL_NBX_THREAD_LSB = 8,
    TL_NBX_OS_LSB = 32,  // of an XESCR: threads in privilege OS; USR from bit 0 up
    TL_NBX_MOST_LSB = 8, // of an XCCCR
    TL_NBX_ACTIVE_LSB = 32,
};
enum {
    TL_PEBS_CAUSES = 0x19fff, // bits 12:0, 15, 16
    TL_PEBS_UOP_TAG = 1 << 24,
    TL_PEBS_MY_THREAD = 1 << 25,
    TL_PEBS_OTHER_THREAD = 1 << 26,
};

// Events, by the number of their row in docs/netburst.md. Codes are only unique within a unit.
typedef enum tl_netburst_event {
    TL_NB_NO_EVENT,
    TL_NB_TC_DELIVER_MODE,
    TL_NB_BPU_FETCH_REQUEST,
    TL_NB_ITLB_REFERENCE,
    TL_NB_MEMORY_CANCEL,
    TL_NB_MEMORY_COMPLETE,
    TL_NB_LOAD_PORT_REPLAY,
    TL_NB_STORE_PORT_REPLAY,
    TL_NB_MOB_LOAD_REPLAY,
    TL_NB_PAGE_WALK_TYPE,
    TL_NB_BSQ_CACHE_REFERENCE,
    TL_NB_IOQ_ALLOCATION,
    TL_NB_IOQ_ACTIVE_ENTRIES,
    TL_NB_FSB_DATA_ACTIVITY,
    TL_NB_BSQ_ALLOCATION,
    TL_NB_BSQ_ACTIVE_ENTRIES,
    TL_NB_SSE_INPUT_ASSIST,
    TL_NB_PACKED_SP_UOP,
    TL_NB_PACKED_DP_UOP,
    TL_NB_SCALAR_SP_UOP,
    TL_NB_SCALAR_DP_UOP,
    TL_NB_64BIT_MMX_UOP,
    TL_NB_128BIT_MMX_UOP,
    TL_NB_X87_FP_UOP,
    TL_NB_X87_SIMD_MOVES_UOP,
    TL_NB_TC_MISC,
    TL_NB_GLOBAL_POWER_EVENTS,
    TL_NB_TC_MS_XFER,
    TL_NB_UOP_QUEUE_WRITES,
    TL_NB_RETIRED_MISPRED_BRANCH_TYPE,
    TL_NB_RETIRED_BRANCH_TYPE,
    TL_NB_RESOURCE_STALL,
    TL_NB_WC_BUFFER,
    TL_NB_B2B_CYCLES,
    TL_NB_BNR,
    TL_NB_SNOOP,
    TL_NB_RESPONSE,
    TL_NB_FRONT_END_EVENT,
    TL_NB_EXECUTION_EVENT,
    TL_NB_REPLAY_EVENT,
    TL_NB_INSTR_RETIRED,
    TL_NB_UOPS_RETIRED,
    TL_NB_UOP_TYPE,
    TL_NB_BRANCH_RETIRED,
    TL_NB_MISPRED_BRANCH_RETIRED,
    TL_NB_X87_ASSIST,
    TL_NB_MACHINE_CLEAR,
    TL_NB_INSTR_COMPLETED,
    TL_NB_N_EVENTS
} tl_netburst_event;

// ---- The record of one clock.

// Something that happened in the clock, or was so during it.
typedef struct tl_netburst_occurrence {
    uint8_t event; // tl_netburst_event
    // TL_ESCR_T1_USR, _T1_OS, _T0_USR or _T0_OS: thread and class of its privilege; 0: no thread
    // owns it. NBX: of a thread beyond the first two, its number from TL_NBX_THREAD_LSB up, and
    // the class as thread 0 has it.
    uint16_t owner;
    uint16_t weight; // adds so much to the output of each detector that selects it
    // Bits of the event mask that select it. Events of IOQ and BSQ: the request, laid out as the
    // mask is. Bits 5 and 6 of IOQ are "is a read" and "is a write" there.
    uint16_t mask;
} tl_netburst_occurrence;

typedef struct tl_netburst_clock {
    uint64_t n_clocks; // so many equal clocks: everything happens in each of them
    // Owner bits of the threads that are active (not halted), each in its class of privilege.
    uint8_t active;
    uint32_t n_occurrences;
    const tl_netburst_occurrence *occurrences;
    uint64_t others; // NBX: active threads beyond the first two, laid out as an XESCR
} tl_netburst_clock;

// ---- The PMU of a core.

// Switches of section "Errata" of docs/netburst.md. AUTO: as the model has it.
typedef enum tl_netburst_switch { TL_NETBURST_AUTO, TL_NETBURST_OFF, TL_NETBURST_ON } tl_netburst_switch;
typedef enum tl_netburst_erratum {
    TL_ERRATUM_IOQ_OLD_LOGIC,
    TL_ERRATUM_IOQ_IGNORES_CPL,
    TL_ERRATUM_IOQ_ESCR0_ONLY,
    TL_ERRATUM_BSQ_REF_FACTOR2,
    TL_ERRATUM_BSQ_ACTIVE_ALTERNATE,
    TL_ERRATUM_CASCADE_NO_PMI,
    TL_ERRATUM_CCCR1_ENABLE_BROKEN,
    TL_ERRATUM_CTR_WRITE_CARRY,
    TL_ERRATUM_CTR_STOP_LOST_CARRY,
    TL_ERRATUM_UNFLAGGED_OVERFLOW,
    TL_ERRATUM_FORCE_OVF_LIVELOCK,
    TL_ERRATUM_BRANCH_TYPE_OVERCOUNT,
    TL_ERRATUM_BSQ_ALLOC_UNDERCOUNT,
    TL_N_ERRATA
} tl_netburst_erratum;

typedef enum tl_netburst_skid { TL_SKID_FIXED, TL_SKID_MECHANISTIC, TL_SKID_CALIBRATED } tl_netburst_skid;

typedef struct tl_netburst_settings { // the keys of a machine description: keys.def
    uint32_t is_present;
    uint32_t model, stepping; // of CPUID family 0FH
    uint32_t ssu_escr1, strict, any_needs_active, power_gate, ds64, nbx;
    uint32_t assist_clocks, pmi_profile, pmi_latency, bus_ratio;
    uint32_t errata_are_none;     // AUTO means OFF
    uint32_t errata[TL_N_ERRATA]; // tl_netburst_switch
} tl_netburst_settings;
extern const tl_netburst_settings tl_netburst_default_settings;

// The surroundings of the PMU. Every function may be NULL.
typedef struct tl_netburst_host {
    void *ctx;
    // The thread gets an interrupt, as its entry of the local vector table says. The entry has
    // masked itself.
    void (*interrupt)(void *ctx, uint32_t thread, bool is_nmi);
    // Called before an access of the thread. The host counts the clocks that have passed.
    void (*catch_up)(void *ctx, uint32_t thread);
    // Reads or writes n_bytes at linear addresses, as system software of the thread may. false:
    // some address is not resident or not permitted.
    bool (*transfer)(void *ctx, uint32_t thread, uint64_t vaddr, void *bytes, uint32_t n_bytes, bool is_write);
    // Registers have changed, and perhaps tl_netburst_is_running.
    void (*configured)(void *ctx);
    // The count of the clock under way raises the interrupt of the counter, or arms it to sample.
    void (*overflowed)(void *ctx, uint32_t counter);
} tl_netburst_host;

typedef struct tl_netburst tl_netburst;

// Memory of debug store areas; `transfer` as in tl_netburst_host.
typedef struct tl_netburst_store {
    void *ctx;
    bool (*transfer)(void *ctx, uint32_t thread, uint64_t vaddr, void *bytes, uint32_t n_bytes, bool is_write);
} tl_netburst_store;
// Areas lie in this memory from now on, because a personality plays a kernel that has none in the
// machine. `store` is copied.
void tl_netburst_set_store(tl_netburst *n, const tl_netburst_store *store);

// n_threads: 1 (without HT) or 2; with NBX, up to TL_NBX_MAX_THREADS. `host` is copied; NULL: none.
TL_MUST_CHECK tl_status tl_netburst_new(const tl_netburst_settings *settings, uint32_t n_threads, const tl_netburst_host *host,
                                        tl_arena *arena, tl_netburst **ret_netburst, tl_error *err);
void tl_netburst_reset(tl_netburst *n);
// As instructions do it in a thread at CPL 0. TL_EINVAL: a general-protection fault, nothing has
// happened: there is no such MSR or counter, or a reserved bit is set.
TL_MUST_CHECK tl_status tl_netburst_rdmsr(tl_netburst *n, uint32_t thread, uint32_t msr, uint64_t *ret_value);
TL_MUST_CHECK tl_status tl_netburst_wrmsr(tl_netburst *n, uint32_t thread, uint32_t msr, uint64_t value);
// `number`: ECX. Bit 31 asks for the low 32 bits.
TL_MUST_CHECK tl_status tl_netburst_rdpmc(tl_netburst *n, uint32_t thread, uint32_t number, uint64_t *ret_value);

// The thread's entry of the local vector table for overflows. Bit 16: masked; it masks itself when
// it delivers. Bits 10:8: 4 for an interrupt that cannot be masked, else an ordinary one.
enum { TL_LVT_MASKED = 1 << 16, TL_LVT_MODE_LSB = 8, TL_LVT_NMI = 4 << TL_LVT_MODE_LSB };
uint32_t tl_netburst_lvt(tl_netburst *n, uint32_t thread);
void tl_netburst_set_lvt(tl_netburst *n, uint32_t thread, uint32_t value);

// The ESCR that feeds the counter by this CCCR.ESCR_SELECT, or TL_N_ESCRS.
tl_escr tl_netburst_route(const tl_netburst *n, uint32_t counter, uint32_t select);

// Counts clocks, in their order.
void tl_netburst_count(tl_netburst *n, const tl_netburst_clock *clock);
// Some counter runs, or will when another one overflows.
bool tl_netburst_is_running(const tl_netburst *n);
// Clocks behind those counted in which no counter interrupts, if no thread tells anything in them;
// UINT64_MAX: none ever does.
uint64_t tl_netburst_quiet_clocks(tl_netburst *n);

// ---- Precise samples.

// An instruction of the thread is about to retire, with these occurrences of its uops. false: the
// core calls tl_netburst_assist, and the instruction begins again. active: as in tl_netburst_clock.
bool tl_netburst_retires(tl_netburst *n, uint32_t thread, const tl_netburst_occurrence *uops, uint32_t n_uops, uint8_t active);
// Something that happens to uops of an instruction when it retires: counters of NBX_SAMPLE sample
// it precisely.
bool tl_netburst_is_of_retirement(uint8_t event);
// An instruction retires that has no occurrence which a sampler of the thread counts. All are
// precise.
void tl_netburst_passes(tl_netburst *n, uint32_t thread);
// How many instructions with this occurrence, all else being equal, may retire before a sampler of
// the thread is armed or captures. UINT64_MAX: no sampler counts it. All are precise.
uint64_t tl_netburst_sampling_room(const tl_netburst *n, uint32_t thread, const tl_netburst_occurrence *what, uint8_t active);
// Counts `times` of them, no more than that room.
void tl_netburst_sample_alike(tl_netburst *n, uint32_t thread, const tl_netburst_occurrence *what, uint8_t active, uint64_t times);
// Stores a sample: flags, address of the instruction, then registers in the order of the record.
enum { TL_NETBURST_RECORD_VALUES = 18 };
void tl_netburst_assist(tl_netburst *n, uint32_t thread, const uint64_t values[TL_NETBURST_RECORD_VALUES]);
// NBX: what an extended record has beside the registers. Called before tl_netburst_assist.
enum { TL_NBX_RECORD_BYTES = 64 };
enum { // of a record
    TL_NBX_IS_PRECISE = 1 << 0,
    TL_NBX_HAS_DATA = 1 << 1,     // the instruction is a load or store, and these are its addresses
    TL_NBX_HAS_PHYSICAL = 1 << 2, // of the two
    TL_NBX_HAS_LATENCY = 1 << 3,
};
typedef struct tl_nbx_access {
    uint64_t clock, n_retired; // retired before it, in the thread
    uint64_t vaddr, paddr;
    uint32_t latency; // clocks from the first dispatch to the result
    uint8_t flags, level, tags;
} tl_nbx_access;
void tl_netburst_note_access(tl_netburst *n, uint32_t thread, const tl_nbx_access *access);
// NBX: the thread's context has this tag from the next clock on that is counted.
void tl_netburst_set_context(tl_netburst *n, uint32_t thread, uint64_t tag);
// An instruction of the thread has retired that nothing could capture.
void tl_netburst_has_retired(tl_netburst *n, uint32_t thread, const tl_netburst_occurrence *uops, uint32_t n_uops, uint8_t active);

// Since reset. n_lost: there was no room; n_faults: the area was not resident.
typedef struct tl_netburst_samples_stored {
    uint64_t n_stored, n_lost, n_faults;
} tl_netburst_samples_stored;
tl_netburst_samples_stored tl_netburst_samples_of(const tl_netburst *n, uint32_t thread);
// Samples of one counter, among those of n_lost.
uint64_t tl_netburst_lost_by(const tl_netburst *n, uint32_t counter);

// ---- The design, as machines attach it.

extern const tl_regmap tl_netburst_regmap;
extern const tl_key tl_netburst_keys[];
extern const tl_pmu_preset *const tl_netburst_presets[];
extern const tl_pmu_type tl_pmu_netburst;
// The PMU of the core that the hart belongs to, and the hart's thread. `pmu` is that of a hart:
// tl_machine_pmu_of(machine, &tl_pmu_netburst, hart). NULL: pmu is NULL.
tl_netburst *tl_netburst_of(const tl_pmu *pmu, uint32_t *ret_thread);
// Of a PMU on a machine: instructions that the thread's hart had retired before the clock in which
// the counter raised its interrupt last, or was armed to sample the next instruction.
uint64_t tl_netburst_overflow_insns(const tl_netburst *n, uint32_t thread, uint32_t counter);

#endif
