// SPDX-License-Identifier: MIT
// The transport, the disk and the console, driven as a driver would (virtio 1.2 sec. 3.1 and
// 4.2.3), and rings that no honest driver makes.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dev/test_rig.h"

enum {
    MAGIC = 0x00,
    VERSION = 0x04,
    DEVICE_ID = 0x08,
    VENDOR_ID = 0x0c,
    DEVICE_FEATURES = 0x10,
    DEVICE_FEATURES_SELECT = 0x14,
    DRIVER_FEATURES = 0x20,
    DRIVER_FEATURES_SELECT = 0x24,
    PAGE_SIZE = 0x28,
    QUEUE_SELECT = 0x30,
    QUEUE_SIZE_MAX = 0x34,
    QUEUE_SIZE = 0x38,
    QUEUE_ALIGN = 0x3c,
    QUEUE_PAGE = 0x40,
    QUEUE_READY = 0x44,
    QUEUE_NOTIFY = 0x50,
    INTERRUPT_STATUS = 0x60,
    INTERRUPT_ACK = 0x64,
    STATUS = 0x70,
    QUEUE_TABLE = 0x80,
    QUEUE_DRIVER = 0x90,
    QUEUE_DEVICE = 0xa0,
    CONFIG = 0x100,
};
enum { IRQ = 1, SIZE = 8, TABLE = 0x1000, AVAILABLE = 0x2000, USED = 0x3000, QUEUE_SPAN = 0x4000, DATA = 0x20000 };
enum { NEXT = 1, WRITE = 2, INDIRECT = 4 };
enum { SECTOR = 512, N_SECTORS = 40 };

typedef struct part { // of a request
    uint64_t paddr;
    uint32_t n;
    uint16_t flags; // WRITE, or 0
} part;

typedef struct driver {
    tl_rig rig;
    char path[64];
    uint8_t image[N_SECTORS * SECTOR]; // the contents of the file
    uint16_t next_free, next_available[2], seen[2];
} driver;

static uint64_t in(driver *d, uint64_t offset) { return tl_rig_read(&d->rig, offset, 4); }
static void out(driver *d, uint64_t offset, uint64_t value) { tl_rig_write(&d->rig, offset, 4, value); }
static uint64_t ram(uint64_t offset) { return TL_RAM_BASE_PADDR + offset; }
static void put16(driver *d, uint64_t offset, uint16_t value) { memcpy(d->rig.ram + offset, &value, 2); }
static void put32(driver *d, uint64_t offset, uint32_t value) { memcpy(d->rig.ram + offset, &value, 4); }
static void put64(driver *d, uint64_t offset, uint64_t value) { memcpy(d->rig.ram + offset, &value, 8); }
static uint16_t get16(const driver *d, uint64_t offset) {
    uint16_t value;
    memcpy(&value, d->rig.ram + offset, 2);
    return value;
}
static uint32_t get32(const driver *d, uint64_t offset) {
    uint32_t value;
    memcpy(&value, d->rig.ram + offset, 4);
    return value;
}

static void out64(driver *d, uint64_t offset, uint64_t value) {
    out(d, offset, value & UINT32_MAX);
    out(d, offset + 4, value >> 32);
}

static void set_queue(driver *d, uint32_t queue, uint32_t size) {
    out(d, QUEUE_SELECT, queue);
    out(d, QUEUE_SIZE, size);
    out64(d, QUEUE_TABLE, ram(TABLE + queue * QUEUE_SPAN));
    out64(d, QUEUE_DRIVER, ram(AVAILABLE + queue * QUEUE_SPAN));
    out64(d, QUEUE_DEVICE, ram(USED + queue * QUEUE_SPAN));
    out(d, QUEUE_READY, 1);
}

static void negotiate(driver *d, uint64_t features) {
    out(d, STATUS, 0);
    out(d, STATUS, 1);
    out(d, STATUS, 3);
    for (uint32_t half = 0; half < 2; half++) {
        out(d, DRIVER_FEATURES_SELECT, half);
        out(d, DRIVER_FEATURES, (features | UINT64_C(1) << 32) >> 32 * half & UINT32_MAX);
    }
    out(d, STATUS, 0x0b);
    assert_int_equal(in(d, STATUS), 0x0b);
}

static void begin_use(driver *d, uint32_t n_queues) {
    memset(d->rig.ram, 0, sizeof d->rig.ram);
    d->next_free = 0;
    memset(d->next_available, 0, sizeof d->next_available);
    memset(d->seen, 0, sizeof d->seen);
    negotiate(d, 0);
    for (uint32_t q = 0; q < n_queues; q++)
        set_queue(d, q, SIZE);
    out(d, STATUS, 0x0f);
}

