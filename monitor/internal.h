// SPDX-License-Identifier: MIT
// The monitor's state, and what its files offer each other. Functions that touch the target return
// an xcm_code: XCM_DONE, or why they did not.
#ifndef XCM_INTERNAL_H
#define XCM_INTERNAL_H

#include "registers.h"
#include "xcm.h"

// Time limits.
enum {
    T_ITE_NS = 1000000,
    T_HALT_NS = 10000000,
    T_RESUME_NS = 10000000,
    T_ACK_NS = 1000000,
    T_WINDOW_NS = 1000000,
    T_LOST_NS = 100000000,
    DEFAULT_BUDGET_NS = 50000000,
    MOST_BUDGET_NS = 1000000000,
};
enum { MOST_HALT_TRIES = 8, MOST_FOREIGN_HALTS = 3, N_HELPERS = 2 };

// Bits of the ledger: what the monitor did to the state under study.
enum { LEDGER_MEMORY = 1, LEDGER_CODE = 2, LEDGER_PROBE = 4, LEDGER_EXEC = 8, LEDGER_FLUSH = 16 };

typedef struct xcm_breakpoint {
    bool is_set;
    uint64_t address;
    uint32_t control;
} xcm_breakpoint;

// Why the target was made to run: what the next halt means.
typedef enum xcm_aim { AIM_RUN, AIM_STEP_LIST, AIM_OVER } xcm_aim;

struct xcm {
    xcm_config config;
    const xcm_host *host;
    xcm_state state;
    uint64_t now_ns; // of the last access
    uint32_t round, n_ticks;
    uint64_t owner;
    bool has_owner;

    // The packet under way.
    bool has_request, awaits_halt, awaits_flush;
    uint32_t n_halt_tries;
    uint16_t op;
    uint32_t n_args, n_results;
    uint64_t args[XCM_ELEMENTS], results[XCM_ELEMENTS];
    uint8_t reply[XCM_PACKET_BYTES], event[XCM_HEADER_BYTES + 32];

    // State before attach, which detach puts back.
    bool is_attached, has_secure_debug;
    uint32_t saved_edscr, saved_edecr, saved_edeccr, saved_cti_control, saved_gate, saved_inen[CTI_TRIGGERS], saved_outen[CTI_TRIGGERS];
    uint32_t saved_bvr[XCM_BREAKPOINTS][2], saved_bcr[XCM_BREAKPOINTS], n_breakpoints, n_context;
    uint32_t saved_pmcr, saved_enabled, saved_typer[XCM_COUNTERS], saved_counter[XCM_COUNTERS], saved_filter, pmceid0;
    bool uses_pmu;
    uint32_t typer[XCM_COUNTERS], programmed; // events as the monitor has set them, and which ones

    // The stop under way.
    bool is_owned, has_over_budget, has_lost;
    uint32_t edscr; // as last read, with ITE
    uint32_t prsr;  // the last EDPRSR; sticky bits gather in `sticky`
    uint32_t sticky, status, el;
    uint64_t x0, x1, dlr;
    uint32_t dspsr;
    bool has_saved_el1; // halted at EL1
    uint64_t elr_el1, spsr_el1, esr_el1, far_el1;
    bool is_level_lost; // Debug state is at another level than at entry
    uint64_t stop_since_ns, budget_ns;
    uint64_t last_stop_ns, most_stop_ns, hits, steps, n_foreign, n_foreign_row;
    uint32_t ledger;

    // Breakpoints of BP_CTL and of the list.
    xcm_breakpoint breakpoints[XCM_BREAKPOINTS];
    bool is_step_mode, is_at_tail;
    uint64_t entry;
    uint32_t temporary; // index + 1 of a breakpoint that is cleared when it hits
    uint32_t n_list, n_programs, n_program_words;
    uint64_t step_since_ns, step_end; // step_end: the breakpoint behind an exclusive sequence
    bool has_told_no_halt, has_told_skipped;
    uint32_t edecr_ss;

    // Wishes of PMU_CTL in state IDLE, applied at LISTEN_START.
    uint32_t shadow_typer[XCM_COUNTERS], shadow_programmed, shadow_mask;
    bool shadow_on;

    xcm_geometry geometry;
    xcm_calibration calibration;
    bool has_probed;
    uint64_t last_counts[XCM_COUNTERS + 1];

    uint64_t ring_head, ring_tail, ring_seq, n_dropped;
    uint64_t memory[XCM_MEMORY_BYTES / 8];
};

