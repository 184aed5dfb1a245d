#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

enum kind { KIND_SIZE, KIND_STEPS, KIND_COUNT, KIND_REAL, KIND_SEED, KIND_TYPE, KIND_TEXT, KIND_FLAG };

/* One row an option; it feeds getopt_long() and --help. */
static const struct row {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *value; /* NULL: takes none */
    const char *help;
} rows[] = {
    {"data", KIND_TEXT, offsetof(struct options, data), "FILE",
     "text to learn, as bytes (/usr/share/common-licenses/GPL-3)"},
    {"layers", KIND_SIZE, offsetof(struct options, layers), "N", "transformer blocks (4)"},
    {"hidden", KIND_SIZE, offsetof(struct options, hidden), "N", "width of the model (64)"},
    {"heads", KIND_SIZE, offsetof(struct options, heads), "N", "attention heads (8)"},
    {"seq", KIND_SIZE, offsetof(struct options, seq), "N", "tokens of a sequence (64)"},
    {"batch", KIND_SIZE, offsetof(struct options, batch), "N", "sequences of a step, over all ranks (16)"},
    {"microbatches", KIND_SIZE, offsetof(struct options, microbatches), "N",
     "pieces of each data-parallel rank's share (4)"},
    {"steps", KIND_STEPS, offsetof(struct options, steps), "N",
     "number of the last step, also after --resume (200)"},
    {"type", KIND_TYPE, offsetof(struct options, type), "TYPE",
     "float32, float64 or bfloat16; bfloat16 keeps its weights in float32, too (float32)"},
    {"lr", KIND_REAL, offsetof(struct options, lr), "X", "learning rate of AdamW (0.001)"},
    {"clip", KIND_REAL, offsetof(struct options, clip), "X", "largest gradient norm; 0 does not clip (0)"},
    {"seed", KIND_SEED, offsetof(struct options, seed), "N", "of the weights and of the batches (1)"},
    {"save", KIND_TEXT, offsetof(struct options, save), "FILE", "write a checkpoint after the last step"},
    {"save-every", KIND_COUNT, offsetof(struct options, save_every), "N",
     "and after every N steps; 0 does not (0)"},
    {"resume", KIND_TEXT, offsetof(struct options, resume), "FILE",
     "start from a checkpoint, saved under any layout"},
    {"help", KIND_FLAG, offsetof(struct options, help), NULL, "print this and exit"},
    {"version", KIND_FLAG, offsetof(struct options, version), NULL, "print the version and exit"},
};

/* getopt_long() returns FIRST_VALUE and a row's index; were they all alike, no prefix would be ambiguous. */
enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]), FIRST_VALUE = 256 };

static const struct type_name {
    const char *name;
    enum dtrain_type type;
} types[] = {
    {"float32", DTRAIN_FLOAT32},
    {"float64", DTRAIN_FLOAT64},
    {"bfloat16", DTRAIN_BFLOAT16},
};
enum { TYPE_COUNT = sizeof(types) / sizeof(types[0]) };

static const struct options defaults = {
    .data = "/usr/share/common-licenses/GPL-3",
    .layers = 4,
    .hidden = 64,
    .heads = 8,
    .seq = 64,
    .batch = 16,
    .microbatches = 4,
    .steps = 200,
    .type = DTRAIN_FLOAT32,
    .lr = 0.001,
    .seed = 1,
};

static int parse_integer(int *to, const struct row *row, const char *text, int least, int most,
                         struct dtrain_error *err)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < least || value > most)
        return error_set(err, "--%s=%s: expected a whole number from %d to %d", row->name, text, least, most);
    *to = (int)value;
    return 0;
}

static int parse_real(double *to, const struct row *row, const char *text, struct dtrain_error *err)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(value) || value < 0)
        return error_set(err, "--%s=%s: expected a number that is not negative, such as 0.001", row->name,
                         text);
    *to = value;
    return 0;
}

static int parse_seed(uint64_t *to, const struct row *row, const char *text, struct dtrain_error *err)
{
    char *end;

    errno = 0;
    *to = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
        return error_set(err, "--%s=%s: expected a whole number from 0 to %llu", row->name, text,
                         (unsigned long long)UINT64_MAX);
    return 0;
}

