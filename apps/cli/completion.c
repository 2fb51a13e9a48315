// SPDX-License-Identifier: MIT
// Completion for zsh and fish, from the tables of table.c; that for bash is in help.c.
#include <string.h>

#include "options.h"

// Text between single quotes of a shell; what is in `also` gets a backslash.
static void put_quoted(FILE *stream, const char *text, const char *also) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stream);
        else
            fprintf(stream, "%s%c", strchr(also, *text) ? "\\" : "", *text);
    }
}

// The first sentence of a help text, without its full stop.
static int sentence_length(const char *help) {
    const char *end = strstr(help, ". ");
    size_t n = end ? (size_t)(end - help) : strlen(help);
    return (int)(n > 0 && help[n - 1] == '.' ? n - 1 : n);
}

static void put_sentence(FILE *stream, const char *help, const char *also) {
    char text[512];
    snprintf(text, sizeof text, "%.*s", sentence_length(help), help);
    put_quoted(stream, text, also);
}

static bool is_of(const cli_option *row, unsigned verb) { return row->verbs & 1u << verb && row->group; }

static const char *name_or_alias(unsigned verb, int which) { return which ? cli_verbs[verb].alias : cli_verbs[verb].name; }

// Values that an option takes: files, words, or names that the program lists.
static void put_zsh_value(FILE *stream, const cli_option *row) {
    fputc(':', stream);
    put_quoted(stream, row->argument, ":");
    fputc(':', stream);
    if (!row->words)
        return;
    if (!strcmp(row->words, "@files"))
        fputs("_files", stream);
    else if (row->words[0] == '@')
        fprintf(stream, " _tally_names %s", row->words); // the space: without options of its own
    else
        fprintf(stream, strncmp(row->argument, "LIST", 4) ? "(%s)" : " _tally_words %s", row->words);
}

static void put_zsh_verb(FILE *stream, unsigned verb) {
    fprintf(stream, "        %s", cli_verbs[verb].name);
    if (cli_verbs[verb].alias)
        fprintf(stream, "|%s", cli_verbs[verb].alias);
    fputs(")\n            _arguments -s -S", stream);
    for (const cli_option *row = cli_option_rows; row < cli_option_rows + cli_n_option_rows; row++) {
        if (!is_of(row, verb))
            continue;
        fputs(" \\\n                ", stream);
        if (row->letter)
            fprintf(stream, "'(-%c --%s)'{-%c%s,--%s%s}", row->letter, row->name, row->letter, row->argument ? "+" : "", row->name,
                    row->argument ? "=" : "");
        else
            fprintf(stream, "--%s%s", row->name, row->argument ? "=" : "");
        fputs("'[", stream);
        put_sentence(stream, row->help, "[]:");
        fputc(']', stream);
        if (row->argument)
            put_zsh_value(stream, row);
        fputc('\'', stream);
    }
    const char *words = verb == VERB_LIST       ? "signals events metrics groups machines keys pmus"
                        : verb == VERB_DESCRIBE ? "machine pmu"
                        : verb == VERB_HELP     ? CLI_TOPICS
                                                : NULL;
    if (words)
        fprintf(stream, " \\\n                '*:word:(%s)' ;;\n", words);
    else if (verb == VERB_SUITE)
        fputs(" \\\n                '*:word: _tally_names @suites' ;;\n", stream);
    else
        fputs(" \\\n                '*:file:_files' ;;\n", stream);
}

void cli_print_zsh_completion(FILE *stream) {
    fputs("#compdef tally\n"
          "# zsh completion of tally: tally help completion-zsh > a folder of fpath/_tally\n"
          "_tally_words() { compset -P '*,'; compadd -- $@; }\n"
          "_tally_names() {\n"
          "    local kind\n"
          "    local -a names\n"
          "    for kind in ${1#@} ${@[2,-1]#@}; do\n"
          "        if [[ $kind = compared ]]; then\n"
          "            names+=(${(f)\"$(tally compare --list-events 2>/dev/null | sed -n 's/^ *\\([a-z0-9_]*\\) .*/\\1/p')\"})\n"
          "        elif [[ $kind = designs ]]; then\n"
          "            names+=(${=$(tally compare --list-events 2>/dev/null | sed -n '1s/^event *//p')})\n"
          "        elif [[ $kind = grants ]]; then\n"
          "            names+=(${(f)\"$(" CLI_LIST_GRANTS ")\"})\n"
          "        elif [[ $kind = suites ]]; then\n"
          "            names+=(${(f)\"$(" CLI_LIST_SUITES ")\"})\n"
          "        else\n"
          "            names+=(${(f)\"$(tally list $kind -j 2>/dev/null | sed -n 's/.*\"name\":\"\\([^\"]*\\)\".*/\\1/p')\"})\n"
          "        fi\n"
          "    done\n"
          "    compset -P '*,'\n"
          "    if [[ $1 = @keys ]]; then compadd -S '=' -a names; else compadd -a names; fi\n"
          "}\n"
          "_tally() {\n"
          "    local -a verbs\n"
          "    if (( CURRENT == 2 )); then\n"
          "        verbs=(",
          stream);
    for (unsigned verb = 0; verb < N_VERBS; verb++) {
        fprintf(stream, "%s'%s:", verb ? " " : "", cli_verbs[verb].name);
        put_quoted(stream, cli_verbs[verb].summary, "");
        fputc('\'', stream);
    }
    fputs(")\n"
          "        _describe verb verbs\n"
          "        return\n"
          "    fi\n"
          "    local verb=$words[2]\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $verb in\n",
          stream);
    for (unsigned verb = 0; verb < N_VERBS; verb++)
        put_zsh_verb(stream, verb);
    fputs("    esac\n"
          "}\n"
          "_tally \"$@\"\n",
          stream);
}

