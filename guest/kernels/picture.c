// SPDX-License-Identifier: MIT
// A codec for grey pictures of the kind that JPEG is: blocks of 8 by 8, cosine transform in fixed
// point, quantization, zigzag, runs of zeros, Huffman code; then all of it backwards, and how far
// the result is from the picture. Multiplications, short loops of fixed length, table look-ups,
// divisions, and bits.
#include "huffman.h"

enum {
    SIZE = 128,
    N_BLOCKS = SIZE / 8 * SIZE / 8,
    FRACTION_BITS = 13,
    END_OF_BLOCK = 0x00,
    SIXTEEN_ZEROS = 0xf0,
    MAX_CODED = SIZE * SIZE * 2
};

// round(2^13 * c(u) / 2 * cos((2x + 1) * u * pi / 16)), c(0) = sqrt(1/2), else 1: row u, column x.
static const int32_t cosines[8][8] = {
    {2896, 2896, 2896, 2896, 2896, 2896, 2896, 2896},     {4017, 3406, 2276, 799, -799, -2276, -3406, -4017},
    {3784, 1567, -1567, -3784, -3784, -1567, 1567, 3784}, {3406, -799, -4017, -2276, 2276, 4017, 799, -3406},
    {2896, -2896, -2896, 2896, 2896, -2896, -2896, 2896}, {2276, -4017, 799, 3406, -3406, -799, 4017, -2276},
    {1567, -3784, 3784, -1567, -1567, 3784, -3784, 1567}, {799, -2276, 3406, -4017, 4017, -3406, 2276, -799},
};

static int16_t divisor[64]; // in zigzag order: coarser for finer detail
static uint8_t zigzag[64];
static uint8_t picture[SIZE][SIZE], decoded[SIZE][SIZE];

static void make_tables(void) {
    int n = 0;
    for (int sum = 0; sum < 15; sum++)
        for (int i = 0; i <= sum; i++) {
            int row = sum % 2 ? i : sum - i, column = sum - row;
            if (row < 8 && column < 8) {
                divisor[n] = (int16_t)(6 + 3 * sum);
                zigzag[n++] = (uint8_t)(8 * row + column);
            }
        }
}

// Slopes, round hills, an edge and some noise.
static void draw(uint64_t *state) {
    int32_t x0 = (int32_t)(kernel_next(state) % SIZE), y0 = (int32_t)(kernel_next(state) % SIZE);
    for (int32_t y = 0; y < SIZE; y++)
        for (int32_t x = 0; x < SIZE; x++) {
            int32_t distance = (x - x0) * (x - x0) + (y - y0) * (y - y0);
            int32_t grey = 60 + x / 2 + y / 4 + 90 * 256 / (distance / 4 + 256) - (x + 2 * y > 2 * SIZE ? 70 : 0);
            grey += (int32_t)(kernel_next(state) % 9) - 4;
            picture[y][x] = (uint8_t)(grey < 0 ? 0 : grey > 255 ? 255 : grey);
        }
}

// One pass along rows, its result transposed; two passes are the transform of the block.
static void transform(const int32_t *from, int32_t *to, int is_inverse) {
    for (int row = 0; row < 8; row++)
        for (int i = 0; i < 8; i++) {
            int32_t sum = 1 << (FRACTION_BITS - 1);
            for (int j = 0; j < 8; j++)
                sum += from[8 * row + j] * (is_inverse ? cosines[j][i] : cosines[i][j]);
            to[8 * i + row] = sum >> FRACTION_BITS;
        }
}

static void analyze(int block, int16_t *quantized) {
    int32_t pixels[64], half[64];
    for (int i = 0; i < 64; i++) // four more bits for the rounding of the passes
        pixels[i] = (picture[block / (SIZE / 8) * 8 + i / 8][block % (SIZE / 8) * 8 + i % 8] - 128) * 16;
    transform(pixels, half, 0);
    transform(half, pixels, 0);
    for (int i = 0; i < 64; i++) {
        int32_t value = pixels[zigzag[i]], step = divisor[i] * 16;
        quantized[i] = (int16_t)((value + (value < 0 ? -step / 2 : step / 2)) / step);
    }
}

static void synthesize(int block, const int16_t *quantized) {
    int32_t values[64], half[64];
    for (int i = 0; i < 64; i++)
        values[zigzag[i]] = quantized[i] * divisor[i] * 16;
    transform(values, half, 1);
    transform(half, values, 1);
    for (int i = 0; i < 64; i++) {
        int32_t grey = (values[i] + 8) / 16 + 128;
        decoded[block / (SIZE / 8) * 8 + i / 8][block % (SIZE / 8) * 8 + i % 8] = (uint8_t)(grey < 0 ? 0 : grey > 255 ? 255 : grey);
    }
}

