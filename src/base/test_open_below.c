// SPDX-License-Identifier: MIT
// The kernel's own answers are the reference: the same paths are opened again without openat2.
#include "base/open_below.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/testing.h"
#include "base/testing_no_openat2.h"

typedef struct answer {
    int error; // 0: opened
    ino_t inode;
} answer;

static char top[64];
static int root_fd;

static void write_file(const char *path) {
    int fd = openat(root_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    close(fd);
}

static int make_tree(void **state) {
    (void)state;
    char path[96], name[300];
    strcpy(top, "/tmp/tally-below-XXXXXX"); // NOLINT: it fits
    assert_non_null(mkdtemp(top));
    snprintf(path, sizeof path, "%s/root", top);
    assert_int_equal(mkdir(path, 0755), 0);
    root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(root_fd >= 0);
    static const char *const dirs[] = {"a", "a/b", "a/b/c", "outside", "empty"};
    for (size_t i = 0; i < TL_COUNT_OF(dirs); i++)
        assert_int_equal(mkdirat(root_fd, dirs[i], 0755), 0);
    static const char *const files[] = {"file", "a/file", "a/b/c/deep", "../secret", "outside/secret"};
    for (size_t i = 0; i < TL_COUNT_OF(files); i++)
        write_file(files[i]);
    static const char *const links[][2] = {{"file", "a/link"},
                                           {"/file", "a/absolute"},
                                           {"../../../../../secret", "a/escape"},
                                           {"/../../secret", "climb"},
                                           {"b", "a/to-b"},
                                           {"b/c/", "a/slash"},
                                           {"loop-b", "loop-a"},
                                           {"loop-a", "loop-b"},
                                           {"nowhere", "dangling"},
                                           {"/", "to-root"},
                                           {"..", "a/up"},
                                           {"a/b/../link", "around"},
                                           {"file/", "a/file-slash"},
                                           {"/proc/self/exe", "exe"},
                                           {".", "a/b/here"}};
    for (size_t i = 0; i < TL_COUNT_OF(links); i++)
        assert_int_equal(symlinkat(links[i][0], root_fd, links[i][1]), 0);
    for (int i = 0; i < 45; i++) { // chain-0 leads to the file over 45 links
        char target[32];
        snprintf(name, sizeof name, "chain-%d", i);
        snprintf(target, sizeof target, i < 44 ? "chain-%d" : "file", i + 1);
        assert_int_equal(symlinkat(target, root_fd, name), 0);
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place) {
    (void)about;
    (void)kind;
    (void)place;
    return remove(path);
}

static int remove_tree(void **state) {
    (void)state;
    close(root_fd);
    return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static answer answer_of(int fd) {
    struct stat about;
    answer a = {.error = fd < 0 ? errno : 0};
    if (fd < 0)
        return a;
    assert_int_equal(fstat(fd, &about), 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    a.inode = about.st_ino;
    close(fd);
    return a;
}

static const char *const paths[] = {"file",
                                    "/file",
                                    "//a//file",
                                    "a/./file",
                                    "a/link",
                                    "/a/absolute",
                                    "a/escape",
                                    "climb",
                                    "a/to-b/c/deep",
                                    "a/slash/deep",
                                    "a/slash",
                                    "loop-a",
                                    "dangling",
                                    "dangling/x",
                                    "to-root/file",
                                    "to-root",
                                    "a/up/file",
                                    "a/up/up/up/file",
                                    "around",
                                    "a/file-slash",
                                    "file/",
                                    "file/.",
                                    "file/..",
                                    "a/",
                                    "a/.",
                                    "a/..",
                                    "..",
                                    "../..",
                                    "../secret",
                                    "/../secret",
                                    "../outside/secret",
                                    "a/../../outside/secret",
                                    "a/b/../../../file",
                                    ".",
                                    "/",
                                    "",
                                    "none",
                                    "none/",
                                    "none/x",
                                    "a/none",
                                    "a/b/here/here/c/deep",
                                    "a/b/c/../../to-b/c/deep",
                                    "chain-44",
                                    "chain-6",
                                    "chain-5",
                                    "chain-4",
                                    "chain-0",
                                    "a/link/",
                                    "a/link/x",
                                    "a/to-b/",
                                    "a/to-b/..",
                                    "empty",
                                    "empty/..",
                                    "a/b/c/deep/.."};
static const int flags[] = {
    O_RDONLY, O_PATH, O_PATH | O_NOFOLLOW, O_RDONLY | O_NOFOLLOW, O_PATH | O_DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW};

static void collect(answer in_root[TL_COUNT_OF(paths)][TL_COUNT_OF(flags)], answer below[TL_COUNT_OF(paths)]) {
    for (size_t i = 0; i < TL_COUNT_OF(paths); i++) {
        for (size_t k = 0; k < TL_COUNT_OF(flags); k++)
            in_root[i][k] = answer_of(tl_open_in_root(root_fd, paths[i], flags[k], 0));
        below[i] = answer_of(tl_open_dir_below(root_fd, paths[i]));
    }
}

// In what a link is refused by: the kernel looks at O_NOFOLLOW and O_DIRECTORY in another order in
// each version.
static bool is_link_error(int error) { return error == ELOOP || error == ENOTDIR; }

static bool is_same(answer a, answer b) {
    return a.inode == b.inode && (a.error == b.error || (is_link_error(a.error) && is_link_error(b.error)));
}

static void test_walk_answers_as_the_kernel(void **state) {
    (void)state;
    static answer in_root[2][TL_COUNT_OF(paths)][TL_COUNT_OF(flags)], below[2][TL_COUNT_OF(paths)];
    long n = syscall(SYS_openat2, -1, "", NULL, 0);
    if (n < 0 && errno == ENOSYS)
        skip(); // nothing to compare with
    collect(in_root[0], below[0]);
    if (!testing_forbid_openat2(ENOSYS))
        skip();
    collect(in_root[1], below[1]);
    for (size_t i = 0; i < TL_COUNT_OF(paths); i++) {
        for (size_t k = 0; k < TL_COUNT_OF(flags); k++) {
            answer a = in_root[0][i][k], b = in_root[1][i][k];
            if (!is_same(a, b))
                fail_msg("'%s' flags %#x: error %d, inode %ld; the walk: %d, %ld", paths[i], (unsigned)flags[k], a.error, (long)a.inode,
                         b.error, (long)b.inode);
        }
        // A directory itself is refused as what leads out: its callers never ask for `..`.
        if (!is_same(below[0][i], below[1][i]) && !strstr(paths[i], ".."))
            fail_msg("directory '%s': error %d, inode %ld; the walk: %d, %ld", paths[i], below[0][i].error, (long)below[0][i].inode,
                     below[1][i].error, (long)below[1][i].inode);
        if (strstr(paths[i], ".."))
            assert_int_not_equal(below[1][i].error, 0);
    }
}

static ino_t inode_of(const char *path) {
    struct stat about;
    assert_int_equal(fstatat(root_fd, path, &about, 0), 0);
    return about.st_ino;
}

// The test before has forbidden openat2.
static void test_walk_never_leaves_the_root(void **state) {
    (void)state;
    ino_t secret = inode_of("../secret");
    for (size_t i = 0; i < TL_COUNT_OF(paths); i++) {
        for (size_t k = 0; k < TL_COUNT_OF(flags); k++)
            assert_int_not_equal(answer_of(tl_open_in_root(root_fd, paths[i], flags[k], 0)).inode, secret);
    }
    // The root has no /proc of its own.
    assert_int_equal(answer_of(tl_open_in_root(root_fd, "exe", O_RDONLY, 0)).error, ENOENT);
    char name[NAME_MAX + 3], long_path[PATH_MAX + 1];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(answer_of(tl_open_in_root(root_fd, name, O_RDONLY, 0)).error, ENAMETOOLONG);
    assert_int_equal(answer_of(tl_open_dir_below(root_fd, name)).error, ENAMETOOLONG);
    memset(long_path, '/', sizeof long_path);
    long_path[PATH_MAX] = '\0';
    assert_int_equal(answer_of(tl_open_in_root(root_fd, long_path, O_RDONLY, 0)).error, ENAMETOOLONG);
    int proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC); // links to open files
    assert_true(proc >= 0);
    assert_int_equal(answer_of(tl_open_in_root(proc, "exe", O_RDONLY, 0)).error, ELOOP);
    assert_int_equal(answer_of(tl_open_in_root(proc, "cwd/x", O_RDONLY, 0)).error, ELOOP);
    close(proc);
    int made = tl_open_in_root(root_fd, "a/made", O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(made >= 0);
    struct stat about;
    assert_int_equal(fstat(made, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    close(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk_answers_as_the_kernel),
        cmocka_unit_test(test_walk_never_leaves_the_root),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
