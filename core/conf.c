#include "conf.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "parse.h"

#define PORT_LOWEST 1024u /* below it only root may listen */
#define BLANKS " \t\r"

enum key {
    KEY_TP_SPAN,
    KEY_ORDER,
    KEY_NODE_ORDER,
    KEY_BACKEND,
    KEY_PORT_MIN,
    KEY_PORT_MAX,
    KEY_MPI,
    KEY_REPORT,
    KEY_BIND,
    KEY_VISIBLE,
    KEY_COUNT
};

static int parse_tp_span(struct dt_conf *conf, const char *value, struct dtrain_error *err)
{
    unsigned index;

    if (dt_parse_word(&index, value, dt_span_words, 2, "tp_span", err) != 0)
        return -1;
    conf->tp_span = (enum dt_span)index;
    return 0;
}

static int parse_backend(struct dt_conf *conf, const char *value, struct dtrain_error *err)
{
    unsigned index;

    if (dt_parse_word(&index, value, dt_backend_words, 3, "backend", err) != 0)
        return -1;
    conf->backend = (enum dt_backend_choice)index;
    return 0;
}

static int parse_report(struct dt_conf *conf, const char *value, struct dtrain_error *err)
{
    unsigned index;

    if (dt_parse_word(&index, value, dt_report_words, 3, "report", err) != 0)
        return -1;
    conf->report = (enum dt_report)index;
    return 0;
}

static int parse_bind(struct dt_conf *conf, const char *value, struct dtrain_error *err)
{
    return dt_bind_choice_parse_items(&conf->bind_items, &conf->is_bind_verbose, value, "bind", err);
}

static int parse_visible(struct dt_conf *conf, const char *value, struct dtrain_error *err)
{
    unsigned index;

    if (dt_parse_word(&index, value, dt_visible_words, 2, "visible", err) != 0)
        return -1;
    conf->visible = (enum dt_visible_mode)index;
    return 0;
}

/* The option of the same name knows what an order is. */
static int parse_order(struct dt_conf *conf, const char *value, struct dtrain_error *err)
{
    struct dt_request request;

    dt_request_init(&request);
    if (dt_request_apply(&request, "dtrain-order", value, err) != 0)
        return -1;
    strcpy(conf->order, request.order);
    return 0;
}

static int parse_node_order(struct dt_conf *conf, const char *value, struct dtrain_error *err)
{
    static const char *const words[] = {
        [DT_NODE_ORDER_SWITCHES] = "switches",
        [DT_NODE_ORDER_SLURM] = "slurm",
    };
    unsigned index;

    if (dt_parse_word(&index, value, words, 2, "node_order", err) != 0)
        return -1;
    conf->node_order = (enum dt_node_order_choice)index;
    return 0;
}

static int parse_port(uint16_t *port, const char *value, const char *what, struct dtrain_error *err)
{
    uint32_t number;

    if (dt_parse_u32(&number, value, PORT_LOWEST, UINT16_MAX, what, err) != 0)
        return -1;
    *port = (uint16_t)number;
    return 0;
}

static int parse_port_min(struct dt_conf *conf, const char *value, struct dtrain_error *err)
{
    return parse_port(&conf->port_min, value, "port_min", err);
}

static int parse_port_max(struct dt_conf *conf, const char *value, struct dtrain_error *err)
{
    return parse_port(&conf->port_max, value, "port_max", err);
}

static int parse_mpi(struct dt_conf *conf, const char *value, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    size_t length = strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789_");

    if (length == 0 || value[length] != '\0' || length >= sizeof(conf->mpi))
        return dt_error_set(err,
                            "mpi: '%s' is no MPI type: expected a word that `srun --mpi=list` prints, for "
                            "instance pmix, or none",
                            dt_parse_shown(shown, value));
    strcpy(conf->mpi, strcmp(value, "none") == 0 ? "" : value);
    return 0;
}

static const struct dt_conf_key keys[KEY_COUNT] = {
    [KEY_TP_SPAN] = {"tp_span", "node|any", "node", "whether a tensor-parallel group may cross nodes",
                     parse_tp_span},
    [KEY_ORDER] = {"order", "AXES", DT_ORDER_DEFAULT, "axes, fastest first", parse_order},
    [KEY_NODE_ORDER] = {"node_order", "switches|slurm", "switches",
                        "the order of a step's nodes: by the cluster's switches, or as Slurm lists them",
                        parse_node_order},
    [KEY_BACKEND] = {"backend", "auto|nccl|host", "auto", "what moves the data", parse_backend},
    [KEY_PORT_MIN] = {"port_min", "PORT", "20000",
                      "lowest MASTER_PORT; keep the range out of net.ipv4.ip_local_port_range",
                      parse_port_min},
    [KEY_PORT_MAX] = {"port_max", "PORT", "29999", "highest MASTER_PORT", parse_port_max},
    [KEY_MPI] = {"mpi", "TYPE|none", "pmix",
                 "what srun is given for SLURM_MPI_TYPE in a dtrain step; none leaves it alone", parse_mpi},
    [KEY_REPORT] = {"report", "off|text|json", "off",
                    "print who is where on stderr before the tasks start", parse_report},
    [KEY_BIND] = {"bind", "WHAT", "gpu,cpu,nic,mem",
                  "what each task is bound to: some of gpu,cpu,nic,mem, or none; verbose says it",
                  parse_bind},
    [KEY_VISIBLE] = {"visible", "all|own", "all",
                     "a task sees its node's GPUs, its own at index LOCAL_RANK, or its own only",
                     parse_visible},
};

const struct dt_conf_key *dt_conf_keys(size_t *count)
{
    *count = KEY_COUNT;
    return keys;
}

