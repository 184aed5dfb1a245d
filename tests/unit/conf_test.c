#include "core/conf.h"

#include "tap.h"

struct row {
    const char *text;
    const char *words; /* NULL: good */
};

static const struct row rows[] = {
    {"", NULL},
    {"\n\n", NULL},
    {"# only a comment", NULL},
    {"  tp_span\t=  any  # a comment\r\n", NULL},
    {"order=pp-dp-ep-cp-tp\nbackend=host\nport_min=1024\nport_max=65535\n", NULL},
    {"mpi=pmix_v4\nreport=json\n", NULL},
    {"port_min = 30000\nport_max = 30000", NULL},
    {"tp_spam = any", "dtrain.conf:1: key: 'tp_spam' is not known: expected tp_span, order, node_order, "
                      "backend, port_min, port_max, mpi, report, bind or visible"},
    {"\n\n= any", "dtrain.conf:3: key: '' is empty"},
    {"\nreport\n", "dtrain.conf:2: 'report' has no '=': expected key = value"},
    {"# backend\nreport # = text\n", "dtrain.conf:2: 'report' has no '='"},
    {"mpi = pmix\n# x\nmpi = none\n", "dtrain.conf:3: mpi is given again, after line 1: keep one of the two"},
    {"backend =\n", "dtrain.conf:1: backend has no value: expected auto|nccl|host, or no such line"},
    {"backend = # nccl\n", "dtrain.conf:1: backend has no value"},
    {"backend = mpi\n", "dtrain.conf:1: backend: 'mpi' is not known: expected auto, nccl or host"},
    {"tp_span = nodes", "dtrain.conf:1: tp_span: 'nodes' is not known: expected node or any"},
    {"node_order = block", "dtrain.conf:1: node_order: 'block' is not known: expected switches or slurm"},
    {"report = yes", "dtrain.conf:1: report: 'yes' is not known: expected off, text or json"},
    {"port_min = 80\n", "dtrain.conf:1: port_min: '80' is too small: expected a number from 1024 to 65535"},
    {"\nport_max = 65536\n", "dtrain.conf:2: port_max: '65536' is too large"},
    {"port_max = 20000 30000\n", "dtrain.conf:1: port_max: '20000 30000' is not a number"},
    {"port_max = 30000\nport_min = 30001\n# x", "dtrain.conf:2: port_min 30001 is above port_max 30000"},
    {"# x\n\nport_min = 30000\n", "dtrain.conf:3: port_min 30000 is above port_max 29999"},
    {"order = tp-xp\n", "dtrain.conf:1: "},
    {"order = tp-tp\n", "dtrain.conf:1: "},
    {"order = tp-cp-ep-dp-pp-tp-cp-ep-dp-pp-tp-cp-ep-dp-pp\n", "dtrain.conf:1: "},
    {"mpi = a b\n", "dtrain.conf:1: mpi: 'a b' is no MPI type: expected a word"},
    {"mpi = a_words_of_thirty_two_characters\n", "dtrain.conf:1: mpi: "},
    {"mpi = \x1b[31m\n", "dtrain.conf:1: mpi: '?[31m' is no MPI type"},
    {"tp.cga_cluster_size = 4\ndp.max_ctas=8 # of 132\nall.net_name = IB\n", NULL},
    {"# x\ntp.max_ctas = 0\n", "dtrain.conf:2: tp.max_ctas: '0' is too small: expected a number from 1 to 64"},
    {"tp.max_ctas =\n", "dtrain.conf:1: tp.max_ctas has no value: expected 1 to 64, or no such line"},
    {"tp.max_ctas = 1\ntp.max_ctas = 1\n", "dtrain.conf:2: tp.max_ctas is given again, after line 1"},
    {"tp.ctas = 1\n", "dtrain.conf:1: tp: 'ctas' is not known: expected cga_cluster_size, "},
    {"xp.max_ctas = 1\n", "dtrain.conf:1: axis: 'xp' is not known: expected all, tp, "},
    {"tp.max_ctas = 4\nmpi = pmix\nall.min_ctas = 8\nmpi_ = 1", "dtrain.conf:4: key: 'mpi_'"},
    {"tp.max_ctas = 4\nmpi = pmix\nall.min_ctas = 8\n", "dtrain.conf:3: tp.min_ctas is 8, above tp.max_ctas 4"},
    {"mpi == pmix\n", "dtrain.conf:1: mpi: '= pmix' is no MPI type"},
};

