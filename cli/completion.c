/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shell completion, generated from the table of subcommands: `cyclescope --completion bash`. Procedure names
 * come from the store that the command line speaks of. */
#include "cli/generate.h"
#include "cli/profile/profile.h"
#include "store/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 200

/* Words that an option takes; NULL: the first operand. tests/integration/command_line.sh holds them against what the subcommands
 * say that they expect. */
static const struct {
    const char *subcommand, *option, *words;
} choices[] = {
    {"store", NULL, "ls verify dump merge gc"},
    {"daemon", NULL, "start status flush epoch stop"},
    {"fleet", NULL, "prof diff"},
    {"export", "format", "trace pprof otlp folded speedscope firefox csv json llvm gcov gcov11 bolt"},
    {"prof", "by", "image function line process tag thread container attribute label"},
    {"prof", "sort", "samples total"},
    {"diff", "by", "image function line thread"},
    {"stats", "by", "image function line"},
    {"waits", "by", "place thread"},
    {"tree", "by", "function process thread container attribute label"},
    {"top", "by", "function process image"},
    {"fleet", "by", "function image host label day"},
    {"record", "label", "process command cgroup thread container attribute=NAME"},
    {"record", "driver", "auto bpf ring timers stops"},
};
#define N_CHOICES (sizeof choices / sizeof *choices)

static const char *words_of(const char *subcommand, const char *option)
{
    for (size_t i = 0; i < N_CHOICES; i++)
        if (strcmp(choices[i].subcommand, subcommand) == 0 &&
            (option ? choices[i].option && strcmp(choices[i].option, option) == 0 : !choices[i].option))
            return choices[i].words;
    return NULL;
}

static void bash_choices(const struct command *c)
{
    const char *verbs = words_of(c->name, NULL);
    for (const struct option_entry *e = c->options; e->name; e++) {
        const char *words = words_of(c->name, e->name);
        char letter[8] = "";
        if (e->letter)
            snprintf(letter, sizeof letter, "|-%c", e->letter);
        if (words)
            printf(
                "        case $prev in --%s%s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;; esac\n",
                e->name, letter, words);
    }
    if (verbs)
        printf(
            "        [ \"$COMP_CWORD\" -eq 2 ] && { COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return; }\n",
            verbs);
}

static void bash_options(const struct option_entry *e)
{
    for (; e->name; e++)
        printf(" --%s", e->name);
}

static void print_bash(void)
{
    printf("# bash completion for cyclescope, generated from its table of subcommands\n"
           "_cyclescope() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} sub=${COMP_WORDS[1]} "
           "store= i\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        COMPREPLY=($(compgen -W '");
    for (const struct command *const *c = commands; *c; c++)
        printf("%s ", (*c)->name);
    printf("--help --version' -- \"$cur\")); return\n"
           "    fi\n"
           "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
           "        case ${COMP_WORDS[i]} in --store|-o) store=${COMP_WORDS[i+1]} ;; esac\n"
           "    done\n"
           "    case $prev in\n"
           "    --store|-o|--root|--record) COMPREPLY=($(compgen -d -- \"$cur\")); return ;;\n"
           "    esac\n"
           "    case $sub in\n");
    for (const struct command *const *c = commands; *c; c++) {
        printf("    %s)\n        [ \"${cur#-}\" != \"$cur\" ] && { COMPREPLY=($(compgen -W '", (*c)->name);
        bash_options((*c)->options);
        bash_options(common_options);
        printf("' -- \"$cur\")); return; }\n");
        bash_choices(*c);
        if (strstr((*c)->operands, "FUNCTION"))
            printf("        mapfile -t COMPREPLY < <(\"$1\" --procedures \"$cur\" \"$store\" 2>/dev/null); "
                   "return ;;\n");
        else
            printf("        ;;\n");
    }
    printf("    esac\n"
           "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
           "}\n"
           "complete -o filenames -F _cyclescope cyclescope\n");
}

/* Inside a single-quoted zsh word: brackets and colons are marks of _arguments. */
static void zsh_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (*text == '[' || *text == ']' || *text == ':')
            printf("\\%c", *text);
        else
            fputc(*text, stdout);
    }
}

static void zsh_options(const char *subcommand, const struct option_entry *e)
{
    for (; e->name; e++) {
        printf(" \\\n            '*--%s[", e->name);
        zsh_text(e->help);
        fputc(']', stdout);
        if (e->argument) {
            fputc(':', stdout);
            zsh_text(e->argument);
            const char *words = words_of(subcommand, e->name);
            if (words)
                printf(":(%s)", words);
            else
                fputs(strcmp(e->argument, "DIR") == 0 ? ":_files -/" : ":_files", stdout);
        }
        fputc('\'', stdout);
    }
}

static void print_zsh(void)
{
    printf("#compdef cyclescope\n# generated from cyclescope's table of subcommands\n"
           "_cyclescope_procedures() {\n"
           "    local store=${opt_args[--store]}\n"
           "    compadd -- ${(f)\"$(cyclescope --procedures \"$PREFIX\" \"$store\" 2>/dev/null)\"}\n"
           "}\n"
           "_cyclescope() {\n"
           "    local curcontext=$curcontext state line\n"
           "    typeset -A opt_args\n"
           "    _arguments -C '1:subcommand:->sub' '*::argument:->args'\n"
           "    case $state in\n"
           "    sub)\n        local -a subs=(");
    for (const struct command *const *c = commands; *c; c++) {
        printf("\n            '%s:", (*c)->name);
        zsh_text((*c)->summary);
        fputc('\'', stdout);
    }
    printf(")\n        _describe subcommand subs ;;\n    args)\n        case $line[1] in\n");
    for (const struct command *const *c = commands; *c; c++) {
        printf("        %s) _arguments", (*c)->name);
        zsh_options((*c)->name, (*c)->options);
        zsh_options((*c)->name, common_options);
        if (words_of((*c)->name, NULL))
            printf(" \\\n            '1:verb:(%s)'", words_of((*c)->name, NULL));
        printf(" \\\n            '*:operand:%s' ;;\n",
               strstr((*c)->operands, "FUNCTION") ? "_cyclescope_procedures" : "_files");
    }
    printf("        esac ;;\n    esac\n}\n_cyclescope \"$@\"\n");
}

int print_completion(const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        print_bash();
    else if (strcmp(shell, "zsh") == 0)
        print_zsh();
    else
        return usage_error("--completion %s: expected bash or zsh", shell);
    return CS_EXIT_OK;
}

int print_procedures(const char *prefix, const char *store)
{
    struct profile p;
    struct profile_rows rows;
    struct cs_error err = {0};
    const char *set = getenv("CYCLESCOPE_STORE");
    store = store && *store ? store : set && *set ? set : "cyclescope.store";
    if (profile_open(&p, store, &(struct profile_filter){.image = NULL}, &err) < 0)
        return failed(&err);
    int rc = profile_sum(&p, BY_PROCEDURE, &rows, &err);
    for (size_t i = 0, shown = 0; rc == 0 && i < rows.n && shown < NAMES_MAX; i++) {
        char name[1024];
        if (!rows.row[i].name)
            continue;
        cs_image_demangle(rows.row[i].name, name, sizeof name);
        if (strncmp(name, prefix, strlen(prefix)) == 0 && cs_text_is_clean(name) && ++shown)
            puts(name);
    }
    if (rc == 0)
        profile_rows_fini(&rows);
    profile_close(&p);
    return rc < 0 ? failed(&err) : CS_EXIT_OK;
}
