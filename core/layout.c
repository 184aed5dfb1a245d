#include "layout.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const axis_names[DT_AXIS_COUNT] = {
    [DT_TP] = "tp", [DT_CP] = "cp", [DT_EP] = "ep", [DT_DP] = "dp", [DT_PP] = "pp",
};

/* The axis that a grid does not have: its size is 1 there. */
static const enum dt_axis absent_axis[DT_GRID_COUNT] = {[DT_DENSE] = DT_EP, [DT_EXPERT] = DT_CP};

const char *dt_axis_name(enum dt_axis axis)
{
    return axis_names[axis];
}

/* Index of the axis named by text[0 .. n-1] in either case; DT_AXIS_COUNT: none. */
static enum dt_axis axis_find(const char *text, size_t n)
{
    unsigned axis;

    for (axis = 0; axis < DT_AXIS_COUNT; axis++)
        if (n == 2 && tolower((unsigned char)text[0]) == axis_names[axis][0] &&
            tolower((unsigned char)text[1]) == axis_names[axis][1])
            break;
    return (enum dt_axis)axis;
}

/* Splits "a-b-c" into axes in the order they are named. */
static int axes_split(uint8_t axes[DT_AXIS_COUNT], unsigned *count, const char *text,
                      const char *what, struct dtrain_error *err)
{
    unsigned seen = 0;

    *count = 0;
    for (const char *word = text;; word++) {
        size_t n = strcspn(word, "-");
        enum dt_axis axis = axis_find(word, n);

        if (axis == DT_AXIS_COUNT)
            return dt_error_set(err, "%s: '%.*s' in '%.40s' is no axis: expected tp, cp, ep, dp or pp, "
                                     "joined by '-'",
                                what, n < 16 ? (int)n : 16, word, text);
        if (seen & 1u << axis)
            return dt_error_set(err, "%s: axis %s stands twice in '%.40s'", what, axis_names[axis],
                                text);
        seen |= 1u << axis;
        axes[(*count)++] = (uint8_t)axis;
        word += n;
        if (*word == '\0')
            return 0;
    }
}

int dt_axes_parse(unsigned *axes, enum dt_grid grid, const char *text, struct dtrain_error *err)
{
    uint8_t list[DT_AXIS_COUNT];
    unsigned count;

    if (axes_split(list, &count, text, "groups", err))
        return -1;
    *axes = 0;
    for (unsigned i = 0; i < count; i++) {
        if (list[i] == absent_axis[grid])
            return dt_error_set(err, "groups: the %s grid has no axis %s in '%.40s'",
                                grid == DT_DENSE ? "dense" : "expert", axis_names[list[i]], text);
        *axes |= 1u << list[i];
    }
    return 0;
}

/* The order as asked for, then the axes that it leaves out. */
static int order_init(struct dt_layout *layout, unsigned *named, const char *text,
                      struct dtrain_error *err)
{
    unsigned count;

    if (text == NULL || text[0] == '\0')
        text = DT_ORDER_DEFAULT;
    if (axes_split(layout->order, &count, text, "--dtrain-order", err))
        return -1;
    *named = 0;
    for (unsigned i = 0; i < count; i++)
        *named |= 1u << layout->order[i];
    for (unsigned axis = 0; axis < DT_AXIS_COUNT; axis++)
        if (!(*named & 1u << axis))
            layout->order[count++] = (uint8_t)axis;
    return 0;
}

static uint32_t or_one(uint32_t size)
{
    return size ? size : 1;
}

/* world / (a * b * c), refusing what does not divide. names: "tp", "cp", ... of the three sizes. */
static int size_derive(uint32_t *rest, uint32_t world, const uint32_t size[3],
                       const char *const names[3], const char *derived, struct dtrain_error *err)
{
    uint64_t product = 1;

    for (int i = 0; i < 3 && product <= world; i++)
        product *= size[i];
    if (product <= world && world % product == 0) {
        *rest = (uint32_t)(world / product);
        return 0;
    }
    if (product > world)
        return dt_error_set(err,
                            "%u task%s too few for %s=%u x %s=%u x %s=%u: start a multiple of their "
                            "product, or "
                            "lower --dtrain-%s=%u",
                            world, world == 1 ? " is" : "s are", names[0], size[0], names[1], size[1],
                                names[2], size[2],
                            names[size[0] >= size[2] ? 0 : 2], size[size[0] >= size[2] ? 0 : 2]);
    return dt_error_set(err,
                        "%u task%s cannot be divided into %s by %s=%u x %s=%u x %s=%u = %llu: use -n %llu "
                        "or -n "
                        "%llu, or sizes whose product divides %u",
                        world, world == 1 ? "" : "s", derived, names[0], size[0], names[1], size[1],
                            names[2], size[2],
                        (unsigned long long)product, (unsigned long long)(world - world % product),
                        (unsigned long long)(world - world % product + product), world);
}

