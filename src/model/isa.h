// SPDX-License-Identifier: MIT
// The row of an instruction set for ISA-neutral parts: the size of its hart, its page tables, its
// protection of physical memory, its trap numbers. tl_engine_type.isa names the row that an engine
// executes (model/engine.h).
#ifndef TL_MODEL_ISA_H
#define TL_MODEL_ISA_H

#include "model/hart.h"

// A page as a walk found it.
typedef struct tl_page {
    uint64_t vaddr, paddr; // of the page
    // 0 to 3: 4 KiB, and 512 times as large with each level; TL_PAGE_64K, TL_PAGE_512M.
    uint8_t level;
    uint8_t flags; // TL_PAGE_*
    // Of an ISA whose TLBs have tags (tl_regime). block_level: of the table entry, which may map
    // more than the page.
    uint8_t world, block_level;
    uint16_t asid;
    uint16_t attributes; // TL_ATTRIBUTE_NON_GLOBAL; the other bits are the ISA's
} tl_page;
_Static_assert(sizeof(tl_page) == 24, "a refill of a TLB copies three words");
enum { TL_ATTRIBUTE_NON_GLOBAL = 1 << 15 }; // only the address space `asid` has the page
enum { TL_PAGE_BITS = 12, TL_LEVEL_BITS = 9, TL_PAGE_64K = 4, TL_PAGE_512M = 5, TL_N_PAGE_LEVELS = 6 };
// The address bits that name a page of this level.
static inline uint64_t tl_page_mask(uint32_t level) {
    const uint32_t bits = level < TL_PAGE_64K ? TL_PAGE_BITS + TL_LEVEL_BITS * level : level == TL_PAGE_64K ? 16 : 29;
    return ~UINT64_C(0) << bits;
}

typedef enum tl_fault { TL_FAULT_NONE, TL_FAULT_PAGE, TL_FAULT_ACCESS, TL_FAULT_MISALIGNED, TL_N_FAULTS } tl_fault;

// One walk. The memory system provides `read` and `write` of page-table entries. Both take time,
// count, and may return TL_FAULT_ACCESS.
typedef struct tl_page_walk tl_page_walk;

// A table of the last level, as walk caches keep it.
typedef struct tl_walk_table {
    uint64_t vaddr, paddr; // first address that it translates; of the table
    uint8_t span_log2;     // it translates so many bytes; 0: no table
    uint8_t world;
    uint16_t asid;
    uint16_t attributes; // the ISA's: what the tables above say about all pages
} tl_walk_table;

struct tl_page_walk {
    const tl_hart *h;
    uint64_t vaddr;
    tl_access access;
    const tl_rights *rights; // the page must permit these
    tl_fault (*read)(const tl_page_walk *walk, uint64_t paddr, uint64_t *ret_entry);
    tl_fault (*write)(const tl_page_walk *walk, uint64_t paddr, uint64_t entry);
    // The walk cache. recall: finds the table of walk->vaddr, of this span. NULL: there is none.
    bool (*recall)(const tl_page_walk *walk, uint32_t span_log2, tl_walk_table *ret_table);
    void (*keep)(const tl_page_walk *walk, const tl_walk_table *table);
    void *ctx; // of these functions
};

typedef struct tl_stretch { // of physical addresses: start <= address < end
    uint64_t start, end;
} tl_stretch;

// General registers by their role in the psABI.
typedef enum tl_role {
    TL_ROLE_RESULT, // of a system call
    // The first of six neighboring registers: arguments of a system call or of a function.
    TL_ROLE_ARGUMENTS,
    TL_ROLE_SYSTEM_CALL, // number of the system call
    TL_ROLE_STACK,
    TL_ROLE_FRAME,
    TL_ROLE_RETURN, // address
    TL_N_ROLES
} tl_role;

// The kind of a trap, independent of the ISA's number.
typedef enum tl_trap_kind {
    TL_TRAP_ILLEGAL,
    TL_TRAP_SYSTEM_CALL,
    TL_TRAP_BREAKPOINT,
    TL_TRAP_FETCH, // page or protection
    TL_TRAP_LOAD_PAGE,
    TL_TRAP_LOAD_ACCESS,
    TL_TRAP_STORE_PAGE,
    TL_TRAP_STORE_ACCESS,
    TL_TRAP_MISALIGNED,
} tl_trap_kind;
enum { TL_MAX_CAUSES = 64 };

