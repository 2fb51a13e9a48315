#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sealed records from outside: tally open-records on good and damaged files, and the same records opened without any code of ours.

  run.py TALLY MAKE_RECORDS SCHEMA

The independent side is the command line of OpenSSL: pkeyutl derives the X25519 secret and verifies the Ed25519 quote, kdf is HKDF, enc
decrypts. It has no GCM, so a record is decrypted as AES-256-CTR from counter 2 (NIST SP 800-38D, 7.1), and the tag is computed here.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

TALLY, MAKE_RECORDS, SCHEMA = sys.argv[1:4]
N, N_RECORDS = 70, 6
INNER_BYTES = 64 + 8 * (4 + 2 * N + 2) + 16
X25519_SECRET = bytes.fromhex("302e020100300506032b656e04220420")  # PKCS 8 and SubjectPublicKeyInfo of RFC 8410, before the key
X25519_PUBLIC = bytes.fromhex("302a300506032b656e032100")
ED25519_PUBLIC = bytes.fromhex("302a300506032b6570032100")


def equal(found, expected, what=""):
    if found != expected:
        raise AssertionError(f"{what}: {found!r} is not {expected!r}")


class Folder:
    def __init__(self, path):
        self.path = path

    def __call__(self, name):
        return os.path.join(self.path, name)

    def bytes(self, name):
        with open(self(name), "rb") as stream:
            return stream.read()

    def write(self, name, content):
        with open(self(name), "wb") as stream:
            stream.write(content)
        return self(name)


