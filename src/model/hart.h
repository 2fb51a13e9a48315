// SPDX-License-Identifier: MIT
// One hart as all parts see it: architectural state, the clock, and two direct-mapped tables of
// slots. Slots let a front-end reach memory in a few instructions. All other accesses call
// tl_mem_port.
//
// Hit path. A *data slot* says that a virtual line is in the L1D and its page is in the DTLB. It
// also says that the access is permitted, and names the host address. A hit costs one compare and
// two stamp stores. Stamps are the recency that replacement reads later. FIFO and random
// replacement do not read stamps. Untranslated accesses stamp the sink, stamps[0], instead of a
// page. write_tag is set only while the line is in state M, so a first store to a clean line calls
// the port. The compare includes low address bits, so misaligned and line-crossing accesses call
// the port, too.
//
// A *fetch slot* says that a line is in the L1I and its page is in the ITLB. A fetch slot names the
// physical page, because blocks prove themselves by it.
//
// Only mem/ writes slots. mem/ clears a slot on eviction, probe, invalidation and TLB replacement.
// Each privilege mode has slots of its own (a view), so entering and leaving a kernel clears none.
// The permissions of a slot never change while the slot is valid.
//
// The front-end counts the static share of each retired instruction: class, bytes, and one look-up
// in DTLB and L1D for each load and store. mem/ counts misses, extra look-ups of line crossings,
// walks and stalls of memory. mem/ also counts the store look-up of a successful SC. The front-end
// counts nothing of a faulting access; mem/ counts the DTLB look-up of that access.
#ifndef TL_MODEL_HART_H
#define TL_MODEL_HART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"
#include "model/bpred.h"
#include "model/config.h"
#include "model/hart_signals.h"

// Slots of one view. Views are U, S, M.
enum { TL_DATA_SLOTS = 4096, TL_FETCH_SLOTS = 4096, TL_N_VIEWS = 3 };
// Never equal to a masked address of a valid line.
static const uint64_t TL_NO_LINE = UINT64_MAX;

// Breakpoints. A change of the list increments `generation`. Harts compare `generation` when they
// run next.
enum { TL_MAX_BREAKS = 512, TL_MAX_OWN_BREAKS = 16 };
typedef struct tl_breaks {
    uint64_t filter; // bit (pc >> 1) % 64 is set for each pc
    uint32_t n, generation;
    // Those of the host, then those of the hart's own debug registers.
    uint64_t pc[TL_MAX_BREAKS + TL_MAX_OWN_BREAKS];
} tl_breaks;

static inline uint64_t tl_break_bit(uint64_t pc) { return UINT64_C(1) << (pc >> 1 & 63); }

static inline bool tl_breaks_have(const tl_breaks *breaks, uint64_t pc) {
    if (TL_LIKELY(!(breaks->filter & tl_break_bit(pc))))
        return false;
    for (uint32_t i = 0; i < breaks->n; i++) {
        if (breaks->pc[i] == pc)
            return true;
    }
    return false;
}

typedef struct tl_data_slot {
    uint64_t read_tag;               // virtual address of the line, or TL_NO_LINE
    uint64_t write_tag;              // read_tag when stores may hit, or TL_NO_LINE
    uintptr_t host_minus_vaddr;      // host address of a byte = its vaddr + this (modulo 2^64)
    uint32_t line_stamp, page_stamp; // indices into tl_hart.stamps
} tl_data_slot;

// Four slots share a line of the host's cache. Neighbors in the code are neighbors here.
typedef struct tl_fetch_slot {
    uint64_t key; // both pages in one word (tl_fetch_key), or TL_NO_KEY
    uint32_t line_stamp, page_stamp;
} tl_fetch_slot;

