// SPDX-License-Identifier: MIT
// The program adds numbers that entries of a table index, and skips half of the entries as stale.
// Valid entries index a few cached numbers. Stale entries index all of a large array. A processor
// that mispredicts the branch loads from the array, too (docs/tutorials/wrong-path.md).
#include <stdio.h>
#include <stdlib.h>

enum { ENTRIES = 128, NEAR = 16, FAR = 1 << 16, LOOK_UPS = 50000 };

struct entry {
    unsigned sum;         // multiplied, the top bit says whether the entry is valid
    unsigned first, mask; // numbers[first + (i & mask)] of look-up i; a valid entry has mask 0
};

static struct entry table[ENTRIES];
static int numbers[FAR];
static unsigned long state = 88172645463325252;

static unsigned long draw(void) { // xorshift64
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

__attribute__((noinline)) static long add_valid(long n) {
    long total = 0;
    for (long i = 0; i < n; i++) {
        const struct entry *e = &table[draw() % ENTRIES];
        if (e->sum * 2654435769u >> 31)
            total += numbers[(e->first + (i & e->mask)) % FAR];
    }
    return total;
}

int main(int argc, char **argv) {
    const long n = argc > 1 ? atol(argv[1]) : LOOK_UPS;
    for (int i = 0; i < FAR; i++)
        numbers[i] = i < NEAR ? i : -1;
    for (int i = 0; i < ENTRIES; i++) {
        table[i].sum = (unsigned)draw();
        const int is_valid = table[i].sum * 2654435769u >> 31;
        table[i].first = (unsigned)(draw() % (is_valid ? NEAR : FAR));
        table[i].mask = is_valid ? 0 : (unsigned)-1;
    }
    printf("%ld\n", add_valid(n));
    return 0;
}
