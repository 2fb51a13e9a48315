/* SPDX-License-Identifier: MIT
 *
 * Bytes in and out of files: offsets, vectors, positions, append, truncation, holes, copies inside
 * the kernel, duplicated descriptors and their flags, special files, and short or failing calls. */
#include "check.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

static int new_file(const char *name) {
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK_OK(fd);
    return fd;
}

static void expect_contents(int fd, const char *want) {
    char text[256] = "";
    CHECK_EQ(pread(fd, text, sizeof text - 1, 0), (long)strlen(want));
    CHECK(strcmp(text, want) == 0);
}

static void test_read_write_seek(void) {
    char text[32] = "";
    int fd = new_file("io");
    CHECK(fd > 2);
    CHECK_EQ(write(fd, "0123456789", 10), 10);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 10);
    CHECK_EQ(read(fd, text, 5), 0); /* end of file */
    CHECK_EQ(lseek(fd, -3, SEEK_END), 7);
    CHECK_EQ(read(fd, text, 30), 3); /* short */
    CHECK(strcmp(text, "789") == 0);
    CHECK_EQ(lseek(fd, 2, SEEK_SET), 2);
    CHECK_EQ(write(fd, "xy", 2), 2);
    CHECK_EQ(pread(fd, text, 4, 1), 4);
    CHECK(memcmp(text, "1xy4", 4) == 0);
    CHECK_EQ(pwrite(fd, "Z", 1, 9), 1);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 4); /* pread and pwrite leave the offset alone */
    expect_contents(fd, "01xy45678Z");
    CHECK_FAILS(lseek(fd, -1, SEEK_SET), EINVAL);
    CHECK_FAILS(lseek(fd, 0, 99), EINVAL);
    CHECK_FAILS(pread(fd, text, 1, -1), EINVAL);
    CHECK_OK(close(fd));
    CHECK_FAILS(close(fd), EBADF);
    section("read, write, seek");
}

static void test_vectors(void) {
    char a[3], b[5], c[10];
    int fd = new_file("io");
    struct iovec out[] = {{"ab", 2}, {"", 0}, {"cdefg", 5}, {"hi", 2}}, in[] = {{a, 3}, {b, 5}, {c, 10}};
    CHECK_EQ(writev(fd, out, 4), 9);
    CHECK_OK(lseek(fd, 0, SEEK_SET));
    CHECK_EQ(readv(fd, in, 3), 9);
    CHECK(memcmp(a, "abc", 3) == 0 && memcmp(b, "defgh", 5) == 0 && c[0] == 'i');
    CHECK_EQ(pwritev(fd, out, 1, 7), 2);
    CHECK_EQ(preadv(fd, in, 1, 6), 3);
    CHECK(memcmp(a, "gab", 3) == 0);
    CHECK_EQ(readv(fd, in, 0), 0);
    close(fd);
    section("vectors");
}

static void test_append_truncate_holes(void) {
    int fd = new_file("io"), append = open("io", O_WRONLY | O_APPEND);
    struct stat st;
    CHECK_EQ(write(fd, "abc", 3), 3);
    CHECK_EQ(write(append, "def", 3), 3);
    CHECK_EQ(lseek(append, 0, SEEK_SET), 0);
    CHECK_EQ(write(append, "ghi", 3), 3); /* at the end all the same */
    CHECK_EQ(lseek(append, 0, SEEK_CUR), 9);
    expect_contents(fd, "abcdefghi");
    CHECK_OK(ftruncate(fd, 4));
    expect_contents(fd, "abcd");
    CHECK_EQ(pwrite(fd, "z", 1, 100000), 1); /* a hole reads as zeros */
    CHECK_OK(fstat(fd, &st));
    CHECK_EQ(st.st_size, 100001);
    char byte = 1;
    CHECK_EQ(pread(fd, &byte, 1, 50000), 1);
    CHECK_EQ(byte, 0);
    CHECK_OK(truncate("io", 2));
    CHECK_OK(fallocate(fd, 0, 0, 5000));
    CHECK_OK(fstat(fd, &st));
    CHECK_EQ(st.st_size, 5000);
    CHECK_OK(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 9000));
    CHECK_OK(fstat(fd, &st));
    CHECK_EQ(st.st_size, 5000);
    CHECK_OK(posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL));
    CHECK_OK(fsync(fd));
    CHECK_OK(fdatasync(fd));
    CHECK_FAILS(ftruncate(fd, -1), EINVAL);
    close(fd);
    CHECK_FAILS(truncate("no-such-file", 0), ENOENT);
    close(append);
    section("append, truncate, holes");
}

static void test_open_modes(void) {
    char byte;
    unlink("mode");
    CHECK_FAILS(open("mode", O_RDONLY), ENOENT);
    int fd = open("mode", O_WRONLY | O_CREAT | O_EXCL, 0640);
    CHECK_OK(fd);
    CHECK_FAILS(open("mode", O_WRONLY | O_CREAT | O_EXCL, 0640), EEXIST);
    CHECK_FAILS(read(fd, &byte, 1), EBADF);
    close(fd);
    fd = open("mode", O_RDONLY);
    CHECK_FAILS(write(fd, "x", 1), EBADF);
    CHECK_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    close(fd);
    CHECK_FAILS(open("mode", O_RDONLY | O_DIRECTORY), ENOTDIR);
    CHECK_FAILS(open("mode/x", O_RDONLY), ENOTDIR);
    CHECK_FAILS(open(".", O_WRONLY), EISDIR);
    fd = open(".", O_RDONLY | O_DIRECTORY);
    CHECK_OK(fd);
    CHECK_FAILS(read(fd, &byte, 1), EISDIR);
    close(fd);
    fd = open("mode", O_PATH);
    CHECK_OK(fd);
    CHECK_FAILS(read(fd, &byte, 1), EBADF); /* a place, not a file */
    close(fd);
    unlink("mode");
    section("open modes");
}

