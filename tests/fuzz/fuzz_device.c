// SPDX-License-Identifier: MIT
// Any accesses to any device, with any bytes in RAM for devices that master the bus. No device may
// crash, reach beyond RAM, or work without bound for one access. None may request a call in the
// past, or use a ring after reporting it broken. Input: commands of one byte plus operands. The low
// four bits choose a device, the other bits the action.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dev/devices.h"
#include "model/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    N_DEVICES = 9,
    FIRST_VIRTIO = 5,
    RAM_BYTES = 1 << 16,
    CLOCK_HZ = 100000000,
    DISK_SECTORS = 64,
    MAX_DMAS = 1 << 20,
    MAX_COMMANDS = 4096
};
enum { READ, WRITE, WRITE_REGISTER, ADVANCE, FILL_RAM, SET_UP_QUEUES, NOTIFY, SET_SOURCE };

typedef struct world {
    const uint8_t *at, *end; // of the input
    tl_arena arena;
    tl_device_host host;
    tl_device *devices[N_DEVICES];
    uint64_t next_tick[N_DEVICES];
    uint64_t now;
    uint32_t current;
    uint64_t n_dmas;
    uint8_t *ram;
} world;

static uint64_t take(world *w, uint32_t n_bytes) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < n_bytes && w->at < w->end; i++)
        value |= (uint64_t)*w->at++ << 8 * i;
    return value;
}

static void require(bool is_so) {
    if (!is_so)
        abort();
}

static uint64_t now_cycles(void *ctx) { return ((world *)ctx)->now; }
static uint64_t time_of_cycle(void *ctx, uint64_t cycle) { return (void)ctx, cycle / 10; }
static uint64_t cycle_of_time(void *ctx, uint64_t time) { return (void)ctx, time > UINT64_MAX / 10 ? UINT64_MAX : time * 10; }
static void set_time_offset(void *ctx, uint64_t offset) { (void)ctx, (void)offset; }
static void set_irq(void *ctx, uint32_t source, bool level) {
    world *w = ctx;
    require(source >= 1 && source <= TL_PLIC_SOURCES);
    tl_plic_set_source(w->devices[1], source, level);
}
static void set_hart_irq(void *ctx, uint32_t hart, uint32_t irq, bool level) {
    (void)ctx, (void)level;
    require(hart < 2 && (irq == 3 || irq == 7 || irq == 9 || irq == 11));
}
static uint8_t *dma(void *ctx, uint64_t paddr, uint64_t size_bytes, bool is_write) {
    world *w = ctx;
    (void)is_write;
    require(++w->n_dmas < MAX_DMAS);
    uint64_t offset = paddr - TL_RAM_BASE_PADDR;
    return size_bytes > 0 && offset < RAM_BYTES && size_bytes <= RAM_BYTES - offset ? w->ram + offset : NULL;
}
static void wake(void *ctx, tl_device *device) {
    world *w = ctx;
    require(device == w->devices[w->current]);
    w->next_tick[w->current] = 0;
}
static void finish(void *ctx, int32_t status) { (void)ctx, (void)status; }
static void reset(void *ctx) { (void)ctx; }
static void put(void *ctx, const uint8_t *bytes, size_t n) {
    (void)ctx;
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum = (uint8_t)(sum + bytes[i]);
}
static size_t get(void *ctx, uint8_t *bytes, size_t n) {
    size_t part = (size_t)(((world *)ctx)->now % 19);
    part = part < n ? part : n;
    memset(bytes, 'i', part);
    return part;
}
static bool has_input(void *ctx) { return ((world *)ctx)->now < (uint64_t)1 << 40; }

static const tl_device_host host = {
    .clock_hz = CLOCK_HZ,
    .now_cycles = now_cycles,
    .time_of_cycle = time_of_cycle,
    .cycle_of_time = cycle_of_time,
    .set_time_offset = set_time_offset,
    .set_irq = set_irq,
    .set_hart_irq = set_hart_irq,
    .dma = dma,
    .wake = wake,
    .finish = finish,
    .reset = reset,
    .put = put,
    .get = get,
    .has_input = has_input,
};

