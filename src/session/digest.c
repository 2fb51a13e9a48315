// SPDX-License-Identifier: MIT
// XXH64 as its specification describes it (xxHash fast digest algorithm, version 0.1.1), for
// little-endian hosts and others alike.
#include "session/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open_below.h"

static const uint64_t prime1 = UINT64_C(0x9e3779b185ebca87), prime2 = UINT64_C(0xc2b2ae3d27d4eb4f), prime3 = UINT64_C(0x165667b19e3779f9),
                      prime4 = UINT64_C(0x85ebca77c2b2ae63), prime5 = UINT64_C(0x27d4eb2f165667c5);

static uint64_t rotate(uint64_t x, unsigned n) { return x << n | x >> (64 - n); }

static uint64_t read_le(const uint8_t *at, unsigned n_bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < n_bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static uint64_t round_of(uint64_t lane, uint64_t input) { return rotate(lane + input * prime2, 31) * prime1; }

uint64_t tl_digest(const void *bytes, size_t n_bytes) {
    const uint8_t *at = bytes, *end = at + n_bytes;
    uint64_t hash = prime5;
    if (n_bytes >= 32) {
        uint64_t lane[4] = {prime1 + prime2, prime2, 0, 0 - prime1};
        for (; end - at >= 32; at += 32) {
            for (unsigned i = 0; i < 4; i++)
                lane[i] = round_of(lane[i], read_le(at + 8 * i, 8));
        }
        hash = rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
        for (unsigned i = 0; i < 4; i++)
            hash = (hash ^ round_of(0, lane[i])) * prime1 + prime4;
    }
    hash += n_bytes;
    for (; end - at >= 8; at += 8)
        hash = rotate(hash ^ round_of(0, read_le(at, 8)), 27) * prime1 + prime4;
    if (end - at >= 4) {
        hash = rotate(hash ^ read_le(at, 4) * prime1, 23) * prime2 + prime3;
        at += 4;
    }
    for (; at < end; at++)
        hash = rotate(hash ^ *at * prime5, 11) * prime1;
    hash = (hash ^ hash >> 33) * prime2;
    hash = (hash ^ hash >> 29) * prime3;
    return hash ^ hash >> 32;
}

static int open_below(const char *root, const char *path) {
    int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    int fd = tl_open_in_root(folder, path, O_RDONLY | O_NONBLOCK, 0), saved = errno;
    close(folder);
    errno = saved;
    return fd;
}

int tl_digest_open(const char *root, const char *path) {
    return root ? open_below(root, path) : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

tl_status tl_digest_file(const char *root, const char *path, char ret_text[TL_DIGEST_BYTES], tl_error *err) {
    int fd = tl_digest_open(root, path);
    if (fd < 0)
        return tl_fail(err,
                       errno == ENOENT || errno == ENOTDIR ? TL_ENOENT
                       : errno == EACCES                   ? TL_EACCESS
                                                           : TL_EIO,
                       "%s: %s", path, strerror(errno));
    struct stat about;
    tl_status status = TL_OK;
    void *bytes = NULL;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        status = tl_fail(err, TL_EIO, "%s: not a regular file", path);
    else if (about.st_size > 0 && (bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED)
        status = tl_fail(err, TL_EIO, "%s: %s", path, strerror(errno));
    if (status == TL_OK) {
        snprintf(ret_text, TL_DIGEST_BYTES, "xxh64:%016llx", (unsigned long long)tl_digest(bytes ? bytes : "", (size_t)about.st_size));
        if (bytes)
            munmap(bytes, (size_t)about.st_size);
    }
    close(fd);
    return status;
}
