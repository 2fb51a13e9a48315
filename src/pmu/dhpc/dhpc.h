// SPDX-License-Identifier: MIT
// The distributed hardware performance counter (HPC). Every unit has fixed counters, a small
// interconnect joins units and harts, and each hart has three registers in front of it. Source:
// Xue, Xie, Song, "A new hardware performance counter based on RISC-V", 2021. Sections named here
// are those of docs/dhpc.md, which gives the source of each rule.
//
//   hart: hpcc hpcm hpcr, FIFO --request, cancel--> round robin of a manager's port --> manager
//                              <---------data, one beat per counter, at most 64 counters
//
// Time. One cycle has these phases: (a) a client absorbs arrivals; (b) the register access of this
// cycle sees the state after (a); (c) a request that may leave its client leaves. Ports then handle
// arriving cancels, then a grant, then a beat. A request that leaves in cycle t stands at the port
// in t + t_req. If granted in g, beat k is produced in g + t_grant + t_lookup + k * beat. Software
// can read that beat t_resp later. The port is free again in the cycle after the last beat or the
// cancel. The interconnect answers for a manager that is not built: an empty completion after an
// equal time, without queueing. The value of a counter in cycle t is the number of events in cycles
// before t.
//
// Work is lazy: an access brings the state up to its cycle, event by event. The result equals that
// of a fabric that steps every cycle (test_fabric.c compares the two). Harts run in turns,
// therefore an access may carry a cycle before the last processed one. A client's state is always
// that of its own hart's cycle. A port only goes forward: a request or cancel from the port's past
// takes effect after the work already done. A wait can then grow by the distance between harts, and
// no service happens twice. The state is exact whenever accesses come in order of time.
//
// Live sampling takes a value in the cycle of its beat, but totals are known only for the present.
// The caller that runs harts therefore asks tl_pmu_port.deadline, stops the hart there and calls
// poll. A hart stops for two kinds of beats: those of its own core's managers for any client, and
// those of its own requests to units outside of cores. Its own core's counters are then those of
// the first instruction boundary at or after the beat. An instruction counts as a whole where it
// issues. hart.cycle and hart.idle_cycle are exact for the cycle of the beat. Two errors remain.
// Counters of another core show its own progress if that core passed the beat before the grant, or
// has not reached it at the read. Shared units show the order in which their accesses were made.
// Both errors are at most the events of the cycles that harts may be apart.
#ifndef TL_PMU_DHPC_DHPC_H
#define TL_PMU_DHPC_DHPC_H

#include "base/arena.h"
#include "base/status.h"
#include "model/hart.h"
#include "model/pmu.h"

enum { TL_DHPC_COUNTERS = 64, TL_DHPC_MAX_HARTS = 64, TL_DHPC_MAX_FIFO = 1024, TL_DHPC_MAX_LATENCY = 1000000 };

// Functional: a write of trigger does everything.
typedef enum tl_dhpc_mode { TL_DHPC_TIMED, TL_DHPC_FUNCTIONAL } tl_dhpc_mode;
// Snapshot: all values belong to the cycle of acceptance.
typedef enum tl_dhpc_sampling { TL_DHPC_LIVE, TL_DHPC_SNAPSHOT } tl_dhpc_sampling;
// The event that sets `interrupted`.
typedef enum tl_dhpc_ctxsw { TL_DHPC_TRAP, TL_DHPC_SATP, TL_DHPC_ECALL, TL_DHPC_NEVER_SET } tl_dhpc_ctxsw;

typedef struct tl_dhpc_config {
    uint32_t fifo_depth;
    tl_dhpc_mode mode;
    uint32_t t_req, t_grant, t_lookup, t_resp, beat; // cycles; t_req, t_resp and beat at least 1
    tl_dhpc_sampling sampling;
    tl_dhpc_ctxsw ctxsw_policy;
    bool strict_user; // user mode without useren may only read hpcc
    // Bit k: user mode may read managers of class k; the others do not exist for it.
    uint8_t user_class_mask;
    // Bits of each class and extend. Bit n: counter n of these managers is not built.
    uint64_t left_out[8][4];
    // Numbers of the registers. Those of the upper halves exist on 32-bit harts only.
    uint32_t hpcc, hpcm, hpcmh, hpcr, hpcrh;
} tl_dhpc_config;

// The keys of a machine description: keys.def.
typedef enum tl_dhpc_key_mode { TL_DHPC_KEY_NONE, TL_DHPC_KEY_TIMED, TL_DHPC_KEY_FUNCTIONAL } tl_dhpc_key_mode;
typedef struct tl_dhpc_settings {
    uint32_t mode; // tl_dhpc_key_mode
    uint32_t t_req, t_grant, t_lookup, t_resp, beat, fifo_depth;
    uint32_t sampling, ctxsw_policy; // tl_dhpc_sampling, tl_dhpc_ctxsw
    uint32_t strict_user, user_classes;
    uint32_t csr_base, csr_read_base; // numbers of hpcc and hpcr; the other registers follow
    uint32_t grant;                   // tl_grant
    uint64_t core_events, u74_events, stack_events, slice_events, slice_core_events, memory_events, device_events, bus_events,
        fabric_events; // bit n: counter n of these managers is built
} tl_dhpc_settings;
extern const tl_key tl_dhpc_keys[];
extern const tl_dhpc_settings tl_dhpc_default_settings;
tl_dhpc_config tl_dhpc_config_from(const tl_dhpc_settings *settings);

