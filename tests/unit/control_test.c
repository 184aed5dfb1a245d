/* The pieces of control: the wire, opinions, names of the missing, and what comes to a listener. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/card.h"
#include "runtime/control.h"
#include "runtime/roll.h"
#include "tap.h"

#define ENOUGH_MS 20000
#define SHORT_MS 400

static struct dt_plan *make_plan(uint32_t nodes, uint32_t tasks, const uint32_t *procids)
{
    static const char *const names[] = {"n1", "n2", "n3", "n4"};
    uint32_t counts[4] = {tasks, tasks, tasks, tasks};
    struct dt_plan_inputs inputs = {
        .backend = DT_BACKEND_HOST,
        .node_count = nodes,
        .nodes = names,
        .tasks = counts,
        .procids = procids,
        .master_addr = "127.0.0.1",
    };
    struct dt_plan *plan = NULL;

    if (dt_plan_create(&plan, &inputs, NULL) < 0)
        exit(2);
    return plan;
}

/* ---- The wire ------------------------------------------------------------------- */

static void test_wire(void)
{
    struct dt_buffer buffer = {0};
    struct dt_reader reader;
    char text[8];
    size_t size;

    dt_buffer_u16(&buffer, 0xabcd);
    dt_buffer_u32(&buffer, 0x01020304);
    dt_buffer_u64(&buffer, UINT64_C(0x1122334455667788));
    dt_buffer_text(&buffer, "a\nb");
    reader = (struct dt_reader){.data = buffer.data, .left = buffer.size};
    tap_ok(dt_reader_u16(&reader) == 0xabcd && dt_reader_u32(&reader) == 0x01020304 &&
               dt_reader_u64(&reader) == UINT64_C(0x1122334455667788),
           "numbers come back");
    dt_reader_text(&reader, text, sizeof(text));
    tap_ok(strcmp(text, "a?b") == 0 && dt_reader_is_done(&reader), "a text comes back fit to print");
    tap_ok(buffer.data[0] == 0xab && buffer.data[2] == 0x01, "the first byte is the highest");

    size = buffer.size;
    reader = (struct dt_reader){.data = buffer.data + 14, .left = size - 14};
    dt_reader_text(&reader, text, 3);
    tap_ok(reader.is_broken && text[0] == '\0', "a text longer than its place breaks the reader");
    reader = (struct dt_reader){.data = buffer.data + 14, .left = size - 15};
    dt_reader_text(&reader, text, sizeof(text));
    tap_ok(reader.is_broken && text[0] == '\0', "a text that is cut breaks the reader");
    tap_ok(dt_reader_u32(&reader) == 0 && reader.is_broken, "a broken reader gives zeros");
    dt_buffer_free(&buffer);
}

static void test_greeting(void)
{
    struct dt_greeting greeting = {DT_PURPOSE_DATA, 7, UINT64_C(0xfedcba9876543210), {1, 2, 3}}, back;
    unsigned char bytes[DT_GREETING_SIZE];

    dt_greeting_encode(bytes, &greeting);
    tap_ok(dt_greeting_decode(&back, bytes) && back.purpose == greeting.purpose && back.rank == 7 &&
               back.channel == greeting.channel && dt_token_equals(back.token, greeting.token),
           "a greeting comes back");
    back.token[DT_TOKEN_SIZE - 1] ^= 1;
    tap_ok(!dt_token_equals(back.token, greeting.token), "a token that differs in its last bit is another");
    bytes[0] ^= 1;
    tap_ok(!dt_greeting_decode(&back, bytes), "a greeting with another magic is refused");
    bytes[0] ^= 1;
    bytes[7]++;
    tap_ok(!dt_greeting_decode(&back, bytes), "a greeting of another protocol is refused");
}

static void test_bounds(void)
{
    static const struct {
        uint32_t kind;
        size_t world, max;
    } rows[] = {
        {0, 16, 0},
        {DT_MESSAGE_BYE, 16, 0},
        {DT_MESSAGE_KINDS, 16, 0},
        {UINT32_MAX, 16, 0},
        {DT_MESSAGE_GO, 2, 88},
        {DT_MESSAGE_REVOKED, 2, 10 + DTRAIN_ERROR_MAX},
        {DT_MESSAGE_STOP, 1, 2 + DTRAIN_ERROR_MAX},
    };
    bool ok = true;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        ok = ok && dt_message_max(rows[i].kind, (uint32_t)rows[i].world) == rows[i].max;
    tap_ok(ok, "each kind of message has its bound, unknown kinds none");
}

