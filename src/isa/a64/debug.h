// SPDX-License-Identifier: MIT
// External and self-hosted debug of a core, Armv8.0 (DDI 0487, chapters D2 and H1 to H9): Debug
// state, debug events, the Debug Communications Channel. debug_external.h has the registers as
// another core sees them.
//
// Nothing here costs a hart that is not debugged anything. A request to halt is an interrupt line
// of the hart, TL_A64_HALT. Enabled breakpoints join the host's list of breakpoints. Enabled
// watchpoints put a port before the memory port, and lines that they watch have no slots. A hart
// that steps runs one instruction at a time.
#ifndef TL_ISA_A64_DEBUG_H
#define TL_ISA_A64_DEBUG_H

#include "isa/a64/hart.h"

enum { TL_A64_N_BREAKPOINTS = 6, TL_A64_FIRST_CONTEXT = 4, TL_A64_N_WATCHPOINTS = 4 };

// EDSCR.STATUS, H9.2.41.
enum {
    TL_A64_STATUS_RUNNING = 0x02,
    TL_A64_STATUS_BREAKPOINT = 0x07,
    TL_A64_STATUS_REQUEST = 0x13,
    TL_A64_STATUS_STEP = 0x1b,
    TL_A64_STATUS_STEP_EXCLUSIVE = 0x1f,
    TL_A64_STATUS_OS_UNLOCK = 0x23,
    TL_A64_STATUS_RESET = 0x27,
    TL_A64_STATUS_WATCHPOINT = 0x2b,
    TL_A64_STATUS_HLT = 0x2f,
    TL_A64_STATUS_SOFTWARE_ACCESS = 0x33,
    TL_A64_STATUS_EXCEPTION = 0x37,
    TL_A64_STATUS_STEP_NO_SYNDROME = 0x3b,
};
// Bits of EDSCR, EDESR, EDECR, EDPRSR.
enum {
    TL_A64_EDSCR_ERR = 1 << 6,
    TL_A64_EDSCR_A = 1 << 7,
    TL_A64_EDSCR_EL_LSB = 8,
    TL_A64_EDSCR_RW = 0xf << 10,
    TL_A64_EDSCR_HDE = 1 << 14,
    TL_A64_EDSCR_SDD = 1 << 16,
    TL_A64_EDSCR_NS = 1 << 18,
    TL_A64_EDSCR_MA = 1 << 20,
    TL_A64_EDSCR_TDA = 1 << 21,
    TL_A64_EDSCR_INTDIS_LSB = 22,
    TL_A64_EDSCR_ITE = 1 << 24,
    TL_A64_EDSCR_PIPEADV = 1 << 25,
    TL_A64_EDSCR_TXU = 1 << 26,
    TL_A64_EDSCR_RXO = 1 << 27,
    TL_A64_EDSCR_ITO = 1 << 28,
    TL_A64_EDSCR_TXFULL = 1 << 29,
    TL_A64_EDSCR_RXFULL = 1 << 30,
    TL_A64_EDESR_OSUC = 1 << 0,
    TL_A64_EDESR_RC = 1 << 1,
    TL_A64_EDESR_SS = 1 << 2,
    TL_A64_EDECR_OSUCE = 1 << 0,
    TL_A64_EDECR_RCE = 1 << 1,
    TL_A64_EDECR_SS = 1 << 2,
    TL_A64_EDPRSR_PU = 1 << 0,
    TL_A64_EDPRSR_SPD = 1 << 1,
    TL_A64_EDPRSR_SR = 1 << 3,
    TL_A64_EDPRSR_HALTED = 1 << 4,
    TL_A64_EDPRSR_OSLK = 1 << 5,
    TL_A64_EDPRSR_DLK = 1 << 6,
    TL_A64_EDPRSR_EDAD = 1 << 7,
    TL_A64_EDPRSR_SDAD = 1 << 8,
    TL_A64_EDPRSR_EPMAD = 1 << 9,
    TL_A64_EDPRSR_SPMAD = 1 << 10,
    TL_A64_EDPRSR_SDR = 1 << 11,
};

