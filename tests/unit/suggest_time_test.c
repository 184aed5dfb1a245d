/* Time of a layout by part: formulas by hand, and that more of anything is never slower. */
#include "suggest_case.h"
#include "tools/suggest_time.h"

static const struct {
    const char *name;
    double bytes;
    uint32_t n;
    double bytes_s, latency_s, seconds;
} rings[] = {
    {"one rank sends nothing", 1e9, 1, 1e9, 1, 0},
    {"two ranks: the bytes once", 1e9, 2, 1e9, 0, 1},
    {"eight ranks: 14/8 of the bytes", 8e9, 8, 1e9, 0, 14},
    {"a message for each of 2 (n - 1) steps", 0, 8, 1e9, 0.5, 7},
};

static void test_rings(void)
{
    for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
        double got = dt_suggest_time_ring(rings[i].bytes, rings[i].n, rings[i].bytes_s, rings[i].latency_s);

        tap_near(got, rings[i].seconds, NEAR, rings[i].name);
    }
}

static void test_efficiency(void)
{
    double large = dt_suggest_time_efficiency(1e9, 1e9, 1e9);

    tap_ok(large > 0.5 && large < 1, "a large product comes near the rate, and stays below");
    tap_ok(dt_suggest_time_efficiency(64, 4096, 4096) < dt_suggest_time_efficiency(128, 4096, 4096),
           "a longer product is used better");
}

static const struct dt_suggest_layout base = {8, 1, 4, 2, 1, 1, 0, false, DT_SUGGEST_FULL};

/* (p - 1)/(v m) of what the microbatches of the layers take; tested where the output's part is small. */
static const struct {
    uint32_t pp, interleave, batch;
} bubbles[] = {{2, 1, 64}, {4, 1, 64}, {8, 1, 64}, {4, 2, 64}, {4, 4, 64}, {4, 1, 8}, {8, 2, 512}};

static void test_bubbles(void)
{
    for (size_t i = 0; i < sizeof(bubbles) / sizeof(bubbles[0]); i++) {
        struct dt_suggest_model model = gpt(64, 8192, 64, 2048, bubbles[i].batch);
        struct dt_suggest_layout layout = base;
        struct dt_suggest_machine machine = machine_of(8);
        struct dt_suggest_time time;
        double m, ideal;

        model.vocab = 8;
        layout.pp = bubbles[i].pp;
        layout.interleave = bubbles[i].interleave;
        time = dt_suggest_time_of(&layout, &model, &machine);
        m = dt_suggest_layout_microbatches(&layout, &model);
        ideal = time.part[DT_SUGGEST_COMPUTE] + time.part[DT_SUGGEST_TP] + time.part[DT_SUGGEST_PP];
        tap_near(time.part[DT_SUGGEST_BUBBLE] / ideal, (layout.pp - 1) / (layout.interleave * m), 1e-3,
                 "bubble over ideal is (p - 1)/(v m)");
    }
}

/* Each change of the machine alone may make no layout slower, and one of them faster. */
static void faster_flops(struct dt_suggest_machine *machine)
{
    machine->flops *= 2;
}
static void faster_memory(struct dt_suggest_machine *machine)
{
    machine->memory_bytes_s *= 2;
}
static void faster_node(struct dt_suggest_machine *machine)
{
    machine->node.bytes_s *= 2;
    for (uint32_t tp = 1; tp <= machine->gpus; tp++)
        machine->tp[tp].bytes_s *= 2;
}
static void faster_nic(struct dt_suggest_machine *machine)
{
    machine->nic.bytes_s *= 2;
}
static void shorter_latency(struct dt_suggest_machine *machine)
{
    machine->nic.latency_s /= 2;
    machine->node.latency_s /= 2;
    for (uint32_t tp = 1; tp <= machine->gpus; tp++)
        machine->tp[tp].latency_s /= 2;
}

static const struct {
    const char *name;
    void (*change)(struct dt_suggest_machine *machine);
} changes[] = {
    {"operations", faster_flops}, {"memory", faster_memory},      {"links", faster_node},
    {"NICs", faster_nic},         {"latencies", shorter_latency},
};

