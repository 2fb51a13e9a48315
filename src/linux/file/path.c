// SPDX-License-Identifier: MIT
// The walk. Two rules keep it inside: a directory is opened without any link from a directory we
// hold (base/open_below.h), and `..` is never given to the host below --root but taken from the
// canonical path walked so far. A path is tried in one step first (its directory part holds no link
// and no `..`); only when that meets a link the slow walk starts over.
#include "linux/file/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/open_below.h"

typedef struct walker {
    const tl_path_env *env;
    uint32_t walk;
    char cur[TL_PATH_MAX]; // canonical directory reached so far
    size_t n_cur;
    size_t n_start; // BENEATH and IN_ROOT: shortest `cur` allowed
    int fd;         // O_PATH of cur; -1 in the virtual tree
    bool owns_fd;
    int n_links;
    char todo[2 * TL_PATH_MAX]; // the rest of the path
    size_t at;
} walker;

static bool starts_with_component(const char *path, const char *prefix) {
    size_t n = strlen(prefix);
    return strncmp(path, prefix, n) == 0 && (path[n] == 0 || path[n] == '/');
}

bool tl_path_is_virtual(const char *path) {
    static const char *const trees[] = {"/proc", "/sys", "/dev"};
    for (size_t i = 0; i < TL_COUNT_OF(trees); i++)
        if (starts_with_component(path, trees[i]))
            return true;
    return false;
}

static bool is_one_of(const char *path, const char *const names[]) {
    while (*names && strcmp(path, *names) != 0)
        names++;
    return *names != NULL;
}

// Files of /etc that would tell one host from another: absent, whatever the host has.
static bool is_host_setting(const char *path) {
    static const char *const names[] = {"/etc/localtime", "/etc/timezone", NULL};
    return strncmp(path, "/etc/ld.so.", 11) == 0 || is_one_of(path, names);
}

// Files of /etc that the personality writes itself, because its users and names are not the host's.
static bool is_replaced(const char *path) {
    static const char *const names[] = {"/etc/passwd", "/etc/group", "/etc/hostname", "/etc/hosts", "/etc/nsswitch.conf", NULL};
    return strncmp(path, "/etc/", 5) == 0 && (is_host_setting(path) || is_one_of(path, names));
}

static bool is_library_path(const char *path) {
    return starts_with_component(path, "/lib") || starts_with_component(path, "/lib64") || starts_with_component(path, "/usr/lib") ||
           strncmp(path, "/etc/ld.so.", 11) == 0;
}

static bool is_virtual(const walker *w, const char *path) {
    return w->env->lookup && (tl_path_is_virtual(path) || (!w->env->is_confined && is_replaced(path)));
}

static void set_fd(walker *w, int fd, bool owns) {
    if (w->owns_fd)
        close(w->fd);
    w->fd = fd;
    w->owns_fd = owns;
}

static const char *below_root(const char *path) { return path[1] ? path + 1 : "."; }

// ---- Folders under fixed names.

// Compares a canonical path with the alias' name by whole components. Returns the bytes they have
// in common and the number of components of the name that remain. At least two components must
// match.
static size_t common(const tl_path_alias *alias, const char *path, int *ret_left) {
    size_t n = 0;
    int n_same = 0, n_all = 0;
    for (size_t i = 1; alias->host; i++) {
        if (alias->name[i] && alias->name[i] != '/')
            continue;
        n_all++;
        if (n_same == n_all - 1 && strncmp(path, alias->name, i) == 0 && (path[i] == 0 || path[i] == '/')) {
            n = i;
            n_same++;
        }
        if (!alias->name[i])
            break;
    }
    *ret_left = n_all - n_same;
    return n_same >= 2 ? n : 0;
}

static const tl_path_alias *alias_of(const tl_path_env *env, const char *path, size_t *ret_n, int *ret_left) {
    if (!starts_with_component(path, TL_PATH_ALIASES))
        return NULL;
    for (int i = 0; i < TL_N_ALIASES; i++) {
        *ret_n = common(&env->aliases[i], path, ret_left);
        if (*ret_n)
            return &env->aliases[i];
    }
    return NULL;
}