// A key names the virtual and the physical page of a line of RAM. The slot number gives the place
// of the line in the page. Virtual addresses have 49 bits. RAM ends so far below TL_RAM_BASE_PADDR
// + 2^39 that two keys name no page.
enum { TL_KEY_PAGE_LOG2 = 12, TL_KEY_PPN_BITS = 27 };
// An empty slot has TL_NO_KEY; no slot ever has TL_NEVER_KEY.
static const uint64_t TL_NO_KEY = UINT64_MAX, TL_NEVER_KEY = UINT64_MAX - 1;
TL_ALWAYS_INLINE uint64_t tl_fetch_key(uint64_t vline, uint64_t ram_offset) {
    return vline >> TL_KEY_PAGE_LOG2 << TL_KEY_PPN_BITS | ram_offset >> TL_KEY_PAGE_LOG2;
}
TL_ALWAYS_INLINE uint64_t tl_fetch_slot_vpage(const tl_fetch_slot *slot) {
    return (uint64_t)((int64_t)slot->key >> TL_KEY_PPN_BITS) << TL_KEY_PAGE_LOG2;
}
// Returns whether the slot, which tl_fetch_slot_of returned for vaddr, holds the page of vaddr.
TL_ALWAYS_INLINE bool tl_fetch_slot_shows(const tl_fetch_slot *slot, uint64_t vaddr) {
    return tl_fetch_slot_vpage(slot) == vaddr >> TL_KEY_PAGE_LOG2 << TL_KEY_PAGE_LOG2 && slot->key != TL_NO_KEY;
}
// Returns the physical address of vaddr in the page that the slot names.
TL_ALWAYS_INLINE uint64_t tl_fetch_slot_paddr(const tl_fetch_slot *slot, uint64_t vaddr) {
    uint64_t ppn = slot->key & ((UINT64_C(1) << TL_KEY_PPN_BITS) - 1);
    return TL_RAM_BASE_PADDR + (ppn << TL_KEY_PAGE_LOG2 | (vaddr & ((UINT64_C(1) << TL_KEY_PAGE_LOG2) - 1)));
}

// A privilege level, as the ISA numbers them. Programs have level 0; a larger level may do more.
// The header of each ISA names the levels (isa/rv/arch.h).
typedef uint32_t tl_priv;
enum { TL_N_PRIVS = 4 };

// Views of the slots: the privilege levels that memory tells apart. tl_isa.views maps levels to
// views.
enum { TL_VIEW_U, TL_VIEW_S, TL_VIEW_M };

// An interrupt line, as the ISA numbers them.
typedef uint32_t tl_irq;
// The output of a PMU that the board wires to an interrupt controller (tl_isa.pmu_interrupt). Under
// a personality there is none, and the line is the hart's own.
enum { TL_IRQ_PMU = 61 };
// No register shows it. An event of the user-mode personality has overflowed
// (linux/perf/perf_event.h).
enum { TL_IRQ_PERSONALITY = 62 };

enum { TL_TRAP_NOT_YET = 64 }; // trap_cause of the simulator, of no ISA: TL_STOP_WAIT

typedef enum tl_amo { TL_AMO_SWAP, TL_AMO_ADD, TL_AMO_XOR, TL_AMO_AND, TL_AMO_OR, TL_AMO_MIN, TL_AMO_MAX, TL_AMO_MINU, TL_AMO_MAXU } tl_amo;

typedef struct tl_hart tl_hart;

// The permission that an access needs.
typedef enum tl_access { TL_ACCESS_FETCH, TL_ACCESS_LOAD, TL_ACCESS_STORE, TL_N_ACCESSES } tl_access;

// Flags of a page, as a walker reports them and TLBs keep them. Each flag has the bit that RISC-V
// page-table entries give it. mem/ ignores GLOBAL and ACCESSED, and an ISA may give them a meaning
// of its own.
enum {
    TL_PAGE_VALID = 1 << 0,
    TL_PAGE_READ = 1 << 1,
    TL_PAGE_WRITE = 1 << 2,
    TL_PAGE_EXECUTE = 1 << 3,
    TL_PAGE_USER = 1 << 4, // belongs to programs; others belong to the supervisor
    TL_PAGE_GLOBAL = 1 << 5,
    TL_PAGE_ACCESSED = 1 << 6,
    TL_PAGE_DIRTY = 1 << 7, // a store needs no walk
};

// A page permits an access when two conditions hold: it has a flag of `any`, and its flags under
// `mask` equal `wanted`.
typedef struct tl_rights {
    uint8_t any, mask, wanted;
} tl_rights;

// The translation and the permissions of a hart's accesses. The ISA writes a regime and tells the
// memory port about changes. mem/ reads the regime.
typedef struct tl_regime {
    bool is_paged[TL_N_VIEWS]; // false: addresses are physical
    // Loads and stores have the rights of this view. Fetches have the rights of h->view.
    uint8_t data_view[TL_N_VIEWS];
    uint8_t vaddr_bits; // virtual addresses are this many bits wide, sign-extended
    // Fetches of view U may reach pages without TL_PAGE_USER, and those of view S
    // pages with it.
    bool crosses_fetches;
    // Tags of TLB entries, used with tl_config.asid_bits. Entries of another world never match.
    // Entries of another ASID match only if they are global.
    uint8_t world;
    uint16_t asid;
    tl_rights rights[TL_N_VIEWS][TL_N_ACCESSES];
} tl_regime;