static driver *new_disk_with(tl_disk_mode mode, size_t n_bytes, uint32_t version) {
    driver *d = calloc(1, sizeof *d);
    assert_non_null(d);
    for (uint32_t i = 0; i < sizeof d->image; i++)
        d->image[i] = (uint8_t)(i * 7 + i / SECTOR);
    snprintf(d->path, sizeof d->path, "/tmp/tally-test-disk-XXXXXX");
    int fd = mkstemp(d->path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, d->image, n_bytes), n_bytes);
    close(fd);
    tl_rig_start(&d->rig);
    tl_device_place place = tl_rig_place(&d->rig, 0x10001000, IRQ);
    place.virtio_version = version;
    tl_error err;
    if (tl_virtio_block_new(&place, d->path, mode, &d->rig.device, &err) != TL_OK)
        fail_msg("%s", err.text);
    if (version == 2)
        begin_use(d, 1);
    return d;
}

static driver *new_disk_of(tl_disk_mode mode, size_t n_bytes) { return new_disk_with(mode, n_bytes, 2); }
static driver *new_disk(tl_disk_mode mode) { return new_disk_of(mode, N_SECTORS * SECTOR); }

static driver *new_console(void) {
    driver *d = calloc(1, sizeof *d);
    assert_non_null(d);
    tl_rig_start(&d->rig);
    tl_device_place place = tl_rig_place(&d->rig, 0x10002000, IRQ);
    assert_int_equal(tl_virtio_console_new(&place, &d->rig.device, NULL), TL_OK);
    begin_use(d, 2);
    return d;
}

static void free_driver(driver *d) {
    tl_rig_stop(&d->rig);
    if (d->path[0])
        unlink(d->path);
    free(d);
}

static void describe(driver *d, uint32_t queue, uint16_t index, uint64_t paddr, uint32_t n, uint16_t flags, uint16_t next) {
    uint64_t at = TABLE + queue * QUEUE_SPAN + 16u * index;
    put64(d, at, paddr);
    put32(d, at + 8, n);
    put16(d, at + 12, flags);
    put16(d, at + 14, next);
}

static void offer(driver *d, uint32_t queue, uint16_t head) {
    uint64_t ring = AVAILABLE + queue * QUEUE_SPAN;
    put16(d, ring + 4 + 2u * (d->next_available[queue] % SIZE), head);
    put16(d, ring + 2, ++d->next_available[queue]);
}

// Chains the parts in the next free descriptors, going around, and offers them.
static uint16_t submit(driver *d, uint32_t queue, const part *parts, uint32_t n) {
    uint16_t head = d->next_free;
    for (uint32_t i = 0; i < n; i++) {
        uint16_t next = (uint16_t)((d->next_free + 1) % SIZE);
        describe(d, queue, d->next_free, parts[i].paddr, parts[i].n, parts[i].flags | (i + 1 < n ? NEXT : 0), next);
        d->next_free = next;
    }
    offer(d, queue, head);
    return head;
}

// The next used element; its length.
static uint32_t take_used(driver *d, uint32_t queue, uint16_t head) {
    uint64_t ring = USED + queue * QUEUE_SPAN, element = ring + 4 + 8u * (d->seen[queue] % SIZE);
    assert_in_range((uint16_t)(get16(d, ring + 2) - d->seen[queue]), 1, SIZE);
    d->seen[queue]++;
    assert_int_equal(get32(d, element), head);
    return get32(d, element + 4);
}

static void put_header(driver *d, uint64_t at, uint32_t type, uint64_t sector) {
    put32(d, at, type);
    put32(d, at + 4, 0xdeadbeef); // reserved: to be ignored
    put64(d, at + 8, sector);
}

// One request in three parts, as Linux makes them; returns the status byte.
static uint8_t request(driver *d, uint32_t type, uint64_t sector, uint32_t n, uint32_t *ret_used) {
    put_header(d, DATA, type, sector);
    d->rig.ram[DATA + 0x100] = 0x77;
    part parts[] = {{ram(DATA), 16, 0}, {ram(DATA + 0x1000), n, type == 1 ? 0 : WRITE}, {ram(DATA + 0x100), 1, WRITE}};
    if (n == 0)
        parts[1] = parts[2];
    uint16_t head = submit(d, 0, parts, n == 0 ? 2 : 3);
    out(d, QUEUE_NOTIFY, 0);
    uint32_t used = take_used(d, 0, head);
    assert_int_equal(get16(d, USED + 2), d->seen[0]);
    if (ret_used)
        *ret_used = used;
    return d->rig.ram[DATA + 0x100];
}

static void read_file(const driver *d, uint8_t *bytes, size_t n) {
    FILE *file = fopen(d->path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, n, file), n);
    fclose(file);
}

