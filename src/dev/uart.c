// SPDX-License-Identifier: MIT
// A 16550A serial port (National Semiconductor PC16550D data sheet). The transmitter hands each
// byte to the host at once, so it is always empty; what drivers rely on is the bookkeeping around
// it: the THRE interrupt comes when the holding register empties and when it is enabled while
// empty, and goes when IIR named it or a byte is written. Divisor and line format are stored; they
// time the receiver's timeout interrupt and nothing else.
//
// One thing is QEMU's and not the data sheet's. Teaching kernels enable the THRE interrupt and read
// the line status in its handler, never IIR. On a chip the line stays up, and the interrupt repeats
// for ever; QEMU's interrupt controller takes it once. Here the line falls when the line status has
// told that the register is empty, and IIR still names the cause. The line rises once more after
// the time of a character, because a handler may have written a byte, looked at the line status for
// another reason, and now wait for the interrupt.
//
// The receiver asks the host for bytes once per simulated millisecond and never takes more than
// fit, so that only loopback can overrun it. It asks when somebody listens, so that what is typed
// ahead is not lost to a driver that clears its FIFO as it starts: while the receiver's interrupt
// is enabled, beginning a millisecond later; or when the line status is read again and again
// without a byte being written, which tells a program that waits for input from one that waits to
// transmit.
#include "dev/devices.h"

enum { RBR = 0, IER = 1, IIR = 2, LCR = 3, MCR = 4, LSR = 5, MSR = 6, SCR = 7, N_REGS = 8, WINDOW_BYTES = 0x100, FIFO_BYTES = 16 };
enum { THR = 0, FCR = 2, DLL = 0, DLM = 1 };
enum { IER_RX = 1, IER_TX = 2, IER_LINE = 4, IER_MODEM = 8 };
enum { IIR_MODEM = 0x00, IIR_NONE = 0x01, IIR_TX = 0x02, IIR_RX = 0x04, IIR_LINE = 0x06, IIR_TIMEOUT = 0x0c, IIR_FIFOS = 0xc0 };
enum { FCR_ENABLE = 1, FCR_CLEAR_RX = 2, FCR_STORED = 0xc9 };
enum { LCR_DLAB = 0x80 };
enum { MCR_DTR = 1, MCR_RTS = 2, MCR_OUT1 = 4, MCR_OUT2 = 8, MCR_LOOP = 0x10, MCR_ALL = 0x1f };
enum { LSR_READY = 1, LSR_OVERRUN = 2, LSR_EMPTY = 0x60 }; // THRE and TEMT
enum { MSR_CTS = 0x10, MSR_DSR = 0x20, MSR_RI = 0x40, MSR_DCD = 0x80 };
enum { CLOCK_HZ = 3686400, POLLS_PER_S = 1000, MANY_LOOKS = 64 };
__extension__ typedef unsigned __int128 uint128;

typedef struct uart {
    tl_device device;
    uint8_t ier, fcr, lcr, mcr, scratch, divisor_low, divisor_high;
    uint8_t modem_lines, modem_deltas; // the halves of MSR
    uint8_t fifo[FIFO_BYTES], first, n_bytes;
    // Reads of an empty line status since another register was written, less bytes transmitted; at
    // most MANY_LOOKS.
    uint8_t n_looks;
    bool has_overrun, has_thre, has_timeout, line;
    // is_thre_told: the line status has told of has_thre. may_remind: the line may rise once more
    // for it.
    bool is_thre_told, may_remind;
    uint64_t next_poll, timeout_at, remind_at; // cycles; UINT64_MAX: no timeout, no reminder runs
} uart;

static uint64_t now_of(const uart *u) { return u->device.host->now_cycles(u->device.host->ctx); }

static uint32_t capacity_of(const uart *u) { return u->fcr & FCR_ENABLE ? FIFO_BYTES : 1; }

static bool has_reached_trigger(const uart *u) {
    static const uint8_t triggers[] = {1, 4, 8, 14};
    return u->n_bytes >= (u->fcr & FCR_ENABLE ? triggers[u->fcr >> 6] : 1);
}

// Table 4 of the data sheet: priorities of the interrupts.
static uint8_t interrupt_of(const uart *u) {
    if (u->ier & IER_LINE && u->has_overrun)
        return IIR_LINE;
    if (u->ier & IER_RX && has_reached_trigger(u))
        return IIR_RX;
    if (u->ier & IER_RX && u->has_timeout)
        return IIR_TIMEOUT;
    if (u->ier & IER_TX && u->has_thre)
        return IIR_TX;
    if (u->ier & IER_MODEM && u->modem_deltas)
        return IIR_MODEM;
    return IIR_NONE;
}

static void update_line(uart *u) {
    uint8_t interrupt = interrupt_of(u);
    bool is_more = u->ier & IER_MODEM && u->modem_deltas; // THRE hides it
    bool line = interrupt == IIR_TX && u->is_thre_told ? is_more : interrupt != IIR_NONE;
    if (line == u->line)
        return;
    u->line = line;
    u->device.host->set_irq(u->device.host->ctx, u->device.irq, line);
}

