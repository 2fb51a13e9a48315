// SPDX-License-Identifier: MIT
// The temporary file stands beside the final one, because rename must reach it. Some places forbid
// that: a read-only folder, a file with other links or another owner, a mount point. The temporary
// file then has no name, and its bytes are copied at the end.
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_PENDING = 4, MAX_TRIES = 100, COPY_BYTES = 1 << 16, LINE_BYTES = 1 << 20 };

bool cli_write_all(int fd, const char *bytes, size_t n_bytes) {
    for (size_t at = 0; at < n_bytes;) {
        ssize_t written = write(fd, bytes + at, n_bytes - at);
        if (written < 0 && errno != EINTR)
            return false;
        at += written > 0 ? (size_t)written : 0;
    }
    return true;
}

// Temporary names, for signal handlers.
static char *volatile pending[MAX_PENDING];

void cli_output_drop_all(void) {
    int saved = errno;
    for (int i = 0; i < MAX_PENDING; i++) {
        char *name = pending[i];
        if (name)
            unlink(name);
    }
    errno = saved;
}

void cli_output_leave_all(void) {
    for (int i = 0; i < MAX_PENDING; i++)
        pending[i] = NULL;
}

static void on_fatal(int number) { // SA_RESETHAND
    cli_output_drop_all();
    raise(number);
}

// A signal that would end this process removes temporary files first. A handler that stands already
// keeps its signal.
static void catch_signals(void) {
    static const int numbers[] = {SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM};
    struct sigaction action = {.sa_handler = on_fatal, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)}, old;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
    }
}

static void remember(char *name) {
    for (int i = 0; i < MAX_PENDING; i++) {
        if (!pending[i]) {
            pending[i] = name;
            return;
        }
    }
}

static void forget(const char *name) {
    for (int i = 0; i < MAX_PENDING; i++) {
        if (pending[i] == name)
            pending[i] = NULL;
    }
}

static const char *remedy_of(int error) {
    switch (error) {
    case ENOENT:
    case ENOTDIR: return "; name a file in a folder that exists";
    case EISDIR: return "; name a file";
    default: return "";
    }
}

static bool complain(const cli_output *output, const char *what, int error) {
    fprintf(stderr, "tally: %s%s%s%s: %s%s%s\n", output->option ? "--" : "", output->option ? output->option : "",
            output->option ? " " : "", output->path, what, strerror(error), remedy_of(error));
    return false;
}

// "/dev/fd/3" -> 3; -1: no name of a descriptor.
static int descriptor_of(const char *path) {
    static const struct {
        const char *name;
        int fd;
    } names[] = {{"/dev/stdin", 0}, {"/dev/stdout", 1}, {"/dev/stderr", 2}};
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!strcmp(path, names[i].name))
            return names[i].fd;
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        size_t n = strlen(folders[i]);
        char *end;
        if (strncmp(path, folders[i], n) != 0 || path[n] < '0' || path[n] > '9')
            continue;
        long fd = strtol(path + n, &end, 10);
        if (*end == '\0' && fd <= 0xfffff)
            return (int)fd;
    }
    return -1;
}

// Takes `stream` with a buffer that holds the longest line. False: errno says why.
static bool take_stream(cli_output *output, FILE *stream, int mode) {
    output->buffer = stream ? malloc(LINE_BYTES) : NULL;
    if (stream && (!output->buffer || setvbuf(stream, output->buffer, mode, LINE_BYTES) != 0)) {
        free(output->buffer);
        output->buffer = NULL;
        fclose(stream);
        errno = ENOMEM;
        return false;
    }
    output->stream = stream;
    return stream;
}

bool cli_output_to_descriptor(cli_output *output, const char *option, const char *path, int fd) {
    *output = (cli_output){.option = option, .path = path};
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    FILE *stream = copy >= 0 ? fdopen(copy, "w") : NULL;
    int saved = errno;
    if (!stream && copy >= 0)
        close(copy);
    errno = saved;
    return take_stream(output, stream, _IOLBF);
}

// A stream over a file without a name. False: errno says why.
static bool open_nameless(cli_output *output) {
    FILE *stream = tmpfile();
    if (stream)
        fcntl(fileno(stream), F_SETFD, FD_CLOEXEC);
    return take_stream(output, stream, _IOFBF);
}

// Gives the new file the old file's access rights. False: not possible.
static bool take_access(int fd, const struct stat *old) {
    struct stat about;
    if (fstat(fd, &about) != 0)
        return false;
    bool is_same = about.st_uid == old->st_uid && about.st_gid == old->st_gid;
    return (is_same || fchown(fd, old->st_uid, old->st_gid) == 0) && fchmod(fd, old->st_mode & 07777) == 0;
}

