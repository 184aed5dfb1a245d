/* cp.h - what the files of context parallelism share: one call's sizes, buffers, and the ring's steps. */
#ifndef DT_RUNTIME_CP_H
#define DT_RUNTIME_CP_H

#include "dtrain_cp.h"
#include "runtime/lane.h"

/* A block of keys and values, or of their gradients. */
struct dt_cp_pair {
    char *k, *v;
};

/* One call, checked. */
struct dt_cp_call {
    const struct dtrain_cp *cp;
    struct dt_lane lane;
    int size, rank;
    size_t own, most; /* tokens: the own ones, the most that any rank has */
    char *workspace;  /* what is left of it */
};

struct dt_lane dt_cp_lane(const struct dtrain_cp *cp);

/* Handles and types. */
int dt_cp_check(const struct dtrain_cp *cp, const char *function, struct dtrain_error *err);

/* Checks cp, its sizes and the workspace, and fills the call. */
int dt_cp_call_begin(struct dt_cp_call *call, const struct dtrain_cp *cp, const char *function,
                     void *workspace, struct dtrain_error *err);

/* Takes `most` tokens of width elements, aligned, from the workspace. */
void *dt_cp_call_take(struct dt_cp_call *call, size_t width, enum dtrain_type type);
struct dt_cp_pair dt_cp_call_take_pair(struct dt_cp_call *call, enum dtrain_type type);

/* Tokens of a rank. */
size_t dt_cp_tokens_of(const struct dtrain_cp *cp, int rank);

/* Sends `from`, of rank `sent`'s tokens, to the next rank; gets that of `received` from the one before. */
int dt_cp_pass(const struct dt_cp_call *call, const struct dt_cp_pair *from, int sent,
               const struct dt_cp_pair *to, int received, enum dtrain_type type, struct dtrain_error *err);

/* The block of a step's owner, with k and v. */
struct dtrain_cp_block dt_cp_block_of(const struct dt_cp_call *call, int owner,
                                      const struct dt_cp_pair *keys);

/* x, from row `row` of `width` elements of type on. */
static inline void *dt_cp_at(void *x, size_t row, size_t width, enum dtrain_type type)
{
    return (char *)x + row * width * dtrain_type_size(type);
}

#endif
