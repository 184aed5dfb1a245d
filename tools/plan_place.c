#include "tools/plan_place.h"

#include <stdlib.h>
#include <string.h>

#include "core/hostlist.h"
#include "tools/console.h"
#include "tools/topo_json.h"
#include "tools/topo_text.h"

struct shape {
    uint32_t first_node;
    uint32_t *groups; /* of each local task, counted from 0 on the node */
    struct dt_binding *binding;
};

struct dt_plan_place {
    const struct dt_topo *topo;
    const struct dt_plan *plan;
    uint32_t shape_count;
    struct shape shapes[DT_PLAN_SHAPES_MAX];
    uint32_t *shape_of; /* of each node */
};

/* A task joins the group of its predecessor where that one is on the node, too. */
static void fill_groups(uint32_t *groups, const struct dt_plan *plan, uint32_t node)
{
    const struct dt_layout *layout = dt_plan_layout(plan);
    uint32_t first = dt_plan_node_first(plan, node), count = 0;

    for (uint32_t i = 0; i < dt_plan_node_tasks(plan, node); i++) {
        uint32_t place = dt_group_rank(layout, DT_DENSE, 1u << DT_TP, first + i);
        uint32_t index = dt_group_index(layout, DT_DENSE, 1u << DT_TP, first + i);
        uint32_t before = place == 0 ? 0 : dt_group_member(layout, DT_DENSE, 1u << DT_TP, index, place - 1);

        groups[i] = place > 0 && before >= first ? groups[before - first] : count++;
    }
}

static int bind_shape(struct dt_plan_place *place, struct shape *shape, struct dtrain_error *err)
{
    const struct dt_bind_request request = {
        .task_count = dt_plan_node_tasks(place->plan, shape->first_node),
        .group = shape->groups,
        .what = DT_BIND_GPU | DT_BIND_CPU | DT_BIND_NIC | DT_BIND_MEM,
    };

    if (dt_bind(&shape->binding, place->topo, &request, err) == 0)
        return 0;
    return dt_error_prefix(err, "tasks of %s", dt_plan_node_name(place->plan, shape->first_node));
}

/* The shape with these groups; a new one takes them over. */
static int find_shape(struct dt_plan_place *place, uint32_t node, uint32_t **groups, struct dtrain_error *err)
{
    uint32_t tasks = dt_plan_node_tasks(place->plan, node);
    struct shape *shape;

    for (uint32_t i = 0; i < place->shape_count; i++) {
        shape = &place->shapes[i];
        if (dt_plan_node_tasks(place->plan, shape->first_node) == tasks &&
            memcmp(shape->groups, *groups, tasks * sizeof(**groups)) == 0) {
            place->shape_of[node] = i;
            return 0;
        }
    }
    if (place->shape_count == DT_PLAN_SHAPES_MAX)
        return dt_error_set(
            err,
            "tasks of %s: the %u nodes before it are grouped in %u ways already: give the nodes "
            "counts of tasks that tp divides",
            dt_plan_node_name(place->plan, node), node, DT_PLAN_SHAPES_MAX);
    shape = &place->shapes[place->shape_count];
    *shape = (struct shape){.first_node = node, .groups = *groups};
    *groups = NULL;
    place->shape_of[node] = place->shape_count++;
    return bind_shape(place, shape, err);
}

static int place_node(struct dt_plan_place *place, uint32_t node, struct dtrain_error *err)
{
    size_t bytes = dt_plan_node_tasks(place->plan, node) * sizeof(uint32_t);
    uint32_t *groups = malloc(bytes);
    int rc;

    if (groups == NULL)
        return dt_error_memory(err, bytes, "the groups of a node");
    fill_groups(groups, place->plan, node);
    rc = find_shape(place, node, &groups, err);
    free(groups);
    return rc;
}

int dt_plan_place_create(struct dt_plan_place **place, const struct dt_topo *topo, const struct dt_plan *plan,
                         struct dtrain_error *err)
{
    uint32_t nodes = dt_plan_node_count(plan);
    int rc = 0;

    *place = calloc(1, sizeof(**place));
    if (*place == NULL)
        return dt_error_memory(err, sizeof(**place), "a placement");
    (*place)->topo = topo;
    (*place)->plan = plan;
    (*place)->shape_of = calloc(nodes, sizeof(uint32_t));
    if ((*place)->shape_of == NULL)
        rc = dt_error_memory(err, nodes * sizeof(uint32_t), "a placement");
    for (uint32_t node = 0; rc == 0 && node < nodes; node++)
        rc = place_node(*place, node, err);
    if (rc == 0)
        return 0;
    dt_plan_place_destroy(*place);
    *place = NULL;
    return -1;
}