static void test_addresses(void)
{
    struct dt_address table[3] = {{.family = 0}, {4, 4711, 99, {10, 0, 0, 1}}, {6, 80, 1, {[15] = 1}}},
                      back[3] = {{0}};
    struct dt_buffer buffer = {0};
    struct dt_reader reader;
    char text[DT_ADDRESS_TEXT];
    bool all_refused = true;

    dt_addresses_write(&buffer, table, 3);
    reader = (struct dt_reader){.data = buffer.data, .left = buffer.size};
    dt_addresses_read(&reader, back, 3);
    tap_ok(dt_reader_is_done(&reader) && back[0].family == 0 && back[1].nonce == 99 && back[2].nonce == 1,
           "known addresses come back");
    tap_ok(strcmp(dt_address_text(&back[1], text), "10.0.0.1:4711") == 0, "an IPv4 address as text");
    tap_ok(strcmp(dt_address_text(&back[2], text), "[::1]:80") == 0, "an IPv6 address as text");
    for (size_t n = 0; n < buffer.size; n++) {
        reader = (struct dt_reader){.data = buffer.data, .left = n};
        dt_addresses_read(&reader, back, 3);
        all_refused = all_refused && reader.is_broken;
    }
    tap_ok(all_refused, "addresses cut at any byte are refused");
    reader = (struct dt_reader){.data = buffer.data, .left = buffer.size};
    dt_addresses_read(&reader, back, 2);
    tap_ok(reader.is_broken, "the address of a rank outside the world is refused");
    dt_buffer_free(&buffer);
}

/* ---- Cards ------------------------------------------------------------------------ */

static void test_cards(void)
{
    struct dt_card card = {.host = "n1", .has_seat = true, .id_count = 2, .channels = {5, 6}}, back;
    struct dt_plan *plan = make_plan(2, 2, NULL);
    struct dt_buffer bytes = {0};
    struct dtrain_error err = {""};
    bool all_refused = true;

    dt_opinion_init(&card.opinion, 3, plan, 42, "host");
    card.seat.address = (struct dt_address){4, 4711, 99, {127, 0, 0, 1}};
    memset(card.ids[1], 9, DT_BACKEND_ID_MAX);
    dt_card_write(&bytes, &card);
    tap_ok(dt_card_read(&back, bytes.data, bytes.size, 3, &err) == 0 &&
               dt_opinion_equals(&back.opinion, &card.opinion) && back.seat.address.port == 4711 &&
               strcmp(back.host, "n1") == 0,
           "a card comes back");
    tap_ok(dt_card_id(&back, 6) != NULL && dt_card_id(&back, 6)[0] == 9 && dt_card_id(&back, 7) == NULL,
           "an id is found by its channel");
    for (size_t n = 0; n < bytes.size; n++)
        all_refused = all_refused && dt_card_read(&back, bytes.data, n, 3, &err) < 0;
    tap_ok(all_refused, "a card cut at any byte is refused");
    tap_holds(err.text, "task 3 published a card of", "and the error says whose it was");
    bytes.data[3]++;
    tap_ok(dt_card_read(&back, bytes.data, bytes.size, 3, &err) < 0, "a card of another protocol is refused");
    tap_holds(err.text, "task 3 runs a libdtrain that speaks protocol 2", "and the error names both");
    dt_buffer_free(&bytes);
    dt_plan_destroy(plan);
}

/* ---- Opinions and rolls -------------------------------------------------------------- */

