// SPDX-License-Identifier: MIT
// An AArch64 hart: the state that an instruction can name, behind what every hart has
// (model/hart.h).
#ifndef TL_ISA_A64_HART_H
#define TL_ISA_A64_HART_H

#include "isa/a64/arch.h"
#include "model/coresight.h"
#include "model/hart.h"
#include "model/isa.h"
#include "model/regmap.h"

// Register number 31 is the zero register or the stack pointer; operands are decoded to one of
// these. A write of the zero register reaches the sink, which nothing reads.
enum { TL_A64_ZERO = 31, TL_A64_SP = 32, TL_A64_SINK = 33, TL_A64_N_X = 34 };

typedef union tl_a64_vector { // lanes of a SIMD register, lane 0 lowest
    uint8_t b[16];
    uint16_t h[8];
    uint32_t s[4];
    uint64_t d[2];
} tl_a64_vector;

// Stored system registers (sysreg.def).
typedef enum tl_a64_sysreg {
    TL_A64_R_NONE,
#define SYSREG(name, ...) TL_A64_R_##name,
#define RES0(name, ...)
#include "isa/a64/sysreg.def"
#undef SYSREG
#undef RES0
    TL_A64_N_SYSREGS
} tl_a64_sysreg;

// The surroundings of a hart that system software runs on. Each function may be NULL.
typedef struct tl_a64_host {
    void *ctx;
    // Called when a register of the timer was written. tl_a64_timers_tick must be called again.
    void (*timer_changed)(void *ctx, tl_hart *h);
    void (*send_event)(void *ctx, tl_hart *h);                // SEV: every hart gets an event
    void (*pmu_interrupt)(void *ctx, tl_hart *h, bool level); // TL_A64_INTID_PMU
    // The hart has entered Debug state.
    void (*halted)(void *ctx, tl_hart *h);
    // The hart has left Debug state, or steps from now on, or no longer (debug.h). No other hart
    // has a turn before the run loop has looked.
    void (*attend)(void *ctx, tl_hart *h);
    // The hart waits, and tl_a64_debug.leaves rests on that.
    void (*waits)(void *ctx, tl_hart *h);
    void (*power_requested)(void *ctx); // EDPRCR was written
    // EDPRCR.CWRR resets the hart, which stands between two instructions.
    void (*reset)(void *ctx, tl_hart *h);
    uint64_t rom_paddr; // of the ROM table of the debug components; 0: there is none
} tl_a64_host;

enum { TL_A64_MAX_ROUTES = 192 };
typedef struct tl_a64_route { // a register of a PMU
    uint32_t number;
    const tl_pmu_port *port;
    tl_reg_at at;
} tl_a64_route;

// State of exception levels above EL0. The user-mode personality leaves it as tl_isa.init made it.
typedef struct tl_a64_system {
    uint64_t reg[TL_A64_N_SYSREGS];
    uint64_t sp[TL_N_PRIVS]; // SP_ELx; the one in use is x[TL_A64_SP]
    uint32_t daif;           // PSTATE: TL_A64_DAIF
    bool has_own_sp;         // PSTATE.SP
    bool is_illegal;         // PSTATE.IL
    bool is_stepped;         // PSTATE.SS
    bool has_event;          // the event register
    bool is_exclusive;       // neither CLREX nor a store came after the last load-exclusive
    bool waits_for_event;    // is_waiting because of WFE,
    uint64_t next_event;     // and until this cycle at most
    // Follow from the registers and the exception level (tl_a64_regime_changed).
    uint8_t fp_trap_el;      // the level that takes uses of floating point and SIMD; 0: none
    uint8_t tagged;          // bit 0, 1: the top byte of a lower or upper address is a tag
    bool checks_alignment;   // of all data accesses
    bool checks_sp;          // of the stack pointer as a base
    bool is_unprivileged;    // an access of LDTR or STTR trapped at EL1
    uint8_t debug_claim;     // claim tags
    const tl_a64_host *host; // NULL: none
    uint32_t n_routes;
    tl_a64_route routes[TL_A64_MAX_ROUTES];
} tl_a64_system;

// Halting step: EDECR.SS was set when the hart left Debug state.
typedef enum tl_a64_step { TL_A64_STEP_INACTIVE, TL_A64_STEP_NOT_PENDING, TL_A64_STEP_DONE } tl_a64_step;

// A request of the power controller: the core loses power when it waits.
typedef enum tl_a64_leaving { TL_A64_STAYS, TL_A64_LEAVES, TL_A64_LEAVES_UNTIL_INTERRUPT } tl_a64_leaving;

// Debug logic of the core (debug.h). Breakpoints, watchpoints and claim tags are in tl_a64_system.
typedef struct tl_a64_debug {
    bool dbgen, niden, spiden, spniden; // authentication inputs
    bool has_power_domain;              // the debug power domain is on, since the first power-on
    bool is_off;                        // the core power domain
    // Debug power domain.
    tl_coresight component;
    uint32_t edecr;
    bool wants_power; // EDPRCR.COREPURQ
    bool wants_reset; // EDPRCR.CWRR
    tl_a64_leaving leaves;
    // Core power domain.
    uint32_t status; // EDSCR.STATUS
    uint32_t edscr;  // without STATUS and what follows from elsewhere
    uint32_t edesr, edeccr;
    uint32_t sticky; // bits of EDPRSR that a read clears
    uint32_t dtrrx, dtrtx;
    uint32_t dspsr;
    uint64_t dlr, edwar;
    uint64_t sample_pc; // of the last read of EDPCSRlo
    uint32_t sample_context, sample_state;
    uint64_t advanced_from; // instret when PipeAdv was cleared
    bool is_requested;      // the halt request of the CTI
    bool has_catch;         // an exception catch is pending
    bool is_executing;      // an instruction of EDITR
    // Steps. The counts are those before the instruction that is stepped.
    tl_a64_step step;
    bool is_step_exclusive, has_taken; // it is a load-exclusive; an exception was taken
    uint64_t step_instret;
    bool is_software_step;
    uint64_t software_instret;
    bool checks_each;      // a context breakpoint that is not linked is on
    const tl_breaks *user; // of the host
    uint32_t user_generation;
    tl_breaks breaks;         // of the host, and enabled breakpoints
    const tl_mem_port *inner; // while watchpoints are on: the port of memory
    tl_mem_port port;
} tl_a64_debug;

typedef struct tl_a64_words tl_a64_words; // isa/a64/words.h

typedef struct tl_a64_hart {
    tl_hart hart;
    uint64_t x[TL_A64_N_X];
    tl_a64_vector v[32];
    uint32_t nzcv; // TL_A64_N ..
    uint32_t fpcr, fpsr;
    uint64_t tpidr, tpidrro; // of EL0
    tl_a64_words *words;     // of the engine
    tl_a64_system sys;
    tl_a64_debug debug;
} tl_a64_hart;

TL_ALWAYS_INLINE tl_a64_hart *tl_a64_of(tl_hart *h) { return (tl_a64_hart *)(void *)h; }
TL_ALWAYS_INLINE const tl_a64_hart *tl_a64_of_const(const tl_hart *h) { return (const tl_a64_hart *)(const void *)h; }
// The AArch64 hart that `h` is the beginning of, const as `h` is.
#define tl_a64(h) _Generic((h), const tl_hart * : tl_a64_of_const, default : tl_a64_of)(h)

extern const tl_isa tl_isa_a64;

#endif
