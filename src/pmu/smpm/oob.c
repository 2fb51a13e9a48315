// SPDX-License-Identifier: MIT
// Both ends of the mailbox's wire; see oob.h.
#include "pmu/smpm/oob.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sealed/bytes.h"

enum { READ_OP, WRITE_OP };

void tl_smpm_oob_answer(tl_smpm_mailbox *mailbox, const uint8_t message[TL_SMPM_OOB_MESSAGE_BYTES],
                        uint8_t ret_answer[TL_SMPM_OOB_MESSAGE_BYTES]) {
    uint32_t value = tl_get_u32(message + 4), offset = message[1];
    tl_smpm_oob_reply reply = TL_SMPM_OOB_MALFORMED;
    if (message[0] <= WRITE_OP && message[2] == 0 && message[3] == 0) {
        bool is_there =
            message[0] == WRITE_OP ? tl_smpm_mailbox_write(mailbox, offset, value) : tl_smpm_mailbox_read(mailbox, offset, &value);
        reply = is_there ? TL_SMPM_OOB_DONE : TL_SMPM_OOB_NO_REGISTER;
    }
    memset(ret_answer, 0, TL_SMPM_OOB_MESSAGE_BYTES);
    ret_answer[0] = (uint8_t)reply;
    ret_answer[1] = (uint8_t)offset;
    if (reply == TL_SMPM_OOB_DONE)
        tl_put_u32(ret_answer + 4, value);
}

// Bytes that arrived until `n_bytes` or the end; -1: the host failed.
static ssize_t receive(int fd, uint8_t *ret_bytes, size_t n_bytes) {
    size_t n = 0;
    while (n < n_bytes) {
        ssize_t part = read(fd, ret_bytes + n, n_bytes - n);
        if (part == 0)
            break;
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return -1;
        n += (size_t)part;
    }
    return (ssize_t)n;
}

static bool transmit(int fd, const uint8_t *bytes, size_t n_bytes) {
    while (n_bytes > 0) {
        ssize_t part = send(fd, bytes, n_bytes, MSG_NOSIGNAL);
        if (part < 0 && errno == EINTR)
            continue;
        if (part <= 0)
            return false;
        bytes += part;
        n_bytes -= (size_t)part;
    }
    return true;
}

static tl_status host_failed(tl_error *err) { return tl_fail(err, TL_EIO, "out-of-band socket: %s", strerror(errno)); }

tl_status tl_smpm_oob_serve(tl_smpm_mailbox *mailbox, int fd, tl_error *err) {
    uint8_t message[TL_SMPM_OOB_MESSAGE_BYTES], answer[TL_SMPM_OOB_MESSAGE_BYTES];
    for (;;) {
        ssize_t n = receive(fd, message, sizeof message);
        if (n == 0)
            return TL_OK;
        if (n < 0)
            return host_failed(err);
        if (n < (ssize_t)sizeof message)
            return tl_fail(err, TL_EFORMAT, "out-of-band socket: the peer closed within a message of %zu bytes", sizeof message);
        tl_smpm_oob_answer(mailbox, message, answer);
        if (!transmit(fd, answer, sizeof answer))
            return host_failed(err);
    }
}

static tl_status call(int fd, uint8_t op, uint32_t offset, uint32_t *value, tl_error *err) {
    uint8_t message[TL_SMPM_OOB_MESSAGE_BYTES] = {op, (uint8_t)offset};
    if (offset >= TL_SMPM_OOB_BYTES)
        return tl_fail(err, TL_ENOENT, "out-of-band mailbox: no register at 0x%x", offset);
    tl_put_u32(message + 4, *value);
    if (!transmit(fd, message, sizeof message))
        return host_failed(err);
    ssize_t n = receive(fd, message, sizeof message);
    if (n < 0)
        return host_failed(err);
    if (n < (ssize_t)sizeof message || message[0] > TL_SMPM_OOB_MALFORMED || message[1] != offset || message[2] != 0 || message[3] != 0)
        return tl_fail(err, TL_EFORMAT, "out-of-band socket: the answer is none; is this the socket of a mailbox?");
    if (message[0] != TL_SMPM_OOB_DONE)
        return tl_fail(err, TL_ENOENT, "out-of-band mailbox: no register at 0x%x", offset);
    *value = tl_get_u32(message + 4);
    return TL_OK;
}

tl_status tl_smpm_oob_write(int fd, uint32_t offset, uint32_t value, tl_error *err) { return call(fd, WRITE_OP, offset, &value, err); }

tl_status tl_smpm_oob_read(int fd, uint32_t offset, uint32_t *ret_value, tl_error *err) {
    uint32_t value = 0;
    tl_status status = call(fd, READ_OP, offset, &value, err);
    if (status == TL_OK)
        *ret_value = value;
    return status;
}

tl_status tl_smpm_oob_command(int fd, uint32_t cmd, uint32_t data_in, const uint32_t auth[4], tl_smpm_oob_result *ret_result,
                              tl_error *err) {
    tl_smpm_oob_result result;
    tl_status status = tl_smpm_oob_write(fd, TL_SMPM_OOB_DATA_IN, data_in, err);
    for (uint32_t i = 0; auth && i < 4 && status == TL_OK; i++)
        status = tl_smpm_oob_write(fd, TL_SMPM_OOB_AUTH + 4 * i, auth[i], err);
    if (status == TL_OK)
        status = tl_smpm_oob_write(fd, TL_SMPM_OOB_CMD, cmd | TL_SMPM_OOB_EXEC, err);
    if (status == TL_OK)
        status = tl_smpm_oob_read(fd, TL_SMPM_OOB_CMD, &result.cmd, err);
    if (status == TL_OK)
        status = tl_smpm_oob_read(fd, TL_SMPM_OOB_DATA_OUT, &result.data_out, err);
    if (status == TL_OK)
        status = tl_smpm_oob_read(fd, TL_SMPM_OOB_EXT_OUT, &result.ext_out, err);
    if (status == TL_OK)
        *ret_result = result;
    return status;
}
