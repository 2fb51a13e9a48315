// SPDX-License-Identifier: MIT
// Sessions between a device and a VM in a trusted execution environment: hello, quote, keys,
// epochs.
//
// The VM sends a hello: its number, a nonce, an ephemeral X25519 key. The device answers with a
// quote: its identity, the epoch, the nonce, both ephemeral keys. The device signs the quote with
// its Ed25519 key. Both sides compute a shared secret by X25519, and keys from it by HKDF-SHA-256.
// The salt of HKDF is SHA-256(hello || quote).
//
// Each session of a VM is a new epoch with new keys. A device keeps one epoch per VM. Keys never
// leave this struct and are no part of a checkpoint: whoever restores one calls
// tl_sealed_device_reset. Specification section 15.1.
#ifndef TL_SEALED_SESSION_H
#define TL_SEALED_SESSION_H

#include "sealed/crypto.h"
#include "sealed/hash.h"

enum {
    TL_SEALED_MAX_VMS = 64,
    TL_HELLO_BYTES = 8 + 32 + 32,                                // magic, vm, nonce, key
    TL_QUOTE_BYTES = 24 + 32 + 32 + 32 + 32 + 32 + 64,           // offsets in session.c
    TL_QUOTE_SIGNED_BYTES = TL_QUOTE_BYTES - TL_SIGNATURE_BYTES, // from its begin
    TL_HELLO_MAGIC = 0x48524d50,                                 // "PMRH" in memory
    TL_QUOTE_MAGIC = 0x51524d50,                                 // "PMRQ"
};

typedef struct tl_sealed_identity {
    uint64_t device;
    uint8_t firmware_hash[32], config_hash[32];
    uint8_t public_key[TL_KEY_BYTES]; // Ed25519
    const char *protocol;             // begins the labels of keys, as in "name/1"; at most 16 bytes
} tl_sealed_identity;

// Both directions of one epoch. `self` of the keys forbids copies.
typedef struct tl_sealed_keys {
    tl_seal_key to_vm, to_device;
} tl_sealed_keys;

typedef struct tl_sealed_link {
    bool is_open;
    uint32_t epoch; // of the last session; 0: none yet
    tl_sealed_keys keys;
    uint64_t witness; // of keys.to_vm
} tl_sealed_link;

typedef struct tl_sealed_device {
    const tl_crypto *crypto;
    tl_sealed_identity identity;
    uint8_t secret[TL_KEY_BYTES]; // Ed25519
    uint64_t limit;               // records per epoch
    tl_sealed_link links[TL_SEALED_MAX_VMS];
} tl_sealed_device;

// `identity->public_key` is ignored, because the secret determines it.
TL_MUST_CHECK tl_status tl_sealed_device_init(tl_sealed_device *device, const tl_crypto *crypto, const tl_sealed_identity *identity,
                                              const uint8_t secret[TL_KEY_BYTES], tl_error *err);
void tl_sealed_device_done(tl_sealed_device *device); // erases all keys
// Begins an epoch of `vm`, the VM whose request this is by what the hardware says. Closes the last
// one unless the hello is refused. TL_EFORMAT: no hello. TL_EINVAL: no such VM. TL_EACCESS: the
// hello names another VM, has a bad key, or no epoch is left.
TL_MUST_CHECK tl_status tl_sealed_device_answer(tl_sealed_device *device, uint32_t vm, const uint8_t hello[TL_HELLO_BYTES],
                                                uint8_t ret_quote[TL_QUOTE_BYTES], tl_error *err);
void tl_sealed_device_close(tl_sealed_device *device, uint32_t vm); // VM start or stop
// Called at device reset, controller restart, restored checkpoint.
void tl_sealed_device_reset(tl_sealed_device *device);
// NULL: no epoch is open.
tl_sealed_link *tl_sealed_device_link(tl_sealed_device *device, uint32_t vm);

// The VM's side. `secret` and `hello` are kept until the quote is there.
typedef struct tl_sealed_guest {
    const tl_crypto *crypto;
    tl_sealed_identity expected; // of the device, from the VM's owner
    uint32_t vm, epoch;          // of the last session
    uint8_t secret[TL_KEY_BYTES], hello[TL_HELLO_BYTES];
    bool is_waiting;
    tl_sealed_keys keys;
    uint64_t witness; // of keys.to_device
} tl_sealed_guest;

TL_MUST_CHECK tl_status tl_sealed_guest_hello(tl_sealed_guest *guest, uint8_t ret_hello[TL_HELLO_BYTES], tl_error *err);
// TL_EACCESS: the quote answers another hello, comes from another device, firmware or
// configuration, repeats an epoch, or its signature is wrong. The session then stays closed.
TL_MUST_CHECK tl_status tl_sealed_guest_accept(tl_sealed_guest *guest, const uint8_t quote[TL_QUOTE_BYTES], tl_error *err);
void tl_sealed_guest_done(tl_sealed_guest *guest);

#endif