static int sizes_init(struct dt_layout *layout, const struct dt_layout_request *request,
                      struct dtrain_error *err)
{
    static const char *const dense_names[3] = {"tp", "cp", "pp"};
    static const char *const expert_names[3] = {"etp", "ep", "pp"};
    uint32_t tp = or_one(request->tp), pp = or_one(request->pp), cp = or_one(request->cp);
    uint32_t etp = request->etp ? request->etp : tp, ep = or_one(request->ep);
    uint32_t *dense = layout->size[DT_DENSE], *expert = layout->size[DT_EXPERT];

    if (size_derive(&dense[DT_DP], layout->world, (const uint32_t[3]){tp, cp, pp}, dense_names,
                    "data parallel replicas", err))
        return -1;
    if (size_derive(&expert[DT_DP], layout->world, (const uint32_t[3]){etp, ep, pp}, expert_names,
                    "expert replicas", err))
        return -1;
    dense[DT_TP] = tp;
    dense[DT_CP] = cp;
    dense[DT_PP] = expert[DT_PP] = pp;
    dense[DT_EP] = expert[DT_CP] = 1;
    expert[DT_TP] = etp;
    expert[DT_EP] = ep;
    if (request->dp && request->dp != dense[DT_DP])
        return dt_error_set(err,
                            "--dtrain-dp=%u disagrees: %u tasks over tp=%u x cp=%u x pp=%u make dp=%u; use "
                            "-n %llu, "
                            "or leave --dtrain-dp out",
                            request->dp, layout->world, tp, cp, pp, dense[DT_DP],
                            (unsigned long long)request->dp * tp * cp * pp);
    return 0;
}

static void strides_init(struct dt_layout *layout, enum dt_grid grid)
{
    uint32_t stride = 1;

    for (unsigned i = 0; i < DT_AXIS_COUNT; i++) {
        layout->stride[grid][layout->order[i]] = stride;
        stride *= layout->size[grid][layout->order[i]];
    }
}

static int check_order_names_all(const struct dt_layout *layout, unsigned named,
                                 struct dtrain_error *err)
{
    char order[DT_ORDER_MAX];

    for (unsigned axis = 0; axis < DT_AXIS_COUNT; axis++) {
        uint32_t dense = layout->size[DT_DENSE][axis], expert = layout->size[DT_EXPERT][axis];
        uint32_t size = dense > expert ? dense : expert;

        if (size > 1 && !(named & 1u << axis))
            return dt_error_set(err, "--dtrain-order leaves out %s, whose size is %u: name it, for "
                                     "instance %s",
                                axis_names[axis], size, dt_layout_order_text(layout, order));
    }
    return 0;
}

/*
 * Both grids must have the same pipeline groups. The second condition is
 * Megatron-LM's own: an order that does not end in pp needs equal replicas.
 */
static int check_pipelines_agree(const struct dt_layout *layout, unsigned named,
                                 struct dtrain_error *err)
{
    unsigned last = DT_AXIS_COUNT - 1;
    char order[DT_ORDER_MAX];
    bool ends_in_pp;

    while (!(named & 1u << layout->order[last]))
        last--;
    ends_in_pp = layout->order[last] == DT_PP;
    if (layout->size[DT_DENSE][DT_PP] == 1)
        return 0;
    if (layout->stride[DT_DENSE][DT_PP] == layout->stride[DT_EXPERT][DT_PP] &&
        (ends_in_pp || layout->size[DT_DENSE][DT_DP] == layout->size[DT_EXPERT][DT_DP]))
        return 0;
    return dt_error_set(err,
                        "--dtrain-order=%s does not end in pp, and dp=%u of the dense grid differs from "
                        "edp=%u of the "
                        "expert grid: their pipelines would differ; put pp last, or choose etp x ep = tp x "
                        "cp",
                        dt_layout_order_text(layout, order), layout->size[DT_DENSE][DT_DP],
                        layout->size[DT_EXPERT][DT_DP]);
}