static uint64_t character_cycles(const uart *u, uint32_t n_characters) {
    uint64_t divisor = u->divisor_low | (uint64_t)u->divisor_high << 8;
    // Start bit, 5 data bits, stop bit, and the bits that LCR adds.
    uint64_t n_bits = 7u + (u->lcr & 3u) + (u->lcr >> 3 & 1u) + (u->lcr >> 2 & 1u);
    return (uint64_t)((uint128)u->device.host->clock_hz * n_characters * n_bits * 16 * (divisor ? divisor : 1) / CLOCK_HZ) + 1;
}

// The receiver's timeout: as long as four characters take (sec. 8.4.2).
static uint64_t timeout_cycles(const uart *u) { return character_cycles(u, 4); }

static void receive(uart *u, uint8_t byte) {
    if (u->n_bytes == capacity_of(u)) {
        u->has_overrun = true;
        // The new byte replaces the one in the holding register; a full FIFO keeps what it has.
        if (!(u->fcr & FCR_ENABLE))
            u->fifo[u->first] = byte;
        return;
    }
    u->fifo[(u->first + u->n_bytes) % FIFO_BYTES] = byte;
    u->n_bytes++;
    if (u->fcr & FCR_ENABLE)
        u->timeout_at = now_of(u) + timeout_cycles(u);
}

static void clear_receiver(uart *u) {
    u->first = u->n_bytes = 0;
    u->has_timeout = false;
    u->timeout_at = UINT64_MAX;
}

static bool may_receive(const uart *u) { return !(u->mcr & MCR_LOOP) && u->n_bytes < capacity_of(u); }

static uint64_t poll_cycles(const uart *u) { return u->device.host->clock_hz / POLLS_PER_S + 1; }

static void poll_host(uart *u) {
    uint64_t now = now_of(u);
    if (now < u->next_poll || !may_receive(u))
        return;
    uint8_t bytes[FIFO_BYTES];
    size_t n = u->device.host->get(u->device.host->ctx, bytes, capacity_of(u) - u->n_bytes);
    for (size_t i = 0; i < n; i++)
        receive(u, bytes[i]);
    u->next_poll = now + poll_cycles(u);
}

static uint64_t uart_tick(tl_device *device) {
    uart *u = (uart *)device;
    const tl_device_host *host = device->host;
    if (u->ier & IER_RX)
        poll_host(u);
    if (u->timeout_at <= now_of(u)) {
        u->has_timeout = true;
        u->timeout_at = UINT64_MAX;
    }
    if (u->remind_at <= now_of(u)) {
        u->is_thre_told = false;
        u->remind_at = UINT64_MAX;
    }
    update_line(u);
    bool polls = u->ier & IER_RX && may_receive(u) && host->has_input(host->ctx);
    uint64_t next = u->timeout_at < u->remind_at ? u->timeout_at : u->remind_at;
    return polls && u->next_poll < next ? u->next_poll : next;
}

static uint8_t take_byte(uart *u) {
    uint8_t byte = u->fifo[u->first];
    u->has_timeout = false;
    u->timeout_at = UINT64_MAX;
    if (u->n_bytes == 0)
        return byte; // the register keeps what it held
    u->first = (uint8_t)((u->first + 1) % FIFO_BYTES);
    u->n_bytes--;
    if (u->n_bytes > 0 && u->fcr & FCR_ENABLE)
        u->timeout_at = now_of(u) + timeout_cycles(u);
    return byte;
}

static uint8_t modem_lines_of(uint8_t mcr) {
    if (!(mcr & MCR_LOOP))
        return MSR_CTS | MSR_DSR | MSR_DCD; // somebody listens
    return (uint8_t)((mcr & MCR_RTS ? MSR_CTS : 0) | (mcr & MCR_DTR ? MSR_DSR : 0) | (mcr & MCR_OUT1 ? MSR_RI : 0) |
                     (mcr & MCR_OUT2 ? MSR_DCD : 0));
}

static void set_mcr(uart *u, uint8_t mcr) {
    uint8_t old = u->modem_lines, now = modem_lines_of(mcr), changed = old ^ now;
    if (now & MSR_RI)
        changed &= (uint8_t)~MSR_RI; // only the trailing edge of the ring indicator is told
    u->modem_deltas |= changed >> 4;
    u->modem_lines = now;
    u->mcr = mcr;
}

static void set_fcr(uart *u, uint8_t value) {
    bool was_enabled = u->fcr & FCR_ENABLE;
    // Sec. 8.4: the other bits are programmed only together with bit 0.
    u->fcr = value & FCR_ENABLE ? value & FCR_STORED : 0;
    if (was_enabled != (value & FCR_ENABLE) || value & FCR_CLEAR_RX)
        clear_receiver(u);
}

// The holding register became empty: an interrupt of its own.
static void set_thre(uart *u) {
    u->has_thre = u->may_remind = true;
    u->is_thre_told = false;
}

