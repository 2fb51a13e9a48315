// SPDX-License-Identifier: MIT
// The model host; see model.h.
#include "xcm/model.h"

#include <stdlib.h>
#include <string.h>

#include "board/arm_debug.h"
#include "session/plan.h"
#include "session/run.h"

enum { MOST_EVENTS = 64, EVENT_VALUES = 3, DEFAULT_LIST = 4096, PROGRAM_WORDS = 4096, TICKS_OF_A_CALL = 1 << 22 };
static const uint64_t NS_PER_S = 1000000000, POLL_NS = 2000, OWNER = 1;

struct tl_xcm_model {
    tl_machine *machine;
    tl_system *system;
    xcm *monitor;
    xcm_host host;
    uint32_t target, access_ns;
    uint64_t now_ns, n_accesses, n_errors;
    bool has_ended;
    int32_t status;
    uint8_t *ring;
    uint64_t *list, *programs;
    uint32_t *hash;
    tl_xcm_reply *reply; // where the next one goes; NULL: nobody waits
    bool has_reply;
    uint64_t events[MOST_EVENTS][EVENT_VALUES];
    uint32_t n_events;
    tl_xcm_access *transcript;
    uint64_t transcript_capacity, n_recorded;
    void (*on_hit)(void *ctx, uint64_t address);
    void *ctx;
};

static uint64_t cycle_of(const tl_xcm_model *model, uint64_t ns) {
    const uint64_t hz = model->machine->config.clock_hz;
    return ns / NS_PER_S * hz + ns % NS_PER_S * hz / NS_PER_S;
}

// The harts run up to the present time.
static void catch_up(tl_xcm_model *model) {
    const tl_system_limits limits = {
        .until_cycle = cycle_of(model, model->now_ns), .until_instret = UINT64_MAX, .break_pc = {TL_NO_LINE, TL_NO_LINE}};
    tl_system_report report = {0};
    if (model->has_ended)
        return;
    const tl_status status = tl_system_run(model->system, &limits, &report, NULL);
    if (status == TL_OK && report.stop == TL_SYSTEM_LIMIT)
        return;
    model->has_ended = true;
    model->status = status == TL_OK && report.stop == TL_SYSTEM_EXITED ? report.exit_status : -1;
}

void tl_xcm_sleep(tl_xcm_model *model, uint64_t ns) {
    model->now_ns += ns;
    catch_up(model);
}

// -- The host's functions.

static uint64_t paddr_of(const tl_xcm_model *model, xcm_block block, uint32_t offset) {
    static const uint32_t distances[XCM_N_BLOCKS] = {TL_CORESIGHT_DEBUG, TL_CORESIGHT_CTI, TL_CORESIGHT_PMU};
    return TL_CORESIGHT_PADDR + model->target * TL_CORESIGHT_STRIDE + distances[block] + offset;
}

static void access(tl_xcm_model *model, xcm_block block, uint32_t offset, bool is_write, uint32_t *value) {
    tl_xcm_sleep(model, model->access_ns);
    model->n_accesses += 1;
    const uint64_t cycle = cycle_of(model, model->now_ns);
    if (!tl_system_access(model->system, cycle, paddr_of(model, block, offset), is_write, value)) {
        model->n_errors += 1;
        *value = 0;
    }
}
static uint32_t rd32(void *ctx, xcm_block block, uint32_t offset) {
    uint32_t value = 0;
    access(ctx, block, offset, false, &value);
    return value;
}
static void wr32(void *ctx, xcm_block block, uint32_t offset, uint32_t value) { access(ctx, block, offset, true, &value); }
static uint64_t now_ns(void *ctx) { return ((tl_xcm_model *)ctx)->now_ns; }
static void relax(void *ctx) { tl_xcm_sleep(ctx, ((tl_xcm_model *)ctx)->access_ns); }