static const struct dt_suggest_layout layouts[] = {
    {8, 1, 4, 2, 1, 1, 0, false, DT_SUGGEST_FULL},       {8, 1, 4, 2, 1, 2, 1, true, DT_SUGGEST_KEEP},
    {1, 1, 1, 64, 1, 1, 2, false, DT_SUGGEST_SELECTIVE}, {2, 8, 1, 4, 1, 1, 1, true, DT_SUGGEST_FULL},
    {4, 1, 16, 1, 2, 1, 0, true, DT_SUGGEST_KEEP},       {1, 1, 64, 1, 1, 1, 0, false, DT_SUGGEST_FULL},
};

static void test_monotone(void)
{
    struct dt_suggest_model model = gpt(64, 8192, 64, 8192, 64);
    struct dt_suggest_machine machine = machine_of(8);

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        bool is_faster = false, is_slower = false;
        struct dt_suggest_machine better = machine;

        changes[i].change(&better);
        for (size_t k = 0; k < sizeof(layouts) / sizeof(layouts[0]); k++) {
            double before = dt_suggest_time_of(&layouts[k], &model, &machine).total;
            double after = dt_suggest_time_of(&layouts[k], &model, &better).total;

            is_faster = is_faster || after < before;
            is_slower = is_slower || after > before;
        }
        tap_ok(is_faster && !is_slower, "better %s make no layout slower", changes[i].name);
    }
}

static double part_of(struct dt_suggest_layout layout, enum dt_suggest_time_part part)
{
    struct dt_suggest_model model = gpt(64, 8192, 64, 8192, 64);
    struct dt_suggest_machine machine = machine_of(8);

    return dt_suggest_time_of(&layout, &model, &machine).part[part];
}

/* Where the traffic of an axis goes decides what it costs. */
static void test_places(void)
{
    struct dt_suggest_layout a = {1, 1, 1, 8, 1, 1, 0, false, DT_SUGGEST_FULL}, b = a;
    struct dt_suggest_model model = gpt(64, 8192, 64, 8192, 64);
    struct dt_suggest_machine one = machine_of(1), slow = machine_of(8);
    struct dt_suggest_time time;

    time = dt_suggest_time_of(&a, &model, &one);
    b.dp = 64;
    slow.nic.bytes_s /= 8;
    tap_ok(dt_suggest_time_of(&b, &model, &slow).part[DT_SUGGEST_DP] > time.part[DT_SUGGEST_DP],
           "dp across nodes costs more than inside");
    tap_ok(time.dp_hidden > 0, "some of it is hidden behind compute");
    tap_ok(part_of(a, DT_SUGGEST_TP) == 0 && part_of(a, DT_SUGGEST_PP) == 0 &&
               part_of(a, DT_SUGGEST_BUBBLE) == 0 && part_of(a, DT_SUGGEST_CP) == 0,
           "axes of one cost nothing");
    b = a;
    b.zero = 1;
    tap_ok(part_of(b, DT_SUGGEST_UPDATE) * 8 < part_of(a, DT_SUGGEST_UPDATE) * 1.001,
           "ZeRO updates an eighth");
    b.zero = 2;
    tap_ok(part_of(b, DT_SUGGEST_DP) > part_of(a, DT_SUGGEST_DP), "ZeRO 2 reduces each microbatch");
    b = layouts[0];
    b.recompute = DT_SUGGEST_KEEP;
    tap_near(part_of(layouts[0], DT_SUGGEST_TP), 1.5 * part_of(b, DT_SUGGEST_TP), NEAR,
             "recomputed in full, six all-reduces in place of four");
}

/*
 * Parts of two layouts, one over the other, on 8 nodes without latencies and with NICs so slow that nothing hides
 * them. A microbatch sends 2 v s b h/t values between stages; keys and values of cp 3 (cp - 1) 2 s/cp b h a layer.
 */
