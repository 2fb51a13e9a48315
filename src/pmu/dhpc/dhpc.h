// SPDX-License-Identifier: MIT
// The distributed hardware performance counter (HPC): fixed counters within every unit, a small
// interconnect of their own between them and the harts, and three registers in front of each hart.
// Subject: Xue, Xie, Song, "A new hardware performance counter based on RISC-V", 2021; sections
// named here are those of docs/dhpc.md, which says where our rules come from.
//
//   hart: hpcc hpcm hpcr, FIFO --request, cancel--> round robin of a manager's port --> manager: up to 64 counters
//                              <-----------------------data, one beat per counter------
//
// Time. One cycle has these phases: (a) what arrives at a client is absorbed; (b) the register
// access of this cycle, which sees the state after (a); (c) a request that may leave its client
// leaves; and at the managers' ports: cancels that arrive, then a grant, then a beat. A request
// that leaves in cycle t stands at the port in t + t_req; granted in g, its beat k is produced in g
// + t_grant + t_lookup + k * beat and can be read t_resp later. The port is free again in the cycle
// after the last beat or the cancel. A manager that nobody built is answered for by the
// interconnect: an empty completion after the same time, and nobody waits for another there. The
// value of a counter in cycle t is the number of events in cycles before t.
//
// Nothing happens until somebody looks: state is brought up to the cycle of an access, event by
// event, and is then what a fabric that does all this each cycle would have (test_fabric.c holds
// one beside it). Harts run in turns, so one may ask at a cycle before the last one that was dealt
// with. What a client sees is always as of its own hart's cycle. A port goes forward only: a
// request or cancel that comes from before something the port has already done takes its place
// after it, so a wait can grow by as much as harts are apart, and no service is done twice. It is
// exact whenever accesses come in order of time.
//
// Live sampling takes a value in the cycle of its beat, but totals are known only for now. So
// whoever runs harts asks tl_pmu_port.deadline, stops the hart there and calls poll. A hart is told
// to stop for the beats of its own core's managers, whoever asked for them, and for those of its
// own requests to units that belong to no core. Then its own core's counters are those of the first
// instruction boundary at or after the beat, counting a whole instruction where it issues;
// hart.cycle and hart.idle_cycle are those of the beat's very cycle. What remains: counters of
// another core are as of its own progress if it had already run past the beat when the request was
// granted, or has not come there when the value is read; units that many harts share are as of the
// order in which their accesses were made. Both are off by at most the events of the cycles that
// harts may be apart.
#ifndef TL_PMU_DHPC_DHPC_H
#define TL_PMU_DHPC_DHPC_H

#include "base/arena.h"
#include "base/status.h"
#include "model/hart.h"
#include "model/pmu.h"

enum { TL_DHPC_COUNTERS = 64, TL_DHPC_MAX_HARTS = 64, TL_DHPC_MAX_FIFO = 1024, TL_DHPC_MAX_LATENCY = 1000000 };

typedef enum tl_dhpc_mode { TL_DHPC_TIMED, TL_DHPC_FUNCTIONAL } tl_dhpc_mode;      // functional: all within the write of trigger
typedef enum tl_dhpc_sampling { TL_DHPC_LIVE, TL_DHPC_SNAPSHOT } tl_dhpc_sampling; // snapshot: all values of the cycle of acceptance
typedef enum tl_dhpc_ctxsw { TL_DHPC_TRAP, TL_DHPC_SATP, TL_DHPC_ECALL, TL_DHPC_NEVER_SET } tl_dhpc_ctxsw; // what sets `interrupted`

typedef struct tl_dhpc_config {
    uint32_t fifo_depth;
    tl_dhpc_mode mode;
    uint32_t t_req, t_grant, t_lookup, t_resp, beat; // cycles; t_req, t_resp and beat at least 1
    tl_dhpc_sampling sampling;
    tl_dhpc_ctxsw ctxsw_policy;
    bool strict_user;                        // user mode without useren may not touch the registers but read hpcc
    uint8_t user_class_mask;                 // bit k: user mode may ask managers of class k; the others do not exist for it
    uint64_t left_out[8][4];                 // by class and extend: bit n: counter n of these managers is not built
    uint32_t hpcc, hpcm, hpcmh, hpcr, hpcrh; // numbers of the registers; those of the upper halves exist on 32-bit harts only
} tl_dhpc_config;