static void notify(void *ctx, const uint8_t *packet, uint32_t n_bytes) {
    tl_xcm_model *model = ctx;
    xcm_packet header;
    if (xcm_check_packet(packet, n_bytes, XCM_REPLY, &header) != XCM_DONE && header.length == 0)
        return;
    if (header.op == XCM_EVENT_OP && header.n_elements == EVENT_VALUES) {
        if (model->n_events == MOST_EVENTS) // the oldest is lost
            memmove(model->events[0], model->events[1], sizeof model->events - sizeof model->events[0]);
        model->n_events -= model->n_events == MOST_EVENTS;
        for (uint32_t i = 0; i < EVENT_VALUES; i++)
            model->events[model->n_events][i] = xcm_element(packet, i);
        model->n_events += 1;
        return;
    }
    model->has_reply = true;
    if (!model->reply)
        return;
    model->reply->code = (xcm_code)header.code;
    model->reply->state = (xcm_state)header.state;
    model->reply->n_values = header.n_elements;
    for (uint32_t i = 0; i < header.n_elements; i++)
        model->reply->values[i] = xcm_element(packet, i);
}

static void hit(void *ctx, uint64_t address) {
    tl_xcm_model *model = ctx;
    model->on_hit(model->ctx, address);
}

static void record(void *ctx, uint64_t time_ns, xcm_block block, uint32_t offset, bool is_write, uint32_t value) {
    tl_xcm_model *model = ctx;
    if (!model->transcript)
        return;
    if (model->n_recorded < model->transcript_capacity)
        model->transcript[model->n_recorded] = (tl_xcm_access){time_ns, value, (uint16_t)offset, (uint8_t)block, is_write};
    model->n_recorded += 1;
}

// -- Assembly.

static tl_status make_monitor(tl_xcm_model *model, const tl_xcm_options *options, tl_error *err) {
    const uint32_t capacity = options->list_capacity ? options->list_capacity : DEFAULT_LIST;
    uint32_t hash_capacity = 1;
    while (hash_capacity < 2 * capacity)
        hash_capacity *= 2;
    model->monitor = calloc(1, xcm_bytes());
    model->list = calloc(capacity, sizeof *model->list);
    model->hash = calloc(hash_capacity, sizeof *model->hash);
    model->programs = calloc(PROGRAM_WORDS, sizeof *model->programs);
    // Sizes are powers of two, so that the header keeps its alignment.
    model->ring = options->ring_bytes ? calloc(1, XCM_RING_HEADER_BYTES + options->ring_bytes) : NULL;
    if (!model->monitor || !model->list || !model->hash || !model->programs || (options->ring_bytes && !model->ring))
        return tl_fail(err, TL_ENOMEM, "no memory for the monitor");
    model->host = (xcm_host){.ctx = model,
                             .rd32 = rd32,
                             .wr32 = wr32,
                             .now_ns = now_ns,
                             .relax = relax,
                             .notify = notify,
                             .record = record,
                             .on_hit = options->on_hit ? hit : NULL};
    const xcm_config config = {.host = &model->host,
                               .mpidr = UINT64_C(0x80000000) | model->target,
                               .budget_ns = options->budget_ns,
                               .may_halt_kernel = options->may_halt_kernel,
                               .ring = model->ring,
                               .ring_bytes = options->ring_bytes,
                               .list = model->list,
                               .list_capacity = capacity,
                               .hash = model->hash,
                               .hash_capacity = hash_capacity,
                               .programs = model->programs,
                               .program_words = PROGRAM_WORDS};
    if (!xcm_init(model->monitor, &config))
        return tl_fail(err, TL_EINVAL, "the ring has %llu bytes; choose a power of two", (unsigned long long)options->ring_bytes);
    return TL_OK;
}

static tl_status make_board(tl_xcm_model *model, const tl_xcm_options *options, tl_error *err) {
    const char *name = options->machine ? options->machine : "a53x4";
    tl_config config;
    tl_status status = tl_plan_config(name, options->overrides, &config, err);
    if (status != TL_OK)
        return status;
    if (config.isa != TL_ISA_AARCH64)
        return tl_fail(err, TL_EINVAL, "machine %s is not AArch64; the monitor needs external debug, as of a53x4", name);
    if (options->target >= config.n_harts)
        return tl_fail(err, TL_EINVAL, "machine %s has %u harts; the target must be below that", name, config.n_harts);
    status = tl_machine_new(&config, tl_session_engine(TL_ENGINE_FASTEST, config.isa), &model->machine, err);
    if (status != TL_OK)
        return status;
    tl_system_options software = options->software;
    software.has_debugger = true;
    return tl_system_new(model->machine, &software, &model->system, err);
}