static inline bool tl_is_permitted(const tl_rights *rights, uint8_t flags) {
    return (flags & rights->any) != 0 && (flags & rights->mask) == rights->wanted;
}

// Maintenance of a line of data. A changed line goes to the second level (CLEAN_L1) or to memory.
// TL_CLEAN and TL_CLEAN_L1 leave the line where it is, TL_CLEAN_DROP takes it out. Maintenance of a
// way moves its line to the next level.
typedef enum tl_maintenance { TL_CLEAN_L1, TL_CLEAN, TL_CLEAN_DROP } tl_maintenance;

// The TLB entries that maintenance drops: those of this world, and of the conditions that are set.
typedef struct tl_tlb_drop_request {
    uint64_t vaddr;
    uint16_t asid;
    uint8_t world;
    bool by_address;   // whose block has vaddr
    bool by_asid;      // of this address space; with by_address global entries, too
    bool keeps_tables; // entries of the last level only, so walk caches keep theirs
    bool is_broadcast; // on every hart
} tl_tlb_drop_request;

struct tl_page;
struct tl_walk_table;
typedef enum tl_tlb_kind { TL_TLB_FETCH, TL_TLB_DATA, TL_TLB_SECOND } tl_tlb_kind;
// A way of a first-level cache.
typedef struct tl_line_view {
    uint64_t paddr;
    char state; // 'I', 'S', 'E', 'M', 'O'; an instruction cache has I and S
} tl_line_view;

// The slow paths of the memory system. Before a call h->now must be the cycle in which the
// instruction issues. Each call counts, fills slots and stalls. A stall adds to h->now; each of its
// cycles has exactly one cause in the CPI stack. false: the access trapped and moved no data.
// h->trap_cause and h->trap_value then give the reason.
typedef struct tl_mem_port {
    // h->mem_value becomes the bytes, zero-extended.
    bool (*load)(tl_hart *h, uint64_t vaddr, uint32_t size_bytes);
    bool (*store)(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value);
    // Do the look-ups of an aligned load or store that cannot trap. last_byte is the size less one;
    // the size is 1, 2, 4 or 8 bytes. The L1I loses a line only when h->has_lost_fetch is set.
    // Returns the host address of the bytes. NULL: call `load` or `store` at h->now, because
    // nothing but perhaps a translation was done.
    uint8_t *(*reach_load)(tl_hart *h, uint64_t vaddr, uint64_t last_byte);
    uint8_t *(*reach_store)(tl_hart *h, uint64_t vaddr, uint64_t last_byte);
    // Does the look-ups of a load or store and moves no bytes. false: no page of RAM permits it. A
    // device is never accessed.
    bool (*look_up)(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, bool is_store);
    // The look-ups of a store in two steps, of bytes that lie in one page. look_up_store_page:
    // those of the DTLB, before the store has happened. Walks set no bits. false: as look_up.
    // look_up_store_lines: those of the L1D, when it has happened. The bytes are in RAM.
    bool (*look_up_store_page)(tl_hart *h, uint64_t vaddr, uint32_t size_bytes);
    void (*look_up_store_lines)(tl_hart *h, uint64_t paddr, uint32_t size_bytes);
    // h->mem_value becomes the old value, zero-extended.
    bool (*amo)(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, tl_amo amo, uint64_t operand);
    // h->mem_value becomes the bytes, zero-extended.
    bool (*load_reserved)(tl_hart *h, uint64_t vaddr, uint32_t size_bytes);
    // h->mem_value becomes 0 when it stored, else 1.
    bool (*store_conditional)(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value);
    // Does one line look-up. On success the line's fetch slot is valid.
    bool (*fetch)(tl_hart *h, uint64_t vaddr);
    // Returns whether `fetch` would hit ITLB and L1I, and the physical line. Changes and counts
    // nothing.
    bool (*fetch_hits)(tl_hart *h, uint64_t vaddr, uint64_t *ret_pline);
    // Drops all L1I lines and fetch slots.
    void (*drop_code)(tl_hart *h);
    // Drops one page or everything from all TLBs of this hart.
    void (*flush_translation)(tl_hart *h, uint64_t vaddr, bool is_all);
    // drop_code and flush_translation on every hart of the machine.
    void (*broadcast_drop_code)(tl_hart *h);
    void (*broadcast_flush_translation)(tl_hart *h, uint64_t vaddr, bool is_all);
    // h->context and h->regime belong to another address space now. TLBs without tags drop all
    // entries.
    void (*context_changed)(tl_hart *h);
    // Maintenance of TLBs with tags, or without, where no condition on asid and world holds.
    void (*drop_translations)(tl_hart *h, const tl_tlb_drop_request *request);
    // Read what a structure holds, for RAM reads of the ISA and for tests. Nothing is counted or
    // used. `way` and `entry` are set * ways + way. false: there is no such way or entry.
    // table_at: of the walk cache. An invalid page has flags 0, an invalid table span_log2 0.
    bool (*line_at)(const tl_hart *h, bool is_fetch, uint32_t way, tl_line_view *ret_line);
    bool (*page_at)(const tl_hart *h, tl_tlb_kind kind, uint32_t entry, struct tl_page *ret_page);
    bool (*table_at)(const tl_hart *h, uint32_t entry, struct tl_walk_table *ret_table);
    // Maintenance by software, which no hart waits for. An address outside RAM changes nothing.
    // maintain_line: in the data caches of every hart and in the second level. maintain_way: the
    // line of a way of the L1D of this hart (level 1) or of the second level (level 2); other
    // places change nothing. drop_code_line: in the L1I of every hart.
    void (*maintain_line)(tl_hart *h, uint64_t paddr, tl_maintenance what);
    void (*maintain_way)(tl_hart *h, uint32_t level, uint32_t set, uint32_t way, tl_maintenance what);
    void (*drop_code_line)(tl_hart *h, uint64_t paddr);
    // h->regime has other rights or another data_view. Clears slots that contradict them.
    void (*rights_changed)(tl_hart *h, const tl_regime *old);
    void (*protection_changed)(tl_hart *h); // tl_isa.permits has other answers
} tl_mem_port;

