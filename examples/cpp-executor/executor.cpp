// An executor for Rain in C++17, with nothing but the standard library and POSIX.
//
//     g++ -std=c++17 -O2 -o executor executor.cpp
//
// It knows two tasks, each with one input blob and one output blob:
//     cpp/hello   "Hello NAME!", returned in memory
//     cpp/count   how often each word occurs, returned as a file
//
// To write your own: keep the parts "CBOR" and "Frames", and change the table in main().

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// ------------------------------------------------------------------------------------------- CBOR

struct Value;
using Array = std::vector<Value>;
using Map = std::map<std::string, Value>;

struct Bytes {
    std::string data;
};

struct Value {
    std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Bytes, Array, Map> is;

    template <class T> const T &as() const {
        if (auto value = std::get_if<T>(&is)) return *value;
        throw std::runtime_error("a message has a value of an unexpected type");
    }
    const Value &operator[](const std::string &key) const {
        auto found = as<Map>().find(key);
        if (found == as<Map>().end()) throw std::runtime_error("a message lacks '" + key + "'");
        return found->second;
    }
};

void write_head(std::string &out, int major, std::uint64_t number) {
    int size = number < 24 ? 0 : number <= 0xff ? 1 : number <= 0xffff ? 2 : number <= 0xffffffff ? 4 : 8;
    int code = size == 0 ? int(number) : size == 1 ? 24 : size == 2 ? 25 : size == 4 ? 26 : 27;
    out += char(major << 5 | code);
    while (size--) out += char(number >> 8 * size);
}

void write(std::string &out, const Value &value) {
    if (auto flag = std::get_if<bool>(&value.is)) {
        out += char(*flag ? 0xf5 : 0xf4);
    } else if (auto number = std::get_if<std::int64_t>(&value.is)) {
        if (*number < 0) write_head(out, 1, std::uint64_t(-1 - *number));
        else write_head(out, 0, std::uint64_t(*number));
    } else if (auto real = std::get_if<double>(&value.is)) {
        std::uint64_t bits;
        std::memcpy(&bits, real, sizeof bits);
        out += char(0xfb);
        for (int size = 8; size--;) out += char(bits >> 8 * size);
    } else if (auto bytes = std::get_if<Bytes>(&value.is)) {
        write_head(out, 2, bytes->data.size());
        out += bytes->data;
    } else if (auto text = std::get_if<std::string>(&value.is)) {
        write_head(out, 3, text->size());
        out += *text;
    } else if (auto array = std::get_if<Array>(&value.is)) {
        write_head(out, 4, array->size());
        for (auto &item : *array) write(out, item);
    } else if (auto map = std::get_if<Map>(&value.is)) {
        write_head(out, 5, map->size());
        for (auto &[key, item] : *map) {
            write(out, Value{key});
            write(out, item);
        }
    } else {
        out += char(0xf6);
    }
}

class Reader {
public:
    explicit Reader(const std::string &data) : data_(data) {}

    // Everything that a governor sends: definite lengths, texts as keys, no tags.
    Value value() {
        unsigned char first = take(1)[0];
        int major = first >> 5, code = first & 31;
        if (major == 7) return simple(code);
        std::uint64_t number = code < 24 ? code : big_endian(code);
        switch (major) {
        case 0: return {std::int64_t(number)};
        case 1: return {-1 - std::int64_t(number)};
        case 2: return {Bytes{take(number)}};
        case 3: return {take(number)};
        case 4: {
            Array array;
            while (number--) array.push_back(value());
            return {std::move(array)};
        }
        case 5: {
            Map map;
            while (number--) {
                std::string key = value().as<std::string>();
                map[key] = value();
            }
            return {std::move(map)};
        }
        default: throw std::runtime_error("a message has a tag");
        }
    }

private:
    std::string take(std::uint64_t size) {
        if (size > data_.size() - at_) throw std::runtime_error("a message is cut off");
        at_ += size;
        return data_.substr(at_ - size, size);
    }
    std::uint64_t big_endian(int code) {
        if (code > 27) throw std::runtime_error("a message has an indefinite length");
        std::uint64_t number = 0;
        for (unsigned char byte : take(std::uint64_t(1) << (code - 24))) number = number << 8 | byte;
        return number;
    }
    Value simple(int code) {
        if (code == 20 || code == 21) return {code == 21};
        if (code == 25) {  // a half: ten bits of fraction, five of exponent
            int bits = int(big_endian(code)), exponent = bits >> 10 & 31;
            double real = exponent == 31 ? (bits & 1023 ? NAN : INFINITY)
                          : exponent     ? std::ldexp(1024 + (bits & 1023), exponent - 25)
                                         : std::ldexp(bits & 1023, -24);
            return {bits & 0x8000 ? -real : real};
        }
        if (code == 26) {
            std::uint32_t bits = std::uint32_t(big_endian(code));
            float real;
            std::memcpy(&real, &bits, sizeof real);
            return {double(real)};
        }
        if (code == 27) {
            std::uint64_t bits = big_endian(code);
            double real;
            std::memcpy(&real, &bits, sizeof real);
            return {real};
        }
        return {nullptr};
    }

    const std::string &data_;
    std::size_t at_ = 0;
};