// An image that no folder has to hold.
static const char *disk(void) {
    static char path[32];
    if (path[0])
        return path;
    int fd = memfd_create("disk", 0);
    require(fd >= 0 && ftruncate(fd, DISK_SECTORS * 512 - 100) == 0);
    uint8_t sector[512];
    for (uint32_t i = 0; i < 8; i++) {
        memset(sector, (int)i, sizeof sector);
        require(pwrite(fd, sector, sizeof sector, i * 512) == sizeof sector);
    }
    const char prefix[] = "/proc/self/fd/";
    memcpy(path, prefix, sizeof prefix);
    size_t n = sizeof prefix - 1;
    if (fd >= 10)
        path[n++] = (char)('0' + fd / 10 % 10);
    path[n] = (char)('0' + fd % 10);
    return path;
}

static void begin(world *w) {
    tl_device_place place[N_DEVICES];
    for (uint32_t i = 0; i < N_DEVICES; i++)
        place[i] = (tl_device_place){
            .arena = &w->arena, .host = &w->host, .base_paddr = 0x1000000 * (i + 1), .irq = i + 1, .virtio_version = i == 6 ? 1 : 2};
    tl_device **d = w->devices;
    require(tl_clint_new(&place[0], 2, &d[0], NULL) == TL_OK && tl_plic_new(&place[1], 2, &d[1], NULL) == TL_OK &&
            tl_uart_new(&place[2], &d[2], NULL) == TL_OK && tl_finisher_new(&place[3], &d[3], NULL) == TL_OK &&
            tl_rtc_new(&place[4], 1704067200, &d[4], NULL) == TL_OK &&
            tl_virtio_block_new(&place[5], disk(), TL_DISK_COPY, &d[5], NULL) == TL_OK &&
            tl_virtio_block_new(&place[6], disk(), TL_DISK_READ_ONLY, &d[6], NULL) == TL_OK &&
            tl_virtio_console_new(&place[7], &d[7], NULL) == TL_OK && tl_virtio_empty_new(&place[8], &d[8], NULL) == TL_OK);
}

static void tick(world *w, uint32_t i) {
    w->current = i;
    w->next_tick[i] = UINT64_MAX;
    if (!w->devices[i]->type->tick)
        return;
    uint64_t next = w->devices[i]->type->tick(w->devices[i]);
    require(next > w->now);
    w->next_tick[i] = next;
}

static void after(world *w) {
    if (w->next_tick[w->current] == 0)
        tick(w, w->current);
}

static uint64_t read_from(world *w, uint64_t offset, uint32_t size_bytes) {
    uint64_t value = 0;
    tl_device *device = w->devices[w->current];
    if (offset < device->size_bytes && device->type->read(device, offset, size_bytes, &value))
        require(size_bytes == 8 || value >> 8 * size_bytes == 0);
    after(w);
    return value;
}

static void write_to(world *w, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    tl_device *device = w->devices[w->current];
    bool is_virtio = w->current >= FIRST_VIRTIO;
    bool was_broken = is_virtio && (read_from(w, 0x70, 4) & 0x40);
    w->n_dmas = 0;
    if (offset < device->size_bytes)
        (void)device->type->write(device, offset, size_bytes, value);
    after(w);
    require(!was_broken || w->n_dmas == 0);
    if (was_broken && !(offset == 0x70 && (uint32_t)value == 0))
        require(read_from(w, 0x70, 4) & 0x40);
}

