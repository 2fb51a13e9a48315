// SPDX-License-Identifier: MIT
// Help, man page, reference page and completion, all from the tables of table.c.
#include <ctype.h>
#include <string.h>

#include "ids.h"
#include "options.h"

enum { HELP_WIDTH = 100, HELP_INDENT = 30 };

static const struct {
    const char *status, *meaning;
} statuses[] = {
    {"0..255", "tally stat, tally boot: the program's or the guest system's own status"},
    {"128+N", "tally stat, tally boot: the program was killed by signal N, or tally was interrupted by it"},
    {"123", "tally stat, tally boot: a region was never reached, with --roi-required"},
    {"124", "tally stat, tally boot: the time of --timeout has passed"},
    {"125",
     "tally itself failed: counts that contradict each other, a deadlock of the program, harts that all wait for ever, an unreadable "
     "report"},
    {"126", "the program or image was found but cannot be run: not executable, not for this machine"},
    {"127", "the program or an image was not found"},
    {"2", "the command line is wrong; nothing was run"},
    {"1",
     "tally diff: a gate of --fail-on was crossed; tally open-records: a record is damaged or missing; tally boot, tally stat --bare: the guest asked for a restart, which ends the run"},
};

static const char *const examples[][2] = {
    {"tally stat -- ./prog args", "every count that matters, on one screen"},
    {"tally stat -e cycles,instructions,l1d.load_miss -- ./prog", "only these"},
    {"tally stat --machine tiny --D1 16K,4,64 -I 10ms -- ./prog", "another machine, another cache, a line every 10 ms"},
    {"tally stat --bare prog.elf", "a bare-metal program in machine mode"},
    {"tally boot --kernel Image --initrd initrd.cpio", "firmware and Linux, on the terminal"},
    {"tally stat -j -o before.json -- ./prog", "everything, for programs"},
    {"tally diff before.json after.json --fail-on 'cycles>+1%'", "a gate without noise"},
    {"tally compare --plot errors.svg -- ./prog", "three designs of counters watch one program"},
    {"tally list signals 'l1d.*'", "what can be counted"},
};

// Words of `text` between two columns; the first line begins where the cursor is.
static void put_wrapped(FILE *stream, const char *text, int indent, int column) {
    bool is_first = true;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (!is_first && column + 1 + length > HELP_WIDTH) {
            fprintf(stream, "\n%*s", indent, "");
            column = indent;
            is_first = true;
        }
        column += fprintf(stream, "%s%.*s", is_first ? "" : " ", length, text);
        is_first = false;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', stream);
}

void cli_put_word(FILE *stream, const char *word, const char *meaning) {
    put_wrapped(stream, meaning, 11, fprintf(stream, "  %-8s ", word));
}

static void put_statuses(FILE *stream) {
    fputs("\nExit status:\n", stream);
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        cli_put_word(stream, statuses[i].status, statuses[i].meaning);
}

static void put_option_name(char *ret_text, size_t size, const cli_option *row) {
    const char *space = row->argument ? " " : "", *argument = row->argument ? row->argument : "";
    if (row->letter)
        snprintf(ret_text, size, "-%c, --%s%s%s", row->letter, row->name, space, argument);
    else
        snprintf(ret_text, size, "    --%s%s%s", row->name, space, argument);
}

void cli_print_overview(FILE *stream) {
    fputs("usage: tally VERB [OPTION...] ...\n\n", stream);
    put_wrapped(
        stream,
        "Runs RISC-V programs, bare-metal code and whole systems on a simulated machine and counts every microarchitectural event exactly.",
        0, 0);
    fputc('\n', stream);
    for (unsigned verb = 0; verb < N_VERBS; verb++)
        fprintf(stream, "  tally %-12s %s\n", cli_verbs[verb].name, cli_verbs[verb].summary);
    fputs("\nExamples:\n", stream);
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++)
        fprintf(stream, "  %-60s %s\n", examples[i][0], examples[i][1]);
    put_statuses(stream);
    fputs("\ntally VERB --help explains a verb and its options.\n", stream);
}

