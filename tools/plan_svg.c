#include "tools/plan_svg.h"

#include <stdio.h>
#include <string.h>

#include "tools/topo_svg.h"

#define INK "#1f2933"
#define FAINT "#616e7c"
#define MARGIN 24
#define TOP 64          /* of the nodes: title and subtitle are above */
#define CELL 144        /* width of a GPU */
#define CELL_HEIGHT 74
#define CELL_GAP 8
#define NODE_HEAD 26
#define NODE_PAD 12
#define NODE_GAP 16
#define ROW_MAX 2500    /* nodes stand beside each other up to this width */
#define LINE 14
#define CELLS_MAX 64u   /* tasks of a node that are drawn */
#define TEXT_MAX 256
#define COST_LINE 20

static const struct dt_svg_font font_title = {18, true, false, DT_SVG_LEFT, INK};
static const struct dt_svg_font font_head = {13, true, false, DT_SVG_LEFT, INK};
static const struct dt_svg_font font_text = {11, false, false, DT_SVG_LEFT, INK};
static const struct dt_svg_font font_faint = {11, false, false, DT_SVG_LEFT, FAINT};

/* How nodes of `cells` GPUs or tasks each are spread over the page. */
struct grid {
    uint32_t cells, cell_columns, node_columns, nodes;
    int node_width, node_height;
};

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t ceil_div(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

static struct grid grid_of(const struct dt_plan_place *place)
{
    const struct dt_plan *plan = dt_plan_place_plan(place);
    struct grid grid = {.cells = dt_plan_place_topo(place)->gpu_count};

    grid.nodes = min_u32(dt_plan_node_count(plan), DT_PLAN_SVG_NODES_MAX);
    for (uint32_t i = 0; i < grid.nodes; i++)
        if (dt_plan_node_tasks(plan, i) > grid.cells)
            grid.cells = dt_plan_node_tasks(plan, i);
    grid.cells = min_u32(grid.cells, CELLS_MAX);
    grid.cell_columns = min_u32(grid.cells, 8);
    grid.node_width = 2 * NODE_PAD + (int)grid.cell_columns * (CELL + CELL_GAP) - CELL_GAP;
    grid.node_height = NODE_HEAD + NODE_PAD +
                       (int)ceil_div(grid.cells, grid.cell_columns) * (CELL_HEIGHT + CELL_GAP) - CELL_GAP;
    grid.node_columns = (uint32_t)((ROW_MAX + NODE_GAP) / (grid.node_width + NODE_GAP));
    if (grid.node_columns == 0)
        grid.node_columns = 1;
    grid.node_columns = min_u32(grid.node_columns, grid.nodes);
    return grid;
}

static struct dt_box cell_box(const struct grid *grid, struct dt_box node, uint32_t cell)
{
    return (struct dt_box){node.x + NODE_PAD + (int)(cell % grid->cell_columns) * (CELL + CELL_GAP),
                           node.y + NODE_HEAD + (int)(cell / grid->cell_columns) * (CELL_HEIGHT + CELL_GAP),
                           CELL, CELL_HEIGHT};
}

static void cell_line(struct dt_out *out, struct dt_box box, int line, const struct dt_svg_font *font,
                      const char *text)
{
    dt_svg_text(out, box.x + 7, box.y + 3 + line * LINE, box.w - 12, font, text);
}

/* "dp 1 pp 0": the coordinates but tp's, on axes of more than one. */
static void coordinates(char text[TEXT_MAX], const struct dt_layout *layout, uint32_t rank)
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned axis = 0; axis < DT_AXIS_COUNT; axis++) {
        if (layout->size[DT_DENSE][axis] == 1 || used >= TEXT_MAX)
            continue;
        used += (size_t)snprintf(text + used, TEXT_MAX - used, "%s%s %u", used > 0 ? ", " : "",
                                 dt_axis_name((enum dt_axis)axis),
                                 dt_layout_coord(layout, DT_DENSE, (enum dt_axis)axis, rank));
    }
}

static void draw_task(struct dt_out *out, struct dt_box box, const struct dt_topo_view *view, uint32_t i)
{
    const struct dt_bind_task *task = &view->binding->tasks[i];
    uint32_t rank = dt_topo_view_rank(view, i);
    const struct dt_svg_paint paint = {.fill = dt_topo_svg_group_colour(dt_topo_view_group(view, i)),
                                       .stroke = INK, .stroke_width = 1, .radius = 4};
    char text[TEXT_MAX];

    dt_svg_box(out, box, &paint, task->reason);
    snprintf(text, sizeof(text), "rank %u", rank);
    cell_line(out, box, 1, &font_head, text);
    coordinates(text, dt_plan_layout(view->plan), rank);
    cell_line(out, box, 2, &font_text, text);
    if (task->gpu >= 0)
        snprintf(text, sizeof(text), "task %u, GPU %d", i, task->gpu);
    else
        snprintf(text, sizeof(text), "task %u, no GPU", i);
    cell_line(out, box, 3, &font_text, text);
    cell_line(out, box, 4, &font_faint, task->nic >= 0 ? view->topo->nics[task->nic].name : "no NIC");
}