static void test_opinions(void)
{
    static const struct {
        const char *name;
        struct dt_opinion odd;
        const char *words;
    } rows[] = {
        {"another version",
         {2, 1, 1, 0, "9.9", "host", "tp=1", ""},
         "rank 2 on n2 runs libdtrain 9.9, rank 0 runs 1.0"},
        {"other axes",
         {3, 1, 2, 0, "1.0", "host", "tp=2", ""},
         "rank 3 on n2 was started with tp=2, rank 0 with tp=1"},
        {"another plan",
         {1, 1, 2, 0, "1.0", "host", "tp=1", ""},
         "rank 1 on n1 has the plan 0000000000000002, rank 0 the plan"},
        {"another backend",
         {2, 3, 1, 0, "1.0", "nccl 2.28.9", "tp=1", ""},
         "rank 2 on n2 (and 2 more) uses the backend nccl 2.28.9, rank 0 uses host"},
        {"another configuration",
         {3, 1, 1, 7, "1.0", "host", "tp=1", ""},
         "rank 3 on n2 was given another configuration of communicators (DTRAIN_NCCL_CONFIG) than rank 0"},
    };
    struct dt_opinion first = {0, 1, 1, 0, "1.0", "host", "tp=1", ""};
    struct dt_plan *plan = make_plan(2, 2, NULL);
    struct dt_opinions opinions = {0};
    char text[DT_MESSAGE_TEXT_MAX] = "";

    dt_opinions_add(&opinions, &first);
    dt_opinions_add(&opinions, &(struct dt_opinion){2, 2, 1, 0, "1.0", "host", "tp=1", ""});
    tap_ok(dt_opinions_agree(&opinions, plan, text, sizeof(text)) && opinions.n == 1 &&
               opinions.items[0].count == 3 && opinions.items[0].rank == 0,
           "equal opinions become one");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dt_opinions two = opinions;

        dt_opinions_add(&two, &rows[i].odd);
        if (tap_ok(!dt_opinions_agree(&two, plan, text, sizeof(text)), "%s is no agreement", rows[i].name))
            tap_holds(text, rows[i].words, rows[i].name);
    }
    for (uint32_t i = 1; i < 40; i++)
        dt_opinions_add(&opinions, &(struct dt_opinion){i, 1, i, 0, "1.0", "host", "tp=2", ""});
    tap_ok(opinions.n == DT_OPINIONS_MAX, "opinions past the bound are dropped");
    tap_ok(!dt_opinions_agree(&opinions, plan, text, sizeof(text)) && strlen(text) < sizeof(text),
           "and the text is cut");
    dt_plan_destroy(plan);
}

static void test_roll(void)
{
    static const uint32_t procids[] = {0, 2, 1, 3};
    struct dt_plan *plan = make_plan(2, 2, procids), *large = make_plan(4, 10, NULL);
    struct dt_roll one = {0}, many = {0};

    dt_roll_add(&one, plan, 1);
    dt_roll_add(&one, plan, 2);
    tap_ok(strcmp(dt_roll_end(&one), "rank 1 (task 2) on n1, rank 2 (task 1) on n2") == 0,
           "the missing, by rank and task");
    for (uint32_t i = 0; i < 20; i++)
        dt_roll_add(&many, large, i);
    tap_holds(dt_roll_end(&many), "rank 15 (task 15) on n2 and 4 more", "after sixteen a count");
    dt_plan_destroy(plan);
    dt_plan_destroy(large);
}

/* ---- Listeners ------------------------------------------------------------------------- */

static void test_listener(void)
{
    static const struct {
        const char *name, *toward, *ifname, *words;
    } bad[] = {
        {"no such interface", "", "nosuchif0", "no interface 'nosuchif0'"},
        {"a name for an address", "n1.example", NULL, "'n1.example' is no numeric address"},
    };
    struct dt_deadline deadline = dt_deadline_after_ms(ENOUGH_MS);
    struct dt_listener listener;
    struct dtrain_error err;
    int fd;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (tap_ok(dt_listener_open(&listener, bad[i].toward, bad[i].ifname, &err) < 0, "%s is refused",
                   bad[i].name))
            tap_holds(err.text, bad[i].words, bad[i].name);
    tap_ok(dt_listener_open(&listener, "127.0.0.1", NULL, &err) == 0 && listener.address.family == 4 &&
               listener.address.ip[0] == 127 && listener.address.port != 0,
           "the route to loopback leads over loopback");
    tap_ok(dt_address_dial(&fd, &listener.address, false, &deadline) == 0, "TCP can be reached");
    close(fd);
    tap_ok(dt_address_dial(&fd, &listener.address, true, &deadline) == 0, "so can the Unix socket");
    close(fd);
    dt_listener_close(&listener);
    tap_ok(dt_address_dial(&fd, &listener.address, false, &deadline) < 0 && errno == ECONNREFUSED,
           "closed, TCP refuses");
    tap_ok(dt_address_dial(&fd, &listener.address, true, &deadline) < 0 && errno == ECONNREFUSED,
           "so does the Unix socket");
    tap_ok(dt_listener_open(&listener, "", "lo", &err) == 0 && listener.address.ip[0] == 127,
           "an interface by its name");
    dt_listener_close(&listener);
}

