/* thread.h - threads of the library: they take no signals, those are the program's. */
#ifndef DT_RUNTIME_THREAD_H
#define DT_RUNTIME_THREAD_H

#include <pthread.h>

#include "core/error.h"

/* what: for the error, "the thread of a stream". The caller joins. */
int dt_thread_start(pthread_t *thread, void *(*run)(void *), void *argument, const char *what,
                         struct dtrain_error *err);

#endif