void cli_print_help(cli_verb verb, FILE *stream) {
    const cli_verb_row *about = &cli_verbs[verb];
    fprintf(stream, "usage: tally %s%s%s\n\n", about->name, *about->usage ? " " : "", about->usage);
    put_wrapped(stream, about->description, 0, 0);
    const char *group = NULL;
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        const cli_option *row = &cli_option_rows[i];
        if (!(row->verbs & 1u << verb) || !row->group)
            continue;
        if (!group || strcmp(group, row->group) != 0)
            fprintf(stream, "\n%s:\n", row->group);
        group = row->group;
        char name[80];
        put_option_name(name, sizeof name, row);
        int column = fprintf(stream, "  %-*s", HELP_INDENT - 2, name);
        if (column > HELP_INDENT) {
            fprintf(stream, "\n%*s", HELP_INDENT, "");
            column = HELP_INDENT;
        }
        put_wrapped(stream, row->help, HELP_INDENT, column);
    }
    if (verb == VERB_STAT || verb == VERB_RECORD || verb == VERB_BOOT || verb == VERB_DIFF || verb == VERB_COMPARE ||
        verb == VERB_OPEN_RECORDS)
        put_statuses(stream);
}

// Text for groff: hyphens that can be copied, no line that begins with a control character.
static void put_roff(FILE *stream, const char *text) {
    for (const char *at = text; *at; at++) {
        if (*at == '\\')
            fputs("\\e", stream);
        else if (*at == '-')
            fputs("\\-", stream);
        else if (at == text && (*at == '.' || *at == '\''))
            fprintf(stream, "\\&%c", *at);
        else
            fputc(*at, stream);
    }
}

static void put_roff_line(FILE *stream, const char *before, const char *text, const char *after) {
    fputs(before, stream);
    put_roff(stream, text);
    fputs(after, stream);
}

void cli_print_man(FILE *stream) {
    fprintf(stream, ".TH TALLY 1 \"\" \"tally %s\" \"User Commands\"\n", tl_version());
    fputs(".SH NAME\ntally \\- run RISC\\-V programs on a simulated machine and count every event\n.SH SYNOPSIS\n", stream);
    for (unsigned verb = 0; verb < N_VERBS; verb++) {
        fprintf(stream, ".B tally %s\n", cli_verbs[verb].name);
        put_roff_line(stream, "", cli_verbs[verb].usage, "\n.br\n");
    }
    fputs(".SH DESCRIPTION\n", stream);
    for (unsigned verb = 0; verb < N_VERBS; verb++) {
        fprintf(stream, ".SS tally %s\n", cli_verbs[verb].name);
        put_roff_line(stream, "", cli_verbs[verb].description, "\n");
        for (size_t i = 0; i < cli_n_option_rows; i++) {
            const cli_option *row = &cli_option_rows[i];
            if (!(row->verbs & 1u << verb) || !row->group)
                continue;
            fputs(".TP\n.B ", stream);
            if (row->letter)
                fprintf(stream, "\\-%c, ", row->letter);
            put_roff_line(stream, "\\-\\-", row->name, row->argument ? " \\fI" : "\n");
            if (row->argument)
                put_roff_line(stream, "", row->argument, "\\fR\n");
            put_roff_line(stream, "", row->help, "\n");
        }
    }
    fputs(".SH EXIT STATUS\n", stream);
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        put_roff_line(stream, ".TP\n.B ", statuses[i].status, "\n");
        put_roff_line(stream, "", statuses[i].meaning, "\n");
    }
    fputs(".SH EXAMPLES\n", stream);
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        put_roff_line(stream, ".TP\n.B ", examples[i][0], "\n");
        put_roff_line(stream, "", examples[i][1], "\n");
    }
}

