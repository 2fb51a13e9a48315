// SPDX-License-Identifier: MIT
// The cross-core monitor. One core of an Armv8-A chip, the debugger core, halts another one, the
// target, and inspects it through the memory-mapped debug, CTI and PMU registers of that core.
// Hosts of this source are programs and kernels: it is freestanding C11 without allocation.
//
// A host fills xcm_config, calls xcm_init, hands over packets with xcm_submit, and calls xcm_tick
// again and again. Replies and events leave through xcm_host.notify. One thread calls all of them.
#ifndef XCM_H
#define XCM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// States; the values are those of the packet's byte. XCM_NONE: no driver.
typedef enum xcm_state { XCM_NONE = 0x01, XCM_IDLE = 0x02, XCM_LISTENING = 0x04, XCM_HALTED = 0x08, XCM_ENDED = 0x10 } xcm_state;

// Results of delivery, check and execution.
typedef enum xcm_code {
    XCM_BAD_LENGTH = 0x11,
    XCM_BAD_CHECKSUM = 0x12,
    XCM_NOT_A_GET = 0x13,
    XCM_TOO_LARGE = 0x14,
    XCM_UNKNOWN_OP = 0x21,
    XCM_WRONG_STATE = 0x22,
    XCM_WRONG_BITMAP = 0x23,
    XCM_BAD_ARGUMENT = 0x24,
    XCM_RESERVED = 0x25,
    XCM_BUSY = 0x26,
    XCM_NOT_OWNER = 0x27,
    XCM_NO_PRIVILEGE = 0x28,
    XCM_DONE = 0x30,
    XCM_TIMEOUT = 0x31,
    XCM_EXCEPTION = 0x32,
    XCM_LOST = 0x33,
    XCM_NO_AUTHORITY = 0x34,
    XCM_UNKNOWN_VERDICT = 0x35,
    XCM_RING_FULL = 0x36,
    XCM_OTHER_DEBUGGER = 0x37,
    XCM_OVER_BUDGET = 0x38,
    XCM_WRONG_LEVEL = 0x39,
    XCM_ABSENT = 0x3a,
    XCM_DCC_OVERRUN = 0x3b,
    XCM_INTERNAL = 0x3f,
} xcm_code;

// Functions. XCM_OPS has their names, states and what they take.
typedef enum xcm_function {
    XCM_DRV_LOAD = 0x00,
    XCM_DRV_UNLOAD = 0x01,
    XCM_LISTEN_START = 0x02,
    XCM_LISTEN_STOP = 0x03,
    XCM_ROUND_RESET = 0x04,
    XCM_LIST_LOAD = 0x05,
    XCM_BP_CTL = 0x06,
    XCM_HALT_REQ = 0x07,
    XCM_RESUME = 0x08,
    XCM_EXEC = 0x09,
    XCM_REG_XFER = 0x0a,
    XCM_MEM_XFER = 0x0b,
    XCM_UARCH_READ = 0x0c,
    XCM_PMU_CTL = 0x0d,
    XCM_PMU_READ = 0x0e,
    XCM_CACHE_FLUSH = 0x0f,
    XCM_PROBE = 0x10,
    XCM_STATUS = 0x11,
    XCM_PROGRAM_LOAD = 0x12,
    XCM_UARCH_DUMP = 0x13,
    XCM_CALIBRATE = 0x14,
    XCM_ROLLBACK = 0x15,
    XCM_N_FUNCTIONS,
} xcm_function;
enum { XCM_EVENT_OP = 0x1ef0 }; // of unsolicited packets

// Kinds of events, the first element of XCM_EVENT_OP. The second one is the pc, or a code.
typedef enum xcm_event {
    XCM_EVENT_HELLO = 0,   // a socket's first packet: the state, and the bytes of the ring's data
    XCM_EVENT_HIT = 1,     // the target stands at an address of the list, or at a breakpoint
    XCM_EVENT_HALTED = 2,  // for another cause; the third element is EDSCR.STATUS
    XCM_EVENT_BUDGET = 3,  // the stop budget is over, and the target runs again
    XCM_EVENT_LOST = 4,    // the target lost power or was reset
    XCM_EVENT_ENDED = 5,   // the round is complete
    XCM_EVENT_NO_HALT = 6, // step mode: no halt for 100 ms
    XCM_EVENT_FOREIGN = 7, // a halt at a level that the monitor leaves alone
    // An address of the list stands inside an exclusive sequence, where nothing can halt. The
    // third element is XCM_BAD_ARGUMENT. It is told once a round.
    XCM_EVENT_SKIPPED = 8,
} xcm_event;

