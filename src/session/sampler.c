// SPDX-License-Identifier: MIT
// Sampling of the host: see sampler.h. The handler finds its sampler in the signal itself, so there
// is no variable of the process, and two runs in two threads sample apart.
#include "session/sampler.h"

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { PERIOD_NS = 1000000 }; // the kernel's clock tick may make it longer

// The place where the processor was interrupted; NULL where we do not know how to tell.
static const uint8_t *place_of(const ucontext_t *context) {
#if defined(__x86_64__)
    return (const uint8_t *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
    (void)context;
    return NULL;
#endif
}

static void on_sample(int number, siginfo_t *info, void *context) {
    (void)number;
    tl_sampler *sampler = info->si_value.sival_ptr;
    if (info->si_code != SI_TIMER || !sampler)
        return; // a foreign signal
    const tl_machine *machine = sampler->machine;
    tl_host_profile *seen = &sampler->seen;
    seen->n_samples++;
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        const tl_hart *h = machine->harts[i];
        const uint8_t *place;
        switch ((tl_host_phase)h->host_phase) {
        case TL_HOST_BUILDING: seen->translation++; return;
        case TL_HOST_STEPPING: seen->stepping++; return;
        case TL_HOST_THREADED: seen->interpreted++; return;
        case TL_HOST_RUNNING:
            place = place_of(context);
            if (h->host_code && place >= h->host_code && place < h->host_code + h->host_code_bytes)
                seen->translated++;
            else
                seen->models++;
            return;
        case TL_HOST_ELSEWHERE:
        case TL_N_HOST_PHASES: break;
        }
    }
    seen->system++;
}

void tl_sampler_begin(tl_sampler *sampler) {
    if (!sampler->machine)
        return;
    struct sigaction action = {.sa_sigaction = on_sample, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF, .sigev_value.sival_ptr = sampler};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    // Processor time: a thread that waits for the host is not woken.
    const struct itimerspec period = {.it_interval.tv_nsec = PERIOD_NS, .it_value.tv_nsec = 1};
    sigset_t blocked;
    if (pthread_sigmask(SIG_SETMASK, NULL, &blocked) != 0 || sigismember(&blocked, SIGPROF))
        return;
    // The handler stays: another thread may be sampling, and without it the signal is deadly.
    if (sigaction(SIGPROF, &action, NULL) != 0)
        return;
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &sampler->timer) == 0) {
        sampler->is_running = timer_settime(sampler->timer, 0, &period, NULL) == 0;
        if (sampler->is_running)
            return;
        timer_delete(sampler->timer);
    }
}

void tl_sampler_end(tl_sampler *sampler) {
    if (!sampler->is_running)
        return;
    sampler->is_running = false;
    timer_delete(sampler->timer); // a signal that was pending has been delivered when this returns
}
