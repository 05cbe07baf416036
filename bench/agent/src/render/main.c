// SPDX-License-Identifier: GPL-2.0-or-later
// Renders pages of a shop from made-up records: main ROUNDS PAGES
#include "render.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 400, NOTES = 3, SITE_FIELDS = 360 };

static const char page_template[] =
    "<html><head><title>{{title}}</title></head>\n<body class=\"{{theme}}\">\n<h1>{{title|upper}}</h1>\n"
    "{{#if notice}}<p class=\"notice\">{{notice}}</p>\n{{/}}"
    "<table>\n{{#each items}}<tr class=\"{{theme}}\"><td>{{@}}</td><td><a "
    "href=\"{{base|raw}}/item/{{number}}\">{{name}}</a>"
    "</td><td>{{maker|trim|upper}}</td><td>{{price|money}} {{currency}}</td>"
    "<td>{{#if stock}}{{stock}} {{in_stock}}{{else}}<em>{{sold_out}}</em>{{/}}</td></tr>\n"
    "{{#each notes}}<tr><td></td><td colspan=\"3\">{{author}}: {{text}}</td><td>{{stars}}/5</td></tr>\n{{/}}"
    "{{/}}</table>\n<footer>{{footer}}</footer></body></html>\n";

static uint64_t state = 88172645463325252u;

static uint32_t draw(uint32_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 22) % limit);
}

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        abort();
    return memory;
}

static void add(Record *record, Symbols *symbols, const char *name, Value value)
{
    record->fields[record->count++] = (Field){symbols_number(symbols, name, strlen(name)), value};
}

static Value number(int64_t value)
{
    return (Value){.kind = VALUE_NUMBER, .as.number = value};
}

static Value text(const char *value)
{
    return (Value){.kind = VALUE_TEXT, .length = (uint32_t)strlen(value), .as.text = value};
}

// Some words, now and then with a character that has to be escaped.
static Value sentence(uint32_t words)
{
    static const char *const choice[] = {"light",         "sturdy", "well made",       "R&D",
                                         "a bit small",   "<good>", "arrived late",    "\"new\"",
                                         "for the price", "colour", "would buy again", "box",
                                         "as described"};
    char *made = zeroed(words, 20);
    for (uint32_t i = 0; i < words; i++) {
        strcat(made, choice[draw(13)]);
        strcat(made, i + 1 < words ? " " : ".");
    }
    return text(made);
}

static void make_item(Record *item, Symbols *symbols)
{
    item->fields = zeroed(6, sizeof(Field));
    add(item, symbols, "number", number(10000 + draw(90000)));
    add(item, symbols, "name", sentence(2 + draw(4)));
    add(item, symbols, "maker", text(draw(2) ? "  Miller & Sons " : " Northern Works"));
    add(item, symbols, "price", number(draw(100000)));
    add(item, symbols, "stock", number(draw(3) ? draw(50) : 0));
    Record *notes = zeroed(NOTES, sizeof *notes);
    uint32_t count = draw(NOTES + 1);
    for (uint32_t i = 0; i < count; i++) {
        notes[i].fields = zeroed(3, sizeof(Field));
        add(&notes[i], symbols, "author", text(draw(2) ? "anna" : "b. <admin>"));
        add(&notes[i], symbols, "text", sentence(6 + draw(12)));
        add(&notes[i], symbols, "stars", number(1 + draw(5)));
    }
    add(item, symbols, "notes", (Value){.kind = VALUE_LIST, .length = count, .as.list = notes});
}

static void make_site(Record *site, Symbols *symbols, const Record *items)
{
    char name[NAME_LENGTH + 1];
    site->fields = zeroed(SITE_FIELDS, sizeof(Field));
    add(site, symbols, "title", text("Tools & Garden"));
    add(site, symbols, "theme", text("plain wide"));
    add(site, symbols, "currency", text("EUR"));
    add(site, symbols, "base", text("https://shop.example/tools"));
    add(site, symbols, "in_stock", text("in stock"));
    add(site, symbols, "sold_out", text("sold out"));
    add(site, symbols, "footer", text("All prices without post."));
    add(site, symbols, "items", (Value){.kind = VALUE_LIST, .length = ITEMS, .as.list = items});
    for (int i = 0; site->count < SITE_FIELDS - 1; i++) {
        snprintf(name, sizeof name, "option%d", i);
        add(site, symbols, name, number(i));
    }
}

static void free_item(Record *item)
{
    const Value *notes = &item->fields[item->count - 1].value;
    for (uint32_t i = 0; i < notes->length; i++) {
        free((void *)notes->as.list[i].fields[1].value.as.text);
        free(notes->as.list[i].fields);
    }
    free((void *)notes->as.list);
    free((void *)item->fields[1].value.as.text);
    free(item->fields);
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 1, pages = count > 2 ? atoi(arguments[2]) : 7000;
    static Symbols symbols;
    static Record items[ITEMS];
    Record site = {0};
    symbols_open(&symbols);
    Node *page = template_compile(&symbols, page_template);
    for (int i = 0; i < ITEMS; i++)
        make_item(&items[i], &symbols);
    make_site(&site, &symbols, items);
    static Output output;
    output_open(&output);
    for (int i = 0; i < rounds * pages; i++) {
        Record *shown = &items[draw(ITEMS)];
        shown->fields[3].value = number(draw(100000));
        template_expand(page, &(Scope){.record = &site}, &output);
        output_flush(&output);
    }
    printf("%" PRIu64 " bytes\n%016" PRIx64 "\n", output.bytes, output.digest);
    for (int i = 0; i < ITEMS; i++)
        free_item(&items[i]);
    free(site.fields);
    template_free(page);
    return 0;
}