static void test_transport_says_what_it_is(void **state) {
    (void)state;
    driver *d = new_disk(TL_DISK_COPY);
    assert_int_equal(in(d, MAGIC), 0x74726976);
    assert_int_equal(in(d, VERSION), 2);
    assert_int_equal(in(d, DEVICE_ID), 2);
    // The vendor is QEMU's, because there are drivers that take no other.
    assert_int_equal(in(d, VENDOR_ID), 0x554d4551);
    // SIZE_MAX, SEG_MAX, BLK_SIZE, FLUSH.
    assert_int_equal(in(d, DEVICE_FEATURES), 1 << 1 | 1 << 2 | 1 << 6 | 1 << 9);
    out(d, DEVICE_FEATURES_SELECT, 1);
    assert_int_equal(in(d, DEVICE_FEATURES), 1); // VERSION_1 and none of the ring's options
    out(d, DEVICE_FEATURES_SELECT, 2);
    assert_int_equal(in(d, DEVICE_FEATURES), 0);
    out(d, QUEUE_SELECT, 0);
    assert_int_equal(in(d, QUEUE_SIZE_MAX), 256);
    out(d, QUEUE_SELECT, 1);
    assert_int_equal(in(d, QUEUE_SIZE_MAX), 0);
    assert_int_equal(in(d, 0x0b0) & in(d, 0x0b4), UINT32_MAX); // no shared memory
    assert_int_equal(tl_rig_read(&d->rig, CONFIG, 8), N_SECTORS);
    assert_int_equal(tl_rig_read(&d->rig, CONFIG + 8, 4), 65536);
    assert_int_equal(tl_rig_read(&d->rig, CONFIG + 12, 4), 254);
    assert_int_equal(tl_rig_read(&d->rig, CONFIG + 20, 4), 512);
    assert_int_equal(tl_rig_read(&d->rig, CONFIG + 1, 1), 0);
    assert_int_equal(tl_rig_read(&d->rig, 0xff8, 8), 0);
    assert_true(tl_rig_refuses(&d->rig, STATUS, 1));
    free_driver(d);
}

static void test_features_are_agreed_on_or_refused(void **state) {
    (void)state;
    driver *d = new_disk(TL_DISK_COPY);
    const struct {
        uint64_t features;
        bool is_agreed;
    } rows[] = {
        {UINT64_C(1) << 32, true},
        {UINT64_C(1) << 32 | 1 << 9 | 1 << 6, true},
        {1 << 9, true}, // a driver that writes the low half only
        {0, true},
        {UINT64_C(1) << 32 | 1 << 5, false},            // RO was not offered
        {UINT64_C(1) << 32 | UINT64_C(1) << 28, false}, // indirect descriptors neither
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        out(d, STATUS, 0);
        assert_int_equal(in(d, STATUS), 0);
        out(d, STATUS, 3);
        out(d, DRIVER_FEATURES_SELECT, 0);
        out(d, DRIVER_FEATURES, rows[i].features & UINT32_MAX);
        out(d, DRIVER_FEATURES_SELECT, 1);
        out(d, DRIVER_FEATURES, rows[i].features >> 32);
        out(d, STATUS, 0x0b);
        assert_int_equal(in(d, STATUS), rows[i].is_agreed ? 0x0b : 0x03);
    }
    free_driver(d);
}

// Does what begin_use does, as legacy drivers do it (sec. 3.1.2, 4.2.4): no FEATURES_OK, and the
// queue as one piece of memory.
static void begin_legacy_use(driver *d, uint32_t page_bytes, uint32_t align_bytes) {
    memset(d->rig.ram, 0, sizeof d->rig.ram);
    d->next_free = d->next_available[0] = d->seen[0] = 0;
    out(d, PAGE_SIZE, page_bytes); // Linux writes it once, before it resets the device
    out(d, STATUS, 0);
    out(d, STATUS, 1);
    out(d, STATUS, 3);
    out(d, DEVICE_FEATURES_SELECT, 0);
    out(d, DRIVER_FEATURES_SELECT, 0);
    out(d, DRIVER_FEATURES, in(d, DEVICE_FEATURES) & ~(1u << 9));
    out(d, QUEUE_SELECT, 0);
    assert_int_equal(in(d, QUEUE_PAGE), 0);
    out(d, QUEUE_SIZE, SIZE);
    if (align_bytes)
        out(d, QUEUE_ALIGN, align_bytes);
}

static void test_legacy_drivers_find_their_registers(void **state) {
    (void)state;
    const struct {
        uint32_t page_bytes, align_bytes, used;
    } rows[] = {{4096, 4096, 0x1000}, {4096, 0, 0x1000}, {1024, 512, 0x200}, {2048, 8192, 0x2000}, {1, 4, 0x98}};
    for (uint32_t version = 1; version <= 2; version++)
        for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
            driver *d = new_disk_with(TL_DISK_COPY, N_SECTORS * SECTOR, version);
            assert_int_equal(in(d, VERSION), version);
            out(d, DEVICE_FEATURES_SELECT, 1);
            assert_int_equal(in(d, DEVICE_FEATURES), version - 1); // VERSION_1
            begin_legacy_use(d, rows[i].page_bytes, rows[i].align_bytes);
            const uint64_t base = 0x8000; // a multiple of every alignment above
            out(d, QUEUE_PAGE, ram(base) / rows[i].page_bytes);
            assert_int_equal(in(d, QUEUE_PAGE), ram(base) / rows[i].page_bytes);
            assert_int_equal(in(d, QUEUE_READY), 1);
            out(d, STATUS, 7);
            assert_int_equal(in(d, STATUS), 7);
            put_header(d, DATA, 0, 5);
            put64(d, base, ram(DATA));
            put32(d, base + 8, 16);
            put16(d, base + 12, NEXT);
            put16(d, base + 14, 1);
            put64(d, base + 16, ram(DATA + 0x1000));
            put32(d, base + 24, SECTOR + 1);
            put16(d, base + 28, WRITE);
            uint64_t available = base + 16u * SIZE;
            put16(d, available + 2, 1);
            out(d, QUEUE_NOTIFY, 0);
            assert_int_equal(get16(d, base + rows[i].used + 2), 1);
            assert_int_equal(get32(d, base + rows[i].used + 8), SECTOR + 1);
            assert_memory_equal(d->rig.ram + DATA + 0x1000, d->image + 5 * SECTOR, SECTOR);
            assert_true(d->rig.line[IRQ]);
            out(d, QUEUE_PAGE, 0); // the queue is out of use
            assert_int_equal(in(d, QUEUE_READY), 0);
            put16(d, available + 2, 2);
            out(d, QUEUE_NOTIFY, 0);
            assert_int_equal(get16(d, base + rows[i].used + 2), 1);
            out(d, STATUS, 0);
            assert_false(d->rig.line[IRQ]);
            free_driver(d);
        }
}

