/* backend_choice.h - which backend this process uses (backend.c). */
#ifndef DT_RUNTIME_BACKEND_CHOICE_H
#define DT_RUNTIME_BACKEND_CHOICE_H

#include "core/plan.h"
#include "runtime/backend.h"

/* NULL with the reason when what was asked for cannot be used. What was tried and why is logged. */
const struct dt_backend *dt_backend_choose(enum dt_backend_choice choice, const struct dt_log *log,
                                           struct dtrain_error *err);

#endif
