// SPDX-License-Identifier: MIT
// Out-of-band mailbox: eight 32-bit registers behind a two-wire bus. No code of a guest or
// hypervisor takes part, nothing is allocated, no hart has to run. Specification 14.3 with K5, K6.
//
//   00 CMD       7:0 opcode, 15:8 arg1, 23:16 arg2, 28:24 status, 29 inexact, 30 lossy, 31 exec
//   04 DATA_IN   08 DATA_OUT   0C EXT_OUT   10..1C AUTH[4], write-only
//
// Writing CMD with bit 31 executes it; the write returns when it is done, with bit 31 clear and the
// status set. Bits 29 and 30 are the flags of the latched block, with every value of READ64.
//
//   01 ID      DATA_OUT 15:0 protocol version, 31:16 metrics; EXT_OUT blocks
//   02 LATCH   DATA_IN 31:30 scope (0 D, 1 VM, 2 VM and context), 29:16 context, 15:0 VM;
//              DATA_OUT gen, low half
//   03 READ64  arg1 and arg2 are the metric's index: DATA_OUT low, EXT_OUT high half, of the latch
//   04 IDLE    arg1 0: DATA_OUT idle cycles, EXT_OUT all cycles since the last LATCH, low halves;
//              arg1 1: high halves of the same sample
//   05 STATUS  DATA_OUT 0 driver loaded, 1 lossy, 2 overflow, 15:8 partitions in use
//   07 NAME    arg1 and arg2 are the metric's index, DATA_IN is k. DATA_OUT and EXT_OUT hold bytes
//              8 k to 8 k + 7 of the metric's name. A NUL ends it. This code is not the specification's.
//   10 AUTH    arg1 0: begins; DATA_IN requester; DATA_OUT, EXT_OUT challenge
//              arg1 1: proves; AUTH = code "oob proof"; arg1 2: ends
//   11 CONFIG  arg1 key, DATA_IN value; AUTH = code of the command
//
// A VM's latch (LATCH and READ64 of it) and CONFIG need a code of the command in AUTH: the first
// 128 bits of an HMAC-SHA-256. tl_smpm_oob_proof and tl_smpm_oob_code compute both kinds. Each
// accepted code raises a counter, so that no command can be replayed. Three wrong codes end the
// session and lock AUTH for a while.
#ifndef TL_PMU_SMPM_MAILBOX_H
#define TL_PMU_SMPM_MAILBOX_H

#include "pmu/smpm/mcu.h"

enum {
    TL_SMPM_OOB_CMD = 0x00,
    TL_SMPM_OOB_DATA_IN = 0x04,
    TL_SMPM_OOB_DATA_OUT = 0x08,
    TL_SMPM_OOB_EXT_OUT = 0x0c,
    TL_SMPM_OOB_AUTH = 0x10,
    TL_SMPM_OOB_BYTES = 0x20,
};
enum {
    TL_SMPM_OOB_VERSION = 1,
    TL_SMPM_OOB_ID = 0x01,
    TL_SMPM_OOB_LATCH = 0x02,
    TL_SMPM_OOB_READ64 = 0x03,
    TL_SMPM_OOB_IDLE = 0x04,
    TL_SMPM_OOB_STATUS = 0x05,
    TL_SMPM_OOB_NAME = 0x07,
    TL_SMPM_OOB_BEGIN = 0x10, // AUTH
    TL_SMPM_OOB_CONFIG = 0x11,
};
#define TL_SMPM_OOB_EXEC (UINT32_C(1) << 31)
#define TL_SMPM_OOB_LOSSY (UINT32_C(1) << 30)
#define TL_SMPM_OOB_INEXACT (UINT32_C(1) << 29) // OVF or SATURATED
#define TL_SMPM_OOB_CMD_OF(opcode, arg1, arg2) (TL_SMPM_OOB_EXEC | (uint32_t)(opcode) | (uint32_t)(arg1) << 8 | (uint32_t)(arg2) << 16)
#define TL_SMPM_OOB_STATUS_OF(cmd) ((cmd) >> 24 & 0x1f)
#define TL_SMPM_OOB_SCOPE(scope, vm, ctx) ((uint32_t)(scope) << 30 | (uint32_t)(ctx) << 16 | (uint32_t)(vm))

// None depends on what tenants do, but for BUSY, which a later try resolves.
typedef enum tl_smpm_oob_status {
    TL_SMPM_OOB_NONE = 0x00,
    TL_SMPM_OOB_BAD_OPCODE = 0x10,
    TL_SMPM_OOB_BAD_ARG = 0x11,
    TL_SMPM_OOB_BUSY = 0x12,
    TL_SMPM_OOB_DENIED = 0x13,
    TL_SMPM_OOB_STALE = 0x14, // nothing is latched, or partitions changed since
    // The metric is not counted; an addition to the specification's codes.
    TL_SMPM_OOB_UNAVAILABLE = 0x15,
    TL_SMPM_OOB_SUCCESS = 0x1f,
} tl_smpm_oob_status;

typedef struct tl_smpm_mailbox {
    tl_smpm_mcu *mcu;
    uint32_t cmd, data_in, data_out, ext_out, auth[4];
    // The latch.
    bool has_latch;
    uint32_t scope, latch_generation;
    uint64_t latch[TL_SMPM_LATCH_WORDS];
    uint64_t idle_at_latch, total_at_latch, idle_sample, total_sample;
    // The session. Its key is HMAC(requester's key, "oob session" || challenge).
    bool has_challenge, is_open;
    uint32_t requester;
    uint8_t challenge[8], key[32];
    uint64_t n_codes;
    uint32_t n_failures;
    uint64_t locked_until;
} tl_smpm_mailbox;

void tl_smpm_mailbox_init(tl_smpm_mailbox *mailbox, tl_smpm_mcu *mcu);
// The client has gone: session, latch and registers are as after init. Wrong codes are remembered.
void tl_smpm_mailbox_hang_up(tl_smpm_mailbox *mailbox);
// Any offset and value. False: no register is there; a read then leaves *ret_value alone.
bool tl_smpm_mailbox_write(tl_smpm_mailbox *mailbox, uint32_t offset, uint32_t value);
bool tl_smpm_mailbox_read(const tl_smpm_mailbox *mailbox, uint32_t offset, uint32_t *ret_value);

// For requesters. `challenge` is DATA_OUT and EXT_OUT of AUTH 0; `n_codes` counts accepted codes of
// the session from 0; `cmd` is used without its bits 24 to 31.
void tl_smpm_oob_proof(const uint8_t key[TL_SMPM_KEY_BYTES], uint32_t requester, const uint32_t challenge[2], uint32_t ret_auth[4]);
void tl_smpm_oob_session(const uint8_t key[TL_SMPM_KEY_BYTES], const uint32_t challenge[2], uint8_t ret_key[32]);
void tl_smpm_oob_code(const uint8_t session_key[32], uint64_t n_codes, uint32_t cmd, uint32_t data_in, uint32_t ret_auth[4]);

#endif
