// SPDX-License-Identifier: MIT
// PrimeCell UART PL011 (DDI 0183), revision r1p4. The transmitter has sent a byte when it is
// written, so its FIFO is always empty. The receiver asks the host for bytes once per simulated
// millisecond while it is enabled, and never takes more than fit. Modem lines are those of a
// listener that is ready.
#include "dev/devices.h"

enum {
    DR = 0x00,
    RSR = 0x04,
    FR = 0x18,
    ILPR = 0x20,
    IBRD = 0x24,
    FBRD = 0x28,
    LCR_H = 0x2c,
    CR = 0x30,
    IFLS = 0x34,
    IMSC = 0x38,
    RIS = 0x3c,
    MIS = 0x40,
    ICR = 0x44,
    DMACR = 0x48,
    ID = 0xfe0,
    WINDOW_BYTES = 0x1000,
};
enum { FR_CTS = 1, FR_DSR = 2, FR_DCD = 4, FR_RXFE = 0x10, FR_RXFF = 0x40, FR_TXFE = 0x80 };
enum { LCR_FEN = 0x10 };
enum { CR_UARTEN = 1, CR_LBE = 0x80, CR_TXE = 0x100, CR_RXE = 0x200 };
enum { INT_RX = 0x10, INT_TX = 0x20, INT_RT = 0x40, INT_OE = 0x400, INT_ALL = 0x7ff };
enum { DR_OE = 0x800, RSR_OE = 8 };
enum { FIFO_BYTES = 16, POLLS_PER_S = 1000, CLOCK_HZ = 24000000, TIMEOUT_BITS = 32 };
__extension__ typedef unsigned __int128 uint128;

typedef struct pl011 {
    tl_device device;
    uint32_t ilpr, ibrd, fbrd, lcr_h, cr, ifls, imsc, ris, dmacr, rsr;
    uint16_t fifo[FIFO_BYTES]; // bytes, DR_OE with the first after an overrun
    uint8_t first, n_bytes;
    bool line, has_overrun;
    uint64_t next_poll, timeout_at; // cycles; UINT64_MAX: no timeout runs
} pl011;

static uint64_t now_of(const pl011 *u) { return u->device.host->now_cycles(u->device.host->ctx); }
static uint32_t capacity_of(const pl011 *u) { return u->lcr_h & LCR_FEN ? FIFO_BYTES : 1; }
static bool is_receiving(const pl011 *u) { return (u->cr & (CR_UARTEN | CR_RXE)) == (CR_UARTEN | CR_RXE); }

static void update_line(pl011 *u) {
    const bool line = (u->ris & u->imsc) != 0;
    if (line != u->line)
        u->device.host->set_irq(u->device.host->ctx, u->device.irq, line);
    u->line = line;
}

// Sec. 3.3.9: so many bytes raise the interrupt of the receiver.
static uint32_t trigger_of(const pl011 *u) {
    static const uint8_t triggers[] = {2, 4, 8, 12, 14};
    const uint32_t level = u->ifls >> 3 & 7;
    return u->lcr_h & LCR_FEN ? triggers[level < 5 ? level : 4] : 1;
}

static uint64_t timeout_cycles(const pl011 *u) { // 32 bits of the divisor, in 64ths
    const uint64_t divisor = (uint64_t)u->ibrd << 6 | u->fbrd;
    return (uint64_t)((uint128)u->device.host->clock_hz * TIMEOUT_BITS * 16 * (divisor ? divisor : 64) / 64 / CLOCK_HZ) + 1;
}

static void receive(pl011 *u, uint8_t byte) {
    if (u->n_bytes == capacity_of(u)) {
        u->has_overrun = true;
        u->rsr |= RSR_OE;
        u->ris |= INT_OE;
        return;
    }
    u->fifo[(u->first + u->n_bytes) % FIFO_BYTES] = (uint16_t)(byte | (u->has_overrun ? DR_OE : 0));
    u->has_overrun = false;
    u->n_bytes++;
    if (u->n_bytes >= trigger_of(u))
        u->ris |= INT_RX;
    u->timeout_at = now_of(u) + timeout_cycles(u);
}

static bool may_poll(const pl011 *u) { return is_receiving(u) && !(u->cr & CR_LBE) && u->n_bytes < capacity_of(u); }

static void poll_host(pl011 *u) {
    uint8_t bytes[FIFO_BYTES];
    if (now_of(u) < u->next_poll || !may_poll(u))
        return;
    const size_t n = u->device.host->get(u->device.host->ctx, bytes, capacity_of(u) - u->n_bytes);
    for (size_t i = 0; i < n; i++)
        receive(u, bytes[i]);
    u->next_poll = now_of(u) + u->device.host->clock_hz / POLLS_PER_S + 1;
}