// Time goes on; devices are called whenever they want to be, but not for ever.
static void advance(world *w, uint64_t cycles) {
    uint64_t until = cycles > UINT64_MAX - w->now ? UINT64_MAX : w->now + cycles;
    for (uint32_t n = 0; n < 64; n++) {
        uint32_t first = 0;
        for (uint32_t i = 1; i < N_DEVICES; i++)
            first = w->next_tick[i] < w->next_tick[first] ? i : first;
        if (w->next_tick[first] >= until)
            break;
        w->now = w->next_tick[first] > w->now ? w->next_tick[first] : w->now;
        w->n_dmas = 0;
        tick(w, first);
    }
    w->now = until < (uint64_t)1 << 62 ? until : w->now;
}

// Acts as a driver, because the rings' contents must matter: three pages per queue, at an address
// from the input.
static void set_up_queues(world *w) {
    uint64_t choice = take(w, 2), base = TL_RAM_BASE_PADDR + (choice & 7) * 4096;
    const uint32_t start[][2] = {{0x70, 0}, {0x70, 3}, {0x24, 1}, {0x20, 1}, {0x70, 0xb}};
    for (uint32_t i = 0; i < 5; i++)
        write_to(w, start[i][0], 4, start[i][1]);
    for (uint32_t q = 0; q < 2; q++) {
        write_to(w, 0x30, 4, q);
        write_to(w, 0x38, 4, UINT64_C(1) << (choice >> 3 & 15) % 9);
        for (uint32_t ring = 0; ring < 3; ring++)
            write_to(w, 0x80 + 16 * ring, 4, (base + q * 3 * 4096 + ring * 4096) & UINT32_MAX);
        write_to(w, 0x44, 4, 1);
    }
    write_to(w, 0x70, 4, 0xf);
}

static void fill_ram(world *w) {
    uint64_t offset = take(w, 2), n = take(w, 1) + 1;
    for (uint64_t i = 0; i < n && w->at < w->end; i++)
        w->ram[(offset + i) % RAM_BYTES] = *w->at++;
}

static void command(world *w) {
    uint8_t byte = *w->at++;
    w->current = byte % 16 % N_DEVICES;
    switch (byte >> 4 & 7) {
    case READ: {
        uint32_t size_log2 = (uint32_t)take(w, 1) % 4;
        uint64_t offset = take(w, 3);
        (void)read_from(w, offset % w->devices[w->current]->size_bytes & ~((UINT64_C(1) << size_log2) - 1), 1u << size_log2);
        break;
    }
    case WRITE: {
        uint32_t size_log2 = (uint32_t)take(w, 1) % 4;
        uint64_t offset = take(w, 3), value = take(w, 1u << size_log2);
        write_to(w, offset % w->devices[w->current]->size_bytes & ~((UINT64_C(1) << size_log2) - 1), 1u << size_log2, value);
        break;
    }
    case WRITE_REGISTER: { // of 32 bits among the first
        uint64_t offset = take(w, 1) & ~UINT64_C(3);
        write_to(w, offset, 4, take(w, 4));
        break;
    }
    case ADVANCE: advance(w, UINT64_C(1) << take(w, 1) % 48); break;
    case FILL_RAM: fill_ram(w); break;
    case SET_UP_QUEUES:
        if (w->current >= FIRST_VIRTIO)
            set_up_queues(w);
        break;
    case NOTIFY:
        if (w->current >= FIRST_VIRTIO)
            write_to(w, 0x50, 4, take(w, 1));
        break;
    case SET_SOURCE: {
        uint8_t source = (uint8_t)take(w, 1);
        tl_plic_set_source(w->devices[1], source & 0x7f, source >> 7);
        break;
    }
    default: break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    world w = {.at = data, .end = data + size, .host = host};
    w.host.ctx = &w;
    w.ram = calloc(1, RAM_BYTES); // a block of its own, so that a sanitizer sees its ends
    require(w.ram != NULL);
    begin(&w);
    for (uint32_t n = 0; w.at < w.end && n < MAX_COMMANDS; n++)
        command(&w);
    for (uint32_t i = 0; i < N_DEVICES; i++)
        if (w.devices[i]->type->done)
            w.devices[i]->type->done(w.devices[i]);
    tl_arena_done(&w.arena);
    free(w.ram);
    return 0;
}
