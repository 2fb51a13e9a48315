// SPDX-License-Identifier: MIT
// The generic timer of a hart (D10): three timers that compare one counter. The counter is machine
// time, TL_TIMEBASE_HZ; EL2 is absent, so the virtual counter equals the physical one.
#ifndef TL_ISA_A64_TIMER_H
#define TL_ISA_A64_TIMER_H

#include "isa/a64/hart.h"

enum { TL_A64_TIMER_P, TL_A64_TIMER_PS, TL_A64_TIMER_V, TL_A64_N_TIMERS };
extern const uint32_t tl_a64_timer_intids[TL_A64_N_TIMERS];

// Registers of a timer by one of them: CNTx_CTL as it reads, and the number of CNTx_CVAL.
uint64_t tl_a64_timer_control(const tl_hart *h, uint32_t control_reg);
uint32_t tl_a64_timer_compare(uint32_t value_reg);

// Outputs of the timers in this cycle, bit n for timer n. Returns the next cycle in which one
// changes by itself; UINT64_MAX: none does.
uint64_t tl_a64_timers_tick(const tl_hart *h, uint64_t cycle, uint32_t *ret_lines);
// The next cycle after this one with an event of the event stream (CNTKCTL_EL1.EVNTEN); UINT64_MAX:
// there is none.
uint64_t tl_a64_event_stream(const tl_hart *h, uint64_t cycle);

#endif