// ---- symbols ----
//
// As in JPEG, a symbol has zeros before a value in the upper half of a byte, and bits of the value
// in the lower half. The bits follow.

static unsigned bits_of(int32_t value) {
    uint32_t magnitude = (uint32_t)(value < 0 ? -value : value);
    unsigned n = 0;
    for (; magnitude > 0; magnitude >>= 1)
        n++;
    return n;
}

static void put_symbol(const huffman_code *code, huffman_bits *out, uint64_t *frequency, unsigned symbol, int32_t value) {
    if (frequency) {
        frequency[symbol]++;
        return;
    }
    huffman_encode(code, out, symbol);
    unsigned n = symbol & 15;
    huffman_put(out, (uint32_t)(value < 0 ? value - 1 : value) & ((1u << n) - 1), n);
}

// Counts symbols when `frequency` is given, else writes them. The first value of a block is coded
// against the block before.
static void put_blocks(int16_t (*blocks)[64], const huffman_code *code, huffman_bits *out, uint64_t *frequency) {
    int32_t before = 0;
    for (int b = 0; b < N_BLOCKS; b++) {
        int32_t difference = blocks[b][0] - before;
        before = blocks[b][0];
        put_symbol(code, out, frequency, bits_of(difference), difference);
        unsigned run = 0;
        for (int i = 1; i < 64; i++) {
            if (blocks[b][i] == 0) {
                run++;
                continue;
            }
            for (; run > 15; run -= 16)
                put_symbol(code, out, frequency, SIXTEEN_ZEROS, 0);
            put_symbol(code, out, frequency, run << 4 | bits_of(blocks[b][i]), blocks[b][i]);
            run = 0;
        }
        if (run > 0)
            put_symbol(code, out, frequency, END_OF_BLOCK, 0);
    }
}

static int32_t get_value(huffman_bits *in, unsigned n) {
    uint32_t bits = huffman_get(in, n);
    return n == 0 ? 0 : bits >> (n - 1) ? (int32_t)bits : (int32_t)(bits - (1u << n) + 1);
}

static int get_block(const huffman_code *code, huffman_bits *in, int16_t *values, int32_t *before) {
    int symbol = huffman_decode(code, in);
    if (symbol < 0)
        return 0;
    memset(values, 0, 64 * sizeof *values);
    *before += get_value(in, (unsigned)symbol & 15);
    values[0] = (int16_t)*before;
    for (int i = 1; i < 64; i++) {
        symbol = huffman_decode(code, in);
        if (symbol == END_OF_BLOCK)
            break;
        i += symbol >> 4;
        if (symbol < 0 || i > 63)
            return 0;
        values[i] = (int16_t)get_value(in, (unsigned)symbol & 15);
    }
    return 1;
}

static uint64_t squared_error(void) {
    uint64_t sum = 0;
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++) {
            int32_t difference = picture[y][x] - decoded[y][x];
            sum += (uint64_t)(difference * difference);
        }
    return sum;
}

int main(int argc, char **argv) {
    static int16_t blocks[N_BLOCKS][64];
    uint64_t iterations = kernel_iterations(argc, argv), state = 88172645463325252u, checksum = 0;
    uint8_t *coded = kernel_alloc(MAX_CODED);
    make_tables();
    for (uint64_t i = 0; i < iterations; i++) {
        draw(&state);
        for (int b = 0; b < N_BLOCKS; b++)
            analyze(b, blocks[b]);
        uint64_t frequency[HUFFMAN_SYMBOLS] = {0};
        huffman_code code;
        huffman_bits out = {.bytes = coded, .capacity = MAX_CODED};
        put_blocks(blocks, NULL, NULL, frequency);
        huffman_build(&code, frequency);
        put_blocks(blocks, &code, &out, NULL);
        huffman_flush(&out);

        huffman_bits in = {.bytes = coded, .capacity = out.size};
        int32_t before = 0;
        for (int b = 0; b < N_BLOCKS; b++) {
            int16_t values[64];
            if (!get_block(&code, &in, values, &before) || memcmp(values, blocks[b], sizeof values) != 0)
                return kernel_wrong("picture", "a block is not what was encoded");
            synthesize(b, values);
        }
        uint64_t error = squared_error();
        // Refuses a mean square error above 255^2 / 1000, which is 30 dB.
        if (error * 1000 > UINT64_C(255) * 255 * SIZE * SIZE)
            return kernel_wrong("picture", "the peak signal-to-noise ratio is below 30 dB");
        checksum = (checksum << 9 | checksum >> 55) ^ (out.size << 32 | error);
    }
    free(coded);
    return kernel_result("picture", iterations, checksum);
}
