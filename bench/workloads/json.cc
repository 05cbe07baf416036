// SPDX-License-Identifier: GPL-2.0-or-later
// A JSON reader and writer in plain C++: builds a text of records, reads it into a tree, walks the tree, writes it again.
// Branchy, recursive, full of small objects. usage: json [ROUNDS]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

struct value;
using array = std::vector<value>;
using object = std::map<std::string, value>;
struct value {
    std::variant<std::nullptr_t, bool, double, std::string, std::unique_ptr<array>, std::unique_ptr<object>> is;
};

class reader {
    const char *p, *end;

    void space()
    {
        while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
            p++;
    }
    [[noreturn]] void bad() { std::fprintf(stderr, "json: bad text\n"), std::exit(1); }
    char next()
    {
        space();
        if (p == end)
            bad();
        return *p;
    }
    std::string text()
    {
        std::string s;
        for (p++; p < end && *p != '"'; p++) {
            if (*p != '\\') {
                s += *p;
                continue;
            }
            switch (*++p) {
            case 'n': s += '\n'; break;
            case 't': s += '\t'; break;
            case 'u': {
                unsigned code = 0;
                for (int i = 0; i < 4; i++) {
                    char c = *++p;
                    code = code * 16 + (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
                }
                if (code < 0x80)
                    s += static_cast<char>(code);
                else {
                    s += static_cast<char>(0xc0 | code >> 6);
                    s += static_cast<char>(0x80 | (code & 63));
                }
                break;
            }
            default: s += *p;
            }
        }
        p++;
        return s;
    }
    double number()
    {
        bool minus = *p == '-';
        p += minus;
        double n = 0, scale = 1;
        while (p < end && *p >= '0' && *p <= '9')
            n = n * 10 + (*p++ - '0');
        if (p < end && *p == '.')
            for (p++; p < end && *p >= '0' && *p <= '9'; p++)
                n += (*p - '0') * (scale /= 10);
        return minus ? -n : n;
    }

public:
    reader(const std::string &s) : p(s.data()), end(p + s.size()) {}
    value read()
    {
        switch (next()) {
        case '{': {
            auto o = std::make_unique<object>();
            for (p++; next() != '}';) {
                std::string key = text();
                if (next() != ':')
                    bad();
                p++;
                (*o)[std::move(key)] = read();
                if (next() == ',')
                    p++, space();
            }
            p++;
            return {std::move(o)};
        }
        case '[': {
            auto a = std::make_unique<array>();
            for (p++; next() != ']';) {
                a->push_back(read());
                if (next() == ',')
                    p++, space();
            }
            p++;
            return {std::move(a)};
        }
        case '"': return {text()};
        case 't': p += 4; return {true};
        case 'f': p += 5; return {false};
        case 'n': p += 4; return {nullptr};
        default: return {number()};
        }
    }
};

static void write(const value &v, std::string &out)
{
    if (auto *o = std::get_if<std::unique_ptr<object>>(&v.is)) {
        out += '{';
        for (auto &[key, one] : **o) {
            if (out.back() != '{')
                out += ',';
            out += '"' + key + "\":";
            write(one, out);
        }
        out += '}';
    } else if (auto *a = std::get_if<std::unique_ptr<array>>(&v.is)) {
        out += '[';
        for (auto &one : **a) {
            if (out.back() != '[')
                out += ',';
            write(one, out);
        }
        out += ']';
    } else if (auto *s = std::get_if<std::string>(&v.is)) {
        out += '"';
        for (char c : *s) {
            if (c == '"' || c == '\\')
                out += '\\';
            out += c;
        }
        out += '"';
    } else if (auto *n = std::get_if<double>(&v.is)) {
        char digits[24];
        auto left = static_cast<int64_t>(*n);
        int at = sizeof digits;
        bool minus = left < 0;
        for (left = minus ? -left : left, digits[--at] = static_cast<char>('0' + left % 10); left /= 10;)
            digits[--at] = static_cast<char>('0' + left % 10);
        if (minus)
            digits[--at] = '-';
        out.append(digits + at, sizeof digits - at);
    } else if (auto *b = std::get_if<bool>(&v.is))
        out += *b ? "true" : "false";
    else
        out += "null";
}

static double sum(const value &v)
{
    if (auto *n = std::get_if<double>(&v.is))
        return *n;
    double total = 0;
    if (auto *a = std::get_if<std::unique_ptr<array>>(&v.is))
        for (auto &one : **a)
            total += sum(one);
    else if (auto *o = std::get_if<std::unique_ptr<object>>(&v.is))
        for (auto &[key, one] : **o)
            total += sum(one) + static_cast<double>(key.size());
    return total;
}

static std::string records(int n)
{
    uint64_t x = 88172645463325252u;
    std::string s = "[";
    for (int i = 0; i < n; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        s += i ? ",\n {\"id\": " : "\n {\"id\": ";
        s += std::to_string(x % 1000000) + ", \"name\": \"" + std::string(x >> 20 & 15, static_cast<char>('a' + i % 26));
        s += x & 64 ? "\\u00e9\\n" : "\\\"q";
        s += "\", \"flags\": [true, false, null, " + std::to_string(x >> 40 & 255) + ".25], \"deep\": ";
        for (unsigned d = x >> 50 & 7; d-- > 0;)
            s += "{\"k\": [1, ";
        s += "-3";
        for (unsigned d = x >> 50 & 7; d-- > 0;)
            s += "]}";
        s += "}";
    }
    return s + "]";
}

int main(int argc, char **argv)
{
    std::string text = records(4000);
    double total = 0;
    for (int round = argc > 1 ? std::atoi(argv[1]) : 40; round-- > 0;) {
        value v = reader(text).read();
        total += sum(v);
        std::string out;
        write(v, out);
        total += static_cast<double>(out.size());
    }
    std::printf("%.2f\n", total);
}