enum {
    XCM_HEADER_BYTES = 32,
    XCM_PACKET_BYTES = 32768, // netlink attributes have lengths of 16 bits
    XCM_ELEMENTS = (XCM_PACKET_BYTES - XCM_HEADER_BYTES) / 8,
    XCM_MEMORY_BYTES = 16384, // the most of one MEM_XFER
    XCM_INLINE_BYTES = 64,
    XCM_PROGRAM_COMMANDS = 16,
    XCM_STEP_BREAKPOINT = 3, // kernels allocate theirs from 0 up
    XCM_BREAKPOINTS = 6,
    XCM_COUNTERS = 6,
};

typedef enum xcm_block { XCM_DBG, XCM_CTI, XCM_PMU, XCM_N_BLOCKS } xcm_block;

// Routines of CACHE_FLUSH. The target itself runs one in normal state.
typedef enum xcm_routine { XCM_FLUSH_L1D = 1, XCM_FLUSH_L1I = 2, XCM_FLUSH_BOTH = 3 } xcm_routine;
// The routine's progress.
typedef enum xcm_progress { XCM_RUNS, XCM_HAS_RUN, XCM_CANNOT } xcm_progress;

typedef struct xcm_host {
    void *ctx;
    // The only register accesses. An access that the bus refuses never returns on hardware.
    uint32_t (*rd32)(void *ctx, xcm_block block, uint32_t offset);
    void (*wr32)(void *ctx, xcm_block block, uint32_t offset, uint32_t value);
    uint64_t (*now_ns)(void *ctx); // never goes back
    void (*relax)(void *ctx);      // between two polls
    // Starts a routine on the target, or asks how the last one is. NULL: XCM_CANNOT.
    xcm_progress (*run_on_target)(void *ctx, xcm_routine routine, bool is_start);
    // A reply or an event of n_bytes. The target may be halted: this must not sleep.
    void (*notify)(void *ctx, const uint8_t *packet, uint32_t n_bytes);
    // The target's state as ROLLBACK needs it. NULL: the host has no snapshots.
    bool (*snapshot)(void *ctx);
    bool (*rollback)(void *ctx);
    // Every access, in order; NULL: nobody listens.
    void (*record)(void *ctx, uint64_t now_ns, xcm_block block, uint32_t offset, bool is_write, uint32_t value);
    // A hit of the user's own code in state XCM_HALTED, with RESUME behind it; NULL: none.
    void (*on_hit)(void *ctx, uint64_t address);
} xcm_host;

// Text of a program whose words need not be read from the target.
typedef struct xcm_image {
    uint64_t address, n_words;
    const uint32_t *words;
} xcm_image;

typedef struct xcm_config {
    const xcm_host *host;
    uint64_t mpidr;         // of the target; its blocks must say so
    uint64_t budget_ns;     // of one stop; 0: 50 ms, at most 1 s
    bool may_halt_kernel;   // else halts above EL0 are left alone
    uint8_t *ring;          // header and data; NULL: no ring
    uint64_t ring_bytes;    // data, a power of two
    uint64_t *list;         // addresses
    uint32_t list_capacity; // at most 2^20
    uint32_t *hash;         // of the list
    uint32_t hash_capacity; // a power of two, at least twice list_capacity
    uint64_t *programs;     // words of instrumentation programs
    uint32_t program_words;
    const xcm_image *images;
    uint32_t n_images;
} xcm_config;

typedef struct xcm xcm;
size_t xcm_bytes(void); // the size of the object; the host allocates it
// false: a part of the configuration is missing or has an impossible size.
bool xcm_init(xcm *m, const xcm_config *config);

xcm_state xcm_state_of(const xcm *m);
// Queues a packet of this owner. The reply is notified at once if the packet is refused, else from
// a tick. `is_privileged`: the sender may debug.
void xcm_submit(xcm *m, const uint8_t *packet, uint32_t n_bytes, uint64_t owner, bool is_privileged);
bool xcm_is_busy(const xcm *m); // a packet waits for its reply
void xcm_tick(xcm *m);
// The owner has gone: the target runs, and nothing of the monitor is left on it.
void xcm_owner_died(xcm *m);
// Others are refused from now on, also before the first request of this owner.
void xcm_set_owner(xcm *m, uint64_t owner);
// From a timer: resumes the target if the stop budget is over. The thread stands outside of ticks.
void xcm_expire(xcm *m);

