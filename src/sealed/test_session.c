// SPDX-License-Identifier: MIT
// Sessions: both sides derive the same keys, epochs advance, whatever is not what the VM expects is
// refused. tests/sealed opens what they seal with other software.
#include "base/testing.h"

#include <string.h>

#include "sealed/bytes.h"
#include "sealed/session.h"

static const tl_crypto *crypto;

typedef struct pair {
    tl_sealed_device device;
    tl_sealed_guest guest;
    uint8_t hello[TL_HELLO_BYTES], quote[TL_QUOTE_BYTES];
} pair;

static void begin(pair *p, uint32_t vm) {
    tl_sealed_identity identity = {.device = 77, .protocol = "test/1"};
    uint8_t secret[32];
    memset(identity.firmware_hash, 1, 32);
    memset(identity.config_hash, 2, 32);
    memset(secret, 3, sizeof secret);
    memset(p, 0, sizeof *p);
    assert_int_equal(tl_sealed_device_init(&p->device, crypto, &identity, secret, NULL), TL_OK);
    p->guest = (tl_sealed_guest){.crypto = crypto, .expected = p->device.identity, .vm = vm};
}

static void exchange(pair *p) {
    assert_int_equal(tl_sealed_guest_hello(&p->guest, p->hello, NULL), TL_OK);
    assert_int_equal(tl_sealed_device_answer(&p->device, p->guest.vm, p->hello, p->quote, NULL), TL_OK);
}

static void assert_link(const pair *p, bool is_same) {
    const tl_sealed_keys *a = &p->device.links[p->guest.vm].keys, *b = &p->guest.keys;
    assert_int_equal(tl_bytes_equal(a->to_vm.key, b->to_vm.key, 32), is_same);
    assert_int_equal(tl_bytes_equal(a->to_device.key, b->to_device.key, 32), is_same);
    assert_int_equal(tl_bytes_equal(a->to_vm.iv_mask, b->to_vm.iv_mask, 12), is_same);
    assert_int_equal(tl_bytes_equal(a->to_device.iv_mask, b->to_device.iv_mask, 12), is_same);
}

static void test_both_sides_have_the_same_keys(void **state) {
    (void)state;
    pair p;
    begin(&p, 5);
    assert_null(tl_sealed_device_link(&p.device, 5));
    exchange(&p);
    assert_int_equal(tl_sealed_guest_accept(&p.guest, p.quote, NULL), TL_OK);
    assert_link(&p, true);
    const tl_sealed_keys *keys = &p.guest.keys;
    assert_false(tl_bytes_equal(keys->to_vm.key, keys->to_device.key, 32));
    assert_false(tl_bytes_equal(keys->to_vm.iv_mask, keys->to_device.iv_mask, 12));
    assert_int_equal(p.guest.epoch, 1);
    assert_ptr_equal(tl_sealed_device_link(&p.device, 5), &p.device.links[5]);
    assert_int_equal(p.device.links[5].keys.to_vm.limit, 1 << 24);
    uint8_t zeros[32] = {0};
    assert_memory_equal(p.guest.secret, zeros, 32);
}

// Each direction seals on one side and opens on the other, and on no other way.
static void test_directions_are_separate(void **state) {
    (void)state;
    pair p;
    begin(&p, 5);
    exchange(&p);
    assert_int_equal(tl_sealed_guest_accept(&p.guest, p.quote, NULL), TL_OK);
    tl_sealed_keys *device = &tl_sealed_device_link(&p.device, 5)->keys, *guest = &p.guest.keys;
    uint8_t aad[16] = {0}, text[5] = "abcd", cipher[5], tag[16], plain[5];
    assert_int_equal(crypto->seal(&device->to_vm, aad, 16, 8, text, 5, cipher, tag), TL_OK);
    assert_int_equal(tl_get_u64(aad + 8), 1);
    assert_int_equal(crypto->open(&guest->to_device, 1, aad, 16, cipher, 5, tag, plain), TL_EACCESS);
    assert_int_equal(crypto->open(&guest->to_vm, 2, aad, 16, cipher, 5, tag, plain), TL_EACCESS);
    assert_int_equal(crypto->open(&guest->to_vm, 1, aad, 16, cipher, 5, tag, plain), TL_OK);
    assert_memory_equal(plain, text, 5);
    assert_int_equal(crypto->seal(&guest->to_device, aad, 16, 8, text, 5, cipher, tag), TL_OK);
    assert_int_equal(crypto->open(&device->to_device, 1, aad, 16, cipher, 5, tag, plain), TL_OK);
    assert_int_equal(crypto->seal(&guest->to_vm, aad, 16, 8, text, 5, cipher, tag), TL_EACCESS);
    assert_int_equal(crypto->seal(&device->to_device, aad, 16, 8, text, 5, cipher, tag), TL_EACCESS);
    // There is no room for seq.
    assert_int_equal(crypto->seal(&device->to_vm, aad, 7, 0, text, 5, cipher, tag), TL_EINVAL);
    assert_int_equal(crypto->seal(&device->to_vm, aad, 16, 9, text, 5, cipher, tag), TL_EINVAL);
}

