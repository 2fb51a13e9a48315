// SPDX-License-Identifier: MIT
// The mailbox's registers over a file descriptor: a stream socket that stands for the two-wire bus.
//
// A message has 8 bytes: op (0 read, 1 write), offset, two zeros, and 32 bits of value,
// little-endian. Each is answered by one of the same form, with op 0 if a register is there and 1
// if not, and the value read or written. A message with other bits set is answered with op 2.
#ifndef TL_PMU_SMPM_OOB_H
#define TL_PMU_SMPM_OOB_H

#include "base/status.h"
#include "pmu/smpm/mailbox.h"

enum { TL_SMPM_OOB_MESSAGE_BYTES = 8 };
typedef enum tl_smpm_oob_reply { TL_SMPM_OOB_DONE, TL_SMPM_OOB_NO_REGISTER, TL_SMPM_OOB_MALFORMED } tl_smpm_oob_reply;

void tl_smpm_oob_answer(tl_smpm_mailbox *mailbox, const uint8_t message[TL_SMPM_OOB_MESSAGE_BYTES],
                        uint8_t ret_answer[TL_SMPM_OOB_MESSAGE_BYTES]);
// Answers until the peer closes. Nothing is allocated. TL_EFORMAT: the peer closed within a
// message. TL_EIO: the host refused to read or write.
TL_MUST_CHECK tl_status tl_smpm_oob_serve(tl_smpm_mailbox *mailbox, int fd, tl_error *err);

// The peer's side. TL_EFORMAT: the answer is none, or the peer closed. TL_ENOENT: no such register.
TL_MUST_CHECK tl_status tl_smpm_oob_write(int fd, uint32_t offset, uint32_t value, tl_error *err);
TL_MUST_CHECK tl_status tl_smpm_oob_read(int fd, uint32_t offset, uint32_t *ret_value, tl_error *err);
// Writes DATA_IN, AUTH if it is not NULL, and CMD, and reads CMD, DATA_OUT and EXT_OUT.
typedef struct tl_smpm_oob_result {
    uint32_t cmd, data_out, ext_out;
} tl_smpm_oob_result;
TL_MUST_CHECK tl_status tl_smpm_oob_command(int fd, uint32_t cmd, uint32_t data_in, const uint32_t auth[4], tl_smpm_oob_result *ret_result,
                                            tl_error *err);

#endif