int dt_layout_init(struct dt_layout *layout, uint32_t world,
                   const struct dt_layout_request *request, struct dtrain_error *err)
{
    unsigned named;

    memset(layout, 0, sizeof(*layout));
    if (world < 1 || world > DT_WORLD_MAX)
        return dt_error_set(err, "a world of %u ranks is not possible: expected 1 to %u", world,
            DT_WORLD_MAX);
    layout->world = world;
    if (order_init(layout, &named, request->order, err))
        return -1;
    if (sizes_init(layout, request, err))
        return -1;
    strides_init(layout, DT_DENSE);
    strides_init(layout, DT_EXPERT);
    if (check_order_names_all(layout, named, err))
        return -1;
    return check_pipelines_agree(layout, named, err);
}

char *dt_layout_order_text(const struct dt_layout *layout, char buf[DT_ORDER_MAX])
{
    snprintf(buf, DT_ORDER_MAX, "%s-%s-%s-%s-%s", axis_names[layout->order[0]],
             axis_names[layout->order[1]], axis_names[layout->order[2]],
             axis_names[layout->order[3]], axis_names[layout->order[4]]);
    return buf;
}

uint32_t dt_layout_coord(const struct dt_layout *layout, enum dt_grid grid, enum dt_axis axis,
                         uint32_t rank)
{
    return rank / layout->stride[grid][axis] % layout->size[grid][axis];
}

uint32_t dt_group_size(const struct dt_layout *layout, enum dt_grid grid, unsigned axes)
{
    uint32_t size = 1;

    for (unsigned axis = 0; axis < DT_AXIS_COUNT; axis++)
        if (axes & 1u << axis)
            size *= layout->size[grid][axis];
    return size;
}

uint32_t dt_group_count(const struct dt_layout *layout, enum dt_grid grid, unsigned axes)
{
    return layout->world / dt_group_size(layout, grid, axes);
}

/* The rank's coordinates on the axes of a set, as one number: earlier in the order = faster. */
static uint32_t coords_pack(const struct dt_layout *layout, enum dt_grid grid, unsigned axes,
                            uint32_t rank)
{
    uint32_t packed = 0, unit = 1;

    for (unsigned i = 0; i < DT_AXIS_COUNT; i++) {
        enum dt_axis axis = layout->order[i];

        if (!(axes & 1u << axis))
            continue;
        packed += unit * dt_layout_coord(layout, grid, axis, rank);
        unit *= layout->size[grid][axis];
    }
    return packed;
}

/* The inverse: what these coordinates add to a rank. */
static uint32_t coords_unpack(const struct dt_layout *layout, enum dt_grid grid, unsigned axes,
                              uint32_t packed)
{
    uint32_t rank = 0;

    for (unsigned i = 0; i < DT_AXIS_COUNT; i++) {
        enum dt_axis axis = layout->order[i];

        if (!(axes & 1u << axis))
            continue;
        rank += packed % layout->size[grid][axis] * layout->stride[grid][axis];
        packed /= layout->size[grid][axis];
    }
    return rank;
}

uint32_t dt_group_index(const struct dt_layout *layout, enum dt_grid grid, unsigned axes,
                        uint32_t rank)
{
    return coords_pack(layout, grid, ~axes, rank);
}

uint32_t dt_group_rank(const struct dt_layout *layout, enum dt_grid grid, unsigned axes,
                       uint32_t rank)
{
    return coords_pack(layout, grid, axes, rank);
}

uint32_t dt_group_member(const struct dt_layout *layout, enum dt_grid grid, unsigned axes,
                         uint32_t index, uint32_t i)
{
    assert(index < dt_group_count(layout, grid, axes) && i < dt_group_size(layout, grid, axes));
    return coords_unpack(layout, grid, ~axes, index) + coords_unpack(layout, grid, axes, i);
}