static int parse(struct dt_conf *conf, const char *text, size_t n, struct dtrain_error *err)
{
    dt_conf_defaults(conf);
    err->text[0] = '\0';
    return dt_conf_parse(conf, text, n, "dtrain.conf", err);
}

static void test_rows(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dt_conf conf;
        struct dt_conf before;
        struct dtrain_error err;
        int rc = parse(&conf, rows[i].text, strlen(rows[i].text), &err);

        dt_conf_defaults(&before);
        if (rows[i].words == NULL) {
            if (!tap_ok(rc == 0, "row %zu is read", i))
                printf("# %s\n", err.text);
        } else if (tap_ok(rc == -1 && memcmp(&conf, &before, sizeof(conf)) == 0,
                          "row %zu changes nothing", i)) {
            tap_holds(err.text, rows[i].words, "... and the error says why");
        }
    }
}

static void test_defaults(void)
{
    struct dt_conf conf;

    dt_conf_defaults(&conf);
    tap_ok(conf.tp_span == DT_SPAN_NODE && conf.node_order == DT_NODE_ORDER_SWITCHES && conf.backend == 0 &&
               conf.report == DT_REPORT_OFF && strcmp(conf.order, DT_ORDER_DEFAULT) == 0,
           "defaults: axes, backend and report");
    tap_ok(conf.port_min == 20000 && conf.port_max == 29999, "defaults: ports");
    tap_ok(strcmp(conf.mpi, "pmix") == 0, "defaults: mpi");
}

static void test_values(void)
{
    static const char text[] = "tp_span = any\norder = TP-pp-dp\nnode_order = slurm\n"
                               "backend = host\nport_min = 21000\n"
                               "port_max = 22000\nmpi = none\nreport = json";
    struct dt_conf conf;
    struct dtrain_error err;

    tap_ok(parse(&conf, text, sizeof(text) - 1, &err) == 0, "every key is read");
    tap_ok(conf.tp_span == DT_SPAN_ANY && strcmp(conf.order, "TP-pp-dp") == 0 &&
               conf.node_order == DT_NODE_ORDER_SLURM &&
               strcmp(dt_backend_words[conf.backend], "host") == 0 && conf.port_min == 21000 &&
               conf.port_max == 22000 && conf.mpi[0] == '\0' && conf.report == DT_REPORT_JSON,
           "... and kept");
    tap_ok(dt_conf_parse(&conf, "mpi = pmi2", 10, "f", NULL) == 0 && conf.port_min == 21000 &&
               strcmp(conf.mpi, "pmi2") == 0,
           "what is not named stays");
}

static void test_limits(void)
{
    static char text[DT_CONF_FILE_MAX + 1];
    struct dt_conf conf;
    struct dtrain_error err;

    memset(text, '#', sizeof(text));
    tap_ok(parse(&conf, text, DT_CONF_LINE_MAX, &err) == 0, "the longest line");
    tap_ok(parse(&conf, text, DT_CONF_LINE_MAX + 1, &err) == -1, "one byte more is refused");
    tap_holds(err.text, "dtrain.conf:1: the line has 1025 bytes: expected at most 1024",
              "... with the reason");
    for (size_t i = 0; i < sizeof(text); i += 100)
        text[i] = '\n';
    tap_ok(parse(&conf, text, DT_CONF_FILE_MAX, &err) == 0, "the largest file");
    tap_ok(parse(&conf, text, DT_CONF_FILE_MAX + 1, &err) == -1, "one byte more is refused");
    tap_holds(err.text, "dtrain.conf:1: the file has 65537 bytes: expected at most 65536",
              "... with the reason");
    tap_ok(parse(&conf, "\nmpi\0= none", 11, &err) == -1, "a NUL byte is refused");
    tap_holds(err.text, "dtrain.conf:2: the line has a NUL byte: expected text", "... with the reason");
}

/* The man page is written from the table. */
static void test_keys(void)
{
    size_t count;
    const struct dt_conf_key *keys = dt_conf_keys(&count);

    for (size_t i = 0; i < count; i++) {
        char line[256];
        struct dt_conf conf;
        struct dtrain_error err;
        int n = snprintf(line, sizeof(line), "%s = %s", keys[i].name, keys[i].fallback);

        tap_ok(parse(&conf, line, (size_t)n, &err) == 0 && keys[i].help[0] != '\0',
               "%s: its default can be written in the file", keys[i].name);
    }
}

int main(void)
{
    test_defaults();
    test_rows();
    test_values();
    test_limits();
    test_keys();
    return tap_done();
}
