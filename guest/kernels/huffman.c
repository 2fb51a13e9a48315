// SPDX-License-Identifier: MIT
// Counts the letters of a text of 64 KiB, builds their Huffman code, encodes the text and decodes
// it again: a heap, walks of a tree, shifts into a stream of bits, and a decoder whose branches are
// the data.
#include "huffman.h"

enum { N_BYTES = 65536 };

// Letters with the skewed frequencies of text: the smaller of three draws.
static void fill(uint8_t *text, uint64_t *state) {
    for (int i = 0; i < N_BYTES; i++) {
        uint64_t random = kernel_next(state);
        uint8_t letter = 255;
        for (int j = 0; j < 3; j++, random >>= 8)
            letter = (uint8_t)random < letter ? (uint8_t)random : letter;
        text[i] = random % 16 == 0 ? (uint8_t)random : letter / 3;
    }
}

int main(int argc, char **argv) {
    uint64_t iterations = kernel_iterations(argc, argv), state = 88172645463325252u, checksum = 0;
    uint8_t *text = kernel_alloc(N_BYTES), *coded = kernel_alloc(2 * N_BYTES);
    for (uint64_t i = 0; i < iterations; i++) {
        uint64_t frequency[HUFFMAN_SYMBOLS] = {0};
        fill(text, &state);
        for (int j = 0; j < N_BYTES; j++)
            frequency[text[j]]++;
        huffman_code code;
        huffman_build(&code, frequency);
        huffman_bits out = {.bytes = coded, .capacity = 2 * N_BYTES};
        for (int j = 0; j < N_BYTES; j++)
            huffman_encode(&code, &out, text[j]);
        huffman_flush(&out);
        huffman_code known;
        memcpy(known.length, code.length, sizeof known.length);
        huffman_assign(&known);
        huffman_bits in = {.bytes = coded, .capacity = out.size};
        for (int j = 0; j < N_BYTES; j++)
            if (huffman_decode(&known, &in) != text[j])
                return kernel_wrong("huffman", "the decoded text differs");
        checksum = checksum * 31 + out.size;
        for (size_t j = 0; j < out.size; j += 61)
            checksum = (checksum << 7 | checksum >> 57) ^ coded[j];
    }
    free(text);
    free(coded);
    return kernel_result("huffman", iterations, checksum);
}
