// SPDX-License-Identifier: MIT
// tally/debugger.h over src/xcm.
#include <tally/debugger.h>

#include <stdlib.h>
#include <string.h>

#include "api/debugger_internal.h"
#include "isa/a64/insn.h"
#include "report/trials.h"
#include "xcm/suite.h"

// FIRST_*: indices of the TLB.
enum { RING_BYTES = 1 << 20, MOST_RECORD_WORDS = 32, FIRST_WALK = 128, FIRST_IPA = 144 };

TL_API void tl_debugger_options_init(tl_debugger_options *ret_options) {
    *ret_options = (tl_debugger_options){.size = sizeof *ret_options, .console_fd = -1, .target = 1};
}

TL_API tl_status tl_debugger_new(const tl_debugger_options *options, tl_debugger **ret_monitor, tl_error *err) {
    tl_debugger *monitor = calloc(1, sizeof *monitor);
    if (!monitor)
        return tl_fail(err, TL_ENOMEM, "no memory for the monitor");
    tl_status status = options->socket ? tl_xcm_server_new(options->socket, &monitor->server, err) : TL_OK;
    const tl_xcm_options model = {
        .machine = options->machine,
        .overrides = options->overrides,
        .software = {.program = options->program,
                     .bios = options->bios,
                     .kernel = options->kernel,
                     .initrd = options->initrd,
                     .append = options->append,
                     .console_in = -1,
                     .console_out = options->console_fd,
                     .n_harts = options->n_harts},
        .target = options->target,
        .budget_ns = options->budget_ns,
        .ring_bytes = RING_BYTES,
        .may_halt_kernel = options->may_halt_kernel,
        .has_snapshots = options->has_snapshots,
        .has_shared_ring = options->socket != NULL,
        .on_packet = options->socket ? tl_xcm_server_packet : NULL,
        .ctx = monitor->server,
    };
    if (status == TL_OK)
        status = tl_xcm_model_new(&model, &monitor->model, err);
    if (status != TL_OK) {
        tl_debugger_free(monitor);
        return status;
    }
    const tl_config *config = &tl_xcm_machine(monitor->model)->config;
    monitor->geometry = (xcm_geometry){.l1d_sets = config->l1d.size_bytes / config->l1d.ways / config->l1d.line_bytes,
                                       .l1d_ways = config->l1d.ways,
                                       .l1i_sets = config->l1i.size_bytes / config->l1i.ways / config->l1i.line_bytes,
                                       .l1i_ways = config->l1i.ways,
                                       .line_bytes = config->l1d.line_bytes};
    *ret_monitor = monitor;
    return TL_OK;
}

TL_API void tl_debugger_free(tl_debugger *monitor) {
    if (!monitor)
        return;
    tl_xcm_server_free(monitor->server);
    tl_xcm_model_free(monitor->model);
    xcm_client_close(monitor->client);
    free(monitor->places);
    free(monitor);
}

TL_API void tl_debugger_serve(tl_debugger *monitor, uint32_t seconds, bool (*wants_stop)(void *ctx), void *ctx) {
    if (monitor->server)
        tl_xcm_serve(monitor->server, monitor->model, seconds, wants_stop, ctx);
}

TL_API void tl_debugger_call(tl_debugger *monitor, tl_debugger_function function, const uint64_t *args, uint32_t n,
                             tl_debugger_reply *ret_reply) {
    if (monitor->model)
        (void)tl_xcm_call(monitor->model, (xcm_function)function, args, n, &monitor->reply);
    else
        tl_debugger_ask(monitor, (xcm_function)function, args, n);
    ret_reply->code = (uint8_t)monitor->reply.code;
    ret_reply->state = (uint8_t)monitor->reply.state;
    ret_reply->n_values = monitor->reply.n_values;
    memcpy(ret_reply->values, monitor->reply.values, ret_reply->n_values * sizeof ret_reply->values[0]);
}

TL_API bool tl_debugger_wait(tl_debugger *monitor, uint64_t limit_ns, tl_debugger_event *ret_event) {
    uint64_t values[3];
    if (!(monitor->model ? tl_xcm_wait_event(monitor->model, limit_ns, values) : tl_debugger_hear(monitor, limit_ns, values)))
        return false;
    ret_event->kind = values[0];
    ret_event->pc = values[1];
    ret_event->detail = values[2];
    return true;
}

TL_API bool tl_debugger_finish(tl_debugger *monitor, uint64_t limit_ns, int32_t *ret_status) {
    return monitor->model && tl_xcm_wait_end(monitor->model, limit_ns, ret_status);
}

static void decode_line(const tl_debugger *monitor, bool is_fetch, const uint32_t dr[4], tl_debugger_entry *e) {
    const xcm_line line =
        is_fetch ? xcm_decode_l1i_tag(&monitor->geometry, e->index, dr) : xcm_decode_l1d_tag(&monitor->geometry, e->index, dr);
    e->kind = is_fetch ? TL_DEBUGGER_L1I : TL_DEBUGGER_L1D;
    e->state = line.state;
    e->paddr = line.paddr;
    e->vaddr = 0;
    e->bytes = monitor->geometry.line_bytes;
    e->asid = 0;
    e->is_global = false;
}

static void decode_page(const uint32_t dr[4], tl_debugger_entry *e) {
    const xcm_tlb_entry page = xcm_decode_tlb(e->index, dr);
    e->kind = e->index >= FIRST_IPA ? TL_DEBUGGER_IPA : e->index >= FIRST_WALK ? TL_DEBUGGER_WALK : TL_DEBUGGER_TLB;
    e->state = page.is_valid ? 'V' : 'I';
    e->vaddr = page.vaddr;
    e->paddr = page.paddr;
    e->bytes = page.bytes;
    e->asid = page.asid;
    e->is_global = page.is_valid && !page.is_walk && !page.is_non_global;
}