static bool has_aliases(const tl_path_env *env) {
    for (int i = 0; i < TL_N_ALIASES; i++)
        if (env->aliases[i].host)
            return true;
    return false;
}

// The host's path so many folders above the alias'.
static size_t n_host(const tl_path_alias *alias, int n_up) {
    size_t n = strlen(alias->host);
    for (; n_up > 0; n_up--) {
        while (n > 1 && alias->host[n - 1] != '/')
            n--;
        n -= n > 1;
    }
    return n;
}

// A descriptor of that folder, or -1 with errno. The host need not let us search from its root, but
// below --root nothing else is safe.
static int open_above(const tl_path_env *env, const tl_path_alias *alias, int n_up) {
    if (env->is_confined) {
        char path[TL_PATH_MAX];
        size_t n = n_host(alias, n_up);
        memcpy(path, alias->host, n);
        path[n] = 0;
        return tl_open_dir_below(env->root_fd, below_root(path));
    }
    int fd = openat(alias->fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (; fd >= 0 && n_up > 0; n_up--) {
        int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = up;
    }
    return fd;
}

// True when TL_PATH_ALIASES is the personality's folder because the host has none.
static bool is_made_up(const tl_path_env *env) {
    struct stat st;
    return has_aliases(env) && fstatat(env->root_fd, below_root(TL_PATH_ALIASES), &st, AT_SYMLINK_NOFOLLOW) < 0;
}

bool tl_path_set_alias(tl_path_env *env, int which, const char *guest_path, int fd) {
    tl_path_alias *alias = &env->aliases[which];
    size_t n;
    int n_up;
    const tl_path_alias *other = alias_of(env, guest_path, &n, &n_up);
    size_t n_above = other ? n_host(other, n_up) : 0, n_rest = strlen(guest_path + (other ? n : 0));
    char *host = malloc(n_above + n_rest + 1);
    if (!host) {
        close(fd);
        return false;
    }
    if (other && n_above > 1) // the host's path of a folder that is named after another alias
        memcpy(host, other->host, n_above);
    else
        n_above = 0;
    memcpy(host + n_above, guest_path + (other ? n : 0), n_rest + 1);
    if (!host[0])
        memcpy(host, "/", 2);
    *alias = (tl_path_alias){.host = host, .fd = fd};
    if (which == TL_ALIAS_CWD)
        snprintf(alias->name, sizeof alias->name, TL_PATH_ALIASES "/8/7/6/5/4/3/2/1/cwd");
    else if (which == TL_ALIAS_PROGRAM)
        snprintf(alias->name, sizeof alias->name, TL_PATH_ALIASES "/2/1/p");
    else
        snprintf(alias->name, sizeof alias->name, TL_PATH_ALIASES "/p%d/2/1/p", which - TL_ALIAS_PROGRAM);
    return true;
}

void tl_path_aliases_done(tl_path_env *env) {
    for (int i = 0; i < TL_N_ALIASES; i++)
        if (env->aliases[i].host) {
            close(env->aliases[i].fd);
            free(env->aliases[i].host);
            env->aliases[i].host = NULL;
        }
}

// ---- The walk.

// Stands on the directory of canonical path w->cur.
static int64_t reopen(walker *w) {
    if (w->n_cur == 1) {
        set_fd(w, w->env->root_fd, false);
        return 0;
    }
    if (is_virtual(w, w->cur)) {
        set_fd(w, -1, false);
        return 0;
    }
    size_t n;
    int n_up;
    const tl_path_alias *alias = alias_of(w->env, w->cur, &n, &n_up);
    if (!alias && strcmp(w->cur, TL_PATH_ALIASES) == 0 && is_made_up(w->env)) {
        set_fd(w, w->env->root_fd, false);
        return 0;
    }
    int base = alias ? open_above(w->env, alias, n_up) : w->env->root_fd, fd = base;
    if (base >= 0 && !(alias && !w->cur[n]))
        fd = tl_open_dir_below(base, alias ? w->cur + n + 1 : below_root(w->cur));
    int64_t error = fd < 0 ? -errno : 0;
    if (alias && base >= 0 && base != fd)
        close(base);
    if (!error)
        set_fd(w, fd, true);
    return error;
}

static int64_t go_root(walker *w) {
    w->n_cur = w->n_start > 1 && w->walk & TL_WALK_IN_ROOT ? w->n_start : 1;
    if (w->n_cur == 1)
        w->cur[0] = '/';
    w->cur[w->n_cur] = 0;
    return reopen(w);
}

static int64_t go_up(walker *w) {
    if (w->n_cur <= w->n_start && w->walk & (TL_WALK_BENEATH | TL_WALK_IN_ROOT))
        return w->walk & TL_WALK_BENEATH ? -EXDEV : 0;
    if (w->n_cur == 1)
        return 0;
    bool was_virtual = is_virtual(w, w->cur);
    size_t n = w->n_cur, n_alias;
    int n_up;
    const tl_path_alias *alias = alias_of(w->env, w->cur, &n_alias, &n_up);
    while (n > 1 && w->cur[n - 1] != '/')
        n--;
    w->n_cur = n > 1 ? n - 1 : 1;
    if (alias && w->n_cur < sizeof TL_PATH_ALIASES) { // above the last fixed name
        w->n_cur = n_host(alias, n_up + 1);
        memcpy(w->cur, alias->host, w->n_cur);
    }
    w->cur[w->n_cur] = 0;
    // The host resolves it, because it need not let us search from its root.
    if (!w->env->is_confined && !was_virtual && w->n_cur > 1) {
        int fd = openat(w->fd, "..", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return -errno;
        set_fd(w, fd, true);
        return 0;
    }
    return reopen(w);
}

// cur/name into `to`; false: too long.
static bool join(const char *cur, size_t n_cur, const char *name, size_t n_name, char *to, size_t *ret_n) {
    size_t slash = n_cur > 1;
    if (n_cur + slash + n_name >= TL_PATH_MAX)
        return false;
    memmove(to, cur, n_cur);
    if (slash)
        to[n_cur] = '/';
    memcpy(to + n_cur + slash, name, n_name);
    *ret_n = n_cur + slash + n_name;
    to[*ret_n] = 0;
    return true;
}

// Puts a link's text before what is left, and goes to the root if it is absolute.
static int64_t follow(walker *w, const char *target) {
    size_t n = strlen(target), rest = strlen(w->todo + w->at);
    if (++w->n_links > TL_MAX_SYMLINKS || w->walk & TL_WALK_NO_SYMLINKS)
        return -ELOOP;
    if (n == 0)
        return -ENOENT;
    if (n + 1 + rest >= sizeof w->todo)
        return -ENAMETOOLONG;
    memmove(w->todo + n + 1, w->todo + w->at, rest + 1);
    memcpy(w->todo, target, n);
    w->todo[n] = '/';
    if (rest == 0) // the link was the last component: its own trailing slash, if any, decides
        w->todo[n] = 0;
    w->at = 0;
    if (target[0] != '/')
        return 0;
    return w->walk & TL_WALK_BENEATH ? -EXDEV : go_root(w);
}

static void place_at(walker *w, tl_place *place, tl_tree tree, tl_last last, const char *name, size_t n_name) {
    place->tree = tree;
    place->last = last;
    memcpy(place->name, name, n_name);
    place->name[n_name] = 0;
    if (tree == TL_TREE_HOST) {
        place->dir_fd = w->fd;
        place->owns_dir_fd = w->owns_fd;
        w->owns_fd = false;
    }
}

static int64_t stat_place(tl_place *place) {
    if (fstatat(place->dir_fd, place->name, &place->host, AT_SYMLINK_NOFOLLOW) == 0) {
        place->exists = true;
        place->mode = place->host.st_mode;
        return 0;
    }
    place->exists = false;
    return errno == ENOENT ? 0 : -errno;
}

// The path ended at a directory itself: "/", ".", "..", or nothing.
static int64_t end_at_directory(walker *w, tl_last last, tl_place *place) {
    memcpy(place->path, w->cur, w->n_cur + 1);
    place->wants_dir = true;
    if (w->fd < 0) {
        place_at(w, place, TL_TREE_VIRTUAL, last, ".", 1);
        char target[TL_PATH_MAX];
        place->exists = true;
        return w->env->lookup(w->env->ctx, place->path, &place->mode, target, &place->is_magic);
    }
    place_at(w, place, TL_TREE_HOST, last, ".", 1);
    return stat_place(place);
}

// True when the folder has this name only because of an alias.
static bool is_fixed_name(const walker *w, const char *path) {
    size_t n;
    int n_up;
    if (!starts_with_component(path, TL_PATH_ALIASES))
        return false;
    if (strcmp(path, TL_PATH_ALIASES) == 0)
        return is_made_up(w->env);
    return alias_of(w->env, path, &n, &n_up) && !path[n];
}

// One name in cur. Sets *ret_done when it was the last component and `place` is filled.
static int64_t step(walker *w, const char *name, size_t n_name, bool is_last, tl_place *place, bool *ret_done) {
    char path[TL_PATH_MAX], target[TL_PATH_MAX];
    size_t n_path;
    if (!join(w->cur, w->n_cur, name, n_name, path, &n_path))
        return -ENAMETOOLONG;
    bool virtual_node = is_virtual(w, path), is_magic = false;
    uint32_t mode = 0;
    int64_t error = 0;
    if (is_fixed_name(w, path)) {
        memcpy(w->cur, path, n_path + 1);
        w->n_cur = n_path;
        error = reopen(w);
        *ret_done = is_last;
        return error || !is_last ? error : end_at_directory(w, TL_LAST_ROOT, place);
    }
    if (strcmp(w->cur, TL_PATH_ALIASES) == 0 && is_made_up(w->env))
        return -ENOENT;
    char text[TL_NAME_MAX + 1];
    memcpy(text, name, n_name);
    text[n_name] = 0;

    if (is_last)
        place->wants_dir |= name[n_name] == '/';
    bool follows = !is_last || w->walk & TL_WALK_FOLLOW || (place->wants_dir && !(w->walk & TL_WALK_PARENT));
    if (virtual_node) {
        error = w->env->lookup(w->env->ctx, path, &mode, target, &is_magic);
    } else if (is_last) {
        ssize_t n = follows ? readlinkat(w->fd, text, target, sizeof target - 1) : -1;
        if (n >= 0) {
            target[n] = 0;
            mode = S_IFLNK;
        }
    } else {
        int fd = openat(w->fd, text, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;
        if (fd < 0)
            return -errno;
        if (fstat(fd, &st) < 0) {
            error = -errno;
            close(fd);
            return error;
        }
        mode = st.st_mode;
        if (S_ISDIR(mode)) {
            set_fd(w, fd, true);
        } else {
            ssize_t n = S_ISLNK(mode) ? readlinkat(fd, "", target, sizeof target - 1) : 0;
            error = n < 0 ? -errno : 0;
            close(fd);
            if (error)
                return error;
            target[n] = 0;
        }
    }

    if (error && !(is_last && error == -ENOENT))
        return error;
    if (!error && S_ISLNK(mode) && follows && !is_magic)
        return follow(w, target);
    if (!is_last) {
        if (!S_ISDIR(mode))
            return -ENOTDIR;
        if (virtual_node)
            set_fd(w, -1, false);
        memcpy(w->cur, path, n_path + 1);
        w->n_cur = n_path;
        return 0;
    }
    *ret_done = true;
    memcpy(place->path, path, n_path + 1);
    if (virtual_node) {
        place_at(w, place, TL_TREE_VIRTUAL, TL_LAST_NAME, name, n_name);
        place->exists = error == 0;
        place->mode = mode;
        place->is_magic = is_magic && follows;
        return 0;
    }
    place_at(w, place, TL_TREE_HOST, TL_LAST_NAME, name, n_name);
    return stat_place(place);
}

static int64_t walk_slowly(walker *w, tl_place *place) {
    tl_last last = TL_LAST_ROOT;
    for (;;) {
        while (w->todo[w->at] == '/')
            w->at++;
        const char *name = w->todo + w->at;
        size_t n = strcspn(name, "/");
        if (n == 0)
            return end_at_directory(w, last, place);
        if (n > TL_NAME_MAX)
            return -ENAMETOOLONG;
        w->at += n;
        bool is_last = w->todo[w->at + strspn(w->todo + w->at, "/")] == 0;
        int64_t error = 0;
        bool is_done = false;
        if (n == 1 && name[0] == '.') {
            last = TL_LAST_DOT;
        } else if (n == 2 && name[0] == '.' && name[1] == '.') {
            last = TL_LAST_DOTDOT;
            error = go_up(w);
        } else {
            last = TL_LAST_NAME;
            char copy[TL_NAME_MAX + 2]; // follow() moves the text under us
            memcpy(copy, name, n);
            copy[n] = w->todo[w->at];
            if (is_last)
                w->at += strlen(w->todo + w->at);
            error = step(w, copy, n, is_last, place, &is_done);
        }
        if (error || is_done)
            return error;
    }
}

// The common case in one step; 1: start over slowly.
static int64_t walk_at_once(walker *w, tl_place *place) {
    const char *path = w->todo + w->at;
    size_t n = strlen(path), slash = 0, begin = 0;
    bool dots = false;
    for (size_t i = 0; i <= n; i++) {
        if (i < n && path[i] != '/')
            continue;
        size_t length = i - begin;
        if (length > TL_NAME_MAX)
            return -ENAMETOOLONG;
        dots |= length == 0 || (path[begin] == '.' && (length == 1 || (length == 2 && path[begin + 1] == '.')));
        if (i < n)
            slash = i;
        begin = i + 1;
    }
    if (n == 0 || dots || w->fd < 0 || w->walk & ~(uint32_t)(TL_WALK_FOLLOW | TL_WALK_READ | TL_WALK_EMPTY | TL_WALK_PARENT))
        return 1;
    const char *name = slash ? path + slash + 1 : path;
    if (!join(w->cur, w->n_cur, path, n, place->path, &n))
        return -ENAMETOOLONG;
    if (is_virtual(w, place->path))
        return 1;
    size_t n_alias;
    int n_up;
    if (starts_with_component(place->path, TL_PATH_ALIASES) && (!alias_of(w->env, w->cur, &n_alias, &n_up) || n_up > 0))
        return 1;
    int fd = w->fd;
    if (slash) {
        char dir[TL_PATH_MAX];
        memcpy(dir, path, slash);
        dir[slash] = 0;
        fd = tl_open_dir_below(w->fd, dir);
        if (fd < 0) // a link: ELOOP; a host whose mounts forbid the shortcut: EXDEV
            return errno == ELOOP || errno == EXDEV || errno == ENOTDIR ? 1 : -errno;
    }
    place->tree = TL_TREE_HOST;
    place->last = TL_LAST_NAME;
    place->dir_fd = fd;
    place->owns_dir_fd = slash != 0;
    memcpy(place->name, name, strlen(name) + 1);
    int64_t error = stat_place(place);
    if (!error && place->exists && S_ISLNK(place->mode) && w->walk & TL_WALK_FOLLOW) {
        tl_place_done(place);
        return 1;
    }
    return error;
}

// An existing file of the sysroot by absolute guest path.
static int64_t walk_sysroot(const tl_path_env *env, const char *path, uint32_t walk, tl_place *place) {
    size_t n = strlen(path);
    if (n >= TL_PATH_MAX)
        return -ENAMETOOLONG;
    int fd = tl_open_in_root(env->sysroot_fd, path, O_PATH | (walk & TL_WALK_FOLLOW ? 0 : O_NOFOLLOW), 0);
    if (fd < 0)
        return -errno;
    int64_t error = fstat(fd, &place->host) < 0 ? -errno : 0;
    close(fd);
    if (error)
        return error;
    place->tree = TL_TREE_SYSROOT;
    place->exists = true;
    place->mode = place->host.st_mode;
    place->wants_dir = n > 1 && path[n - 1] == '/';
    // Canonical as far as the text goes.
    size_t at = 0, out = 0;
    while (path[at]) {
        at += strspn(path + at, "/");
        size_t length = strcspn(path + at, "/");
        if (length == 2 && path[at] == '.' && path[at + 1] == '.') {
            while (out > 0 && place->path[out - 1] != '/')
                out--;
            out -= out > 0;
        } else if (length > 0 && !(length == 1 && path[at] == '.')) {
            place->path[out++] = '/';
            memcpy(place->path + out, path + at, length);
            out += length;
        }
        at += length;
    }
    if (out == 0)
        place->path[out++] = '/';
    place->path[out] = 0;
    const char *name = strrchr(place->path, '/') + 1;
    if (strlen(name) > TL_NAME_MAX)
        return -ENAMETOOLONG;
    strcpy(place->name, *name ? name : ".");
    return 0;
}

static int64_t walk_tree(const tl_path_env *env, const tl_dir *from, const char *path, uint32_t walk, tl_place *place) {
    walker w = {.env = env, .walk = walk, .fd = -1, .n_start = 1};
    int64_t error = 0;
    size_t n = strlen(path);
    memcpy(w.todo, path, n + 1);
    if (from) {
        w.n_cur = strlen(from->path);
        memcpy(w.cur, from->path, w.n_cur + 1);
        if (walk & (TL_WALK_BENEATH | TL_WALK_IN_ROOT))
            w.n_start = w.n_cur;
    }
    if (path[0] == '/' && walk & TL_WALK_BENEATH)
        return -EXDEV;
    if (from && path[0] == '/' && walk & TL_WALK_IN_ROOT) {
        w.at = strspn(path, "/");
    } else if (path[0] == '/') {
        w.at = strspn(path, "/");
        w.cur[0] = '/';
        w.cur[1] = 0;
        w.n_cur = 1;
        from = NULL;
    }
    if (!from)
        w.fd = env->root_fd;
    else if (from->tree == TL_TREE_HOST)
        w.fd = from->fd;
    else if (from->tree == TL_TREE_SYSROOT) // not in the sysroot, so by name on the host
        error = reopen(&w);
    if (!error) {
        error = walk_at_once(&w, place);
        if (error == 1)
            error = walk_slowly(&w, place);
    }
    set_fd(&w, -1, false);
    if (error)
        tl_place_done(place);
    else if (place->wants_dir && place->exists && !S_ISDIR(place->mode) && !place->is_magic && !(walk & TL_WALK_PARENT)) {
        error = -ENOTDIR;
        tl_place_done(place);
    }
    return error;
}

int64_t tl_path_walk(const tl_path_env *env, const tl_dir *from, const char *path, uint32_t walk, tl_place *ret_place) {
    *ret_place = (tl_place){.dir_fd = -1};
    size_t n = strlen(path);
    if (n >= TL_PATH_MAX)
        return -ENAMETOOLONG;
    if (n == 0 && !(walk & TL_WALK_EMPTY))
        return -ENOENT;

    const char *absolute = path[0] == '/' ? path + strspn(path, "/") - 1 : NULL;
    char joined[2 * TL_PATH_MAX];
    if (!absolute && from && from->tree == TL_TREE_SYSROOT) {
        size_t n_from = strlen(from->path);
        memcpy(joined, from->path, n_from);
        joined[n_from] = '/';
        memcpy(joined + n_from + 1, path, n + 1);
        absolute = joined;
    }
    bool may_read = absolute && walk & TL_WALK_READ && !(walk & (TL_WALK_BENEATH | TL_WALK_IN_ROOT | TL_WALK_NO_SYMLINKS));
    bool may_sysroot = may_read && env->sysroot_fd >= 0 && (absolute == joined || is_library_path(absolute));
    if (may_sysroot && !env->is_confined && walk_sysroot(env, absolute, walk, ret_place) == 0)
        return ret_place->wants_dir && !S_ISDIR(ret_place->mode) ? -ENOTDIR : 0;
    *ret_place = (tl_place){.dir_fd = -1};
    if (absolute && !env->is_confined && is_host_setting(absolute))
        return -ENOENT;

    int64_t error = walk_tree(env, from, path, walk, ret_place);
    if (may_sysroot && env->is_confined && (error == -ENOENT || (error == 0 && !ret_place->exists))) {
        tl_place other = {.dir_fd = -1};
        if (walk_sysroot(env, absolute, walk, &other) == 0) {
            if (!error)
                tl_place_done(ret_place);
            *ret_place = other;
            return other.wants_dir && !S_ISDIR(other.mode) ? -ENOTDIR : 0;
        }
    }
    return error;
}

void tl_place_done(tl_place *place) {
    if (place->owns_dir_fd)
        close(place->dir_fd);
    place->owns_dir_fd = false;
    place->dir_fd = -1;
}

int64_t tl_place_open(const tl_path_env *env, const tl_place *place, int host_flags, uint32_t mode) {
    int fd;
    do {
        if (place->tree == TL_TREE_SYSROOT)
            fd = tl_open_in_root(env->sysroot_fd, place->path, host_flags & ~O_NOFOLLOW, 0);
        else
            fd = openat(place->dir_fd, place->name, host_flags | O_NOFOLLOW | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
}

int64_t tl_place_readlink(const tl_path_env *env, const tl_place *place, char *to, size_t n) {
    if (place->tree == TL_TREE_HOST) {
        ssize_t got = readlinkat(place->dir_fd, place->name, to, n);
        return got < 0 ? -errno : got;
    }
    int fd = tl_open_in_root(env->sysroot_fd, place->path, O_PATH | O_NOFOLLOW, 0);
    if (fd < 0)
        return -errno;
    ssize_t got = readlinkat(fd, "", to, n);
    int64_t result = got < 0 ? -errno : got;
    close(fd);
    return result;
}

tl_dir *tl_dir_of_fd(tl_dirs *dirs, tl_tree tree, int fd, const char *path) {
    tl_dir *dir = calloc(1, sizeof *dir);
    char *copy = strdup(path);
    if (!dir || !copy) {
        free(dir);
        free(copy);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    *dir = (tl_dir){.n_refs = 1, .tree = tree, .fd = fd, .path = copy, .next = dirs->first};
    if (dirs->first)
        dirs->first->previous = dir;
    dirs->first = dir;
    return dir;
}

tl_dir *tl_dir_new(tl_dirs *dirs, const tl_path_env *env, const tl_place *place, int64_t *ret_error) {
    int64_t fd = -1;
    if (place->tree != TL_TREE_VIRTUAL) {
        fd = tl_place_open(env, place, O_PATH | O_DIRECTORY, 0);
        if (fd < 0) {
            *ret_error = fd;
            return NULL;
        }
    }
    tl_dir *dir = tl_dir_of_fd(dirs, place->tree, (int)fd, place->path);
    if (!dir)
        *ret_error = -ENOMEM;
    return dir;
}

tl_dir *tl_dir_of_host_cwd(tl_dirs *dirs, const tl_path_env *env) {
    char path[TL_PATH_MAX];
    const tl_path_alias *alias = &env->aliases[TL_ALIAS_CWD];
    if (alias->host)
        return tl_dir_of_fd(dirs, TL_TREE_HOST, openat(alias->fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), alias->name);
    if (env->is_confined || !getcwd(path, sizeof path) || path[0] != '/' || (env->lookup && tl_path_is_virtual(path)))
        return tl_dir_of_fd(dirs, TL_TREE_HOST, dup(env->root_fd), "/");
    return tl_dir_of_fd(dirs, TL_TREE_HOST, open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), path);
}

tl_dir *tl_dir_ref(tl_dir *dir) {
    dir->n_refs++;
    return dir;
}

void tl_dir_unref(tl_dirs *dirs, tl_dir *dir) {
    if (!dir || --dir->n_refs > 0)
        return;
    if (dir->previous)
        dir->previous->next = dir->next;
    else
        dirs->first = dir->next;
    if (dir->next)
        dir->next->previous = dir->previous;
    if (dir->fd >= 0)
        close(dir->fd);
    free(dir->path);
    free(dir);
}

void tl_dirs_renamed(tl_dirs *dirs, const char *old_path, const char *new_path) {
    size_t n_old = strlen(old_path), n_new = strlen(new_path);
    for (tl_dir *dir = dirs->first; dir; dir = dir->next) {
        if (!starts_with_component(dir->path, old_path))
            continue;
        const char *rest = dir->path + n_old;
        size_t n_rest = strlen(rest);
        if (n_new + n_rest >= TL_PATH_MAX)
            continue; // stays reachable through its descriptor
        char *path = malloc(n_new + n_rest + 1);
        if (!path)
            continue;
        memcpy(path, new_path, n_new);
        memcpy(path + n_new, rest, n_rest + 1);
        free(dir->path);
        dir->path = path;
    }
}

int tl_path_open_root(const char *host_path) { return open(host_path, O_PATH | O_DIRECTORY | O_CLOEXEC); }