// -- Bytes of packets, of the ring and of memory are little-endian.
static inline uint64_t xcm_get_bytes(const uint8_t *at, uint32_t n) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < n; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}
static inline void xcm_put_bytes(uint8_t *at, uint32_t n, uint64_t value) {
    for (uint32_t i = 0; i < n; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

// -- access.c: the only file that reaches registers.
uint32_t xcm_rd(xcm *m, xcm_block block, uint32_t offset);
void xcm_wr(xcm *m, xcm_block block, uint32_t offset, uint32_t value);
uint32_t xcm_poll_prsr(xcm *m); // the only reader of EDPRSR
bool xcm_is_target_lost(const xcm *m);
// Polls EDPRSR. XCM_LOST: the target lost power or was reset, and *m remembers that.
xcm_code xcm_poll_target(xcm *m);
// Core registers may be accessed: power, no lock. Takes the OS lock back.
xcm_code xcm_make_accessible(xcm *m);
bool xcm_is_over_budget(const xcm *m);

// -- attach.c
xcm_code xcm_attach(xcm *m);
void xcm_detach(xcm *m); // leaves the target running
void xcm_write_breakpoint(xcm *m, uint32_t index, uint64_t address, uint32_t control);
void xcm_clear_breakpoint(xcm *m, uint32_t index);

// -- debug.c: Debug state.
xcm_code xcm_wait_ready(xcm *m);
xcm_code xcm_execute(xcm *m, uint32_t word);
xcm_code xcm_request_halt(xcm *m);
// After any halt. XCM_WRONG_LEVEL: the halt is to be left alone.
xcm_code xcm_enter(xcm *m);
xcm_code xcm_restart(xcm *m); // *m is not owned afterwards
// One instruction, interrupts masked, breakpoints of ours off. XCM_DONE: halted behind it.
// XCM_EXCEPTION: it took one, and the target has been sent on to *ret_return.
xcm_code xcm_halting_step(xcm *m, uint64_t *ret_return);
bool xcm_is_halted_status(uint32_t status);

// -- transfer.c
xcm_code xcm_get_x(xcm *m, uint32_t n, uint64_t *ret); // as Debug state has it
xcm_code xcm_set_x(xcm *m, uint32_t n, uint64_t value);
xcm_code xcm_read_register(xcm *m, uint32_t n, uint64_t *ret); // as the program has it
xcm_code xcm_write_register(xcm *m, uint32_t n, uint64_t value);
xcm_code xcm_raise(xcm *m, uint32_t el);
xcm_code xcm_lower(xcm *m); // back to the level of entry; harmless if it is there
xcm_code xcm_read_memory(xcm *m, uint64_t address, uint8_t *to, uint32_t n_bytes, bool is_fast);
xcm_code xcm_write_memory(xcm *m, uint64_t address, const uint8_t *from, uint32_t n_bytes, bool is_fast);
xcm_code xcm_translate(xcm *m, uint64_t vaddr, uint64_t *ret_paddr, bool *ret_is_mapped);
// A word of the images. false: none of them has it.
bool xcm_image_word(const xcm *m, uint64_t address, uint32_t *ret_word);
xcm_code xcm_read_code(xcm *m, uint64_t address, uint32_t *ret_word);

// -- uarch.c
xcm_code xcm_find_geometry(xcm *m);
// The core is at EL3: see xcm_raise.
xcm_code xcm_read_ram(xcm *m, xcm_ram ram, uint32_t way, uint32_t index, uint32_t offset, uint32_t ret[4]);
xcm_code xcm_dump(xcm *m, uint32_t mask, bool tags_only);
bool xcm_has_place(const xcm *m, xcm_ram ram, uint32_t way, uint32_t index, uint32_t offset);

// -- pmu.c
xcm_code xcm_take_pmu(xcm *m); // saves it at the first use
void xcm_give_pmu_back(xcm *m);
void xcm_program_counter(xcm *m, uint32_t n, uint32_t typer);
// false: another tool has set events in the meantime.
bool xcm_is_pmu_ours(xcm *m);
void xcm_switch_pmu(xcm *m, bool is_on, uint32_t mask);
void xcm_zero_counters(xcm *m);
void xcm_apply_pmu_shadow(xcm *m);
uint64_t xcm_read_counter(xcm *m, uint32_t n); // XCM_COUNTERS: cycles
bool xcm_has_event(const xcm *m, uint32_t event);

// -- step.c
xcm_code xcm_load_list(xcm *m, const uint64_t *args, uint32_t n);
xcm_code xcm_load_program(xcm *m, const uint64_t *args, uint32_t n);
void xcm_arm(xcm *m); // breakpoints at the start of a round
bool xcm_list_has(const xcm *m, uint64_t address);
void xcm_reset_round(xcm *m);
// Sets breakpoints for the round and lets the target go on from its halt.
xcm_code xcm_go_on(xcm *m);
// The target has halted and is owned, in state LISTENING. false: it stays halted for the user.
void xcm_on_halt(xcm *m);
void xcm_end_round(xcm *m);

// -- probe.c
// args: algorithm, v, tv or the address of a load, its word
xcm_code xcm_probe(xcm *m, const uint64_t *args, uint32_t n);
// args: address of a load that runs, its word, an address that it may load from
xcm_code xcm_calibrate(xcm *m, const uint64_t *args, uint32_t n);

// -- command.c
void xcm_answer_with(xcm *m, uint64_t value); // adds an element to the reply
// Runs a command of a packet or a program, whose state is right. Arguments are checked before any
// register is accessed.
xcm_code xcm_run_command(xcm *m, uint8_t function, const uint64_t *args, uint32_t n);
void xcm_finish_request(xcm *m, xcm_code code);
void xcm_tell(xcm *m, xcm_event event, uint64_t first, uint64_t second);
void xcm_enter_state(xcm *m, xcm_state state);

// -- ring.c
void xcm_ring_init(xcm *m);
void xcm_ring_note_state(xcm *m);
bool xcm_ring_add(xcm *m, xcm_record_type type, uint16_t flags, const uint64_t *words, uint32_t n_words);

#define XCM_TRY(call)                  \
    do {                               \
        const xcm_code code_ = (call); \
        if (code_ != XCM_DONE)         \
            return code_;              \
    } while (0)

#endif
