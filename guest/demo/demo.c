// SPDX-License-Identifier: MIT
// `make demo` counts this program. It writes a text by a fixed recipe, counts the words in a hash
// table, sorts them and prints the most frequent. It has the habits of ordinary programs: pointers,
// strings, malloc, qsort, printf.
//
//   demo [WORDS]    default 200000
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_BUCKETS = 4096, N_SHOWN = 5 };

typedef struct word {
    struct word *next;
    unsigned count;
    char text[16];
} word;

static word *buckets[N_BUCKETS];
static unsigned n_distinct;

static uint32_t next_random(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

// Short words come often, long ones seldom, as in a language.
static size_t write_word(char *out, uint32_t *state) {
    static const char syllables[16][4] = {"ta", "lo", "mi", "ren", "su",  "ka", "pel", "or",
                                          "en", "du", "wi", "ba",  "not", "ge", "fi",  "ul"};
    size_t length = 0;
    unsigned n_syllables = 1 + (next_random(state) % 4 == 0) + (next_random(state) % 8 == 0) * 2;
    for (unsigned i = 0; i < n_syllables; i++) {
        const char *syllable = syllables[next_random(state) & next_random(state) & 15];
        size_t n = strlen(syllable);
        memcpy(out + length, syllable, n);
        length += n;
    }
    return length;
}

static void count_word(const char *text, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    word **slot = &buckets[hash % N_BUCKETS];
    while (*slot && (strncmp((*slot)->text, text, length) != 0 || (*slot)->text[length] != '\0'))
        slot = &(*slot)->next;
    if (!*slot) {
        *slot = calloc(1, sizeof **slot);
        if (!*slot)
            abort();
        memcpy((*slot)->text, text, length);
        n_distinct++;
    }
    (*slot)->count++;
}

static int by_count(const void *a, const void *b) {
    const word *left = *(word *const *)a, *right = *(word *const *)b;
    if (left->count != right->count)
        return left->count < right->count ? 1 : -1;
    return strcmp(left->text, right->text);
}

int main(int argc, char **argv) {
    unsigned n_words = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 200000;
    char *text = malloc((size_t)n_words * 16 + 1);
    if (!text)
        abort();
    uint32_t state = 2463534242u;
    size_t n_bytes = 0;
    for (unsigned i = 0; i < n_words; i++) {
        n_bytes += write_word(text + n_bytes, &state);
        text[n_bytes++] = i % 12 == 11 ? '\n' : ' ';
    }
    text[n_bytes] = '\0';

    for (const char *at = text; *at;) {
        size_t length = strcspn(at, " \n");
        count_word(at, length);
        at += length;
        at += strspn(at, " \n");
    }

    word **sorted = malloc(n_distinct * sizeof *sorted);
    if (!sorted)
        abort();
    unsigned n = 0;
    for (unsigned i = 0; i < N_BUCKETS; i++)
        for (word *w = buckets[i]; w; w = w->next)
            sorted[n++] = w;
    qsort(sorted, n, sizeof *sorted, by_count);

    printf("%u words, %u distinct, %zu bytes\n", n_words, n_distinct, n_bytes);
    for (unsigned i = 0; i < n && i < N_SHOWN; i++)
        printf("%7u %s\n", sorted[i]->count, sorted[i]->text);
    free(sorted);
    free(text);
    return 0;
}
