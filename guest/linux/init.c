// SPDX-License-Identifier: MIT
// The first process of the machine mounts the file systems that programs expect, runs one command,
// and turns the machine off with the command's exit status. The command is tally.run="COMMAND" of
// the kernel command line; else the script /etc/rc; else the console's input.
//
// A shell of a hundred lines runs commands, because then a machine needs no other program. It knows
// words, quotes, $NAME and $?, pipes, redirections, `;`, `&&`, `||`, and a few commands of its own.
// It has no globs, loops, functions or jobs. If /bin/busybox exists, its shell runs commands
// instead.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { MAX_LINE = 4096, MAX_WORDS = 256 };
static int last_status;

static int complain(const char *what) {
    fprintf(stderr, "init: %s: %s\n", what, strerror(errno));
    return 1;
}

static int wait_for(pid_t pid) {
    int status;
    for (;;) {
        pid_t ended = wait(&status); // orphans, too: they are init's
        if (ended < 0 && errno != EINTR)
            return complain("wait");
        if (ended == pid)
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
}

// The machine goes off. A status other than 0 has to be told to the finisher of QEMU's `virt` board
// at 0x100000, and Linux, which can only say "off", has no call for that: hence /dev/mem.
static void power_off(int status) {
    printf("init: exit status %d\n", status);
    fflush(NULL);
    tcdrain(STDOUT_FILENO);
    sync();
    if (status != 0) {
        int memory = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
        volatile uint32_t *finisher = memory < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0x100000);
        if (finisher != MAP_FAILED)
            *finisher = (uint32_t)status << 16 | 0x3333;
        complain("/dev/mem: the exit status cannot be told");
        reboot(RB_AUTOBOOT); // at least it does not look like a success
    }
    reboot(RB_POWER_OFF);
    for (;;)
        pause();
}

// ---- commands of our own

static int copy_out(int fd, const char *name) {
    char buffer[65536];
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0) {
        for (ssize_t at = 0, written; at < n; at += written)
            if ((written = write(STDOUT_FILENO, buffer + at, (size_t)(n - at))) < 0)
                return complain("write");
    }
    return n < 0 ? complain(name) : 0;
}

static int cmd_cat(char **words) {
    int status = 0;
    if (words[1] == NULL)
        return copy_out(STDIN_FILENO, "standard input");
    for (char **name = words + 1; *name != NULL; name++) {
        int fd = open(*name, O_RDONLY | O_CLOEXEC);
        status |= fd < 0 ? complain(*name) : copy_out(fd, *name);
        if (fd >= 0)
            close(fd);
    }
    return status;
}

static int cmd_echo(char **words) {
    for (char **word = words + 1; *word != NULL; word++)
        printf("%s%s", *word, word[1] != NULL ? " " : "");
    printf("\n");
    return 0;
}

static int cmd_ls(char **words) {
    const char *folder = words[1] != NULL ? words[1] : ".";
    struct dirent **entries;
    int n_entries = scandir(folder, &entries, NULL, alphasort);
    if (n_entries < 0)
        return complain(folder);
    for (int i = 0; i < n_entries; i++) {
        if (entries[i]->d_name[0] != '.')
            printf("%s%s\n", entries[i]->d_name, entries[i]->d_type == DT_DIR ? "/" : "");
        free(entries[i]);
    }
    free(entries);
    return 0;
}

static int cmd_cd(char **words) { return words[1] != NULL && chdir(words[1]) != 0 ? complain(words[1]) : 0; }

static int cmd_export(char **words) {
    for (char **word = words + 1; *word != NULL; word++) {
        char *value = strchr(*word, '=');
        if (value != NULL) {
            *value++ = '\0';
            setenv(*word, value, 1);
        }
    }
    return 0;
}

static int cmd_mount(char **words) { // TYPE DEVICE FOLDER
    if (words[1] == NULL || words[2] == NULL || words[3] == NULL) {
        fprintf(stderr, "usage: mount TYPE DEVICE FOLDER\n");
        return 2;
    }
    return mount(words[2], words[3], words[1], 0, "") != 0 ? complain(words[3]) : 0;
}