tl_status tl_xcm_model_new(const tl_xcm_options *options, tl_xcm_model **ret_model, tl_error *err) {
    tl_xcm_model *model = calloc(1, sizeof *model);
    if (!model)
        return tl_fail(err, TL_ENOMEM, "no memory for the monitor");
    model->target = options->target;
    model->on_hit = options->on_hit;
    model->ctx = options->ctx;
    model->access_ns = options->access_ns ? options->access_ns : TL_XCM_ACCESS_NS;
    tl_status status = make_board(model, options, err);
    if (status == TL_OK)
        status = make_monitor(model, options, err);
    if (status != TL_OK) {
        tl_xcm_model_free(model);
        return status;
    }
    *ret_model = model;
    return TL_OK;
}

void tl_xcm_model_free(tl_xcm_model *model) {
    if (!model)
        return;
    tl_system_free(model->system);
    tl_machine_free(model->machine);
    free(model->monitor);
    free(model->list);
    free(model->hash);
    free(model->programs);
    free(model->ring);
    free(model);
}

// -- Use.

void tl_xcm_tick(tl_xcm_model *model) {
    const uint64_t before = model->now_ns;
    xcm_tick(model->monitor);
    if (model->now_ns - before < POLL_NS)
        tl_xcm_sleep(model, POLL_NS - (model->now_ns - before));
}

void tl_xcm_send(tl_xcm_model *model, const uint8_t *packet, uint32_t n_bytes, tl_xcm_reply *ret_reply) {
    model->reply = ret_reply;
    model->has_reply = false;
    xcm_submit(model->monitor, packet, n_bytes, OWNER, true);
    for (uint32_t i = 0; i < TICKS_OF_A_CALL && !model->has_reply; i++)
        xcm_tick(model->monitor);
    model->reply = NULL;
}

xcm_code tl_xcm_call(tl_xcm_model *model, xcm_function function, const uint64_t *args, uint32_t n, tl_xcm_reply *ret_reply) {
    uint8_t packet[XCM_PACKET_BYTES];
    if (n > XCM_ELEMENTS)
        return XCM_TOO_LARGE;
    for (uint32_t i = 0; i < n; i++)
        xcm_put_element(packet, i, args[i]);
    ret_reply->code = XCM_INTERNAL;
    tl_xcm_send(model, packet, xcm_seal(packet, XCM_GET, xcm_op_code((uint8_t)function), 0, 0, n), ret_reply);
    return ret_reply->code;
}

bool tl_xcm_wait_event(tl_xcm_model *model, uint64_t limit_ns, uint64_t ret[EVENT_VALUES]) {
    const uint64_t since = model->now_ns;
    while (model->n_events == 0 && model->now_ns - since < limit_ns && !model->has_ended)
        tl_xcm_tick(model);
    if (model->n_events == 0)
        return false;
    memcpy(ret, model->events[0], sizeof model->events[0]);
    model->n_events -= 1;
    memmove(model->events[0], model->events[1], model->n_events * sizeof model->events[0]);
    return true;
}

bool tl_xcm_wait_end(tl_xcm_model *model, uint64_t limit_ns, int32_t *ret_status) {
    const uint64_t since = model->now_ns;
    while (!model->has_ended && model->now_ns - since < limit_ns)
        tl_xcm_tick(model);
    *ret_status = model->status;
    return model->has_ended;
}

xcm *tl_xcm_monitor(tl_xcm_model *model) { return model->monitor; }
tl_machine *tl_xcm_machine(const tl_xcm_model *model) { return model->machine; }
tl_system *tl_xcm_system(const tl_xcm_model *model) { return model->system; }
uint8_t *tl_xcm_ring(const tl_xcm_model *model) { return model->ring; }
uint64_t tl_xcm_now_ns(const tl_xcm_model *model) { return model->now_ns; }
uint64_t tl_xcm_n_accesses(const tl_xcm_model *model) { return model->n_accesses; }
uint64_t tl_xcm_n_errors(const tl_xcm_model *model) { return model->n_errors; }
void tl_xcm_record(tl_xcm_model *model, tl_xcm_access *to, uint64_t capacity) {
    model->transcript = to;
    model->transcript_capacity = capacity;
    model->n_recorded = 0;
}
uint64_t tl_xcm_n_recorded(const tl_xcm_model *model) { return model->n_recorded; }