void dt_conf_defaults(struct dt_conf *conf)
{
    memset(conf, 0, sizeof(*conf));
    for (int key = 0; key < KEY_COUNT; key++) {
        int rc = keys[key].parse(conf, keys[key].fallback, NULL);

        assert(rc == 0);
        (void)rc;
    }
}

/* What one call of dt_conf_parse() knows. */
struct reader {
    struct dt_conf conf;
    unsigned line;            /* counted from 1 */
    unsigned seen[KEY_COUNT]; /* the line of each key; 0: none yet */
    unsigned comm_seen[DT_COMM_AXES][DT_COMM_FIELDS]; /* of keys with a dot */
};

static enum key find_key(const char *name)
{
    int key = 0;

    while (key < KEY_COUNT && strcmp(name, keys[key].name) != 0)
        key++;
    return (enum key)key;
}

static int refuse_key(const char *name, struct dtrain_error *err)
{
    const char *names[KEY_COUNT];
    unsigned index;

    for (int key = 0; key < KEY_COUNT; key++)
        names[key] = keys[key].name;
    return dt_parse_word(&index, name, names, KEY_COUNT, "key", err);
}

/* Notes the line; each key stands in one, and with a value. */
static int see_key(struct reader *reader, unsigned *seen, const char *name, const char *value,
                   const char *expected, struct dtrain_error *err)
{
    if (*seen != 0)
        return dt_error_set(err, "%s is given again, after line %u: keep one of the two", name, *seen);
    if (*value == '\0')
        return dt_error_set(err, "%s has no value: expected %s, or no such line", name, expected);
    *seen = reader->line;
    return 0;
}

/* "tp.max_ctas" */
static int apply_comm(struct reader *reader, const char *name, const char *value, struct dtrain_error *err)
{
    size_t count;
    const struct dt_comm_field_row *rows = dt_comm_field_rows(&count);
    enum dt_comm_axis axis;
    enum dt_comm_field field;

    if (dt_comm_config_find(&axis, &field, name, err) != 0 ||
        see_key(reader, &reader->comm_seen[axis][field], name, value, rows[field].value, err) != 0)
        return -1;
    return dt_comm_configs_set(&reader->conf.comm, axis, field, value, err);
}

static int apply(struct reader *reader, const char *name, const char *value, struct dtrain_error *err)
{
    enum key key = find_key(name);

    if (strchr(name, '.') != NULL)
        return apply_comm(reader, name, value, err);
    if (key == KEY_COUNT)
        return refuse_key(name, err);
    if (see_key(reader, &reader->seen[key], name, value, keys[key].value, err) != 0)
        return -1;
    return keys[key].parse(&reader->conf, value, err);
}

static int read_line(struct reader *reader, const char *text, size_t n, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];
    char line[DT_CONF_LINE_MAX + 1];
    char *name;
    char *equals;

    if (n > DT_CONF_LINE_MAX)
        return dt_error_set(err, "the line has %zu bytes: expected at most %u", n, DT_CONF_LINE_MAX);
    if (memchr(text, '\0', n) != NULL)
        return dt_error_set(err, "the line has a NUL byte: expected text");
    memcpy(line, text, n);
    line[n] = '\0';
    line[strcspn(line, "#")] = '\0';
    name = dt_parse_trim(line, BLANKS);
    if (*name == '\0')
        return 0;
    equals = strchr(name, '=');
    if (equals == NULL)
        return dt_error_set(err, "'%s' has no '=': expected key = value", dt_parse_shown(shown, name));
    *equals = '\0';
    return apply(reader, dt_parse_trim(name, BLANKS), dt_parse_trim(equals + 1, BLANKS), err);
}

static int read_lines(struct reader *reader, const char *text, size_t n, struct dtrain_error *err)
{
    const char *end = text + n;

    for (reader->line = 1; text < end; reader->line++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline != NULL ? newline : end;

        if (read_line(reader, text, (size_t)(stop - text), err) != 0)
            return -1;
        text = stop + (newline != NULL);
    }
    return 0;
}

static unsigned later(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

/* The later of the two lines is where the mistake can be seen. */
static int check_ports(struct reader *reader, struct dtrain_error *err)
{
    const unsigned *seen = reader->seen;

    if (reader->conf.port_min <= reader->conf.port_max)
        return 0;
    reader->line = later(seen[KEY_PORT_MIN], seen[KEY_PORT_MAX]);
    return dt_error_set(err, "port_min %" PRIu16 " is above port_max %" PRIu16 ": expected a range",
                        reader->conf.port_min, reader->conf.port_max);
}

static int check_comm(struct reader *reader, struct dtrain_error *err)
{
    enum dt_comm_axis axis;
    const unsigned *own, *all = reader->comm_seen[DT_COMM_ALL];

    if (dt_comm_configs_check(&reader->conf.comm, &axis, err) == 0)
        return 0;
    own = reader->comm_seen[axis];
    reader->line = later(later(own[DT_COMM_MIN_CTAS], own[DT_COMM_MAX_CTAS]),
                         later(all[DT_COMM_MIN_CTAS], all[DT_COMM_MAX_CTAS]));
    return -1;
}

int dt_conf_parse(struct dt_conf *conf, const char *text, size_t n, const char *file,
                  struct dtrain_error *err)
{
    struct reader reader = {.conf = *conf, .line = 1};

    if (n > DT_CONF_FILE_MAX)
        return dt_error_set(err, "%s:1: the file has %zu bytes: expected at most %u", file, n,
                            DT_CONF_FILE_MAX);
    if (read_lines(&reader, text, n, err) != 0 || check_ports(&reader, err) != 0 ||
        check_comm(&reader, err) != 0)
        return dt_error_prefix(err, "%s:%u", file, reader.line);
    *conf = reader.conf;
    return 0;
}