// -- Packets.
typedef struct xcm_packet { // the header in host order
    uint32_t length;
    uint16_t direction, checksum, op;
    uint8_t code, state;
    uint32_t n_elements;
    uint64_t list, reserved;
} xcm_packet;
enum { XCM_GET = 1, XCM_REPLY = 2 };
uint16_t xcm_checksum(const uint8_t *packet, uint32_t n_bytes);
// Writes header and checksum before n_elements that stand behind it. Returns the length.
uint32_t xcm_seal(uint8_t *packet, uint16_t direction, uint16_t op, uint8_t code, uint8_t state, uint32_t n_elements);
void xcm_put_element(uint8_t *packet, uint32_t index, uint64_t value);
uint64_t xcm_element(const uint8_t *packet, uint32_t index);
void xcm_read_header(const uint8_t *packet, xcm_packet *ret);
// Length, checksum, direction, reserved field, in this order. XCM_DONE: the packet is whole.
xcm_code xcm_check_packet(const uint8_t *packet, uint32_t n_bytes, uint16_t direction, xcm_packet *ret);

// -- Names, for users.
typedef struct xcm_op {
    const char *name;    // "LISTEN_START"
    uint8_t states;      // allowed ones
    uint8_t least, most; // elements; most 255: no bound but the packet's
} xcm_op;
const xcm_op *xcm_op_of(uint8_t function); // NULL: there is none
uint16_t xcm_op_code(uint8_t function);    // with its states
const char *xcm_code_text(uint8_t code);   // one sentence
const char *xcm_state_name(uint8_t state); // "listening"

// -- Next address of A64 code.
typedef struct xcm_next {
    enum { XCM_NEXT_KNOWN, XCM_NEXT_REGISTER, XCM_NEXT_TEST, XCM_NEXT_EXCLUSIVE, XCM_NEXT_STEP } kind;
    uint64_t address;   // of KNOWN; of TEST if it is taken
    uint32_t reg, bit;  // of REGISTER and TEST
    bool is_64, is_set; // TEST: CBNZ, or TBNZ. Bit 64: the whole register is compared with 0
} xcm_next;
// PSTATE decides conditional branches.
xcm_next xcm_next_of(uint64_t pc, uint32_t word, uint32_t pstate);
uint64_t xcm_next_taken(const xcm_next *next, uint64_t pc, uint64_t value_of_reg);
bool xcm_is_load_exclusive(uint32_t word);
bool xcm_is_store_exclusive(uint32_t word);
// EXEC accepts the word: instructions that Debug state does not change (DDI 0487, H2.4.2).
bool xcm_may_execute(uint32_t word);

// -- Ring (spec 7). A reader maps the header and the data.
enum { XCM_RING_HEADER_BYTES = 4096, XCM_RING_MAGIC = 0x524d4358, XCM_RECORD_BYTES = 32 };
typedef enum xcm_record_type {
    XCM_RECORD_REG = 1,
    XCM_RECORD_MEM,
    XCM_RECORD_L1D_TAG,
    XCM_RECORD_L1D_DATA,
    XCM_RECORD_L1I_TAG,
    XCM_RECORD_L1I_DATA,
    XCM_RECORD_TLB,
    XCM_RECORD_PMU,
    XCM_RECORD_VERDICT,
    XCM_RECORD_STATE,
    XCM_RECORD_STEP,
    XCM_RECORD_PAD = 0xffff,
} xcm_record_type;
enum { XCM_FLAG_PERTURBED = 1, XCM_FLAG_TRUNCATED = 2, XCM_FLAG_PROGRAM = 4 };
typedef struct xcm_record {
    uint32_t size;
    uint16_t type, flags;
    uint64_t seq, time_ns, pc;
} xcm_record;
// Takes the oldest record of a ring whose data has so many bytes. The payload is copied to `to`, at
// most `capacity` bytes. false: empty, or no ring that a monitor wrote.
bool xcm_ring_take(uint8_t *ring, uint64_t data_bytes, xcm_record *ret, uint8_t *to, uint32_t capacity);