// An access of software to a register: what a write does with its operand, or a read.
typedef enum tl_reg_use { TL_REG_WRITE, TL_REG_SET, TL_REG_CLEAR, TL_REG_READ } tl_reg_use;

struct tl_reg_at; // a register, found: model/regmap.h

// The port of a PMU in a hart's register file. While the PMU waits for an overflow, the run loop of
// the hart calls the port. One instance may serve many harts. Timing of effects follows the
// privileged manual, Zicntr and Zihpm. A read sees the value before the effect of the reading
// instruction. A write, an inhibit and a change of mode act after their instruction has been
// counted, in `retired` and `leave_mode`.
typedef struct tl_pmu_port {
    void *ctx;
    // Finds the register with this number in the hart's register space. Called once, when the port
    // is hung into the hart. false: the PMU has no such register. NULL: the PMU has no registers.
    bool (*find)(const void *ctx, uint32_t number, struct tl_reg_at *ret_at);
    // Called before an instruction has any effect. The ISA checks the rules of the number before.
    // false: illegal instruction. NULL: every access is permitted.
    bool (*permits)(void *ctx, const tl_hart *h, const struct tl_reg_at *at, tl_reg_use use, uint64_t operand);
    // Called after `permits` has refused. true: a more privileged level takes the access as a trap.
    // NULL: none does.
    bool (*traps)(void *ctx, const tl_hart *h, const struct tl_reg_at *at, tl_reg_use use);
    // Returns the value. Changes nothing that software can read.
    uint64_t (*read)(void *ctx, tl_hart *h, const struct tl_reg_at *at);
    // Does the side effects of a read; NULL: a read has none.
    void (*was_read)(void *ctx, tl_hart *h, const struct tl_reg_at *at);
    void (*write)(void *ctx, tl_hart *h, const struct tl_reg_at *at, uint64_t value);
    // The instruction that wrote a register has been counted.
    void (*retired)(void *ctx, tl_hart *h);
    // Counting in mode h->priv ends here. Called only when needs_modes is set.
    void (*leave_mode)(void *ctx, tl_hart *h, tl_priv to);
    // Called between two runs. Returns cycles from h->now in which no counter can overflow;
    // UINT64_MAX: no counter waits for an overflow.
    uint64_t (*deadline)(void *ctx, tl_hart *h);
    // Called between two runs. Lowers h->horizon and *insn_limit to where an interrupt arrives that
    // is on its way. Detailed cores stop exactly there. NULL: none ever is.
    void (*arrival)(void *ctx, tl_hart *h, uint64_t *insn_limit);
    void (*poll)(void *ctx, tl_hart *h); // notices overflows that have happened: flags, interrupts
    // tl_isa.pmu_state has another answer for the present level. NULL: the PMU does not ask.
    void (*state_changed)(void *ctx, tl_hart *h);
    // needs_slow_watch: the hart calls `poll` after every access that took a slow path. Counters of
    // misses need this and no deadline. Counters of cycles need both.
    bool needs_modes, needs_slow_watch;
    // No counter waits for an overflow, so nobody calls `deadline`, `arrival` and `poll`. Most PMUs
    // are quiet nearly always.
    bool is_quiet;
} tl_pmu_port;
enum { TL_MAX_PMU_PORTS = 4 };

