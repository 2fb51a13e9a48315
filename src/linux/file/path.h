// SPDX-License-Identifier: MIT
// Names of guest paths and the files that they mean. The walk goes component by component over host
// directories, which are opened without following links. Every rule below therefore holds for any
// links and any `..` in a path. A path without links costs two host calls.
//
//   /proc /sys /dev                           the personality's virtual tree, never the host's
//   /etc/passwd group hostname hosts ...      the personality's as well, without --root
//   /lib /lib64 /usr/lib                      SYSROOT's if it has the file, else the host's
//   /etc/ld.so.* /etc/localtime /etc/timezone SYSROOT's or nothing, without --root
//   /tally/2/1/p  /tally/8/7/6/5/4/3/2/1/cwd  folders of the first program and of the start
//   everything else                           the host's; under --root DIR, DIR is "/"
//
// SYSROOT serves absolute paths that are only read. SYSROOT's settings in /etc hide the host's. See
// tl_path_alias for /tally. Nothing outside DIR can be named under --root. Files of DIR win over
// SYSROOT, which then serves only files that DIR lacks.
#ifndef TL_OS_PATH_H
#define TL_OS_PATH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/status.h"
#include "linux/abi.h"

typedef enum tl_tree {
    TL_TREE_HOST,    // dir_fd and name say where
    TL_TREE_SYSROOT, // read-only; path, resolved by the host inside the sysroot
    TL_TREE_VIRTUAL, // path
} tl_tree;

// The part of the tree that does not exist on the host. Returns 0 with the node's st_mode and, for
// a symbolic link, its text (NUL-terminated) in `target` of TL_PATH_MAX bytes; or a negative error
// number. A link whose text is not a path (pipe:[4]) sets *ret_is_magic.
typedef int64_t tl_virtual_lookup_fn(void *ctx, const char *path, uint32_t *ret_mode, char *target, bool *ret_is_magic);

// A folder of the host under a fixed name, because programs must not depend on its place. Each
// folder above it is the next component of the name, as far as `name` has components. `..`
// therefore leads to the same place, taken from the text or from the folder. Folders further up
// keep their own names.
typedef struct tl_path_alias {
    char name[40]; // "/tally/2/1/p"; its first component is TL_PATH_ALIASES
    char *host;    // canonical path below env's root; NULL: not used
    int fd;        // O_PATH of the folder
} tl_path_alias;
// An empty folder unless the host has one.
#define TL_PATH_ALIASES "/tally"
// Each context of os.h has a program of its own.
enum { TL_ALIAS_CWD, TL_ALIAS_PROGRAM, TL_N_ALIASES = TL_ALIAS_PROGRAM + 32 };

typedef struct tl_path_env {
    int root_fd;                  // O_PATH: the host's "/", or --root
    int sysroot_fd;               // O_PATH, or -1: none
    bool is_confined;             // --root
    tl_virtual_lookup_fn *lookup; // may be NULL: no virtual tree
    void *ctx;
    // The folder tally was started in, and those of the first programs.
    tl_path_alias aliases[TL_N_ALIASES];
} tl_path_env;

// A directory that relative paths start from: working directories and open directories share these.
typedef struct tl_dir {
    uint32_t n_refs;
    tl_tree tree;
    int fd;                         // of the host, O_PATH or better; -1 in the virtual tree
    char *path;                     // canonical guest path; follows renames made by the guest
    struct tl_dir *next, *previous; // all of them, see tl_dirs
} tl_dir;

typedef struct tl_dirs {
    tl_dir *first;
} tl_dirs;

typedef enum tl_walk {
    TL_WALK_FOLLOW = 1,      // a link as last component is followed
    TL_WALK_READ = 2,        // the sysroot may answer
    TL_WALK_EMPTY = 4,       // "" means the start itself (AT_EMPTY_PATH)
    TL_WALK_NO_SYMLINKS = 8, // openat2's RESOLVE_*
    TL_WALK_BENEATH = 16,
    TL_WALK_IN_ROOT = 32,
    // For calls that make or remove the name itself. A link is not followed even before a trailing
    // slash.
    TL_WALK_PARENT = 64,
} tl_walk;

typedef enum tl_last { TL_LAST_NAME, TL_LAST_DOT, TL_LAST_DOTDOT, TL_LAST_ROOT } tl_last;

typedef struct tl_place { // where a path leads; what it names may not exist
    tl_tree tree;
    // The last part of the path as given. Unless it is TL_LAST_NAME, `name` is "." in the directory
    // itself.
    tl_last last;
    bool exists; // `mode` (and `host`, unless virtual) are valid
    // The path ended in a slash, or at a directory itself; checked by the walk unless
    // TL_WALK_PARENT.
    bool wants_dir;
    bool is_magic; // a followed link of /proc that leads to an open file, not to a path
    bool owns_dir_fd;
    int dir_fd; // TL_TREE_HOST: directory that holds `name`
    uint32_t mode;
    struct stat host; // host numbers
    char name[TL_NAME_MAX + 1];
    char path[TL_PATH_MAX]; // canonical, as the guest sees it
} tl_place;

// Walks `path` from `from` (NULL when the path is absolute). 0 with a place that tl_place_done must
// release, or a negative error number; a missing last component is no error. With TL_WALK_FOLLOW
// the place is never a symbolic link, except where `is_magic`.
TL_MUST_CHECK int64_t tl_path_walk(const tl_path_env *env, const tl_dir *from, const char *path, uint32_t walk, tl_place *ret_place);
void tl_place_done(tl_place *place);

// Host operations on a place of the host or the sysroot.
// Returns a descriptor or a negative error number.
int64_t tl_place_open(const tl_path_env *env, const tl_place *place, int host_flags, uint32_t mode);
// Returns the number of bytes, which are not terminated.
int64_t tl_place_readlink(const tl_path_env *env, const tl_place *place, char *to, size_t n);

// Makes a starting point of a place that is a directory. NULL with *ret_error. The host's own
// working directory: tl_dir_of_host_cwd.
tl_dir *tl_dir_new(tl_dirs *dirs, const tl_path_env *env, const tl_place *place, int64_t *ret_error);
// Takes fd, also when it fails. NULL: no memory.
tl_dir *tl_dir_of_fd(tl_dirs *dirs, tl_tree tree, int fd, const char *path);
tl_dir *tl_dir_of_host_cwd(tl_dirs *dirs, const tl_path_env *env);
tl_dir *tl_dir_ref(tl_dir *dir);
void tl_dir_unref(tl_dirs *dirs, tl_dir *dir); // NULL is fine
// A directory moved, and its users follow.
void tl_dirs_renamed(tl_dirs *dirs, const char *old_path, const char *new_path);

// Gives the host's folder `guest_path` (canonical; fd is taken) a fixed name. false: no memory, and
// it keeps its own.
bool tl_path_set_alias(tl_path_env *env, int which, const char *guest_path, int fd);
void tl_path_aliases_done(tl_path_env *env);

// O_PATH descriptor of a directory of the host, closed on exec, or -1 with errno; the place for
// --root and --sysroot.
int tl_path_open_root(const char *host_path);

bool tl_path_is_virtual(const char *path); // of a canonical path: decided by its text alone

#endif