// Configurations of the timed mode and of the functional mode.
extern const tl_dhpc_config tl_dhpc_defaults, tl_dhpc_functional;
TL_MUST_CHECK tl_status tl_dhpc_config_check(const tl_dhpc_config *config, tl_error *err);

// Module classes of an HPCManagerID.
typedef enum tl_dhpc_class {
    TL_DHPC_CORE = 0,
    TL_DHPC_LLC = 1,
    TL_DHPC_MEM = 2,
    TL_DHPC_DEVICE = 3,
    TL_DHPC_MMIO = 4,
    TL_DHPC_FABRIC = 5,
    TL_DHPC_DIRECTORY = 7,
    TL_DHPC_N_CLASSES = 8,
} tl_dhpc_class;
#define TL_DHPC_ID(class, instance, extend) ((uint32_t)(class) << 14 | (uint32_t)(instance) << 7 | (uint32_t)(extend))
static inline uint32_t tl_dhpc_class_of(uint32_t id) { return id >> 14 & 7; }
static inline uint32_t tl_dhpc_instance_of(uint32_t id) { return id >> 7 & 127; }
static inline uint32_t tl_dhpc_extend_of(uint32_t id) { return id & 127; }

// Bits of hpcc.
#define TL_DHPC_TRIGGER (UINT64_C(1) << 0)
#define TL_DHPC_INTERRUPTED (UINT64_C(1) << 1)
#define TL_DHPC_EMPTY (UINT64_C(1) << 2)
#define TL_DHPC_READERROR (UINT64_C(1) << 3)
#define TL_DHPC_ID_LSB 4
#define TL_DHPC_ID_MASK UINT64_C(0x1ffff)
#define TL_DHPC_USEREN (UINT64_C(1) << 21)

// ---- Managers built on a machine ----

typedef enum tl_dhpc_origin {
    TL_DHPC_FROM_HOST,   // total `which` of the host
    TL_DHPC_FROM_CLIENT, // tl_dhpc_client_stat of the manager's core
    TL_DHPC_FROM_FABRIC, // tl_dhpc_fabric_stat
    TL_DHPC_CONSTANT,    // `which` itself
} tl_dhpc_origin;
typedef enum tl_dhpc_client_stat { TL_DHPC_HPCR_READ, TL_DHPC_HPC_REQ, TL_DHPC_HPC_RETRY_FLAG, TL_DHPC_N_CLIENT_STATS } tl_dhpc_client_stat;
typedef enum tl_dhpc_fabric_stat { // bits of class 5
    TL_DHPC_REQUESTS,              // that left a client
    TL_DHPC_GRANTS,
    TL_DHPC_WAIT_CYCLES, // of requests that waited at a port for a grant
    TL_DHPC_BEATS,
    TL_DHPC_CANCELS, // includes cancels of requests still in their client
    TL_DHPC_STALE,   // data and completions that arrived for a request that is over
    TL_DHPC_DENIALS, // accesses of user mode that useren refused
    TL_DHPC_EMPTY_COMPLETIONS,
    TL_DHPC_N_FABRIC_STATS,
} tl_dhpc_fabric_stat;

typedef struct tl_dhpc_counter {
    tl_dhpc_origin origin;
    uint32_t which;
} tl_dhpc_counter;

#define TL_DHPC_NO_HART UINT32_MAX
typedef struct tl_dhpc_manager {
    uint32_t id;          // TL_DHPC_ID
    uint32_t hart;        // hart of the counted core, or TL_DHPC_NO_HART
    uint64_t implemented; // bit i: counter i is built
    tl_dhpc_counter counters[TL_DHPC_COUNTERS];
} tl_dhpc_manager;

// Returns total `which` in `cycle`, as exact as the present allows; `hart` as in the manager.
typedef uint64_t tl_dhpc_total(void *ctx, uint32_t which, uint32_t hart, uint64_t cycle);

// ---- The fabric ----

typedef struct tl_dhpc tl_dhpc;
// Events that may switch contexts. The policy selects among them. ECALL sends TRAP_ENTRY and ECALL.
typedef enum tl_dhpc_notice_kind {
    TL_DHPC_TRAP_ENTRY,
    TL_DHPC_TRAP_RETURN,
    TL_DHPC_ECALL_TAKEN,
    TL_DHPC_SATP_WRITTEN,
    TL_DHPC_DEBUG
} tl_dhpc_notice_kind;

// Allocates everything in the arena. Copies `managers`; checks order and uniqueness of ids.
// access_bits: XLEN of the harts.
TL_MUST_CHECK tl_status tl_dhpc_new(const tl_dhpc_config *config, uint32_t access_bits, uint32_t n_harts, const tl_dhpc_manager *managers,
                                    uint32_t n_managers, tl_dhpc_total *total, void *total_ctx, tl_arena *arena, tl_dhpc **ret_dhpc,
                                    tl_error *err);