static uint64_t pl011_tick(tl_device *device) {
    pl011 *u = (pl011 *)device;
    const tl_device_host *host = device->host;
    poll_host(u);
    if (u->timeout_at <= now_of(u)) {
        u->ris |= u->n_bytes != 0 ? INT_RT : 0;
        u->timeout_at = UINT64_MAX;
    }
    update_line(u);
    const bool polls = may_poll(u) && host->has_input(host->ctx);
    return polls && u->next_poll < u->timeout_at ? u->next_poll : u->timeout_at;
}

static uint32_t take(pl011 *u) {
    const uint32_t value = u->fifo[u->first];
    if (u->n_bytes == 0)
        return value & 0xff;
    u->first = (uint8_t)((u->first + 1) % FIFO_BYTES);
    u->n_bytes--;
    u->rsr = value & DR_OE ? RSR_OE : 0;
    if (u->n_bytes < trigger_of(u))
        u->ris &= ~(uint32_t)INT_RX;
    if (u->n_bytes == 0) {
        u->ris &= ~(uint32_t)INT_RT;
        u->timeout_at = UINT64_MAX;
    }
    return value;
}

static void transmit(pl011 *u, uint8_t byte) {
    if ((u->cr & (CR_UARTEN | CR_TXE)) != (CR_UARTEN | CR_TXE))
        return;
    if (u->cr & CR_LBE)
        receive(u, byte);
    else
        u->device.host->put(u->device.host->ctx, &byte, 1);
    u->ris |= INT_TX;
}

static uint32_t flags_of(const pl011 *u) {
    return FR_CTS | FR_DSR | FR_DCD | FR_TXFE | (u->n_bytes == 0 ? FR_RXFE : 0) | (u->n_bytes == capacity_of(u) ? FR_RXFF : 0);
}

static bool pl011_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    static const uint8_t ids[] = {0x11, 0x10, 0x14, 0x00, 0x0d, 0xf0, 0x05, 0xb1};
    pl011 *u = (pl011 *)device;
    uint32_t value = 0;
    if (size_bytes == 8)
        return false;
    switch (offset & ~UINT64_C(3)) {
    case DR: value = take(u); break;
    case RSR: value = u->rsr; break;
    case FR: value = flags_of(u); break;
    case ILPR: value = u->ilpr; break;
    case IBRD: value = u->ibrd; break;
    case FBRD: value = u->fbrd; break;
    case LCR_H: value = u->lcr_h; break;
    case CR: value = u->cr; break;
    case IFLS: value = u->ifls; break;
    case IMSC: value = u->imsc; break;
    case RIS: value = u->ris; break;
    case MIS: value = u->ris & u->imsc; break;
    case DMACR: value = u->dmacr; break;
    default: value = offset >= ID ? ids[(offset - ID) / 4] : 0; break;
    }
    update_line(u);
    if ((offset & ~UINT64_C(3)) == DR)
        device->host->wake(device->host->ctx, device);
    *ret_value = value >> 8 * (offset & 3);
    return true;
}

static bool pl011_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value64) {
    pl011 *u = (pl011 *)device;
    const uint32_t value = (uint32_t)value64;
    if (size_bytes == 8 || (offset & 3) != 0)
        return size_bytes != 8;
    switch (offset) {
    case DR: transmit(u, (uint8_t)value); break;
    case RSR: u->rsr = 0; break;
    case ILPR: u->ilpr = value & 0xff; break;
    case IBRD: u->ibrd = value & 0xffff; break;
    case FBRD: u->fbrd = value & 0x3f; break;
    case LCR_H:
        if ((value ^ u->lcr_h) & LCR_FEN)
            u->first = u->n_bytes = 0;
        u->lcr_h = value & 0xff;
        break;
    case CR: u->cr = value & 0xff87; break;
    case IFLS: u->ifls = value & 0x3f; break;
    case IMSC: u->imsc = value & INT_ALL; break;
    case ICR: u->ris &= ~value; break;
    case DMACR: u->dmacr = value & 7; break;
    default: break;
    }
    update_line(u);
    if (offset != DR || (u->cr & CR_LBE))
        device->host->wake(device->host->ctx, device);
    return true;
}

static const tl_device_type pl011_type = {
    .name = "pl011", .title = "PL011 serial port", .read = pl011_read, .write = pl011_write, .tick = pl011_tick};

tl_status tl_pl011_new(const tl_device_place *place, tl_device **ret_device, tl_error *err) {
    pl011 *u = tl_device_new(place, &pl011_type, WINDOW_BYTES, sizeof *u, err);
    if (!u)
        return TL_ENOMEM;
    u->cr = CR_TXE | CR_RXE;
    u->ifls = 0x12;
    u->timeout_at = UINT64_MAX;
    *ret_device = &u->device;
    return TL_OK;
}
