#include "tools/suggest_why.h"

#include <stdio.h>
#include <string.h>

#include "tools/plan_cost.h"

#define ADVICE_MAX 256
#define PARTS_MAX 192

static const char *bytes_text(char buf[DT_COST_BYTES_MAX], double bytes)
{
    return dt_plan_cost_bytes(buf, (uint64_t)bytes);
}

const char *dt_suggest_why_layout(char buf[DT_SUGGEST_LAYOUT_TEXT_MAX],
                                  const struct dt_suggest_layout *layout)
{
    const struct {
        const char *name;
        uint32_t size;
    } axes[] = {{"tp", layout->tp}, {"cp", layout->cp}, {"pp", layout->pp}};
    size_t used = 0;

    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++)
        if (axes[i].size > 1)
            used += (size_t)snprintf(buf + used, DT_SUGGEST_LAYOUT_TEXT_MAX - used, "%s %u x ", axes[i].name,
                                     axes[i].size);
    snprintf(buf + used, DT_SUGGEST_LAYOUT_TEXT_MAX - used, "dp %u", layout->dp);
    return buf;
}

/* ---- Why this one ---- */

static const char *link_words(enum dt_path path)
{
    switch (path) {
    case DT_PATH_NVSWITCH:
        return "NVSwitch";
    case DT_PATH_NVLINK:
        return "NVLink";
    case DT_PATH_XGMI:
        return "xGMI";
    case DT_PATH_XELINK:
        return "Xe Link";
    default:
        return "PCIe";
    }
}

static double share(const struct dt_suggest_choice *choice, enum dt_suggest_time_part part)
{
    return 100 * choice->time.part[part] / choice->time.total;
}

static void why_tp(struct dt_out *out, const struct dt_suggest_choice *choice,
                   const struct dt_suggest_machine *machine)
{
    const struct dt_suggest_link *link = &machine->tp[choice->layout.tp];
    char own[DT_COST_BYTES_MAX], nic[DT_COST_BYTES_MAX];

    if (choice->layout.tp == 1) {
        dt_out_text(out, "  tp 1: no all-reduce in every layer; the memory allows it.\n");
        return;
    }
    dt_out_printf(out,
                  "  tp %u inside the node: its traffic is every layer's, and costs %.1f%% of the step.\n"
                  "    %s gives %s/s a GPU",
                  choice->layout.tp, share(choice, DT_SUGGEST_TP), link_words(link->path),
                  bytes_text(own, link->bytes_s));
    if (machine->nics > 0)
        dt_out_printf(out, ", the NICs %s/s", bytes_text(nic, machine->nic.bytes_s / machine->gpus));
    dt_out_text(out, ".\n");
}

static void why_pp(struct dt_out *out, const struct dt_suggest_choice *choice,
                   const struct dt_suggest_model *model, const struct dt_suggest_machine *machine)
{
    const struct dt_suggest_layout *layout = &choice->layout;
    uint64_t ranks = (uint64_t)layout->tp * layout->cp * layout->pp * layout->dp;
    uint32_t microbatches = dt_suggest_layout_microbatches(layout, model);

    if (layout->pp == 1) {
        dt_out_text(out, "  pp 1: every rank has all layers, and no pipeline idles.\n");
        return;
    }
    dt_out_printf(out,
                  "  pp %u %s: a stage sends its neighbours activations only.\n    With %u microbatches and "
                  "interleave %u it idles %.1f%% of the step, its transfers cost %.1f%%.\n",
                  layout->pp, ranks > machine->gpus ? "across nodes" : "inside the node", microbatches,
                  layout->interleave, share(choice, DT_SUGGEST_BUBBLE), share(choice, DT_SUGGEST_PP));
}

static void why_dp(struct dt_out *out, const struct dt_suggest_choice *choice,
                   const struct dt_suggest_model *model)
{
    const struct dt_suggest_layout *layout = &choice->layout;
    char text[DT_COST_BYTES_MAX];

    if (layout->cp > 1)
        dt_out_printf(
            out,
            "  cp %u: a rank has %u of the %u tokens; keys and values go round. What attention does "
            "not hide\n    costs %.1f%%.\n",
            layout->cp, model->seq / layout->cp, model->seq, share(choice, DT_SUGGEST_CP));
    if (layout->dp == 1) {
        dt_out_text(out, "  dp 1: one replica.\n");
        return;
    }
    dt_out_printf(out,
                  "  dp %u on the links that remain: %s of gradients, once a step; %.1f%% of the step is not "
                  "hidden.\n",
                  layout->dp, bytes_text(text, 4 * dt_suggest_layout_most_params(layout, model)),
                  share(choice, DT_SUGGEST_DP));
}

