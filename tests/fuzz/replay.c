// SPDX-License-Identifier: MIT
// Stands in for libFuzzer in the normal build. Feeds every file of the given folders to the target,
// so that each input that once broke something stays fixed. A missing folder is an empty one; the
// empty input always runs.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "replay: cannot open %s\n", path);
        exit(1);
    }
    size_t size = 0, capacity = 4096;
    uint8_t *data = malloc(capacity);
    while (data) {
        size += fread(data + size, 1, capacity - size, file);
        if (size < capacity)
            break;
        uint8_t *larger = realloc(data, capacity *= 2);
        if (!larger)
            free(data);
        data = larger;
    }
    fclose(file);
    if (!data) {
        fprintf(stderr, "replay: no memory for %s\n", path);
        exit(1);
    }
    // A block of exactly this size, so that a sanitizer sees a read past the end.
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact)
        exit(1);
    memcpy(exact, data, size);
    free(data);
    fprintf(stderr, "%s\n", path); // the last name on the screen is the one that failed
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

int main(int argc, char **argv) {
    uint8_t nothing = 0;
    LLVMFuzzerTestOneInput(&nothing, 0);
    unsigned n_files = 0;
    for (int i = 1; i < argc; i++) {
        struct dirent **entries = NULL;
        int n = scandir(argv[i], &entries, NULL, alphasort);
        for (int j = 0; j < n; j++) {
            char path[4096];
            if (entries[j]->d_name[0] != '.' && snprintf(path, sizeof path, "%s/%s", argv[i], entries[j]->d_name) < (int)sizeof path) {
                replay(path);
                n_files++;
            }
            free(entries[j]);
        }
        free(entries);
    }
    printf("replayed %u inputs\n", n_files);
    return 0;
}
