// SPDX-License-Identifier: MIT
// A machine description as plain values: what session/ reads from YAML and machine/ builds from.
// Every number a model uses stands here; nothing is built from anything else. Units are in the
// names; ranges are enforced by session/description.c and listed in docs/machines.md.
// tl_config_default() is the `rocket` machine.
#ifndef TL_MODEL_CONFIG_H
#define TL_MODEL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

// Memory for decoded code, and as much for translated code, of each hart. Below the least, hardly a
// function fits. The first blocks of a program fit the host's L1I, so their code is sparse:
// it spends bytes where that spares instructions.
enum { TL_CODE_CACHE_BYTES = 24 << 20, TL_MIN_CODE_CACHE_BYTES = 192 << 10, TL_COLD_RUNS = 64, TL_SPARSE_CODE_BYTES = 64 << 10 };

enum { TL_MAX_HARTS = 8, TL_MAX_L2_SLICES = 16, TL_MAX_MEM_CHANNELS = 8, TL_MAX_WAYS = 64, TL_MAX_PARTITIONS = 7 };

// Instruction sets, as key isa names them.
typedef enum tl_isa_number { TL_ISA_RISCV64, TL_ISA_AARCH64, TL_N_ISAS } tl_isa_number;
typedef enum tl_replacement { TL_REPLACE_LRU, TL_REPLACE_PLRU, TL_REPLACE_FIFO, TL_REPLACE_RANDOM } tl_replacement;
typedef enum tl_prefetch { TL_PREFETCH_NONE, TL_PREFETCH_NEXT_LINE } tl_prefetch;
typedef enum tl_write_policy { TL_WRITE_BACK, TL_WRITE_THROUGH } tl_write_policy;
typedef enum tl_l2_fill { TL_FILL_MISS, TL_FILL_EVICT } tl_l2_fill;
typedef enum tl_first_tlb_drop { TL_DROP_MATCHING, TL_DROP_ALL } tl_first_tlb_drop;
// Work of translated code that an access, an entry of a block or a branch has on its hit path.
typedef enum tl_code_part {
    TL_CODE_PART_NONE,
    TL_CODE_DATA_LOOK_UP,  // is the line of an access in the L1D
    TL_CODE_LINE_USE,      // stamp of that line
    TL_CODE_PAGE_USE,      // stamp of its page in the DTLB
    TL_CODE_FETCH_LOOK_UP, // is the line of a block in the L1I
    TL_CODE_FETCH_USE,     // stamps of that line and of its page in the ITLB
    TL_CODE_PREDICTION,    // BTB, counter and history of a branch
    TL_CODE_HIT_PATH,      // all of these
    TL_N_CODE_PARTS
} tl_code_part;
typedef enum tl_bp_kind { TL_BP_BHT, TL_BP_GSHARE, TL_BP_BTFN, TL_BP_NOT_TAKEN, TL_BP_TAGE } tl_bp_kind;

typedef struct tl_cache_config {
    // 0 is an error, because every cache exists. sets = size / (ways * line) must be a power of
    // two.
    uint32_t size_bytes;
    uint32_t ways;       // 1 .. TL_MAX_WAYS; a power of two for plru
    uint32_t line_bytes; // 16 .. 128, a power of two; equal for L1I, L1D and L2
    tl_replacement replacement;
    tl_prefetch prefetch;
} tl_cache_config;

typedef struct tl_tlb_config {
    uint32_t entries; // 0 only for the L2 TLB: none
    uint32_t ways;    // entries == ways: fully associative
    tl_replacement replacement;
} tl_tlb_config;

enum { TL_MAX_TAGE_TABLES = 15 };
typedef struct tl_bp_config {
    tl_bp_kind kind;
    uint32_t counters;     // two-bit counters, a power of two
    uint32_t history_bits; // gshare only
    // Tage only: tagged tables, and entries of each, a power of two.
    uint32_t tables, table_entries;
    uint32_t tag_bits;                 // of the table with the shortest history
    uint32_t min_history, max_history; // bits of the shortest and of the longest history
    uint32_t btb_entries;              // direct-mapped, a power of two
    uint32_t ras_entries;              // 0: none
} tl_bp_config;

// Latency L of a result: a dependent instruction issued d issue slots later (d >= 1) waits max(0, L
// - d) cycles.
typedef struct tl_pipeline_config {
    uint32_t load_use_cycles; // L of a load that hits, 1 = no bubble
    // Latency of a load narrower than 4 bytes, because sign extension takes longer.
    uint32_t load_use_narrow_cycles;
    uint32_t fp_load_use_cycles;
    uint32_t mul_cycles;      // L, pipelined
    uint32_t div_cycles;      // 64-bit: issue is blocked this long in all
    uint32_t div_word_cycles; // 32-bit
    // Latencies; pipelined.
    uint32_t fp_add_cycles, fp_mul_cycles, fp_fma_cycles, fp_convert_cycles, fp_compare_cycles, fp_move_cycles;
    // Latencies; the unit is busy all the time.
    uint32_t fp_div_single_cycles, fp_div_double_cycles, fp_sqrt_single_cycles, fp_sqrt_double_cycles;
    uint32_t csr_cycles;        // extra cycles around a CSR access
    uint32_t fence_cycles;      // extra cycles of FENCE
    uint32_t fence_i_cycles;    // extra cycles of FENCE.I (refills not included)
    uint32_t amo_cycles;        // extra cycles of LR, SC and AMO
    uint32_t misaligned_cycles; // extra cycles of a misaligned load or store
    uint32_t mispredict_cycles; // wrong direction or indirect target
    uint32_t redirect_cycles;   // decode redirects fetch: taken, but not in the BTB
    uint32_t trap_cycles;       // entering a trap
    uint32_t fetch_bytes;       // aligned fetch group: 4 or 8
} tl_pipeline_config;