// ----------------------------------------------------------------------------------------- Frames

// The path of a Unix socket may have about a hundred bytes: so from its folder, where we stay.
int connect_to_governor(const std::string &path) {
    auto slash = path.rfind('/');
    if (slash == std::string::npos || chdir(path.substr(0, slash).c_str()) != 0)
        throw std::runtime_error("there is no folder of " + path);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str() + slash + 1, sizeof address.sun_path - 1);
    int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connection < 0 || connect(connection, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
        throw std::runtime_error("cannot connect to " + path);
    return connection;
}

void send_message(int connection, const std::string &name, Map fields) {
    std::string body;
    write(body, Value{Array{Value{name}, Value{std::move(fields)}}});
    std::string frame;
    for (int byte = 0; byte < 4; byte++) frame += char(body.size() >> 8 * byte);
    frame += body;
    for (std::size_t sent = 0; sent < frame.size();) {
        ssize_t taken = send(connection, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
        if (taken <= 0) throw std::runtime_error("the governor has gone");
        sent += std::size_t(taken);
    }
}

bool receive_bytes(int connection, std::string &out, std::size_t size) {
    out.resize(size);
    for (std::size_t got = 0; got < size;) {
        ssize_t taken = read(connection, &out[got], size - got);
        if (taken <= 0) return false;
        got += std::size_t(taken);
    }
    return true;
}

// False when the governor has gone.
bool receive_message(int connection, std::string &name, Value &fields) {
    std::string header, body;
    if (!receive_bytes(connection, header, 4)) return false;
    std::size_t size = 0;
    for (int byte = 4; byte--;) size = size << 8 | static_cast<unsigned char>(header[std::size_t(byte)]);
    if (!receive_bytes(connection, body, size)) return false;
    Value message = Reader(body).value();
    name = message.as<Array>().at(0).as<std::string>();
    fields = message.as<Array>().at(1);
    return true;
}

// ------------------------------------------------------------------------------------------ Tasks

// The bytes of an input blob: they come along, or are in a file that may only be read.
std::string read_blob(const Value &input) {
    const Array &location = input["location"].as<Array>();
    const std::string &where = location.at(0).as<std::string>();
    if (where == "memory") return location.at(1).as<Bytes>().data;
    std::ifstream file(location.at(1).as<std::string>(), std::ios::binary);
    if (!file) throw std::runtime_error("an input cannot be read");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Value output(const std::string &where, Value what) {
    return {Map{{"location", {Array{{where}, std::move(what)}}}}};
}

Array hello(const Array &inputs) {
    return {output("memory", {Bytes{"Hello " + read_blob(inputs.at(0)) + "!"}})};
}

Array count(const Array &inputs) {
    std::map<std::string, int> counts;
    std::istringstream words(read_blob(inputs.at(0)));
    for (std::string word; words >> word;) counts[word]++;
    std::ofstream file("counts.txt");  // in our own folder, from where the governor moves it away
    for (auto &[word, times] : counts) file << word << ' ' << times << '\n';
    file.close();
    char folder[4096];
    if (!file || !getcwd(folder, sizeof folder)) throw std::runtime_error("cannot write counts.txt");
    return {output("path", {std::string(folder) + "/counts.txt"})};
}

struct Task {
    std::size_t inputs;
    std::function<Array(const Array &)> run;
};

Map run(const std::map<std::string, Task> &tasks, const Value &call) {
    const Value &spec = call["spec"];
    Map result{{"task", spec["id"]}};
    try {
        const std::string &type = spec["task_type"].as<std::string>();
        auto task = tasks.find(type);
        if (task == tasks.end()) throw std::runtime_error("there is no task " + type);
        const Array &inputs = call["inputs"].as<Array>();
        if (inputs.size() != task->second.inputs)
            throw std::runtime_error(type + " has " + std::to_string(inputs.size()) + " inputs instead of " +
                                     std::to_string(task->second.inputs));
        result["outputs"] = {task->second.run(inputs)};
        result["success"] = {true};
        result["info"] = {Map{}};
    } catch (const std::exception &error) {
        result["success"] = {false};
        result["info"] = {Map{{"error", {std::string(error.what())}}}};
    }
    return result;
}

int main() {
    const std::map<std::string, Task> tasks{{"cpp/hello", {1, hello}}, {"cpp/count", {1, count}}};
    const char *path = std::getenv("RAIN_EXECUTOR_SOCKET"), *id = std::getenv("RAIN_EXECUTOR_ID");
    if (!path || !id) {
        std::cerr << "executor: a Rain governor starts this program\n";
        return 1;
    }
    try {
        int governor = connect_to_governor(path);
        send_message(governor, "register",
                     {{"protocol", {std::string("cbor-1")}},
                      {"executor_id", {std::int64_t(std::stoll(id))}},
                      {"executor_type", {std::string("cpp")}}});
        std::string name;
        Value fields{};
        while (receive_message(governor, name, fields))
            if (name == "call") send_message(governor, "result", run(tasks, fields));
        // "drop_cached" concerns only executors that say what they cache.
    } catch (const std::exception &error) {
        std::cerr << "executor: " << error.what() << '\n';
        return 1;
    }
}