static void test_hostile_legacy_queues_break_the_device_only(void **state) {
    (void)state;
    driver *d = new_disk_with(TL_DISK_COPY, N_SECTORS * SECTOR, 1);
    const struct {
        uint32_t size, align_bytes, page;
    } rows[] = {{SIZE, 3, 0x80008},          {SIZE, 0x80000001, 0x80008}, {0, 4096, 0x80008}, {512, 4096, 0x80008},
                {UINT32_MAX, 4096, 0x80008}, {5, 4096, 0x80008},          {SIZE, 2, 0x80008}};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        begin_legacy_use(d, 4096, rows[i].align_bytes);
        out(d, QUEUE_SIZE, rows[i].size);
        out(d, QUEUE_PAGE, rows[i].page);
        assert_int_equal(in(d, QUEUE_READY), 0);
        assert_int_equal(in(d, STATUS), 0x43);
        out(d, STATUS, 7);
        out(d, QUEUE_NOTIFY, 0);
        assert_int_equal(in(d, STATUS), 0x47);
    }
    begin_legacy_use(d, 0x80000000, 0x80000000); // far beyond RAM: found out with the first request
    out(d, QUEUE_PAGE, UINT32_MAX);
    out(d, STATUS, 7);
    out(d, QUEUE_NOTIFY, 0);
    assert_int_equal(in(d, STATUS), 0x47);
    begin_legacy_use(d, 0, 4096); // no page size at all
    out(d, QUEUE_PAGE, 0x80008000);
    assert_int_equal(in(d, QUEUE_PAGE), 0x80008000);
    out(d, STATUS, 7);
    out(d, QUEUE_NOTIFY, 0); // the page is an address, and an empty ring lies there
    assert_int_equal(in(d, STATUS), 7);
    out(d, QUEUE_PAGE, 0x80009000); // a queue in use stands still
    assert_int_equal(in(d, QUEUE_PAGE), 0x80008000);
    free_driver(d);
}

static void test_reads_deliver_the_image(void **state) {
    (void)state;
    driver *d = new_disk(TL_DISK_COPY);
    for (uint32_t sector = 0; sector < N_SECTORS; sector += 3) {
        uint32_t used, n = sector + 2 <= N_SECTORS ? 2 * SECTOR : SECTOR;
        assert_int_equal(request(d, 0, sector, n, &used), 0);
        assert_int_equal(used, n + 1);
        assert_memory_equal(d->rig.ram + DATA + 0x1000, d->image + sector * SECTOR, n);
        assert_true(d->rig.line[IRQ]);
        assert_int_equal(in(d, INTERRUPT_STATUS), 1);
        out(d, INTERRUPT_ACK, 1);
        assert_false(d->rig.line[IRQ]);
    }
    free_driver(d);
}

static void test_writes_stay_in_memory_unless_the_file_is_writable(void **state) {
    (void)state;
    for (tl_disk_mode mode = TL_DISK_COPY; mode <= TL_DISK_WRITABLE; mode++) {
        driver *d = new_disk(mode);
        uint8_t file[N_SECTORS * SECTOR];
        memset(d->rig.ram + DATA + 0x1000, 0xcc, 3 * SECTOR);
        assert_int_equal(request(d, 1, 10, 3 * SECTOR, NULL), 0);
        assert_int_equal(request(d, 4, 0, 0, NULL), 0); // flush
        read_file(d, file, sizeof file);
        assert_int_equal(memcmp(file, d->image, sizeof file) == 0, mode == TL_DISK_COPY);
        memset(d->image + 10 * SECTOR, 0xcc, 3 * SECTOR);
        assert_int_equal(memcmp(file, d->image, sizeof file) == 0, mode == TL_DISK_WRITABLE);
        // Both kinds of sector, before and after.
        assert_int_equal(request(d, 0, 8, 7 * SECTOR, NULL), 0);
        assert_memory_equal(d->rig.ram + DATA + 0x1000, d->image + 8 * SECTOR, 7 * SECTOR);
        free_driver(d);
    }
}