// The state of a hart, beside its privilege level, that decides whether counters count and whether
// registers can be reached from outside (tl_isa.pmu_state).
enum {
    TL_PMU_SECURE = 1 << 0,         // the level is Secure
    TL_PMU_PROHIBITED = 1 << 1,     // system software forbids counting in this state
    TL_PMU_HALTED = 1 << 2,         // a debugger has stopped the hart
    TL_PMU_OS_LOCKED = 1 << 3,      // the OS lock is set
    TL_PMU_DOUBLE_LOCKED = 1 << 4,  // the OS double lock is in effect
    TL_PMU_OFF = 1 << 5,            // the hart has no power
    TL_PMU_OUTSIDE_DENIED = 1 << 6, // system software forbids accesses from outside
    TL_PMU_MAY_PROHIBIT = 1 << 7,   // another level or security state may answer PROHIBITED
    TL_PMU_CLOSED = 1 << 8,         // authentication inputs forbid debuggers to watch the hart
};

// Markers of a program (guest/include/tally/roi.h). Set tl_hart.mark before a run. TL_MARK_START is
// sent after the marker has retired. TL_MARK_STOP and TL_MARK_NAME are sent before it executes.
typedef enum tl_mark { TL_MARK_START, TL_MARK_STOP, TL_MARK_NAME } tl_mark;
enum { TL_MAX_MARKERS = 64 }; // numbers are below

// Events that may switch contexts. ECALL sends TRAP_ENTRY and ECALL.
// TL_NOTICE_CONTEXT_NAME: a register that only names the context for debuggers was written.
typedef enum tl_notice {
    TL_NOTICE_TRAP_ENTRY,
    TL_NOTICE_TRAP_RETURN,
    TL_NOTICE_ECALL,
    TL_NOTICE_CONTEXT,
    TL_NOTICE_CONTEXT_NAME
} tl_notice;

// The work of the host for a hart, for tl_sampler (session/sampler.h). Front-ends write
// tl_hart.host_phase when it changes.
typedef enum tl_host_phase {
    TL_HOST_ELSEWHERE, // outside front-ends: system calls, devices, the loop of the machine
    TL_HOST_RUNNING,   // executing translated blocks, or functions that they call
    TL_HOST_BUILDING,  // decoding and translating
    TL_HOST_STEPPING,  // one instruction at a time
    TL_HOST_THREADED,  // executing untranslated blocks, or functions that they call
    TL_N_HOST_PHASES
} tl_host_phase;

struct tl_pend; // results still in flight between two fetch runs: model/in_flight.h
struct tl_engine_type;

struct tl_hart {
    // State of every ISA. The hart of an ISA begins with tl_hart and adds registers
    // (isa/rv/hart.h).
    uint64_t pc;
    uint64_t now;     // the cycle this hart stands at; idle time included
    uint64_t instret; // retired so far
    uint64_t stamp;   // grows by one with every look-up of a line
    uint64_t *stamps; // [0] is the sink
    // Host address of RAM. Bytes of paddr are at ram + (paddr - TL_RAM_BASE_PADDR).
    const uint8_t *ram;
    uint32_t line_log2;
    uint64_t line_mask;          // ~(line_bytes - 1)
    uint64_t mem_value;          // result of a tl_mem_port call
    uint64_t *tally;             // this hart's slice: TL_S_*
    const struct tl_pend *pend;  // results in flight at the end of the last fetch run, or NULL
    void *engine_state;          // the front-end's own state
    void *block;                 // the block that the block front-end executes
    uint64_t fast_horizon;       // cycle in which a block front-end leaves its fast path
    uint64_t ahead_horizon;      // fast_horizon for a fetch run that accesses no data
    const struct tl_op *next_op; // without sibling calls: the next operation of the block
    const tl_mem_port *port;
    tl_bpred bp;