/* ---- Hostile visitors ---------------------------------------------------------------------- */

/* Two ranks in one process; rank 0's listener is visited by others before rank 1 joins. */
struct pair {
    struct dt_plan *plan;
    struct dt_control *controls[2];
    struct dt_control_seat seat;
    struct dtrain_error errors[2];
    int rcs[2];
    int timeout_ms;
    bool is_called; /* rank 0 finds rank 1, not the other way round */
    pthread_t threads[2];
};

static int find_seat(void *context, uint32_t rank, struct dt_control_seat *seat, struct dtrain_error *err)
{
    const struct pair *pair = context;

    (void)err;
    if (rank != pair->is_called)
        return 0;
    dt_control_seat(pair->controls[rank], seat);
    return 1;
}

static void join_one(struct pair *pair, uint32_t rank)
{
    struct dt_deadline deadline = dt_deadline_after_ms(pair->timeout_ms);
    struct dt_control_seats seats = {pair, find_seat, pair->is_called, 0};
    struct dt_opinion opinion;

    dt_opinion_init(&opinion, rank, pair->plan, 1, "host");
    pair->rcs[rank] = dt_control_join(pair->controls[rank], &seats, &opinion, NULL, &deadline,
                                      &pair->errors[rank]);
}

static void *join_0(void *pair)
{
    join_one(pair, 0);
    return NULL;
}

static void *join_1(void *pair)
{
    join_one(pair, 1);
    return NULL;
}

static void pair_begin(struct pair *pair, uint32_t nodes, int timeout_ms, bool is_called)
{
    *pair = (struct pair){
        .plan = make_plan(nodes, 2 / nodes, NULL), .timeout_ms = timeout_ms, .is_called = is_called};
    for (uint32_t rank = 0; rank < 2; rank++)
        if (dt_control_create(&pair->controls[rank], pair->plan, rank, NULL, NULL, &pair->errors[rank]) < 0)
            exit(2);
    dt_control_seat(pair->controls[0], &pair->seat);
    pthread_create(&pair->threads[0], NULL, join_0, pair);
}

static void pair_join(struct pair *pair)
{
    pthread_create(&pair->threads[1], NULL, join_1, pair);
    pthread_join(pair->threads[1], NULL);
    pthread_join(pair->threads[0], NULL);
}

static void *leave_0(void *argument)
{
    struct pair *pair = argument;
    struct dt_deadline deadline = dt_deadline_after_ms(ENOUGH_MS);

    pair->rcs[0] = dt_control_leave(pair->controls[0], &deadline, &pair->errors[0]);
    return NULL;
}

static void pair_leave(struct pair *pair)
{
    struct dt_deadline deadline = dt_deadline_after_ms(ENOUGH_MS);

    pthread_create(&pair->threads[0], NULL, leave_0, pair);
    pair->rcs[1] = dt_control_leave(pair->controls[1], &deadline, &pair->errors[1]);
    pthread_join(pair->threads[0], NULL);
}

static void pair_end(struct pair *pair)
{
    dt_control_destroy(pair->controls[1]);
    dt_control_destroy(pair->controls[0]);
    dt_plan_destroy(pair->plan);
}

/* A visitor's bytes: a greeting with these fields, cut to a length, then more. */
struct visit {
    const char *name;
    uint32_t purpose, rank;
    bool has_token;
    size_t greeting_size; /* bytes of it that are sent */
    unsigned char more[16];
    size_t more_size;
};

