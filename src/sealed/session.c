// SPDX-License-Identifier: MIT
// Hello and quote as bytes, and the keys that both sides derive from them.
#include "sealed/session.h"

#include <string.h>

#include "sealed/bytes.h"

// Offsets. A quote is: magic, vm, device (8), epoch, zero; hashes of firmware and configuration;
// the VM's nonce and key; the device's key; the signature.
enum { HELLO_VM = 4, HELLO_NONCE = 8, HELLO_KEY = 40 };
enum {
    QUOTE_VM = 4,
    QUOTE_DEVICE = 8,
    QUOTE_EPOCH = 16,
    QUOTE_FIRMWARE = 24,
    QUOTE_CONFIG = 56,
    QUOTE_NONCE = 88,
    QUOTE_VM_KEY = 120,
    QUOTE_KEY = 152
};
_Static_assert(QUOTE_KEY + TL_KEY_BYTES == TL_QUOTE_SIGNED_BYTES, "a quote ends with its signature");

static const char sign_label[16] = "pm/1 quote";

// Text that is signed: a label of its own, so that no other signature of this key is a quote.
static void signed_text(const uint8_t quote[TL_QUOTE_BYTES], uint8_t ret_text[16 + TL_QUOTE_SIGNED_BYTES]) {
    memcpy(ret_text, sign_label, sizeof sign_label);
    memcpy(ret_text + sizeof sign_label, quote, TL_QUOTE_SIGNED_BYTES);
}

static tl_status derive(const tl_crypto *crypto, const uint8_t *shared, const uint8_t *salt, const char *protocol, const char *label,
                        uint32_t vm, uint32_t epoch, uint8_t *ret_bytes, size_t n_bytes) {
    uint8_t info[16 + 8 + 8];
    size_t n = strnlen(protocol, 16), n_label = strlen(label);
    memcpy(info, protocol, n);
    memcpy(info + n, label, n_label);
    n += n_label;
    tl_put_u32(info + n, vm);
    tl_put_u32(info + n + 4, epoch);
    return crypto->kdf(shared, TL_KEY_BYTES, salt, TL_SHA256_BYTES, info, n + 8, ret_bytes, n_bytes);
}

static tl_status make_keys(const tl_crypto *crypto, const char *protocol, const uint8_t *secret, const uint8_t *peer, const uint8_t *hello,
                           const uint8_t *quote, bool is_device, uint64_t *witness, tl_sealed_keys *ret_keys) {
    uint32_t vm = tl_get_u32(hello + HELLO_VM), epoch = tl_get_u32(quote + QUOTE_EPOCH);
    uint8_t shared[TL_KEY_BYTES], salt[TL_SHA256_BYTES], key[2][TL_KEY_BYTES], mask[2][TL_NONCE_BYTES];
    tl_sha256 transcript;
    tl_sha256_init(&transcript);
    tl_sha256_add(&transcript, hello, TL_HELLO_BYTES);
    tl_sha256_add(&transcript, quote, TL_QUOTE_BYTES);
    tl_sha256_end(&transcript, salt);
    tl_status status = crypto->agree(secret, peer, shared);
    if (status == TL_OK)
        status = derive(crypto, shared, salt, protocol, " d2v key", vm, epoch, key[0], TL_KEY_BYTES);
    if (status == TL_OK)
        status = derive(crypto, shared, salt, protocol, " d2v iv", vm, epoch, mask[0], TL_NONCE_BYTES);
    if (status == TL_OK)
        status = derive(crypto, shared, salt, protocol, " v2d key", vm, epoch, key[1], TL_KEY_BYTES);
    if (status == TL_OK)
        status = derive(crypto, shared, salt, protocol, " v2d iv", vm, epoch, mask[1], TL_NONCE_BYTES);
    if (status == TL_OK) {
        tl_seal_key_init(&ret_keys->to_vm, key[0], mask[0], is_device ? witness : NULL);
        tl_seal_key_init(&ret_keys->to_device, key[1], mask[1], is_device ? NULL : witness);
    }
    tl_wipe(shared, sizeof shared);
    tl_wipe(key, sizeof key);
    tl_wipe(mask, sizeof mask);
    return status;
}