void dt_plan_place_destroy(struct dt_plan_place *place)
{
    if (place == NULL)
        return;
    for (uint32_t i = 0; i < place->shape_count; i++) {
        free(place->shapes[i].groups);
        dt_binding_destroy(place->shapes[i].binding);
    }
    free(place->shape_of);
    free(place);
}

const struct dt_topo *dt_plan_place_topo(const struct dt_plan_place *place)
{
    return place->topo;
}

const struct dt_plan *dt_plan_place_plan(const struct dt_plan_place *place)
{
    return place->plan;
}

const struct dt_binding *dt_plan_place_binding(const struct dt_plan_place *place, uint32_t node)
{
    return place->shapes[place->shape_of[node]].binding;
}

static struct dt_topo_view view_of(const struct dt_plan_place *place, const struct shape *shape)
{
    return (struct dt_topo_view){place->topo, shape->binding, place->plan, shape->first_node};
}

/* ---- Text ---- */

/* The hostlist of all nodes of a shape; malloc'd. */
static int nodes_text(char **text, const struct dt_plan_place *place, uint32_t shape,
                      struct dtrain_error *err)
{
    uint32_t nodes = dt_plan_node_count(place->plan), count = 0;
    const char **names = malloc(nodes * sizeof(*names));
    int rc;

    if (names == NULL)
        return dt_error_memory(err, nodes * sizeof(*names), "node names");
    for (uint32_t node = 0; node < nodes; node++)
        if (place->shape_of[node] == shape)
            names[count++] = dt_plan_node_name(place->plan, node);
    rc = dt_hostlist_format(text, names, count, err);
    free(names);
    return rc;
}

static int print_shape(struct dt_out *out, const struct dt_plan_place *place, uint32_t i,
                       struct dtrain_error *err)
{
    const struct shape *shape = &place->shapes[i];
    const struct dt_topo_view view = view_of(place, shape);
    const char *first = dt_plan_node_name(place->plan, shape->first_node);
    char *nodes;

    if (nodes_text(&nodes, place, i, err) != 0)
        return -1;
    dt_out_printf(out, "\n%s", first);
    if (strcmp(nodes, first) != 0)
        dt_out_printf(out, ", and with their own ranks all of %s", nodes);
    dt_out_text(out, "\n");
    free(nodes);
    return dt_topo_text_tasks(out, &view, err);
}

int dt_plan_place_print_text(struct dt_out *out, const struct dt_plan_place *place, struct dtrain_error *err)
{
    char summary[DT_TOPO_SUMMARY_MAX];

    dt_out_printf(out, "\nEach node is %s: %s\n", dt_topo_title(place->topo),
                  dt_topo_summary(summary, place->topo));
    for (uint32_t i = 0; i < place->shape_count; i++)
        if (print_shape(out, place, i, err) != 0)
            return -1;
    return 0;
}

/* ---- JSON ---- */

static void json_nodes(struct dt_out *out, const struct dt_plan_place *place, uint32_t shape, bool is_rank)
{
    const char *comma = "";

    for (uint32_t node = 0; node < dt_plan_node_count(place->plan); node++) {
        if (place->shape_of[node] != shape)
            continue;
        dt_out_text(out, comma);
        if (is_rank)
            dt_out_u64(out, dt_plan_node_first(place->plan, node));
        else
            dt_out_json(out, dt_plan_node_name(place->plan, node));
        comma = ", ";
    }
}

void dt_plan_place_print_json(struct dt_out *out, const struct dt_plan_place *place)
{
    dt_out_text(out, "[");
    for (uint32_t i = 0; i < place->shape_count; i++) {
        const struct dt_topo_view view = view_of(place, &place->shapes[i]);

        dt_out_text(out, i > 0 ? ",\n{\"nodes\": [" : "\n{\"nodes\": [");
        json_nodes(out, place, i, false);
        dt_out_text(out, "], \"first_ranks\": [");
        json_nodes(out, place, i, true);
        dt_out_text(out, "], \"tasks\": ");
        dt_topo_json_tasks(out, &view);
        dt_out_text(out, "}");
    }
    dt_out_text(out, "]");
}
