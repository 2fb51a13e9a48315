// SPDX-License-Identifier: MIT
// Any requests to the secure controller, raw and rightly signed, and any use of handles. A request
// that nobody signed is never obeyed. A client reads its own block, within the mask that was
// granted, or nothing.
#include "controller.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RAW, SIGNED, DAMAGED, READ, SNAPSHOT, ADVANCE, DROP, CHANGE, N_ACTIONS, MAX_ACTIONS = 2048, MAX_HANDLES = 16 };

typedef struct bench {
    input in;
    fake_device device;
    tl_smpm_source source;
    tl_smpm_mcu mcu;
    uint32_t handles[MAX_HANDLES], n_handles;
    uint64_t seq[N_REQUESTERS + 1];
} bench;

static tl_smpm_identity identity_of(input *in) {
    uint8_t byte = (uint8_t)take(in, 1);
    return (tl_smpm_identity){(tl_smpm_who)(byte % (TL_SMPM_N_WHOS + 1)), byte >> 3 & 3, byte & 0x80 ? TL_SMPM_NO_CTX : byte >> 5 & 3};
}

static void send_raw(bench *b) {
    size_t left = (size_t)(b->in.end - b->in.at), n = (size_t)take(&b->in, 1);
    uint32_t handle = 0;
    tl_smpm_identity sender = identity_of(&b->in);
    left = (size_t)(b->in.end - b->in.at);
    n = n < left ? n : left;
    uint8_t *bytes = malloc(n ? n : 1); // a sanitizer sees reads past its end
    require(bytes != NULL);
    if (n > 0)
        memcpy(bytes, b->in.at, n);
    b->in.at += n;
    require(tl_smpm_mcu_request(&b->mcu, &sender, bytes, n, &handle) != TL_SMPM_REPLY_OK && handle == 0);
    free(bytes);
}

static void send_signed(bench *b, bool is_damaged) {
    uint8_t byte = (uint8_t)take(&b->in, 1), key[TL_SMPM_KEY_BYTES], bytes[TL_SMPM_REQUEST_BYTES];
    uint32_t requester = byte % (N_REQUESTERS + 1), handle = 0;
    tl_smpm_request request = {.op = byte >> 3 & 3,
                               .requester = requester,
                               .vm = (uint32_t)take(&b->in, 1) % 20,
                               .ctx = (uint32_t)take(&b->in, 1) % 3,
                               .handle = b->handles[take(&b->in, 1) % MAX_HANDLES],
                               .seq = b->seq[requester] + (byte >> 5) % 4,
                               .min_interval = take(&b->in, 2),
                               .lease = take(&b->in, 4),
                               .mask = {take(&b->in, 8), take(&b->in, 1)}};
    request.ctx = request.ctx == 2 ? TL_SMPM_NO_CTX : request.ctx;
    key_of(requester, key);
    tl_smpm_request_write(&request, key, bytes);
    if (is_damaged)
        bytes[take(&b->in, 1) % sizeof bytes] ^= (uint8_t)(1 << take(&b->in, 1) % 8);
    const tl_smpm_identity sender = {TL_SMPM_GUEST_OS, request.vm, TL_SMPM_NO_CTX};
    tl_smpm_reply reply = tl_smpm_mcu_request(&b->mcu, &sender, bytes, sizeof bytes, &handle);
    if (reply != TL_SMPM_REPLY_OK)
        return;
    bool has_right = (requester == OWNER && request.vm <= 1) || (requester == STRANGER && request.vm == 2);
    require(!is_damaged && has_right && request.seq > b->seq[requester]);
    b->seq[requester] = request.seq;
    if (request.op == TL_SMPM_OP_GRANT)
        b->handles[b->n_handles++ % MAX_HANDLES] = handle;
}

static void read_block(bench *b) {
    tl_smpm_identity client = identity_of(&b->in);
    uint32_t handle = b->handles[take(&b->in, 1) % MAX_HANDLES] ^ (uint32_t)take(&b->in, 1);
    bool of_vm = take(&b->in, 1) & 1;
    uint64_t words[BLOCK_WORDS];
    if (tl_smpm_mcu_read(&b->mcu, &client, handle, of_vm, words, BLOCK_WORDS) != TL_SMPM_REPLY_OK)
        return;
    const tl_smpm_cap *cap = &b->mcu.caps[handle % TL_SMPM_MAX_CAPS];
    tl_smpm_block block;
    require(tl_smpm_block_decode(words, BLOCK_WORDS, &block, NULL) == TL_OK);
    bool is_vm = of_vm || client.who == TL_SMPM_GUEST_OS;
    require(client.who == TL_SMPM_GUEST_CTX || client.who == TL_SMPM_GUEST_OS);
    require(block.shape.vm == client.vm && block.shape.kind == (is_vm ? TL_SMPM_VM : TL_SMPM_CTX));
    require(is_vm || block.shape.ctx == client.ctx);
    require(!of_vm || client.who == TL_SMPM_GUEST_OS || (b->mcu.policy.ctx_reads_vm >> client.vm & 1));
    for (uint32_t i = 0; i < N_METRICS; i++) {
        bool is_open = i != 1 && (cap->mask[i / 64] >> i % 64 & 1);
        require(words[8 + i] == (cap->mask[i / 64] >> i % 64 & 1 ? value_of(number_of(block.shape.kind, client.vm, client.ctx), i) : 0));
        require(!(tl_smpm_block_value(&block, TL_SMPM_CTR, i).flags & TL_SMPM_UNAVAILABLE) == is_open);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bench b;
    memset(&b, 0, sizeof b);
    b.in = (input){data, data + size};
    begin(&b.device, &b.source, &b.mcu);
    for (unsigned n = 0; b.in.at < b.in.end && n < MAX_ACTIONS; n++) {
        tl_smpm_identity client;
        uint8_t byte;
        switch (take(&b.in, 1) % N_ACTIONS) {
        case RAW: send_raw(&b); break;
        case SIGNED: send_signed(&b, false); break;
        case DAMAGED: send_signed(&b, true); break;
        case READ: read_block(&b); break;
        case SNAPSHOT:
            client = identity_of(&b.in);
            (void)tl_smpm_mcu_snapshot(&b.mcu, &client, b.handles[take(&b.in, 1) % MAX_HANDLES]);
            break;
        case ADVANCE: b.device.counts.now_cycles += take(&b.in, 5); break;
        case DROP:
            byte = (uint8_t)take(&b.in, 1);
            tl_smpm_mcu_drop(&b.mcu, byte & 31, byte & 0x80 ? TL_SMPM_NO_CTX : byte >> 5 & 3);
            break;
        case CHANGE:
            byte = (uint8_t)take(&b.in, 1);
            b.device.is_switching = byte & 1;
            b.mcu.policy.ctx_reads_vm = byte >> 1 & 7;
            b.mcu.policy.confidential = byte >> 4 & 7;
            break;
        default: break;
        }
    }
    return 0;
}
