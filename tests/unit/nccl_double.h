/*
 * nccl_double.h - worlds of processes whose backend is the NCCL module, on the
 * doubles of libnccl and libcudart, which end a process that breaks a rule.
 */
#ifndef DT_TESTS_NCCL_DOUBLE_H
#define DT_TESTS_NCCL_DOUBLE_H

#include "dtrain_nccl.h"
#include "tests/fake/nccl/fake_nccl.h"
#include "tests/unit/fork_world.h"

/* The module as a backend, from the build tree; ends the test when it is not there. */
extern struct dt_backend nccl_double;
void nccl_double_load(void);

struct nccl_row {
    struct fork_row row;  /* first: a body finds its row by it */
    const char *fail;     /* as FAKE_NCCL_FAIL; NULL: nothing */
    const char *version;  /* what ncclGetVersion() says; NULL: the truth */
    const char *config;   /* DTRAIN_NCCL_CONFIG; NULL: none */
    const char *variable; /* "NAME=value" more; NULL: none */
};

/* Sets this process up for its row and rank, then fork_init(). */
int nccl_double_init(struct dtrain_world **world, struct fork_step *step, uint32_t rank,
                     struct dtrain_error *err);

/* Memory of the device with these bytes; NULL and the reason. dtrain_memory_free() ends it. */
void *nccl_double_upload(struct dtrain_world *world, const void *bytes, size_t n, struct dtrain_error *err);
int nccl_double_download(struct dtrain_world *world, void *bytes, const void *memory, size_t n,
                         struct dtrain_error *err);

/* NULL, or what is wrong: an int32 sum of world ranks over the group of these axes. */
const char *nccl_double_sum(struct dtrain_world *world, unsigned axes, struct dtrain_error *err);

/* Whether the row's ranks said what they should. */
bool nccl_double_check(const struct nccl_row *row);

#endif
