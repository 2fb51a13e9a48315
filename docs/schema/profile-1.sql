-- SPDX-License-Identifier: MIT
-- tally.profile, version 1: exact counts by instruction, as an SQLite 3 database.
--
-- PRAGMA application_id is 0x54616c79 ("Taly"), PRAGMA user_version is 1. Numbers (id) of a table count from 0, without a gap.
-- Texts are UTF-8 or the bytes of the program. Counts of 2^63 and more are stored as negative integers (two's complement).
-- Addresses above 2^63, as kernels have them, are stored the same way.
--
-- A later version of the program may add tables and indexes under this version; it changes none of these.

-- The heading of a run: the members of "run" in tally stat --json that are texts or numbers, and "argv" as JSON.
CREATE TABLE run (
    name TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- What is counted. kind "signal": counted by the machine, summed over its units of one type; has rows in `count`. "constant": a
-- number of the machine that formulas use, which is `total`. "alias" and "metric": a formula over names of this table.
-- total: of a signal, the sum of its rows in `count`, and what tally stat prints; of an alias or a metric, 0.
-- place: of its column in reports that ask for no others, from 1 on; 0: it has none.
CREATE TABLE event (
    id INTEGER PRIMARY KEY NOT NULL,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('signal', 'constant', 'alias', 'metric')),
    unit TEXT NOT NULL,
    meaning TEXT NOT NULL,
    formula TEXT,
    total INTEGER NOT NULL,
    place INTEGER NOT NULL
);

-- Files and areas that hold code. kind: "program", "library", "kernel", "jit" (named by /tmp/perf-PID.map), "anonymous" (code
-- without a file), "none" (addresses that no area holds). build_id: hexadecimal digits, or empty.
CREATE TABLE object (
    id INTEGER PRIMARY KEY NOT NULL,
    path TEXT NOT NULL,
    kind TEXT NOT NULL,
    build_id TEXT NOT NULL
);

-- Processes in order of creation. name: of the last program (comm).
CREATE TABLE process (
    id INTEGER PRIMARY KEY NOT NULL,
    pid INTEGER NOT NULL,
    parent INTEGER REFERENCES process,
    name TEXT NOT NULL
);

CREATE TABLE thread (
    id INTEGER PRIMARY KEY NOT NULL,
    tid INTEGER NOT NULL,
    process INTEGER NOT NULL REFERENCES process,
    name TEXT NOT NULL
);

-- Where objects lay: addresses start <= a < finish of the process are offsets a - start + offset of the file, and addresses
-- a - bias of instruction.address. An area appears when an instruction in it was executed.
CREATE TABLE mapping (
    id INTEGER PRIMARY KEY NOT NULL,
    process INTEGER NOT NULL REFERENCES process,
    object INTEGER NOT NULL REFERENCES object,
    start INTEGER NOT NULL,
    finish INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    bias INTEGER NOT NULL
);

-- Source files. text: its bytes with --with-sources, else NULL.
CREATE TABLE source (
    id INTEGER PRIMARY KEY NOT NULL,
    path TEXT NOT NULL,
    text BLOB
);

-- Functions that were executed or called. name: demangled. symbol: as linked. address: of its beginning, before the load bias.
CREATE TABLE function (
    id INTEGER PRIMARY KEY NOT NULL,
    object INTEGER NOT NULL REFERENCES object,
    name TEXT NOT NULL,
    symbol TEXT NOT NULL,
    address INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    source INTEGER REFERENCES source,
    line INTEGER NOT NULL
);

-- Calls that the compiler inlined. `name` stands in place of its call at (source, line). parent: the inlined call around it;
-- NULL: the function itself is around it.
CREATE TABLE inlined (
    id INTEGER PRIMARY KEY NOT NULL,
    parent INTEGER REFERENCES inlined,
    name TEXT NOT NULL,
    source INTEGER REFERENCES source,
    line INTEGER NOT NULL
);

-- Instructions that were executed, or that something was counted or sampled for, by object and address. address: before the load bias.
-- bytes: as last seen. disassembly: empty if there is no disassembler. (source, line): line 0 if not known. inlined: the
-- innermost call that it belongs to. target: where a direct branch or jump of its object leads; NULL: it is none.
CREATE TABLE instruction (
    id INTEGER PRIMARY KEY NOT NULL,
    object INTEGER NOT NULL REFERENCES object,
    address INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    disassembly TEXT NOT NULL,
    function INTEGER REFERENCES function,
    source INTEGER REFERENCES source,
    line INTEGER NOT NULL,
    inlined INTEGER REFERENCES inlined,
    target INTEGER
);

-- The counts themselves, none of them 0: what one instruction caused in one thread.
CREATE TABLE count (
    instruction INTEGER NOT NULL REFERENCES instruction,
    thread INTEGER NOT NULL REFERENCES thread,
    event INTEGER NOT NULL REFERENCES event,
    n INTEGER NOT NULL,
    PRIMARY KEY (instruction, thread, event)
) WITHOUT ROWID;

-- Calling contexts (tally record -g): a function, called from one instruction of the parent's function. parent: has a smaller
-- id; NULL: a thread begins here. call_site: NULL if not known. n_calls: how often it was entered.
CREATE TABLE context (
    id INTEGER PRIMARY KEY NOT NULL,
    thread INTEGER NOT NULL REFERENCES thread,
    parent INTEGER REFERENCES context,
    call_site INTEGER REFERENCES instruction,
    function INTEGER NOT NULL REFERENCES function,
    n_calls INTEGER NOT NULL
);

-- What a context itself caused; calls from it are their own contexts.
CREATE TABLE context_count (
    context INTEGER NOT NULL REFERENCES context,
    event INTEGER NOT NULL REFERENCES event,
    n INTEGER NOT NULL,
    PRIMARY KEY (context, event)
) WITHOUT ROWID;

-- With -I: parts of the run in order, and what was counted in each. Each signal sums up to its total.
CREATE TABLE interval (
    id INTEGER PRIMARY KEY NOT NULL,
    begin_cycles INTEGER NOT NULL,
    end_cycles INTEGER NOT NULL,
    begin_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL
);

CREATE TABLE interval_count (
    interval INTEGER NOT NULL REFERENCES interval,
    event INTEGER NOT NULL REFERENCES event,
    n INTEGER NOT NULL,
    PRIMARY KEY (interval, event)
) WITHOUT ROWID;

-- The tables below were added later. A file without them is read as one in which they are empty.

-- With -I: which thread a hart had from one machine cycle to another, in order of begin. Rows of a hart do not overlap.
CREATE TABLE stint (
    id INTEGER PRIMARY KEY NOT NULL,
    thread INTEGER NOT NULL REFERENCES thread,
    hart INTEGER NOT NULL,
    begin_cycles INTEGER NOT NULL,
    end_cycles INTEGER NOT NULL
);

-- With -I and --roi or --markers: regions of interest, and their visits by machine cycle, in order of begin. Counts are of the whole run.
CREATE TABLE region (
    id INTEGER PRIMARY KEY NOT NULL,
    name TEXT NOT NULL
);

CREATE TABLE visit (
    id INTEGER PRIMARY KEY NOT NULL,
    region INTEGER NOT NULL REFERENCES region,
    begin_cycles INTEGER NOT NULL,
    end_cycles INTEGER NOT NULL
);

-- What a PMU design would have said (tally record -P PMU -c PERIOD): samples of its events, as software takes them that reads it.
-- method: how samples come. truth: a formula over names of `event` for what is sampled; NULL: nothing counts the same. n_samples: the
-- sum of its rows in `sample_count`. n_lost: periods that ended while an earlier one was not served.
CREATE TABLE sampled (
    id INTEGER PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    pmu TEXT NOT NULL,
    method TEXT NOT NULL,
    period INTEGER NOT NULL,
    truth TEXT,
    n_samples INTEGER NOT NULL,
    n_lost INTEGER NOT NULL
);

-- Samples by the instruction that they name, none of them 0.
CREATE TABLE sample_count (
    sampled INTEGER NOT NULL REFERENCES sampled,
    instruction INTEGER NOT NULL REFERENCES instruction,
    thread INTEGER NOT NULL REFERENCES thread,
    n INTEGER NOT NULL,
    PRIMARY KEY (sampled, instruction, thread)
) WITHOUT ROWID;

-- Samples by their distance from the event that they stand for, none of them 0: instructions that the thread retired from the clock
-- of the event up to the sample. 0: the sample is at the instruction of the event. 4095: so many, or more. Samples of an event whose
-- design does not say when it overflowed have no rows.
CREATE TABLE sample_distance (
    sampled INTEGER NOT NULL REFERENCES sampled,
    distance INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (sampled, distance)
) WITHOUT ROWID;
