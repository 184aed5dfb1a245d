#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

enum kind {
    KIND_SIZE,
    KIND_STEPS,
    KIND_COUNT,
    KIND_CHUNKS,
    KIND_ZERO,
    KIND_EXPERTS,
    KIND_REAL,
    KIND_SEED,
    KIND_TYPE,
    KIND_SCHEDULE,
    KIND_TEXT,
    KIND_FLAG,
};

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
    {"schedule", KIND_SCHEDULE, offsetof(struct options, schedule), "NAME",
     "of the pipeline: 1f1b, gpipe, interleaved, zb-h1 or pipedream (1f1b)"},
    {"chunks", KIND_CHUNKS, offsetof(struct options, chunks), "N",
     "parts of the model in each stage, with --schedule=interleaved (1)"},
    {"zero", KIND_ZERO, offsetof(struct options, zero), "N",
     "ZeRO: 1 shards AdamW's state over dp, 2 the gradients, too (0)"},
    {"experts", KIND_EXPERTS, offsetof(struct options, experts), "N",
     "MLPs in each block, over --dtrain-ep, of which a token meets --top-k; 0: one for all (0)"},
    {"top-k", KIND_SIZE, offsetof(struct options, top_k), "K", "experts for each token, with --experts (2)"},
    {"sequence-parallel", KIND_FLAG, offsetof(struct options, sequence_parallel), NULL,
     "tp ranks split the rows where they would hold copies"},
    {"ps", KIND_COUNT, offsetof(struct options, ps), "N",
     "ranks that are parameter servers, the others workers; 0: none (0)"},
    {"staleness", KIND_COUNT, offsetof(struct options, staleness), "N",
     "with --ps: steps a worker may be ahead of the slowest (0)"},
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

/* The words that an option takes. */
struct word {
    const char *name;
    int value;
};

static const struct word types[] = {
    {"float32", DTRAIN_FLOAT32},
    {"float64", DTRAIN_FLOAT64},
    {"bfloat16", DTRAIN_BFLOAT16},
};
static const struct word schedules[] = {
    {"1f1b", DTRAIN_PP_1F1B},   {"gpipe", DTRAIN_PP_GPIPE},         {"interleaved", DTRAIN_PP_INTERLEAVED},
    {"zb-h1", DTRAIN_PP_ZB_H1}, {"pipedream", DTRAIN_PP_PIPEDREAM},
};
enum {
    TYPE_COUNT = sizeof(types) / sizeof(types[0]),
    SCHEDULE_COUNT = sizeof(schedules) / sizeof(schedules[0])
};

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
    .schedule = DTRAIN_PP_1F1B,
    .chunks = 1,
    .top_k = 2,
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

static const struct word *find_word(const struct word *words, int count, const char *text)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i].name, text) == 0)
            return &words[i];
    }
    return NULL;
}

static int parse_type(enum dtrain_type *to, const struct row *row, const char *text, struct dtrain_error *err)
{
    const struct word *word = find_word(types, TYPE_COUNT, text);

    if (word == NULL)
        return error_set(err, "--%s=%s: expected float32, float64 or bfloat16", row->name, text);
    *to = (enum dtrain_type)word->value;
    return 0;
}

static int parse_schedule(enum dtrain_pp_kind *to, const struct row *row, const char *text,
                          struct dtrain_error *err)
{
    const struct word *word = find_word(schedules, SCHEDULE_COUNT, text);

    if (word == NULL)
        return error_set(err, "--%s=%s: expected 1f1b, gpipe, interleaved, zb-h1 or pipedream", row->name,
                         text);
    *to = (enum dtrain_pp_kind)word->value;
    return 0;
}

static const char *name_of(const struct word *words, int count, int value)
{
    for (int i = 0; i < count; i++) {
        if (words[i].value == value)
            return words[i].name;
    }
    return "?";
}

const char *options_type_name(enum dtrain_type type)
{
    return name_of(types, TYPE_COUNT, (int)type);
}