// Registers that DCPS, DRPS and exceptions in Debug state leave UNKNOWN get this value, so that who
// relies on them notices.
static const uint64_t TL_A64_UNKNOWN = UINT64_C(0x5bad5bad5bad5bad);

// -- Conditions.
bool tl_a64_is_secure(const tl_hart *h);
bool tl_a64_os_locked(const tl_hart *h);
bool tl_a64_double_locked(const tl_hart *h);
bool tl_a64_may_halt(const tl_hart *h); // HaltingAllowed() of the manual
bool tl_a64_halts_on_hlt(const tl_hart *h);
bool tl_a64_halts_on_match(const tl_hart *h);        // matches enter Debug state
bool tl_a64_debug_access(const tl_hart *h);          // AllowExternalDebugAccess()
bool tl_a64_pmu_access(const tl_hart *h);            // AllowExternalPMUAccess()
uint32_t tl_a64_authentication(const tl_hart *h);    // DBGAUTHSTATUS_EL1
bool tl_a64_secure_debug_disabled(const tl_hart *h); // EDSCR.SDD

// -- Debug state.
// Enters. Precondition: the hart stands between two instructions, at h->pc.
void tl_a64_halt(tl_hart *h, uint32_t status);
// Leaves, in the cycle `now` at the earliest. A hart that is not halted goes on.
void tl_a64_restart(tl_hart *h, uint64_t now);
// The CTI asks for Debug state as long as the level is high.
void tl_a64_request_halt(tl_hart *h, bool level);
// Debug state, entered with this instruction or exception, follows from h->trap_cause. false: the
// cause is none that enters Debug state.
bool tl_a64_halt_for_trap(tl_hart *h);
void tl_a64_halt_for_line(tl_hart *h); // that of TL_A64_HALT, which tl_isa.next_interrupt returned

// -- Power and reset.
void tl_a64_debug_reset(tl_hart *h, bool is_cold); // part of a reset
// The core power domain goes off until a Cold reset. The hart waits from now on. The wait ends with
// an interrupt if wakes is set.
void tl_a64_power_off(tl_hart *h, bool wakes);
bool tl_a64_keeps_power(const tl_hart *h); // a debugger wants the power controller to emulate it

// -- Events that other parts tell.
void tl_a64_set_os_lock(tl_hart *h, bool is_locked);
// The hart is at exception level h->priv because of an exception, or of the return from one.
void tl_a64_debug_taken(tl_hart *h);
void tl_a64_debug_returned(tl_hart *h);
// A register was written on which breakpoints, watchpoints or steps rest.
void tl_a64_debug_changed(tl_hart *h);
// The level of the halt line follows from the state.
void tl_a64_update_line(tl_hart *h);

// -- The run loop.
// The breakpoints at which the hart must stop: those of the host and its own.
const tl_breaks *tl_a64_breaks(tl_hart *h, const tl_breaks *user);
// The hart stands before an instruction at which it stopped for a breakpoint. true: its own debug
// logic has taken it.
bool tl_a64_at_break(tl_hart *h);
bool tl_a64_steps(const tl_hart *h); // it must run one instruction at a time
// Called before each instruction of a hart that steps, and after it. true: an event was taken.
bool tl_a64_attend(tl_hart *h);

// PSTATE.SS of a return by ERET to the level `el` with this SPSR (D2.12.4).
bool tl_a64_step_of_return(const tl_hart *h, uint32_t el, uint64_t spsr);
// Whether debug exceptions are enabled from the level.
bool tl_a64_debug_exceptions(const tl_hart *h, uint32_t el);
bool tl_a64_is_software_step(const tl_hart *h); // software step is active

// -- The Debug Communications Channel as the core sees it (H4.3).
uint64_t tl_a64_dtr_read(tl_hart *h); // 64 bits
void tl_a64_dtr_write(tl_hart *h, uint64_t value);
uint32_t tl_a64_dtrrx_take(tl_hart *h); // 32 bits
void tl_a64_dtrtx_put(tl_hart *h, uint32_t value);

#endif