static const struct visit visits[] = {
    {"nothing", 1, 1, true, 0, {0}, 0},
    {"half a greeting", 1, 1, true, 20, {0}, 0},
    {"a wrong token", 1, 1, false, DT_GREETING_SIZE, {0}, 0},
    {"data with a wrong token", 2, 1, true, DT_GREETING_SIZE, {0}, 0},
    {"an unknown purpose", 4, 1, true, DT_GREETING_SIZE, {0}, 0},
    {"a call with a wrong token", 3, 0, false, DT_GREETING_SIZE, {0}, 0},
    {"a call of a rank that is no parent", 3, 1, true, DT_GREETING_SIZE, {0}, 0},
    {"a call of no rank", 3, DT_RANK_NONE, true, DT_GREETING_SIZE, {0}, 0},
    {"a stranger's frame that is too long",
     1,
     9,
     true,
     DT_GREETING_SIZE,
     {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1},
     8},
    {"a stranger's unknown kind", 1, 9, true, DT_GREETING_SIZE, {0, 0, 0, 0, 0, 0, 0, 99}, 8},
    {"a stranger's BYE", 1, 9, true, DT_GREETING_SIZE, {0, 0, 0, 0, 0, 0, 0, DT_MESSAGE_BYE}, 8},
    {"a stranger's GO", 1, 9, true, DT_GREETING_SIZE, {0, 0, 0, 0, 0, 0, 0, DT_MESSAGE_GO}, 8},
    {"a stranger's HELLO that is empty",
     1,
     9,
     true,
     DT_GREETING_SIZE,
     {0, 0, 0, 0, 0, 0, 0, DT_MESSAGE_HELLO},
     8},
    {"a stranger's STOP that is cut",
     1,
     9,
     true,
     DT_GREETING_SIZE,
     {0, 0, 0, 1, 0, 0, 0, DT_MESSAGE_STOP, 0},
     9},
};

/* Waits until the other side closed, where it does at once. */
static void visit(const struct dt_control_seat *seat, const struct visit *row, bool is_local)
{
    struct dt_greeting greeting = {row->purpose, row->rank, 3, {0}};
    struct dt_deadline deadline = dt_deadline_after_ms(ENOUGH_MS);
    unsigned char bytes[DT_GREETING_SIZE + sizeof(row->more)];
    struct pollfd wanted = {.events = POLLIN};

    if (row->has_token)
        memcpy(greeting.token, seat->token, DT_TOKEN_SIZE);
    dt_greeting_encode(bytes, &greeting);
    memcpy(bytes + row->greeting_size, row->more, row->more_size);
    if (dt_address_dial(&wanted.fd, &seat->address, is_local, &deadline) < 0)
        exit(2);
    if (row->greeting_size > 0 &&
        send(wanted.fd, bytes, row->greeting_size + row->more_size, MSG_NOSIGNAL) < 0)
        exit(2);
    if (row->more_size > 0)
        poll(&wanted, 1, ENOUGH_MS);
    close(wanted.fd);
}

static void test_visitors(void)
{
    for (size_t i = 0; i < sizeof(visits) / sizeof(visits[0]); i++) {
        bool is_local = i % 2 == 0;
        struct pair pair;

        pair_begin(&pair, is_local ? 1 : 2, ENOUGH_MS, false);
        visit(&pair.seat, &visits[i], is_local);
        pair_join(&pair);
        tap_ok(pair.rcs[0] == 0 && pair.rcs[1] == 0, "the world comes up in spite of %s", visits[i].name);
        visit(&pair.seat, &visits[i], is_local);
        pair_leave(&pair);
        if (!tap_ok(pair.rcs[0] == 0 && pair.rcs[1] == 0, "and ends in spite of %s", visits[i].name))
            printf("# %s / %s\n", pair.errors[0].text, pair.errors[1].text);
        pair_end(&pair);
    }
}