    // Control. A front-end returns exactly at insn_limit, and at the first end of a fetch run with
    // now >= horizon. Before a run that may access data, a front-end returns with now >=
    // access_until (isa/rv/step/step.h).
    uint64_t horizon, insn_limit;
    uint64_t run_vline,
        // Line of the fetch run in progress. run_vline TL_NO_LINE: between runs, so the next
        // instruction looks up.
        run_pline;
    uint64_t trap_cause, trap_value; // valid after TL_STOP_TRAP
    // Up to this cycle, the hart comes before all other running harts; UINT64_MAX: it runs alone.
    uint64_t first_until;
    // From this cycle on, only fetch runs that access no data run; UINT64_MAX: all fetch runs do.
    uint64_t access_until;
    // Last close contact with another hart (mem/contest.h), or since when one is likely; 0: never.
    uint64_t shared_cycle;
    // Up to this cycle, a line is likely to move again; tl_hart_note_sharing.
    uint64_t sharing_until;
    // The epoch under way: the cycle of its first turn, and `stamp` at that time.
    uint64_t epoch_cycle, epoch_stamp;
    uint64_t break_pc[2];           // stop before executing these; TL_NO_LINE: none
    const struct tl_breaks *breaks; // further breakpoints; NULL: none
    bool skip_break;                // do not stop at the very next instruction
    // Grows when code bytes or mappings may have changed. Blocks then compare their bytes again.
    uint32_t code_generation;
    tl_priv priv;  // changed by tl_hart_set_priv only
    uint32_t view; // of the slots: 0 U, 1 S, 2 M
    // Machine and supervisor mode exist: system software runs. False: the user-mode personality is
    // the system.
    bool is_privileged;
    // Instructions with floating point trap (RISC-V: mstatus.FS = 0, AArch64: CPACR_EL1 and
    // CPTR_EL3).
    bool is_fp_off;
    bool is_waiting; // WFI retired: nothing runs until an interrupt is pending
    // A device cannot answer the load under way yet. Set by the bus, which refuses the load. The
    // front-end returns TL_STOP_WAIT before the load, and nothing of it is counted.
    bool waits_for_device;
    // An access of data took a line from the L1I. Set by mem/, cleared by block front-ends.
    bool has_lost_fetch;
    bool has_slow_watch; // some PMU has needs_slow_watch
    // Set by a run loop that does nothing at a trap but to take it. The front-end may take a trap
    // to a more privileged level itself, and go on.
    bool takes_traps;
    // The horizon lets no overflow come first. It rests on overshoot_cycles.
    bool has_deadline;
    bool is_interrupted; // the interrupt of an overflow is to be taken now, even within a fetch run
    // wrote_pmu or changes_priv is set: call tl_hart_retired after the instruction under way.
    bool has_after;
    bool wrote_pmu, changes_priv;
    // Halted by a debugger (AArch64: Debug state). The hart waits, and no PMU counts what a
    // debugger makes it do. tl_hart_pmu_state_changed is called after the flag changes.
    bool is_halted;
    tl_priv new_priv;
    uint32_t n_pmus;
    const tl_pmu_port *pmus[TL_MAX_PMU_PORTS];
    // NULL: markers do nothing.
    void (*mark)(void *ctx, const tl_hart *h, tl_mark mark, uint32_t number, uint64_t name_vaddr);
    void *mark_ctx;
    void (*notice)(void *ctx, const tl_hart *h, tl_notice notice); // NULL: notices are dropped
    void *notice_ctx;
    // Interrupts. Software and devices set irqs_pending, which stay set. Only devices lower
    // irq_lines.
    uint64_t irqs_pending, irq_lines, irqs_enabled;
    uint64_t irqs_wired, irqs_present; // bits that irq_lines may have; bits that exist
    // Line reserved by LR, or TL_NO_LINE. Other harts' stores and traps end it (docs/model.md
    // 5.14).
    uint64_t reservation_paddr;
    // Names the address space, as the ISA's walker reads it. RISC-V: satp.
    uint64_t context;
    tl_regime regime;
    uint32_t id;
    // Ticks that software added to machine time by writing the board's timer.
    uint64_t time_offset;
    uint64_t idle_cycles;          // part of now in which the hart had nothing to run,
    uint64_t idle_begin, idle_end; // last stretch of idle cycles
    // Part of `now` that belongs to supervisor mode though priv is U: modeled system calls, faults,
    // switches.
    uint64_t supervisor_cycles;
    // Sums by view, up to the last change of mode. Idle time is excluded.
    uint64_t mode_cycles[TL_N_VIEWS], mode_insns[TL_N_VIEWS];
    // now - idle_cycles, and instret, at that change.
    uint64_t mode_start_cycle, mode_start_insn;
    const tl_config *config;
    void *mem;    // mem/'s own state of this hart
    void *client; // owner of the hart's thread: linux/
    const struct tl_engine_type *engine;
    const struct tl_isa *isa;     // model/isa.h
    volatile uint8_t host_phase;  // tl_host_phase; read by a signal handler of the same thread
    struct tl_code_log *code_log; // model/code_log.h; NULL: host code has no names
    // model/attribution.h; NULL: nothing is booked. Set before the first run.
    struct tl_attribution *attribution;
    const uint8_t *host_code; // where the front-end keeps code that it made, or NULL
    size_t host_code_bytes;
    uint64_t *core_tally; // of the hart's detailed core (model/core.h), or NULL
    tl_hart *core_leader; // the first hart of the core; itself where harts share none
    // A tally: DTLB entries of this hart that fills of the core's other hart replaced. NULL: the
    // hart has no detailed core.
    uint64_t *dtlb_lost;

