/*
 * opinion.h - what the ranks believe they are part of, summed up on the way to
 * rank 0: equal ones become one entry with the lowest rank that holds it.
 * Pure.
 */
#ifndef DT_RUNTIME_OPINION_H
#define DT_RUNTIME_OPINION_H

#include "core/plan.h"
#include "runtime/wire.h"

#define DT_OPINION_VERSION_MAX 24
#define DT_OPINION_BACKEND_MAX 16
#define DT_OPINION_AXES_MAX 128
#define DT_OPINION_DEVICE_MAX 32
#define DT_OPINIONS_MAX 9 /* rank 0's and eight that differ */
/* Bytes of one in a message, at most. */
#define DT_OPINION_WIRE_MAX \
    (24 + 8 + DT_OPINION_VERSION_MAX + DT_OPINION_BACKEND_MAX + DT_OPINION_AXES_MAX + DT_OPINION_DEVICE_MAX)

struct dt_opinion {
    uint32_t rank;  /* the lowest rank that holds it */
    uint32_t count; /* how many do */
    uint64_t plan_hash;
    uint64_t config_hash;                 /* of the communicators' configuration */
    char version[DT_OPINION_VERSION_MAX]; /* of the library */
    char backend[DT_OPINION_BACKEND_MAX]; /* with its version: "nccl 2.28.9" */
    char axes[DT_OPINION_AXES_MAX];       /* "tp=8 pp=2 dp=2 order=tp-cp-ep-dp-pp" */
    char device[DT_OPINION_DEVICE_MAX];   /* of that rank; "": none, or of several ranks. Not compared */
};

/* Zero-initialise. Those past DT_OPINIONS_MAX are dropped: enough others differ by then. */
struct dt_opinions {
    uint32_t n;
    struct dt_opinion items[DT_OPINIONS_MAX];
};

/* config_hash and device are left 0 and "". */
void dt_opinion_init(struct dt_opinion *opinion, uint32_t rank, const struct dt_plan *plan,
                     uint64_t plan_hash, const char *backend);

bool dt_opinion_equals(const struct dt_opinion *a, const struct dt_opinion *b);
void dt_opinions_add(struct dt_opinions *opinions, const struct dt_opinion *opinion);

/* Whether all agree with the first. Else text names the odd ranks and both values. */
bool dt_opinions_agree(const struct dt_opinions *opinions, const struct dt_plan *plan, char *text,
                       size_t size);

void dt_opinions_write(struct dt_buffer *buffer, const struct dt_opinions *opinions);
/* Adds what was read. */
void dt_opinions_read(struct dt_reader *reader, struct dt_opinions *opinions);

/* "rank 5 on n2"; a rank outside the plan has no node. Returns text. */
char *dt_rank_text(const struct dt_plan *plan, uint32_t rank, char *text, size_t size);
#define DT_RANK_TEXT_MAX 300

#endif
