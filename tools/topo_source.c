#include "tools/topo_source.h"

#include "topo/import/import.h"
#include "topo/topo_hwloc.h"

#define MACHINE_TIMEOUT_MS 10000
#define NAME_WIDTH 20

int dt_topo_source_load(struct dt_topo **topo, const struct dt_plan_source *source, struct dtrain_error *err)
{
    if (source->machine != NULL)
        return dt_import_machine(topo, source->machine, err);
    if (source->file != NULL || source->format != NULL)
        return dt_import_file(topo, source->format, source->file != NULL ? source->file : "-", err);
    return dt_topo_from_machine(topo, MACHINE_TIMEOUT_MS, err);
}

void dt_topo_source_print_known(struct dt_out *out)
{
    size_t count;
    const struct dt_import_machine *machines = dt_import_machines(&count);
    const struct dt_import_source *sources;

    dt_out_text(out, "Machines for --machine:\n");
    for (size_t i = 0; i < count; i++)
        dt_console_entry(out, NAME_WIDTH, machines[i].name, machines[i].help);
    sources = dt_import_sources(&count);
    dt_out_text(out, "\nFormats of --file, for --import:\n");
    for (size_t i = 0; i < count; i++)
        dt_console_entry(out, NAME_WIDTH, sources[i].name, sources[i].help);
}
