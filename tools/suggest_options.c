#include "tools/suggest_options.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/parse.h"
#include "tools/option_table.h"

#define LONG_FIRST 256 /* getopt's value of row 0; below it are letters */
#define ROWS_MAX 64u
#define TITLE_MAX 64   /* bytes of "-N, --nodes=N" with the NUL */
#define TITLE_WIDTH 37 /* columns of it */
#define WHAT_MAX 40    /* bytes of "--nodes" with the NUL */
#define DIGITS_MAX 15u /* of a size: what a double holds */

#define AT(field) offsetof(struct dt_suggest_options, field)
#define COUNT(field, most) .kind = DT_SUGGEST_COUNT, .offset = AT(field), .max = (most)
#define SIZE(field, most, factor)                                                                            \
    .kind = DT_SUGGEST_SIZE, .offset = AT(field), .max = (most), .unit = (factor)
#define FLAG(field) .kind = DT_SUGGEST_FLAG, .offset = AT(field)
#define TEXT(field) .kind = DT_SUGGEST_TEXT, .offset = AT(field)
#define WORD(field, list)                                                                                    \
    .kind = DT_SUGGEST_WORD, .offset = AT(field), .words = (list),                                           \
    .word_count = sizeof(list) / sizeof(*(list))

static const char *const on_off[] = {"off", "on"};
static const char *const zero_words[] = {"0", "1", "2"};

static const struct dt_suggest_option table[] = {
    {"params", "N", "parameters of the model, such as 7B; a usual shape is made of it",
     SIZE(model.params, DT_SUGGEST_PARAMS_MAX, 1)},
    {"layers", "N", "its layers", COUNT(model.layers, DT_SUGGEST_LAYERS_MAX)},
    {"hidden", "N", "its width", COUNT(model.hidden, DT_SUGGEST_WIDTH_MAX)},
    {"heads", "N", "attention heads", COUNT(model.heads, DT_SUGGEST_WIDTH_MAX)},
    {"kv-heads", "N", "heads of keys and values, as many as heads if not given",
     COUNT(model.kv_heads, DT_SUGGEST_WIDTH_MAX)},
    {"ffn", "N", "width of the feed-forward, 4 times hidden, gated 8/3, if not given",
     COUNT(model.ffn, DT_SUGGEST_WIDTH_MAX)},
    {"gated", NULL, "gated feed-forward; no biases, dropout or learned positions (Llama)",
     FLAG(model.is_gated)},
    {"untied", NULL, "the output does not share the embedding's matrix", FLAG(model.is_untied)},
    {"plain-attention", NULL, "the scores lie in memory: no flash attention", FLAG(model.is_plain)},
    {"seq", "N", "tokens of a sequence", COUNT(model.seq, DT_SUGGEST_WIDTH_MAX), .letter = 's'},
    {"vocab", "N", "size of the vocabulary", COUNT(model.vocab, DT_SUGGEST_WIDTH_MAX)},
    {"batch", "N", "sequences of a step, over all replicas", COUNT(model.batch, DT_SUGGEST_WIDTH_MAX),
     .letter = 'b'},
    {"precision", "WORD", "of weights and activations: bf16 (default), fp16, fp32",
     WORD(model.precision, dt_suggest_precision_words)},
    {"machine", "NAME", "the nodes are such machines; 'dtrain topo --machine list' lists them",
     TEXT(source.machine), .letter = 'm'},
    {"topology", "FILE", "the nodes are as this file says: any that 'dtrain topo --file' reads",
     TEXT(source.file), .letter = 'f'},
    {"nodes", "N", "how many nodes", COUNT(machine.nodes, DT_SUGGEST_NODES_MAX), .letter = 'N'},
    {"gpu", "KIND", "what the GPUs are, if the machine is not named: such as a100-80", TEXT(machine.gpu)},
    {"memory", "BYTES", "memory of a GPU, such as 40Gi", .kind = DT_SUGGEST_BYTES,
     .offset = AT(machine.memory)},
    {"tflops", "N", "rate of a GPU for matrices, without sparsity", SIZE(machine.flops, 1e6, 1e12)},
    {"nic-gbits", "N", "rate of each NIC in Gbit/s", SIZE(machine.nic_bytes_s, 1e5, 1.25e8)},
    {"tp", "N", "fix the tensor parallel size", COUNT(limits.tp, DT_WORLD_MAX)},
    {"cp", "N", "fix the context parallel size", COUNT(limits.cp, DT_WORLD_MAX)},
    {"pp", "N", "fix the number of pipeline stages", COUNT(limits.pp, DT_WORLD_MAX)},
    {"dp", "N", "fix the data parallel size", COUNT(limits.dp, DT_WORLD_MAX)},
    {"microbatch", "N", "fix the sequences of a microbatch", COUNT(limits.microbatch, DT_SUGGEST_WIDTH_MAX)},
    {"interleave", "N", "fix the model chunks of a stage; 1 is plain 1F1B",
     COUNT(limits.interleave, DT_SUGGEST_LAYERS_MAX)},
    {"zero", "N", "fix the ZeRO stage: 0, 1 or 2", WORD(limits.zero, zero_words)},
    {"sequence-parallel", "on|off", "fix whether tp also splits along the sequence",
     WORD(limits.is_sp, on_off)},
    {"recompute", "WORD", "fix which activations are made again: none, selective, full",
     WORD(limits.recompute, dt_suggest_recompute_words)},
    {"max-tp", "N", "no larger tp", COUNT(limits.max_tp, DT_WORLD_MAX)},
    {"max-cp", "N", "no larger cp; if not given, parts have 4096 tokens or more",
     COUNT(limits.max_cp, DT_WORLD_MAX)},
    {"max-pp", "N", "no more stages", COUNT(limits.max_pp, DT_WORLD_MAX)},
    {"max-microbatch", "N", "no larger microbatch than this, or 64",
     COUNT(limits.max_microbatch, DT_SUGGEST_WIDTH_MAX)},
    {"top", "N", "layouts to show, 5 if not given", COUNT(top, DT_SUGGEST_TOP_MAX), .letter = 'n'},
    {"json", NULL, "print JSON", FLAG(is_json)},
    {"help", NULL, "show this", FLAG(is_help), .letter = 'h'},
};

