// SPDX-License-Identifier: MIT
#include "linux/file/path.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/testing.h"
#include "base/testing_no_openat2.h"

// A tree in a fresh directory: "outside" beside "root" (what --root grants) and "sysroot".
typedef struct tree {
    char top[64];
    int top_fd;
    tl_path_env env;
    tl_dirs dirs;
    tl_dir *cwd;
} tree;

static void write_file(int at, const char *path, const char *text) {
    int fd = openat(at, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static tree *tree_new(bool is_confined) {
    tree *t = calloc(1, sizeof *t);
    assert_non_null(t);
    strcpy(t->top, "/tmp/tally-path-XXXXXX");
    assert_non_null(mkdtemp(t->top));
    t->top_fd = open(t->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    static const char *const dirs[] = {"outside", "root",        "root/a",      "root/a/b",    "root/lib",
                                       "sysroot", "sysroot/lib", "sysroot/etc", "root/outside"};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
        assert_int_equal(mkdirat(t->top_fd, dirs[i], 0755), 0);
    write_file(t->top_fd, "outside/secret", "secret");
    write_file(t->top_fd, "root/a/file", "file");
    write_file(t->top_fd, "root/a/b/deep", "deep");
    write_file(t->top_fd, "root/lib/own.so", "own");
    write_file(t->top_fd, "sysroot/lib/own.so", "sysroot");
    write_file(t->top_fd, "sysroot/lib/ld.so", "sysroot");
    write_file(t->top_fd, "sysroot/etc/passwd", "sysroot");
    static const char *const links[][2] = {
        {"file", "root/a/link"},
        {"../..", "root/a/up"},
        {"../../../../outside/secret", "root/a/relative"},
        {"/outside/secret", "root/a/absolute"},
        {"loop-b", "root/loop-a"},
        {"loop-a", "root/loop-b"},
        {"a/b", "root/short"},
        {"b/", "root/a/slash"},
        {"nowhere", "root/dangling"},
        {"/a/file", "root/a/b/rooted"},
        {"own.so", "sysroot/lib/linked.so"},
        {"/lib/ld.so", "sysroot/lib/rooted.so"},
        {"../../outside/secret", "sysroot/lib/escape.so"},
        {"/proc/self/cwd", "root/magic"},
    };
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        assert_int_equal(symlinkat(links[i][0], t->top_fd, links[i][1]), 0);
    char path[96];
    snprintf(path, sizeof path, "%s/root", t->top);
    t->env = (tl_path_env){.root_fd = tl_path_open_root(is_confined ? path : "/"), .is_confined = is_confined, .sysroot_fd = -1};
    assert_true(t->env.root_fd >= 0);
    if (is_confined)
        t->cwd = tl_dir_of_host_cwd(&t->dirs, &t->env);
    else
        t->cwd = tl_dir_of_fd(&t->dirs, TL_TREE_HOST, open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), path);
    assert_non_null(t->cwd);
    return t;
}

static void use_sysroot(tree *t) {
    char path[96];
    snprintf(path, sizeof path, "%s/sysroot", t->top);
    t->env.sysroot_fd = tl_path_open_root(path);
    assert_true(t->env.sysroot_fd >= 0);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static void tree_free(tree *t) {
    tl_dir_unref(&t->dirs, t->cwd);
    assert_null(t->dirs.first);
    close(t->env.root_fd);
    if (t->env.sysroot_fd >= 0)
        close(t->env.sysroot_fd);
    close(t->top_fd);
    nftw(t->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(t);
}

// The result of a walk: "PATH" with its contents for a regular file, or the error's name.
static const char *found(tree *t, const tl_dir *from, const char *path, uint32_t walk) {
    static char text[TL_PATH_MAX + 64];
    tl_place place;
    int64_t error = tl_path_walk(&t->env, from, path, walk, &place);
    if (error) {
        snprintf(text, sizeof text, "%s", strerrorname_np((int)-error));
        return text;
    }
    int n = snprintf(text, sizeof text, "%s", place.path);
    if (!place.exists) {
        snprintf(text + n, sizeof text - (size_t)n, " missing");
    } else if (S_ISREG(place.mode)) {
        char bytes[32] = "";
        int64_t fd = tl_place_open(&t->env, &place, O_RDONLY, 0);
        assert_true(fd >= 0);
        assert_true(read((int)fd, bytes, sizeof bytes - 1) >= 0);
        close((int)fd);
        snprintf(text + n, sizeof text - (size_t)n, " %s", bytes);
    } else if (S_ISLNK(place.mode)) {
        char target[64] = "";
        assert_true(tl_place_readlink(&t->env, &place, target, sizeof target - 1) >= 0);
        snprintf(text + n, sizeof text - (size_t)n, " -> %s", target);
    }
    tl_place_done(&place);
    return text;
}

static const char *follow(tree *t, const char *path) { return found(t, t->cwd, path, TL_WALK_FOLLOW); }

static void test_paths_lead_where_the_kernel_says(void **state) {
    (void)state;
    tree *t = tree_new(true);
    static const char *const cases[][2] = {
        {"/", "/"},
        {".", "/"},
        {"..", "/"},
        {"/../../..", "/"},
        {"a", "/a"},
        {"/a//b/", "/a/b"},
        {"a/./b/../file", "/a/file file"},
        {"a/file", "/a/file file"},
        {"a/link", "/a/file file"},
        {"short/deep", "/a/b/deep deep"},
        {"short/../file", "/a/file file"},
        {"a/slash/deep", "/a/b/deep deep"},
        {"a/slash", "/a/b"},
        {"a/b/rooted", "/a/file file"},
        {"a/up/a/file", "/a/file file"},
        {"new", "/new missing"},
        {"dangling", "/nowhere missing"},
        {"new/", "/new missing"},
        {"a/new", "/a/new missing"},
        {"short/new", "/a/b/new missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(follow(t, cases[i][0]), cases[i][1]);
    tree_free(t);
}

static void test_errors_are_the_kernels(void **state) {
    (void)state;
    tree *t = tree_new(true);
    static const char *const cases[][2] = {
        {"", "ENOENT"},      {"no/such", "ENOENT"}, {"a/file/x", "ENOTDIR"},  {"a/file/", "ENOTDIR"},   {"a/link/", "ENOTDIR"},
        {"loop-a", "ELOOP"}, {"loop-a/x", "ELOOP"}, {"a/file/..", "ENOTDIR"}, {"dangling/x", "ENOENT"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(follow(t, cases[i][0]), cases[i][1]);
    tree_free(t);
}

static void test_names_and_paths_have_their_limits(void **state) {
    (void)state;
    tree *t = tree_new(true);
    char name[TL_NAME_MAX + 2], path[TL_PATH_MAX + 8];
    memset(name, 'n', sizeof name);
    name[TL_NAME_MAX] = 0;
    tl_place place;
    assert_int_equal(tl_path_walk(&t->env, t->cwd, name, 0, &place), 0);
    assert_false(place.exists);
    tl_place_done(&place);
    name[TL_NAME_MAX] = 'n';
    name[TL_NAME_MAX + 1] = 0;
    assert_string_equal(follow(t, name), "ENAMETOOLONG");
    snprintf(path, sizeof path, "a/../%s/x", name);
    assert_string_equal(follow(t, path), "ENAMETOOLONG");
    for (size_t i = 0; i < sizeof path; i++) // "././././..."
        path[i] = i % 2 ? '/' : '.';
    path[TL_PATH_MAX - 1] = 0;
    assert_string_equal(follow(t, path), "/");
    path[TL_PATH_MAX - 1] = '/';
    path[TL_PATH_MAX] = 0;
    assert_string_equal(follow(t, path), "ENAMETOOLONG");
    tree_free(t);
}

static void test_nothing_outside_the_root_can_be_named(void **state) {
    (void)state;
    tree *t = tree_new(true);
    static const char *const cases[][2] = {
        {"../outside/secret", "/outside/secret missing"},
        {"/../outside/secret", "/outside/secret missing"},
        {"a/relative", "/outside/secret missing"},
        {"a/absolute", "/outside/secret missing"},
        {"a/../../outside/secret", "/outside/secret missing"},
        {"a/up/../outside/secret", "/outside/secret missing"},
        {"magic/outside", "ENOENT"},
        {"/proc/self/root", "ENOENT"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(follow(t, cases[i][0]), cases[i][1]);
    // A directory that moves out from under a held starting point does not let it out either.
    tl_place place;
    int64_t error;
    assert_int_equal(tl_path_walk(&t->env, t->cwd, "a/b", TL_WALK_FOLLOW, &place), 0);
    tl_dir *dir = tl_dir_new(&t->dirs, &t->env, &place, &error);
    assert_non_null(dir);
    tl_place_done(&place);
    assert_int_equal(renameat(t->top_fd, "root/a/b", t->top_fd, "outside/b"), 0);
    assert_string_equal(found(t, dir, "../secret", TL_WALK_FOLLOW), "/a/secret missing");
    assert_string_equal(found(t, dir, "../../../secret", TL_WALK_FOLLOW), "/secret missing");
    tl_dir_unref(&t->dirs, dir);
    tree_free(t);
}

static void test_the_last_link_is_followed_only_when_asked(void **state) {
    (void)state;
    tree *t = tree_new(true);
    assert_string_equal(found(t, t->cwd, "a/link", 0), "/a/link -> file");
    assert_string_equal(found(t, t->cwd, "short", 0), "/short -> a/b");
    assert_string_equal(found(t, t->cwd, "short/", 0), "/a/b");
    assert_string_equal(found(t, t->cwd, "short/", TL_WALK_PARENT), "/short -> a/b");
    assert_string_equal(found(t, t->cwd, "short/deep", 0), "/a/b/deep deep");
    assert_string_equal(found(t, t->cwd, "loop-a", 0), "/loop-a -> loop-b");
    assert_string_equal(found(t, t->cwd, "", TL_WALK_EMPTY), "/");
    assert_string_equal(found(t, t->cwd, "short/deep", TL_WALK_NO_SYMLINKS), "ELOOP");
    assert_string_equal(found(t, t->cwd, "/a", TL_WALK_BENEATH), "EXDEV");
    tree_free(t);
}

static void test_resolving_below_a_directory(void **state) {
    (void)state;
    tree *t = tree_new(true);
    tl_place place;
    int64_t error;
    assert_int_equal(tl_path_walk(&t->env, t->cwd, "a", TL_WALK_FOLLOW, &place), 0);
    tl_dir *a = tl_dir_new(&t->dirs, &t->env, &place, &error);
    tl_place_done(&place);
    assert_string_equal(found(t, a, "b/../file", TL_WALK_BENEATH), "/a/file file");
    assert_string_equal(found(t, a, "../a/file", TL_WALK_BENEATH), "EXDEV");
    assert_string_equal(found(t, a, "up/a", TL_WALK_BENEATH), "EXDEV");
    assert_string_equal(found(t, a, "b/rooted", TL_WALK_BENEATH | TL_WALK_FOLLOW), "EXDEV");
    assert_string_equal(found(t, a, "../../file", TL_WALK_IN_ROOT), "/a/file file");
    assert_string_equal(found(t, a, "/b/deep", TL_WALK_IN_ROOT), "/a/b/deep deep");
    // The path is /a/file, below a.
    assert_string_equal(found(t, a, "b/rooted", TL_WALK_IN_ROOT | TL_WALK_FOLLOW), "ENOENT");
    tl_dir_unref(&t->dirs, a);
    tree_free(t);
}

static void test_libraries_come_from_the_sysroot_when_it_has_them(void **state) {
    (void)state;
    tree *t = tree_new(false);
    use_sysroot(t);
    uint32_t reads = TL_WALK_FOLLOW | TL_WALK_READ;
    assert_string_equal(found(t, t->cwd, "/lib/ld.so", reads), "/lib/ld.so sysroot");
    // As in the kernel, x must exist.
    assert_string_equal(found(t, t->cwd, "//lib/./x/../ld.so", TL_WALK_READ), "ENOENT");
    assert_string_equal(found(t, t->cwd, "/lib/linked.so", reads), "/lib/linked.so sysroot");
    assert_string_equal(found(t, t->cwd, "/lib/rooted.so", reads), "/lib/rooted.so sysroot");
    bool is_merged = strcmp(follow(t, "/lib"), "/usr/lib") == 0;
    assert_string_equal(found(t, t->cwd, "/lib/ld.so", TL_WALK_FOLLOW), is_merged ? "/usr/lib/ld.so missing" : "/lib/ld.so missing");
    // A relative path is the host's.
    assert_string_equal(found(t, t->cwd, "lib/own.so", reads) + strlen(t->top) + strlen("/root"), "/lib/own.so own");
    assert_string_equal(found(t, t->cwd, "/etc/ld.so.cache", reads), "ENOENT"); // never the host's
    assert_string_equal(found(t, t->cwd, "/etc/localtime", reads), "ENOENT");
    assert_string_not_equal(found(t, t->cwd, "/lib/escape.so", reads), "/lib/escape.so secret");
    tree_free(t);
}

static void test_under_a_root_its_own_libraries_win(void **state) {
    (void)state;
    tree *t = tree_new(true);
    use_sysroot(t);
    uint32_t reads = TL_WALK_FOLLOW | TL_WALK_READ;
    assert_string_equal(found(t, t->cwd, "/lib/own.so", reads), "/lib/own.so own");
    assert_string_equal(found(t, t->cwd, "/lib/ld.so", reads), "/lib/ld.so sysroot");
    assert_string_equal(found(t, t->cwd, "/lib/ld.so", TL_WALK_FOLLOW), "/lib/ld.so missing");
    assert_string_equal(found(t, t->cwd, "/etc/passwd", reads), "ENOENT"); // only libraries
    assert_string_equal(found(t, t->cwd, "/lib/escape.so", reads), "/lib/escape.so missing");
    tree_free(t);
}

static void test_directories_keep_their_path_through_renames(void **state) {
    (void)state;
    tl_dirs dirs = {NULL};
    tl_dir *dir = tl_dir_of_fd(&dirs, TL_TREE_VIRTUAL, -1, "/x/y/z"), *other = tl_dir_of_fd(&dirs, TL_TREE_VIRTUAL, -1, "/x/yy");
    tl_dirs_renamed(&dirs, "/x/y", "/somewhere/else");
    assert_string_equal(dir->path, "/somewhere/else/z");
    assert_string_equal(other->path, "/x/yy");
    tl_dirs_renamed(&dirs, "/somewhere/else/z", "/z");
    assert_string_equal(dir->path, "/z");
    tl_dir_unref(&dirs, dir);
    tl_dir_unref(&dirs, other);
    assert_null(dirs.first);
}

static int64_t lookup(void *ctx, const char *path, uint32_t *ret_mode, char *target, bool *ret_is_magic) {
    (void)ctx;
    *ret_is_magic = false;
    if (strcmp(path, "/proc") == 0 || strcmp(path, "/proc/7") == 0) {
        *ret_mode = S_IFDIR | 0555;
        return 0;
    }
    *ret_mode = S_IFLNK | 0777;
    if (strcmp(path, "/proc/self") == 0)
        strcpy(target, "7");
    else if (strcmp(path, "/proc/7/cwd") == 0)
        strcpy(target, "/a");
    else if (strcmp(path, "/proc/7/fd") == 0)
        *ret_is_magic = true;
    else
        return -ENOENT;
    return 0;
}

static void test_the_virtual_tree_hides_the_hosts(void **state) {
    (void)state;
    tree *t = tree_new(true);
    t->env.lookup = lookup;
    assert_string_equal(follow(t, "/proc/self"), "/proc/7");
    assert_string_equal(follow(t, "a/../proc/self/../7"), "/proc/7");
    assert_string_equal(follow(t, "/proc/self/cwd/file"), "/a/file file");
    assert_string_equal(follow(t, "magic/file"), "/a/file file");
    assert_string_equal(follow(t, "/proc/1"), "/proc/1 missing");
    assert_string_equal(follow(t, "/proc/1/x"), "ENOENT");
    assert_string_equal(follow(t, "/proc/self/fd/x"), "ENOTDIR");
    tl_place place;
    assert_int_equal(tl_path_walk(&t->env, t->cwd, "/proc/self/fd", TL_WALK_FOLLOW, &place), 0);
    assert_true(place.is_magic);
    tl_place_done(&place);
    assert_true(tl_path_is_virtual("/proc") && tl_path_is_virtual("/dev/null") && !tl_path_is_virtual("/process"));
    tree_free(t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_paths_lead_where_the_kernel_says),
    cmocka_unit_test(test_errors_are_the_kernels),
    cmocka_unit_test(test_names_and_paths_have_their_limits),
    cmocka_unit_test(test_nothing_outside_the_root_can_be_named),
    cmocka_unit_test(test_the_last_link_is_followed_only_when_asked),
    cmocka_unit_test(test_resolving_below_a_directory),
    cmocka_unit_test(test_libraries_come_from_the_sysroot_when_it_has_them),
    cmocka_unit_test(test_under_a_root_its_own_libraries_win),
    cmocka_unit_test(test_directories_keep_their_path_through_renames),
    cmocka_unit_test(test_the_virtual_tree_hides_the_hosts),
};

// Repeats the tests without openat2, because the rules must hold on an older host kernel.
int main(void) {
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (testing_forbid_openat2(EPERM))
        n_failed += cmocka_run_group_tests_name("without openat2", tests, NULL, NULL);
    return n_failed != 0;
}