static void test_a_read_only_disk_says_so_and_refuses(void **state) {
    (void)state;
    driver *d = new_disk(TL_DISK_READ_ONLY);
    out(d, DEVICE_FEATURES_SELECT, 0);
    assert_int_equal(in(d, DEVICE_FEATURES) >> 5 & 1, 1);
    assert_int_equal(request(d, 1, 0, SECTOR, NULL), 1);
    assert_int_equal(request(d, 0, 0, SECTOR, NULL), 0);
    assert_memory_equal(d->rig.ram + DATA + 0x1000, d->image, SECTOR);
    free_driver(d);
}

static void test_a_cut_off_last_sector_ends_in_zeros(void **state) {
    (void)state;
    driver *d = new_disk_of(TL_DISK_COPY, 5 * SECTOR + 100);
    uint8_t zeros[SECTOR] = {0};
    assert_int_equal(tl_rig_read(&d->rig, CONFIG, 8), 6);
    memset(d->rig.ram + DATA + 0x1000, 0xee, SECTOR);
    assert_int_equal(request(d, 0, 5, SECTOR, NULL), 0);
    assert_memory_equal(d->rig.ram + DATA + 0x1000, d->image + 5 * SECTOR, 100);
    assert_memory_equal(d->rig.ram + DATA + 0x1000 + 100, zeros, SECTOR - 100);
    free_driver(d);
}

static void test_requests_beyond_the_disk_are_errors(void **state) {
    (void)state;
    driver *d = new_disk(TL_DISK_COPY);
    const struct {
        uint64_t sector;
        uint32_t n;
        uint8_t status;
    } rows[] = {{N_SECTORS - 1, SECTOR, 0},
                {N_SECTORS - 1, 2 * SECTOR, 1},
                {N_SECTORS, SECTOR, 1},
                {UINT64_MAX, SECTOR, 1},
                {UINT64_MAX >> 9, 2 * SECTOR, 1},
                {0, SECTOR - 1, 1},
                {0, SECTOR + 1, 1},
                {0, 1, 1}};
    for (uint32_t type = 0; type < 2; type++)
        for (size_t i = 0; i < TL_COUNT_OF(rows); i++)
            assert_int_equal(request(d, type, rows[i].sector, rows[i].n, NULL), rows[i].status);
    uint32_t used;
    assert_int_equal(request(d, 77, 0, SECTOR, &used), 2); // an unknown type
    assert_int_equal(used, 1);
    assert_int_equal(in(d, STATUS), 0x0f); // all of them answered
    free_driver(d);
}

static void test_the_disk_has_a_name(void **state) {
    (void)state;
    driver *d = new_disk(TL_DISK_COPY);
    uint32_t used;
    assert_int_equal(request(d, 8, 0, 20, &used), 0);
    assert_int_equal(used, 21);
    assert_string_equal((char *)d->rig.ram + DATA + 0x1000, "tally-disk");
    free_driver(d);
}

// Sec. 2.7.4: a device must not rely on how a request is divided into parts.
static void test_any_division_of_a_request_is_the_same(void **state) {
    (void)state;
    driver *d = new_disk(TL_DISK_COPY);
    put_header(d, DATA, 0, 7);
    part parts[] = {{ram(DATA), 5, 0},
                    {ram(DATA + 5), 11, 0},
                    {ram(DATA + 0x1000), 100, WRITE},
                    {ram(DATA + 0x1000 + 100), 1, WRITE},
                    {ram(DATA + 0x1000 + 101), 411 + 1, WRITE}}; // the status behind the data
    d->rig.ram[DATA + 0x1000 + SECTOR] = 0x77;
    uint16_t head = submit(d, 0, parts, 5);
    out(d, QUEUE_NOTIFY, 0);
    assert_int_equal(take_used(d, 0, head), SECTOR + 1);
    assert_memory_equal(d->rig.ram + DATA + 0x1000, d->image + 7 * SECTOR, SECTOR);
    assert_int_equal(d->rig.ram[DATA + 0x1000 + SECTOR], 0);

    put_header(d, DATA, 1, 9); // header and data in one part
    memset(d->rig.ram + DATA + 16, 0xab, SECTOR);
    part whole[] = {{ram(DATA), 16 + SECTOR, 0}, {ram(DATA + 0x900), 1, WRITE}};
    head = submit(d, 0, whole, 2);
    out(d, QUEUE_NOTIFY, 0);
    assert_int_equal(take_used(d, 0, head), 1);
    assert_int_equal(request(d, 0, 9, SECTOR, NULL), 0);
    memset(d->image, 0xab, SECTOR);
    assert_memory_equal(d->rig.ram + DATA + 0x1000, d->image, SECTOR);
    free_driver(d);
}

static void test_many_requests_go_around_the_ring(void **state) {
    (void)state;
    driver *d = new_disk(TL_DISK_COPY);
    for (uint32_t i = 0; i < 70000; i++) // more than a 16-bit index counts
        assert_int_equal(request(d, 0, i % N_SECTORS, SECTOR, NULL), 0);
    for (uint32_t i = 0; i < 4; i++) { // several at once
        put_header(d, DATA + 32 * i, 0, i);
        describe(d, 0, (uint16_t)(2 * i), ram(DATA + 32 * i), 16, NEXT, (uint16_t)(2 * i + 1));
        describe(d, 0, (uint16_t)(2 * i + 1), ram(DATA + 0x1000 + 0x400 * i), SECTOR + 1, WRITE, 0);
        offer(d, 0, (uint16_t)(2 * i));
    }
    out(d, QUEUE_NOTIFY, 0);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(take_used(d, 0, (uint16_t)(2 * i)), SECTOR + 1);
        assert_memory_equal(d->rig.ram + DATA + 0x1000 + 0x400 * i, d->image + i * SECTOR, SECTOR);
    }
    free_driver(d);
}

