#include "plan_table.h"

#include <stdio.h>
#include <string.h>

#define CELL_MAX 80         /* bytes of a cell with the NUL */
#define PROCIDS_SHOWN_MAX 6 /* task ids listed one by one */

const char *dt_axis_title(enum dt_grid grid, enum dt_axis axis)
{
    if (grid == DT_EXPERT && axis == DT_TP)
        return "etp";
    if (grid == DT_EXPERT && axis == DT_DP)
        return "edp";
    return dt_axis_name(axis);
}

/*
 * Neighbouring ranks that are a box of the grid, so that one range of
 * coordinates an axis says exactly who is where.
 */
struct box {
    uint32_t node, first, size;
};

static uint32_t box_size_at(const struct dt_layout *layout, enum dt_grid grid, uint32_t rank,
                            uint32_t left)
{
    uint32_t block = 1;

    for (unsigned i = 0; i < DT_AXIS_COUNT; i++) {
        uint32_t size = layout->size[grid][layout->order[i]];
        uint32_t at = rank / block % size;
        uint32_t fit = left / block;

        if (at > 0 || fit < size)
            return block * (fit < size - at ? fit : size - at);
        block *= size;
    }
    return block;
}

/* The box after the last one; a new walk starts with a zeroed box. false: there is none. */
static bool box_next(struct box *box, const struct dt_plan *plan, enum dt_grid grid)
{
    uint32_t end;

    box->first += box->size;
    if (box->first == dt_plan_world(plan))
        return false;
    box->node = dt_plan_rank_node(plan, box->first);
    end = dt_plan_node_first(plan, box->node) + dt_plan_node_tasks(plan, box->node);
    box->size = box_size_at(dt_plan_layout(plan), grid, box->first, end - box->first);
    return true;
}

static void cell_range(char cell[CELL_MAX], uint32_t first, uint32_t last)
{
    if (first == last)
        snprintf(cell, CELL_MAX, "%u", first);
    else
        snprintf(cell, CELL_MAX, "%u-%u", first, last);
}

/* Slurm's task ids of the box: a range when they are neighbours, else the first few. */
static void cell_procids(char cell[CELL_MAX], const struct dt_plan *plan, const struct box *box)
{
    uint32_t first = dt_plan_rank_procid(plan, box->first);
    uint32_t i = 1;
    int n;

    while (i < box->size && dt_plan_rank_procid(plan, box->first + i) == first + i)
        i++;
    if (i == box->size) {
        cell_range(cell, first, first + box->size - 1);
        return;
    }
    n = snprintf(cell, CELL_MAX, "%u", first);
    for (i = 1; i < box->size && i < PROCIDS_SHOWN_MAX; i++)
        n += snprintf(cell + n, CELL_MAX - (size_t)n, ",%u",
                      dt_plan_rank_procid(plan, box->first + i));
    if (i < box->size)
        snprintf(cell + n, CELL_MAX - (size_t)n, ",...");
}

enum column {
    COLUMN_NODE,
    COLUMN_RANK,
    COLUMN_PROCID,
    COLUMN_AXIS, /* the first of DT_AXIS_COUNT, in the layout's order */
    COLUMN_COUNT = COLUMN_AXIS + DT_AXIS_COUNT,
};

struct table {
    const struct dt_plan *plan;
    enum dt_grid grid;
    bool is_shown[COLUMN_COUNT];
    int width[COLUMN_COUNT];
};

static enum dt_axis column_axis(const struct table *table, unsigned column)
{
    return dt_plan_layout(table->plan)->order[column - COLUMN_AXIS];
}

static const char *cell_title(const struct table *table, unsigned column)
{
    static const char *const titles[] = {"node", "rank", "SLURM_PROCID"};

    return column < COLUMN_AXIS ? titles[column] : dt_axis_title(table->grid, column_axis(table, column));
}

/* Borrowed, or in cell. box NULL: the column's title. */
static const char *cell_text(char cell[CELL_MAX], const struct table *table, const struct box *box,
                             unsigned column)
{
    const struct dt_layout *layout = dt_plan_layout(table->plan);
    uint32_t last;

    if (box == NULL)
        return cell_title(table, column);
    last = box->first + box->size - 1;
    if (column == COLUMN_NODE)
        return dt_plan_node_name(table->plan, box->node);
    if (column == COLUMN_RANK)
        cell_range(cell, box->first, last);
    else if (column == COLUMN_PROCID)
        cell_procids(cell, table->plan, box);
    else
        cell_range(cell, dt_layout_coord(layout, table->grid, column_axis(table, column), box->first),
                   dt_layout_coord(layout, table->grid, column_axis(table, column), last));
    return cell;
}

static void table_widen(struct table *table, const struct box *box)
{
    char cell[CELL_MAX];

    for (unsigned column = 0; column < COLUMN_COUNT; column++) {
        int width;

        if (!table->is_shown[column])
            continue;
        width = (int)strlen(cell_text(cell, table, box, column));
        if (width > table->width[column])
            table->width[column] = width;
    }
}

static void table_print(struct dt_out *out, const struct table *table, const struct box *box)
{
    char cell[CELL_MAX];
    int pad = 0;

    for (unsigned column = 0; column < COLUMN_COUNT; column++) {
        const char *text;

        if (!table->is_shown[column])
            continue;
        text = cell_text(cell, table, box, column);
        dt_out_printf(out, "%*s  %s", pad, "", text);
        pad = table->width[column] - (int)strlen(text);
    }
    dt_out_text(out, "\n");
}

void dt_plan_table_print(struct dt_out *out, const struct dt_plan *plan, enum dt_grid grid)
{
    const struct dt_layout *layout = dt_plan_layout(plan);
    struct table table = {.plan = plan, .grid = grid};
    struct box box = {0};

    table.is_shown[COLUMN_NODE] = table.is_shown[COLUMN_RANK] = true;
    table.is_shown[COLUMN_PROCID] = !dt_plan_is_identity(plan);
    for (unsigned i = 0; i < DT_AXIS_COUNT; i++)
        table.is_shown[COLUMN_AXIS + i] = layout->size[grid][layout->order[i]] > 1;
    table_widen(&table, NULL);
    while (box_next(&box, plan, grid))
        table_widen(&table, &box);
    table_print(out, &table, NULL);
    for (box = (struct box){0}; box_next(&box, plan, grid);)
        table_print(out, &table, &box);
}