// The keys of a machine description: keys.def.
typedef enum tl_dhpc_key_mode { TL_DHPC_KEY_NONE, TL_DHPC_KEY_TIMED, TL_DHPC_KEY_FUNCTIONAL } tl_dhpc_key_mode;
typedef struct tl_dhpc_settings {
    uint32_t mode; // tl_dhpc_key_mode
    uint32_t t_req, t_grant, t_lookup, t_resp, beat, fifo_depth;
    uint32_t sampling, ctxsw_policy; // tl_dhpc_sampling, tl_dhpc_ctxsw
    uint32_t strict_user, user_classes;
    uint32_t csr_base, csr_read_base; // numbers of hpcc and hpcr; the others follow
    uint32_t grant;                   // tl_grant
    uint64_t core_events, u74_events, stack_events, slice_events, slice_core_events, memory_events, device_events, bus_events,
        fabric_events; // bit n: counter n of these managers is built
} tl_dhpc_settings;
extern const tl_key tl_dhpc_keys[];
extern const tl_dhpc_settings tl_dhpc_default_settings;
tl_dhpc_config tl_dhpc_config_from(const tl_dhpc_settings *settings);

extern const tl_dhpc_config tl_dhpc_defaults, tl_dhpc_functional; // timed; the other mode
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

// ---- Managers: what is built on a machine ----

typedef enum tl_dhpc_origin {
    TL_DHPC_FROM_HOST,   // number `which` of what the host can tell
    TL_DHPC_FROM_CLIENT, // tl_dhpc_client_stat of the manager's core
    TL_DHPC_FROM_FABRIC, // tl_dhpc_fabric_stat
    TL_DHPC_CONSTANT,    // `which` itself
} tl_dhpc_origin;
typedef enum tl_dhpc_client_stat { TL_DHPC_HPCR_READ, TL_DHPC_HPC_REQ, TL_DHPC_HPC_RETRY_FLAG, TL_DHPC_N_CLIENT_STATS } tl_dhpc_client_stat;
typedef enum tl_dhpc_fabric_stat { // bits of class 5
    TL_DHPC_REQUESTS,              // that left a client
    TL_DHPC_GRANTS,
    TL_DHPC_WAIT_CYCLES, // of requests that stood at a port and were not granted
    TL_DHPC_BEATS,
    TL_DHPC_CANCELS, // also of requests that had not left their client
    TL_DHPC_STALE,   // data and completions that arrived for a request that is no more
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
    uint32_t hart;        // whose core it counts, or TL_DHPC_NO_HART
    uint64_t implemented; // bit i: counter i is built
    tl_dhpc_counter counters[TL_DHPC_COUNTERS];
} tl_dhpc_manager;

// Number `which` in `cycle`, as well as it can be told when asked; `hart` as in the manager.
typedef uint64_t tl_dhpc_total(void *ctx, uint32_t which, uint32_t hart, uint64_t cycle);

// ---- The fabric ----

typedef struct tl_dhpc tl_dhpc;
// What may be a change of context, told by whoever runs the hart; the policy judges. An ECALL is an
// entry, too: tell both.
typedef enum tl_dhpc_notice_kind {
    TL_DHPC_TRAP_ENTRY,
    TL_DHPC_TRAP_RETURN,
    TL_DHPC_ECALL_TAKEN,
    TL_DHPC_SATP_WRITTEN,
    TL_DHPC_DEBUG
} tl_dhpc_notice_kind;

// Everything is allocated here. `managers` is copied; order and uniqueness of ids are checked.
// access_bits: XLEN of the harts.
TL_MUST_CHECK tl_status tl_dhpc_new(const tl_dhpc_config *config, uint32_t access_bits, uint32_t n_harts, const tl_dhpc_manager *managers,
                                    uint32_t n_managers, tl_dhpc_total *total, void *total_ctx, tl_arena *arena, tl_dhpc **ret_dhpc,
                                    tl_error *err);
// The same for a machine: every manager and event of events.c that the machine has signals for.
TL_MUST_CHECK tl_status tl_dhpc_new_on(const tl_dhpc_config *config, uint32_t access_bits, uint32_t n_harts, const tl_pmu_host *host,
                                       tl_arena *arena, tl_dhpc **ret_dhpc, tl_error *err);