#define TABLE_COUNT (sizeof(table) / sizeof(table[0]))

const struct dt_suggest_option *dt_suggest_options_table(size_t *count)
{
    *count = TABLE_COUNT;
    return table;
}

/* ---- Values ---- */

static double power_of(char unit)
{
    switch (unit) {
    case '\0':
        return 1;
    case 'K':
        return 1e3;
    case 'M':
        return 1e6;
    case 'B':
    case 'G':
        return 1e9;
    case 'T':
        return 1e12;
    default:
        return 0;
    }
}

int dt_suggest_options_size(double *value, const char *text, double max, const char *what,
                            struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    const char *at = text;
    double number = 0, divisor = 1;
    size_t digits = 0;

    for (; dt_parse_is_digit(*at) && digits < DIGITS_MAX; at++, digits++)
        number = number * 10 + (*at - '0');
    if (digits > 0 && at[0] == '.' && dt_parse_is_digit(at[1]))
        for (at++; dt_parse_is_digit(*at) && digits < DIGITS_MAX; at++, digits++, divisor *= 10)
            number = number * 10 + (*at - '0');
    if (digits == 0 || power_of(*at) == 0 || (*at != '\0' && at[1] != '\0'))
        return dt_error_set(err, "%s=%s is not understood: expected a number such as 7B, 1.5T or 400", what,
                            dt_parse_shown(shown, text));
    *value = number / divisor * power_of(*at);
    if (*value <= 0 || *value > max)
        return dt_error_set(err, "%s=%s is out of range: expected more than 0, at most %.4g", what,
                            dt_parse_shown(shown, text), max);
    return 0;
}

static int apply_bytes(double *value, const char *text, const char *what, struct dtrain_error *err)
{
    uint64_t bytes;

    if (dt_option_table_bytes(&bytes, text, what, err) != 0)
        return -1;
    if (bytes == 0)
        return dt_error_set(err, "%s=0 is no memory: expected bytes such as 40Gi", what);
    *value = (double)bytes;
    return 0;
}