//  ---- device

tl_status tl_sealed_device_init(tl_sealed_device *device, const tl_crypto *crypto, const tl_sealed_identity *identity,
                                const uint8_t secret[TL_KEY_BYTES], tl_error *err) {
    memset(device, 0, sizeof *device);
    device->crypto = crypto;
    device->identity = *identity;
    device->limit = TL_SEAL_LIMIT;
    memcpy(device->secret, secret, TL_KEY_BYTES);
    tl_status status = crypto->public_of(secret, device->identity.public_key);
    return status == TL_OK ? TL_OK : tl_fail(err, status, "the device's identity: %s cannot make its public key", crypto->name);
}

void tl_sealed_device_close(tl_sealed_device *device, uint32_t vm) {
    if (vm >= TL_SEALED_MAX_VMS)
        return;
    tl_sealed_link *link = &device->links[vm];
    link->is_open = false;
    tl_seal_key_done(&link->keys.to_vm);
    tl_seal_key_done(&link->keys.to_device);
}

void tl_sealed_device_reset(tl_sealed_device *device) {
    for (uint32_t vm = 0; vm < TL_SEALED_MAX_VMS; vm++)
        tl_sealed_device_close(device, vm);
}

void tl_sealed_device_done(tl_sealed_device *device) { tl_wipe(device, sizeof *device); }

tl_sealed_link *tl_sealed_device_link(tl_sealed_device *device, uint32_t vm) {
    return vm < TL_SEALED_MAX_VMS && device->links[vm].is_open ? &device->links[vm] : NULL;
}

tl_status tl_sealed_device_answer(tl_sealed_device *device, uint32_t vm, const uint8_t hello[TL_HELLO_BYTES],
                                  uint8_t ret_quote[TL_QUOTE_BYTES], tl_error *err) {
    if (tl_get_u32(hello) != TL_HELLO_MAGIC)
        return tl_fail(err, TL_EFORMAT, "session request: its magic is wrong");
    if (vm >= TL_SEALED_MAX_VMS)
        return tl_fail(err, TL_EINVAL, "session request of VM %u: must be below %d", vm, TL_SEALED_MAX_VMS);
    if (tl_get_u32(hello + HELLO_VM) != vm)
        return tl_fail(err, TL_EACCESS, "session request of VM %u: it names VM %u", vm, tl_get_u32(hello + HELLO_VM));
    tl_sealed_device_close(device, vm);
    tl_sealed_link *link = &device->links[vm];
    if (link->epoch == UINT32_MAX)
        return tl_fail(err, TL_EACCESS, "session request of VM %u: no epoch is left; give the device a new identity", vm);
    link->epoch++; // before anything can fail, so that no epoch has two sessions
    uint8_t secret[TL_KEY_BYTES], quote[TL_QUOTE_BYTES] = {0}, text[16 + TL_QUOTE_SIGNED_BYTES];
    const tl_crypto *crypto = device->crypto;
    tl_put_u32(quote, TL_QUOTE_MAGIC);
    tl_put_u32(quote + QUOTE_VM, vm);
    tl_put_u64(quote + QUOTE_DEVICE, device->identity.device);
    tl_put_u32(quote + QUOTE_EPOCH, link->epoch);
    memcpy(quote + QUOTE_FIRMWARE, device->identity.firmware_hash, 32);
    memcpy(quote + QUOTE_CONFIG, device->identity.config_hash, 32);
    memcpy(quote + QUOTE_NONCE, hello + HELLO_NONCE, 32);
    memcpy(quote + QUOTE_VM_KEY, hello + HELLO_KEY, TL_KEY_BYTES);
    tl_status status = crypto->keygen(secret, quote + QUOTE_KEY);
    if (status == TL_OK) {
        signed_text(quote, text);
        status = crypto->sign(device->secret, text, sizeof text, quote + TL_QUOTE_SIGNED_BYTES);
    }
    if (status == TL_OK)
        status = make_keys(crypto, device->identity.protocol, secret, hello + HELLO_KEY, hello, quote, true, &link->witness, &link->keys);
    tl_wipe(secret, sizeof secret);
    if (status != TL_OK)
        return tl_fail(err, status, "session request of VM %u: %s", vm,
                       status == TL_EACCESS ? "its key is refused; make a new one" : "the cryptographic library failed");
    link->keys.to_vm.limit = device->limit;
    link->is_open = true;
    memcpy(ret_quote, quote, sizeof quote);
    return TL_OK;
}

