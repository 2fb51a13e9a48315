// SPDX-License-Identifier: MIT
// A JIT that describes its code in a jitdump file: two functions at one address, one after the
// other, and one that it does not describe. Run with the name of the file.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef uint64_t function(uint64_t n);

enum { CODE_BYTES = 16, DESCRIBED = 2 };

// a0 += a0 or a0 += 3, then again, then ret.
static const uint32_t codes[][4] = {
    {0x00a50533, 0x00a50533, 0x00008067, 0x00000013},
    {0x00350513, 0x00350513, 0x00008067, 0x00000013},
};
static const char *const names[] = {"doubled twice", "plus six"};

static void put(FILE *stream, uint64_t value, size_t n_bytes) { fwrite(&value, n_bytes, 1, stream); }

static void put_lines(FILE *stream, uint64_t address, uint32_t line) {
    static const char path[] = "/src/calc.lang";
    put(stream, 2, 4);
    put(stream, 16 + 16 + 2 * (16 + sizeof path), 4);
    put(stream, 0, 8);
    put(stream, address, 8);
    put(stream, 2, 8);
    for (uint32_t i = 0; i < 2; i++) {
        put(stream, address + 4 * i, 8);
        put(stream, line + i, 4);
        put(stream, 0, 4);
        fwrite(path, sizeof path, 1, stream);
    }
}

static void put_load(FILE *stream, uint64_t address, unsigned number) {
    const char *name = names[number];
    put(stream, 0, 4);
    put(stream, 16 + 40 + strlen(name) + 1 + CODE_BYTES, 4);
    put(stream, 0, 8);
    put(stream, (uint64_t)getpid(), 4);
    put(stream, (uint64_t)getpid(), 4);
    put(stream, address, 8);
    put(stream, address, 8);
    put(stream, CODE_BYTES, 8);
    put(stream, number, 8);
    fwrite(name, strlen(name) + 1, 1, stream);
    fwrite(codes[number], CODE_BYTES, 1, stream);
}

static uint64_t run(uint8_t *at, unsigned number, uint64_t n) {
    memcpy(at, codes[number], CODE_BYTES);
    __builtin___clear_cache((char *)at, (char *)at + CODE_BYTES);
    return ((function *)(uintptr_t)at)(n);
}

int main(int argc, char **argv) {
    const size_t page = 4096;
    uint8_t *area = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FILE *stream = argc > 1 ? fopen(argv[1], "w+") : NULL;
    if (area == MAP_FAILED || !stream)
        return 1;
    put(stream, 0x4a695444, 4);
    put(stream, 1, 4);
    put(stream, 40, 4);
    put(stream, 243, 4);
    put(stream, 0, 4);
    put(stream, (uint64_t)getpid(), 4);
    put(stream, 0, 8);
    put(stream, 0, 8);
    fflush(stream);
    void *marker = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(stream), 0);
    if (marker == MAP_FAILED)
        return 2;
    for (unsigned number = 0; number < DESCRIBED; number++) {
        put_lines(stream, (uint64_t)(uintptr_t)area + number * page, 7 + 10 * number);
        put_load(stream, (uint64_t)(uintptr_t)area + number * page, number);
    }
    fclose(stream);
    uint64_t sum = run(area, 0, 5) + run(area + page, 1, 5); // 20 + 11
    sum += run(area + 2 * CODE_BYTES, 1, 1);                 // 7, which nobody describes
    munmap(marker, page);
    return sum == 38 ? 0 : 3;
}
