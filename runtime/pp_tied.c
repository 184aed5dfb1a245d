#include <stdlib.h>

#include "pp.h"
#include "runtime/math.h"
#include "runtime/type.h"

/*
 * The ends of the model swap their gradients, a piece at a time, and each adds the other's: a + b is b + a,
 * so both get the same bits.
 */
#define PIECE_BYTES (4u << 20)

static bool is_end(const struct dtrain_pp *pp)
{
    return pp->group.rank == 0 || pp->group.rank == pp->group.size - 1;
}

static int check(const struct dtrain_pp *pp, const void *gradient, size_t count, enum dtrain_type type,
                 struct dtrain_error *err)
{
    enum dtrain_pp_kind kind = pp->options.kind;

    if (kind == DTRAIN_PP_PIPEDREAM || kind == DTRAIN_PP_INFERENCE)
        return dt_error_set(err, "dtrain_pp_tied: the schedule %s has no gradients at the end of a step",
                            dtrain_pp_kind_name(kind));
    if (type != DTRAIN_FLOAT32 && type != DTRAIN_FLOAT64 && type != DTRAIN_BFLOAT16 && type != DTRAIN_FLOAT16)
        return dt_error_set(err, "dtrain_pp_tied: gradients of %s: expected a floating-point type",
                            dt_type_name(type));
    if (count == 0)
        return dt_error_set(err, "dtrain_pp_tied: count is 0: expected the gradient's elements");
    if (is_end(pp) != (gradient != NULL))
        return dt_error_set(err,
                            "dtrain_pp_tied: gradient is %s on stage %d of %d: the first and the last stage "
                            "give one, the others NULL",
                            gradient != NULL ? "given" : "NULL", pp->group.rank, pp->group.size);
    return 0;
}

/* Both ends must mean the same; who is wrong tells the other. */
static int agree(struct dtrain_pp *pp, const struct dt_pp_tied *tied, bool is_good, struct dtrain_error *err)
{
    int64_t own[3] = {is_good, (int64_t)tied->count, (int64_t)tied->type}, *all;
    size_t stages = (size_t)pp->group.size, bytes = stages * sizeof(own);
    void *memory = NULL;
    int rc = -1;

    all = calloc(stages, sizeof(own));
    if (all == NULL)
        return dt_error_memory(err, bytes, "what stages say of tied weights");
    if (dtrain_memory_alloc(pp->world, bytes, &memory, err) != 0)
        goto out;
    if (dtrain_copy((char *)memory + (size_t)pp->group.rank * sizeof(own), own, sizeof(own), pp->compute,
                    err) != 0 ||
        dtrain_all_gather(pp->comm, (char *)memory + (size_t)pp->group.rank * sizeof(own), memory, 3,
                          DTRAIN_INT64, pp->compute, err) != 0 ||
        dtrain_copy(all, memory, bytes, pp->compute, err) != 0)
        goto out;
    rc = dtrain_stream_synchronize(pp->compute, err);
    for (size_t s = 0; rc == 0 && s < stages; s++) {
        if (all[3 * s] == 0 && (int)s != pp->group.rank)
            rc = dt_error_set(err, "dtrain_pp_tied: stage %zu (rank %d) refused: see its own error", s,
                              dt_pp_rank_of(pp, (int)s));
        else if (all[3 * s] != 0 && (all[3 * s + 1] != all[1] || all[3 * s + 2] != all[2]) && all[0] != 0)
            rc = dt_error_set(err,
                              "dtrain_pp_tied: stage %zu (rank %d) ties %lld %s, stage 0 (rank %d) %lld %s",
                              s, dt_pp_rank_of(pp, (int)s), (long long)all[3 * s + 1],
                              dt_type_name((enum dtrain_type)all[3 * s + 2]), dt_pp_rank_of(pp, 0),
                              (long long)all[1], dt_type_name((enum dtrain_type)all[2]));
    }
out:
    (void)dtrain_stream_synchronize(pp->compute, NULL);
    dtrain_memory_free(pp->world, memory);
    free(all);
    return rc;
}

static int make(struct dtrain_pp *pp, struct dt_pp_tied *tied, struct dtrain_error *err)
{
    size_t element = dtrain_type_size(tied->type);

    tied->piece_count = PIECE_BYTES / element < tied->count ? PIECE_BYTES / element : tied->count;
    if (!is_end(pp) || pp->group.size == 1)
        return 0;
    return dtrain_memory_alloc(pp->world, tied->piece_count * element, &tied->piece, err);
}

int dtrain_pp_tied(struct dtrain_pp *pp, void *gradient, size_t count, enum dtrain_type type,
                   struct dtrain_error *err)
{
    struct dt_pp_tied **last, *tied;
    struct dtrain_error own = {""};
    bool is_good;

    if (pp == NULL)
        return dt_error_set(err, "dtrain_pp_tied: pp is NULL: create one with dtrain_pp_create()");
    tied = calloc(1, sizeof(*tied));
    if (tied == NULL)
        return dt_error_memory(err, sizeof(*tied), "tied weights");
    tied->gradient = gradient;
    tied->count = count;
    tied->type = type;
    is_good = check(pp, gradient, count, type, &own) == 0 && make(pp, tied, &own) == 0;
    if (agree(pp, tied, is_good, err) != 0 || !is_good) {
        dtrain_memory_free(pp->world, tied->piece);
        free(tied);
        return is_good ? -1 : dt_error_set(err, "%s", own.text);
    }
    for (last = &pp->tied; *last != NULL;)
        last = &(*last)->next;
    *last = tied;
    return 0;
}

void dt_pp_tied_clear(struct dtrain_pp *pp)
{
    while (pp->tied != NULL) {
        struct dt_pp_tied *next = pp->tied->next;

        dtrain_memory_free(pp->world, pp->tied->piece);
        free(pp->tied);
        pp->tied = next;
    }
}

/* ---- The sum ---------------------------------------------------------------------- */

static int add_piece(struct dtrain_pp *pp, const struct dt_pp_tied *tied, size_t first,
                     struct dtrain_error *err)
{
    size_t left = tied->count - first, n = left < tied->piece_count ? left : tied->piece_count;
    int other = pp->group.rank == 0 ? pp->group.size - 1 : 0;
    char *own = (char *)tied->gradient + first * dtrain_type_size(tied->type);
    const struct dtrain_transfer transfers[] = {
        {true, other, tied->type, n, own},
        {false, other, tied->type, n, tied->piece},
    };
    const struct dt_math sum = {
        .kind = DT_MATH_SCALE,
        .scale = {.to = own,
                  .from = tied->piece,
                  .to_type = tied->type,
                  .from_type = tied->type,
                  .n = n,
                  .by = {.factor = 1},
                  .accumulate = true},
    };

    if (dtrain_transfer(pp->comm, transfers, 2, pp->compute, err) != 0)
        return -1;
    return dt_math_enqueue(&sum, pp->compute, err);
}

int dt_pp_tied_reduce(struct dtrain_pp *pp, struct dtrain_error *err)
{
    for (const struct dt_pp_tied *tied = pp->tied; tied != NULL; tied = tied->next) {
        if (tied->piece == NULL)
            continue;
        for (size_t first = 0; first < tied->count; first += tied->piece_count)
            if (add_piece(pp, tied, first, err) != 0)
                return -1;
    }
    return pp->tied != NULL ? dtrain_stream_synchronize(pp->compute, err) : 0;
}
