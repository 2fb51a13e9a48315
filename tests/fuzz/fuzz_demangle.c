// SPDX-License-Identifier: MIT
// Any bytes as a symbol's name: the result is terminated text that fits, or a refusal, twice equal.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const tl_demangle_form forms[] = {TL_DEMANGLE_FULL, TL_DEMANGLE_NAME};
    char *symbol = malloc(size + 1), text[TL_DEMANGLE_BYTES], again[TL_DEMANGLE_BYTES];
    if (!symbol)
        return 0;
    memcpy(symbol, data, size);
    symbol[size] = '\0';
    for (size_t i = 0; i < 2; i++) {
        memset(text, 'x', sizeof text);
        memset(again, 'y', sizeof again);
        if (!tl_demangle(symbol, forms[i], text))
            continue;
        if (!memchr(text, '\0', sizeof text) || !*text || !tl_demangle(symbol, forms[i], again) || strcmp(text, again) != 0)
            abort();
    }
    free(symbol);
    return 0;
}
