/* SPDX-License-Identifier: MIT
 *
 * What the system knows about a file and lets one change: mode, owner, size, times to the
 * nanosecond, access rights, the mask for new files, and the file system's own numbers. */
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>

static void touch(const char *name, const char *text) {
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK_OK(fd);
    CHECK_EQ(write(fd, text, strlen(text)), (long)strlen(text));
    close(fd);
}

static void test_attributes(void) {
    struct stat st;
    struct statx sx;
    umask(022);
    touch("file", "12345");
    CHECK_OK(stat("file", &st));
    CHECK_EQ(st.st_mode, S_IFREG | 0644);
    CHECK_EQ(st.st_size, 5);
    CHECK_EQ(st.st_uid, getuid());
    CHECK_OK(chmod("file", 0400));
    CHECK_OK(stat("file", &st));
    CHECK_EQ(st.st_mode & 07777, 0400);
    int fd = open("file", O_RDONLY);
    CHECK_OK(fchmod(fd, 0751));
    struct timespec times[2] = {{1000000000, 123456789}, {1500000000, 987654321}};
    CHECK_OK(futimens(fd, times));
    CHECK_OK(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &sx));
    CHECK_EQ(sx.stx_mode, S_IFREG | 0751);
    CHECK_EQ(sx.stx_size, 5);
    CHECK_EQ(sx.stx_atime.tv_sec, 1000000000);
    CHECK_EQ(sx.stx_mtime.tv_sec, 1500000000);
    CHECK_EQ(sx.stx_mtime.tv_nsec, 987654321);
    times[0].tv_nsec = UTIME_OMIT;
    times[1].tv_sec = 42;
    CHECK_OK(utimensat(AT_FDCWD, "file", times, 0));
    CHECK_OK(fstat(fd, &st));
    CHECK_EQ(st.st_atim.tv_sec, 1000000000);
    CHECK_EQ(st.st_mtim.tv_sec, 42);
    CHECK_OK(access("file", R_OK | W_OK | X_OK));
    CHECK_OK(faccessat(AT_FDCWD, "file", R_OK, AT_EACCESS));
    CHECK_FAILS(access("nothing", F_OK), ENOENT);
    CHECK_EQ(umask(077), 022);
    CHECK_OK(close(open("private", O_CREAT | O_WRONLY, 0666)));
    CHECK_OK(stat("private", &st));
    CHECK_EQ(st.st_mode & 0777, 0600);
    struct statfs fs;
    CHECK_OK(statfs(".", &fs));
    CHECK(fs.f_bsize > 0 && fs.f_namelen >= 14);
    CHECK_OK(fstatfs(fd, &fs));
    close(fd);
    CHECK_OK(unlink("file"));
    CHECK_OK(unlink("private"));
    section("attributes");
}

static void test_times_follow_changes(void) {
    struct stat before, after;
    struct timespec nap = {0, 20000000};
    touch("file", "1");
    CHECK_OK(stat("file", &before));
    nanosleep(&nap, NULL);
    int fd = open("file", O_RDWR);
    CHECK_EQ(write(fd, "22", 2), 2);
    CHECK_OK(fstat(fd, &after));
    CHECK(after.st_mtim.tv_sec > before.st_mtim.tv_sec || after.st_mtim.tv_nsec > before.st_mtim.tv_nsec);
    CHECK_EQ(after.st_ino, before.st_ino);
    CHECK_EQ(after.st_dev, before.st_dev);
    CHECK_EQ(after.st_blksize, before.st_blksize);
    close(fd);
    CHECK_OK(unlink("file"));
    section("times");
}

int main(void) {
    test_attributes();
    test_times_follow_changes();
    CHECK_END;
}
