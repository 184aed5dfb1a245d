#include "bind_choice.h"

#include <string.h>

#include "parse.h"

#define ITEMS_TEXT_MAX 32 /* bytes of "gpu,cpu,nic,mem" with the NUL, or of another field */

enum { WORD_NONE = DT_BIND_ITEM_COUNT, WORD_VERBOSE, WORD_COUNT };

static const char *const item_words[WORD_COUNT] = {
    [DT_BIND_ITEM_GPU] = "gpu", [DT_BIND_ITEM_CPU] = "cpu", [DT_BIND_ITEM_NIC] = "nic",
    [DT_BIND_ITEM_MEM] = "mem", [WORD_NONE] = "none",       [WORD_VERBOSE] = "verbose"};

const char *const dt_visible_words[2] = {[DT_VISIBLE_ALL] = "all", [DT_VISIBLE_OWN] = "own"};

static const char *const say_words[3] = {
    [DT_BIND_SAY_NOTHING] = "nothing", [DT_BIND_SAY_NODE] = "node", [DT_BIND_SAY_TASKS] = "tasks"};

/* The words of the list as bits, each at most once. */
static int parse_words(unsigned *seen, const char *value, const char *what, struct dtrain_error *err)
{
    char text[DT_BIND_CHOICE_MAX];
    char shown[DT_PARSE_SHOWN_MAX + 4];
    char *word = text, *comma;

    if (value == NULL || strlen(value) >= sizeof(text))
        return dt_error_set(err, "%s: '%s' is not understood: expected some of gpu,cpu,nic,mem, none, or "
                                 "verbose",
                            what, dt_parse_shown(shown, value ? value : ""));
    strcpy(text, value);
    *seen = 0;
    do {
        unsigned index;

        comma = strchr(word, ',');
        if (comma != NULL)
            *comma = '\0';
        if (dt_parse_word(&index, word, item_words, WORD_COUNT, what, err))
            return -1;
        if (*seen & 1u << index)
            return dt_error_set(err, "%s: %s stands there twice: expected each word once", what, word);
        *seen |= 1u << index;
        word = comma + 1;
    } while (comma != NULL);
    return 0;
}

int dt_bind_choice_parse_items(unsigned *items, bool *is_verbose, const char *value, const char *what,
                               struct dtrain_error *err)
{
    unsigned seen = 0, chosen;

    if (parse_words(&seen, value, what, err))
        return -1;
    chosen = seen & DT_BIND_ITEMS_ALL;
    if (chosen != 0 && seen & 1u << WORD_NONE)
        return dt_error_set(err, "%s: '%.64s' says none and something: expected one of them", what, value);
    *is_verbose = seen & 1u << WORD_VERBOSE;
    *items = chosen == 0 && !(seen & 1u << WORD_NONE) ? DT_BIND_ITEMS_ALL : chosen;
    return 0;
}

static const char *items_text(char text[ITEMS_TEXT_MAX], unsigned items)
{
    text[0] = '\0';
    for (unsigned i = 0; i < DT_BIND_ITEM_COUNT; i++) {
        if (!(items & 1u << i))
            continue;
        if (text[0] != '\0')
            strcat(text, ",");
        strcat(text, item_words[i]);
    }
    return text[0] != '\0' ? text : item_words[WORD_NONE];
}

void dt_bind_choice_encode(char text[DT_BIND_CHOICE_MAX], const struct dt_bind_choice *choice)
{
    char items[ITEMS_TEXT_MAX], kept[ITEMS_TEXT_MAX];
    const char *fields[] = {items_text(items, choice->items), items_text(kept, choice->kept),
                            dt_visible_words[choice->visible], say_words[choice->say]};

    text[0] = '\0';
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        strcat(text, i ? ";" : "");
        strcat(text, fields[i]);
    }
}

static int decode_fields(struct dt_bind_choice *choice, char *fields[4], struct dtrain_error *err)
{
    bool is_verbose;
    unsigned visible, say;

    if (dt_bind_choice_parse_items(&choice->items, &is_verbose, fields[0], DT_BIND_CHOICE_NAME, err) ||
        dt_bind_choice_parse_items(&choice->kept, &is_verbose, fields[1], DT_BIND_CHOICE_NAME, err) ||
        dt_parse_word(&visible, fields[2], dt_visible_words, 2, DT_BIND_CHOICE_NAME, err) ||
        dt_parse_word(&say, fields[3], say_words, 3, DT_BIND_CHOICE_NAME, err))
        return -1;
    choice->visible = (enum dt_visible_mode)visible;
    choice->say = (enum dt_bind_say)say;
    return 0;
}

int dt_bind_choice_decode(struct dt_bind_choice *choice, const char *text, struct dtrain_error *err)
{
    char copy[DT_BIND_CHOICE_MAX], shown[DT_PARSE_SHOWN_MAX + 4];
    char *fields[4];
    unsigned count = 0;

    if (strnlen(text, sizeof(copy)) < sizeof(copy)) {
        char *rest = strcpy(copy, text);

        while (rest != NULL && count < 4)
            fields[count++] = strsep(&rest, ";");
        if (rest == NULL && count == 4)
            return decode_fields(choice, fields, err);
    }
    return dt_error_set(err, DT_BIND_CHOICE_NAME " '%s' is not what srun's plugin sets: expected "
                             "ITEMS;KEPT;VISIBLE;SAY, leave it to srun",
                        dt_parse_shown(shown, text));
}