def open_records(path, key, *words):
    result = subprocess.run([TALLY, "open-records", "--key", key, *words, path], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout, result.stderr


def entries(path, key):
    status, out, err = open_records(path, key, "-j")
    equal(err, "", "nothing on standard error")
    lines = [json.loads(line) for line in out.splitlines()]
    equal(lines[0], {"type": "header", "schema": "tally.records/1"})
    equal(lines[-1]["type"], "end")
    equal(lines[-1]["records"], len(lines) - 2)
    return status, lines[1:-1], lines[-1]


def verdicts(path, key):
    status, lines, end = entries(path, key)
    equal(status, 0 if all(line["verdict"] == "good" for line in lines) and not end["missing"] else 1)
    for line in lines:
        equal("values" in line, line["verdict"] == "good")
    return [line["verdict"] for line in lines], end["missing"]


def exact(number):
    return int(number)  # above 2^53 it is a string


# -- tally open-records


def good_records_open(folder):
    status, lines, end = entries(folder("records.bin"), folder("records.key"))
    equal((status, end["good"], end["missing"]), (0, N_RECORDS, 0))
    for r, line in enumerate(lines, 1):
        equal((line["verdict"], line["seq"], line["epoch"], line["vm"]), ("good", r, 1, 2))
        equal((line["offset_bytes"], line["bytes"]), ((r - 1) * INNER_BYTES, INNER_BYTES))
        equal(line["context"], None if r % 2 else 4)
        equal((line["sent_cycle"], line["commit_cycle"], line["active_cycles"], line["generation"]), (1000 * r + 7, 1000 * r, 900 * r, 2 * r))
        equal(line["flags"], ["lossy"] if r == 2 else [])
        equal(len(line["values"]), N)
        for m, value in enumerate(line["values"]):
            equal(value, None if m == 3 else {"count": r << 40 | m, "late": 9 if m == 5 else 0})


def literal_records_open(folder):
    status, lines, _ = entries(folder("literal.bin"), folder("literal.key"))
    equal(status, 0)
    equal([line["epoch"] for line in lines], [2] * N_RECORDS)
    equal([line["generation"] for line in lines], [2 * r for r in range(1, N_RECORDS + 1)])
    equal(lines[0]["values"][1], {"count": 1 << 40 | 1, "late": 0})


def text_names_flags(folder):
    status, out, _ = open_records(folder("records.bin"), folder("records.key"))
    equal(status, 0)
    lines = out.splitlines()
    equal(lines[0], "record 1 at byte 0: good, seq 1, VM 2, sent in cycle 1007, committed in 1000, active for 900, generation 2")
    equal(lines[1].split(), ["0", str(1 << 40)])
    equal(lines[4].split(), ["3", "unavailable"])
    equal(lines[6].split(), ["5", str(1 << 40 | 5), "and", "9", "late"])
    equal(lines[1 + N], f"record 2 at byte {INNER_BYTES}: good, seq 2, VM 2 context 4, sent in cycle 2007, committed in 2000, active for 1800, "
                        "generation 4, lossy")
    equal(lines[-1], "6 of 6 records are good, 0 missing")


def damage_is_classified(folder):
    data, key, n = folder.bytes("records.bin"), folder("records.key"), INNER_BYTES
    record = [data[i * n:(i + 1) * n] for i in range(N_RECORDS)]
    other = folder.bytes("other.bin")[:n]
    flipped = bytearray(record[1])
    flipped[100] ^= 1
    relabeled = bytearray(other)
    relabeled[12] = 2
    old = bytearray(record[1])
    old[8] = 0
    later = bytearray(record[1])
    later[8] = 2
    cases = {
        "nothing": ([], [], 0),
        "one": ([record[0]], ["good"], 0),
        "dropped": ([record[0], record[3]], ["good", "good"], 2),
        "replayed": ([record[0], record[1], record[0]], ["good", "good", "replayed"], 0),
        "reordered": ([record[0], record[2], record[1]], ["good", "good", "reordered"], 1),
        "flipped": ([record[0], flipped, record[2]], ["good", "forged", "good"], 1),
        "swapped": ([other, record[0]], ["foreign", "good"], 0),
        "relabeled": ([relabeled, record[0]], ["forged", "good"], 0),
        "old epoch": ([old, record[0]], ["old_epoch", "good"], 0),
        "next epoch": ([later, record[0]], ["next_epoch", "good"], 0),
        "cut at the end": ([record[0], record[1][:200]], ["good", "short"], 0),
        "cut in the middle": ([record[0], record[1][:200], record[2]], ["good", "short", "good"], 1),
        "cut in the header": ([record[0], record[1][:20], record[2]], ["good", "malformed", "good"], 1),
        "bytes between": ([record[0], b"garbage", record[1]], ["good", "malformed", "good"], 0),
        "garbage": ([b"\0" * 5000], ["malformed"], 0),
        "a few bytes": ([b"PMR1"], ["short"], 0),
    }
    for what, (parts, expected, missing) in cases.items():
        equal(verdicts(folder.write("damaged.bin", b"".join(map(bytes, parts))), key), (expected, missing), what)
    equal(verdicts(folder("records.bin"), folder("other.key")), (["foreign"] * N_RECORDS, 0), "another VM's key")
    status, out, _ = open_records(folder.write("damaged.bin", record[0] + record[3] + bytes(flipped)), key)
    equal(status, 1)
    assert "2 records are missing\n" in out and f"record 3 at byte {2 * n}: forged, {n} bytes\n" in out, out
    equal(out.splitlines()[-1], "2 of 3 records are good, 2 missing")


def mistakes_are_named(folder):
    def fails(path, key, status, *words):
        result = open_records(path, key)
        equal((result[0], result[1]), (status, ""))
        for word in words:
            assert word in result[2], (word, result[2])
    fails(folder("none.bin"), folder("records.key"), 125, "none.bin")
    fails(folder("records.bin"), folder("none.key"), 125, "none.key")
    fails(folder.path, folder("records.key"), 125, folder.path)
    fails(folder("records.bin"), folder("records.bin"), 125, "records.bin:1")
    fails(folder("records.bin"), folder.write("bad.key", b"vm: x\n"), 125, "bad.key:1: vm")
    for words, said in ((["open-records", "x"], "--key"), (["open-records", "--key", "x"], "one file"), (["open-records", "--key", "", "x"], "empty")):
        result = subprocess.run([TALLY, *words], capture_output=True, text=True, check=False)
        equal(result.returncode, 2)
        assert said in result.stderr, result.stderr


def json_follows_its_schema(folder):
    with open(SCHEMA, encoding="utf-8") as stream:
        kinds = json.load(stream)["$defs"]
    bad = folder.write("damaged.bin", folder.bytes("records.bin")[:2 * INNER_BYTES] + b"x")
    for line in open_records(bad, folder("records.key"), "-j")[1].splitlines():
        line = json.loads(line)
        kind = kinds[line["type"] if line["type"] != "record" else "good" if line["verdict"] == "good" else "damaged"]
        equal(set(line), set(kind["properties"]), line["type"])
        equal(set(kind["required"]), set(kind["properties"]))


# -- without code of ours


def openssl(*words, data=None):
    return subprocess.run(["openssl", *words], input=data, capture_output=True, check=True).stdout


def session_of(folder):
    pairs = [line.split() for line in folder.bytes("session.txt").decode().splitlines()]
    secrets = [bytes.fromhex(value) for name, value in pairs if name == "ephemeral"]
    return {**{name: bytes.fromhex(value) for name, value in pairs}, "vm_secret": secrets[0], "device_secret": secrets[1]}


def keys_are_what_openssl_derives(folder):
    session = session_of(folder)
    hello, quote = session["hello"], session["quote"]
    secret = folder.write("vm.der", X25519_SECRET + session["vm_secret"])
    peer = folder.write("device.der", X25519_PUBLIC + quote[152:184])
    shared = openssl("pkeyutl", "-derive", "-keyform", "DER", "-inkey", secret, "-peerform", "DER", "-peerkey", peer)
    salt = hashlib.sha256(hello + quote).hexdigest()
    for name, label, size in (("d2v_key", "d2v key", 32), ("d2v_iv", "d2v iv", 12), ("v2d_key", "v2d key", 32), ("v2d_iv", "v2d iv", 12)):
        info = f"smpm/1 {label}".encode() + (2).to_bytes(4, "little") + (1).to_bytes(4, "little")
        derived = openssl("kdf", "-keylen", str(size), "-kdfopt", "digest:SHA256", "-kdfopt", f"hexkey:{shared.hex()}", "-kdfopt",
                          f"hexsalt:{salt}", "-kdfopt", f"hexinfo:{info.hex()}", "-binary", "HKDF")
        equal(derived, session[name], name)


def quote_is_signed(folder):
    session = session_of(folder)
    quote = session["quote"]
    key = folder.write("identity.der", ED25519_PUBLIC + session["identity"])
    signature = folder.write("signature", quote[184:])
    for text, status in ((b"pm/1 quote".ljust(16, b"\0") + quote[:184], 0), (b"pm/1 quote".ljust(16, b"\0") + quote[:183] + bytes([quote[183] ^ 1]), 1)):
        words = ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", key, "-rawin", "-in", folder.write("text", text), "-sigfile",
                 signature]
        equal(subprocess.run(words, capture_output=True, check=False).returncode, status)