//  ---- VM

tl_status tl_sealed_guest_hello(tl_sealed_guest *guest, uint8_t ret_hello[TL_HELLO_BYTES], tl_error *err) {
    uint8_t *hello = guest->hello;
    tl_put_u32(hello, TL_HELLO_MAGIC);
    tl_put_u32(hello + HELLO_VM, guest->vm);
    tl_status status = guest->crypto->random(hello + HELLO_NONCE, 32);
    if (status == TL_OK)
        status = guest->crypto->keygen(guest->secret, hello + HELLO_KEY);
    if (status != TL_OK)
        return tl_fail(err, status, "session request of VM %u: the cryptographic library failed", guest->vm);
    guest->is_waiting = true;
    memcpy(ret_hello, hello, TL_HELLO_BYTES);
    return TL_OK;
}

static const char *quote_fault(const tl_sealed_guest *guest, const uint8_t *quote) {
    const tl_sealed_identity *expected = &guest->expected;
    if (!guest->is_waiting)
        return "no request waits for it; send a new one";
    if (tl_get_u32(quote) != TL_QUOTE_MAGIC)
        return "its magic is wrong";
    if (memcmp(quote + QUOTE_NONCE, guest->hello + HELLO_NONCE, 32) != 0 || tl_get_u32(quote + QUOTE_VM) != guest->vm ||
        memcmp(quote + QUOTE_VM_KEY, guest->hello + HELLO_KEY, TL_KEY_BYTES) != 0)
        return "it answers another request";
    if (tl_get_u64(quote + QUOTE_DEVICE) != expected->device)
        return "it names another device";
    if (memcmp(quote + QUOTE_FIRMWARE, expected->firmware_hash, 32) != 0)
        return "it names other firmware";
    if (memcmp(quote + QUOTE_CONFIG, expected->config_hash, 32) != 0)
        return "it names another configuration";
    if (tl_get_u32(quote + QUOTE_EPOCH) <= guest->epoch)
        return "its epoch is not new";
    uint8_t text[16 + TL_QUOTE_SIGNED_BYTES];
    signed_text(quote, text);
    if (guest->crypto->verify(expected->public_key, text, sizeof text, quote + TL_QUOTE_SIGNED_BYTES) != TL_OK)
        return "its signature is wrong";
    return NULL;
}

tl_status tl_sealed_guest_accept(tl_sealed_guest *guest, const uint8_t quote[TL_QUOTE_BYTES], tl_error *err) {
    const char *fault = quote_fault(guest, quote);
    if (fault)
        return tl_fail(err, TL_EACCESS, "quote for VM %u: %s", guest->vm, fault);
    tl_status status = make_keys(guest->crypto, guest->expected.protocol, guest->secret, quote + QUOTE_KEY, guest->hello, quote, false,
                                 &guest->witness, &guest->keys);
    guest->is_waiting = false;
    tl_wipe(guest->secret, sizeof guest->secret);
    if (status != TL_OK)
        return tl_fail(err, status, "quote for VM %u: no keys can be made of it", guest->vm);
    guest->epoch = tl_get_u32(quote + QUOTE_EPOCH);
    return TL_OK;
}

void tl_sealed_guest_done(tl_sealed_guest *guest) { tl_wipe(guest, sizeof *guest); }