static const char *schedule_name(enum dtrain_pp_kind schedule)
{
    return name_of(schedules, SCHEDULE_COUNT, (int)schedule);
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
    case KIND_CHUNKS:
        return parse_integer(to, row, text, 1, DTRAIN_PP_CHUNKS_MAX, err);
    case KIND_ZERO:
        return parse_integer(to, row, text, 0, 2, err);
    case KIND_EXPERTS:
        return parse_integer(to, row, text, 0, OPTIONS_EXPERTS_MAX, err);
    case KIND_REAL:
        return parse_real(to, row, text, err);
    case KIND_SEED:
        return parse_seed(to, row, text, err);
    case KIND_TYPE:
        return parse_type(to, row, text, err);
    case KIND_SCHEDULE:
        return parse_schedule(to, row, text, err);
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

/* What a schedule cannot be joined with. */
static int check_schedule(const struct options *options, struct dtrain_error *err)
{
    const char *schedule = schedule_name(options->schedule);
    bool is_interleaved = options->schedule == DTRAIN_PP_INTERLEAVED;

    if (is_interleaved && options->chunks < 2)
        return error_set(err, "--schedule=interleaved: expected --chunks of 2 or more, too");
    if (!is_interleaved && options->chunks > 1)
        return error_set(err,
                         "--chunks=%d: a stage has one part of the model under --schedule=%s: use "
                         "--schedule=interleaved",
                         options->chunks, schedule);
    if (options->zero == 2 && (is_interleaved || options->schedule == DTRAIN_PP_ZB_H1))
        return error_set(err,
                         "--zero=2 reduces all gradients of a stage after each backward, of which "
                         "--schedule=%s has several under way: use --zero=1",
                         schedule);
    if (options->clip > 0 && options->schedule == DTRAIN_PP_PIPEDREAM)
        return error_set(err,
                         "--clip=%g: stages update at different times under --schedule=pipedream, so "
                         "that the whole gradient has no norm: leave it out",
                         options->clip);
    return 0;
}

/* What parameter servers cannot be joined with. */
static int check_servers(const struct options *options, struct dtrain_error *err)
{
    if (options->ps == 0 && options->staleness > 0)
        return error_set(err, "--staleness=%d: expected --ps of 1 or more, too", options->staleness);
    if (options->ps == 0)
        return 0;
    if (options->zero > 0)
        return error_set(err, "--zero=%d: with --ps the servers have AdamW's state: leave it out",
                         options->zero);
    if (options->sequence_parallel)
        return error_set(err, "--sequence-parallel: with --ps there is no tensor parallel: leave it out");
    if (options->schedule == DTRAIN_PP_PIPEDREAM)
        return error_set(err, "--schedule=pipedream: with --ps servers update, not stages: use another one");
    if (options->type == DTRAIN_BFLOAT16)
        return error_set(err,
                         "--type=bfloat16: with --ps the servers' weights would start from rounded ones: use "
                         "float32 or float64");
    if (options->clip > 0)
        return error_set(err,
                         "--clip=%g: with --ps no rank has the whole gradient, of which this is the norm: "
                         "leave it out",
                         options->clip);
    if (options->save != NULL || options->resume != NULL)
        return error_set(err,
                         "--%s=%s: with --ps AdamW's state stays on the servers, so that there is no whole "
                         "checkpoint: leave it out",
                         options->save != NULL ? "save" : "resume",
                         options->save != NULL ? options->save : options->resume);
    if (options->experts > 0)
        return error_set(err, "--experts=%d: with --ps there is no expert parallel: leave it out",
                         options->experts);
    return 0;
}

/* A checkpoint gathers tensors over tp only. */
static int check_experts(const struct options *options, struct dtrain_error *err)
{
    if (options->experts == 0)
        return 0;
    if (options->top_k > options->experts)
        return error_set(err, "--top-k=%d: a token cannot go to more than the --experts=%d: use %d or less",
                         options->top_k, options->experts, options->experts);
    if (options->save != NULL || options->resume != NULL)
        return error_set(err,
                         "--%s=%s: a checkpoint cannot hold --experts=%d, whose tensors are split over ep: "
                         "leave one of them out",
                         options->save != NULL ? "save" : "resume",
                         options->save != NULL ? options->save : options->resume, options->experts);
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
    if (check_schedule(options, err) != 0 || check_servers(options, err) != 0)
        return -1;
    return check_experts(options, err);
}

static void print_row(FILE *out, const struct row *row)
{
    char name[40];

    snprintf(name, sizeof(name), "--%s%s%s", row->name, row->value ? "=" : "", row->value ? row->value : "");
    fprintf(out, "  %-20s  %s\n", name, row->help);
}

void options_print_help(FILE *out)
{
    fputs("Usage: train [OPTION]...\n"
          "Trains a small GPT on the bytes of a text, split over the ranks of its job step.\n\n",
          out);
    for (int i = 0; i < ROW_COUNT; i++)
        print_row(out, &rows[i]);
    fputs("\nThe layout comes from srun: srun -n16 --dtrain-tp=8 --dtrain-pp=2 train\n"
          "--dtrain-cp splits the tokens of each sequence, too; --dtrain-ep the experts.\n"
          "With --staleness each worker's gradient is its own update: more workers want a smaller --lr.\n"
          "A resumed run repeats --seed, --batch and --lr of the first one, or goes on with others.\n"
          "Exit status: 0, 1 after a failure, 2 for a wrong option.\n",
          out);
}