// -- Direct reads, decoded (DDI 0500, 6.7).
typedef enum xcm_ram { XCM_L1D_TAG = 1, XCM_L1D_DATA, XCM_L1I_TAG, XCM_L1I_DATA, XCM_TLB } xcm_ram;
typedef struct xcm_geometry {
    uint32_t l1d_sets, l1d_ways, l1i_sets, l1i_ways, line_bytes;
} xcm_geometry;
typedef struct xcm_line {
    char state; // of data lines M O E S I; of instruction lines V or I
    bool is_non_secure, is_dirty_copy;
    uint64_t paddr;
} xcm_line;
xcm_line xcm_decode_l1d_tag(const xcm_geometry *g, uint32_t set, const uint32_t dr[4]);
xcm_line xcm_decode_l1i_tag(const xcm_geometry *g, uint32_t set, const uint32_t dr[4]);
// The word behind the model's signature of a pre-decoded instruction; false: parities differ.
bool xcm_decode_l1i_word(const uint32_t dr[4], uint32_t *ret_word);
typedef struct xcm_tlb_entry {
    bool is_valid, is_walk, is_non_global, is_non_secure_walk, is_non_secure;
    uint64_t vaddr, paddr, bytes; // walk: the span, and the address of the table
    uint64_t block_bytes;         // that the table entry maps
    uint32_t asid, vmid, ap, memory;
    bool user_execute, other_execute;
} xcm_tlb_entry;
// `index` is that of the operation: 0 to 127 main TLB, 128 to 143 walk cache.
xcm_tlb_entry xcm_decode_tlb(uint32_t index, const uint32_t dr[4]);

// -- Verdicts (spec 12).
typedef enum xcm_verdict { XCM_NO, XCM_YES, XCM_UNKNOWN } xcm_verdict;
enum {
    XCM_WHY_WINDOW = 0x1,
    XCM_WHY_NOT_RETIRED = 0x2,
    XCM_WHY_EXTRA = 0x4,
    XCM_WHY_EXCEPTION = 0x8,
    XCM_WHY_CLASS = 0x10,
    XCM_WHY_SPECULATION = 0x20,
    XCM_WHY_ABSENT = 0x40,
    XCM_WHY_CONFLICT = 0x80,
    XCM_WHY_CYCLES = 0x100,
    XCM_WHY_DIRTY = 0x200,
    XCM_WHY_WALK = 0x400,
    XCM_WHY_UNCALIBRATED = 0x800,
    XCM_WHY_UNPREDICTED = 0x1000,
};
typedef enum xcm_algorithm { XCM_BTB = 1, XCM_RSB, XCM_ITLB, XCM_DTLB, XCM_L2 } xcm_algorithm;
// Events that a window counts, by the algorithms' own names. An absent one has no counter.
typedef enum xcm_quantity {
    XCM_Q_RETIRED,
    XCM_Q_MIS,
    XCM_Q_PRED,
    XCM_Q_IMMED,
    XCM_Q_RETURN,
    XCM_Q_SPEC,
    XCM_Q_PC_WRITE,
    XCM_Q_EXC,
    XCM_Q_TLB_REFILL,
    XCM_Q_L1_REFILL,
    XCM_Q_MEM,
    XCM_Q_L2,
    XCM_Q_BUS,
    XCM_Q_BUS_READ,
    XCM_N_QUANTITIES,
} xcm_quantity;
typedef struct xcm_window {
    bool is_ok;        // halted at `stop` by the breakpoint
    bool has_excepted; // the sentinel of ELR_EL1 is gone
    bool has_intruder; // somebody else has set events of the PMU since the window before
    uint32_t present;  // bit of each quantity
    uint32_t delta[XCM_N_QUANTITIES];
    uint64_t cycles;
} xcm_window;
typedef struct xcm_calibration {
    bool is_calibrated, has_tm_miss;
    // The TLB event counts each miss of a micro-TLB, so that time need not tell.
    bool counts_micro;
    uint32_t unusable; // quantities whose null windows are not 0
    uint32_t spec_slack;
    uint64_t residue_cycles;
    uint64_t tm, tm_miss; // cycles: at most tm is a hit. tm_miss: the same behind a cache miss
} xcm_calibration;
typedef struct xcm_answer {
    xcm_verdict verdict;
    uint32_t why;
} xcm_answer;
xcm_answer xcm_judge(xcm_algorithm algorithm, const xcm_window *w, const xcm_calibration *c);
// The published form of the same, two-valued: UNKNOWN never.
xcm_answer xcm_judge_published(xcm_algorithm algorithm, const xcm_window *w, const xcm_calibration *c);

#endif
