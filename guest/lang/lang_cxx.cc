// SPDX-License-Identifier: MIT
// C++ as programs use it: exceptions through many frames and across threads, containers, strings,
// streams, iterators and algorithms, virtual calls, std::thread, std::async, atomics, static
// constructors, regular expressions. The output is the same on every machine, because nothing in it
// depends on addresses, time or hash order.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

struct Tracked {
    static inline int alive = 0;
    Tracked() { alive++; }
    ~Tracked() { alive--; }
};

struct Special : std::runtime_error {
    int code;
    explicit Special(int code) : std::runtime_error("special " + std::to_string(code)), code(code) {}
};

[[gnu::noinline]] int descend(int depth, int fail_at) {
    Tracked guard;
    if (depth == fail_at)
        throw Special(depth);
    return depth > 200 ? depth : descend(depth + 1, fail_at) + 1;
}

void exceptions() {
    int caught = 0;
    for (int i = 0; i < 200; i++) {
        try {
            descend(0, i);
        } catch (const Special &e) {
            caught += e.code == i;
        }
    }
    std::cout << "exceptions " << caught << " alive " << Tracked::alive << '\n';
    try {
        try {
            std::vector<int>().at(3);
        } catch (const std::out_of_range &) {
            std::throw_with_nested(std::logic_error("outer"));
        }
    } catch (const std::exception &e) {
        std::cout << e.what() << " nested " << (dynamic_cast<const std::nested_exception *>(&e) != nullptr) << '\n';
    }
    auto task = std::async(std::launch::async, []() -> int { throw Special(42); });
    try {
        task.get();
    } catch (const Special &e) {
        std::cout << "from another thread: " << e.what() << '\n';
    }
    try {
        (void)new char[static_cast<std::size_t>(-1) / 2 - 100];
    } catch (const std::bad_alloc &) {
        std::cout << "bad_alloc\n";
    }
}

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};
struct Square : Shape {
    double side;
    explicit Square(double side) : side(side) {}
    double area() const override { return side * side; }
};
struct Circle : virtual Shape {
    double radius;
    explicit Circle(double radius) : radius(radius) {}
    double area() const override { return 3.14159265358979 * radius * radius; }
};

void objects() {
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 1; i <= 5; i++) {
        if (i % 2)
            shapes.push_back(std::make_unique<Square>(i));
        else
            shapes.push_back(std::make_unique<Circle>(i));
    }
    double sum = 0;
    int circles = 0;
    for (auto &shape : shapes) {
        sum += shape->area();
        circles += dynamic_cast<Circle *>(shape.get()) != nullptr;
    }
    std::cout << "shapes " << std::fixed << std::setprecision(6) << sum << " circles " << circles << '\n';
    std::variant<int, std::string, double> v = std::string("variant");
    std::cout << std::get<std::string>(v) << ' ' << v.index() << ' ' << std::optional<int>(7).value_or(0) << '\n';
}

void containers() {
    std::mt19937_64 random(12345);
    std::map<std::string, int> tree;
    std::unordered_map<long, long> hash;
    std::multiset<int> bag;
    std::deque<int> queue;
    std::list<int> list;
    for (int i = 0; i < 20000; i++) {
        long r = static_cast<long>(random() % 5000);
        tree["key" + std::to_string(r % 1000)] += i;
        hash[r] += i;
        bag.insert(static_cast<int>(r));
        queue.push_front(static_cast<int>(r));
        if (queue.size() > 100)
            queue.pop_back();
        if (i % 100 == 0)
            list.push_back(static_cast<int>(r));
    }
    list.sort();
    long tree_sum = 0, hash_sum = 0;
    for (auto &[key, value] : tree)
        tree_sum = tree_sum * 31 + value + static_cast<long>(key.size());
    for (auto &[key, value] : hash)
        hash_sum += key ^ value;
    std::cout << "containers " << tree.size() << ' ' << tree_sum << ' ' << hash.size() << ' ' << hash_sum << ' ' << bag.count(77) << ' '
              << std::accumulate(queue.begin(), queue.end(), 0L) << ' ' << std::is_sorted(list.begin(), list.end()) << '\n';
    std::vector<double> values(5000);
    std::normal_distribution<double> normal(10, 3);
    for (auto &value : values)
        value = normal(random);
    std::sort(values.begin(), values.end());
    auto above = values.end() - std::lower_bound(values.begin(), values.end(), 10.0);
    std::cout << "median " << values[values.size() / 2] << " above mean " << above << '\n';
}