typedef enum tl_core_kind { TL_CORE_IN_ORDER, TL_CORE_OUT_OF_ORDER } tl_core_kind;

// The structure of an out-of-order core (docs/detailed-core.md). Latencies are those of
// tl_pipeline_config. A mask of ports has bit n for dispatch port n.
enum {
    TL_MAX_THREADS = 2,
    TL_MAX_PORTS = 8,
    TL_MAX_ROB = 512,
    TL_MAX_STORE_BUFFERS = 128,
    TL_MAX_FRONT_CYCLES = 63,
    TL_MAX_TRACE_LINE = 16
};
typedef struct tl_core_config {
    tl_core_kind kind;
    uint32_t threads;     // hardware threads of a core: harts that share it; 0 counts as 1
    uint32_t shares_dtlb; // 1: threads of a core have one DTLB, whose entries belong to threads
    // Instructions in a cycle, and taken control transfers among them.
    uint32_t fetch_width, fetch_taken;
    uint32_t rename_width, issue_width, retire_width; // uops a cycle
    uint32_t front_cycles;                            // from fetch to rename
    uint32_t rob_uops, load_buffers, store_buffers;
    uint32_t memory_queue, general_queue; // uops that were renamed and not dispatched
    uint32_t alu_half_cycles;             // latency of simple integer operations
    uint32_t shift_cycles;                // latency of shifts and bit manipulation
    uint32_t forward_cycles;              // latency of a load that a store buffer serves
    // Rounds of the replay loop; 0: no replay, dependents wait for data.
    uint32_t replay_miss_cycles, replay_cycles;
    uint32_t misses, store_misses; // lines that loads, stores may wait for
    uint32_t split_cycles;         // more for a load that crosses a line
    // Loads and stores in flight are told apart by so many address bits; 0: by all.
    uint32_t alias_bits;
    uint32_t clear_cycles;          // until fetch restarts after a machine clear
    uint32_t alu_ports, fast_ports; // fast: two simple operations a cycle
    // The trace cache; 0 uops: fetch reads the L1I. trace_line_cycles: a line occupies fetch so
    // long. build_width: instructions of a line that is built, in a cycle.
    uint32_t trace_uops, trace_ways, trace_line_uops, trace_line_cycles, trace_branches, build_width;
    uint32_t shift_ports, branch_ports, mul_ports, fp_ports, move_ports, load_ports, store_ports, data_ports;
} tl_core_config;

// Between the L1D of a detailed core and memory: mem/bsq.h.
enum { TL_MAX_SECTORS = 8, TL_MAX_STREAMS = 32, TL_MAX_BUS_QUEUE = 64, TL_MAX_WRITE_BUFFERS = 16 };
typedef struct tl_bsq_config {
    tl_write_policy l1d_write;      // through: a store that misses allocates nothing
    uint32_t write_buffers;         // that combine stores written through; 0: none
    uint32_t sectors;               // lines of one tag of the L2, a power of two; 0 counts as 1
    uint32_t adjacent;              // 1: a miss also fetches the other sectors of its tag
    uint32_t streams, stream_lines; // of the L2's prefetcher, lines ahead; 0 streams: none
    uint32_t queue_entries;         // line transactions with memory under way; 0: no limit
} tl_bsq_config;

typedef struct tl_mem_config {
    uint32_t l2_hit_cycles;  // an L1 miss that hits L2 waits this long
    uint32_t l2_busy_cycles; // a slice is busy this long per request
    uint32_t probe_cycles;   // extra when another L1 had to be probed
    // A store to a shared line waits this long (+ probe_cycles when others hold it).
    uint32_t upgrade_cycles;
    uint32_t l2tlb_hit_cycles; // an L1 TLB miss that hits the L2 TLB
    uint32_t walk_step_cycles; // per PTE read, on top of the data cache's own time
    // From L2 miss to data.
    uint32_t mem_row_hit_cycles, mem_row_miss_cycles, mem_row_conflict_cycles;
    // A channel is busy this long per line.
    uint32_t mem_busy_cycles;
    // For each channel; powers of two.
    uint32_t mem_banks, mem_row_bytes;
    // An uncached load or store takes this long.
    uint32_t mmio_cycles;
} tl_mem_config;

