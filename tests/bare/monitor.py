#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs tally monitor on guest/bare/a64/monitored.c: every command in JSON, refusals with their statuses, and the program's verdict.

  monitor.py TALLY PROGRAM.elf XCMCTL
"""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

TALLY, PROGRAM, XCMCTL = sys.argv[1:]


def run(*words):
    done = subprocess.run([TALLY, "monitor", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def rows(*commands):
    status, out, err = run("-j", PROGRAM, *commands)
    assert status == 0, (status, out, err)
    assert "PASS 2 checks" in out, out
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def fails(status, sentence, *words):
    got, _, err = run(*words)
    assert got == status and sentence in err, (words, got, err)


# -- Trace and picture.

def traced(*commands):
    steps = [row for row in rows(*commands) if row["command"] == "trace"]
    for before, after in zip(steps, steps[1:]):
        assert before["next"] == after["pc"], (before, after)
    for row in steps:
        assert row["counts"]["INST_RETIRED"] == 1 and row["n_changes"] == len(row["changes"]), row
        fills = [c for c in row["changes"] if c["in"] == "l1i" and c["after"] != "I"]
        assert len(fills) == row["counts"]["L1I_CACHE_REFILL"], row
        fills = [c for c in row["changes"] if c["in"] == "l1d" and c["before"] == "I"]
        assert len(fills) <= 5 * (row["counts"]["L1D_CACHE_REFILL"] + row["counts"]["L1D_TLB_REFILL"] + row["counts"]["L1I_TLB_REFILL"]), row
    return steps


def trace_tells_each_effect():
    loads = [row for row in traced("hit=load_site", "trace=40") if "load" in row]
    assert len(loads) > 2 and all(row["instruction"] == "ldr x1, [x0]" for row in loads), loads
    for row in loads:
        assert row["registers"].get("x1", row["load"]["values"][0]) == row["load"]["values"][0] and row["load"]["bytes"] == 8, row
    assert any(c["in"] == "l1d" and c["after"] != "I" and c["paddr"] == row["load"]["address"] // 64 * 64 for row in loads for c in row["changes"])
    assert any(c["in"] == "tlb" and c["vaddr"] == row["load"]["address"] // 4096 * 4096 for row in loads for c in row["changes"])
    stores = [row["store"] for row in traced("hit=work", "trace=60") if "store" in row]
    assert len(stores) > 2, stores
    places = [f"mem={part['address']}:{part['bytes']}" for part in stores]
    memory = [row for row in rows("hit=work", "trace=60", *places) if row["command"] == "mem"]
    assert len(memory) == len(stores)
    for part, found in zip(stores, memory):  # the target's memory has what the trace tells
        assert bytes.fromhex(found["bytes"]) == part["values"][0].to_bytes(part["bytes"], "little"), (part, found)
    status, out, err = run(PROGRAM, "trace=work:work+0x10")
    assert status == 0 and "l1i" in out and "L1I_CACHE_REFILL 1" in out and "sub sp, sp" in out, (out, err)
    fails(2, "trace: write trace=N", PROGRAM, "trace=0")


def picture_shows_sets_and_ways():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "map.svg")
        found = run("-j", "--svg", path, PROGRAM, "hit=work", "l1d", "l1i", "tlb")
        lines = [json.loads(line) for line in found[1].splitlines() if line.startswith("{")]
        valid = [row for row in lines if row.get("command") in ("l1d", "l1i", "tlb")]
        with open(path, encoding="utf-8") as picture:
            text = picture.read()
    assert text.startswith("<svg ") and text.endswith("</svg>\n")
    assert text.count("</title></rect>") == len(valid), (len(valid), text.count("</title></rect>"))
    for row in valid:
        name = f"set {row['index']} way {row['way']}, {row['state']}, 0x{row['paddr']:x}<" if row["kind"] == "line" else f"index {row['index']} way {row['way']}, 0x{row['vaddr']:x} to "
        assert name in text, name


# -- The suite.

def suite_prints_matrices():
    import jsonschema

    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "aarch64"))
        os.symlink(os.path.abspath(PROGRAM), os.path.join(folder, "aarch64", "monitored.elf"))
        picture = os.path.join(folder, "xcm.svg")
        done = subprocess.run([TALLY, "suite", "--bench", folder, "-j", "--svg", picture, "xcm", "quick"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, (done.returncode, done.stderr)
        with open(picture, encoding="utf-8") as text:
            assert text.read().count("published:") == 30
    sets = [json.loads(line) for line in done.stdout.splitlines()]
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "schema", "xcm-1.json"), encoding="utf-8") as text:
        schema = json.load(text)
    for found in sets:
        jsonschema.validate(found, schema)
        assert found["bus_errors"] == 0 and found["calibration"]["done"] and (found["interrupts"] > 0) == found["noise"]
        for matrix in found["matrices"]:
            for form in ("corrected", "published"):
                assert sum(sum(row.values()) for row in matrix[form].values()) == 100, matrix
            assert found["noise"] or matrix["wrong"] == matrix["unknown"] == 0, matrix
    assert [(s["events"], s["noise"], s["prefetch"]) for s in sets] == [
        (events, noise, prefetch) for events in ("a53", "full") for noise, prefetch in ((False, False), (True, False), (True, True))]
    for words, sentence in ((["xcm", "huge"], "write one of quick, normal and full"), (["--csv", "xcm"], "suite xcm has no CSV"),
                            (["--insns", "9", "xcm"], "suite xcm asks questions")):
        done = subprocess.run([TALLY, "suite", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and sentence in done.stderr, (words, done)


# -- The socket. Packets are made here by the specification alone.

STATES = {"idle": 0x02, "listening": 0x04, "halted": 0x08, "ended": 0x10}
LISTEN_START, LISTEN_STOP, ROUND_RESET, LIST_LOAD, STATUS, REG_XFER, RESUME = 0x0202, 0x0C03, 0x1004, 0x0205, 0x1E11, 0x080A, 0x0808
DONE, HALT_REQ, UARCH_DUMP, CACHE_FLUSH = 0x30, 0x0407, 0x0813, 0x040F


def checksum(packet):
    words = [word for (word,) in struct.iter_unpack("<H", packet)]
    total = sum(words) - words[3]
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF or 0xFFFF


def get(op, *elements, direction=1, reserved=0):
    packet = struct.pack("<IHHHBBIQQ", 32 + 8 * len(elements), direction, 0, op, 0, 0, len(elements), 32 if elements else 0, reserved)
    packet += struct.pack(f"<{len(elements)}Q", *elements)
    return packet[:6] + struct.pack("<H", checksum(packet)) + packet[8:]


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(60)
        for _ in range(100):
            try:
                self.socket.connect(path)
                break
            except OSError:
                time.sleep(0.05)
        hello, fds, _, _ = socket.recv_fds(self.socket, 100, 1)
        self.ring = fds[0]
        self.events = []
        assert self.read(hello)[0] == 0x1EF0, hello

    def read(self, packet):
        length, direction, total, op, code, state, n, where, reserved = struct.unpack("<IHHHBBIQQ", packet[:32])
        assert length == len(packet) == 32 + 8 * n and direction == 2 and reserved == 0 and where == (32 if n else 0)
        assert total == checksum(packet), packet.hex()
        return op, code, state, list(struct.unpack(f"<{n}Q", packet[32:]))

    def ask(self, packet):
        self.socket.send(packet)
        while True:
            op, code, state, values = self.read(self.socket.recv(65536))
            if op != 0x1EF0:
                return code, state, values
            self.events.append(values)

    def call(self, op, *elements):
        return self.ask(get(op, *elements))

    def wait(self, kind):
        while not any(event[0] == kind for event in self.events):
            op, _, _, values = self.read(self.socket.recv(65536))
            assert op == 0x1EF0
            self.events.append(values)
        event = next(event for event in self.events if event[0] == kind)
        self.events.remove(event)
        return event

    def close(self):
        os.close(self.ring)
        self.socket.close()


def symbol(name):
    text = subprocess.run(["aarch64-linux-gnu-nm", PROGRAM], capture_output=True, text=True, check=True).stdout
    return int(re.search(rf"^([0-9a-f]+) \w {name}$", text, re.M)[1], 16)


def the_vectors_of_the_specification():
    assert get(LISTEN_START).hex() == "200000000100dcfd0202000000000000" + "00" * 16
    want = "4000000001 0098fc0502000004000000200000000000000000000000000000000100000000000000000040000000000010004000000000002c00400000000000"
    assert get(LIST_LOAD, 1, 0x400000, 0x400010, 0x40002C).hex() == want.replace(" ", "")


def clients_of_a_socket(path):
    at, tail = symbol("probe_point"), symbol("finish_all")
    one, other = Client(path), Client(path)
    assert one.call(STATUS)[:2] == (DONE, STATES["idle"])
    # Damage of every kind has its code, and changes nothing.
    good = get(STATUS)
    assert one.ask(good[:24])[0] == 0x11 and one.ask(good + bytes(8))[0] == 0x11
    assert one.ask(good[:6] + b"\0\0" + good[8:])[0] == 0x12
    assert one.ask(get(STATUS, direction=2))[0] == 0x13
    assert one.ask(bytes(40000))[0] == 0x14
    assert one.ask(get(STATUS, reserved=1))[0] == 0x25
    assert one.call(0x00FF)[0] == 0x21 and one.call(0x0111)[0] == 0x23 and one.call(REG_XFER, 0, 0, 1)[0] == 0x22
    assert one.call(LIST_LOAD, 64, 0, 4)[0] == 0x24
    # The first client owns the target; the other one may not touch it, and hears of events.
    assert other.call(LISTEN_START)[0] == 0x27
    assert one.call(LIST_LOAD, 0, 0, at, tail)[0] == DONE
    assert one.call(LISTEN_START)[:2] == (DONE, STATES["listening"])
    assert one.wait(1)[1] == at and other.wait(1)[1] == at
    code, state, values = one.call(REG_XFER, 0, 32, 1)
    assert (code, state, values) == (DONE, STATES["halted"], [at]), (code, state, values)
    code, _, _ = one.call(UARCH_DUMP, 4, 1, 200)
    ring = os.pread(one.ring, 4096 + 65536, 0)
    magic, version, size, n_bytes, head = struct.unpack("<IHHQQ", ring[:24])
    assert code == DONE and (magic, version, size) == (0x524D4358, 1, 4096) and n_bytes == 1 << 20 and head >= 640 * 56
    assert struct.unpack("<IH", ring[4096:4102])[1] in (7, 10), ring[4096:4112].hex()
    # A flood of packets without waiting for replies: each has a reply, and the target is resumed.
    for _ in range(200):
        one.socket.send(get(REG_XFER, 0, 0, 31))
    codes = [one.read(one.socket.recv(65536))[1] for _ in range(100)]
    assert set(codes) <= {DONE, 0x26, 0x22, 0x38}, set(codes)
    one.close()  # dies in the middle; the target goes on, and another client can have it
    deadline = time.monotonic() + 30
    while other.call(STATUS)[1] not in (STATES["idle"], STATES["ended"]):
        assert time.monotonic() < deadline
    assert other.call(ROUND_RESET)[0] == DONE
    assert other.call(LIST_LOAD, 0, 0, at, tail)[0] == DONE
    assert other.call(LISTEN_START)[0] == DONE
    other.events.clear()
    assert other.wait(1)[1] == at
    # Nobody answers: the budget of a second is over, and the target runs again.
    assert other.wait(3)[1] == at
    assert other.call(LISTEN_STOP)[:2] == (DONE, STATES["ended"])
    assert other.call(0x1001)[0] == DONE  # DRV_UNLOAD ends the server
    other.close()


def with_rounds(path, n):
    """A copy of the program with so many rounds, so that it outlasts clients on a slow host."""
    with open(PROGRAM, "rb") as file:
        image = bytearray(file.read())
    start, = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    at = symbol("n_rounds")
    for i in range(count):
        kind, _, offset, vaddr, _, n_bytes = struct.unpack_from("<IIQQQQ", image, start + i * size)
        if kind == 1 and vaddr <= at < vaddr + n_bytes:
            struct.pack_into("<Q", image, offset + at - vaddr, n)
    with open(path, "wb") as file:
        file.write(image)
    return path


def xcmctl_over(path):
    """The client library on this host: every command of xcmctl that needs no kernel, and what it says when one is refused."""
    def ctl(status, *words):
        done = subprocess.run([XCMCTL, "--socket", path, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == status, (words, done)
        return done.stdout, done.stderr

    at = symbol("probe_point")
    out, _ = ctl(0, "--symbols", PROGRAM, "break probe_point", "attach", "wait", "regs", "mem pc 16", "step 2", "dump tlb tags", "calibrate load_site 0x82000000",
                 "status", "clear 0", "resume", "detach", "reset")
    assert f"wait: hit at 0x{at:x} (1)\n" in out and f"  pc  {at:016x}  " in out, out
    assert f"step: stepped at 0x{at + 4:x} (" in out and re.search(f"^{at:012x}  e1 03 00 aa c0 03 5f d6 ", out, re.MULTILINE), out
    assert re.search(r"^dump: 0 lines of L1D, 0 of L1I, [1-9][0-9]* entries of the TLB are valid$", out, re.MULTILINE), out
    assert re.search(r"^calibrate: residue \d+ cycles, hits at most", out, re.MULTILINE) and "reset: idle" in out, out
    out, _ = ctl(0, "--json", f"break {at}", "attach", "wait", "reg x0", f"probe rsb {symbol('probe_return')} {symbol('work')}", "detach", "reset")
    found = [json.loads(line) for line in out.splitlines()]
    assert found[2] == {"command": "wait", "event": "hit", "pc": at, "detail": 1}, found
    assert [row["verdict"] for row in found if row["command"] == "probe"] == ["NO"], found
    _, err = ctl(3, "regs")
    assert err == "xcmctl: regs: The function is not allowed in this state of the monitor. (0x22, state idle)\n", err
    _, err = ctl(1, "transcript /dev/null")
    assert "Function not implemented" in err, err
    _, err = ctl(2, "status", "--", "/bin/true")
    assert "with --socket the server runs the program" in err, err
    for where, sentence in (("/nonexistent/s", "No such file"), ("x" * 200, "a socket's path has 1 to 107 bytes"), ("", "a socket's path has 1 to 107 bytes")):
        done = subprocess.run([XCMCTL, "--socket", where, "status"], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and sentence in done.stderr, done
    done = subprocess.run([XCMCTL, "--symbols", "/nonexistent", "status"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "/nonexistent: No such file" in done.stderr, done


def servers_that_are_none():
    """A server that says nothing right, and one that names a ring longer than its file."""
    with tempfile.TemporaryDirectory() as folder:
        for ring, elements in ((None, (0, 2, 1 << 20)), (b"", (0, 2, 1 << 20)), (b"", (1, 2, 0))):
            path = os.path.join(folder, "none.sock")
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(path)
            listener.listen(1)
            client = subprocess.Popen([XCMCTL, "--socket", path, "status"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            peer, _ = listener.accept()
            packet = get(0x1EF0, *elements, direction=2)
            with tempfile.TemporaryFile() as file:
                if ring is None:
                    peer.send(packet)
                else:
                    socket.send_fds(peer, [packet], [file.fileno()])
            _, err = client.communicate(timeout=60)
            assert client.returncode == 1 and "the server is no monitor" in err, (client.returncode, err)
            for end in (peer, listener):
                end.close()
            os.unlink(path)


def serve():
    servers_that_are_none()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "xcm.sock")
        program = with_rounds(os.path.join(folder, "rounds.elf"), 1 << 40)
        server = subprocess.Popen([TALLY, "monitor", "--set", "ram=128MiB", "--serve", path, program], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            clients_of_a_socket(path)
            _, err = server.communicate(timeout=60)
            assert server.returncode == 0 and "answers clients" in err, (server.returncode, err)
            assert not os.path.exists(path)
        finally:
            server.kill()
            server.wait()
        # The command line is a client, too.
        server = subprocess.Popen([TALLY, "monitor", "--serve", path, program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        try:
            Client(path).close()
            fails(2, "not an address", path, "hit=work")
            fails(2, "something is there already", "--serve", path, PROGRAM)
            xcmctl_over(path)
            status, out, err = run("-j", path, f"hit={symbol('work')}", "regs", "stop")
            assert status == 0 and json.loads(out.splitlines()[0])["pc"] == symbol("work"), (status, out, err)
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=60)
            assert server.returncode == 0
        finally:
            server.kill()
            server.wait()
    fails(2, "--serve takes no commands", "--serve", "/nonexistent/s", PROGRAM, "regs")


def main():
    the_vectors_of_the_specification()
    trace_tells_each_effect()
    picture_shows_sets_and_ways()
    suite_prints_matrices()
    serve()
    found = rows("hit=probe_point", "regs", "step=3", "mem=n_rounds:8", "status", "stop")
    assert [row["command"] for row in found] == ["hit", "regs", "step", "step", "step", "mem", "status", "stop", "end"], found
    assert found[0]["function"] == "probe_point" and found[0]["pc"] == found[1]["pc"] == found[2]["pc"]
    assert found[2]["instruction"].split() == ["mov", "x1,", "x0"] and found[3]["instruction"] == "ret"
    assert found[4]["pc"] == found[1]["x30"]
    assert found[5]["bytes"] == "0300000000000000"
    assert found[6]["steps"] == 3 and found[8]["status"] == 0
    pages = [row for row in rows("hit=work", "tlb") if row["command"] == "tlb"]
    assert all(row["vaddr"] == row["paddr"] for row in pages if row["kind"] == "page") and len(pages) > 5, pages
    lines = [row for row in rows("hit=work", "l1d", "l1i") if row["command"] in ("l1d", "l1i")]
    assert {row["state"] for row in lines if row["command"] == "l1d"} <= set("MOES"), lines
    assert {row["state"] for row in lines if row["command"] == "l1i"} == {"V"}, lines
    verdict, = [row for row in rows("hit=probe_point", "rsb=probe_return:work") if row["command"] == "rsb"]
    assert verdict["verdict"] == "no", verdict
    fails(125, "0x39 in state listening. The target is not at EL0 of AArch64.", PROGRAM, "halt")
    fails(125, "0x22 in state idle. The function is not allowed", PROGRAM, "regs")
    fails(125, "0x32 in state halted. The target took an exception", PROGRAM, "hit=work", "mem=0x10:8")
    fails(2, "hit=nowhere: not an address, nor a symbol", PROGRAM, "hit=nowhere")
    fails(2, "jump: no such command; commands are hit, halt", PROGRAM, "jump")
    fails(2, "step: write step=N", PROGRAM, "step=0")
    fails(2, "no program; write tally monitor", "-j")
    fails(2, "no command; write tally monitor", PROGRAM)
    fails(2, "machine rocket is not AArch64", "-m", "rocket", PROGRAM, "halt")
    fails(127, "nonexistent.elf: No such file", "nonexistent.elf", "halt")


main()
