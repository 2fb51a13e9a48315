// SPDX-License-Identifier: MIT
#include "base/open_below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MAX_LINKS = 40 }; // as Linux
static const long PROC_MAGIC = 0x9fa0;

static int open_how(int dir_fd, const char *path, int flags, uint32_t mode, uint64_t resolve) {
    struct open_how how = {.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC), .mode = mode, .resolve = resolve};
    for (;;) {
        long fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof how);
        if (fd >= 0 || (errno != EINTR && errno != EAGAIN))
            return (int)fd;
    }
}

// The host's kernel lacks openat2, or a filter answers for it. EPERM may be an answer to the path,
// too: the walk then finds it again.
static bool is_missing(void) { return errno == ENOSYS || errno == EPERM; }

static int fail(int error) {
    errno = error;
    return -1;
}

static int open_one(int dir_fd, const char *name, int flags, uint32_t mode) {
    int fd;
    do
        fd = openat(dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

// The next component of *path; 0: none is left.
static size_t take_component(const char **path, char ret_name[NAME_MAX + 1]) {
    *path += strspn(*path, "/");
    size_t n = strcspn(*path, "/");
    if (n <= NAME_MAX) {
        memcpy(ret_name, *path, n);
        ret_name[n] = '\0';
    }
    *path += n;
    return n;
}

static void replace(int *fd, int with, int keep) {
    if (*fd != keep) {
        int saved = errno;
        close(*fd);
        errno = saved;
    }
    *fd = with;
}

static int walk_dirs(int dir_fd, const char *path) {
    char name[NAME_MAX + 1];
    int fd = dir_fd;
    for (size_t n; (n = take_component(&path, name)) > 0 && fd >= 0;) {
        if (n > NAME_MAX || !strcmp(name, "..")) {
            replace(&fd, -1, dir_fd);
            return fail(n > NAME_MAX ? ENAMETOOLONG : EXDEV);
        }
        if (strcmp(name, ".") != 0)
            replace(&fd, open_one(fd, name, O_PATH | O_DIRECTORY, 0), dir_fd);
    }
    return fd == dir_fd ? open_one(dir_fd, ".", O_PATH | O_DIRECTORY, 0) : fd;
}

int tl_open_dir_below(int dir_fd, const char *path) {
    if (*path == '/' || *path == '\0')
        return fail(*path ? EXDEV : ENOENT);
    int fd = open_how(dir_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    return fd < 0 && is_missing() ? walk_dirs(dir_fd, path) : fd;
}

typedef struct walk {
    int root_fd, fd;         // fd: of `cur`; root_fd itself at the root
    char cur[PATH_MAX];      // without a leading slash; "" is the root
    char todo[2 * PATH_MAX]; // the rest of the path
    unsigned n_links;
} walk;

// `..` is taken from the text of the path walked so far: what the host calls the parent may have
// been moved away.
static int go_up(walk *w) {
    char *slash = strrchr(w->cur, '/');
    *(slash ? slash : w->cur) = '\0';
    replace(&w->fd, *w->cur ? walk_dirs(w->root_fd, w->cur) : w->root_fd, w->root_fd);
    return w->fd < 0 ? -1 : 0;
}

// Puts the text of link `link_fd` before `rest`.
static int follow(walk *w, int link_fd, const char *rest) {
    char target[PATH_MAX];
    struct statfs about;
    ssize_t n = readlinkat(link_fd, "", target, sizeof target - 1);
    if (n <= 0)
        return n < 0 ? -1 : fail(ENOENT);
    if (fstatfs(link_fd, &about) != 0 || about.f_type == PROC_MAGIC || ++w->n_links > MAX_LINKS)
        return fail(ELOOP);
    size_t n_rest = strlen(rest);
    if ((size_t)n + n_rest + 1 > sizeof w->todo)
        return fail(ENAMETOOLONG);
    memmove(w->todo + n, rest, n_rest + 1);
    memcpy(w->todo, target, (size_t)n);
    if (*target == '/') {
        *w->cur = '\0';
        replace(&w->fd, w->root_fd, w->root_fd);
    }
    return 0;
}

static int go_down(walk *w, int fd, const char *name) {
    size_t n = strlen(w->cur);
    if (n + strlen(name) + 2 > sizeof w->cur) {
        close(fd);
        return fail(ENAMETOOLONG);
    }
    if (n > 0)
        w->cur[n++] = '/';
    memcpy(w->cur + n, name, strlen(name) + 1);
    replace(&w->fd, fd, w->root_fd);
    return 0;
}

// Goes on until the path is open (the descriptor) or wrong (-1).
static int walk_on(walk *w, int flags, uint32_t mode) {
    const char *at = w->todo;
    for (;;) {
        char name[NAME_MAX + 1];
        size_t n = take_component(&at, name);
        bool is_last = at[strspn(at, "/")] == '\0', wants_dir = *at == '/';
        if (n > NAME_MAX)
            return fail(ENAMETOOLONG);
        if (n == 0)
            return open_one(w->fd, ".", flags, mode);
        if (!strcmp(name, ".") || !strcmp(name, "..")) {
            if (name[1] == '.' && go_up(w) != 0)
                return -1;
            continue;
        }
        int fd = open_one(w->fd, name, O_PATH, 0);
        struct stat about;
        if (fd < 0 && errno == ENOENT && is_last && flags & O_CREAT)
            return open_one(w->fd, name, flags, mode);
        if (fd < 0 || fstat(fd, &about) != 0)
            return -1;
        if (S_ISLNK(about.st_mode) && !(is_last && !wants_dir && flags & O_NOFOLLOW)) {
            int status = follow(w, fd, at);
            int saved = errno;
            close(fd);
            errno = saved;
            if (status != 0)
                return -1;
            at = w->todo;
            continue;
        }
        // Opened anew by name. This fails if it has become a link since.
        if (is_last && !wants_dir) {
            close(fd);
            return open_one(w->fd, name, flags, mode);
        }
        if (!S_ISDIR(about.st_mode)) {
            close(fd);
            return fail(ENOTDIR);
        }
        if (go_down(w, fd, name) != 0)
            return -1;
    }
}

static int walk_in_root(int root_fd, const char *path, int flags, uint32_t mode) {
    walk w = {.root_fd = root_fd, .fd = root_fd};
    size_t n = strlen(path);
    if (n == 0)
        return fail(ENOENT);
    if (n >= PATH_MAX)
        return fail(ENAMETOOLONG);
    memcpy(w.todo, path, n + 1);
    int fd = walk_on(&w, flags, mode);
    replace(&w.fd, -1, root_fd);
    return fd;
}

int tl_open_in_root(int root_fd, const char *path, int flags, uint32_t mode) {
    int fd = open_how(root_fd, path, flags, mode, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
    return fd < 0 && is_missing() ? walk_in_root(root_fd, path, flags, mode) : fd;
}
