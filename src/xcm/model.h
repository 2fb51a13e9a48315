// SPDX-License-Identifier: MIT
// The model host of the cross-core monitor: the source of monitor/ over a board whose harts are
// simulated. An access of a register takes its time of the bus, and the harts run that long. No
// hart takes part in it, so that a debugger core costs the machine nothing but time.
#ifndef TL_XCM_MODEL_H
#define TL_XCM_MODEL_H

#include "base/status.h"
#include "board/system.h"
#include "monitor/xcm.h"

enum { TL_XCM_ACCESS_NS = 150 }; // of one access on the bus, unless options say otherwise

// One access, or one packet, in order. A transcript of them is all that a replay needs.
typedef struct tl_xcm_access {
    uint64_t time_ns;
    uint32_t value;
    uint16_t offset;
    uint8_t block, is_write;
} tl_xcm_access;

// Misfortunes of a chip, for tests of what the monitor makes of them.
typedef enum tl_xcm_fault {
    TL_XCM_NO_FAULT,
    TL_XCM_POWER_LOSS,   // the core power domain of the target goes off
    TL_XCM_RESET,        // the target is reset, and begins at its entry
    TL_XCM_OS_LOCK,      // software of the target takes the OS lock
    TL_XCM_SLOW_RESTART, // the next restart comes 20 accesses late
    TL_XCM_DEAD_RESTART, // the next restart request is lost
    TL_XCM_NO_SDR,       // from now on EDPRSR.SDR reads as 0
    TL_XCM_OVERRUN,      // a word too many for DBGDTRRX
    TL_XCM_SLOW_ITE,     // EDSCR.ITE reads as 0 for 9 polls
    TL_XCM_N_FAULTS,
} tl_xcm_fault;

typedef struct tl_xcm_options {
    const char *machine;          // name or file; NULL: a53x4
    const char *const *overrides; // keys of the machine; NULL: none
    tl_system_options software;   // program, or kernel and firmware; console
    uint32_t target;              // hart
    uint64_t budget_ns;           // 0: the monitor's own
    uint32_t access_ns;           // 0: TL_XCM_ACCESS_NS
    uint64_t ring_bytes;          // 0: none
    bool has_shared_ring;         // other processes may map it: tl_xcm_ring_fd
    uint32_t list_capacity;       // 0: 4096
    bool may_halt_kernel;
    bool has_no_images; // the monitor reads code from the target, as in a kernel
    // PROBE saves the board, and ROLLBACK puts it back. The harts step one instruction at a time.
    bool has_snapshots;
    // Behind a misprediction INST_SPEC reads up to so many more, as of a wrong path. 0: none.
    uint32_t wrong_path;
    // Each packet of the monitor; NULL: tl_xcm_call and events are all that is wanted.
    void (*on_packet)(void *ctx, const uint8_t *packet, uint32_t n_bytes);
    void (*on_restart)(void *ctx); // before the target leaves Debug state; NULL: nobody asks
    // Called at each hit instead of an event; the target goes on afterwards. NULL: events.
    void (*on_hit)(void *ctx, uint64_t address);
    void *ctx;
} tl_xcm_options;

typedef struct tl_xcm_reply {
    xcm_code code;
    xcm_state state;
    uint32_t n_values;
    uint64_t values[XCM_ELEMENTS];
} tl_xcm_reply;

typedef struct tl_xcm_model tl_xcm_model;
TL_MUST_CHECK tl_status tl_xcm_model_new(const tl_xcm_options *options, tl_xcm_model **ret_model, tl_error *err);
void tl_xcm_model_free(tl_xcm_model *model); // NULL is fine

// Sends a packet and ticks until its reply has come.
void tl_xcm_send(tl_xcm_model *model, const uint8_t *packet, uint32_t n_bytes, tl_xcm_reply *ret_reply);
// Sends the packet of a function with its arguments, as tl_xcm_send does. Returns the reply's code.
xcm_code tl_xcm_call(tl_xcm_model *model, xcm_function function, const uint64_t *args, uint32_t n, tl_xcm_reply *ret_reply);
// One tick, or time alone if nobody listens. The harts advance.
void tl_xcm_tick(tl_xcm_model *model);
// Ticks until an event has come, at most for this time. false: none has. *ret: event, pc, detail.
bool tl_xcm_wait_event(tl_xcm_model *model, uint64_t limit_ns, uint64_t ret[3]);
// Ticks until the software has ended or the time is over. true: *ret_status is its status.
bool tl_xcm_wait_end(tl_xcm_model *model, uint64_t limit_ns, int32_t *ret_status);
// Time of the harts without any tick: the monitor's thread sleeps.
void tl_xcm_sleep(tl_xcm_model *model, uint64_t ns);

// The fault happens with the access of that number from now, the next one being 0.
void tl_xcm_break(tl_xcm_model *model, tl_xcm_fault fault, uint64_t n_accesses);
bool tl_xcm_has_ended(const tl_xcm_model *model); // the software has
xcm *tl_xcm_monitor(tl_xcm_model *model);
tl_machine *tl_xcm_machine(const tl_xcm_model *model);
tl_system *tl_xcm_system(const tl_xcm_model *model);
uint8_t *tl_xcm_ring(const tl_xcm_model *model);       // NULL: none
uint64_t tl_xcm_ring_bytes(const tl_xcm_model *model); // of its data
int tl_xcm_ring_fd(const tl_xcm_model *model);         // of a shared ring; -1: none
// A word of the program's code, from its file. false: the address is not in it.
bool tl_xcm_word(const tl_xcm_model *model, uint64_t address, uint32_t *ret_word);
uint64_t tl_xcm_now_ns(const tl_xcm_model *model);
uint64_t tl_xcm_n_accesses(const tl_xcm_model *model);
// Accesses that the bus refused. On hardware the first one would have ended the debugger core.
uint64_t tl_xcm_n_errors(const tl_xcm_model *model);
// Accesses from now on go there; NULL: nowhere. The caller has `capacity` places; more are counted.
void tl_xcm_record(tl_xcm_model *model, tl_xcm_access *to, uint64_t capacity);
uint64_t tl_xcm_n_recorded(const tl_xcm_model *model);

#endif
