// SPDX-License-Identifier: MIT
// Threads that run partitions ahead; see tenants_jobs.h. Only the thread of the run adds and waits.
#include "session/tenants_jobs.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "model/config.h"
#include "session/description.h"

typedef enum job_state { NONE, WAITS, RUNS, DONE } job_state;

typedef struct job { // of a partition
    job_state state;
    tl_os *os;
    uint64_t number; // the least is first
} job;

struct tl_tenants_jobs {
    pthread_mutex_t lock; // of all below, but for the list of threads
    pthread_cond_t added, done;
    job jobs[TL_MAX_PARTITIONS];
    uint64_t n_added;
    bool must_end;
    pthread_t threads[TL_MAX_PARTITIONS];
    uint32_t n_threads;
};

static job *first_that_waits(tl_tenants_jobs *jobs) {
    job *first = NULL;
    for (uint32_t i = 0; i < TL_MAX_PARTITIONS; i++) {
        job *j = &jobs->jobs[i];
        if (j->state == WAITS && (!first || j->number < first->number))
            first = j;
    }
    return first;
}

// Precondition: the caller has the lock, which others may have meanwhile.
static void do_job(tl_tenants_jobs *jobs, job *j) {
    j->state = RUNS;
    pthread_mutex_unlock(&jobs->lock);
    tl_os_run_ahead(j->os);
    pthread_mutex_lock(&jobs->lock);
    j->state = DONE;
    pthread_cond_signal(&jobs->done);
}

static void *work(void *ctx) {
    tl_tenants_jobs *jobs = ctx;
    pthread_mutex_lock(&jobs->lock);
    while (!jobs->must_end) {
        job *j = first_that_waits(jobs);
        if (j)
            do_job(jobs, j);
        else
            pthread_cond_wait(&jobs->added, &jobs->lock);
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

tl_status tl_tenants_jobs_open(uint32_t n_threads, tl_tenants_jobs **ret_jobs, tl_error *err) {
    sigset_t all, before;
    tl_tenants_jobs *jobs = calloc(1, sizeof *jobs);
    if (!jobs)
        return tl_no_memory(err);
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->added, NULL);
    pthread_cond_init(&jobs->done, NULL);
    sigfillset(&all); // signals are for the thread of the run
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (jobs->n_threads + 1 < n_threads && pthread_create(&jobs->threads[jobs->n_threads], NULL, work, jobs) == 0)
        jobs->n_threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    *ret_jobs = jobs;
    return TL_OK;
}

void tl_tenants_jobs_close(tl_tenants_jobs *jobs) {
    if (!jobs)
        return;
    pthread_mutex_lock(&jobs->lock);
    jobs->must_end = true;
    pthread_cond_broadcast(&jobs->added);
    pthread_mutex_unlock(&jobs->lock);
    for (uint32_t i = 0; i < jobs->n_threads; i++)
        pthread_join(jobs->threads[i], NULL);
    pthread_cond_destroy(&jobs->done);
    pthread_cond_destroy(&jobs->added);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
}

void tl_tenants_jobs_add(tl_tenants_jobs *jobs, uint32_t partition, tl_os *os) {
    pthread_mutex_lock(&jobs->lock);
    jobs->jobs[partition] = (job){.state = WAITS, .os = os, .number = jobs->n_added++};
    pthread_cond_signal(&jobs->added);
    pthread_mutex_unlock(&jobs->lock);
}

bool tl_tenants_jobs_has(tl_tenants_jobs *jobs, uint32_t partition) {
    pthread_mutex_lock(&jobs->lock);
    const bool result = jobs->jobs[partition].state != NONE;
    pthread_mutex_unlock(&jobs->lock);
    return result;
}

// The caller works itself rather than wait while jobs are there.
static void finish(tl_tenants_jobs *jobs, job *wanted) {
    while (wanted->state == WAITS || wanted->state == RUNS) {
        job *j = wanted->state == WAITS ? wanted : first_that_waits(jobs);
        if (j)
            do_job(jobs, j);
        else
            pthread_cond_wait(&jobs->done, &jobs->lock);
    }
}

void tl_tenants_jobs_wait(tl_tenants_jobs *jobs, uint32_t partition) {
    pthread_mutex_lock(&jobs->lock);
    finish(jobs, &jobs->jobs[partition]);
    jobs->jobs[partition].state = NONE;
    pthread_mutex_unlock(&jobs->lock);
}

void tl_tenants_jobs_settle(tl_tenants_jobs *jobs) {
    pthread_mutex_lock(&jobs->lock);
    for (uint32_t i = 0; i < TL_MAX_PARTITIONS; i++)
        finish(jobs, &jobs->jobs[i]);
    pthread_mutex_unlock(&jobs->lock);
}
