// SPDX-License-Identifier: MIT
// Files of sealed records; see tenants_records.h. A key is its owner's alone, so its file has mode
// 0600.
#include "session/tenants_records.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tl_status open_file(const tl_tenants *t, uint32_t vm, const char *suffix, FILE **ret_stream, tl_error *err) {
    char path[4096];
    const int n = snprintf(path, sizeof path, "%s/vm%u.%s", t->options.records, vm, suffix);
    if (n < 0 || (size_t)n >= sizeof path)
        return tl_fail(err, TL_EINVAL, "--records %.60s...: the path is too long; choose a shorter one", t->options.records);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    *ret_stream = fd >= 0 && fchmod(fd, 0600) == 0 ? fdopen(fd, "wb") : NULL;
    if (*ret_stream)
        return TL_OK;
    const int why = errno;
    if (fd >= 0)
        close(fd);
    return tl_fail(err, TL_EACCESS, "%.300s: cannot write sealed records there: %s; name a folder that exists", path, strerror(why));
}

static tl_status begin_one(tl_tenants *t, uint32_t vm, tl_error *err) {
    FILE *key = NULL, **records = &t->records[t->n_records];
    tl_status status = open_file(t, vm, "key", &key, err);
    if (status == TL_OK)
        status = open_file(t, vm, "records", records, err);
    if (status == TL_OK) {
        t->n_records++;
        status = t->monitor_type->seal(t->monitor, vm, *records, key, &t->arena, err);
    }
    if (key && (fflush(key) != 0 || ferror(key)) && status == TL_OK)
        status = tl_fail(err, TL_EIO, "%.200s/vm%u.key: cannot write the key: %s", t->options.records, vm, strerror(errno));
    if (key)
        fclose(key);
    return status;
}

tl_status tl_tenants_records_open(tl_tenants *t, tl_error *err) {
    tl_status status = TL_OK;
    bool is_any = false;
    if (!t->options.records)
        return TL_OK;
    if (!t->monitor || !t->monitor_type->seal)
        return tl_fail(err, TL_EINVAL, "--records %.60s: the run has no monitor that seals records; name one with monitor: in the file",
                       t->options.records);
    for (uint32_t i = 0; i < t->plan.n_vms; i++)
        is_any |= t->plan.vms[i].is_confidential;
    if (!is_any)
        return tl_fail(err, TL_EINVAL, "--records %.60s: no VM of %.160s is confidential; give one confidential: on", t->options.records,
                       t->plan.file_name);
    for (uint32_t i = 0; i < t->plan.n_vms && status == TL_OK; i++)
        if (t->plan.vms[i].is_confidential)
            status = begin_one(t, i + 1, err);
    return status;
}

tl_status tl_tenants_records_end(tl_tenants *t, tl_error *err) {
    for (uint32_t i = 0; i < t->n_records; i++)
        if (fflush(t->records[i]) != 0 || ferror(t->records[i]))
            return tl_fail(err, TL_EIO, "--records: a file of records is not complete: %s", strerror(errno));
    return TL_OK;
}

void tl_tenants_records_close(tl_tenants *t) {
    for (uint32_t i = 0; i < t->n_records; i++)
        fclose(t->records[i]);
    t->n_records = 0;
}
