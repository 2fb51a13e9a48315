// SPDX-License-Identifier: MIT
// Out-of-band client of a chip's monitor: the commands of its mailbox over the socket of
// `tally tenants --oob`. Harts may run or stand still; no code of a guest takes part.
//
//   tl_oob_open("chip.sock", &oob, &err);
//   tl_oob_latch(oob, TL_OOB_DEVICE, 0, 0, &answer, &err);
//   tl_oob_read(oob, 0, &answer, &err);
//   tl_oob_close(oob);
//
// A command fails with an error only if the socket does. A refusal is an answer: its status.
#ifndef TALLY_OOB_H
#define TALLY_OOB_H

#include <stdbool.h>
#include <stdint.h>

#include <tally/error.h>

TL_BEGIN_DECLS

typedef struct tl_oob tl_oob;

typedef enum tl_oob_status {
    TL_OOB_SUCCESS = 0x1f,
    TL_OOB_BAD_OPCODE = 0x10,
    TL_OOB_BAD_ARGUMENT = 0x11,
    TL_OOB_BUSY = 0x12, // the block is being written, or the mailbox is locked: try again
    TL_OOB_DENIED = 0x13,
    TL_OOB_STALE = 0x14,       // nothing is latched
    TL_OOB_UNAVAILABLE = 0x15, // nothing counts this
} tl_oob_status;

typedef struct tl_oob_answer {
    uint32_t size;             // set by the caller to sizeof(tl_oob_answer)
    uint32_t status;           // tl_oob_status
    uint64_t value;            // of the command, see below
    uint64_t total;            // tl_oob_idle
    bool is_lossy, is_inexact; // tl_oob_read: flags of the latched block
} tl_oob_answer;

typedef enum tl_oob_scope { TL_OOB_DEVICE, TL_OOB_VM, TL_OOB_CONTEXT } tl_oob_scope;

// TL_ENOENT: nobody listens there. TL_EACCESS: the socket is another user's. TL_EINVAL: the path is
// too long.
TL_MUST_CHECK TL_API tl_status tl_oob_open(const char *path, tl_oob **ret_oob, tl_error *err);
TL_API void tl_oob_close(tl_oob *oob); // NULL is fine
// Proves to be the operator whose key the file holds. Latches of VMs and configuration need it.
TL_MUST_CHECK TL_API tl_status tl_oob_authenticate(tl_oob *oob, const char *key_path, tl_oob_answer *ret_answer, tl_error *err);
TL_MUST_CHECK TL_API tl_status tl_oob_end_session(tl_oob *oob, tl_oob_answer *ret_answer, tl_error *err);
// value: protocol version, metrics << 16, blocks << 32.
TL_MUST_CHECK TL_API tl_status tl_oob_identify(tl_oob *oob, tl_oob_answer *ret_answer, tl_error *err);
// Copies a block into the latch. value: its generation, low 32 bits.
TL_MUST_CHECK TL_API tl_status tl_oob_latch(tl_oob *oob, tl_oob_scope scope, uint32_t vm, uint32_t context, tl_oob_answer *ret_answer,
                                            tl_error *err);
// value: a count of the latch.
TL_MUST_CHECK TL_API tl_status tl_oob_read(tl_oob *oob, uint32_t metric, tl_oob_answer *ret_answer, tl_error *err);
enum { TL_OOB_NAME_BYTES = 48 };
// Writes the name of a metric, which needs no latch: "hart.instret".
TL_MUST_CHECK TL_API tl_status tl_oob_name(tl_oob *oob, uint32_t metric, char ret_name[TL_OOB_NAME_BYTES], tl_oob_answer *ret_answer,
                                           tl_error *err);
// Cycles since the last latch. value: those in which no partition had a VM; total: all.
TL_MUST_CHECK TL_API tl_status tl_oob_idle(tl_oob *oob, tl_oob_answer *ret_answer, tl_error *err);
// value: bit 0 driver loaded, 1 lossy, 2 overflow, 15:8 partitions in use.
TL_MUST_CHECK TL_API tl_status tl_oob_state(tl_oob *oob, tl_oob_answer *ret_answer, tl_error *err);
// key 0: the hypervisor reads blocks of VMs, 0 or 1. key 1: masks a counter block, which is refused
// because the device's block would lose it.
TL_MUST_CHECK TL_API tl_status tl_oob_configure(tl_oob *oob, uint32_t key, uint32_t value, tl_oob_answer *ret_answer, tl_error *err);
// "denied"; "unknown" for other numbers.
TL_API const char *tl_oob_status_name(uint32_t status);

TL_END_DECLS

#endif
