// SPDX-License-Identifier: MIT
// Text of source files; see source_text.h.
#include "report/source_text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool split(tl_source_text *text, const char *bytes, size_t n_bytes) {
    uint32_t room = 1;
    for (size_t i = 0; i < n_bytes; i++)
        room += bytes[i] == '\n';
    text->lines = malloc((size_t)room * sizeof *text->lines);
    text->lengths = malloc((size_t)room * sizeof *text->lengths);
    if (!text->lines || !text->lengths)
        return false;
    for (size_t at = 0; at < n_bytes;) {
        const char *end = memchr(bytes + at, '\n', n_bytes - at);
        const size_t length = end ? (size_t)(end - (bytes + at)) : n_bytes - at;
        text->lines[text->n] = bytes + at;
        text->lengths[text->n++] = (uint32_t)length;
        at += length + 1;
    }
    return true;
}

// The path is that of a profile, which may name a device or a pipe.
static char *read_source(const char *path, size_t *ret_n) {
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *stream = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? fdopen(fd, "rb") : NULL;
    size_t room = 1 << 16, n = 0, part;
    char *bytes = stream ? malloc(room) : NULL;
    while (bytes && (part = fread(bytes + n, 1, room - n, stream)) > 0) {
        n += part;
        if (n < room)
            continue;
        char *larger = realloc(bytes, room *= 2);
        if (!larger)
            free(bytes);
        bytes = larger;
    }
    if (stream)
        fclose(stream);
    else if (fd >= 0)
        close(fd);
    *ret_n = n;
    return bytes;
}

// Embedded, else on this host by its path, else below the folder of the options by ever shorter
// ends of the path.
static const tl_source_text *text_of(tl_source_texts *texts, uint32_t number) {
    tl_source_text *text = &texts->items[number];
    const tl_profile_source *source = &texts->profile->sources[number];
    if (text->is_sought)
        return text;
    text->is_sought = true;
    size_t n = source->n_bytes;
    const char *bytes = source->text;
    if (!bytes && !texts->without_sources)
        bytes = text->bytes = read_source(source->path, &n);
    for (const char *end = source->path; !bytes && texts->root && end; end = strchr(end + 1, '/')) {
        char path[4096];
        if (snprintf(path, sizeof path, "%s/%s", texts->root, end) < (int)sizeof path)
            bytes = text->bytes = read_source(path, &n);
    }
    if (bytes && !split(text, bytes, n))
        text->n = 0;
    return text;
}

tl_status tl_source_texts_init(const tl_profile *profile, const char *root, bool without_sources, tl_source_texts *ret_texts,
                               tl_error *err) {
    *ret_texts = (tl_source_texts){profile, root, without_sources, calloc((size_t)profile->n_sources + 1, sizeof *ret_texts->items)};
    return ret_texts->items ? TL_OK : tl_no_memory(err);
}

void tl_source_texts_done(tl_source_texts *texts) {
    for (uint32_t i = 0; texts->items && i < texts->profile->n_sources; i++) {
        free(texts->items[i].lines);
        free(texts->items[i].lengths);
        free(texts->items[i].bytes);
    }
    free(texts->items);
    *texts = (tl_source_texts){0};
}

uint32_t tl_source_n_lines(tl_source_texts *texts, uint32_t source) { return text_of(texts, source)->n; }

const char *tl_source_line(tl_source_texts *texts, uint32_t source, uint32_t line, uint32_t *ret_n_bytes) {
    const tl_source_text *text = text_of(texts, source);
    if (line == 0 || line > text->n)
        return NULL;
    *ret_n_bytes = text->lengths[line - 1];
    return text->lines[line - 1];
}

const char *tl_source_name(const tl_profile *profile, uint32_t source) {
    const char *path = profile->sources[source].path, *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
