// SPDX-License-Identifier: MIT
// Scans a text of numbers with a state machine (a switch inside a loop) and keeps a table-driven
// CRC-32 of what it saw: indirect jumps and dependent table look-ups, all in the first-level cache.
#include "kernel.h"

enum { N_BYTES = 16384 };
enum state { START, SIGN, INTEGER, POINT, FRACTION, EXPONENT, EXPONENT_SIGN, EXPONENT_DIGITS, BAD, N_STATES };

static enum state next_state(enum state state, char c, uint32_t *counts) {
    int is_digit = c >= '0' && c <= '9';
    if (c == ' ') {
        counts[state]++;
        return START;
    }
    switch (state) {
    case START: return c == '-' || c == '+' ? SIGN : is_digit ? INTEGER : c == '.' ? POINT : BAD;
    case SIGN: return is_digit ? INTEGER : c == '.' ? POINT : BAD;
    case INTEGER: return is_digit ? INTEGER : c == '.' ? FRACTION : c == 'e' ? EXPONENT : BAD;
    case POINT: return is_digit ? FRACTION : BAD;
    case FRACTION: return is_digit ? FRACTION : c == 'e' ? EXPONENT : BAD;
    case EXPONENT: return c == '-' || c == '+' ? EXPONENT_SIGN : is_digit ? EXPONENT_DIGITS : BAD;
    case EXPONENT_SIGN: return is_digit ? EXPONENT_DIGITS : BAD;
    case EXPONENT_DIGITS: return is_digit ? EXPONENT_DIGITS : BAD;
    default: return BAD;
    }
}

int main(int argc, char **argv) {
    static const char alphabet[] = "0123456789012345 .-e 0123+  5x89";
    static char text[N_BYTES];
    static uint32_t crc_table[256];
    uint64_t iterations = kernel_iterations(argc, argv), random = 88172645463325252u;
    uint32_t counts[N_STATES] = {0}, crc = ~0u;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
        crc_table[i] = c;
    }
    for (int i = 0; i < N_BYTES; i++)
        text[i] = alphabet[kernel_next(&random) >> 59];
    for (uint64_t i = 0; i < iterations; i++) {
        enum state state = START;
        for (int j = 0; j < N_BYTES; j++) {
            state = next_state(state, text[j], counts);
            crc = crc >> 8 ^ crc_table[(crc ^ (uint32_t)text[j] ^ (uint32_t)state) & 255];
        }
    }
    uint64_t checksum = crc;
    for (int i = 0; i < N_STATES; i++)
        checksum = checksum * 31 + counts[i];
    return kernel_result("automaton", iterations, checksum);
}