static void clear_thre(uart *u) {
    u->has_thre = u->is_thre_told = u->may_remind = false;
    u->remind_at = UINT64_MAX;
}

// The line status was read. It tells of THRE while the line is up for that.
static void tell_thre(uart *u) {
    if (u->is_thre_told || interrupt_of(u) != IIR_TX)
        return;
    u->is_thre_told = true;
    if (u->may_remind)
        u->remind_at = now_of(u) + character_cycles(u, 1);
    u->may_remind = false;
}

static void transmit(uart *u, uint8_t byte) {
    if (u->mcr & MCR_LOOP)
        receive(u, byte);
    else
        u->device.host->put(u->device.host->ctx, &byte, 1);
    if (u->n_looks > 0)
        u->n_looks--;
    set_thre(u); // gone while the byte was written, there again now that it is sent
}

static uint8_t read_iir(uart *u) {
    uint8_t id = interrupt_of(u);
    if (id == IIR_TX)
        clear_thre(u);
    return u->fcr & FCR_ENABLE ? id | IIR_FIFOS : id;
}

// Software that reads the line status much more often than it sends bytes waits for input. Software
// that polls for room to send, or probes for a chip, must not draw bytes, because it would discard
// them.
static uint8_t read_lsr(uart *u) {
    if (u->n_bytes == 0 && u->n_looks < MANY_LOOKS)
        u->n_looks++;
    if (u->n_bytes == 0 && (u->n_looks == MANY_LOOKS || u->ier & IER_RX))
        poll_host(u);
    uint8_t value = (uint8_t)((u->n_bytes ? LSR_READY : 0) | (u->has_overrun ? LSR_OVERRUN : 0) | LSR_EMPTY);
    u->has_overrun = false;
    tell_thre(u);
    return value;
}

static bool uart_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    uart *u = (uart *)device;
    if (offset >= N_REGS || size_bytes > 4)
        return false;
    uint8_t value = 0, n_before = u->n_bytes;
    uint64_t remind_before = u->remind_at;
    bool is_divisor = u->lcr & LCR_DLAB;
    switch (offset) {
    case RBR: value = is_divisor ? u->divisor_low : take_byte(u); break;
    case IER: value = is_divisor ? u->divisor_high : u->ier; break;
    case IIR: value = read_iir(u); break;
    case LCR: value = u->lcr; break;
    case MCR: value = u->mcr; break;
    case LSR: value = read_lsr(u); break;
    case MSR:
        value = u->modem_lines | u->modem_deltas;
        u->modem_deltas = 0;
        break;
    default: value = u->scratch; break;
    }
    update_line(u);
    if (u->n_bytes != n_before || u->remind_at != remind_before)
        device->host->wake(device->host->ctx, device);
    *ret_value = value;
    return true;
}

static bool uart_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    uart *u = (uart *)device;
    if (offset >= N_REGS || size_bytes > 4)
        return false;
    uint8_t byte = (uint8_t)value;
    bool is_divisor = u->lcr & LCR_DLAB;
    switch (offset) {
    case THR:
        if (is_divisor)
            u->divisor_low = byte;
        else
            transmit(u, byte);
        break;
    case IER:
        if (is_divisor) {
            u->divisor_high = byte;
        } else {
            if (byte & IER_TX && !(u->ier & IER_TX))
                // The holding register is empty, and that has not been told.
                set_thre(u);
            // Drivers read once more to be sure that nothing is left.
            if (byte & IER_RX && !(u->ier & IER_RX))
                u->next_poll = now_of(u) + poll_cycles(u);
            u->ier = byte & (IER_RX | IER_TX | IER_LINE | IER_MODEM);
        }
        break;
    case FCR: set_fcr(u, byte); break;
    case LCR: u->lcr = byte; break;
    case MCR: set_mcr(u, byte & MCR_ALL); break;
    case SCR: u->scratch = byte; break;
    default: break; // LSR and MSR are read-only
    }
    if (offset != THR || is_divisor)
        u->n_looks = 0;
    update_line(u);
    if (offset != THR || u->mcr & MCR_LOOP)
        device->host->wake(device->host->ctx, device);
    return true;
}

static const tl_device_type uart_type = {
    .name = "uart", .title = "16550A serial port", .read = uart_read, .write = uart_write, .tick = uart_tick};

tl_status tl_uart_new(const tl_device_place *place, tl_device **ret_device, tl_error *err) {
    uart *u = tl_device_new(place, &uart_type, WINDOW_BYTES, sizeof *u, err);
    if (!u)
        return TL_ENOMEM;
    u->modem_lines = modem_lines_of(0);
    u->divisor_low = 2; // 115200 baud
    // 8n1. The data sheet has 0, but firmware that relies on its loader needs 8n1.
    u->lcr = 3;
    u->timeout_at = u->remind_at = UINT64_MAX;
    u->has_thre = u->may_remind = true;
    *ret_device = &u->device;
    return TL_OK;
}