static void test_interrupts_are_held_back_on_request(void **state) {
    (void)state;
    driver *d = new_disk(TL_DISK_COPY);
    put16(d, AVAILABLE, 1);
    assert_int_equal(request(d, 0, 0, SECTOR, NULL), 0);
    assert_int_equal(in(d, INTERRUPT_STATUS), 0);
    assert_false(d->rig.line[IRQ]);
    put16(d, AVAILABLE, 0);
    assert_int_equal(request(d, 0, 0, SECTOR, NULL), 0);
    assert_true(d->rig.line[IRQ]);
    out(d, STATUS, 0); // a reset takes it away
    assert_false(d->rig.line[IRQ]);
    assert_int_equal(in(d, INTERRUPT_STATUS), 0);
    free_driver(d);
}

static void test_nothing_is_served_before_driver_ok(void **state) {
    (void)state;
    driver *d = new_disk(TL_DISK_COPY);
    negotiate(d, 0);
    set_queue(d, 0, SIZE);
    part parts[] = {{ram(DATA), 16, 0}, {ram(DATA + 0x1000), SECTOR + 1, WRITE}};
    put_header(d, DATA, 0, 0);
    uint16_t head = submit(d, 0, parts, 2);
    out(d, QUEUE_NOTIFY, 0);
    assert_int_equal(get16(d, USED + 2), 0);
    out(d, STATUS, 0x0f);
    out(d, QUEUE_NOTIFY, 5); // no such queue
    assert_int_equal(get16(d, USED + 2), 0);
    out(d, QUEUE_NOTIFY, 0);
    assert_int_equal(take_used(d, 0, head), SECTOR + 1);
    free_driver(d);
}

// After something hostile: the device says so once, serves nothing, and works again after a reset.
static void assert_broken_and_then_mended(driver *d) {
    assert_int_equal(in(d, STATUS), 0x4f);
    assert_int_equal(in(d, INTERRUPT_STATUS) & 2, 2);
    uint64_t n_dmas = d->rig.n_dmas;
    for (uint32_t i = 0; i < 10; i++)
        out(d, QUEUE_NOTIFY, 0);
    assert_int_equal(d->rig.n_dmas, n_dmas);
    out(d, STATUS, 0x0f); // the driver cannot take it back
    assert_int_equal(in(d, STATUS), 0x4f);
    begin_use(d, 1);
    assert_int_equal(in(d, STATUS), 0x0f);
    assert_int_equal(request(d, 0, 1, SECTOR, NULL), 0);
    assert_memory_equal(d->rig.ram + DATA + 0x1000, d->image + SECTOR, SECTOR);
}

static void test_hostile_chains_break_the_device_only(void **state) {
    (void)state;
    static const struct {
        const char *what;
        struct {
            uint64_t paddr;
            uint32_t n;
            uint16_t flags, next;
        } d[3];
    } rows[] = {
#define RAM(offset) (UINT64_C(0x80000000) + (offset))
        {"a loop of one", {{RAM(DATA), 16, NEXT, 0}}},
        {"a loop of two", {{RAM(DATA), 16, NEXT, 1}, {RAM(DATA), 16, NEXT, 0}}},
        {"a loop of writable parts", {{RAM(DATA), 16, NEXT, 1}, {RAM(DATA), 16, NEXT | WRITE, 1}}},
        {"a next beyond the table", {{RAM(DATA), 16, NEXT, SIZE}}},
        {"an empty part", {{RAM(DATA), 16, NEXT, 1}, {RAM(DATA), 0, WRITE, 0}}},
        {"an empty header", {{RAM(DATA), 0, NEXT, 1}, {RAM(DATA), 513, WRITE, 0}}},
        {"readable after writable", {{RAM(DATA), 16, NEXT, 1}, {RAM(DATA), 513, NEXT | WRITE, 2}, {RAM(DATA), 16, 0, 0}}},
        {"indirect, not offered", {{RAM(DATA), 16, INDIRECT, 0}}},
        {"no status", {{RAM(DATA), 16, 0, 0}}},
        {"no header", {{RAM(DATA), 513, WRITE, 0}}},
        {"half a header", {{RAM(DATA), 8, NEXT, 1}, {RAM(DATA), 513, WRITE, 0}}},
        {"a header outside RAM", {{0x1000, 16, NEXT, 1}, {RAM(DATA), 513, WRITE, 0}}},
        {"a header at the end of the address space", {{UINT64_MAX - 7, 16, NEXT, 1}, {RAM(DATA), 513, WRITE, 0}}},
        {"data outside RAM", {{RAM(DATA), 16, NEXT, 1}, {0, 513, WRITE, 0}}},
        {"data that leaves RAM", {{RAM(DATA), 16, NEXT, 1}, {RAM(TL_RIG_RAM_BYTES - 512), 513, WRITE, 0}}},
        {"data that wraps", {{RAM(DATA), 16, NEXT, 1}, {UINT64_MAX - 511, 513, WRITE, 0}}},
        {"status outside RAM", {{RAM(DATA), 16, NEXT, 1}, {RAM(DATA + 4096), 512, NEXT | WRITE, 2}, {RAM(TL_RIG_RAM_BYTES), 1, WRITE, 0}}},
        {"more than 4 GiB", {{RAM(DATA), 16, NEXT, 1}, {RAM(DATA), UINT32_MAX, NEXT | WRITE, 2}, {RAM(DATA), 1, WRITE, 0}}},
#undef RAM
    };
    driver *d = new_disk(TL_DISK_COPY);
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        begin_use(d, 1);
        put_header(d, DATA, 0, 0);
        for (uint16_t k = 0; k < 3; k++)
            describe(d, 0, k, rows[i].d[k].paddr, rows[i].d[k].n, rows[i].d[k].flags, rows[i].d[k].next);
        offer(d, 0, 0);
        out(d, QUEUE_NOTIFY, 0);
        if (in(d, STATUS) != 0x4f)
            fail_msg("%s: status %x", rows[i].what, (unsigned)in(d, STATUS));
        assert_int_equal(get16(d, USED + 2), 0);
        assert_broken_and_then_mended(d);
    }
    free_driver(d);
}