// Values of the keys of all PMU designs, in the order of tl_pmu_types and of their keys
// (machine/keys.c). A value that is not set is the design's default.
enum { TL_MAX_PMU_KEYS = 256 };
typedef struct tl_pmu_values {
    uint64_t is_set[TL_MAX_PMU_KEYS / 64]; // bit i % 64 of word i / 64
    uint64_t values[TL_MAX_PMU_KEYS];
} tl_pmu_values;

typedef struct tl_os_config {
    uint32_t slice_cycles;   // time slice
    uint32_t syscall_cycles; // modeled supervisor time of a system call (on top of trap_cycles)
    uint32_t page_fault_cycles;
    uint32_t switch_cycles; // context switch
    uint32_t signal_cycles; // setting up a signal frame
    // Bit n: programs may read counter n (0 cycle, 1 time, 2 instret, 3 .. hpmcounter3 ..).
    uint32_t user_counters;
} tl_os_config;

// Units that the partitions of a chip share: machine/chip.h.
typedef struct tl_chip_config {
    uint32_t burst_bytes;  // the interconnect root moves so much at a time
    uint32_t slot_cycles;  // for so long
    uint32_t setup_cycles; // from a job's submission to its first burst
    uint32_t queue_bursts; // posted writes of a partition that may wait
} tl_chip_config;

// Instructions that an architecture leaves open in Debug state.
typedef enum tl_unpredictable { TL_AS_UNDEFINED, TL_AS_NOP, TL_AS_EXECUTED } tl_unpredictable;
typedef struct tl_debug_config {
    uint32_t dbgen, niden, spiden, spniden; // authentication inputs of AArch64 harts: 0 or 1
    tl_unpredictable unpredictable;
} tl_debug_config;

typedef struct tl_config {
    char name[64];     // "rocket"
    char summary[160]; // one sentence
    tl_isa_number isa; // that its harts execute
    uint32_t n_harts;  // 1 .. TL_MAX_HARTS
    // 1 .. TL_MAX_PARTITIONS: so many machines of this description are on one chip.
    uint32_t n_partitions;
    uint64_t clock_hz; // what a cycle is worth in guest time
    // A multiple of 1 MiB, 16 MiB .. 64 GiB. Host memory is used only for what is touched.
    uint64_t ram_bytes;
    uint64_t seed;                       // replacement and guest randomness
    uint32_t interleave_cycles;          // harts run in turns of at most this many cycles
    uint64_t mvendorid, marchid, mimpid; // what the identification registers read
    tl_pipeline_config pipeline;
    tl_core_config core;
    tl_bp_config bp;
    tl_cache_config l1i, l1d, l2; // l2: size of the whole, over all slices
    // A power of two; lines are dealt out by their low line-number bits.
    uint32_t l2_slices;
    tl_l2_fill l2_fill; // evict: data comes from evictions of the L1Ds, and nothing is inclusive
    tl_bsq_config bsq;
    tl_tlb_config itlb, dtlb, l2tlb;
    tl_tlb_config walk_cache; // of the tables of the last level; 0 entries: none
    uint32_t asid_bits;       // of the tags of TLBs: 0 (none), 16
    tl_first_tlb_drop first_tlb_drop;
    uint32_t mem_channels; // a power of two
    tl_mem_config mem;
    tl_chip_config chip;
    tl_debug_config debug;
    uint32_t virtio_version; // that the board's virtio transports show: 1 or 2
    tl_os_config os;
    tl_pmu_values pmu;
    // Settings of the host. They are no keys, because no count depends on them.
    uint32_t code_cache_bytes;
    uint32_t n_cold_runs; // of a block before it is translated
    // Translated code of a hart beyond this is dense: its size costs more than its instructions.
    uint32_t sparse_code_bytes;
    tl_code_part repeated_part; // translated code does it twice, and counts it once
} tl_config;
// As tl_run_options.repeated_part names them; NULL for TL_CODE_PART_NONE.
extern const char *const tl_code_part_names[TL_N_CODE_PARTS];

// Harts that share a core and its first-level caches.
static inline uint32_t tl_config_core_threads(const tl_config *config) {
    return config->core.kind == TL_CORE_OUT_OF_ORDER && config->core.threads > 1 ? config->core.threads : 1;
}

// The most instructions, look-ups or uops of one kind that a hart handles in a cycle. A store that
// drains comes beside those that are dispatched.
static inline uint32_t tl_config_core_width(const tl_config *config) {
    const tl_core_config *core = &config->core;
    if (core->kind == TL_CORE_IN_ORDER)
        return 1;
    const uint32_t dispatched = core->issue_width + 1, retired = core->retire_width, fetched = core->fetch_width;
    const uint32_t most = dispatched > retired ? dispatched : retired;
    return most > fetched ? most : fetched;
}

void tl_config_default(tl_config *ret_config);
// Every rule that spans several values: geometry, equal line sizes, an L2 that can include the L1s,
// powers of two, limits of the model. TL_EINVAL names the key as descriptions spell it: "l1d.ways =
// 3: must be a power of two ...".
TL_MUST_CHECK tl_status tl_config_check(const tl_config *config, tl_error *err);

static const uint64_t TL_RAM_BASE_PADDR = UINT64_C(0x80000000);

#endif