// Creates the first free name "PLACE.tally-PID-N" in `name` and remembers it. -1: errno says why.
// Signals wait meanwhile, because a handler removes only names that are remembered.
static int create_beside(const char *place, char *name, size_t size) {
    sigset_t all, old;
    int fd = -1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (int i = 0; fd < 0 && i < MAX_TRIES; i++) {
        snprintf(name, size, "%s.tally-%ld-%d", place, (long)getpid(), i);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    int saved = errno;
    if (fd >= 0)
        remember(name);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = saved;
    return fd;
}

// Sets output->beside and opens it; `old` is the existing file, or NULL. False: errno says why.
static bool open_beside(cli_output *output, const struct stat *old) {
    size_t size = strlen(output->place) + 48;
    char *name = malloc(size);
    int fd = name ? create_beside(output->place, name, size) : -1;
    if (fd < 0) {
        int saved = name ? errno : ENOMEM;
        free(name);
        errno = saved;
        return false;
    }
    FILE *stream = !old || take_access(fd, old) ? fdopen(fd, "w") : NULL;
    int saved = errno;
    if (!stream)
        close(fd);
    errno = saved;
    if (take_stream(output, stream, _IOFBF)) {
        output->beside = name;
        return true;
    }
    saved = errno;
    unlink(name);
    forget(name);
    free(name);
    errno = saved;
    return false;
}

bool cli_output_open(cli_output *output, const char *option, const char *path, bool is_appending) {
    int fd = descriptor_of(path);
    if (fd >= 0)
        return cli_output_to_descriptor(output, option, path, fd) || complain(output, "", errno);
    *output = (cli_output){.option = option, .path = path, .is_appending = is_appending};
    struct stat about;
    bool exists = stat(path, &about) == 0;
    bool is_link = !exists && lstat(path, &about) == 0;
    // A link that leads nowhere has nothing to lose.
    if (is_link || (exists && !S_ISREG(about.st_mode)))
        return take_stream(output, fopen(path, is_appending ? "ae" : "we"), _IOLBF) || complain(output, "", errno);
    output->place = exists ? realpath(path, NULL) : strdup(path);
    catch_signals();
    bool is_open = output->place && (!exists || faccessat(AT_FDCWD, output->place, W_OK, AT_EACCESS) == 0);
    if (is_open) {
        bool is_copied = exists && (is_appending || about.st_nlink > 1);
        is_open = (!is_copied && open_beside(output, exists ? &about : NULL)) || (exists && open_nameless(output));
    }
    if (is_open)
        return true;
    int error = errno;
    free(output->place);
    output->place = NULL;
    return complain(output, "", error);
}

// All of `from` into the file at output->place, whose old bytes go only when there is room for the
// new. Returns 0 or an errno; *ret_fd stays open.
static int copy_into_place(const cli_output *output, int from, int *ret_fd) {
    static char bytes[COPY_BYTES];
    struct stat about;
    off_t done = 0;
    int to = open(output->place, O_WRONLY | O_CLOEXEC | (output->is_appending ? O_APPEND : 0));
    *ret_fd = to;
    if (to < 0 || fstat(from, &about) != 0)
        return errno;
    off_t begin = output->is_appending ? lseek(to, 0, SEEK_END) : 0;
    if (about.st_size > 0 && fallocate(to, FALLOC_FL_KEEP_SIZE, begin, about.st_size) != 0 &&
        (errno == ENOSPC || errno == EFBIG || errno == EDQUOT))
        return errno;
    while (done < about.st_size) {
        ssize_t n = pread(from, bytes, sizeof bytes, done);
        if (n <= 0)
            return n < 0 ? errno : EIO;
        if (!cli_write_all(to, bytes, (size_t)n))
            return errno;
        done += n;
    }
    return output->is_appending || ftruncate(to, done) == 0 ? 0 : errno;
}

void cli_output_check(cli_output *output) {
    if (output->stream && (fflush(output->stream) != 0 || ferror(output->stream)) && output->error == 0)
        output->error = errno ? errno : EIO;
}

// The file takes its place. *ret_fd: a descriptor of the place, or -1: the stream's own is one.
static int settle(cli_output *output, int *ret_fd) {
    *ret_fd = -1;
    cli_output_check(output);
    if (output->error || !output->place)
        return output->error;
    int error = 0, from = fileno(output->stream);
    if (output->beside && rename(output->beside, output->place) != 0) { // a mount point
        from = open(output->beside, O_RDONLY | O_CLOEXEC);
        error = from < 0 ? errno : copy_into_place(output, from, ret_fd);
        if (from >= 0)
            close(from);
        unlink(output->beside);
    } else if (!output->beside) {
        error = copy_into_place(output, from, ret_fd);
    }
    if (output->beside)
        forget(output->beside);
    free(output->beside);
    free(output->place);
    output->beside = output->place = NULL;
    return error;
}

bool cli_output_publish(cli_output *output) {
    int fd, error = output->stream ? settle(output, &fd) : 0;
    if (!output->stream)
        return true;
    if (error == 0 && fd >= 0 && dup2(fd, fileno(output->stream)) < 0)
        error = errno;
    if (fd >= 0)
        close(fd);
    output->error = error;
    setvbuf(output->stream, NULL, _IOLBF, 0); // the buffer stays
    return error == 0 || complain(output, "could not be written: ", error);
}

bool cli_output_close(cli_output *output, bool is_whole) {
    if (!output->stream)
        return true;
    int fd = -1, error = is_whole ? settle(output, &fd) : 0;
    if (fd >= 0 && close(fd) != 0 && error == 0)
        error = errno;
    if (output->beside) {
        unlink(output->beside);
        forget(output->beside);
    }
    if (fclose(output->stream) != 0 && error == 0 && is_whole)
        error = errno;
    free(output->beside);
    free(output->place);
    free(output->buffer);
    output->beside = output->place = output->buffer = NULL;
    output->stream = NULL;
    return error == 0 || complain(output, "could not be written: ", error);
}

// A stream that fails is the library's failure, too, and is said with the name of the file.
bool cli_output_end(cli_output *output, tl_status status, const tl_error *err) {
    cli_output_check(output);
    const bool is_stream = status == TL_EIO && output->error != 0;
    if (status != TL_OK && !is_stream)
        fprintf(stderr, "tally: %s\n", err->text);
    return cli_output_close(output, status == TL_OK || is_stream) && status == TL_OK;
}