    _Alignas(64) tl_fetch_slot fetch_slot[TL_N_VIEWS * TL_FETCH_SLOTS];
    // Two slots share a line of the host's cache. None crosses one. Views stand in falling order
    // (tl_first_data_slot). The slots of programs end where the registers of the ISA begin, so
    // translated code reaches both with displacements of one byte.
    _Alignas(64) tl_data_slot data_slot[TL_N_VIEWS * TL_DATA_SLOTS];
};
_Static_assert(offsetof(tl_hart, data_slot) + TL_N_VIEWS * TL_DATA_SLOTS * sizeof(tl_data_slot) == sizeof(tl_hart),
               "data slots end the hart");

static inline uint32_t tl_first_data_slot(uint32_t view) { return (TL_N_VIEWS - 1 - view) * TL_DATA_SLOTS; }

// Returns whether a counter of the hart waits for an overflow.
static inline bool tl_hart_is_watched(const tl_hart *h) {
    for (uint32_t i = 0; i < h->n_pmus; i++)
        if (!h->pmus[i]->is_quiet)
            return true;
    return false;
}

TL_ALWAYS_INLINE tl_data_slot *tl_data_slot_of(tl_hart *h, uint64_t vaddr) {
    return &h->data_slot[tl_first_data_slot(h->view) + ((vaddr >> h->line_log2) & (TL_DATA_SLOTS - 1))];
}

TL_ALWAYS_INLINE tl_fetch_slot *tl_fetch_slot_of(tl_hart *h, uint64_t vaddr) {
    return &h->fetch_slot[h->view * TL_FETCH_SLOTS + ((vaddr >> h->line_log2) & (TL_FETCH_SLOTS - 1))];
}

// Counts a look-up that the slot answers: its line and page are the latest used.
TL_ALWAYS_INLINE void tl_fetch_hit(tl_hart *h, const tl_fetch_slot *slot) {
    uint64_t stamp = ++h->stamp;
    h->stamps[slot->line_stamp] = stamp;
    h->stamps[slot->page_stamp] = stamp;
}

// Host address of an aligned access that hits, stamped as used; NULL: ask the port. size_bytes is a
// power of two up to 8.
TL_ALWAYS_INLINE const uint8_t *tl_read_hit(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) {
    const tl_data_slot *slot = tl_data_slot_of(h, vaddr);
    if (TL_UNLIKELY((vaddr & (h->line_mask | (size_bytes - 1))) != slot->read_tag))
        return NULL;
    uint64_t stamp = ++h->stamp;
    h->stamps[slot->line_stamp] = stamp;
    h->stamps[slot->page_stamp] = stamp;
    const uint8_t *host = (const uint8_t *)(uintptr_t)(vaddr + slot->host_minus_vaddr);
    if (host == NULL)
        __builtin_unreachable(); // so that callers' checks cost nothing
    return host;
}

TL_ALWAYS_INLINE uint8_t *tl_write_hit(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) {
    const tl_data_slot *slot = tl_data_slot_of(h, vaddr);
    if (TL_UNLIKELY((vaddr & (h->line_mask | (size_bytes - 1))) != slot->write_tag))
        return NULL;
    uint64_t stamp = ++h->stamp;
    h->stamps[slot->line_stamp] = stamp;
    h->stamps[slot->page_stamp] = stamp;
    uint8_t *host = (uint8_t *)(uintptr_t)(vaddr + slot->host_minus_vaddr);
    if (host == NULL)
        __builtin_unreachable(); // so that callers' checks cost nothing
    return host;
}

