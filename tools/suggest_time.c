#include "tools/suggest_time.h"

#include "tools/suggest_memory.h"

/* Calibrated, together, on the published runs of bench/suggest.sh; the same for all machines and layouts. */
#define MATRIX_SHARE 0.70 /* of the published rate that large products reach */
#define LINK_SHARE 0.63   /* of NVLink's, xGMI's and PCIe's bandwidth in a ring */

/* Assumed: those runs hardly tell them. */
#define DIMENSION 32.0    /* at which a product's dimension costs half */
#define MEMORY_SHARE 0.85 /* of the memory's bandwidth */
#define NIC_SHARE 0.80    /* of the NICs' */
#define FLASH_SHARE 0.45  /* of the rate, of flash attention over the unmasked half */
#define DP_HIDES 0.9      /* of dp's traffic; the last bucket has nothing left to hide behind */
#define UPDATE_BYTES 30.0 /* that Adam reads and writes for a parameter: state twice, gradient, weight */

const char *const dt_suggest_time_words[DT_SUGGEST_TIME_PARTS] = {"compute", "tp", "cp",    "pp",
                                                                  "bubble",  "dp", "update"};

/* What every part needs, once. */
struct step {
    const struct dt_suggest_layout *layout;
    const struct dt_suggest_model *model;
    const struct dt_suggest_machine *machine;
    double tokens;  /* of a microbatch on a rank */
    double element; /* bytes */
    uint32_t microbatches;
    double layers; /* of a stage */
};

/* A piece of work, of one microbatch. */
struct pass {
    double forward, backward;
};

double dt_suggest_time_ring(double bytes, uint32_t n, double bytes_s, double latency_s)
{
    if (n < 2)
        return 0;
    return 2.0 * (n - 1) / n * bytes / bytes_s + 2.0 * (n - 1) * latency_s;
}

static double fill(double x)
{
    return x / (x + DIMENSION);
}

double dt_suggest_time_efficiency(double m, double n, double k)
{
    return MATRIX_SHARE * fill(m) * fill(n) * fill(k);
}

static double product(const struct step *step, double m, double n, double k)
{
    return 2 * m * n * k / (step->machine->flops * dt_suggest_time_efficiency(m, n, k));
}

static double moved(const struct step *step, double bytes)
{
    return bytes / (step->machine->memory_bytes_s * MEMORY_SHARE);
}

/* ---- Compute ---- */

static double matrices(const struct step *step)
{
    const struct dt_suggest_model *model = step->model;
    double m = step->tokens, h = model->hidden, t = step->layout->tp, ffn = model->ffn;
    double qkv = h * (1 + 2.0 * model->kv_heads / model->heads);

    return product(step, m, qkv / t, h) + product(step, m, h, h / t) +
           product(step, m, ffn * (model->is_gated ? 2 : 1) / t, h) + product(step, m, h, ffn / t);
}

/* Scores and their product with the values. Flash attention leaves the masked half out. */
static double attention(const struct step *step)
{
    const struct dt_suggest_model *model = step->model;
    double width = (double)model->hidden / model->heads, s = model->seq;
    double flops = dt_suggest_attention_flops(model) * step->tokens / step->layout->tp;

    if (model->is_plain)
        return flops / (step->machine->flops * dt_suggest_time_efficiency(s, s, width));
    return flops / 2 / (step->machine->flops * FLASH_SHARE);
}

/* Forward and backward of a layer, and what the backward makes again. */
static struct pass layer(const struct step *step)
{
    double products = matrices(step), scores = attention(step);
    double kept = moved(step, 2 * dt_suggest_memory_layer(step->layout, step->model));
    double score_bytes = moved(step, 2 * dt_suggest_memory_scores(step->layout, step->model));
    struct pass pass = {.forward = products + scores + kept + score_bytes};

    pass.backward = 2 * pass.forward;
    if (step->layout->recompute == DT_SUGGEST_FULL)
        pass.backward += pass.forward;
    else if (step->layout->recompute == DT_SUGGEST_SELECTIVE || !step->model->is_plain)
        pass.backward += scores + score_bytes;
    return pass;
}

static struct pass output(const struct step *step)
{
    double vocab = (double)step->model->vocab / step->layout->tp;
    double time =
        product(step, step->tokens, vocab, step->model->hidden) + moved(step, 2 * 4 * step->tokens * vocab);

    return (struct pass){time, 2 * time};
}

/* ---- Communication ---- */

/* Two all-reduces of a layer each way, two more where it is made again; with sp their halves, as many bytes.
 */
static double tensor(const struct step *step)
{
    const struct dt_suggest_link *link = &step->machine->tp[step->layout->tp];
    unsigned reduces = step->layout->recompute == DT_SUGGEST_FULL ? 6 : 4;
    double bytes = step->tokens * step->model->hidden * step->element;

    return reduces *
           dt_suggest_time_ring(bytes, step->layout->tp, link->bytes_s * LINK_SHARE, link->latency_s);
}

/*
 * Bytes a second between ranks of a group that spans `span` neighbouring ranks of the world: by links inside
 * a node, else by its part of the NICs, which `sharers` such groups of a node use at once.
 */
static double way_bytes_s(const struct step *step, uint64_t span, uint64_t sharers)
{
    const struct dt_suggest_machine *machine = step->machine;
    double inside = machine->node.bytes_s * LINK_SHARE, nic = machine->nic.bytes_s * NIC_SHARE;
    double share = nic / (sharers < machine->gpus ? (double)sharers : machine->gpus);

    return span <= machine->gpus || inside < share ? inside : share;
}