/* What the same layout would need with one thing changed. */
static void why_kept(struct dt_out *out, const struct dt_suggest_choice *choice,
                     const struct dt_suggest_model *model, const struct dt_suggest_machine *machine)
{
    struct dt_suggest_layout plain = choice->layout;
    char a[DT_COST_BYTES_MAX], b[DT_COST_BYTES_MAX];

    if (choice->layout.zero > 0) {
        plain.zero = 0;
        dt_out_printf(out, "  ZeRO stage %u splits the %s over %u ranks:\n    %s a GPU, without it %s.\n",
                      choice->layout.zero,
                      choice->layout.zero > 1 ? "optimizer's state and the gradients" : "optimizer's state",
                      dt_suggest_layout_replicas(&plain), bytes_text(a, choice->memory.total),
                      bytes_text(b, dt_suggest_memory_of(&plain, model).total));
    }
    plain = choice->layout;
    plain.recompute = DT_SUGGEST_KEEP;
    if (choice->layout.recompute != DT_SUGGEST_KEEP)
        dt_out_printf(out, "  Activations are made again (%s): kept, the GPU would need %s of its %s.\n",
                      dt_suggest_recompute_words[choice->layout.recompute],
                      bytes_text(a, dt_suggest_memory_of(&plain, model).total),
                      bytes_text(b, dt_suggest_usable(machine)));
}

void dt_suggest_why_print(struct dt_out *out, const struct dt_suggest_choice *choice,
                          const struct dt_suggest_model *model, const struct dt_suggest_machine *machine)
{
    why_tp(out, choice, machine);
    why_pp(out, choice, model, machine);
    why_dp(out, choice, model);
    why_kept(out, choice, model, machine);
}

/* ---- Why none ---- */

/* "12.1 GB of weights, ..." */
static void parts_text(char text[PARTS_MAX], const struct dt_suggest_memory *memory)
{
    char bytes[DT_COST_BYTES_MAX];
    size_t used = 0;

    for (unsigned i = 0; i < DT_SUGGEST_MEMORY_PARTS; i++)
        used += (size_t)snprintf(text + used, PARTS_MAX - used, "%s%s %s", i > 0 ? ", " : "",
                                 dt_suggest_memory_words[i], bytes_text(bytes, memory->part[i]));
}

/* The first that helps: other sizes on these nodes, more nodes, more memory. */
static void advice(char text[ADVICE_MAX], const struct dt_suggest_result *result,
                   const struct dt_suggest_model *model, const struct dt_suggest_machine *machine,
                   const struct dt_suggest_limits *limits)
{
    char layout[DT_SUGGEST_LAYOUT_TEXT_MAX];
    struct dt_suggest_result other = {.count = 0};
    struct dt_suggest_choice choice;
    struct dt_suggest_limits none;
    uint32_t nodes;

    dt_suggest_limits_init(&none);
    snprintf(text, ADVICE_MAX, "use GPUs with %.0f GB",
             result->nearest.memory.total / DT_SUGGEST_USABLE / 1e9 + 1);
    if (!dt_suggest_limits_is_free(limits) && dt_suggest_search(&other, model, machine, &none, NULL) == 0 &&
        other.count > 0)
        snprintf(text, ADVICE_MAX, "without the sizes that were fixed %s fits",
                 dt_suggest_why_layout(layout, &other.choices[0].layout));
    else if (dt_suggest_search_nodes(&nodes, &choice, model, machine, limits))
        snprintf(text, ADVICE_MAX, "use --nodes=%u, where %s fits", nodes,
                 dt_suggest_why_layout(layout, &choice.layout));
    dt_suggest_result_destroy(&other);
}

int dt_suggest_why_not(const struct dt_suggest_result *result, const struct dt_suggest_model *model,
                       const struct dt_suggest_machine *machine, const struct dt_suggest_limits *limits,
                       struct dtrain_error *err)
{
    char layout[DT_SUGGEST_LAYOUT_TEXT_MAX], needed[DT_COST_BYTES_MAX], usable[DT_COST_BYTES_MAX];
    char help[ADVICE_MAX], parts[PARTS_MAX];

    parts_text(parts, &result->nearest.memory);
    advice(help, result, model, machine, limits);
    return dt_error_set(err,
                        "no layout fits: the nearest, %s, needs %s of the %s that a GPU can use (%s): %s",
                        dt_suggest_why_layout(layout, &result->nearest.layout),
                        bytes_text(needed, result->nearest.memory.total),
                        bytes_text(usable, dt_suggest_usable(machine)), parts, help);
}