static void put_fish_condition(FILE *stream, unsigned verb) {
    fputs("complete -c tally -n '__fish_seen_subcommand_from", stream);
    for (int which = 0; which < 2; which++)
        if (name_or_alias(verb, which))
            fprintf(stream, " %s", name_or_alias(verb, which));
    fputc('\'', stream);
}

static void put_fish_option(FILE *stream, unsigned verb, const cli_option *row) {
    bool is_list = row->argument && !strncmp(row->argument, "LIST", 4);
    put_fish_condition(stream, verb);
    if (row->letter)
        fprintf(stream, " -s %c", row->letter);
    fprintf(stream, " -l %s", row->name);
    if (row->argument && row->words && !strcmp(row->words, "@files"))
        fputs(" -r -F", stream);
    else if (row->argument)
        fputs(" -x", stream);
    if (row->words && row->words[0] == '@' && strcmp(row->words, "@files") != 0)
        fprintf(stream, is_list ? " -a '(__fish_complete_list , \"__tally_names %s\")'" : " -a '(__tally_names %s)'", row->words);
    else if (row->words && row->words[0] != '@')
        fprintf(stream, is_list ? " -a '(__fish_complete_list , \"__tally_words %s\")'" : " -a '%s'", row->words);
    fputs(" -d '", stream);
    put_sentence(stream, row->help, "");
    fputs("'\n", stream);
}

void cli_print_fish_completion(FILE *stream) {
    fputs(
        "# fish completion of tally: tally help completion-fish > ~/.config/fish/completions/tally.fish\n"
        "function __tally_words\n"
        "    printf '%s\\n' $argv\n"
        "end\n"
        "function __tally_names\n"
        "    for kind in (string trim -l -c @ -- $argv)\n"
        "        switch $kind\n"
        "            case compared\n"
        "                tally compare --list-events 2>/dev/null | string replace -rf '^ *([a-z0-9_]+) .*' '$1'\n"
        "            case designs\n"
        "                tally compare --list-events 2>/dev/null | sed -n '1s/^event *//p' | string split -n ' '\n"
        "            case grants\n"
        "                " CLI_LIST_GRANTS "\n"
        "            case suites\n"
        "                " CLI_LIST_SUITES "\n"
        "            case keys\n"
        "                tally list keys -j 2>/dev/null | string replace -rf '.*\"name\":\"([^\"]*)\".*' '$1='\n"
        "            case '*'\n"
        "                tally list $kind -j 2>/dev/null | string replace -rf '.*\"name\":\"([^\"]*)\".*\"meaning\":\"([^\"]*)\".*' '$1\\t$2'\n"
        "        end\n"
        "    end\n"
        "end\n",
        stream);
    for (unsigned verb = 0; verb < N_VERBS; verb++) {
        fprintf(stream, "complete -c tally -f -n __fish_use_subcommand -a %s -d '", cli_verbs[verb].name);
        put_quoted(stream, cli_verbs[verb].summary, "");
        fputs("'\n", stream);
        for (const cli_option *row = cli_option_rows; row < cli_option_rows + cli_n_option_rows; row++)
            if (is_of(row, verb))
                put_fish_option(stream, verb, row);
    }
    static const struct {
        cli_verb verb;
        const char *words;
    } words[] = {{VERB_LIST, "signals events metrics groups machines keys pmus"},
                 {VERB_DESCRIBE, "machine pmu"},
                 {VERB_SUITE, "(__tally_names @suites)"},
                 {VERB_HELP, CLI_TOPICS}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        put_fish_condition(stream, words[i].verb);
        fprintf(stream, " -f -a '%s'\n", words[i].words);
    }
}