// Creates a fabric for a machine: every manager and event of events.c whose signals the machine
// has.
TL_MUST_CHECK tl_status tl_dhpc_new_on(const tl_dhpc_config *config, uint32_t access_bits, uint32_t n_harts, const tl_pmu_host *host,
                                       tl_arena *arena, tl_dhpc **ret_dhpc, tl_error *err);
// Returns the units of a machine that belong to one instance of a class. tl_sources_resolve takes
// the probe with that instance.
tl_probe tl_dhpc_probe_of(const tl_probe *probe, uint32_t class, uint32_t instance);
const tl_pmu_port *tl_dhpc_port(const tl_dhpc *dhpc, uint32_t hart); // port for one hart
// Registers of one hart, for the register model.
tl_pmu *tl_dhpc_pmu(const tl_dhpc *dhpc, uint32_t hart);
// The fabric of such a PMU; NULL gives NULL.
tl_dhpc *tl_dhpc_of(const tl_pmu *pmu);
const tl_dhpc_config *tl_dhpc_config_of(const tl_dhpc *dhpc);
const tl_dhpc_manager *tl_dhpc_managers(const tl_dhpc *dhpc, uint32_t *ret_n); // in order of ids
// Clears registers, requests and FIFOs; counters continue.
void tl_dhpc_reset(tl_dhpc *dhpc);
void tl_dhpc_notice(tl_dhpc *dhpc, uint32_t hart, tl_dhpc_notice_kind kind, uint64_t cycle);
// Processes everything to the end of this cycle. The instructions of the cycle are complete.
void tl_dhpc_advance(tl_dhpc *dhpc, uint64_t cycle);
// Returns the first cycle, from `now` on, whose sample needs this hart stopped. UINT64_MAX: none
// known. The port's deadline is the distance to that cycle.
uint64_t tl_dhpc_next_event(const tl_dhpc *dhpc, uint32_t hart, uint64_t now);
// Returns the longest time between two grants at one port. A request waits at most (harts - 1)
// times that.
uint64_t tl_dhpc_longest_service(const tl_dhpc_config *config);

// Executes one register instruction without a hart, for tests and models: the table of Zicsr, then
// the port's functions in the order of isa/rv. false: illegal instruction without effect.
typedef struct tl_dhpc_access {
    uint32_t csr;
    tl_reg_use op;
    bool is_immediate; // `operand` is the immediate
    bool is_rd_x0;
    bool is_rs1_x0;
    uint64_t operand;
    tl_priv priv;
} tl_dhpc_access;
bool tl_dhpc_execute(tl_dhpc *dhpc, uint32_t hart, uint64_t cycle, const tl_dhpc_access *access, uint64_t *ret_old);

// Counts for a host, without side effects. Waits belong to granted requests.
typedef struct tl_dhpc_hart_account {
    uint64_t n_requests, n_grants, wait_cycles, max_wait_cycles;
} tl_dhpc_hart_account;
tl_dhpc_hart_account tl_dhpc_account(const tl_dhpc *dhpc, uint32_t hart);
uint64_t tl_dhpc_stat(const tl_dhpc *dhpc, tl_dhpc_fabric_stat stat);

// ---- Tables ----

extern const tl_regmap tl_dhpc_regmap;
// Selectors are (class << 14 | extend) << 6 | bit: the number by which firmware names a counter of
// instance 0. Sources name one instance's signals (model/pmu.h). The fabric itself counts signals
// of unit `dhpc`.
extern const tl_event tl_dhpc_events[];
extern const uint32_t tl_dhpc_n_events;
#define TL_DHPC_SELECTOR(class, extend, bit) ((uint64_t)TL_DHPC_ID(class, 0, extend) << 6 | (bit))
// One hart with a fabric of its own. tl_dhpc_new_on shares one among a machine's harts.
extern const tl_pmu_type tl_pmu_dhpc;
typedef struct tl_dhpc_preset {
    tl_pmu_preset base; // first
    const tl_dhpc_config *config;
} tl_dhpc_preset;
extern const tl_pmu_preset *const tl_dhpc_presets[];

// ---- Hardware cost ----

typedef struct tl_dhpc_cost {
    // State bits.
    uint64_t client_fifo, client_registers, client_control;       // of one hart
    uint64_t manager_counters, manager_control, manager_snapshot; // of all managers
    // Round-robin pointers and locks of all managers.
    uint64_t arbiters;
    // Sums over all harts, over all managers, over both.
    uint64_t clients, managers, state_bits;
    // Wires of one link in one direction, and of all links. A crossbar joins harts and managers.
    uint64_t request_wires, data_wires, wires;
    // n_wired: numbers of the directory, which have no state.
    uint32_t n_counters, n_wired, n_managers, n_harts;
} tl_dhpc_cost;
tl_dhpc_cost tl_dhpc_cost_of(const tl_dhpc_config *config, uint32_t n_harts, const tl_dhpc_manager *managers, uint32_t n_managers);

#endif
