// SPDX-License-Identifier: MIT
// The whole text is kept, because a style and a name are told apart when both are complete.
#include "report/plain_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

tl_status tl_plain_text_begin(tl_plain_text *plain, FILE *to, tl_error *err) {
    *plain = (tl_plain_text){.to = to};
    plain->stream = open_memstream(&plain->text, &plain->n_bytes);
    return plain->stream ? TL_OK : tl_no_memory(err);
}

static size_t style_length(const char *text) {
    static const char *const styles[] = {TL_STYLE_BOLD, TL_STYLE_DIM, TL_STYLE_HOT, TL_STYLE_PLAIN};
    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++)
        if (strncmp(text, styles[i], strlen(styles[i])) == 0)
            return strlen(styles[i]);
    return 0;
}

// Length of what stands at text[0] and may be printed as it is; 0: a byte that may not.
static size_t printable_length(const char *text, size_t n_left, bool has_color) {
    uint32_t code;
    if (text[0] == '\n' || text[0] == '\t')
        return 1;
    if (text[0] == '\033')
        return has_color ? style_length(text) : 0;
    const size_t n = tl_utf8_length(text, n_left, &code);
    return n > 0 && !tl_utf8_is_control(code) ? n : 0;
}

tl_status tl_plain_text_end(tl_plain_text *plain, bool has_color, tl_status status, tl_error *err) {
    if (fclose(plain->stream) != 0 && status == TL_OK)
        status = tl_no_memory(err);
    for (size_t at = 0, n; status == TL_OK && at<plain->n_bytes; at += n> 0 ? n : 1) {
        n = printable_length(plain->text + at, plain->n_bytes - at, has_color);
        if (n > 0)
            fwrite(plain->text + at, 1, n, plain->to);
        else
            fputc('?', plain->to);
    }
    free(plain->text);
    if (status == TL_OK && (fflush(plain->to) != 0 || ferror(plain->to)))
        status = tl_fail(err, TL_EIO, "the output: %s", strerror(errno));
    return status;
}
