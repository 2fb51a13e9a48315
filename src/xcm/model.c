// SPDX-License-Identifier: MIT
// The model host; see model.h.
#include "xcm/model.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "board/arm_debug.h"
#include "isa/a64/debug.h"
#include "loader/elf.h"
#include "monitor/registers.h"
#include "session/plan.h"
#include "session/run.h"

enum { MOST_EVENTS = 64, EVENT_VALUES = 3, DEFAULT_LIST = 4096, PROGRAM_WORDS = 4096, TICKS_OF_A_CALL = 1 << 22 };
enum { EVENT_SPEC = 0x1b, EVENT_MIS = 0x10, SLOW_ACCESSES = 20, SLOW_POLLS = 9, MOST_PROGRAM_BYTES = 64 << 20 };
// FLUSH_NS: about what a loop over 512 lines takes.
static const uint64_t NS_PER_S = 1000000000, POLL_NS = 2000, OWNER = 1, FLUSH_NS = 10000;

struct tl_xcm_model {
    tl_machine *machine;
    tl_system *system;
    xcm *monitor;
    xcm_host host;
    uint32_t target, access_ns;
    uint64_t now_ns, n_accesses, n_errors;
    uint64_t behind_ns; // the board's clock after rollbacks
    bool has_ended;
    int32_t status;
    tl_xcm_options options;
    uint8_t *file; // of the program, to which images point
    xcm_image images[TL_ELF_MAX_SEGMENTS];
    uint32_t n_images;
    struct {
        tl_system_snapshot *board; // NULL: none
        uint64_t cycles_ns, noise;
        uint32_t typer[XCM_COUNTERS];
        bool has_ended;
    } saved;
    uint32_t typer[XCM_COUNTERS]; // as the monitor has written them
    uint64_t noise;               // state of the random sequence
    tl_xcm_fault fault;
    uint64_t fault_at, restart_at; // in accesses
    uint32_t n_slow_polls;
    bool hides_sdr, restarts_late, restarts_dead;
    xcm_routine routine; // 0: none
    uint64_t routine_until_ns;
    uint8_t *ring;
    size_t ring_size;
    int ring_fd; // -1: the ring is this process's own
    uint64_t *list, *programs;
    uint32_t *hash;
    tl_xcm_reply *reply; // where the next one goes; NULL: nobody waits
    bool has_reply;
    uint64_t events[MOST_EVENTS][EVENT_VALUES];
    uint32_t n_events;
    tl_xcm_access *transcript;
    uint64_t transcript_capacity, n_recorded;
};

static uint64_t cycle_of(const tl_xcm_model *model, uint64_t ns) {
    const uint64_t hz = model->machine->config.clock_hz;
    return ns / NS_PER_S * hz + ns % NS_PER_S * hz / NS_PER_S;
}

static uint64_t cycle_now(const tl_xcm_model *model) { return cycle_of(model, model->now_ns - model->behind_ns); }

