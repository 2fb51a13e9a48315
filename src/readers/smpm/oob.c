// SPDX-License-Identifier: MIT
// tally/oob.h: the operator's side of the mailbox.
#include <tally/oob.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/hex_file.h"
#include "pmu/smpm/oob.h"
#include "pmu/smpm/service.h"

struct tl_oob {
    int fd;
    bool has_session;
    uint8_t key[TL_SMPM_KEY_BYTES]; // of the session
    uint64_t n_codes;
    uint32_t scope; // of the last latch
};

TL_API tl_status tl_oob_open(const char *path, tl_oob **ret_oob, tl_error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return tl_fail(err, TL_EINVAL, "%.60s...: the path of a socket has at most %zu characters", path, sizeof address.sun_path - 1);
    strcpy(address.sun_path, path);
    tl_oob *oob = calloc(1, sizeof *oob);
    if (!oob)
        return tl_no_memory(err);
    oob->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (oob->fd < 0 || connect(oob->fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        const int why = errno;
        tl_oob_close(oob);
        if (why == ENOENT || why == ECONNREFUSED || why == ENOTSOCK)
            return tl_fail(err, TL_ENOENT, "%.100s: no run listens there; start one with tally tenants --oob %.100s FILE.yaml", path, path);
        return tl_fail(err, why == EACCES ? TL_EACCESS : TL_EIO, "%.100s: %s", path, strerror(why));
    }
    *ret_oob = oob;
    return TL_OK;
}

TL_API void tl_oob_close(tl_oob *oob) {
    if (!oob)
        return;
    if (oob->fd >= 0)
        close(oob->fd);
    explicit_bzero(oob->key, sizeof oob->key);
    free(oob);
}

static tl_status command(tl_oob *oob, uint32_t cmd, uint32_t data_in, const uint32_t *auth, tl_smpm_oob_result *ret_result,
                         tl_oob_answer *ret_answer, tl_error *err) {
    tl_status status = tl_smpm_oob_command(oob->fd, cmd, data_in, auth, ret_result, err);
    if (status != TL_OK)
        return status;
    ret_answer->status = TL_SMPM_OOB_STATUS_OF(ret_result->cmd);
    ret_answer->value = ret_result->data_out | (uint64_t)ret_result->ext_out << 32;
    ret_answer->is_lossy = (ret_result->cmd & TL_SMPM_OOB_LOSSY) != 0;
    ret_answer->is_inexact = (ret_result->cmd & TL_SMPM_OOB_INEXACT) != 0;
    ret_answer->total = 0;
    return TL_OK;
}

static tl_status plain(tl_oob *oob, uint32_t cmd, uint32_t data_in, tl_oob_answer *ret_answer, tl_error *err) {
    tl_smpm_oob_result result;
    return command(oob, cmd, data_in, NULL, &result, ret_answer, err);
}

// With the code of the session, if there is one. The mailbox counts accepted codes: it refuses a
// command beyond the operator's rights after it accepted the code.
static tl_status coded(tl_oob *oob, uint32_t cmd, uint32_t data_in, tl_oob_answer *ret_answer, tl_error *err) {
    tl_smpm_oob_result result;
    uint32_t auth[4];
    if (!oob->has_session)
        return plain(oob, cmd, data_in, ret_answer, err);
    tl_smpm_oob_code(oob->key, oob->n_codes, cmd, data_in, auth);
    tl_status status = command(oob, cmd, data_in, auth, &result, ret_answer, err);
    // A stale latch is told before the code is looked at.
    oob->n_codes += status == TL_OK && ret_answer->status != TL_SMPM_OOB_STALE;
    return status;
}

TL_API tl_status tl_oob_authenticate(tl_oob *oob, const char *key_path, tl_oob_answer *ret_answer, tl_error *err) {
    uint8_t key[TL_SMPM_KEY_BYTES];
    tl_smpm_oob_result result;
    uint32_t proof[4];
    tl_status status = tl_hex_file_read(key_path, "the key of the operator", key, sizeof key, err);
    if (status == TL_OK)
        status = command(oob, TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_BEGIN, 0, 0), TL_SMPM_OPERATOR, NULL, &result, ret_answer, err);
    if (status == TL_OK && ret_answer->status == TL_SMPM_OOB_SUCCESS) {
        const uint32_t challenge[2] = {result.data_out, result.ext_out};
        tl_smpm_oob_proof(key, TL_SMPM_OPERATOR, challenge, proof);
        tl_smpm_oob_session(key, challenge, oob->key);
        oob->n_codes = 0;
        status = command(oob, TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_BEGIN, 1, 0), 0, proof, &result, ret_answer, err);
    }
    oob->has_session = status == TL_OK && ret_answer->status == TL_SMPM_OOB_SUCCESS;
    explicit_bzero(key, sizeof key);
    return status;
}