def aes_block(key, block):
    return openssl("enc", "-aes-256-ecb", "-nopad", "-K", key.hex(), data=block)


def ghash(h, data):
    """SP 800-38D, 6.3 and 6.4."""
    h, y = int.from_bytes(h, "big"), 0
    for at in range(0, len(data), 16):
        y ^= int.from_bytes(data[at:at + 16], "big")
        z, v = 0, h
        for i in range(127, -1, -1):
            if y >> i & 1:
                z ^= v
            v = v >> 1 ^ (0xe1 << 120 if v & 1 else 0)
        y = z
    return y.to_bytes(16, "big")


def padded(data):
    return data + bytes(-len(data) % 16)


def records_open_without_our_code(folder):
    session = session_of(folder)
    key, mask, data = session["d2v_key"], session["d2v_iv"], folder.bytes("records.bin")
    h = aes_block(key, bytes(16))
    for r in range(1, N_RECORDS + 1):
        record = data[(r - 1) * INNER_BYTES:r * INNER_BYTES]
        header, cipher, tag = record[:64], record[64:-16], record[-16:]
        nonce = bytes(a ^ b for a, b in zip(mask, bytes(4) + r.to_bytes(8, "big")))
        equal(int.from_bytes(header[24:32], "little"), r)
        lengths = (8 * len(header)).to_bytes(8, "big") + (8 * len(cipher)).to_bytes(8, "big")
        digest = ghash(h, padded(header) + padded(cipher) + lengths)
        equal(bytes(a ^ b for a, b in zip(digest, aes_block(key, nonce + b"\0\0\0\1"))), tag, "tag")
        plain = openssl("enc", "-d", "-aes-256-ctr", "-nopad", "-K", key.hex(), "-iv", (nonce + b"\0\0\0\2").hex(), data=cipher)
        words = [int.from_bytes(plain[i:i + 8], "little") for i in range(0, len(plain), 8)]
        equal(words[:4], [2 * r, (0xffffffff if r % 2 else 4) | (2 if r == 2 else 0) << 32, 1000 * r, 900 * r])
        equal(words[4:4 + N], [r << 40 | m for m in range(N)])
        equal(words[4 + N:4 + 2 * N], [9 if m == 5 else 0 for m in range(N)])
        equal(words[4 + 2 * N:], [1 << 3, 0])


def main():
    tests = [good_records_open, literal_records_open, text_names_flags, damage_is_classified, mistakes_are_named, json_follows_its_schema]
    independent = [keys_are_what_openssl_derives, quote_is_signed, records_open_without_our_code]
    if shutil.which("openssl"):
        tests += independent
    else:
        print("openssl is not installed: records are not opened independently")
    with tempfile.TemporaryDirectory() as path:
        subprocess.run([MAKE_RECORDS, path], check=True)
        for test in tests:
            test(Folder(path))
            print(f"ok {test.__name__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