static void test_hostile_rings_break_the_device_only(void **state) {
    (void)state;
    driver *d = new_disk(TL_DISK_COPY);
    put16(d, AVAILABLE + 2, SIZE + 1); // more requests than entries
    out(d, QUEUE_NOTIFY, 0);
    assert_broken_and_then_mended(d);

    offer(d, 0, SIZE); // a head beyond the table
    out(d, QUEUE_NOTIFY, 0);
    assert_broken_and_then_mended(d);

    const uint32_t rings[] = {QUEUE_TABLE, QUEUE_DRIVER, QUEUE_DEVICE};
    const uint64_t places[] = {0, UINT64_C(0xfffffffffffffff0), TL_RAM_BASE_PADDR + TL_RIG_RAM_BYTES};
    for (size_t i = 0; i < TL_COUNT_OF(rings); i++)
        for (size_t k = 0; k < TL_COUNT_OF(places); k++) {
            out(d, QUEUE_READY, 0);
            out64(d, rings[i], places[k]);
            out(d, QUEUE_READY, 1);
            put_header(d, DATA, 0, 0);
            describe(d, 0, 0, ram(DATA), 16, NEXT, 1);
            describe(d, 0, 1, ram(DATA + 0x1000), SECTOR + 1, WRITE, 0);
            d->next_available[0] = 0;
            offer(d, 0, 0);
            out(d, QUEUE_NOTIFY, 0);
            assert_broken_and_then_mended(d);
        }
    free_driver(d);
}

static void test_queues_that_cannot_be_are_refused(void **state) {
    (void)state;
    driver *d = new_disk(TL_DISK_COPY);
    const uint32_t sizes[] = {0, 3, 512, 257, UINT32_MAX};
    for (size_t i = 0; i < TL_COUNT_OF(sizes); i++) {
        negotiate(d, 0);
        set_queue(d, 0, sizes[i]);
        assert_int_equal(in(d, QUEUE_READY), 0);
        assert_int_equal(in(d, STATUS), 0x4b);
        // The device ignores notifications before DRIVER_OK.
        assert_int_equal(in(d, INTERRUPT_STATUS), 0);
    }
    const uint32_t rings[] = {QUEUE_TABLE, QUEUE_DRIVER, QUEUE_DEVICE};
    for (size_t i = 0; i < TL_COUNT_OF(rings); i++) {
        negotiate(d, 0);
        set_queue(d, 0, SIZE);
        out(d, QUEUE_READY, 0);
        out(d, rings[i], 0x80001001); // misaligned
        out(d, QUEUE_READY, 1);
        assert_int_equal(in(d, QUEUE_READY), 0);
        assert_int_equal(in(d, STATUS), 0x4b);
    }
    begin_use(d, 1);
    out(d, QUEUE_SIZE, 3); // a ready queue stands still
    out64(d, QUEUE_TABLE, 0);
    assert_int_equal(request(d, 0, 2, SECTOR, NULL), 0);
    free_driver(d);
}

