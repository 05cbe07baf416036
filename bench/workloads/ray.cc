// SPDX-License-Identifier: GPL-2.0-or-later
// A small ray tracer in C++: spheres over a chequered floor, shadows, mirrors. Floating point with data-dependent
// branches and virtual calls. usage: ray [ROUNDS]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

struct vec {
    double x, y, z;
    vec operator+(vec o) const { return {x + o.x, y + o.y, z + o.z}; }
    vec operator-(vec o) const { return {x - o.x, y - o.y, z - o.z}; }
    vec operator*(double k) const { return {x * k, y * k, z * k}; }
    double dot(vec o) const { return x * o.x + y * o.y + z * o.z; }
    vec unit() const { return *this * (1 / std::sqrt(dot(*this))); }
};

struct hit {
    double distance = 1e30;
    vec at{}, normal{};
    double mirror = 0, shade = 0;
};

struct thing {
    virtual ~thing() = default;
    virtual bool meet(vec from, vec to, hit &h) const = 0;
};

struct sphere : thing {
    vec centre;
    double radius, mirror, shade;
    sphere(vec c, double r, double m, double s) : centre(c), radius(r), mirror(m), shade(s) {}
    bool meet(vec from, vec to, hit &h) const override
    {
        vec away = centre - from;
        double along = away.dot(to);
        if (along < 0)
            return false;
        double off = away.dot(away) - along * along;
        if (off > radius * radius)
            return false;
        double half = std::sqrt(radius * radius - off);
        double distance = along - half > 1e-6 ? along - half : along + half;
        if (distance < 1e-6 || distance >= h.distance)
            return false;
        h.distance = distance;
        h.at = from + to * distance;
        h.normal = (h.at - centre) * (1 / radius);
        h.mirror = mirror;
        h.shade = shade;
        return true;
    }
};

struct chequer : thing {
    bool meet(vec from, vec to, hit &h) const override
    {
        if (to.y > -1e-6)
            return false;
        double distance = (-1 - from.y) / to.y;
        if (distance < 1e-6 || distance >= h.distance)
            return false;
        h.distance = distance;
        h.at = from + to * distance;
        h.normal = {0, 1, 0};
        h.mirror = 0.1;
        auto square = static_cast<long>(std::floor(h.at.x)) + static_cast<long>(std::floor(h.at.z));
        h.shade = square & 1 ? 0.9 : 0.2;
        return true;
    }
};

static std::vector<std::unique_ptr<thing>> scene;
static const vec lamp = vec{-3, 6, -4};

static bool dark(vec at, vec to, double far)
{
    hit h;
    h.distance = far;
    for (auto &one : scene)
        if (one->meet(at, to, h))
            return true;
    return false;
}

static double trace(vec from, vec to, int depth)
{
    hit h;
    for (auto &one : scene)
        one->meet(from, to, h);
    if (h.distance > 1e29)
        return 0.3 + 0.4 * to.y;
    vec light = lamp - h.at;
    double far = std::sqrt(light.dot(light)), result = 0.1 * h.shade;
    light = light * (1 / far);
    double facing = h.normal.dot(light);
    if (facing > 0 && !dark(h.at, light, far))
        result += facing * h.shade;
    if (h.mirror > 0 && depth > 0)
        result += h.mirror * trace(h.at, to - h.normal * (2 * to.dot(h.normal)), depth - 1);
    return result;
}

int main(int argc, char **argv)
{
    enum { WIDTH = 240, HEIGHT = 160 };
    for (int i = 0; i < 24; i++) {
        double a = i * 0.9, r = 0.25 + 0.05 * (i % 7);
        scene.push_back(std::make_unique<sphere>(vec{3 * std::cos(a), r - 1 + 0.1 * (i % 5), 6 + 3 * std::sin(a)}, r,
                                                 i % 3 ? 0.0 : 0.6, 0.3 + 0.1 * (i % 6)));
    }
    scene.push_back(std::make_unique<chequer>());
    double total = 0;
    // From two places in turn, so that a run of any length sees the same.
    for (int round = argc > 1 ? std::atoi(argv[1]) : 24; round-- > 0;)
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++)
                total += trace({0.26 * (round % 2), 0.5, -2},
                               vec{(x - WIDTH / 2) / 160.0, (HEIGHT / 2 - y) / 160.0, 1}.unit(), 4);
    std::printf("%.6f\n", total);
}