/* The same of sends between two ranks: all-reduces spread over all NICs, a send takes the rank's own. */
static double send_bytes_s(const struct step *step, uint64_t span, uint64_t sharers)
{
    uint32_t nics = step->machine->nics;

    return way_bytes_s(step, span, sharers > nics ? sharers : nics);
}

static double later(double transfer, double hides)
{
    return transfer > hides ? transfer - hides : 0;
}

/* Keys and values of the other parts of the sequence come while a part is at work; backward twice as many. */
static struct pass context(const struct step *step)
{
    const struct dt_suggest_model *model = step->model;
    uint32_t cp = step->layout->cp, tp = step->layout->tp;
    double kv = 2 * step->tokens * model->hidden * model->kv_heads / model->heads / tp * step->element;
    double bytes_s = send_bytes_s(step, (uint64_t)tp * cp, tp);
    double transfer = (cp - 1) * (kv / bytes_s + step->machine->nic.latency_s);
    double hides = attention(step) * (cp - 1) / cp;

    if (cp == 1)
        return (struct pass){0, 0};
    return (struct pass){later(transfer, hides), later(2 * transfer, 2 * hides)};
}

/* A microbatch's sends forward and backward at each of a stage's chunks; tp ranks send a part each. */
static double stages(const struct step *step)
{
    const struct dt_suggest_layout *layout = step->layout;
    uint64_t ranks = (uint64_t)layout->tp * layout->cp * layout->dp; /* of a stage */
    double bytes = step->tokens * step->model->hidden * step->element / layout->tp;
    double bytes_s = send_bytes_s(step, ranks * layout->pp, ranks);

    if (layout->pp == 1)
        return 0;
    return 2.0 * layout->interleave * (bytes / bytes_s + step->machine->nic.latency_s);
}

/* Messages one after the other: those of a ring inside a node, of a tree between nodes. */
static double dp_latency(const struct step *step, uint32_t n)
{
    double latency = 0;

    if ((uint64_t)step->layout->tp * n <= step->machine->gpus)
        return (n - 1) * step->machine->node.latency_s;
    for (; n > 1; n = (n + 1) / 2)
        latency += step->machine->nic.latency_s;
    return latency;
}

/* Gradients are reduced behind the last backward, weights gathered behind the first forward. */
static void replicas(struct dt_suggest_time *time, const struct step *step, struct pass hides)
{
    const struct dt_suggest_layout *layout = step->layout;
    uint32_t n = dt_suggest_layout_replicas(layout);
    double params = dt_suggest_layout_most_params(layout, step->model);
    double bytes_s = way_bytes_s(step, (uint64_t)layout->tp * n, layout->tp), latency = dp_latency(step, n);
    double part = (double)(n - 1) / n;
    double reduce, gather, reduce_hidden, gather_hidden;

    if (n == 1)
        return;
    reduce = part * params * 4 / bytes_s + latency;
    gather = part * params * step->element / bytes_s + latency;
    if (layout->zero == 0) { /* an all-reduce: the second half gathers gradients, not weights */
        reduce += part * params * 4 / bytes_s + latency;
        gather = 0;
    }
    reduce_hidden = reduce * DP_HIDES < hides.backward ? reduce * DP_HIDES : hides.backward;
    gather_hidden = gather * DP_HIDES < hides.forward ? gather * DP_HIDES : hides.forward;
    if (layout->zero == 2) { /* gradients are split at once, so each microbatch reduces its own */
        reduce *= step->microbatches;
        reduce_hidden *= step->microbatches;
    }
    time->dp_hidden = reduce_hidden + gather_hidden;
    time->part[DT_SUGGEST_DP] = reduce + gather - time->dp_hidden;
}

/* ---- The step ---- */

static double update(const struct step *step)
{
    uint32_t n = step->layout->zero >= 1 ? dt_suggest_layout_replicas(step->layout) : 1;

    return moved(step, UPDATE_BYTES * dt_suggest_layout_most_params(step->layout, step->model) / n);
}

struct dt_suggest_time dt_suggest_time_of(const struct dt_suggest_layout *layout,
                                          const struct dt_suggest_model *model,
                                          const struct dt_suggest_machine *machine)
{
    const struct step step = {
        .layout = layout,
        .model = model,
        .machine = machine,
        .tokens = (double)model->seq / layout->cp * layout->microbatch,
        .element = model->precision == DT_SUGGEST_FP32 ? 4 : 2,
        .microbatches = dt_suggest_layout_microbatches(layout, model),
        .layers = (double)model->layers / layout->pp,
    };
    struct pass one = layer(&step), last = output(&step), keys = context(&step);
    double m = step.microbatches, tp = tensor(&step) * step.layers, pp = stages(&step);
    double layers = (one.forward + one.backward + keys.forward + keys.backward) * step.layers + tp;
    struct pass hides = {one.forward * step.layers + last.forward,
                         one.backward * step.layers + last.backward};
    struct dt_suggest_time time = {.dp_hidden = 0};

    time.part[DT_SUGGEST_COMPUTE] =
        m * ((one.forward + one.backward) * step.layers + last.forward + last.backward);
    time.part[DT_SUGGEST_TP] = m * tp;
    time.part[DT_SUGGEST_CP] = m * (keys.forward + keys.backward) * step.layers;
    time.part[DT_SUGGEST_PP] = m * pp;
    time.part[DT_SUGGEST_BUBBLE] = (layout->pp - 1) * (layers + pp) / layout->interleave;
    time.part[DT_SUGGEST_UPDATE] = update(&step);
    replicas(&time, &step, hides);
    for (unsigned i = 0; i < DT_SUGGEST_TIME_PARTS; i++)
        time.total += time.part[i];
    return time;
}
