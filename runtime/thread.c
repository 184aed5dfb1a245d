#define _GNU_SOURCE
#include "thread.h"

#include <signal.h>
#include <string.h>

int dt_thread_start(pthread_t *thread, void *(*run)(void *), void *argument, const char *what,
                         struct dtrain_error *err)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return dt_error_set(err, "cannot start %s: %s", what, strerrordesc_np(error));
    return 0;
}