static int parse_type(enum dtrain_type *to, const struct row *row, const char *text, struct dtrain_error *err)
{
    for (int i = 0; i < TYPE_COUNT; i++) {
        if (strcmp(types[i].name, text) == 0) {
            *to = types[i].type;
            return 0;
        }
    }
    return error_set(err, "--%s=%s: expected float32, float64 or bfloat16", row->name, text);
}

const char *options_type_name(enum dtrain_type type)
{
    for (int i = 0; i < TYPE_COUNT; i++) {
        if (types[i].type == type)
            return types[i].name;
    }
    return "?";
}

static int parse_text(const char **to, const struct row *row, const char *text, struct dtrain_error *err)
{
    if (text[0] == '\0')
        return error_set(err, "--%s: expected a file name, not an empty word", row->name);
    *to = text;
    return 0;
}

static int parse_value(struct options *options, const struct row *row, const char *text,
                       struct dtrain_error *err)
{
    void *to = (char *)options + row->offset;

    switch (row->kind) {
    case KIND_SIZE:
        return parse_integer(to, row, text, 1, OPTIONS_SIZE_MAX, err);
    case KIND_STEPS:
        return parse_integer(to, row, text, 1, OPTIONS_STEPS_MAX, err);
    case KIND_COUNT:
        return parse_integer(to, row, text, 0, OPTIONS_STEPS_MAX, err);
    case KIND_REAL:
        return parse_real(to, row, text, err);
    case KIND_SEED:
        return parse_seed(to, row, text, err);
    case KIND_TYPE:
        return parse_type(to, row, text, err);
    case KIND_TEXT:
        return parse_text(to, row, text, err);
    case KIND_FLAG:
        break;
    }
    *(bool *)to = true;
    return 0;
}

/* getopt's own message would come once from every rank. */
static int refuse(char **argv, int returned, struct dtrain_error *err)
{
    const char *word = argv[optind - 1];

    if (returned == ':')
        return error_set(err, "%s: expected a value; --help lists the options", word);
    return error_set(err, "%s: not an option of this program, or an ambiguous one; --help lists them", word);
}

static int parse_all(struct options *options, const struct option *longs, int argc, char **argv,
                     struct dtrain_error *err)
{
    int returned;

    while ((returned = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
        if (returned < FIRST_VALUE)
            return refuse(argv, returned, err);
        if (parse_value(options, &rows[returned - FIRST_VALUE], optarg, err) != 0)
            return -1;
    }
    if (optind < argc)
        return error_set(err, "%s: this program takes options only; --help lists them", argv[optind]);
    return 0;
}

int options_parse(struct options *options, int argc, char **argv, struct dtrain_error *err)
{
    struct option longs[ROW_COUNT + 1] = {{0}};

    for (int i = 0; i < ROW_COUNT; i++) {
        longs[i].name = rows[i].name;
        longs[i].has_arg = rows[i].value ? required_argument : no_argument;
        longs[i].val = FIRST_VALUE + i;
    }
    *options = defaults;
    optind = 0; /* parse from the start, whoever parsed before */
    if (parse_all(options, longs, argc, argv, err) != 0)
        return -1;
    if (options->save_every > 0 && options->save == NULL)
        return error_set(err, "--save-every=%d: expected --save=FILE too", options->save_every);
    return 0;
}

static void print_row(FILE *out, const struct row *row)
{
    char name[40];

    snprintf(name, sizeof(name), "--%s%s%s", row->name, row->value ? "=" : "", row->value ? row->value : "");
    fprintf(out, "  %-18s  %s\n", name, row->help);
}

void options_print_help(FILE *out)
{
    fputs("Usage: train [OPTION]...\n"
          "Trains a small GPT on the bytes of a text, split over the ranks of its job step.\n\n",
          out);
    for (int i = 0; i < ROW_COUNT; i++)
        print_row(out, &rows[i]);
    fputs("\nThe layout comes from srun: srun -n16 --dtrain-tp=8 --dtrain-pp=2 train\n"
          "A resumed run repeats --seed, --batch and --lr of the first one, or goes on with others.\n"
          "Exit status: 0, 1 after a failure, 2 for a wrong option.\n",
          out);
}