static void test_every_session_is_a_new_epoch(void **state) {
    (void)state;
    pair p;
    uint8_t first[32];
    begin(&p, 5);
    exchange(&p);
    assert_int_equal(tl_sealed_guest_accept(&p.guest, p.quote, NULL), TL_OK);
    memcpy(first, p.guest.keys.to_vm.key, 32);
    exchange(&p);
    assert_link(&p, false); // the device's old key is gone
    assert_int_equal(tl_sealed_guest_accept(&p.guest, p.quote, NULL), TL_OK);
    assert_link(&p, true);
    assert_int_equal(p.guest.epoch, 2);
    assert_memory_not_equal(p.guest.keys.to_vm.key, first, 32);
    tl_sealed_device_reset(&p.device);
    assert_null(tl_sealed_device_link(&p.device, 5));
    uint8_t zeros[32] = {0};
    assert_memory_equal(p.device.links[5].keys.to_vm.key, zeros, 32);
    assert_memory_equal(p.device.links[5].keys.to_device.key, zeros, 32);
    exchange(&p);
    assert_int_equal(tl_sealed_guest_accept(&p.guest, p.quote, NULL), TL_OK);
    assert_int_equal(p.guest.epoch, 3);
    tl_sealed_device_close(&p.device, 5);
    tl_sealed_device_close(&p.device, TL_SEALED_MAX_VMS);
    assert_null(tl_sealed_device_link(&p.device, 5));
    assert_null(tl_sealed_device_link(&p.device, TL_SEALED_MAX_VMS));
    p.device.links[5].epoch = UINT32_MAX;
    assert_int_equal(tl_sealed_guest_hello(&p.guest, p.hello, NULL), TL_OK);
    tl_error err;
    assert_int_equal(tl_sealed_device_answer(&p.device, 5, p.hello, p.quote, &err), TL_EACCESS);
}