/* A child that holds the token and sends rubbish ends the bring-up, and is named. */
static void test_bad_child(void)
{
    static const struct visit rows[] = {
        {"an unknown kind", 1, 1, true, DT_GREETING_SIZE, {0, 0, 0, 0, 0, 0, 0, 99}, 8},
        {"a frame that is too long",
         1,
         1,
         true,
         DT_GREETING_SIZE,
         {0xff, 0, 0, 0, 0, 0, 0, DT_MESSAGE_HELLO},
         8},
        {"an empty HELLO", 1, 1, true, DT_GREETING_SIZE, {0, 0, 0, 0, 0, 0, 0, DT_MESSAGE_HELLO}, 8},
        {"a HERE without a call", 1, 1, true, DT_GREETING_SIZE, {0, 0, 0, 0, 0, 0, 0, DT_MESSAGE_HERE}, 8},
        {"an empty REVOKED", 1, 1, true, DT_GREETING_SIZE, {0, 0, 0, 0, 0, 0, 0, DT_MESSAGE_REVOKED}, 8},
        {"DEAD of a rank outside",
         1,
         1,
         true,
         DT_GREETING_SIZE,
         {0, 0, 0, 6, 0, 0, 0, DT_MESSAGE_DEAD, 0, 0, 0, 9, 0, 0},
         14},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pair pair;

        pair_begin(&pair, 2, ENOUGH_MS, false);
        visit(&pair.seat, &rows[i], false);
        pthread_join(pair.threads[0], NULL);
        if (tap_ok(pair.rcs[0] < 0, "the world does not come up with a child's %s", rows[i].name))
            tap_holds(pair.errors[0].text, "rank 1 on n2 died during dtrain_init (seen by rank 0)",
                      rows[i].name);
        pair_end(&pair);
    }
}

static void test_tell(void)
{
    struct dt_deadline deadline = dt_deadline_after_ms(ENOUGH_MS);
    struct pair pair;

    pair_begin(&pair, 2, ENOUGH_MS, false);
    tap_ok(dt_control_tell(&pair.seat, "task 7 is lost", &deadline) == 0, "a rank without a place tells why");
    pair_join(&pair);
    tap_ok(pair.rcs[0] < 0 && strcmp(pair.errors[0].text, "task 7 is lost") == 0, "rank 0 hears it");
    tap_ok(pair.rcs[1] < 0 && strcmp(pair.errors[1].text, "task 7 is lost") == 0,
           "so does rank 1, which came later");
    pair_end(&pair);
}

static void test_missing_child(void)
{
    struct pair pair;

    pair_begin(&pair, 2, SHORT_MS, false);
    pthread_join(pair.threads[0], NULL);
    tap_ok(pair.rcs[0] < 0, "a child that does not join is missed");
    tap_holds(pair.errors[0].text,
              "rank 1 (task 1) on n2 did not come within 0.4 s: it exited, crashed, or waits before "
              "dtrain_init",
              "and named");
    pair_end(&pair);
}

/* Rank 0's call is all that connects the two. */
static void test_call(void)
{
    struct pair pair;

    pair_begin(&pair, 2, ENOUGH_MS, true);
    pair_join(&pair);
    if (!tap_ok(pair.rcs[0] == 0 && pair.rcs[1] == 0, "a world comes up by calls from above"))
        printf("# %s / %s\n", pair.errors[0].text, pair.errors[1].text);
    tap_ok(dt_control_late_count(pair.controls[0]) == 2 && dt_control_late_count(pair.controls[1]) == 2,
           "and all know how many were late");
    pair_leave(&pair);
    tap_ok(pair.rcs[0] == 0 && pair.rcs[1] == 0, "and ends");
    pair_end(&pair);
}

static void test_tree(void)
{
    struct dt_plan *plan = make_plan(4, 3, NULL);

    tap_ok(dt_control_parent(plan, 0) == DT_RANK_NONE && dt_control_parent(plan, 2) == 0 &&
               dt_control_parent(plan, 3) == 0 && dt_control_parent(plan, 9) == 0 &&
               dt_control_parent(plan, 11) == 9,
           "ranks report to their leader, leaders to rank 0");
    dt_plan_destroy(plan);
}

int main(void)
{
    test_wire();
    test_greeting();
    test_bounds();
    test_addresses();
    test_cards();
    test_opinions();
    test_roll();
    test_listener();
    test_tree();
    test_visitors();
    test_bad_child();
    test_tell();
    test_missing_child();
    test_call();
    return tap_done();
}
