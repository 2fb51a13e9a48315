// SPDX-License-Identifier: MIT
// Any bytes as a machine description. It is refused with a sentence that begins with the file's
// name, or it yields a machine that passes every check. Written out, that machine reads back as
// itself.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "session/description.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char name[] = "input.yaml";
    tl_config config, again;
    tl_error err = {.status = TL_OK};
    if (tl_description_read((const char *)data, size, name, &config, &err) != TL_OK) {
        if (err.status == TL_OK || strncmp(err.text, name, strlen(name)) != 0 || strlen(err.text) < sizeof name + 4)
            abort(); // refused without a word
        return 0;
    }
    tl_strbuf text = {0}, text_again = {0};
    tl_description_write(&config, &text);
    if (tl_keys_check(&config, NULL) != TL_OK)
        abort();
    if (tl_description_read(tl_strbuf_text(&text), text.n_bytes, name, &again, NULL) != TL_OK)
        abort();
    tl_description_write(&again, &text_again);
    if (strcmp(tl_strbuf_text(&text), tl_strbuf_text(&text_again)) != 0)
        abort();
    tl_strbuf_done(&text);
    tl_strbuf_done(&text_again);
    return 0;
}
