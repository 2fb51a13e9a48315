// SPDX-License-Identifier: MIT
// The events of the NetBurst PMU by their names, and the register values that count them: rows of
// events.def and metrics.def, a parser of event texts, and an allocation of detectors and counters.
//
// A text is an event, masks joined by +, then options, all separated by colons and in any case:
//   uops_retired:NBOGUS+BOGUS:t0:u:thr=1:edge
//   replay_event:l1_load_miss:precise        1stL_cache_load_miss_retired
//   raw:0x3cc:0x12000204:cccr=0x01040000     MSR of the event's ESCR, value of the ESCR
// Options: t0, t1 (threads), u, k (privilege), thr=N (clocks with more than N), inv (with at most
// N), edge, active=none|single|both|any, force (each increment overflows), precise or pp (PEBS).
// Options of extension NBX: ctx=TAG[/MASK] (contexts), usr=MASK, os=MASK (threads), banks (a count
// for each context), assist (samples of any event by assists), vary=N (low bits of a period vary).
#ifndef TL_PMU_NETBURST_CATALOGUE_H
#define TL_PMU_NETBURST_CATALOGUE_H

#include "pmu/netburst/netburst.h"

typedef struct tl_netburst_mask { // a bit of an event's mask
    uint8_t event, bit;
    const char *name;
    tl_fidelity fidelity;
    // Names of the thread's signals, joined by + and -. # is the number of the hart. "": records of
    // the core say it; NULL: not modeled.
    const char *sources;
    const char *note; // NULL: exact
    const char *meaning;
} tl_netburst_mask;

typedef struct tl_netburst_event_row {
    const char *name; // as the manual spells it; NULL: TL_NB_NO_EVENT
    tl_escr pair;     // the first ESCR of the pair
    uint8_t code;     // ESCR.EVENT_SELECT
    uint8_t escrs;    // bit 0: the first one of the pair detects it, bit 1: the second one
    bool is_ti;       // thread-independent
    uint8_t models;   // bit n: model n has it
    bool can_sample;  // PEBS
    const char *meaning;
} tl_netburst_event_row;
extern const tl_netburst_event_row tl_netburst_event_rows[TL_NB_N_EVENTS];
extern const tl_netburst_mask tl_netburst_masks[];
extern const uint32_t tl_netburst_n_masks;

// A counted event with what must be set beside its own ESCR and CCCR.
typedef struct tl_netburst_metric {
    const char *name;  // of the manual
    const char *alias; // as a mask of its event, or NULL
    uint8_t event;
    uint16_t mask;
    uint32_t pebs_enable, matrix_vert; // of replay_event, with TL_PEBS_UOP_TAG
    // Event of an ESCR that tags or is asked for; TL_NB_NO_EVENT: none.
    uint8_t upstream;
    uint16_t upstream_mask;
    const char *meaning;
} tl_netburst_metric;
extern const tl_netburst_metric tl_netburst_metrics[];
extern const uint32_t tl_netburst_n_metrics;

typedef struct tl_netburst_request { // an event as somebody asks for it
    uint8_t event;
    uint16_t mask;
    uint8_t escrs;     // of the event's pair that may detect it: bit 0, bit 1
    uint8_t owners;    // ESCR bits 3:0; 0: not said
    uint32_t filter;   // CCCR bits 25:16
    uint8_t tag_value; // of an event that tags execution by itself: raw texts
    bool is_tagging;
    bool is_precise;
    bool interrupts; // the overflow interrupts the thread of the owners
    // Extension NBX.
    uint64_t context, context_mask; // of the filter; mask 0: none
    uint64_t threads;               // as an XESCR; 0: owners say them
    uint64_t bounds;                // of active threads, as an XCCCR; 0: none
    uint32_t idle;                  // threads that must be idle
    bool is_banked;
    bool assists;      // the counter samples by assists
    uint8_t vary_bits; // low bits of the period that vary
    uint32_t pebs_enable, matrix_vert;
    uint8_t upstream;
    uint16_t upstream_mask;
    char name[64]; // of messages
} tl_netburst_request;

// The name of an option of extension NBX that the request needs, or NULL.
const char *tl_netburst_nbx_option(const tl_netburst_request *request);

// NULL: there is none.
const tl_netburst_mask *tl_netburst_mask_of(tl_netburst_event event, uint32_t bit);
// Bits of the mask that have a row.
uint16_t tl_netburst_known_mask(tl_netburst_event event);

// `model`: of the PMU. The message names the part of the text and the remedy.
TL_MUST_CHECK tl_status tl_netburst_parse(const char *text, uint32_t model, tl_netburst_request *ret_request, tl_error *err);

enum { TL_NETBURST_MAX_REQUESTS = TL_NETBURST_COUNTERS };

typedef struct tl_netburst_place { // of a request
    uint8_t counter;
    uint8_t escr;     // tl_escr
    uint8_t upstream; // tl_escr, or TL_N_ESCRS
} tl_netburst_place;

typedef struct tl_netburst_write {
    uint32_t msr;
    uint64_t value;
} tl_netburst_write;

// MSR writes that begin to count: tags first, then ESCRs, then CCCRs.
// NBX: XESCRs behind ESCRs; of each counter two registers of a filter, XCCCR and IDLE; NBX_CONTROL,
// _SAMPLE, _BANKED.
enum { TL_NETBURST_MAX_WRITES = 2 * TL_N_ESCRS + 5 * TL_NETBURST_COUNTERS + 5 };
typedef struct tl_netburst_plan {
    tl_netburst_place places[TL_NETBURST_MAX_REQUESTS];
    uint32_t n_writes;
    tl_netburst_write writes[TL_NETBURST_MAX_WRITES];
} tl_netburst_plan;

// Finds detectors and counters for all requests. owners: ESCR bits 3:0 of requests that do not say
// them. Thread 0 writes. A conflict names two events and which of all would fit.
TL_MUST_CHECK tl_status tl_netburst_allocate(const tl_netburst_settings *settings, uint8_t owners, const tl_netburst_request *requests,
                                             uint32_t n_requests, tl_netburst_plan *ret_plan, tl_error *err);

uint32_t tl_netburst_escr_msr(tl_escr escr);
const char *tl_netburst_escr_name(tl_escr escr);

#endif