static void draw_free(struct dt_out *out, struct dt_box box, uint32_t gpu)
{
    const struct dt_svg_paint paint = {.fill = "#ffffff", .stroke = "#b3bcc6", .stroke_width = 1, .radius = 4,
                                       .is_dashed = true};
    char text[TEXT_MAX];

    dt_svg_box(out, box, &paint, NULL);
    snprintf(text, sizeof(text), "GPU %u", gpu);
    cell_line(out, box, 1, &font_faint, text);
    cell_line(out, box, 2, &font_faint, "no task");
}

/* GPUs stand in their order; tasks without one in theirs. */
static void draw_cells(struct dt_out *out, const struct grid *grid, struct dt_box node,
                       const struct dt_topo_view *view)
{
    bool is_taken[CELLS_MAX] = {false};

    for (uint32_t i = 0; i < view->binding->task_count && i < CELLS_MAX; i++) {
        int gpu = view->binding->tasks[i].gpu;
        uint32_t cell = gpu >= 0 ? (uint32_t)gpu : i;

        draw_task(out, cell_box(grid, node, cell), view, i);
        is_taken[cell] = true;
    }
    for (uint32_t i = 0; i < view->topo->gpu_count; i++)
        if (!is_taken[i])
            draw_free(out, cell_box(grid, node, i), i);
}

static void draw_node(struct dt_out *out, const struct grid *grid, const struct dt_plan_place *place,
                      uint32_t node)
{
    const struct dt_svg_paint paint = {
        .fill = "#f4f6f8", .stroke = "#c5ced8", .stroke_width = 1, .radius = 8};
    const struct dt_topo_view view = {dt_plan_place_topo(place), dt_plan_place_binding(place, node),
                                      dt_plan_place_plan(place), node};
    struct dt_box box = {MARGIN + (int)(node % grid->node_columns) * (grid->node_width + NODE_GAP),
                         TOP + (int)(node / grid->node_columns) * (grid->node_height + NODE_GAP),
                         grid->node_width, grid->node_height};

    dt_svg_box(out, box, &paint, NULL);
    dt_svg_text(out, box.x + NODE_PAD, box.y + 18, box.w - 2 * NODE_PAD, &font_head,
                dt_plan_node_name(view.plan, node));
    draw_cells(out, grid, box, &view);
}

/* ---- What is above and below the nodes ---- */

static void draw_title(struct dt_out *out, const struct dt_plan_place *place, int width)
{
    const struct dt_plan *plan = dt_plan_place_plan(place);
    char text[TEXT_MAX], order[DT_ORDER_MAX];

    snprintf(text, sizeof(text), "%u ranks on %u nodes, each %s", dt_plan_world(plan),
             dt_plan_node_count(plan), dt_topo_title(dt_plan_place_topo(place)));
    dt_svg_text(out, MARGIN, 32, width - 2 * MARGIN, &font_title, text);
    snprintf(text, sizeof(text), "order %s; ranks of one colour in a node are one tensor-parallel group",
             dt_layout_order_text(dt_plan_layout(plan), order));
    dt_svg_text(out, MARGIN, 52, width - 2 * MARGIN, &font_faint, text);
}

static int draw_cost(struct dt_out *out, const struct dt_plan_place *place, const struct dt_plan_cost *cost,
                     int width, int y)
{
    char text[TEXT_MAX];

    for (unsigned axis = 0; axis < DT_COST_AXIS_COUNT; axis++) {
        if (cost->size[axis] == 1)
            continue;
        dt_plan_cost_line(text, sizeof(text), cost, place, (enum dt_cost_axis)axis);
        dt_svg_text(out, MARGIN, y += COST_LINE, width - 2 * MARGIN, &font_text, text);
    }
    return y;
}

void dt_plan_svg_print(struct dt_out *out, const struct dt_plan_place *place, const struct dt_plan_cost *cost)
{
    const struct grid grid = grid_of(place);
    uint32_t left_out = dt_plan_node_count(dt_plan_place_plan(place)) - grid.nodes;
    int rows = (int)ceil_div(grid.nodes, grid.node_columns);
    int width = 2 * MARGIN + (int)grid.node_columns * (grid.node_width + NODE_GAP) - NODE_GAP;
    int y = TOP + rows * (grid.node_height + NODE_GAP);
    char text[TEXT_MAX];

    width = width < 900 ? 900 : width;
    dt_svg_open(out, width, y + COST_LINE * (DT_COST_AXIS_COUNT + 1) + MARGIN, "dtrain plan");
    draw_title(out, place, width);
    for (uint32_t node = 0; node < grid.nodes; node++)
        draw_node(out, &grid, place, node);
    if (left_out > 0) {
        snprintf(text, sizeof(text), "and %u nodes more", left_out);
        dt_svg_text(out, MARGIN, y += COST_LINE, width, &font_head, text);
    }
    draw_cost(out, place, cost, width, y);
    dt_svg_close(out);
}