static int cmd_umount(char **words) { return words[1] != NULL && umount(words[1]) != 0 ? complain(words[1]) : 0; }

static int cmd_exit(char **words) {
    int status = words[1] != NULL ? atoi(words[1]) & 255 : last_status;
    fflush(NULL);
    if (getpid() != 1)
        _exit(status); // within a pipe
    power_off(status);
    return 0;
}

static int cmd_help(char **words);
static const struct {
    const char *name, *usage;
    int (*run)(char **words);
} commands[] = {
    {"cat", "cat [FILE...]", cmd_cat},
    {"cd", "cd FOLDER", cmd_cd},
    {"echo", "echo WORD...", cmd_echo},
    {"exit", "exit [STATUS]: turns the machine off", cmd_exit},
    {"export", "export NAME=VALUE...", cmd_export},
    {"help", "help", cmd_help},
    {"ls", "ls [FOLDER]", cmd_ls},
    {"mount", "mount TYPE DEVICE FOLDER: mount ext2 /dev/vda /mnt", cmd_mount},
    {"poweroff", "poweroff [STATUS]", cmd_exit},
    {"umount", "umount FOLDER", cmd_umount},
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static int cmd_help(char **words) {
    (void)words;
    for (int i = 0; i < N_COMMANDS; i++)
        printf("%s\n", commands[i].usage);
    printf("COMMAND | COMMAND, COMMAND < FILE > FILE, >> FILE, 2> FILE; between commands: ; && ||\nprograms:\n");
    return cmd_ls((char *[]){"ls", "/bin", NULL});
}

// ---- the shell

typedef struct token {
    const char *op; // one of the operators below, or NULL: a word
    char *text;     // owned; of a word
} token;

static const char *const operators[] = {"&&", "||", ">>", "2>", ";", "|", "<", ">"};

static void add_text(char *word, size_t *length, const char *text) {
    while (*text != '\0' && *length < MAX_LINE - 1)
        word[(*length)++] = *text++;
    word[*length] = '\0';
}

static const char *expand(char *word, size_t *length, const char *at) { // at points behind a $
    char name[64];
    size_t n = 0;
    if (*at == '?') {
        snprintf(name, sizeof name, "%d", last_status);
        add_text(word, length, name);
        return at + 1;
    }
    while (n < sizeof name - 1 && (*at == '_' || (*at >= '0' && *at <= '9') || (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z')))
        name[n++] = *at++;
    name[n] = '\0';
    const char *value = n == 0 ? "$" : getenv(name);
    add_text(word, length, value != NULL ? value : "");
    return at;
}

// One word or operator; false at the end of the line. Expansions see the status of what ran before:
// tokens are made as they are needed.
static bool next_token(const char **line, token *ret_token) {
    const char *at = *line;
    at += strspn(at, " \t\r\n");
    if (*at == '\0' || *at == '#')
        return false;
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (strncmp(at, operators[i], strlen(operators[i])) == 0) {
            *ret_token = (token){.op = operators[i]};
            *line = at + strlen(operators[i]);
            return true;
        }
    }
    char word[MAX_LINE] = "";
    size_t length = 0;
    char quote = '\0';
    while (*at != '\0' && (quote != '\0' || strchr(" \t\r\n;|<>&", *at) == NULL)) {
        if (*at == quote && quote != '\0')
            quote = '\0', at++;
        else if (quote == '\0' && (*at == '"' || *at == '\''))
            quote = *at++;
        else if (*at == '$' && quote != '\'')
            at = expand(word, &length, at + 1);
        else if (*at == '\\' && quote != '\'' && at[1] != '\0')
            add_text(word, &length, (char[]){at[1], '\0'}), at += 2;
        else
            add_text(word, &length, (char[]){*at++, '\0'});
    }
    if (length == 0 && *at == '&')
        at++; // a lone & means nothing
    *ret_token = (token){.text = strdup(word)};
    *line = at;
    return true;
}

typedef struct command {
    char *words[MAX_WORDS + 1];
    int n_words;
    int in, out, err; // descriptors, or -1
} command;

static void done_command(command *c) {
    for (int i = 0; i < c->n_words; i++)
        free(c->words[i]);
    int *descriptors[] = {&c->in, &c->out, &c->err};
    for (int i = 0; i < 3; i++) {
        if (*descriptors[i] >= 0)
            close(*descriptors[i]);
        *descriptors[i] = -1;
    }
    c->n_words = 0;
}

static int find_own(const char *name) {
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return i;
    return -1;
}

static void become(command *c) { // in a child: does not return
    signal(SIGINT, SIG_DFL);
    if ((c->in >= 0 && dup2(c->in, STDIN_FILENO) < 0) || (c->out >= 0 && dup2(c->out, STDOUT_FILENO) < 0) ||
        (c->err >= 0 && dup2(c->err, STDERR_FILENO) < 0))
        _exit(complain("dup2"));
    int own = find_own(c->words[0]);
    if (own >= 0) {
        int status = commands[own].run(c->words);
        fflush(NULL);
        _exit(status);
    }
    execvp(c->words[0], c->words);
    _exit(complain(c->words[0]) ? 127 : 0);
}

// Starts one command of a pipe. Returns its pid; 0: a command of our own has run here.
static pid_t start(command *c, bool is_alone) {
    if (c->n_words == 0)
        return 0;
    int own = find_own(c->words[0]);
    if (own >= 0 && is_alone && c->in < 0 && c->out < 0 && c->err < 0) {
        last_status = commands[own].run(c->words);
        fflush(NULL);
        return 0;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become(c);
    if (pid < 0)
        last_status = complain("fork");
    return pid > 0 ? pid : 0;
}

static void redirect(command *c, const char *op, const char *path) {
    int *slot = op[0] == '<' ? &c->in : op[0] == '2' ? &c->err : &c->out;
    int flags = op[0] == '<' ? O_RDONLY : O_WRONLY | O_CREAT | (op[1] == '>' && op[0] == '>' ? O_APPEND : O_TRUNC);
    if (*slot >= 0)
        close(*slot);
    *slot = open(path, flags | O_CLOEXEC, 0644);
    if (*slot < 0)
        complain(path);
}

static void run_line(const char *line) {
    command c = {.in = -1, .out = -1, .err = -1};
    bool skip = false, is_alone = true, is_more = true;
    while (is_more) {
        token t = {.op = ";"};
        is_more = next_token(&line, &t);
        if (t.op == NULL) {
            if (c.n_words < MAX_WORDS)
                c.words[c.n_words++] = t.text;
            else
                free(t.text);
            c.words[c.n_words] = NULL;
            continue;
        }
        if (strchr("<>2", t.op[0]) != NULL) {
            token path;
            const char *op = t.op;
            if (!next_token(&line, &path) || path.op != NULL) {
                fprintf(stderr, "init: %s: a file name is missing\n", op);
                last_status = 2;
                break;
            }
            if (!skip)
                redirect(&c, op, path.text);
            free(path.text);
            continue;
        }
        int ends[2] = {-1, -1};
        bool is_pipe = strcmp(t.op, "|") == 0;
        if (!skip) {
            if (is_pipe && pipe2(ends, O_CLOEXEC) != 0)
                complain("pipe");
            if (is_pipe && c.out < 0)
                c.out = ends[1];
            pid_t pid = start(&c, is_alone && !is_pipe);
            done_command(&c);
            if (pid > 0 && !is_pipe)
                last_status = wait_for(pid);
        }
        done_command(&c);
        c.in = ends[0];
        is_alone = !is_pipe;
        if (!is_pipe)
            skip = (t.op[0] == '&' && last_status != 0) || (strcmp(t.op, "||") == 0 && last_status == 0);
    }
    done_command(&c);
}

static int run_script(FILE *script, bool is_console) {
    char line[MAX_LINE];
    for (;;) {
        if (is_console) {
            printf("# ");
            fflush(stdout);
        }
        if (fgets(line, sizeof line, script) == NULL)
            return last_status;
        run_line(line);
    }
}

// ---- the machine

// The value of tally.run= on the kernel command line, which may stand in double quotes:
// tally.run="a b". NULL: there is none.
static char *command_of_kernel(char *line) {
    static const char key[] = "tally.run=";
    bool is_quoted = false;
    for (char *at = line; *at != '\0'; at++) {
        bool is_start = at == line || ((at[-1] == ' ' || at[-1] == '"') && !is_quoted) || (at[-1] == '"' && is_quoted);
        if (is_start && strncmp(at, key, strlen(key)) == 0) {
            char *value = at + strlen(key);
            if (*value == '"')
                value[1 + strcspn(value + 1, "\"")] = '\0', value++;
            else
                value[strcspn(value, is_quoted ? "\"" : " \n")] = '\0';
            return value;
        }
        is_quoted ^= *at == '"';
    }
    return NULL;
}

static void mount_all(void) {
    static const struct {
        const char *type, *folder;
    } mounts[] = {{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}};
    for (size_t i = 0; i < sizeof mounts / sizeof mounts[0]; i++) {
        mkdir(mounts[i].folder, 0755);
        if (mount(mounts[i].type, mounts[i].folder, mounts[i].type, 0, "") != 0)
            complain(mounts[i].folder);
    }
}

// The console becomes our terminal, so that Ctrl-C reaches what runs. /dev/console itself cannot be
// one.
static void take_terminal(void) {
    char path[64] = "/dev/";
    FILE *active = fopen("/sys/class/tty/console/active", "re");
    if (active == NULL)
        return;
    bool is_known = fscanf(active, "%32s", path + 5) == 1;
    fclose(active);
    int terminal = is_known ? open(path, O_RDWR) : -1;
    if (terminal < 0)
        return;
    setsid();
    for (int fd = 0; fd < 3; fd++)
        dup2(terminal, fd);
    ioctl(terminal, TIOCSCTTY, 0);
    close(terminal);
    signal(SIGINT, SIG_IGN);
}

static bool has_busybox(void) { return access("/bin/busybox", X_OK) == 0; }

static int run_busybox(const char *run, bool is_console) {
    const char *words[] = {"sh", run != NULL ? "-c" : is_console ? "-i" : "/etc/rc", run, NULL};
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGINT, SIG_DFL);
        execv("/bin/busybox", (char *const *)(uintptr_t)words);
        _exit(complain("/bin/busybox"));
    }
    return pid < 0 ? complain("fork") : wait_for(pid);
}

int main(int n_args, char **args) {
    if (getpid() != 1) { // a shell: init COMMAND
        if (n_args != 2) {
            fprintf(stderr, "usage: init COMMAND\n");
            return 2;
        }
        run_line(args[1]);
        return last_status;
    }
    mount_all();
    setenv("PATH", "/bin:/sbin:/usr/bin", 1);
    setenv("HOME", "/root", 1);
    setenv("PAGER", "cat", 1); // else perf searches for another pager
    chdir("/root");

    static char line[MAX_LINE];
    int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    close(fd);
    char *run = n < 0 ? NULL : command_of_kernel(line);
    FILE *script = run != NULL ? NULL : fopen("/etc/rc", "re");
    bool is_console = run == NULL && script == NULL;
    if (is_console) {
        take_terminal();
        printf("Linux is up; `%s` lists commands, `exit` turns the machine off\n", has_busybox() ? "busybox" : "help");
    }
    if (has_busybox())
        last_status = run_busybox(run, is_console);
    else if (run != NULL)
        run_line(run);
    else
        run_script(is_console ? stdin : script, is_console);
    power_off(last_status);
}