// A cell of a table: a bar would end it.
static void put_cell(FILE *stream, const char *text) {
    for (; *text; text++)
        fprintf(stream, "%s%c", *text == '|' ? "\\" : "", *text);
}

void cli_print_markdown(FILE *stream) {
    fputs("<!-- Written by make docs from what the program says of itself. -->\n\n# Command line\n", stream);
    for (unsigned verb = 0; verb < N_VERBS; verb++) {
        const cli_verb_row *about = &cli_verbs[verb];
        fprintf(stream, "\n## tally %s\n\n    tally %s%s%s\n\n%s\n", about->name, about->name, *about->usage ? " " : "", about->usage,
                about->description);
        const char *group = NULL;
        for (size_t i = 0; i < cli_n_option_rows; i++) {
            const cli_option *row = &cli_option_rows[i];
            if (!(row->verbs & 1u << verb) || !row->group || row->id == OPT_HELP)
                continue;
            if (!group || strcmp(group, row->group) != 0)
                fprintf(stream, "\n| %s | |\n| --- | --- |\n", row->group);
            group = row->group;
            char name[80];
            put_option_name(name, sizeof name, row);
            fputs("| `", stream);
            put_cell(stream, name + strspn(name, " "));
            fputs("` | ", stream);
            put_cell(stream, row->help);
            fputs(" |\n", stream);
        }
    }
    fputs("\n## Exit status\n\n| status | meaning |\n| --- | --- |\n", stream);
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        fprintf(stream, "| %s | %s |\n", statuses[i].status, statuses[i].meaning);
}

bool cli_print_topic(const char *topic, FILE *stream) {
    static const struct {
        const char *name;
        void (*print)(FILE *stream);
    } topics[] = {{"man", cli_print_man},
                  {"markdown", cli_print_markdown},
                  {"completion", cli_print_completion},
                  {"completion-zsh", cli_print_zsh_completion},
                  {"completion-fish", cli_print_fish_completion}};
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++) {
        if (!strcmp(topic, topics[i].name)) {
            topics[i].print(stream);
            return true;
        }
    }
    return false;
}

static void put_words(FILE *stream, cli_verb verb) {
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        const cli_option *row = &cli_option_rows[i];
        if (row->verbs & 1u << verb && row->group)
            fprintf(stream, " --%s", row->name);
    }
}

// Another verb has an option of that name with other values.
static bool is_ambiguous(const cli_option *row) {
    for (size_t i = 0; i < cli_n_option_rows; i++) {
        const cli_option *other = &cli_option_rows[i];
        if (other->words && !strcmp(other->name, row->name) && strcmp(other->words, row->words) != 0)
            return true;
    }
    return false;
}

static bool is_told_before(const cli_option *row) {
    for (const cli_option *other = cli_option_rows; other < row; other++)
        if (other->words && !strcmp(other->name, row->name))
            return true;
    return false;
}

// "*:--engine", or "stat:--pmu | list:--pmu" where it depends on the verb.
static void put_patterns(FILE *stream, const cli_option *row) {
    const char *separator = "    ";
    bool depends = is_ambiguous(row);
    for (unsigned verb = 0; verb < (depends ? N_VERBS : 1); verb++) {
        const char *name = depends ? cli_verbs[verb].name : "*";
        if (depends && !(row->verbs & 1u << verb))
            continue;
        fprintf(stream, "%s%s:--%s", separator, name, row->name);
        if (row->letter)
            fprintf(stream, " | %s:-%c", name, row->letter);
        separator = " | ";
    }
}

