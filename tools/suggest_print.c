#include "tools/suggest_print.h"

#include "tools/plan_cost.h"
#include "tools/suggest_why.h"
#include "tools/table.h"

static size_t shown(const struct dt_suggest_view *view)
{
    return view->result->count < view->top ? view->result->count : view->top;
}

void dt_suggest_print_srun(struct dt_out *out, const struct dt_suggest_layout *layout,
                           const struct dt_suggest_machine *machine)
{
    dt_out_printf(out, "srun --nodes=%u --ntasks-per-node=%u --gpus-per-node=%u --dtrain-tp=%u",
                  machine->nodes, machine->gpus, machine->gpus, layout->tp);
    if (layout->cp > 1)
        dt_out_printf(out, " --dtrain-cp=%u", layout->cp);
    dt_out_printf(out, " --dtrain-pp=%u --dtrain-dp=%u ./train", layout->pp, layout->dp);
}

double dt_suggest_print_tflops(const struct dt_suggest_view *view, const struct dt_suggest_choice *choice,
                               enum dt_suggest_recompute recompute)
{
    double gpus = (double)view->machine->nodes * view->machine->gpus;

    return dt_suggest_step_flops(view->model, recompute) / choice->time.total / gpus / 1e12;
}

/* ---- For people ---- */

static void print_head(struct dt_out *out, const struct dt_suggest_view *view)
{
    const struct dt_suggest_model *model = view->model;
    const struct dt_suggest_machine *machine = view->machine;
    char memory[DT_COST_BYTES_MAX], nic[DT_COST_BYTES_MAX];

    dt_out_printf(out,
                  "%.4gB parameters%s: %u layers, hidden %u, heads %u,\n"
                  "  kv heads %u, ffn %u, vocabulary %u, %s\n",
                  dt_suggest_model_params(model) / 1e9, model->is_guessed ? ", a shape made from them" : "",
                  model->layers, model->hidden, model->heads, model->kv_heads, model->ffn, model->vocab,
                  dt_suggest_precision_words[model->precision]);
    dt_out_printf(out, "%u sequences of %u tokens a step\n", model->batch, model->seq);
    dt_out_printf(out, "%u x %s: %u GPUs of %s and %.4g TFLOP/s", machine->nodes, machine->source,
                  machine->gpus, dt_plan_cost_bytes(memory, (uint64_t)machine->memory),
                  machine->flops / 1e12);
    if (machine->nics > 0)
        dt_out_printf(out, ", %u NICs of %s/s%s", machine->nics,
                      dt_plan_cost_bytes(nic, (uint64_t)(machine->nic.bytes_s / machine->nics)),
                      machine->is_nic_assumed ? " (assumed: --nic-gbits says it)" : "");
    dt_out_printf(out, "\n%zu of the sizes that divide fit, of %llu layouts tried\n\n", view->result->count,
                  (unsigned long long)view->result->tried);
}

static int print_layouts(struct dt_out *out, const struct dt_suggest_view *view, struct dtrain_error *err)
{
    static const char *const titles[] = {"#",          "tp",         "cp",      "pp", "dp",
                                         "microbatch", "interleave", "ZeRO",    "sp", "recompute",
                                         "memory",     "s/step",     "TFLOP/s", NULL};
    char memory[DT_COST_BYTES_MAX];
    struct dt_table table;

    dt_table_init(&table, titles);
    for (size_t i = 0; i < shown(view); i++) {
        const struct dt_suggest_choice *choice = &view->result->choices[i];
        const struct dt_suggest_layout *layout = &choice->layout;
        const uint32_t sizes[] = {layout->tp,         layout->cp,         layout->pp,  layout->dp,
                                  layout->microbatch, layout->interleave, layout->zero};

        dt_table_add(&table, "%zu", i + 1);
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
            dt_table_add(&table, "%u", sizes[k]);
        dt_table_add(&table, "%s", layout->is_sp ? "on" : "off");
        dt_table_add(&table, "%s", dt_suggest_recompute_words[layout->recompute]);
        dt_table_add(&table, "%s", dt_plan_cost_bytes(memory, (uint64_t)choice->memory.total));
        dt_table_add(&table, "%.4g", choice->time.total);
        dt_table_add(&table, "%.1f", dt_suggest_print_tflops(view, choice, DT_SUGGEST_KEEP));
    }
    return dt_table_print(&table, out, err);
}

static int print_memory(struct dt_out *out, const struct dt_suggest_view *view, struct dtrain_error *err)
{
    const char *titles[DT_SUGGEST_MEMORY_PARTS + 2] = {"#"};
    char bytes[DT_COST_BYTES_MAX];
    struct dt_table table;

    for (unsigned part = 0; part < DT_SUGGEST_MEMORY_PARTS; part++)
        titles[part + 1] = dt_suggest_memory_words[part];
    dt_table_init(&table, titles);
    for (size_t i = 0; i < shown(view); i++) {
        dt_table_add(&table, "%zu", i + 1);
        for (unsigned part = 0; part < DT_SUGGEST_MEMORY_PARTS; part++)
            dt_table_add(&table, "%s",
                         dt_plan_cost_bytes(bytes, (uint64_t)view->result->choices[i].memory.part[part]));
    }
    dt_out_printf(out, "\nMemory of a GPU, of %s that it can use\n",
                  dt_plan_cost_bytes(bytes, (uint64_t)dt_suggest_usable(view->machine)));
    return dt_table_print(&table, out, err);
}