// A line that was not probed for TL_QUIET_CYCLES gets slots again, because calling the port for
// each access takes many times as long as a hit. The next probe then comes late by one turn at
// most.
// An epoch of a hart is at least TL_EPOCH_CYCLES long, and begins with a turn.
enum { TL_QUIET_CYCLES = 100000, TL_EPOCH_CYCLES = 1000 }; // docs/model.md 1.5
// A hart runs so many interleave_cycles ahead of harts that have other address spaces (1.4).
enum { TL_TIMES_APART = 32 };

// Records a close contact of this hart with another hart in `cycle`, or that one is likely. 0:
// forgets.
static inline void tl_hart_note_sharing(tl_hart *h, uint64_t cycle) {
    h->shared_cycle = cycle;
    h->sharing_until = cycle != 0 ? cycle + TL_QUIET_CYCLES : 0;
}

// Makes the front-end return at the end of the fetch run under way, because the machine may have
// work before the next run.
static inline void tl_hart_stop_soon(tl_hart *h) { h->horizon = h->fast_horizon = h->ahead_horizon = 0; }

// tl_hart_hang_pmu hangs a PMU into the hart, before all others if is_first. false: there is no
// room. tl_hart_drop_pmu takes the PMU out again.
bool tl_hart_hang_pmu(tl_hart *h, const tl_pmu_port *port, bool is_first);
void tl_hart_drop_pmu(tl_hart *h, const tl_pmu_port *port);

// Precondition: the instruction under way (h->has_after) has been counted. Applies its writes of
// counters and its change of the privilege mode.
void tl_hart_retired(tl_hart *h);
// Precondition: the tallies are exact between two instructions. Polls every PMU for overflows.
// true: an interrupt is pending, and the front-end stops at this instruction.
bool tl_hart_poll(tl_hart *h);
// tl_isa.pmu_state has another answer for the level of the hart than before.
void tl_hart_pmu_state_changed(tl_hart *h);
// Changes the privilege mode between two instructions, and keeps mode_cycles and mode_insns.
void tl_hart_set_priv(tl_hart *h, tl_priv priv);
// A device, another hart or a PMU drives an interrupt line of this hart. SEI: the interrupt
// controller's line. May be called at any time.
void tl_hart_set_irq(tl_hart *h, tl_irq irq, bool level);

static inline void tl_hart_notice(const tl_hart *h, tl_notice notice) {
    if (h->notice)
        h->notice(h->notice_ctx, h, notice);
}

// Limits a run so that no PMU misses an overflow or the cycle of a sample. Lowers h->horizon while
// the deadline is far, because blocks run as a whole. Lowers *insn_limit close to the deadline.
void tl_hart_limit_to_deadline(tl_hart *h, uint64_t *insn_limit);

// Returns interrupts that are pending and enabled, in any mode. Each of them ends WFI.
static inline uint64_t tl_hart_pending(const tl_hart *h) { return (h->irqs_pending | h->irq_lines) & h->irqs_enabled; }

// It runs something, or waits for something that it has asked for.
static inline bool tl_hart_has_work(const tl_hart *h) { return h->is_privileged ? !h->is_waiting : h->client != NULL; }

// The hart has nothing to run until this cycle. A cycle that h->now has reached changes nothing.
static inline void tl_hart_idle_until(tl_hart *h, uint64_t cycle) {
    if (cycle <= h->now)
        return;
    h->idle_begin = h->now == h->idle_end ? h->idle_begin : h->now;
    h->idle_end = cycle;
    h->idle_cycles += cycle - h->now;
    h->now = cycle;
}

// Machine time, which CSR time and the timer of the board show.
enum { TL_TIMEBASE_HZ = 10000000 };
uint64_t tl_hart_time(const tl_hart *h, uint64_t cycle);
// Returns the first cycle that shows `time`, modulo 2^64 from the time of cycle 0. UINT64_MAX: no
// cycle shows it.
uint64_t tl_hart_cycle_of_time(const tl_hart *h, uint64_t time);

// Records a trap; returns false so that bodies can end with it.
static inline bool tl_trap(tl_hart *h, uint64_t cause, uint64_t value) {
    h->trap_cause = cause;
    h->trap_value = value;
    return false;
}

#endif
