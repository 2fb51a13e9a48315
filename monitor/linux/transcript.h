// SPDX-License-Identifier: MIT
// A transcript of the monitor: every access of a register, and whatever else it acts on, in order.
// A replay outside of the machine makes the same decisions (tests/linux/xcm_replay.c).
#ifndef XCM_LINUX_TRANSCRIPT_H
#define XCM_LINUX_TRANSCRIPT_H

// The packet of SUBMIT and NOTIFY stands in the notes behind; `value` has its bytes.
enum {
    XCM_NOTE_READ,
    XCM_NOTE_WRITE,
    XCM_NOTE_SUBMIT, // time_ns: the owner; offset 1: the sender may debug
    XCM_NOTE_NOTIFY,
    XCM_NOTE_EXPIRE,
    XCM_NOTE_INIT, // time_ns: MPIDR of the target; value: budget in ms; offset 1: halts above EL0 stay
    XCM_NOTE_OWNER, // time_ns: the owner
    XCM_NOTE_DIED,
};

struct xcm_note {
    uint64_t time_ns;
    uint32_t value;
    uint16_t offset;
    uint8_t block, kind;
};

#endif
