// SPDX-License-Identifier: MIT
// Any bytes as a user's metric group. It is refused with a sentence, or every metric of it has a
// value or a reason for having none.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "names/metrics.h"
#include "session/description.h"
#include "session/machine_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tl_config config;
    tl_catalogue *catalogue = NULL;
    tl_quantities list = {0};
    tl_error err = {.status = TL_OK};
    tl_config_default(&config);
    if (tl_machine_names_new(&config, &catalogue, &err) != TL_OK)
        abort();
    if (tl_catalogue_add_group(catalogue, "fuzzed", (const char *)data, size, "fuzzed.txt", &err) != TL_OK) {
        if (err.status == TL_OK || strlen(err.text) < 10)
            abort(); // refused without a word
    } else {
        if (tl_catalogue_metrics(catalogue, "fuzzed", &list, &err) != TL_OK)
            abort();
        uint64_t *values = calloc(tl_catalogue_n_cells(catalogue), sizeof *values);
        for (uint32_t i = 0; values && i < tl_catalogue_n_cells(catalogue); i++)
            values[i] = i % 7 ? i * UINT64_C(0x9e3779b97f4a7c15) : 0;
        for (uint32_t i = 0; values && i < list.n_items; i++)
            for (int hart = TL_ALL_HARTS; hart < 1; hart++) {
                tl_value value = tl_formula_eval(list.items[i].formula, values, hart);
                if (value.kind == TL_VALUE_MISSING && !value.reason)
                    abort();
            }
        free(values);
    }
    tl_quantities_done(&list);
    tl_catalogue_free(catalogue);
    return 0;
}