static int print_time(struct dt_out *out, const struct dt_suggest_view *view, struct dtrain_error *err)
{
    const char *titles[DT_SUGGEST_TIME_PARTS + 3] = {"#"};
    struct dt_table table;

    for (unsigned part = 0; part < DT_SUGGEST_TIME_PARTS; part++)
        titles[part + 1] = dt_suggest_time_words[part];
    titles[DT_SUGGEST_TIME_PARTS + 1] = "dp hidden";
    dt_table_init(&table, titles);
    for (size_t i = 0; i < shown(view); i++) {
        const struct dt_suggest_time *time = &view->result->choices[i].time;

        dt_table_add(&table, "%zu", i + 1);
        for (unsigned part = 0; part < DT_SUGGEST_TIME_PARTS; part++)
            dt_table_add(&table, "%.4g", time->part[part]);
        dt_table_add(&table, "%.4g", time->dp_hidden);
    }
    dt_out_text(out, "\nSeconds of a step\n");
    return dt_table_print(&table, out, err);
}

int dt_suggest_print_text(struct dt_out *out, const struct dt_suggest_view *view, struct dtrain_error *err)
{
    const struct dt_suggest_choice *best = &view->result->choices[0];

    print_head(out, view);
    if (print_layouts(out, view, err) != 0 || print_memory(out, view, err) != 0 ||
        print_time(out, view, err) != 0)
        return -1;
    dt_out_text(out, "\nWhy the first\n");
    dt_suggest_why_print(out, best, view->model, view->machine);
    dt_out_text(out, "\n");
    dt_suggest_print_srun(out, &best->layout, view->machine);
    dt_out_text(out,
                "\nMicrobatch, interleave, ZeRO, sequence parallelism and recomputation are the program's to "
                "set.\n");
    return 0;
}

/* ---- For programs ---- */

static void json_model(struct dt_out *out, const struct dt_suggest_model *model)
{
    dt_out_printf(
        out,
        "{\"params\": %.0f, \"layers\": %u, \"hidden\": %u, \"heads\": %u, \"kv_heads\": %u, \"ffn\": %u, "
        "\"seq\": %u, \"vocab\": %u, \"batch\": %u, \"precision\": \"%s\"}",
        dt_suggest_model_params(model), model->layers, model->hidden, model->heads, model->kv_heads,
        model->ffn, model->seq, model->vocab, model->batch, dt_suggest_precision_words[model->precision]);
}

static void json_machine(struct dt_out *out, const struct dt_suggest_machine *machine)
{
    dt_out_text(out, "{\"source\": ");
    dt_out_json(out, machine->source);
    dt_out_printf(
        out,
        ", \"nodes\": %u, \"gpus_per_node\": %u, \"memory\": %.0f, \"usable\": %.0f, \"tflops\": %.9g, "
        "\"nics\": %u, \"nics_bytes_s\": %.9g, \"nics_assumed\": %s}",
        machine->nodes, machine->gpus, machine->memory, dt_suggest_usable(machine), machine->flops / 1e12,
        machine->nics, machine->nic.bytes_s, machine->is_nic_assumed ? "true" : "false");
}

static void json_layout(struct dt_out *out, const struct dt_suggest_layout *layout)
{
    dt_out_printf(out,
                  "\"tp\": %u, \"cp\": %u, \"pp\": %u, \"dp\": %u, \"microbatch\": %u, \"interleave\": %u, "
                  "\"zero\": %u, \"sequence_parallel\": %s, \"recompute\": \"%s\"",
                  layout->tp, layout->cp, layout->pp, layout->dp, layout->microbatch, layout->interleave,
                  layout->zero, layout->is_sp ? "true" : "false",
                  dt_suggest_recompute_words[layout->recompute]);
}

static void json_parts(struct dt_out *out, const char *key, const char *const *words, const double *parts,
                       unsigned count, double total)
{
    dt_out_printf(out, ",\n  \"%s\": {", key);
    for (unsigned i = 0; i < count; i++)
        dt_out_printf(out, "\"%s\": %.9g, ", words[i], parts[i]);
    dt_out_printf(out, "\"total\": %.9g", total);
}

static void json_choice(struct dt_out *out, const struct dt_suggest_view *view,
                        const struct dt_suggest_choice *choice)
{
    dt_out_text(out, " {");
    json_layout(out, &choice->layout);
    json_parts(out, "memory", dt_suggest_memory_words, choice->memory.part, DT_SUGGEST_MEMORY_PARTS,
               choice->memory.total);
    dt_out_text(out, "}");
    json_parts(out, "time", dt_suggest_time_words, choice->time.part, DT_SUGGEST_TIME_PARTS,
               choice->time.total);
    dt_out_printf(
        out, ", \"dp_hidden\": %.9g},\n  \"model_tflops\": %.9g, \"hardware_tflops\": %.9g,\n  \"srun\": \"",
        choice->time.dp_hidden, dt_suggest_print_tflops(view, choice, DT_SUGGEST_KEEP),
        dt_suggest_print_tflops(view, choice, choice->layout.recompute));
    dt_suggest_print_srun(out, &choice->layout, view->machine);
    dt_out_text(out, "\"}");
}

void dt_suggest_print_json(struct dt_out *out, const struct dt_suggest_view *view)
{
    dt_out_text(out, "{\"model\": ");
    json_model(out, view->model);
    dt_out_text(out, ",\n\"machine\": ");
    json_machine(out, view->machine);
    dt_out_printf(out, ",\n\"tried\": %llu, \"fitting\": %zu,\n\"layouts\": [\n",
                  (unsigned long long)view->result->tried, view->result->count);
    for (size_t i = 0; i < shown(view); i++) {
        json_choice(out, view, &view->result->choices[i]);
        dt_out_text(out, i + 1 < shown(view) ? ",\n" : "\n");
    }
    dt_out_text(out, "]}\n");
}
