// SPDX-License-Identifier: MIT
// Finds the program of a command line.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"

// Searches the folders that every Linux has, below `root`. A link counts, because its target is the
// guest's to resolve.
static char *find_below(const char *root, const char *name, bool *ret_found) {
    static const char *const folders[] = {"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        size_t size = strlen(root) + strlen(folders[i]) + strlen(name) + 3;
        char *candidate = malloc(size);
        struct stat about;
        if (!candidate)
            break;
        snprintf(candidate, size, "%s%s/%s", root, folders[i], name);
        if (lstat(candidate, &about) == 0 && (S_ISLNK(about.st_mode) || (S_ISREG(about.st_mode) && about.st_mode & 0111))) {
            snprintf(candidate, size, "%s/%s", folders[i], name);
            return candidate;
        }
        free(candidate);
    }
    *ret_found = false;
    return NULL;
}

char *cli_find_program(const char *name, const char *root, bool *ret_found) {
    *ret_found = true;
    if (strchr(name, '/'))
        return strdup(name);
    if (root)
        return find_below(root, name, ret_found);
    const char *path = getenv("PATH");
    char *fallback = NULL;
    for (const char *at = path ? path : "/usr/bin:/bin"; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        size_t length = strcspn(at, ":");
        size_t size = length + strlen(name) + 4;
        char *candidate = malloc(size);
        struct stat about;
        if (!candidate)
            break;
        snprintf(candidate, size, "%.*s/%s", length ? (int)length : 1, length ? at : ".", name);
        if (stat(candidate, &about) == 0 && S_ISREG(about.st_mode)) {
            if (access(candidate, X_OK) == 0) {
                free(fallback);
                return candidate;
            }
            if (!fallback) {
                fallback = candidate;
                continue;
            }
        }
        free(candidate);
    }
    *ret_found = fallback != NULL;
    return fallback;
}

void cli_explain_not_found(const char *name, const char *root, char *ret_sentence, size_t size) {
    if (root && !strchr(name, '/'))
        snprintf(ret_sentence, size, "%s: not found below --root %s; in its folders bin and sbin are looked up names without a slash", name,
                 root);
    else if (strchr(name, '/'))
        snprintf(ret_sentence, size, "%s: there is no such program", name);
    else if (access(name, F_OK) == 0)
        snprintf(ret_sentence, size, "%s: not found in PATH; the one in this folder is ./%s", name, name);
    else
        snprintf(ret_sentence, size, "%s: not found in PATH", name);
}

int cli_say_not_found(const char *name, const char *root) {
    char sentence[CLI_SENTENCE_BYTES];
    cli_explain_not_found(name, root, sentence, sizeof sentence);
    fprintf(stderr, "tally: %s\n", sentence);
    return STATUS_NOT_FOUND;
}

int cli_status_of_run(tl_status status) {
    switch (status) {
    case TL_OK: return 0;
    case TL_ENOENT:
    case TL_EINVAL: return STATUS_USAGE;
    case TL_EACCESS:
    case TL_EFORMAT: return STATUS_NOT_EXECUTABLE;
    default: return STATUS_FAILED;
    }
}

int cli_status_of_question(tl_status status) {
    return status == TL_OK ? 0 : status == TL_ENOENT || status == TL_EINVAL ? STATUS_USAGE : STATUS_FAILED;
}