static void test_duplicates_share_the_offset(void) {
    int fd = new_file("io"), copy = dup(fd);
    CHECK_OK(copy);
    CHECK_EQ(write(fd, "12345", 5), 5);
    CHECK_EQ(lseek(copy, 0, SEEK_CUR), 5);
    CHECK_EQ(dup2(fd, 50), 50);
    CHECK_EQ(dup2(fd, fd), fd);
    CHECK_FAILS(dup3(fd, fd, 0), EINVAL);
    CHECK_EQ(dup3(fd, 51, O_CLOEXEC), 51);
    CHECK_EQ(fcntl(50, F_GETFD), 0);
    CHECK_EQ(fcntl(51, F_GETFD), FD_CLOEXEC);
    CHECK_OK(fcntl(50, F_SETFD, FD_CLOEXEC));
    CHECK_EQ(fcntl(50, F_GETFD), FD_CLOEXEC);
    CHECK_EQ(fcntl(fd, F_DUPFD, 60), 60);
    CHECK_EQ(fcntl(fd, F_DUPFD_CLOEXEC, 60), 61); /* lowest free from there */
    CHECK_EQ(fcntl(61, F_GETFD), FD_CLOEXEC);
    CHECK_OK(fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK));
    CHECK_EQ(fcntl(copy, F_GETFL) & (O_APPEND | O_NONBLOCK), O_APPEND | O_NONBLOCK); /* shared, unlike FD_CLOEXEC */
    int lowest = open("io", O_RDONLY);
    close(copy);
    CHECK_EQ(open("io", O_RDONLY), copy < lowest ? copy : lowest);
    for (int i = 50; i < 62; i++)
        close(i);
    close(fd);
    close(lowest);
    close(copy);
    section("duplicates");
}

static void test_copies_inside_the_kernel(void) {
    int from = new_file("from"), to = new_file("to");
    off_t at = 2;
    CHECK_EQ(write(from, "0123456789", 10), 10);
    CHECK_EQ(sendfile(to, from, &at, 4), 4);
    CHECK_EQ(at, 6);
    CHECK_OK(lseek(from, 8, SEEK_SET));
    CHECK_EQ(sendfile(to, from, NULL, 100), 2);
    expect_contents(to, "234589");
    loff_t in = 0, out = 6;
    CHECK_EQ(copy_file_range(from, &in, to, &out, 3, 0), 3);
    CHECK_EQ(in * 100 + out, 309);
    expect_contents(to, "234589012");
    int fds[2];
    CHECK_OK(pipe(fds));
    in = 4;
    CHECK_EQ(splice(from, &in, fds[1], NULL, 3, 0), 3);
    char text[8] = "";
    CHECK_EQ(read(fds[0], text, 8), 3);
    CHECK(strcmp(text, "456") == 0);
    CHECK_EQ(write(fds[1], "pipe", 4), 4);
    out = 0;
    CHECK_EQ(splice(fds[0], NULL, to, &out, 4, 0), 4);
    expect_contents(to, "pipe89012");
    close(fds[0]);
    close(fds[1]);
    close(from);
    close(to);
    section("kernel copies");
}

static void test_special_files(void) {
    unsigned char noise[64], zeros[64];
    int fd = open("/dev/null", O_RDWR);
    CHECK_EQ(write(fd, noise, 64), 64);
    CHECK_EQ(read(fd, noise, 64), 0);
    close(fd);
    memset(zeros, 1, 64);
    fd = open("/dev/zero", O_RDONLY);
    CHECK_EQ(read(fd, zeros, 64), 64);
    for (int i = 0; i < 64; i++)
        CHECK_EQ(zeros[i], 0);
    close(fd);
    fd = open("/dev/urandom", O_RDONLY);
    CHECK_EQ(read(fd, noise, 64), 64);
    CHECK(memcmp(noise, zeros, 64) != 0);
    close(fd);
    struct stat st;
    CHECK_OK(stat("/dev/null", &st));
    CHECK(S_ISCHR(st.st_mode));
    fd = open("/dev/full", O_WRONLY);
    if (fd >= 0)
        CHECK_FAILS(write(fd, "x", 1), ENOSPC);
    section("special files");
}

static void test_stdio_and_temporary_files(void) {
    FILE *file = tmpfile();
    char line[64];
    CHECK(file != NULL);
    for (int i = 0; i < 2000; i++)
        fprintf(file, "line %d\n", i);
    rewind(file);
    int n = 0;
    while (fgets(line, sizeof line, file)) {
        CHECK_EQ(atoi(line + 5), n);
        n++;
    }
    CHECK_EQ(n, 2000);
    fclose(file);
    char name[] = "temp-XXXXXX";
    int fd = mkstemp(name);
    CHECK_OK(fd);
    CHECK(strcmp(name, "temp-XXXXXX") != 0);
    CHECK_OK(unlink(name));
    CHECK_EQ(write(fd, "still here", 10), 10); /* until the last descriptor goes */
    close(fd);
    section("temporary files");
}

int main(void) {
    test_read_write_seek();
    test_vectors();
    test_append_truncate_holes();
    test_open_modes();
    test_duplicates_share_the_offset();
    test_copies_inside_the_kernel();
    test_special_files();
    test_stdio_and_temporary_files();
    CHECK_END;
}