void text() {
    std::ostringstream out;
    out << std::hex << 255 << ' ' << std::showbase << 4096 << std::dec << ' ' << std::setw(8) << std::setfill('*') << 42 << ' '
        << std::scientific << 12345.6789 << ' ' << std::boolalpha << true;
    std::cout << out.str() << '\n';
    std::istringstream in("17 3.5 word -9 rest of line");
    int a, b;
    double d;
    std::string word, rest;
    in >> a >> d >> word >> b;
    std::getline(in, rest);
    std::cout << a << ' ' << d << ' ' << word << ' ' << b << " [" << rest << "]\n";
    std::string log = "GET /index.html 200, POST /form 404, GET /picture.png 304";
    std::regex pattern(R"((\w+) (/[\w.]*) (\d{3}))");
    for (std::sregex_iterator it(log.begin(), log.end(), pattern), end; it != end; ++it)
        std::cout << (*it)[3] << ' ' << (*it)[1] << ' ' << (*it)[2] << '\n';
    {
        std::ofstream file("lang-cxx.txt");
        for (int i = 0; i < 1000; i++)
            file << i << ' ' << i * i << '\n';
    }
    std::ifstream file("lang-cxx.txt");
    long x, y, sum = 0;
    while (file >> x >> y)
        sum += y - x;
    std::cout << "file sum " << sum << '\n';
    std::remove("lang-cxx.txt");
}

void threads() {
    std::mutex mutex;
    std::condition_variable changed;
    std::atomic<long> atomic_sum{0};
    long plain_sum = 0;
    int n_done = 0;
    std::vector<std::thread> workers;
    for (int t = 0; t < 4; t++) {
        workers.emplace_back([&, t] {
            for (int i = 0; i < 2000; i++) {
                atomic_sum.fetch_add(t * i, std::memory_order_relaxed);
                std::lock_guard lock(mutex);
                plain_sum += t * i;
            }
            std::lock_guard lock(mutex);
            if (++n_done == 4)
                changed.notify_one();
        });
    }
    {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return n_done == 4; });
    }
    for (auto &worker : workers)
        worker.join();
    std::cout << "threads " << atomic_sum << ' ' << plain_sum << '\n';
    std::vector<std::future<long>> parts;
    for (int p = 0; p < 4; p++)
        parts.push_back(std::async(std::launch::async, [p] {
            long sum = 0;
            for (int i = p; i < 40000; i += 4)
                sum += i;
            return sum;
        }));
    long sum = 0;
    for (auto &part : parts)
        sum += part.get();
    auto start = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    bool slept = std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(10);
    std::cout << "futures " << sum << " slept " << slept << '\n';
}

thread_local std::string per_thread = "initial";
struct Global {
    std::string text;
    Global() : text("constructed before main") {}
    ~Global() { std::cout << "destroyed after main\n"; }
} global;

} // namespace

int main(int argc, char **argv) {
    std::ios::sync_with_stdio(false);
    std::cout << global.text << ", " << per_thread << ", " << argc << " argument, " << (argv[argc] == nullptr) << '\n';
    std::thread([] { per_thread = "other"; }).join();
    std::cout << per_thread << '\n';
    exceptions();
    objects();
    containers();
    text();
    threads();
    std::atexit([] { std::cout << "at exit\n"; });
    return 0;
}