// Values of one option. In a list, the part after the last comma is completed.
static void put_values(FILE *stream, const cli_option *row) {
    bool is_list = row->argument && !strncmp(row->argument, "LIST", 4);
    put_patterns(stream, row);
    if (!strcmp(row->words, "@files")) {
        fputs(") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", stream);
        return;
    }
    fprintf(stream, ") COMPREPLY=($(compgen %s-W \"", is_list ? "-P \"${cur%\"${cur##*,}\"}\" " : "");
    if (!strcmp(row->words, "@compared"))
        fputs("$(tally compare --list-events 2>/dev/null | sed -n 's/^ *\\([a-z0-9_]*\\) .*/\\1/p')", stream);
    else if (!strcmp(row->words, "@designs"))
        fputs("$(tally compare --list-events 2>/dev/null | sed -n '1s/^event *//p')", stream);
    else if (!strcmp(row->words, "@grants"))
        fputs("$(" CLI_LIST_GRANTS ")", stream);
    else if (row->words[0] == '@')
        for (const char *kind = row->words + 1; kind; kind = strchr(kind, '@') ? strchr(kind, '@') + 1 : NULL)
            fprintf(stream, "%s$(tally list %.*s -j 2>/dev/null | sed -n 's/.*\"name\":\"\\([^\"]*\\)\".*/\\1%s/p')",
                    kind == row->words + 1 ? "" : " ", (int)strcspn(kind, " "), kind, strcmp(row->words, "@keys") ? "" : "=");
    else
        fputs(row->words, stream);
    fprintf(stream, "\" -- \"%s\")); %sreturn ;;\n", is_list ? "${cur##*,}" : "$cur",
            strcmp(row->words, "@keys") ? "" : "compopt -o nospace 2>/dev/null; ");
}

void cli_print_completion(FILE *stream) {
    fputs("# bash completion of tally: tally help completion > /etc/bash_completion.d/tally\n"
          "_tally() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} i\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W \"",
          stream);
    for (unsigned verb = 0; verb < N_VERBS; verb++)
        fprintf(stream, "%s%s", verb ? " " : "", cli_verbs[verb].name);
    fputs("\" -- \"$cur\"))\n"
          "        return\n"
          "    fi\n"
          "    if [ \"$verb\" = stat ] || [ \"$verb\" = compare ]; then # behind -- the program's own words\n"
          "        for ((i = 2; i < COMP_CWORD; i++)); do\n"
          "            if [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
          "                COMPREPLY=($(compgen -f -- \"$cur\"))\n"
          "                return\n"
          "            fi\n"
          "        done\n"
          "    fi\n"
          "    case $verb:$prev in\n",
          stream);
    for (const cli_option *row = cli_option_rows; row < cli_option_rows + cli_n_option_rows; row++)
        if (row->words && (is_ambiguous(row) || !is_told_before(row)))
            put_values(stream, row);
    fputs("    esac\n    case $verb in\n", stream);
    for (unsigned verb = 0; verb < N_VERBS; verb++) {
        fprintf(stream, "    %s", cli_verbs[verb].name);
        if (cli_verbs[verb].alias)
            fprintf(stream, " | %s", cli_verbs[verb].alias);
        fputs(") i=\"", stream);
        put_words(stream, (cli_verb)verb);
        if (verb == VERB_LIST)
            fputs(" signals events metrics groups machines keys pmus", stream);
        if (verb == VERB_DESCRIBE)
            fputs(" machine pmu", stream);
        if (verb == VERB_HELP)
            fputs(" " CLI_TOPICS, stream);
        fputs("\" ;;\n", stream);
    }
    fputs(
        "    *) i= ;;\n"
        "    esac\n"
        "    case $cur in\n"
        "    -*) COMPREPLY=($(compgen -W \"$i\" -- \"$cur\")) ;;\n"
        "    *) if [ \"$verb\" = list ] || [ \"$verb\" = describe ] || [ \"$verb\" = help ]; then COMPREPLY=($(compgen -W \"$i\" -- \"$cur\")); else COMPREPLY=($(compgen -f -- \"$cur\")); fi ;;\n"
        "    esac\n"
        "}\n"
        "complete -F _tally tally\n",
        stream);
}
