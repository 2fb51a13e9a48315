// SPDX-License-Identifier: MIT
// The cross-trigger interface of a core, and the matrix that joins those of all cores (DDI 0487,
// H5 and H9.3). A channel carries levels of input triggers and of software, and pulses of both. All
// interfaces settle at once: the matrix takes no time.
#include "dev/devices.h"
#include "model/coresight.h"

enum {
    CONTROL = 0x000,
    INTACK = 0x010,
    APPSET = 0x014,
    APPCLEAR = 0x018,
    APPPULSE = 0x01c,
    INEN = 0x020,
    OUTEN = 0x0a0,
    TRIGINSTATUS = 0x130,
    TRIGOUTSTATUS = 0x134,
    CHINSTATUS = 0x138,
    CHOUTSTATUS = 0x13c,
    GATE = 0x140,
    CLAIMSET = 0xfa0,
    CLAIMCLR = 0xfa4,
};
enum { N_TRIGGERS = 8, N_CHANNELS = 4, CHANNELS = (1 << N_CHANNELS) - 1, CLAIMS = 0xf };
// Outputs that stay up until software acknowledges them; others are pulses.
enum { HELD = 1 << TL_CTI_HALT | 1 << TL_CTI_INTERRUPT };

typedef struct cti {
    tl_device device;
    tl_coresight component;
    const tl_cti_core *core;
    uint32_t index;
    struct cti *next; // the ring of the matrix
    bool is_enabled;
    uint8_t app, gate, claim;
    uint8_t inen[N_TRIGGERS], outen[N_TRIGGERS]; // channels of a trigger
    uint8_t inputs;                              // levels of input triggers
    uint8_t held, driven;                        // outputs: latched; that a channel drives now
    uint8_t pulse;                               // channels that are pulsed just now
} cti;

// Channels on which this interface has an event of its own.
static uint8_t own_channels(const cti *c) {
    uint8_t channels = c->app | c->pulse;
    for (uint32_t n = 0; n < N_TRIGGERS; n++)
        if (c->inputs >> n & 1)
            channels |= c->inen[n];
    return c->is_enabled ? channels : 0;
}

static uint8_t sent(const cti *c) { return own_channels(c) & c->gate; }

static uint8_t received(const cti *c) {
    uint8_t channels = 0;
    for (const cti *other = c->next; other != c; other = other->next)
        channels |= sent(other);
    return channels;
}

// CTIDEVID.INOUT is 0: channels from the matrix pass no gate.
static uint8_t outputs_of(const cti *c) {
    const uint8_t channels = own_channels(c) | received(c);
    uint8_t outputs = 0;
    for (uint32_t n = 0; n < N_TRIGGERS; n++)
        if (c->is_enabled && (c->outen[n] & channels))
            outputs |= (uint8_t)(1 << n);
    return outputs;
}

// The outputs of `acknowledged` fall, unless a channel drives them.
static void drive(cti *c, uint8_t acknowledged) {
    const uint8_t old_driven = c->driven, old_held = c->held;
    c->driven = outputs_of(c);
    c->held = c->is_enabled ? (uint8_t)(((c->held & ~acknowledged) | c->driven) & HELD) : 0;
    for (uint32_t n = 0; n < N_TRIGGERS; n++) {
        const uint32_t bit = 1u << n;
        if (HELD & bit ? (old_held ^ c->held) & bit : c->driven & ~old_driven & bit)
            c->core->output(c->core->ctx, c->index, n, HELD & bit ? c->held & bit : true);
    }
}

// An output may make a core enter or leave Debug state, which is an input again.
static void settle(cti *c) {
    cti *at = c;
    do
        drive(at, 0);
    while ((at = at->next) != c);
}

static void pulse(cti *c, uint8_t channels) {
    const uint8_t before = c->pulse;
    c->pulse |= channels;
    settle(c);
    c->pulse = before;
    settle(c);
}

// -- Registers.

static uint8_t *channels_at(cti *c, uint64_t offset) {
    if (offset - INEN < 4 * N_TRIGGERS)
        return &c->inen[(offset - INEN) / 4];
    if (offset - OUTEN < 4 * N_TRIGGERS)
        return &c->outen[(offset - OUTEN) / 4];
    return offset == GATE ? &c->gate : NULL;
}

static bool cti_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    cti *c = (cti *)device;
    const uint8_t *channels = channels_at(c, offset);
    if (size_bytes != 4)
        return false;
    *ret_value = channels ? *channels : 0;
    if (tl_coresight_has(offset))
        *ret_value = tl_coresight_read(&c->component, offset, c->core->authentication(c->core->ctx, c->index) & 0xf);
    switch (offset) {
    case CONTROL: *ret_value = c->is_enabled; break;
    case APPSET: *ret_value = c->app; break;
    case TRIGINSTATUS: *ret_value = c->inputs; break;
    case TRIGOUTSTATUS: *ret_value = c->held | c->driven; break;
    case CHINSTATUS: *ret_value = received(c); break;
    case CHOUTSTATUS: *ret_value = sent(c); break;
    case CLAIMSET: *ret_value = CLAIMS; break;
    case CLAIMCLR: *ret_value = c->claim; break;
    default: break;
    }
    return true;
}

static bool cti_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    cti *c = (cti *)device;
    if (size_bytes != 4)
        return false;
    if (tl_coresight_has(offset))
        tl_coresight_write(&c->component, offset, (uint32_t)value);
    if (c->component.is_locked || tl_coresight_has(offset))
        return true;
    uint8_t *channels = channels_at(c, offset);
    const uint8_t bits = value & CHANNELS;
    if (channels)
        *channels = bits;
    switch (offset) {
    case CONTROL: c->is_enabled = value & 1; break;
    case INTACK: drive(c, (uint8_t)value); return true;
    case APPSET: c->app |= bits; break;
    case APPCLEAR: c->app &= (uint8_t)~bits; break;
    case APPPULSE: pulse(c, bits); return true;
    case CLAIMSET: c->claim |= value & CLAIMS; return true;
    case CLAIMCLR: c->claim &= (uint8_t)~value; return true;
    default: break;
    }
    settle(c);
    return true;
}

static const tl_device_type cti_type = {.name = "cti", .title = "cross-trigger interface of a core", .read = cti_read, .write = cti_write};

void tl_cti_set_input(tl_device *device, uint32_t trigger, bool level) {
    cti *c = (cti *)device;
    c->inputs = (uint8_t)((c->inputs & ~(1u << trigger)) | (unsigned)level << trigger);
    settle(c);
}

tl_status tl_cti_new(const tl_device_place *place, const tl_cti_core *core, uint32_t index, tl_device *neighbor, tl_device **ret_device,
                     tl_error *err) {
    cti *c = tl_device_new(place, &cti_type, TL_CORESIGHT_BYTES, sizeof *c, err);
    if (!c)
        return TL_ENOMEM;
    c->component = (tl_coresight){.kind = &tl_coresight_a53_cti, .affinity = core->affinity(core->ctx, index), .is_locked = true};
    c->core = core;
    c->index = index;
    c->gate = CHANNELS;
    cti *other = (cti *)neighbor;
    c->next = other ? other->next : c;
    if (other)
        other->next = c;
    *ret_device = &c->device;
    return TL_OK;
}
