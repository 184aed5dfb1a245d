#include "tools/schedule_view.h"

static void print_action(struct dt_out *out, const struct dtrain_pp_action *action,
                         const struct dt_schedule_span *span)
{
    dt_out_printf(out, "{\"action\": \"%s\", \"microbatch\": %d, \"chunk\": %d, ",
                  dtrain_pp_action_name(action->kind), action->microbatch, action->chunk);
    if (dt_schedule_is_transfer(action->kind))
        dt_out_printf(out, "\"peer\": %d, \"operation\": %d, ", action->peer, action->operation);
    dt_out_printf(out, "\"begin_ms\": %.9g, \"end_ms\": %.9g}", span->begin, span->end);
}

static void print_stage(struct dt_out *out, const struct dt_schedule_view *view, int stage)
{
    const struct dt_schedule_stage *list = &view->schedule->stages[stage];

    dt_out_printf(out, "{\"stage\": %d, \"held\": %d, \"actions\": [", stage, view->timeline->peaks[stage]);
    for (size_t i = 0; i < list->count; i++) {
        dt_out_text(out, i > 0 ? ",\n " : "\n ");
        print_action(out, &list->actions[i], &view->timeline->spans[stage][i]);
    }
    dt_out_text(out, "]}");
}

void dt_schedule_view_json(struct dt_out *out, const struct dt_schedule_view *view)
{
    const struct dt_schedule_request *request = &view->schedule->request;
    const struct dt_schedule_costs *costs = view->costs;

    dt_out_printf(out,
                  "{\"kind\": \"%s\", \"pp\": %d, \"microbatches\": %d, \"chunks\": %d,\n"
                  "\"forward_ms\": %.9g, \"backward_ms\": %.9g, \"weight_ms\": %.9g, \"link_ms\": %.9g,\n"
                  "\"makespan_ms\": %.9g, \"bubble\": %.6f,\n\"stages\": [",
                  dtrain_pp_kind_name(request->kind), request->stages, request->microbatches, request->chunks,
                  costs->forward, costs->backward, costs->weight, costs->link, view->timeline->makespan,
                  view->timeline->bubble);
    for (int s = 0; s < request->stages; s++) {
        dt_out_text(out, s > 0 ? ",\n" : "\n");
        print_stage(out, view, s);
    }
    dt_out_text(out, "]}\n");
}
