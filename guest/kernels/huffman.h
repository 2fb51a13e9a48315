// SPDX-License-Identifier: MIT
// Canonical Huffman codes and a stream of bits: what the kernels `huffman` and `picture` have in
// common.
#ifndef HUFFMAN_H
#define HUFFMAN_H

#include "kernel.h"

#include <string.h>

enum { HUFFMAN_SYMBOLS = 256, HUFFMAN_MAX_BITS = 15 };

typedef struct huffman_bits {
    uint8_t *bytes;
    size_t size, capacity; // of bytes
    uint64_t held;         // bits not yet in bytes, or read ahead; the newest in the lowest places
    unsigned n_held;
} huffman_bits;

typedef struct huffman_code {
    uint8_t length[HUFFMAN_SYMBOLS]; // 0: the symbol does not occur
    uint16_t code[HUFFMAN_SYMBOLS];
    uint16_t count[HUFFMAN_MAX_BITS + 2]; // codes of each length
    uint8_t symbol[HUFFMAN_SYMBOLS];      // in the order of their codes
} huffman_code;

// ---- bits ----

static inline void huffman_put(huffman_bits *bits, uint32_t value, unsigned n) { // n <= 32
    bits->held = bits->held << n | value;
    bits->n_held += n;
    while (bits->n_held >= 8 && bits->size < bits->capacity) {
        bits->n_held -= 8;
        bits->bytes[bits->size++] = (uint8_t)(bits->held >> bits->n_held);
    }
}

static inline void huffman_flush(huffman_bits *bits) { huffman_put(bits, 0, (8 - bits->n_held % 8) % 8); }

// n is at most 32. Zeros follow behind the end.
static inline uint32_t huffman_get(huffman_bits *bits, unsigned n) {
    while (bits->n_held < n) {
        bits->held = bits->held << 8 | (bits->size < bits->capacity ? bits->bytes[bits->size++] : 0);
        bits->n_held += 8;
    }
    bits->n_held -= n;
    return (uint32_t)(bits->held >> bits->n_held) & (uint32_t)((UINT64_C(1) << n) - 1);
}

// ---- codes ----

static inline void huffman_sift(uint16_t *heap, size_t n, size_t at, const uint64_t *weight) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && weight[heap[child + 1]] < weight[heap[child]])
            child++;
        if (weight[heap[at]] <= weight[heap[child]])
            return;
        uint16_t swapped = heap[at];
        heap[at] = heap[child];
        heap[child] = swapped;
    }
}

// Depths of the leaves of Huffman's tree; returns the greatest.
static inline unsigned huffman_depths(const uint64_t *frequency, uint8_t *length) {
    uint64_t weight[2 * HUFFMAN_SYMBOLS];
    uint16_t heap[HUFFMAN_SYMBOLS], parent[2 * HUFFMAN_SYMBOLS];
    size_t n = 0, next = HUFFMAN_SYMBOLS;
    for (uint16_t i = 0; i < HUFFMAN_SYMBOLS; i++) {
        weight[i] = frequency[i];
        if (frequency[i] > 0)
            heap[n++] = i;
    }
    for (size_t i = n / 2; i-- > 0;)
        huffman_sift(heap, n, i, weight);
    while (n > 1) { // the two lightest become one
        uint16_t lightest = heap[0];
        heap[0] = heap[--n];
        huffman_sift(heap, n, 0, weight);
        parent[lightest] = parent[heap[0]] = (uint16_t)next;
        weight[next] = weight[lightest] + weight[heap[0]];
        heap[0] = (uint16_t)next++;
        huffman_sift(heap, n, 0, weight);
    }
    unsigned longest = 0;
    for (size_t i = 0; i < HUFFMAN_SYMBOLS; i++) {
        unsigned depth = 0;
        if (frequency[i] > 0)
            for (size_t node = i; node != next - 1; node = parent[node])
                depth++;
        length[i] = (uint8_t)(frequency[i] > 0 && depth == 0 ? 1 : depth);
        longest = depth > longest ? depth : longest;
    }
    return longest;
}

// Codes in the order of lengths, then symbols: the lengths alone tell the decoder all of them.
static inline void huffman_assign(huffman_code *h) {
    memset(h->count, 0, sizeof h->count);
    size_t n = 0;
    uint32_t code = 0;
    for (unsigned length = 1; length <= HUFFMAN_MAX_BITS; length++, code <<= 1)
        for (unsigned i = 0; i < HUFFMAN_SYMBOLS; i++)
            if (h->length[i] == length) {
                h->code[i] = (uint16_t)code++;
                h->symbol[n++] = (uint8_t)i;
                h->count[length]++;
            }
}

// Frequencies are flattened until no code is too long.
static inline void huffman_build(huffman_code *h, const uint64_t *frequency) {
    uint64_t flattened[HUFFMAN_SYMBOLS];
    memcpy(flattened, frequency, sizeof flattened);
    while (huffman_depths(flattened, h->length) > HUFFMAN_MAX_BITS)
        for (int i = 0; i < HUFFMAN_SYMBOLS; i++)
            flattened[i] = (flattened[i] + 1) / 2;
    huffman_assign(h);
}

static inline void huffman_encode(const huffman_code *h, huffman_bits *bits, unsigned symbol) {
    huffman_put(bits, h->code[symbol], h->length[symbol]);
}

// -1: no such code.
static inline int huffman_decode(const huffman_code *h, huffman_bits *bits) {
    uint32_t code = 0, first = 0, index = 0;
    for (unsigned length = 1; length <= HUFFMAN_MAX_BITS; length++) {
        code |= huffman_get(bits, 1);
        if (code - first < h->count[length])
            return h->symbol[index + code - first];
        index += h->count[length];
        first = (first + h->count[length]) << 1;
        code <<= 1;
    }
    return -1;
}

#endif