TL_API tl_status tl_oob_end_session(tl_oob *oob, tl_oob_answer *ret_answer, tl_error *err) {
    oob->has_session = false;
    return plain(oob, TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_BEGIN, 2, 0), 0, ret_answer, err);
}

TL_API tl_status tl_oob_identify(tl_oob *oob, tl_oob_answer *ret_answer, tl_error *err) {
    return plain(oob, TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_ID, 0, 0), 0, ret_answer, err);
}

TL_API tl_status tl_oob_latch(tl_oob *oob, tl_oob_scope scope, uint32_t vm, uint32_t context, tl_oob_answer *ret_answer, tl_error *err) {
    if (vm > 0xffff || context > 0x3fff)
        return tl_fail(err, TL_EINVAL, "a latch names VMs up to 65535 and contexts up to 16383");
    oob->scope = scope;
    const uint32_t data_in = TL_SMPM_OOB_SCOPE(scope, scope == TL_OOB_DEVICE ? 0 : vm, scope == TL_OOB_CONTEXT ? context : 0);
    const uint32_t cmd = TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_LATCH, 0, 0);
    return scope == TL_OOB_DEVICE ? plain(oob, cmd, data_in, ret_answer, err) : coded(oob, cmd, data_in, ret_answer, err);
}

TL_API tl_status tl_oob_read(tl_oob *oob, uint32_t metric, tl_oob_answer *ret_answer, tl_error *err) {
    if (metric > 0xffff)
        return tl_fail(err, TL_EINVAL, "metric %u: metrics have numbers up to 65535", metric);
    const uint32_t cmd = TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_READ64, metric & 0xff, metric >> 8);
    return oob->scope == TL_OOB_DEVICE ? plain(oob, cmd, 0, ret_answer, err) : coded(oob, cmd, 0, ret_answer, err);
}

TL_API tl_status tl_oob_name(tl_oob *oob, uint32_t metric, char ret_name[TL_OOB_NAME_BYTES], tl_oob_answer *ret_answer, tl_error *err) {
    if (metric > 0xffff)
        return tl_fail(err, TL_EINVAL, "metric %u: metrics have numbers up to 65535", metric);
    const uint32_t cmd = TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_NAME, metric & 0xff, metric >> 8);
    char name[TL_OOB_NAME_BYTES] = "";
    for (uint32_t part = 0; part < TL_OOB_NAME_BYTES / 8; part++) {
        tl_status status = plain(oob, cmd, part, ret_answer, err);
        if (status != TL_OK || ret_answer->status != TL_OOB_SUCCESS)
            return status;
        for (uint32_t i = 0; i < 8; i++)
            name[8 * part + i] = (char)(ret_answer->value >> 8 * i);
        if (memchr(name + 8 * part, '\0', 8))
            break;
    }
    name[TL_OOB_NAME_BYTES - 1] = '\0';
    memcpy(ret_name, name, sizeof name);
    return TL_OK;
}

// Both halves of one sample.
TL_API tl_status tl_oob_idle(tl_oob *oob, tl_oob_answer *ret_answer, tl_error *err) {
    tl_oob_answer low = {.size = sizeof low}, high = {.size = sizeof high};
    tl_status status = plain(oob, TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_IDLE, 0, 0), 0, &low, err);
    if (status == TL_OK)
        status = plain(oob, TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_IDLE, 1, 0), 0, &high, err);
    if (status != TL_OK)
        return status;
    ret_answer->status = high.status;
    ret_answer->value = (uint32_t)low.value | high.value << 32;
    ret_answer->total = low.value >> 32 | (high.value >> 32 << 32);
    ret_answer->is_lossy = ret_answer->is_inexact = false;
    return TL_OK;
}

TL_API tl_status tl_oob_state(tl_oob *oob, tl_oob_answer *ret_answer, tl_error *err) {
    return plain(oob, TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_STATUS, 0, 0), 0, ret_answer, err);
}

TL_API tl_status tl_oob_configure(tl_oob *oob, uint32_t key, uint32_t value, tl_oob_answer *ret_answer, tl_error *err) {
    if (key > 0xff)
        return tl_fail(err, TL_EINVAL, "key %u: keys have numbers up to 255", key);
    return coded(oob, TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_CONFIG, key, 0), value, ret_answer, err);
}

TL_API const char *tl_oob_status_name(uint32_t status) {
    switch (status) {
    case TL_OOB_SUCCESS: return "success";
    case TL_OOB_BAD_OPCODE: return "bad opcode";
    case TL_OOB_BAD_ARGUMENT: return "bad argument";
    case TL_OOB_BUSY: return "busy";
    case TL_OOB_DENIED: return "denied";
    case TL_OOB_STALE: return "stale";
    case TL_OOB_UNAVAILABLE: return "unavailable";
    default: return "unknown";
    }
}
