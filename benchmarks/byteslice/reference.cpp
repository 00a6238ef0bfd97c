// Drives the columns of the ByteSlice authors' code, which it is linked with, as crates/kernels/examples/packings.rs
// drives ours: a request per line on standard input, an answer per line on standard output.
//
//   column PACKING WIDTH ROWS     makes a column of the codes of `code_of`; answers "ok"
//   scan CONSTANT SECONDS         code < CONSTANT, as often as fits the seconds; answers codes that qualify and
//                                 seconds of one scan
//   lookup ORDER NUMBER           looks that many codes up at TIDs in random or sorted order; answers their sum and the
//                                 seconds

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "include/bitvector.h"
#include "include/column.h"

using namespace byteslice;

static uint64_t mixed(uint64_t number) {
    uint64_t state = (number + 1) * 0x9e3779b97f4a7c15u;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
    return state ^ (state >> 31);
}

static uint64_t code_of(uint64_t row, size_t width) { return mixed(row) >> (64 - width); }

static ColumnType type_of(const std::string &packing) {
    if (packing == "byteslice") return ColumnType::kByteSlicePadRight;
    if (packing == "vbp") return ColumnType::kVbp;
    if (packing == "hbp") return ColumnType::kHbp;
    if (packing == "bit_packed") return ColumnType::kAvx2Scan;
    if (packing == "native") return ColumnType::kNaiveAvx;
    std::cerr << "no packing '" << packing << "'" << std::endl;
    std::exit(1);
}

using Clock = std::chrono::steady_clock;

static double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct State {
    std::unique_ptr<Column> column;
    std::unique_ptr<BitVector> bits;
};

static void make(State &state, std::istream &request) {
    std::string packing;
    size_t width, rows;
    request >> packing >> width >> rows;
    state.bits.reset();
    state.column.reset();
    state.column.reset(new Column(type_of(packing), width, rows));
    for (size_t row = 0; row < rows; row++) state.column->SetTuple(row, code_of(row, width));
    state.bits.reset(new BitVector(state.column.get()));
    std::cout << "ok" << std::endl;
}

static void scan(State &state, std::istream &request) {
    uint64_t constant;
    double seconds, took;
    request >> constant >> seconds;
    size_t scans = 0;
    auto start = Clock::now();
    // The clock is read after the first scan and after each sixteenth, as in packing_runner.
    do {
        do {
            state.column->Scan(Comparator::kLess, constant, state.bits.get(), Bitwise::kSet);
            scans++;
        } while (scans > 1 && scans % 16 != 0);
        took = since(start);
    } while (took < seconds);
    std::cout << state.bits->CountOnes() << " " << took / scans << std::endl;
}

static void lookup(State &state, std::istream &request) {
    std::string order;
    size_t number;
    request >> order >> number;
    std::vector<uint32_t> tids(number), codes(number);
    for (size_t i = 0; i < number; i++) tids[i] = mixed(i ^ 0x5555555555) % state.column->num_tuples();
    if (order == "sorted") std::sort(tids.begin(), tids.end());
    const Column *column = state.column.get();
    auto start = Clock::now();
    for (size_t i = 0; i < number; i++) codes[i] = column->GetTuple(tids[i]);
    double took = since(start);
    uint64_t sum = 0;
    for (uint32_t code : codes) sum += code;
    std::cout << sum << " " << took << std::endl;
}

int main() {
    State state;
    std::string line, what;
    std::cout.precision(9);
    while (std::getline(std::cin, line)) {
        std::istringstream request(line);
        request >> what;
        if (what == "column") make(state, request);
        else if (what == "scan") scan(state, request);
        else if (what == "lookup") lookup(state, request);
        else return 1;
    }
}
