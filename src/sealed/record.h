// SPDX-License-Identifier: MIT
// Sealed records: a clear header of 64 bytes, AES-256-GCM ciphertext, a tag of 16 bytes. The header
// is authenticated. Little-endian:
//
//   0 u32 magic   4 u16 version   6 u16 flags   8 u32 epoch   12 u32 vm   16 u32 ctx   20 u32 n
//   24 u64 seq   32 u64 gen   40 u64 t_cycle   48 u64 device   56 u32 payload_len   60 u32 zero
//
// Two forms. TL_RECORD_INNER (bit 15 of flags) is the default: gen and ctx would tell activity, so
// they travel in the ciphertext; the header has gen 0 and ctx FFFFFFFF, and the payload is
//
//   word 0 gen   1 ctx | flags << 32   2 t_commit   3 t_active   then values[n], late[n], bitmap of
//          unavailable values, (n + 63) / 64 words
//
// The literal form has bit 15 clear, gen, ctx and the block's flags in the header, and values[n] as
// payload. Specification section 15.2 with K22. Every record of a configuration has the same size.
#ifndef TL_SEALED_RECORD_H
#define TL_SEALED_RECORD_H

#include "sealed/crypto.h"

enum {
    TL_RECORD_MAGIC = 0x31524d50, // "PMR1" in memory
    TL_RECORD_VERSION = 1,
    TL_RECORD_INNER = 1 << 15,
    TL_RECORD_HEADER_BYTES = 64,
    TL_RECORD_SEQ_AT = 24,
    TL_RECORD_MAX_VALUES = 4096,
};
#define TL_RECORD_NO_CTX UINT32_MAX
#define TL_RECORD_UNAVAILABLE (1u << 2) // flag of a value that is no count

// Content of a record, without its envelope. Arrays have n entries.
typedef struct tl_record_image {
    uint64_t gen, t_commit, t_active;
    uint32_t ctx, flags; // flags of the block
    uint32_t n;
    bool is_literal;      // t_commit, t_active and late are not known
    uint64_t *values;     // 0 where unavailable
    uint64_t *late;       // inner form only
    uint8_t *unavailable; // 1: the value is no count
} tl_record_image;

typedef struct tl_record_header {
    uint16_t flags;
    uint32_t epoch, vm, ctx, n, payload_bytes;
    uint64_t seq, gen, t_cycle, device;
} tl_record_header;

uint32_t tl_record_payload_bytes(uint32_t n, bool is_literal); // n at most TL_RECORD_MAX_VALUES
static inline uint32_t tl_record_bytes(uint32_t n, bool is_literal) {
    return TL_RECORD_HEADER_BYTES + tl_record_payload_bytes(n, is_literal) + TL_TAG_BYTES;
}

//  ---- sender

typedef struct tl_record_sender {
    const tl_crypto *crypto;
    tl_seal_key *key;
    uint64_t device;
    uint32_t vm, epoch;
    bool is_literal;
    uint8_t *scratch; // tl_record_payload_bytes(n)
} tl_record_sender;

// ret_record has tl_record_bytes(image->n, is_literal) bytes. TL_EACCESS: the key seals nothing any
// more; the record is zeroed, and the sender stays silent until a new session.
TL_MUST_CHECK tl_status tl_record_seal(tl_record_sender *sender, const tl_record_image *image, uint64_t t_cycle, uint8_t *ret_record);

//  ---- receiver

typedef enum tl_record_class {
    TL_RECORD_GOOD,
    TL_RECORD_SHORT,      // fewer bytes than a record has
    TL_RECORD_MALFORMED,  // magic, version, sizes
    TL_RECORD_FOREIGN,    // another VM or device
    TL_RECORD_OLD_EPOCH,  // of a key that is gone
    TL_RECORD_NEXT_EPOCH, // of a key that the receiver does not have
    TL_RECORD_FORGED,     // the tag is wrong
    TL_RECORD_REPLAYED,   // good, and received before
    TL_RECORD_REORDERED,  // good, and older than one received before
    TL_RECORD_N_CLASSES
} tl_record_class;

extern const char *const tl_record_class_names[TL_RECORD_N_CLASSES];

typedef struct tl_record_receiver {
    const tl_crypto *crypto;
    const tl_seal_key *key; // of this direction
    uint64_t device;
    uint32_t vm, epoch, n; // every record has n values
    bool is_literal;
    uint64_t interval_cycles; // of emission; 0: never stale
    uint64_t last_seq, last_arrival;
    uint64_t window; // bit i: last_seq - i was received
    uint64_t n_of_class[TL_RECORD_N_CLASSES];
    uint64_t n_lost;  // seqs that were skipped; one that arrives late stays lost
    uint8_t *scratch; // tl_record_payload_bytes(n)
} tl_record_receiver;

// Fills the header if the bytes have one, and `image`, whose arrays the caller provides for n
// values, only if the class is GOOD. *ret_n_lost: records missing before this one. Nothing of a
// record with a wrong tag is exposed. `now_cycles` is the receiver's own clock.
tl_record_class tl_record_open(tl_record_receiver *receiver, const uint8_t *bytes, size_t n_bytes, uint64_t now_cycles,
                               tl_record_header *ret_header, tl_record_image *image, uint64_t *ret_n_lost);
// No record arrived within four intervals.
bool tl_record_is_stale(const tl_record_receiver *receiver, uint64_t now_cycles);

// False: the bytes are no header of this version.
bool tl_record_read_header(const uint8_t *bytes, size_t n_bytes, tl_record_header *ret_header);

//  ---- ring of fixed slots in memory that the host can change at any time

typedef struct tl_record_ring {
    uint8_t *slots; // n_slots * slot_bytes
    uint32_t n_slots, slot_bytes;
} tl_record_ring;

// Where the record `seq` belongs.
static inline uint8_t *tl_record_ring_slot(const tl_record_ring *ring, uint64_t seq) {
    return ring->slots + (size_t)(seq % ring->n_slots) * ring->slot_bytes;
}
// Reads a ring. `told` has n_slots zeros at first: a digest of each slot whose damage was counted.
// `copy` has slot_bytes, because the host may write meanwhile.
typedef struct tl_record_poller {
    tl_record_ring ring;
    tl_record_receiver *receiver;
    uint64_t *told;
    uint8_t *copy;
} tl_record_poller;

// Takes the good record with the lowest new seq out of the ring. False: no slot holds one. The same
// damaged bytes in a slot count once; a slot that was half written opens at a later call.
bool tl_record_poll(tl_record_poller *poller, uint64_t now_cycles, tl_record_header *ret_header, tl_record_image *image,
                    uint64_t *ret_n_lost);

#endif
