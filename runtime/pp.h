/* pp.h - a pipeline as its files see it: pp.c makes it, pp_run.c runs it. */
#ifndef DT_RUNTIME_PP_H
#define DT_RUNTIME_PP_H

#include "pp_plan.h"

/* That operations go to by turns, so that each of the last ones can be waited for alone. */
#define DT_PP_STREAMS 4

/* Weights of both ends of the model. */
struct dt_pp_tied {
    struct dt_pp_tied *next;
    void *gradient; /* NULL between the ends */
    void *piece;    /* of the other end */
    size_t count, piece_count;
    enum dtrain_type type;
};

struct dtrain_pp {
    struct dtrain_world *world;
    struct dtrain_comm *comm; /* borrowed */
    struct dtrain_group group;
    struct dtrain_pp_options options; /* what it points to is this struct's own */
    struct dt_schedule *schedule;
    struct dt_pp_plan plan;
    bool is_queued; /* callbacks only queue work: inputs need not be there when one is called */

    struct dtrain_stream *compute, *streams[DT_PP_STREAMS];
    void *buffers; /* [plan.buffers][buffer_bytes] */
    size_t buffer_bytes;
    void **parameters; /* [1 + plan.stashes][parameter_count]: the live ones, then each stash */
    struct dtrain_pp_shape *input_shapes, *output_shapes; /* [chunks][shape_rows] */
    int shape_rows;                                       /* microbatches where shapes vary, else 1 */
    void *announced; /* variable shapes: on their way, in the backend's memory */
    int *firsts;     /* [model stages + 1]: layers; NULL: not told */
    struct dt_pp_tied *tied;

    struct dtrain_pp_event *events; /* [plan.count] */
    int posted;                     /* operations of this run */
    int ended;                      /* that are known to have */
    size_t *operation_steps;        /* [operation]: its first step */
    bool has_failed;
    struct dtrain_error failure; /* the first */
};

static inline int dt_pp_model_stage(const struct dtrain_pp *pp, int chunk)
{
    return dt_schedule_model_stage(&pp->schedule->request, pp->group.rank, chunk);
}

static inline bool dt_pp_is_last(const struct dtrain_pp *pp, int chunk)
{
    return dt_pp_model_stage(pp, chunk) == dt_schedule_model_stages(&pp->schedule->request) - 1;
}

/* Where the shape of a microbatch at a chunk's input or output stands. */
static inline size_t dt_pp_shape_index(const struct dtrain_pp *pp, int chunk, int microbatch)
{
    return (size_t)chunk * (size_t)pp->shape_rows + (size_t)(pp->shape_rows > 1 ? microbatch : 0);
}

static inline int dt_pp_rank_of(const struct dtrain_pp *pp, int stage)
{
    return dtrain_group_member(pp->world, &pp->group, stage);
}

/* ---- pp_shape.c ------------------------------------------------------------ */

#define DT_PP_SHAPE_NUMBERS (1 + DTRAIN_PP_DIMS_MAX) /* of a shape on its way: rank, dims */

/* Elements; 0: it is none (a rank out of range, a dimension of 0, more than memory can hold). */
size_t dt_pp_shape_count(const struct dtrain_pp_shape *shape);
bool dt_pp_shape_same(const struct dtrain_pp_shape *a, const struct dtrain_pp_shape *b);
/* "[4, 128, 64]". Returns buf. */
#define DT_PP_SHAPE_TEXT_MAX 192
char *dt_pp_shape_text(const struct dtrain_pp_shape *shape, char buf[DT_PP_SHAPE_TEXT_MAX]);
void dt_pp_shape_pack(int64_t numbers[DT_PP_SHAPE_NUMBERS], const struct dtrain_pp_shape *shape);
void dt_pp_shape_unpack(struct dtrain_pp_shape *shape, const int64_t numbers[DT_PP_SHAPE_NUMBERS]);

/* Variable shapes: from stage to stage, before the data. */
int dt_pp_shapes_announce(struct dtrain_pp *pp, struct dtrain_error *err);

/* ---- pp_agree.c ------------------------------------------------------------- */

/* The options by themselves. */
int dt_pp_options_check(const struct dtrain_pp_options *options, int stage, int stages,
                        struct dtrain_error *err);

/*
 * Collective over the pp group: -1 on all stages when one refused its options (own: the reason there, else
 * NULL) or when they differ.
 */
int dt_pp_agree(struct dtrain_world *world, const struct dtrain_group *group, struct dtrain_comm *comm,
                const struct dtrain_pp_options *options, const struct dtrain_error *own,
                struct dtrain_error *err);

/* ---- pp_run.c ---------------------------------------------------------------- */

/* What a callback for a microbatch gets, without buffers. */
struct dtrain_pp_work dt_pp_work(const struct dtrain_pp *pp, int chunk, int microbatch);

/* Ends the run on all stages. Always -1. */
int dt_pp_fail(struct dtrain_pp *pp, const char *what, const struct dtrain_error *why,
               struct dtrain_error *err);

/* ---- pp_tied.c ---------------------------------------------------------------- */

int dt_pp_tied_reduce(struct dtrain_pp *pp, struct dtrain_error *err);
void dt_pp_tied_clear(struct dtrain_pp *pp);

#endif