static void test_every_flipped_bit_of_a_quote_is_refused(void **state) {
    (void)state;
    pair p;
    tl_error err;
    begin(&p, 5);
    exchange(&p);
    for (unsigned bit = 0; bit < 8 * TL_QUOTE_BYTES; bit++) {
        p.quote[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(tl_sealed_guest_accept(&p.guest, p.quote, &err), TL_EACCESS);
        p.quote[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(p.guest.epoch, 0);
    assert_int_equal(tl_sealed_guest_accept(&p.guest, p.quote, NULL), TL_OK);
    assert_int_equal(tl_sealed_guest_accept(&p.guest, p.quote, &err), TL_EACCESS); // twice
}

// A hello that the host changed gives keys that differ, because it is part of the transcript; what
// the quote repeats is compared.
static void test_changed_hello_gives_no_session(void **state) {
    (void)state;
    pair p;
    tl_error err;
    for (unsigned at = 8; at < TL_HELLO_BYTES; at += 11) {
        begin(&p, 5);
        assert_int_equal(tl_sealed_guest_hello(&p.guest, p.hello, NULL), TL_OK);
        p.hello[at] ^= 1;
        assert_int_equal(tl_sealed_device_answer(&p.device, 5, p.hello, p.quote, NULL), TL_OK);
        assert_int_equal(tl_sealed_guest_accept(&p.guest, p.quote, &err), TL_EACCESS);
    }
}

static void test_quote_of_another_device_is_refused(void **state) {
    (void)state;
    static const char *const words[] = {"another device", "other firmware", "another configuration", "signature", "epoch"};
    for (unsigned i = 0; i < 5; i++) {
        pair p;
        tl_error err = {0};
        begin(&p, 5);
        switch (i) {
        case 0: p.guest.expected.device++; break;
        case 1: p.guest.expected.firmware_hash[31]++; break;
        case 2: p.guest.expected.config_hash[31]++; break;
        case 3: p.device.secret[0]++; break;
        case 4: p.guest.epoch = 1; break;
        }
        exchange(&p);
        assert_int_equal(tl_sealed_guest_accept(&p.guest, p.quote, &err), TL_EACCESS);
        assert_non_null(strstr(err.text, words[i]));
    }
}

static void test_bad_hello_closes_nothing(void **state) {
    (void)state;
    pair p, q;
    tl_error err;
    begin(&p, 5);
    exchange(&p);
    begin(&q, 6);
    assert_int_equal(tl_sealed_guest_hello(&q.guest, q.hello, NULL), TL_OK);
    // VM 6 asks in VM 5's name.
    assert_int_equal(tl_sealed_device_answer(&p.device, 5, q.hello, q.quote, &err), TL_EACCESS);
    q.hello[0]++;
    assert_int_equal(tl_sealed_device_answer(&p.device, 5, q.hello, q.quote, &err), TL_EFORMAT);
    q.hello[0]--;
    tl_put_u32(q.hello + 4, TL_SEALED_MAX_VMS);
    assert_int_equal(tl_sealed_device_answer(&p.device, TL_SEALED_MAX_VMS, q.hello, q.quote, &err), TL_EINVAL);
    assert_non_null(tl_sealed_device_link(&p.device, 5));
    assert_int_equal(p.device.links[5].epoch, 1);
}

static void test_key_of_small_order_is_refused(void **state) {
    (void)state;
    pair p;
    tl_error err;
    begin(&p, 5);
    assert_int_equal(tl_sealed_guest_hello(&p.guest, p.hello, NULL), TL_OK);
    memset(p.hello + 40, 0, 32);
    assert_int_equal(tl_sealed_device_answer(&p.device, 5, p.hello, p.quote, &err), TL_EACCESS);
    assert_null(tl_sealed_device_link(&p.device, 5)); // fails closed
    exchange(&p);
    assert_int_equal(p.device.links[5].epoch, 2); // the failed one used up an epoch
}

// RFC 5869, A.1.
static void test_kdf_has_the_published_answer(void **state) {
    (void)state;
    static const uint8_t expected[42] = {0x3c, 0xb2, 0x5f, 0x25, 0xfa, 0xac, 0xd5, 0x7a, 0x90, 0x43, 0x4f, 0x64, 0xd0, 0x36,
                                         0x2f, 0x2a, 0x2d, 0x2d, 0x0a, 0x90, 0xcf, 0x1a, 0x5a, 0x4c, 0x5d, 0xb0, 0x2d, 0x56,
                                         0xec, 0xc4, 0xc5, 0xbf, 0x34, 0x00, 0x72, 0x08, 0xd5, 0xb8, 0x87, 0x18, 0x58, 0x65};
    uint8_t secret[22], salt[13], info[10], result[42];
    memset(secret, 0x0b, sizeof secret);
    for (unsigned i = 0; i < 13; i++)
        salt[i] = (uint8_t)i;
    for (unsigned i = 0; i < 10; i++)
        info[i] = (uint8_t)(0xf0 + i);
    assert_int_equal(crypto->kdf(secret, 22, salt, 13, info, 10, result, 42), TL_OK);
    assert_memory_equal(result, expected, 42);
}

static int get_provider(void **state) {
    (void)state;
    tl_error err;
    return tl_crypto_get(&crypto, &err) == TL_OK ? 0 : -1;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_both_sides_have_the_same_keys),  cmocka_unit_test(test_directions_are_separate),
    cmocka_unit_test(test_every_session_is_a_new_epoch),   cmocka_unit_test(test_every_flipped_bit_of_a_quote_is_refused),
    cmocka_unit_test(test_changed_hello_gives_no_session), cmocka_unit_test(test_quote_of_another_device_is_refused),
    cmocka_unit_test(test_bad_hello_closes_nothing),       cmocka_unit_test(test_key_of_small_order_is_refused),
    cmocka_unit_test(test_kdf_has_the_published_answer),
};

int main(void) { return cmocka_run_group_tests(tests, get_provider, NULL) == 0 ? 0 : 1; }