// The units of a machine as one instance of a class sees them, for tl_sources_resolve with the same
// instance.
tl_probe tl_dhpc_probe_of(const tl_probe *probe, uint32_t class, uint32_t instance);
const tl_pmu_port *tl_dhpc_port(const tl_dhpc *dhpc, uint32_t hart); // to hang into the hart; one per hart
tl_pmu *tl_dhpc_pmu(const tl_dhpc *dhpc, uint32_t hart);             // its registers, as the register model knows them
tl_dhpc *tl_dhpc_of(const tl_pmu *pmu);                              // the fabric of such a PMU; NULL gives NULL
const tl_dhpc_config *tl_dhpc_config_of(const tl_dhpc *dhpc);
const tl_dhpc_manager *tl_dhpc_managers(const tl_dhpc *dhpc, uint32_t *ret_n); // in order of ids
void tl_dhpc_reset(tl_dhpc *dhpc);                                             // registers, requests and FIFOs; counters go on
void tl_dhpc_notice(tl_dhpc *dhpc, uint32_t hart, tl_dhpc_notice_kind kind, uint64_t cycle);
void tl_dhpc_advance(tl_dhpc *dhpc, uint64_t cycle); // everything that happens to the end of this cycle, whose instructions have been made
// The first cycle, from `now` on, in which a counter is sampled for which this hart must be
// stopped; UINT64_MAX: none in sight. The port's deadline is the same thing as a distance.
uint64_t tl_dhpc_next_event(const tl_dhpc *dhpc, uint32_t hart, uint64_t now);
// The longest time between a grant and the next one at the same port. A request waits at most
// (harts - 1) times that.
uint64_t tl_dhpc_longest_service(const tl_dhpc_config *config);

// One register instruction without a hart around it, for tests and models: the table of Zicsr, then
// the port's functions in the order of isa/rv. false: illegal instruction, and nothing has changed.
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

// What a host may want to know, without side effects. Waits are of requests that were granted.
typedef struct tl_dhpc_hart_account {
    uint64_t n_requests, n_grants, wait_cycles, max_wait_cycles;
} tl_dhpc_hart_account;
tl_dhpc_hart_account tl_dhpc_account(const tl_dhpc *dhpc, uint32_t hart);
uint64_t tl_dhpc_stat(const tl_dhpc *dhpc, tl_dhpc_fabric_stat stat);

// ---- Tables ----

extern const tl_regmap tl_dhpc_regmap;
// Selectors are (class << 14 | extend) << 6 | bit: the number by which firmware names a counter of
// instance 0. Sources name one instance's signals (model/pmu.h); those of unit `dhpc` are counted
// by the fabric itself.
extern const tl_event tl_dhpc_events[];
extern const uint32_t tl_dhpc_n_events;
#define TL_DHPC_SELECTOR(class, extend, bit) ((uint64_t)TL_DHPC_ID(class, 0, extend) << 6 | (bit))
extern const tl_pmu_type tl_pmu_dhpc; // one hart with a fabric of its own; the harts of a machine share one: tl_dhpc_new_on
typedef struct tl_dhpc_preset {
    tl_pmu_preset base; // first
    const tl_dhpc_config *config;
} tl_dhpc_preset;
extern const tl_pmu_preset *const tl_dhpc_presets[];

// ---- What it costs in hardware ----

typedef struct tl_dhpc_cost {
    // State bits.
    uint64_t client_fifo, client_registers, client_control;       // of one hart
    uint64_t manager_counters, manager_control, manager_snapshot; // of all managers
    uint64_t arbiters;                                            // round-robin pointers and locks, of all managers
    uint64_t clients, managers, state_bits;                       // sums: of all harts, of all managers, of all
    // Wires of one link in one direction, and of all of them. Harts and managers are joined by a
    // crossbar.
    uint64_t request_wires, data_wires, wires;
    uint32_t n_counters, n_wired, n_managers, n_harts; // n_wired: numbers of the directory, which count nothing and are no state
} tl_dhpc_cost;
tl_dhpc_cost tl_dhpc_cost_of(const tl_dhpc_config *config, uint32_t n_harts, const tl_dhpc_manager *managers, uint32_t n_managers);

#endif
