// SPDX-License-Identifier: MIT
// Registers that every CoreSight component has at the end of its 4 KiB: affinity, software lock,
// authentication status, and identification. Arm ADIv5
// (IHI 0031) and the CoreSight architecture (IHI 0029), section B2.
#ifndef TL_MODEL_CORESIGHT_H
#define TL_MODEL_CORESIGHT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TL_CORESIGHT_BYTES = 0x1000,
    TL_CORESIGHT_DEVAFF0 = 0xfa8,
    TL_CORESIGHT_DEVAFF1 = 0xfac,
    TL_CORESIGHT_LAR = 0xfb0,
    TL_CORESIGHT_LSR = 0xfb4,
    TL_CORESIGHT_AUTHSTATUS = 0xfb8,
    TL_CORESIGHT_DEVARCH = 0xfbc,
    TL_CORESIGHT_DEVID2 = 0xfc0,
    TL_CORESIGHT_DEVID1 = 0xfc4,
    TL_CORESIGHT_DEVID = 0xfc8,
    TL_CORESIGHT_DEVTYPE = 0xfcc,
    TL_CORESIGHT_PIDR4 = 0xfd0,
    TL_CORESIGHT_CIDR3 = 0xffc,
};
static const uint32_t TL_CORESIGHT_KEY = 0xc5acce55; // what a write of LAR unlocks with

// CIDR1.
typedef enum tl_coresight_class { TL_CORESIGHT_ROM = 1, TL_CORESIGHT_COMPONENT = 9 } tl_coresight_class;

typedef struct tl_coresight_kind {
    tl_coresight_class kind;
    uint16_t part; // number of the part, as Arm gave it
    uint8_t revision;
    uint8_t type;   // DEVTYPE; of TL_CORESIGHT_COMPONENT, as all below
    uint32_t arch;  // DEVARCH
    uint32_t id[3]; // DEVID, DEVID1, DEVID2
    bool has_lock;
    bool has_affinity;
} tl_coresight_kind;

// Parts of a Cortex-A53, as its manual has them (DDI 0500, sections 11 to 14). A PMU describes
// its own registers of this kind.
extern const tl_coresight_kind tl_coresight_a53_rom, tl_coresight_a53_debug, tl_coresight_a53_cti;

typedef struct tl_coresight { // of one component
    const tl_coresight_kind *kind;
    uint64_t affinity; // MPIDR_EL1 of its core
    // Memory-mapped writes are ignored, and reads have no side effects. Set by an external debug
    // reset.
    bool is_locked;
} tl_coresight;

// Whether the offset belongs to these registers. They answer in every state of the core.
static inline bool tl_coresight_has(uint64_t offset) { return offset >= TL_CORESIGHT_DEVAFF0 && offset < TL_CORESIGHT_BYTES; }
// The register at an offset that tl_coresight_has. The caller knows `authentication`, the value of
// AUTHSTATUS.
uint32_t tl_coresight_read(const tl_coresight *c, uint64_t offset, uint32_t authentication);
// Only LAR changes anything.
void tl_coresight_write(tl_coresight *c, uint64_t offset, uint32_t value);

#endif
