// SPDX-License-Identifier: GPL-2.0-or-later
// A request router: takes lines of a log, finds the handler by the path, counts by status. router SECONDS
#include <ctime>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <regex>
#include <string>

struct request {
    std::string method, path;
    int status;
};

static bool parse(const std::string &line, request &r)
{
    size_t a = line.find(' '), b = line.find(' ', a + 1);
    if (a == std::string::npos || b == std::string::npos)
        return false;
    r.method = line.substr(0, a);
    r.path = line.substr(a + 1, b - a - 1);
    r.status = std::atoi(line.c_str() + b + 1);
    return true;
}

static std::string route(const request &r)
{
    std::regex pattern("/(users|orders)/([0-9]+)(/items)?"); // GUILTY
    std::smatch parts;
    if (std::regex_match(r.path, parts, pattern))
        return parts[1].str();
    return "static";
}

int main(int, char **argv)
{
    double end = std::atof(argv[1]);
    std::map<std::string, long> served;
    for (unsigned n = 0; (double)std::clock() / CLOCKS_PER_SEC < end; n++) {
        request r;
        std::string line = "GET /" + std::string(n % 3 ? "users/" : "orders/") + std::to_string(n % 1000) + " 200";
        if (parse(line, r))
            served[route(r)]++;
    }
    for (auto &s : served)
        std::printf("%s %s\n", s.first.c_str(), s.second ? "served" : "");
}