static const struct {
    const char *name;
    struct dt_suggest_layout a;
    enum dt_suggest_time_part a_part;
    struct dt_suggest_layout b;
    enum dt_suggest_time_part b_part;
    double ratio;
} ways[] = {
    {"two chunks of a stage send twice",
     {8, 1, 8, 1, 1, 2, 0, false, DT_SUGGEST_FULL},
     DT_SUGGEST_PP,
     {8, 1, 8, 1, 1, 1, 0, false, DT_SUGGEST_FULL},
     DT_SUGGEST_PP,
     2},
    {"tp 8 sends an eighth each: 64 microbatches against 8",
     {8, 1, 8, 1, 1, 1, 0, false, DT_SUGGEST_FULL},
     DT_SUGGEST_PP,
     {1, 1, 8, 8, 1, 1, 0, false, DT_SUGGEST_FULL},
     DT_SUGGEST_PP,
     1},
    {"a stage of one rank sends by its own NIC: 64 microbatches against 8",
     {1, 1, 64, 1, 1, 1, 0, false, DT_SUGGEST_FULL},
     DT_SUGGEST_PP,
     {1, 1, 8, 8, 1, 1, 0, false, DT_SUGGEST_FULL},
     DT_SUGGEST_PP,
     8},
    {"cp: a quarter of the microbatches, 3 x 15 x 2/16 of a sequence in each of 64 layers, against 2",
     {1, 16, 1, 4, 1, 1, 0, false, DT_SUGGEST_FULL},
     DT_SUGGEST_CP,
     {1, 1, 64, 1, 1, 1, 0, false, DT_SUGGEST_FULL},
     DT_SUGGEST_PP,
     0.25 * 3 * 15 * 2 / 16 * 64 / 2},
    {"dp's 16 replicas of tp 4 share the NICs with three others",
     {4, 1, 1, 16, 1, 1, 0, false, DT_SUGGEST_FULL},
     DT_SUGGEST_DP,
     {1, 1, 4, 16, 1, 1, 0, false, DT_SUGGEST_FULL},
     DT_SUGGEST_DP,
     4},
    {"an all-reduce of fp32 gradients is 8 bytes, ZeRO's two halves are 6",
     {8, 1, 1, 8, 1, 1, 0, false, DT_SUGGEST_FULL},
     DT_SUGGEST_DP,
     {8, 1, 1, 8, 1, 1, 1, false, DT_SUGGEST_FULL},
     DT_SUGGEST_DP,
     8.0 / 6},
};

static void test_ways(void)
{
    struct dt_suggest_model model = gpt(64, 8192, 64, 8192, 64);
    struct dt_suggest_machine machine = machine_of(8);

    model.vocab = 8; /* stages have nearly equal parameters */
    machine.nic = (struct dt_suggest_link){1e3, 0, DT_PATH_UNKNOWN};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        double a = dt_suggest_time_of(&ways[i].a, &model, &machine).part[ways[i].a_part];
        double b = dt_suggest_time_of(&ways[i].b, &model, &machine).part[ways[i].b_part];

        tap_near(a / b, ways[i].ratio, 0.01, ways[i].name);
    }
}

/* Inside a node the NICs are not asked. */
static void test_inside(void)
{
    static const struct dt_suggest_layout inside[] = {
        {1, 1, 8, 1, 1, 1, 0, false, DT_SUGGEST_FULL},
        {1, 8, 1, 1, 1, 1, 0, false, DT_SUGGEST_FULL},
        {2, 1, 1, 4, 1, 1, 1, false, DT_SUGGEST_FULL},
    };
    struct dt_suggest_model model = gpt(64, 8192, 64, 8192, 64);
    struct dt_suggest_machine machine = machine_of(1), slow = machine_of(1);

    slow.nic.bytes_s = 1;
    for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
        tap_ok(dt_suggest_time_of(&inside[i], &model, &machine).total ==
                   dt_suggest_time_of(&inside[i], &model, &slow).total,
               "layout %zu stays inside its node", i);
}

static void test_parts(void)
{
    struct dt_suggest_model model = gpt(64, 8192, 64, 8192, 64);
    struct dt_suggest_machine machine = machine_of(8);

    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        struct dt_suggest_time time = dt_suggest_time_of(&layouts[i], &model, &machine);
        double sum = 0;
        bool is_negative = time.dp_hidden < 0;

        for (unsigned part = 0; part < DT_SUGGEST_TIME_PARTS; part++) {
            sum += time.part[part];
            is_negative = is_negative || time.part[part] < 0;
        }
        tap_ok(!is_negative && is_near(time.total, sum, NEAR),
               "layout %zu: the total is the sum of its parts", i);
    }
}

int main(void)
{
    test_rings();
    test_efficiency();
    test_bubbles();
    test_monotone();
    test_places();
    test_ways();
    test_inside();
    test_parts();
    return tap_done();
}
