/*
 * layout.h - axes, their order, and the groups they make. Arithmetic only:
 * every function is constant in time and memory, whatever the world's size.
 *
 * Source of the order and of the groups: Megatron-LM's RankGenerator. For the
 * order t0-t1-..., rank = sum of coord(ti) * product over j < i of size(tj): t0
 * varies fastest. The dense grid is tp x cp x dp x pp; the expert grid etp x ep
 * x edp x pp lies over the same ranks in the same order.
 */
#ifndef DT_CORE_LAYOUT_H
#define DT_CORE_LAYOUT_H

#include <stdint.h>

#include "error.h"

/* Index of an axis; its bit in a set is 1 << index, equal to DTRAIN_TP .. DTRAIN_PP. */
enum dt_axis { DT_TP, DT_CP, DT_EP, DT_DP, DT_PP, DT_AXIS_COUNT };

enum dt_grid { DT_DENSE, DT_EXPERT, DT_GRID_COUNT };

#define DT_WORLD_MAX (1u << 24)      /* ranks in one plan */
#define DT_ORDER_MAX 32              /* bytes of an order's text with the NUL */
#define DT_ORDER_DEFAULT "tp-cp-ep-dp-pp"

/* What was asked for; 0 means not given: tp, cp, ep, pp become 1, etp becomes tp, dp is derived. */
struct dt_layout_request {
    uint32_t tp, cp, ep, dp, pp, etp;
    const char *order; /* NULL or "": the default; case does not matter */
};

struct dt_layout {
    uint32_t world;
    uint32_t size[DT_GRID_COUNT][DT_AXIS_COUNT];   /* of axes not in a grid: 1 */
    uint32_t stride[DT_GRID_COUNT][DT_AXIS_COUNT]; /* rank distance of one step on the axis */
    uint8_t order[DT_AXIS_COUNT];                  /* axes, fastest first */
};

/*
 * Refuses sizes that do not divide the world, a given dp that disagrees, an
 * order that repeats, misses (with size > 1) or does not know an axis, a grid of
 * experts whose pp groups differ from the dense ones.
 */
int dt_layout_init(struct dt_layout *layout, uint32_t world,
                   const struct dt_layout_request *request, struct dtrain_error *err);

/* "tp", "cp", ...; the expert grid's are "etp" and "edp" in messages. */
const char *dt_axis_name(enum dt_axis axis);

/* "tp-cp-ep-dp-pp" of the layout. Returns buf. */
char *dt_layout_order_text(const struct dt_layout *layout, char buf[DT_ORDER_MAX]);

uint32_t dt_layout_coord(const struct dt_layout *layout, enum dt_grid grid, enum dt_axis axis,
                         uint32_t rank);

/*
 * A set of axes: bits 1 << enum dt_axis. From text such as "tp" or "dp-cp"
 * (any order of names); refuses unknown, repeated and empty names, and axes
 * that the grid does not have (ep in the dense grid, cp in the expert grid).
 */
int dt_axes_parse(unsigned *axes, enum dt_grid grid, const char *text, struct dtrain_error *err);

/* A group: the ranks that differ only in the axes of a set. */
uint32_t dt_group_size(const struct dt_layout *layout, enum dt_grid grid, unsigned axes);
uint32_t dt_group_count(const struct dt_layout *layout, enum dt_grid grid, unsigned axes);
/* Which group the rank is in: numbered by the other axes, earlier in the order = faster. */
uint32_t dt_group_index(const struct dt_layout *layout, enum dt_grid grid, unsigned axes,
                        uint32_t rank);
/* Place of the rank inside its group: by the set's axes, earlier in the order = faster. */
uint32_t dt_group_rank(const struct dt_layout *layout, enum dt_grid grid, unsigned axes,
                       uint32_t rank);
/* World rank of member i of group `index`; both in range (asserted). */
uint32_t dt_group_member(const struct dt_layout *layout, enum dt_grid grid, unsigned axes,
                         uint32_t index, uint32_t i);

#endif