// Where the trap that the engine stopped with leads, for a sentence about a handler that traps
// itself.
typedef struct tl_trap_handler {
    bool is_own;                          // the level of the hart takes the trap
    uint64_t pc, return_pc;               // of the handler; as the last trap left it
    const char *vector_name, *cause_name; // "mtvec", "mcause"
    uint64_t vector, cause;               // what these registers hold
    bool is_physical;                     // the handler is fetched untranslated
} tl_trap_handler;

typedef struct tl_isa {
    const char *name;          // "riscv64"
    tl_isa_number number;      // of machines that execute it
    uint16_t elf_machine;      // e_machine of its programs
    uint8_t views[TL_N_PRIVS]; // of each privilege level
    uint32_t hart_bytes;       // of its hart, which begins with a tl_hart
    uint32_t registers_offset; // offset in the hart of the registers that instructions use most
    // Readies a zeroed hart for the user-mode personality: level 0, untranslated.
    void (*init)(tl_hart *h);
    // Names another address space: writes h->context and h->regime. The caller flushes the TLBs.
    void (*set_context)(tl_hart *h, uint64_t context);
    // A port with registers came to h->pmus or left: finds the registers of all ports anew.
    void (*pmus_changed)(tl_hart *h);
    // Finds a page and sets its accessed and dirty bits. TL_FAULT_PAGE: there is no page, or it
    // does not permit the access.
    tl_fault (*walk)(const tl_page_walk *walk, tl_page *ret_page);
    // Returns whether protection permits the access of this view at paddr. *ret_around: a stretch
    // around paddr with one answer. A page never has two answers.
    bool (*permits)(const tl_hart *h, uint64_t paddr, tl_access access, uint32_t view, tl_stretch *ret_around);
    uint32_t n_page_levels; // tl_page.level of its pages is less
    // System software. power_on leaves the hart at its highest level, everything off, and sets
    // h->is_privileged. take_exception takes what the engine stopped with (h->trap_cause,
    // h->trap_value, h->pc), and leaves h at the handler. next_interrupt: the interrupt that must
    // be taken now; false: none.
    void (*power_on)(tl_hart *h);
    void (*take_exception)(tl_hart *h);
    bool (*next_interrupt)(const tl_hart *h, tl_irq *ret_irq);
    void (*take_interrupt)(tl_hart *h, tl_irq irq);
    void (*handler)(const tl_hart *h, tl_trap_handler *ret_handler); // of that exception
    // TL_PMU_*, as they would be at this level. NULL: none.
    uint32_t (*pmu_state)(const tl_hart *h, tl_priv priv);
    // TL_PMU_OUTSIDE_DENIED has refused an access of a window. NULL: the hart keeps no note of it.
    void (*pmu_refused)(tl_hart *h);
    void (*pmu_interrupt)(tl_hart *h, bool level); // TL_IRQ_PMU; NULL: it leads nowhere
    // tl_hart.trap_cause of faults that memory finds.
    uint8_t causes[TL_N_FAULTS][TL_N_ACCESSES];
    uint8_t trap_kinds[TL_MAX_CAUSES]; // tl_trap_kind by trap_cause
    uint32_t roles[TL_N_ROLES];        // offsets in its hart
    // Writes an instruction in assembly language, at most size - 1 characters. NULL: it cannot.
    void (*disassemble)(uint32_t bits, uint64_t pc, char *buffer, size_t size);
    // Where a direct branch, jump or call at pc leads. UINT64_MAX: the instruction is none of them.
    uint64_t (*target)(uint32_t bits, uint64_t pc);
} tl_isa;

static inline uint64_t *tl_hart_register(tl_hart *h, tl_role role) { return (uint64_t *)(void *)((uint8_t *)h + h->isa->roles[role]); }
static inline uint64_t tl_hart_register_value(const tl_hart *h, tl_role role) {
    return *(const uint64_t *)(const void *)((const uint8_t *)h + h->isa->roles[role]);
}

// Records a fault of memory; returns false so that accesses can end with it.
static inline bool tl_trap_fault(tl_hart *h, tl_fault fault, tl_access access, uint64_t vaddr) {
    return tl_trap(h, h->isa->causes[fault][access], vaddr);
}

#endif
