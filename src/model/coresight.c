// SPDX-License-Identifier: MIT
// The registers that every CoreSight component has: coresight.h.
#include "model/coresight.h"

const tl_coresight_kind tl_coresight_a53_rom = {.kind = TL_CORESIGHT_ROM, .part = 0x4a1, .revision = 4};
const tl_coresight_kind tl_coresight_a53_debug = {
    .kind = TL_CORESIGHT_COMPONENT,
    .part = 0xd03,
    .revision = 4,
    .type = 0x15,
    .arch = 0x47706a15,
    .id = {3, 2, 0}, // EDPCSR, EDCIDSR and EDVIDSR, whose samples have no offset
    .has_lock = true,
    .has_affinity = true,
};
const tl_coresight_kind tl_coresight_a53_cti = {
    .kind = TL_CORESIGHT_COMPONENT,
    .part = 0x9a8,
    .revision = 4,
    .type = 0x14,
    .arch = 0x47701a14,
    .id = {4 << 16 | 8 << 8, 0, 0}, // 4 channels, 8 triggers
    .has_lock = true,
    .has_affinity = true,
};

// PIDR4 to PIDR7, PIDR0 to PIDR3, CIDR0 to CIDR3: one byte each.
static uint32_t identification(const tl_coresight_kind *kind, uint32_t index) {
    enum { JEP106_ARM = 0x3b, JEP106_CONTINUATION = 4, USES_JEP106 = 1 << 3 };
    const uint32_t bytes[] = {
        JEP106_CONTINUATION,
        0,
        0,
        0,
        kind->part & 0xff,
        (uint32_t)kind->part >> 8 | (JEP106_ARM & 0xf) << 4,
        (uint32_t)kind->revision << 4 | USES_JEP106 | JEP106_ARM >> 4,
        0,
        0x0d,
        (uint32_t)kind->kind << 4,
        0x05,
        0xb1,
    };
    return bytes[index];
}

uint32_t tl_coresight_read(const tl_coresight *c, uint64_t offset, uint32_t authentication) {
    enum { SLI = 1, SLK = 2 };
    const tl_coresight_kind *kind = c->kind;
    if (offset >= TL_CORESIGHT_PIDR4)
        return identification(kind, (uint32_t)(offset - TL_CORESIGHT_PIDR4) / 4);
    if (kind->kind == TL_CORESIGHT_ROM)
        return 0;
    switch (offset) {
    case TL_CORESIGHT_DEVAFF0: return kind->has_affinity ? (uint32_t)c->affinity : 0;
    case TL_CORESIGHT_DEVAFF1: return kind->has_affinity ? (uint32_t)(c->affinity >> 32) : 0;
    case TL_CORESIGHT_LSR: return kind->has_lock ? SLI | (c->is_locked ? SLK : 0) : 0;
    case TL_CORESIGHT_AUTHSTATUS: return authentication;
    case TL_CORESIGHT_DEVARCH: return kind->arch;
    case TL_CORESIGHT_DEVID: return kind->id[0];
    case TL_CORESIGHT_DEVID1: return kind->id[1];
    case TL_CORESIGHT_DEVID2: return kind->id[2];
    case TL_CORESIGHT_DEVTYPE: return kind->type;
    default: return 0; // LAR
    }
}

void tl_coresight_write(tl_coresight *c, uint64_t offset, uint32_t value) {
    if (offset == TL_CORESIGHT_LAR && c->kind->has_lock)
        c->is_locked = value != TL_CORESIGHT_KEY;
}