// The harts run up to the present time.
static void catch_up(tl_xcm_model *model) {
    const tl_system_limits limits = {.until_cycle = cycle_now(model), .until_instret = UINT64_MAX, .break_pc = {TL_NO_LINE, TL_NO_LINE}};
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

static tl_hart *target_of(const tl_xcm_model *model) { return model->machine->harts[model->target]; }

static bool reach(tl_xcm_model *model, xcm_block block, uint32_t offset, bool is_write, uint32_t *value) {
    return tl_system_access(model->system, cycle_now(model), paddr_of(model, block, offset), is_write, value);
}

// -- Faults.

void tl_xcm_break(tl_xcm_model *model, tl_xcm_fault fault, uint64_t n_accesses) {
    model->fault = fault;
    model->fault_at = model->n_accesses + n_accesses;
}

static void suffer(tl_xcm_model *model) {
    tl_hart *h = target_of(model);
    uint32_t word = 0;
    switch (model->fault) {
    case TL_XCM_POWER_LOSS: tl_a64_power_off(h, false); break;
    case TL_XCM_RESET: h->isa->power_on(h); break;
    case TL_XCM_OS_LOCK: tl_a64_set_os_lock(h, true); break;
    case TL_XCM_SLOW_RESTART: model->restarts_late = true; break;
    case TL_XCM_DEAD_RESTART: model->restarts_dead = true; break;
    case TL_XCM_NO_SDR: model->hides_sdr = true; break;
    case TL_XCM_OVERRUN: // the second of two words is one too many
        for (uint32_t i = 0; i < 2; i++)
            (void)reach(model, XCM_DBG, DBGDTRRX, true, &word);
        break;
    case TL_XCM_SLOW_ITE: model->n_slow_polls = SLOW_POLLS; break;
    default: break;
    }
    model->fault = TL_XCM_NO_FAULT;
}

// false: the write is lost, or comes later.
static bool passes(tl_xcm_model *model, xcm_block block, uint32_t offset, uint32_t value) {
    if (block != XCM_CTI || offset != CTIAPPPULSE || !(value & CHANNEL_RESTART))
        return true;
    if (model->options.on_restart)
        model->options.on_restart(model->options.ctx);
    if (model->restarts_late)
        model->restart_at = model->n_accesses + SLOW_ACCESSES;
    const bool is_lost = model->restarts_late || model->restarts_dead;
    model->restarts_late = model->restarts_dead = false;
    return !is_lost;
}

static uint64_t next_noise(tl_xcm_model *model) {
    model->noise = model->noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return model->noise >> 33;
}

static uint32_t wrong_path(tl_xcm_model *model, uint32_t n) {
    if (model->options.wrong_path == 0 || (model->typer[n] & 0xffff) != EVENT_SPEC)
        return 0;
    for (uint32_t i = 0; i < XCM_COUNTERS; i++) {
        uint32_t mis = 0;
        if ((model->typer[i] & 0xffff) == EVENT_MIS && reach(model, XCM_PMU, PMEVCNTR + 8 * i, false, &mis) && mis > 0)
            return (uint32_t)(next_noise(model) % (model->options.wrong_path + 1));
    }
    return 0;
}

// A value as noise and faults show it.
static uint32_t seen(tl_xcm_model *model, xcm_block block, uint32_t offset, uint32_t value) {
    if (block == XCM_DBG && offset == EDPRSR && model->hides_sdr)
        return value & ~(uint32_t)PRSR_SDR;
    if (block == XCM_DBG && offset == EDSCR && model->n_slow_polls > 0) {
        model->n_slow_polls -= 1;
        return value & ~(uint32_t)SCR_ITE;
    }
    if (block == XCM_PMU && offset < 8 * XCM_COUNTERS && offset % 8 == 0)
        return value + wrong_path(model, offset / 8);
    return value;
}

static void begin_access(tl_xcm_model *model) {
    uint32_t pulse = CHANNEL_RESTART;
    tl_xcm_sleep(model, model->access_ns);
    if (model->fault != TL_XCM_NO_FAULT && model->n_accesses >= model->fault_at)
        suffer(model);
    if (model->restart_at != 0 && model->n_accesses >= model->restart_at) {
        model->restart_at = 0;
        (void)reach(model, XCM_CTI, CTIAPPPULSE, true, &pulse);
    }
    model->n_accesses += 1;
}
static uint32_t rd32(void *ctx, xcm_block block, uint32_t offset) {
    tl_xcm_model *model = ctx;
    uint32_t value = 0;
    begin_access(model);
    if (reach(model, block, offset, false, &value))
        return seen(model, block, offset, value);
    model->n_errors += 1;
    return 0;
}
static void wr32(void *ctx, xcm_block block, uint32_t offset, uint32_t value) {
    tl_xcm_model *model = ctx;
    begin_access(model);
    if (block == XCM_PMU && offset >= PMEVTYPER && offset < PMEVTYPER + 4 * XCM_COUNTERS)
        model->typer[(offset - PMEVTYPER) / 4] = value;
    if (passes(model, block, offset, value))
        model->n_errors += !reach(model, block, offset, true, &value);
}
static uint64_t now_ns(void *ctx) { return ((tl_xcm_model *)ctx)->now_ns; }
static void relax(void *ctx) { tl_xcm_sleep(ctx, ((tl_xcm_model *)ctx)->access_ns); }

static void notify(void *ctx, const uint8_t *packet, uint32_t n_bytes) {
    tl_xcm_model *model = ctx;
    xcm_packet header;
    if (model->options.on_packet)
        model->options.on_packet(model->options.ctx, packet, n_bytes);
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
    model->options.on_hit(model->options.ctx, address);
}

// CACHE_FLUSH. The routine stands between two fetch runs of the target, which wait for it.
static xcm_progress run_on_target(void *ctx, xcm_routine routine, bool is_start) {
    tl_xcm_model *model = ctx;
    tl_hart *h = target_of(model);
    if (h->is_halted || model->has_ended)
        return XCM_CANNOT;
    if (is_start)
        model->routine = routine;
    if (model->routine != 0) {
        if (h->run_vline != TL_NO_LINE)
            return XCM_RUNS;
        if (model->routine & XCM_FLUSH_L1D)
            tl_memory_flush_l1d(h);
        if (model->routine & XCM_FLUSH_L1I)
            h->port->drop_code(h);
        model->routine = 0;
        model->routine_until_ns = model->now_ns + FLUSH_NS;
        tl_hart_idle_until(h, cycle_of(model, model->routine_until_ns - model->behind_ns));
        return XCM_RUNS;
    }
    return model->now_ns < model->routine_until_ns ? XCM_RUNS : XCM_HAS_RUN;
}

// -- Snapshots. The monitor's clock never goes back; the board's does.

static bool take_snapshot(void *ctx) {
    tl_xcm_model *model = ctx;
    tl_system_snapshot_free(model->saved.board);
    model->saved.board = NULL;
    if (tl_system_snapshot_take(model->system, &model->saved.board, NULL) != TL_OK)
        return false;
    model->saved.cycles_ns = model->now_ns - model->behind_ns;
    model->saved.noise = model->noise;
    model->saved.has_ended = model->has_ended;
    memcpy(model->saved.typer, model->typer, sizeof model->typer);
    return true;
}

static bool roll_back(void *ctx) {
    tl_xcm_model *model = ctx;
    if (!model->saved.board)
        return false;
    tl_system_snapshot_restore(model->saved.board);
    model->behind_ns = model->now_ns - model->saved.cycles_ns;
    model->noise = model->saved.noise;
    model->has_ended = model->saved.has_ended;
    memcpy(model->typer, model->saved.typer, sizeof model->typer);
    return true;
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

// Sizes are powers of two, so that the header keeps its alignment. Nobody can shrink a shared ring.
static uint8_t *make_ring(tl_xcm_model *model, const tl_xcm_options *options) {
    model->ring_size = XCM_RING_HEADER_BYTES + options->ring_bytes;
    if (!options->has_shared_ring)
        return calloc(1, model->ring_size);
    model->ring_fd = memfd_create("tally-xcm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (model->ring_fd < 0 || ftruncate(model->ring_fd, (off_t)model->ring_size) != 0 ||
        fcntl(model->ring_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return NULL;
    void *at = mmap(NULL, model->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, model->ring_fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void free_ring(tl_xcm_model *model) {
    if (!model->options.has_shared_ring)
        free(model->ring);
    else if (model->ring)
        munmap(model->ring, model->ring_size);
    if (model->ring_fd >= 0)
        close(model->ring_fd);
}

static tl_status make_monitor(tl_xcm_model *model, const tl_xcm_options *options, tl_error *err) {
    const uint32_t capacity = options->list_capacity ? options->list_capacity : DEFAULT_LIST;
    uint32_t hash_capacity = 1;
    while (hash_capacity < 2 * capacity)
        hash_capacity *= 2;
    model->monitor = calloc(1, xcm_bytes());
    model->list = calloc(capacity, sizeof *model->list);
    model->hash = calloc(hash_capacity, sizeof *model->hash);
    model->programs = calloc(PROGRAM_WORDS, sizeof *model->programs);
    model->ring = options->ring_bytes ? make_ring(model, options) : NULL;
    if (!model->monitor || !model->list || !model->hash || !model->programs || (options->ring_bytes && !model->ring))
        return tl_fail(err, TL_ENOMEM, "no memory for the monitor");
    model->host = (xcm_host){.ctx = model,
                             .rd32 = rd32,
                             .wr32 = wr32,
                             .now_ns = now_ns,
                             .relax = relax,
                             .notify = notify,
                             .run_on_target = run_on_target,
                             .snapshot = options->has_snapshots ? take_snapshot : NULL,
                             .rollback = options->has_snapshots ? roll_back : NULL,
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
                               .program_words = PROGRAM_WORDS,
                               .images = model->images,
                               .n_images = options->has_no_images ? 0 : model->n_images};
    if (!xcm_init(model->monitor, &config))
        return tl_fail(err, TL_EINVAL, "the ring has %llu bytes; choose a power of two", (unsigned long long)options->ring_bytes);
    return TL_OK;
}

// -- Images: the code of a bare program, which runs where its file says.

typedef struct bytes {
    const uint8_t *at;
    uint64_t n;
} bytes;
static int64_t read_bytes(void *ctx, void *to, size_t n, uint64_t offset) {
    const bytes *from = ctx;
    if (offset >= from->n)
        return 0;
    const size_t got = n < from->n - offset ? n : (size_t)(from->n - offset);
    memcpy(to, from->at + offset, got);
    return (int64_t)got;
}

static uint64_t read_file(tl_xcm_model *model, const char *path) {
    FILE *file = fopen(path, "rb");
    long n = 0;
    if (file && fseek(file, 0, SEEK_END) == 0 && (n = ftell(file)) > 0 && n <= MOST_PROGRAM_BYTES && fseek(file, 0, SEEK_SET) == 0 &&
        (model->file = malloc((size_t)n)))
        n = (long)fread(model->file, 1, (size_t)n, file);
    if (file)
        fclose(file);
    return model->file ? (uint64_t)n : 0;
}

// The board has read the file before and found it good; without images the monitor reads code from
// the target.
static void find_images(tl_xcm_model *model, const char *path) {
    bytes all = {.n = read_file(model, path)};
    tl_elf elf;
    all.at = model->file;
    const tl_elf_source source = {.name = path, .size_bytes = all.n, .read = read_bytes, .ctx = &all, .is_physical = true};
    if (all.n == 0 || tl_elf_read(&source, &elf, NULL) != TL_OK)
        return;
    for (uint32_t i = 0; i < elf.n_segments; i++) {
        const tl_elf_segment *s = &elf.segments[i];
        if ((s->prot & 4) && s->offset % 4 == 0 && s->offset <= all.n && s->file_bytes <= all.n - s->offset)
            model->images[model->n_images++] =
                (xcm_image){s->vaddr, s->file_bytes / 4, (const uint32_t *)(const void *)(model->file + s->offset)};
    }
}

static tl_status make_board(tl_xcm_model *model, const tl_xcm_options *options, tl_error *err) {
    const char *name = options->machine ? options->machine : "a53x4";
    tl_config config;
    tl_status status = tl_plan_config(name, options->overrides, &config, err);
    if (status != TL_OK)
        return status;
    if (config.isa != TL_ISA_AARCH64)
        return tl_fail(err, TL_EINVAL, "machine %s is not AArch64; the monitor needs external debug, as of a53x4", name);
    const uint32_t on_board = options->software.n_harts, n_harts = on_board > 0 && on_board < config.n_harts ? on_board : config.n_harts;
    if (options->target >= n_harts)
        return tl_fail(err, TL_EINVAL, "target %u: the board of machine %s has %u harts; name one of 0 to %u", options->target, name,
                       n_harts, n_harts - 1);
    const tl_engine engine = options->has_snapshots ? TL_ENGINE_STEP : TL_ENGINE_FASTEST;
    status = tl_machine_new(&config, tl_session_engine(engine, config.isa), &model->machine, err);
    if (status != TL_OK)
        return status;
    tl_system_options software = options->software;
    software.has_debugger = true;
    status = tl_system_new(model->machine, &software, &model->system, err);
    if (status == TL_OK && software.program)
        find_images(model, software.program);
    return status;
}

tl_status tl_xcm_model_new(const tl_xcm_options *options, tl_xcm_model **ret_model, tl_error *err) {
    tl_xcm_model *model = calloc(1, sizeof *model);
    if (!model)
        return tl_fail(err, TL_ENOMEM, "no memory for the monitor");
    model->target = options->target;
    model->options = *options;
    model->ring_fd = -1;
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
    tl_system_snapshot_free(model->saved.board);
    tl_system_free(model->system);
    tl_machine_free(model->machine);
    free(model->monitor);
    free(model->list);
    free(model->hash);
    free(model->programs);
    free_ring(model);
    free(model->file);
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

bool tl_xcm_has_ended(const tl_xcm_model *model) { return model->has_ended; }
xcm *tl_xcm_monitor(tl_xcm_model *model) { return model->monitor; }
tl_machine *tl_xcm_machine(const tl_xcm_model *model) { return model->machine; }
tl_system *tl_xcm_system(const tl_xcm_model *model) { return model->system; }
uint8_t *tl_xcm_ring(const tl_xcm_model *model) { return model->ring; }
uint64_t tl_xcm_ring_bytes(const tl_xcm_model *model) { return model->options.ring_bytes; }
int tl_xcm_ring_fd(const tl_xcm_model *model) { return model->ring_fd; }
bool tl_xcm_word(const tl_xcm_model *model, uint64_t address, uint32_t *ret_word) {
    for (uint32_t i = 0; i < model->n_images; i++) {
        const uint64_t index = (address - model->images[i].address) / 4;
        if (address < model->images[i].address || index >= model->images[i].n_words)
            continue;
        *ret_word = model->images[i].words[index];
        return true;
    }
    return false;
}
uint64_t tl_xcm_now_ns(const tl_xcm_model *model) { return model->now_ns; }
uint64_t tl_xcm_n_accesses(const tl_xcm_model *model) { return model->n_accesses; }
uint64_t tl_xcm_n_errors(const tl_xcm_model *model) { return model->n_errors; }
void tl_xcm_record(tl_xcm_model *model, tl_xcm_access *to, uint64_t capacity) {
    model->transcript = to;
    model->transcript_capacity = capacity;
    model->n_recorded = 0;
}
uint64_t tl_xcm_n_recorded(const tl_xcm_model *model) { return model->n_recorded; }
