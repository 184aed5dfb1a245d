/* backend_nccl.h - the one symbol of the NCCL module, found by dlsym(). */
#ifndef DT_RUNTIME_BACKEND_NCCL_H
#define DT_RUNTIME_BACKEND_NCCL_H

#include "runtime/backend.h"

#define DT_BACKEND_NCCL_MODULE "libdtrain_nccl.so"
#define DT_BACKEND_NCCL_SYMBOL "dt_backend_nccl"

extern const struct dt_backend dt_backend_nccl;

#endif
