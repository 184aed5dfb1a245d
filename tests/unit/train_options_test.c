/* The command line of examples/train: what is taken, what is refused with which words. */
#include <string.h>

#include "examples/train/options.h"
#include "tap.h"

enum { ARGS_MAX = 8, WORD_MAX = 64 };

struct row {
    const char *args[ARGS_MAX];
    const char *words; /* of the error; NULL: accepted */
};

static const struct row rows[] = {
    {{NULL}, NULL},
    {{"--layers=2", "--hidden", "32", "--steps=7"}, NULL},
    {{"--lr=1e-4", "--clip=0.5", "--seed=18446744073709551615"}, NULL},
    {{"--type=float32", "--type=bfloat16", "--type=float64"}, NULL},
    {{"--save=a", "--save-every=5", "--resume=b"}, NULL},
    {{"--experts=8", "--top-k=3"}, NULL},
    {{"--experts=1025"}, "--experts=1025: expected a whole number from 0 to 1024"},
    {{"--experts=1"}, "--top-k=2: a token cannot go to more than the --experts=1: use 1 or less"},
    {{"--experts=4", "--save=a"}, "--save=a: a checkpoint cannot hold --experts=4"},
    {{"--experts=4", "--resume=a"}, "--resume=a: a checkpoint cannot hold --experts=4"},
    {{"--layers=0"}, "--layers=0: expected a whole number from 1 to 32768"},
    {{"--hidden=-4"}, "--hidden=-4: expected a whole number"},
    {{"--heads=eight"}, "--heads=eight: expected a whole number"},
    {{"--seq=8x"}, "--seq=8x: expected a whole number"},
    {{"--batch="}, "--batch=: expected a whole number"},
    {{"--batch=32769"}, "--batch=32769: expected a whole number from 1 to 32768"},
    {{"--microbatches=99999999999999999999"}, "--microbatches=99999999999999999999: expected"},
    {{"--steps=0"}, "--steps=0: expected a whole number from 1 to 1000000000"},
    {{"--lr=-1"}, "--lr=-1: expected a number that is not negative"},
    {{"--lr=nan"}, "--lr=nan: expected"},
    {{"--clip=inf"}, "--clip=inf: expected"},
    {{"--type=float16"}, "--type=float16: expected float32, float64 or bfloat16"},
    {{"--type="}, "--type=: expected float32"},
    {{"--schedule=gpipe", "--schedule=zb-h1", "--schedule=pipedream", "--schedule=1f1b"}, NULL},
    {{"--schedule=interleaved", "--chunks=2", "--zero=1"}, NULL},
    {{"--zero=2", "--sequence-parallel"}, NULL},
    {{"--schedule=fifo"}, "--schedule=fifo: expected 1f1b, gpipe, interleaved, zb-h1 or pipedream"},
    {{"--schedule=interleaved"}, "--schedule=interleaved: expected --chunks of 2 or more"},
    {{"--chunks=2"}, "--chunks=2: a stage has one part of the model under --schedule=1f1b"},
    {{"--chunks=9"}, "--chunks=9: expected a whole number from 1 to 8"},
    {{"--zero=3"}, "--zero=3: expected a whole number from 0 to 2"},
    {{"--zero=2", "--schedule=zb-h1"}, "--zero=2 reduces all gradients of a stage after each backward"},
    {{"--zero=2", "--schedule=interleaved", "--chunks=2"}, "--schedule=interleaved has several under way"},
    {{"--clip=1", "--schedule=pipedream"}, "--clip=1: stages update at different times"},
    {{"--ps=2", "--staleness=3", "--type=float64", "--schedule=zb-h1"}, NULL},
    {{"--ps=0", "--clip=1", "--save=a"}, NULL},
    {{"--ps=-1"}, "--ps=-1: expected a whole number from 0"},
    {{"--staleness=2"}, "--staleness=2: expected --ps of 1 or more, too"},
    {{"--ps=1", "--staleness=-1"}, "--staleness=-1: expected a whole number from 0"},
    {{"--ps=1", "--zero=1"}, "--zero=1: with --ps the servers have AdamW's state"},
    {{"--ps=1", "--sequence-parallel"}, "--sequence-parallel: with --ps there is no tensor parallel"},
    {{"--ps=1", "--schedule=pipedream"}, "--schedule=pipedream: with --ps servers update, not stages"},
    {{"--ps=1", "--type=bfloat16"}, "--type=bfloat16: with --ps the servers' weights would start from"},
    {{"--ps=1", "--clip=0.5"}, "--clip=0.5: with --ps no rank has the whole gradient"},
    {{"--ps=1", "--save=a"}, "--save=a: with --ps AdamW's state stays on the servers"},
    {{"--ps=1", "--resume=b"}, "--resume=b: with --ps AdamW's state stays on the servers"},
    {{"--sequence-parallel=1"}, "not an option of this program"},
    {{"--seed=-1"}, "--seed=-1: expected a whole number from 0"},
    {{"--seed=18446744073709551616"}, "--seed=18446744073709551616: expected"},
    {{"--data="}, "--data: expected a file name"},
    {{"--data"}, "--data: expected a value"},
    {{"--rate=1"}, "--rate=1: not an option of this program"},
    {{"--s=1"}, "--s=1: not an option of this program, or an ambiguous one"},
    {{"-x"}, "not an option of this program"},
    {{"file"}, "file: this program takes options only"},
    {{"--save-every=3"}, "--save-every=3: expected --save=FILE too"},
};

static int parse(struct options *options, const struct row *row, struct dtrain_error *err)
{
    static char words[ARGS_MAX + 1][WORD_MAX] = {"train"}; /* options borrow them */
    char *argv[ARGS_MAX + 2] = {words[0]};
    int argc = 1;

    for (int i = 0; i < ARGS_MAX && row->args[i] != NULL; i++, argc++) {
        snprintf(words[argc], WORD_MAX, "%s", row->args[i]);
        argv[argc] = words[argc];
    }
    return options_parse(options, argc, argv, err);
}

static void check_row(const struct row *row)
{
    struct options options;
    struct dtrain_error err = {""};
    int rc = parse(&options, row, &err);
    const char *name = row->args[0] ? row->args[0] : "no options";

    if (row->words == NULL)
        tap_ok(rc == 0, "%s is accepted %s", name, err.text);
    else if (tap_ok(rc == -1, "%s is refused", name))
        tap_holds(err.text, row->words, name);
}

static void check_values(void)
{
    struct row row = {{"--hidden=32", "--lr=0.5", "--seed=9", "--save=x", "--help"}, NULL};
    struct options options;

    parse(&options, &row, NULL);
    tap_ok(options.hidden == 32 && options.lr == 0.5 && options.seed == 9 && options.help && !options.version,
           "values arrive");
    tap_ok(strcmp(options.save, "x") == 0 && options.resume == NULL, "names arrive");
    tap_ok(options.layers == 4 && options.batch == 16, "what is not given is the default");
}

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(&rows[i]);
    check_values();
    return tap_done();
}