static int apply_size(double *value, const struct dt_suggest_option *row, const char *text, const char *what,
                      struct dtrain_error *err)
{
    if (dt_suggest_options_size(value, text, row->max, what, err) != 0)
        return -1;
    *value *= row->unit;
    return 0;
}

static int apply(struct dt_suggest_options *options, const struct dt_suggest_option *row, const char *text,
                 struct dtrain_error *err)
{
    void *field = (char *)options + row->offset;
    char what[WHAT_MAX];

    snprintf(what, sizeof(what), "--%s", row->name);
    switch (row->kind) {
    case DT_SUGGEST_FLAG:
        *(bool *)field = true;
        return 0;
    case DT_SUGGEST_TEXT:
        *(const char **)field = text;
        return 0;
    case DT_SUGGEST_COUNT:
        return dt_parse_u32(field, text, 1, (uint32_t)row->max, what, err);
    case DT_SUGGEST_SIZE:
        return apply_size(field, row, text, what, err);
    case DT_SUGGEST_BYTES:
        return apply_bytes(field, text, what, err);
    case DT_SUGGEST_WORD:
        return dt_parse_word(field, text, row->words, row->word_count, what, err);
    }
    return 0;
}

/* ---- The command line ---- */

static void getopt_init(struct option longs[ROWS_MAX], char letters[2 * ROWS_MAX])
{
    _Static_assert(TABLE_COUNT < ROWS_MAX, "the table has more rows than there is room for");

    memset(longs, 0, sizeof(*longs) * ROWS_MAX);
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        longs[i] = (struct option){.name = table[i].name,
                                   .has_arg = table[i].argument != NULL ? required_argument : no_argument,
                                   .val = LONG_FIRST + (int)i};
        if (table[i].letter == 0)
            continue;
        *letters++ = table[i].letter;
        if (table[i].argument != NULL)
            *letters++ = ':';
    }
    *letters = '\0';
}

static const struct dt_suggest_option *row_of(int which)
{
    size_t i = 0;

    if (which >= LONG_FIRST)
        return &table[which - LONG_FIRST];
    while (table[i].letter != which)
        i++;
    return &table[i];
}

static enum dt_exit check(const struct dt_suggest_options *options, int argc, char **argv)
{
    struct dtrain_error err;

    if (optind < argc)
        dt_error_set(&err, "'%.64s' is not understood: expected options only", argv[optind]);
    else if (options->source.machine != NULL && options->source.file != NULL)
        dt_error_set(&err, "--machine and --topology both say what the nodes are: give one");
    else
        return DT_EXIT_OK;
    return dt_console_fail_usage(argv[0], &err);
}

enum dt_exit dt_suggest_options_parse(struct dt_suggest_options *options, int argc, char **argv)
{
    struct option longs[ROWS_MAX];
    char letters[2 * ROWS_MAX];
    struct dtrain_error err;
    int which;

    memset(options, 0, sizeof(*options));
    dt_suggest_limits_init(&options->limits);
    options->top = DT_SUGGEST_TOP;
    getopt_init(longs, letters);
    while ((which = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (which == '?')
            return dt_console_fail_usage(argv[0], NULL);
        if (apply(options, row_of(which), optarg, &err) != 0)
            return dt_console_fail(argv[0], &err);
    }
    options->machine.machine = options->source.machine;
    options->machine.precision = options->model.precision;
    return check(options, argc, argv);
}

void dt_suggest_options_usage(struct dt_out *out)
{
    dt_out_text(
        out, "Usage: dtrain suggest [OPTION]...\n\n"
             "Ranks the layouts of a model on nodes: which fit the GPUs' memory, and which is fastest.\n\n");
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        char title[TITLE_MAX], letter[8] = "   ";

        if (table[i].letter != 0)
            snprintf(letter, sizeof(letter), "-%c,", table[i].letter);
        snprintf(title, sizeof(title), "%s --%s%s%s", letter, table[i].name,
                 table[i].argument != NULL ? "=" : "", table[i].argument != NULL ? table[i].argument : "");
        dt_console_entry(out, TITLE_WIDTH, title, table[i].help);
    }
}
