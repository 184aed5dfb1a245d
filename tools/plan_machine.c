#include "tools/plan_machine.h"

#include "tools/plan_cost.h"
#include "tools/plan_svg.h"
#include "tools/topo_source.h"

/* All that the parts show: the nodes, who is where on them, and what that costs. */
struct machine {
    struct dt_topo *topo;
    struct dt_plan_place *place;
    struct dt_plan_cost cost;
};

static bool is_named(const struct dt_plan_options *options)
{
    return options->source.machine != NULL || options->source.file != NULL;
}

static void machine_clear(struct machine *machine)
{
    dt_plan_place_destroy(machine->place);
    dt_topo_destroy(machine->topo);
}

static int machine_init(struct machine *machine, const struct dt_plan *plan,
                        const struct dt_plan_options *options, const struct dt_switches *switches,
                        struct dtrain_error *err)
{
    machine->topo = NULL;
    machine->place = NULL;
    if (dt_topo_source_load(&machine->topo, &options->source, err) == 0 &&
        dt_plan_place_create(&machine->place, machine->topo, plan, err) == 0 &&
        dt_plan_cost_init(&machine->cost, machine->place, options->bytes, switches, err) == 0)
        return 0;
    machine_clear(machine);
    return -1;
}

int dt_plan_machine_print_text(struct dt_out *out, const struct dt_plan *plan,
                               const struct dt_plan_options *options, const struct dt_switches *switches,
                               struct dtrain_error *err)
{
    struct machine machine;
    int rc;

    if (!is_named(options))
        return 0;
    if (machine_init(&machine, plan, options, switches, err) != 0)
        return -1;
    rc = dt_plan_place_print_text(out, machine.place, err);
    if (rc == 0)
        rc = dt_plan_cost_print_text(out, &machine.cost, machine.place, err);
    machine_clear(&machine);
    return rc;
}

int dt_plan_machine_print_json(struct dt_out *out, const struct dt_plan *plan,
                               const struct dt_plan_options *options, const struct dt_switches *switches,
                               struct dtrain_error *err)
{
    struct machine machine;

    if (!is_named(options))
        return 0;
    if (machine_init(&machine, plan, options, switches, err) != 0)
        return -1;
    dt_out_text(out, ",\n\"placement\": ");
    dt_plan_place_print_json(out, machine.place);
    dt_out_text(out, ",\n\"cost\": ");
    dt_plan_cost_print_json(out, &machine.cost, machine.place);
    machine_clear(&machine);
    return 0;
}

int dt_plan_machine_print_svg(struct dt_out *out, const struct dt_plan *plan,
                              const struct dt_plan_options *options, const struct dt_switches *switches,
                              struct dtrain_error *err)
{
    struct machine machine;

    if (machine_init(&machine, plan, options, switches, err) != 0)
        return -1;
    dt_plan_svg_print(out, machine.place, &machine.cost);
    machine_clear(&machine);
    return 0;
}