static bool take_record(tl_debugger *monitor, xcm_record *ret, uint64_t words[MOST_RECORD_WORDS]) {
    enum { BYTES = MOST_RECORD_WORDS * 8 };
    return monitor->model ? xcm_ring_take(tl_xcm_ring(monitor->model), tl_xcm_ring_bytes(monitor->model), ret, (uint8_t *)words, BYTES)
                          : xcm_client_take(monitor->client, ret, (uint8_t *)words, BYTES);
}

TL_API bool tl_debugger_next_entry(tl_debugger *monitor, tl_debugger_entry *ret_entry) {
    uint64_t words[MOST_RECORD_WORDS] = {0};
    xcm_record record;
    while (take_record(monitor, &record, words)) {
        const uint32_t dr[4] = {(uint32_t)words[1], (uint32_t)(words[1] >> 32), (uint32_t)words[2], (uint32_t)(words[2] >> 32)};
        ret_entry->way = (uint32_t)(words[0] >> 32);
        ret_entry->index = (uint32_t)words[0];
        if (record.type == XCM_RECORD_L1D_TAG || record.type == XCM_RECORD_L1I_TAG)
            decode_line(monitor, record.type == XCM_RECORD_L1I_TAG, dr, ret_entry);
        else if (record.type == XCM_RECORD_TLB)
            decode_page(dr, ret_entry);
        else
            continue;
        return true;
    }
    return false;
}

TL_API tl_status tl_debugger_symbol(const tl_debugger *monitor, const char *name, uint64_t *ret_address, tl_error *err) {
    if (!monitor->model)
        return tl_fail(err, TL_ENOENT, "%s: symbols are not known over a socket; write an address", name);
    return tl_system_symbol(tl_xcm_system(monitor->model), name, false, ret_address, err);
}
TL_API const char *tl_debugger_symbol_at(const tl_debugger *monitor, uint64_t address, uint64_t *ret_within) {
    return monitor->model ? tl_system_symbol_at(tl_xcm_system(monitor->model), address, ret_within) : NULL;
}
TL_API void tl_debugger_disassemble(uint32_t word, uint64_t pc, char *buffer, size_t size) {
    tl_a64_decoded insn;
    tl_a64_decode(word, &insn);
    (void)tl_a64_disassemble(&insn, pc, NULL, NULL, buffer, size);
}
TL_API bool tl_debugger_code(tl_debugger *monitor, uint64_t address, uint32_t *ret_word) {
    const uint64_t fetch[] = {0, address, 4, 0};
    if (monitor->model && tl_xcm_word(monitor->model, address, ret_word))
        return true;
    tl_debugger_reply *reply = calloc(1, sizeof *reply);
    if (reply)
        tl_debugger_call(monitor, TL_DEBUGGER_MEM_XFER, fetch, 4, reply);
    const bool is_there = reply && reply->code == TL_DEBUGGER_DONE && reply->n_values > 0;
    if (is_there)
        *ret_word = (uint32_t)reply->values[0];
    free(reply);
    return is_there;
}
TL_API uint64_t tl_debugger_now_ns(const tl_debugger *monitor) { return monitor->model ? tl_xcm_now_ns(monitor->model) : 0; }
TL_API uint64_t tl_debugger_n_accesses(const tl_debugger *monitor) { return monitor->model ? tl_xcm_n_accesses(monitor->model) : 0; }
TL_API const char *tl_debugger_code_text(uint8_t code) { return xcm_code_text(code); }
TL_API const char *tl_debugger_state_name(uint8_t state) { return xcm_state_name(state); }

// -- How often inferences are right, and pictures.

TL_API void tl_debugger_trial_options_init(tl_debugger_trial_options *ret_options) {
    enum { DEFAULT_TRIALS = 1000 };
    *ret_options = (tl_debugger_trial_options){.size = sizeof *ret_options, .n_trials = DEFAULT_TRIALS, .seed = 1};
}

TL_API tl_status tl_debugger_measure(const tl_debugger_trial_options *options, tl_debugger_trials *ret_trials, tl_error *err) {
    tl_debugger_trials found = {.size = sizeof found};
    const tl_status status = tl_xcm_measure(options, &found, err);
    if (status == TL_OK)
        tl_api_fill(ret_trials, &found, sizeof found);
    return status;
}

static tl_status written(FILE *stream, tl_error *err) {
    return fflush(stream) == 0 && !ferror(stream) ? TL_OK : tl_fail(err, TL_EIO, "the report cannot be written");
}

TL_API tl_status tl_debugger_write_trials(const tl_debugger_trials *sets, uint32_t n, tl_debugger_format format, FILE *stream,
                                          tl_error *err) {
    if (format == TL_DEBUGGER_SVG)
        tl_trials_write_svg(sets, n, stream);
    for (uint32_t i = 0; i < n && format != TL_DEBUGGER_SVG; i++)
        if (format == TL_DEBUGGER_JSON)
            tl_trials_write_json(&sets[i], stream);
        else
            tl_trials_write_text(&sets[i], stream);
    return written(stream, err);
}

TL_API tl_status tl_debugger_write_map(const tl_debugger_entry *entries, uint32_t n, FILE *stream, tl_error *err) {
    tl_entries_write_svg(entries, n, stream);
    return written(stream, err);
}

TL_API const char *tl_debugger_algorithm_name(uint32_t algorithm) {
    return algorithm < TL_DEBUGGER_ALGORITHMS ? tl_trial_structures[algorithm] : "unknown";
}
TL_API const char *tl_debugger_reason_name(uint32_t bit) { return bit < TL_DEBUGGER_REASONS ? tl_trial_reasons[bit] : "unknown"; }
