#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/schedule_view.h"
#include "tools/table.h"

#define COLUMNS 88   /* of a timeline beside its title */
#define LEAST 2      /* columns of the shortest action in a timeline of one band */
#define WIDE 3       /* the same where it takes more bands */
#define BANDS_MAX 12 /* what does not fit is left out */
#define CELL_MAX 16  /* bytes of "F12.3" */

char dt_schedule_view_letter(enum dtrain_pp_action_kind kind)
{
    switch (kind) {
    case DTRAIN_PP_FORWARD:
        return 'F';
    case DTRAIN_PP_BACKWARD:
    case DTRAIN_PP_BACKWARD_INPUT:
        return 'B';
    case DTRAIN_PP_BACKWARD_WEIGHT:
        return 'W';
    default:
        return 0;
    }
}

char *dt_schedule_view_title(const struct dt_schedule_view *view, char buf[DT_SCHEDULE_TITLE_MAX])
{
    const struct dt_schedule_request *request = &view->schedule->request;
    char chunks[32] = "";

    if (request->chunks > 1)
        snprintf(chunks, sizeof(chunks), " with %d chunks each", request->chunks);
    snprintf(buf, DT_SCHEDULE_TITLE_MAX, "%s on %d stage%s%s, %d microbatch%s: %.6g ms, bubble %.1f %%",
             dtrain_pp_kind_name(request->kind), request->stages, request->stages > 1 ? "s" : "", chunks,
             request->microbatches, request->microbatches > 1 ? "es" : "", view->timeline->makespan,
             100 * view->timeline->bubble);
    return buf;
}

/* ---- The timeline ---------------------------------------------------------------- */

/* ms of a column, and columns in all. */
struct scale {
    double ms;
    int columns;
};

static double shortest(const struct dt_schedule_view *view)
{
    const struct dt_schedule_costs *costs = view->costs;
    double least = costs->forward, back = costs->backward;

    if (!dt_schedule_has_backward(view->schedule->request.kind))
        return least;
    if (!dt_schedule_is_split(view->schedule->request.kind))
        back += costs->weight;
    else if (costs->weight < back)
        back = costs->weight;
    return back < least ? back : least;
}

static struct scale scale_of(const struct dt_schedule_view *view)
{
    double makespan = view->timeline->makespan, fitting = floor(COLUMNS * shortest(view) / makespan);
    struct scale scale = {.ms = shortest(view) / (fitting >= LEAST ? fitting : WIDE)};

    scale.columns = (int)ceil(makespan / scale.ms - 1e-6);
    if (scale.columns > COLUMNS * BANDS_MAX)
        scale.columns = COLUMNS * BANDS_MAX;
    return scale;
}

/* What a stage computes, from column `first` on: a letter and a microbatch, then '-' to its end; '.' is idle.
 */
static void draw(char line[COLUMNS + 1], const struct dt_schedule_view *view, int stage,
                 const struct scale *scale, int first)
{
    const struct dt_schedule_stage *list = &view->schedule->stages[stage];
    int width = scale->columns - first < COLUMNS ? scale->columns - first : COLUMNS;

    memset(line, '.', COLUMNS);
    line[width] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        const struct dt_schedule_span *span = &view->timeline->spans[stage][i];
        int begin = (int)floor(span->begin / scale->ms + 1e-6) - first;
        int end = (int)floor(span->end / scale->ms + 1e-6) - first;
        char letter = dt_schedule_view_letter(list->actions[i].kind), cell[CELL_MAX];
        int used;

        if (letter == 0)
            continue;
        used = snprintf(cell, sizeof(cell), "%c%d", letter, list->actions[i].microbatch);
        if (view->schedule->request.chunks > 1)
            used += snprintf(cell + used, sizeof(cell) - (size_t)used, "%c", 'a' + list->actions[i].chunk);
        for (int c = begin; c < end; c++)
            if (c >= 0 && c < width)
                line[c] = c - begin < used ? cell[c - begin] : '-';
    }
}

static void print_bands(struct dt_out *out, const struct dt_schedule_view *view)
{
    const struct scale scale = scale_of(view);
    char line[COLUMNS + 1];

    for (int first = 0; first < scale.columns; first += COLUMNS) {
        dt_out_printf(out, "%sfrom %.6g ms, %.6g ms a column\n", first > 0 ? "\n" : "", first * scale.ms,
                      scale.ms);
        for (int s = 0; s < view->schedule->request.stages; s++) {
            draw(line, view, s, &scale, first);
            dt_out_printf(out, "stage %-2d %s\n", s, line);
        }
    }
    if (scale.columns * scale.ms < view->timeline->makespan - scale.ms)
        dt_out_printf(out, "\nand so on until %.6g ms: --json has all\n", view->timeline->makespan);
}

/* ---- Numbers of each stage ----------------------------------------------------------- */

static double busy(const struct dt_schedule_view *view, int stage)
{
    const struct dt_schedule_stage *list = &view->schedule->stages[stage];
    double sum = 0;

    for (size_t i = 0; i < list->count; i++)
        if (dt_schedule_view_letter(list->actions[i].kind) != 0)
            sum += view->timeline->spans[stage][i].end - view->timeline->spans[stage][i].begin;
    return sum;
}

static int transfers(const struct dt_schedule_stage *list)
{
    int n = 0;

    for (size_t i = 0; i < list->count; i++)
        n += dt_schedule_is_transfer(list->actions[i].kind);
    return n;
}

static int print_stages(struct dt_out *out, const struct dt_schedule_view *view, struct dtrain_error *err)
{
    static const char *const titles[] = {"stage", "held", "transfers", "busy ms", "idle ms", NULL};
    struct dt_table table;

    dt_table_init(&table, titles);
    for (int s = 0; s < view->schedule->request.stages; s++) {
        dt_table_add(&table, "%d", s);
        dt_table_add(&table, "%d", view->timeline->peaks[s]);
        dt_table_add(&table, "%d", transfers(&view->schedule->stages[s]));
        dt_table_add(&table, "%.6g", busy(view, s));
        dt_table_add(&table, "%.6g", view->timeline->makespan - busy(view, s));
    }
    return dt_table_print(&table, out, err);
}

int dt_schedule_view_text(struct dt_out *out, const struct dt_schedule_view *view, struct dtrain_error *err)
{
    const struct dt_schedule_request *request = &view->schedule->request;
    char title[DT_SCHEDULE_TITLE_MAX];

    dt_out_printf(out, "%s\n\n", dt_schedule_view_title(view, title));
    print_bands(out, view);
    dt_out_text(out, "\n");
    if (print_stages(out, view, err) != 0)
        return -1;
    if (view->full_bubble >= 0)
        dt_out_printf(
            out,
            "\n%d microbatches are no multiple of %d stages: turns of the last group stay empty; with %d "
            "the bubble\nwould be %.1f %%.\n",
            request->microbatches, request->stages,
            (request->microbatches / request->stages + 1) * request->stages, 100 * view->full_bubble);
    return 0;
}