static void test_images_that_cannot_be_are_refused_with_a_sentence(void **state) {
    (void)state;
    tl_rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    tl_rig_start(rig);
    tl_device_place place = tl_rig_place(rig, 0x10001000, IRQ);
    tl_device *device;
    tl_error err;
    assert_int_equal(tl_virtio_block_new(&place, "/nonexistent/disk.img", TL_DISK_COPY, &device, &err), TL_ENOENT);
    assert_string_equal(err.text, "/nonexistent/disk.img: there is no such disk image");
    assert_int_equal(tl_virtio_block_new(&place, "/tmp", TL_DISK_COPY, &device, &err), TL_EFORMAT);
    assert_string_equal(err.text, "/tmp: not a disk image: it must be a regular file or a block device");
    assert_int_equal(tl_virtio_block_new(&place, "/dev/null", TL_DISK_COPY, &device, &err), TL_EFORMAT);
    char path[] = "/tmp/tally-test-disk-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(tl_virtio_block_new(&place, path, TL_DISK_COPY, &device, &err), TL_EFORMAT);
    assert_non_null(strstr(err.text, "the disk image is empty"));
    close(fd);
    unlink(path);
    tl_rig_stop(rig);
    free(rig);
}

static void test_console_sends_and_receives(void **state) {
    (void)state;
    driver *d = new_console();
    assert_int_equal(in(d, DEVICE_ID), 3);
    memcpy(d->rig.ram + DATA, "hello, world\n", 13);
    part parts[] = {{ram(DATA), 7, 0}, {ram(DATA + 7), 6, 0}};
    uint16_t head = submit(d, 1, parts, 2);
    out(d, QUEUE_NOTIFY, 1);
    assert_int_equal(take_used(d, 1, head), 0);
    assert_string_equal(d->rig.output, "hello, world\n");

    d->rig.input = "typed";
    tl_rig_advance(&d->rig, TL_RIG_CLOCK_HZ / 500);
    part room[] = {{ram(DATA + 0x100), 3, WRITE}}, more[] = {{ram(DATA + 0x200), 64, WRITE}};
    head = submit(d, 0, room, 1);
    out(d, QUEUE_NOTIFY, 0); // requests that arrived before are served now
    assert_int_equal(take_used(d, 0, head), 3);
    assert_memory_equal(d->rig.ram + DATA + 0x100, "typ", 3);
    head = submit(d, 0, more, 1);
    out(d, QUEUE_NOTIFY, 0);
    assert_int_equal(take_used(d, 0, head), 2);
    assert_memory_equal(d->rig.ram + DATA + 0x200, "ed\0", 3);
    head = submit(d, 0, more, 1);
    out(d, QUEUE_NOTIFY, 0);
    assert_int_equal(get16(d, USED + 2), d->seen[0]); // nothing there
    uint64_t n_dmas = d->rig.n_dmas;
    tl_rig_advance(&d->rig, TL_RIG_CLOCK_HZ / 100);
    assert_int_equal(d->rig.n_dmas, n_dmas); // waiting touches no memory
    d->rig.input = "!";
    tl_rig_advance(&d->rig, d->rig.now + TL_RIG_CLOCK_HZ / 500);
    assert_int_equal(take_used(d, 0, head), 1);
    assert_true(d->rig.line[IRQ]);
    free_driver(d);
}

static void test_an_empty_slot_is_skipped(void **state) {
    (void)state;
    driver *d = calloc(1, sizeof *d);
    assert_non_null(d);
    tl_rig_start(&d->rig);
    tl_device_place place = tl_rig_place(&d->rig, 0x10003000, IRQ);
    assert_int_equal(tl_virtio_empty_new(&place, &d->rig.device, NULL), TL_OK);
    assert_int_equal(in(d, MAGIC), 0x74726976);
    assert_int_equal(in(d, VERSION), 2);
    assert_int_equal(in(d, VENDOR_ID), 0x554d4551);
    assert_int_equal(in(d, DEVICE_ID), 0);
    for (uint32_t offset = 0; offset < 0x100; offset += 4)
        out(d, offset, 0xffffffff);
    assert_int_equal(in(d, STATUS), 0);
    free_driver(d);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_transport_says_what_it_is),
    cmocka_unit_test(test_features_are_agreed_on_or_refused),
    cmocka_unit_test(test_legacy_drivers_find_their_registers),
    cmocka_unit_test(test_hostile_legacy_queues_break_the_device_only),
    cmocka_unit_test(test_reads_deliver_the_image),
    cmocka_unit_test(test_writes_stay_in_memory_unless_the_file_is_writable),
    cmocka_unit_test(test_a_read_only_disk_says_so_and_refuses),
    cmocka_unit_test(test_a_cut_off_last_sector_ends_in_zeros),
    cmocka_unit_test(test_requests_beyond_the_disk_are_errors),
    cmocka_unit_test(test_the_disk_has_a_name),
    cmocka_unit_test(test_any_division_of_a_request_is_the_same),
    cmocka_unit_test(test_many_requests_go_around_the_ring),
    cmocka_unit_test(test_interrupts_are_held_back_on_request),
    cmocka_unit_test(test_nothing_is_served_before_driver_ok),
    cmocka_unit_test(test_hostile_chains_break_the_device_only),
    cmocka_unit_test(test_hostile_rings_break_the_device_only),
    cmocka_unit_test(test_queues_that_cannot_be_are_refused),
    cmocka_unit_test(test_images_that_cannot_be_are_refused_with_a_sentence),
    cmocka_unit_test(test_console_sends_and_receives),
    cmocka_unit_test(test_an_empty_slot_is_skipped),
};
TL_TEST_MAIN(tests)
