// SPDX-License-Identifier: MIT
// Any accesses to the out-of-band mailbox, with and without right codes. A value of a VM's block
// appears in its registers only for a requester that proved itself and has the right. The VM is not
// confidential then. The device block never loses coverage.
#include "controller.h"
#include "pmu/smpm/oob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WRITE, READ, MESSAGE, ADVANCE, AUTHENTICATE, CODED, CHANGE, N_ACTIONS, MAX_ACTIONS = 4096 };

typedef struct bench {
    input in;
    fake_device device;
    tl_smpm_source source;
    tl_smpm_mcu mcu;
    tl_smpm_mailbox mailbox;
    uint8_t session_key[32];
    uint32_t proven; // requester that proved itself last
} bench;

static uint32_t get(bench *b, uint32_t offset) {
    uint32_t value = 0;
    require(tl_smpm_mailbox_read(&b->mailbox, offset, &value));
    return value;
}

static void authenticate(bench *b) {
    uint32_t requester = (uint32_t)take(&b->in, 1) % (N_REQUESTERS + 1), auth[4];
    uint8_t key[TL_SMPM_KEY_BYTES];
    key_of(requester, key);
    tl_smpm_mailbox_write(&b->mailbox, TL_SMPM_OOB_DATA_IN, requester);
    tl_smpm_mailbox_write(&b->mailbox, TL_SMPM_OOB_CMD, TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_BEGIN, 0, 0));
    if (TL_SMPM_OOB_STATUS_OF(get(b, TL_SMPM_OOB_CMD)) != TL_SMPM_OOB_SUCCESS)
        return;
    const uint32_t challenge[2] = {get(b, TL_SMPM_OOB_DATA_OUT), get(b, TL_SMPM_OOB_EXT_OUT)};
    tl_smpm_oob_proof(key, requester, challenge, auth);
    tl_smpm_oob_session(key, challenge, b->session_key);
    for (uint32_t i = 0; i < 4; i++)
        tl_smpm_mailbox_write(&b->mailbox, TL_SMPM_OOB_AUTH + 4 * i, auth[i]);
    tl_smpm_mailbox_write(&b->mailbox, TL_SMPM_OOB_CMD, TL_SMPM_OOB_CMD_OF(TL_SMPM_OOB_BEGIN, 1, 0));
    bool is_enrolled = requester >= OWNER && requester <= STRANGER;
    require((TL_SMPM_OOB_STATUS_OF(get(b, TL_SMPM_OOB_CMD)) == TL_SMPM_OOB_SUCCESS) == is_enrolled);
    b->proven = is_enrolled ? requester : 0;
}

static void coded(bench *b) {
    static const uint8_t opcodes[] = {TL_SMPM_OOB_LATCH, TL_SMPM_OOB_READ64, TL_SMPM_OOB_CONFIG};
    uint32_t cmd = TL_SMPM_OOB_CMD_OF(opcodes[take(&b->in, 1) % 3], take(&b->in, 1), 0), data_in = (uint32_t)take(&b->in, 4), auth[4];
    tl_smpm_oob_code(b->session_key, b->mailbox.n_codes, cmd, data_in, auth);
    tl_smpm_mailbox_write(&b->mailbox, TL_SMPM_OOB_DATA_IN, data_in);
    for (uint32_t i = 0; i < 4; i++)
        tl_smpm_mailbox_write(&b->mailbox, TL_SMPM_OOB_AUTH + 4 * i, auth[i]);
    tl_smpm_mailbox_write(&b->mailbox, TL_SMPM_OOB_CMD, cmd);
}

static void change(bench *b) {
    uint8_t what = (uint8_t)take(&b->in, 1);
    b->device.is_switching = what & 1;
    b->device.counts.generation += what >> 1 & 1;
    b->mcu.policy.confidential = what >> 2 & 7;
    b->mcu.listed[0] = what >> 5;
    if (what & 0x80)
        tl_smpm_block_erase(b->device.words[0], BLOCK_WORDS);
    // Values shown before the change were allowed then.
    b->mailbox.data_out = b->mailbox.ext_out = 0;
}

static void check(bench *b) {
    uint64_t shown = get(b, TL_SMPM_OOB_DATA_OUT) | (uint64_t)get(b, TL_SMPM_OOB_EXT_OUT) << 32;
    require((b->device.coverage.bits[0] & 0xff) == 0xff);
    if (shown >> 48 != 0x7e57 || (get(b, TL_SMPM_OOB_CMD) & 0xff) != TL_SMPM_OOB_READ64)
        return;
    if (TL_SMPM_OOB_STATUS_OF(get(b, TL_SMPM_OOB_CMD)) == TL_SMPM_OOB_NONE)
        return; // CMD was written without exec, and the result of an earlier command is still there
    unsigned number = shown >> 32 & 0xffff;
    const uint64_t confidential = b->mcu.policy.confidential;
    uint32_t index = (uint32_t)shown;
    require(number < 1 + VMS + VMS * CTXS && index < N_METRICS && index != 1 &&
            TL_SMPM_OOB_STATUS_OF(get(b, TL_SMPM_OOB_CMD)) == TL_SMPM_OOB_SUCCESS);
    if (number == 0) {
        require(!confidential || (b->mcu.listed[index / 64] >> index % 64 & 1));
        return;
    }
    unsigned vm = number <= VMS ? number - 1 : (number - 1 - VMS) / CTXS;
    require(vm == 0 && b->proven == OPERATOR && !(confidential >> vm & 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bench b;
    memset(&b, 0, sizeof b);
    b.in = (input){data, data + size};
    begin(&b.device, &b.source, &b.mcu);
    tl_smpm_mailbox_init(&b.mailbox, &b.mcu);
    for (unsigned n = 0; b.in.at < b.in.end && n < MAX_ACTIONS; n++) {
        uint8_t message[8], answer[8];
        uint32_t offset, value = 0;
        switch (take(&b.in, 1) % N_ACTIONS) {
        case WRITE:
            offset = (uint32_t)take(&b.in, 1);
            tl_smpm_mailbox_write(&b.mailbox, offset, (uint32_t)take(&b.in, 4));
            break;
        case READ: tl_smpm_mailbox_read(&b.mailbox, (uint32_t)take(&b.in, 1), &value); break;
        case MESSAGE:
            for (unsigned i = 0; i < 8; i++)
                message[i] = (uint8_t)take(&b.in, 1);
            tl_smpm_oob_answer(&b.mailbox, message, answer);
            require(answer[0] <= TL_SMPM_OOB_MALFORMED && answer[2] == 0 && answer[3] == 0);
            break;
        case ADVANCE: b.device.counts.now_cycles += take(&b.in, 4); break;
        case AUTHENTICATE: authenticate(&b); break;
        case CODED: coded(&b); break;
        case CHANGE: change(&b); break;
        default: break;
        }
        check(&b);
    }
    return 0;
}
