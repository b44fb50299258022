"""Random changes of bytes, numbers, words and tags in files, mostly with valid checksums."""

import gzip
import io
import struct
import zlib

_LONGEST = 1 << 14  # bytes of a changed file
_PNG, _GZIP, _TIFF = b"\x89PNG\r\n\x1a\n", b"\x1f\x8b", (b"II*\0", b"MM\0*")
_NUMBERS = (0, 1, 2, 3, 4, 5, 7, 8, 16, 100, 127, 128, 255, 256, 1000, 32767, 32768, 65535, 65536)
_LARGE = (2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1)
_WORDS = (b"nan", b"inf", b"-1", b"0", b"1e308", b"1e-320", b"999999999", b"()", b"(1,)", b"'O'")


def mutate(data, rng, others):
    """Return a file's bytes, or the data packed in them, changed at random.

    Parts may be copied from `others`, a sequence of files.
    """
    change = _changed
    if rng.random() < 0.9:  # otherwise checksums and containers are damaged, too
        if data.startswith(_PNG):
            change = _changed_png
        elif data.startswith(_GZIP):
            change = _changed_gzip
        elif data.startswith(_TIFF) and rng.random() < 0.5:
            change = _changed_tags
    try:
        return change(data, rng, others)[:_LONGEST]
    except (ValueError, OSError, EOFError, IndexError, zlib.error, struct.error):  # damaged
        return _changed(data, rng, others)[:_LONGEST]


def _changed(data, rng, others):
    data = bytearray(data)
    for _ in range(1 + int(rng.expovariate(0.7))):
        data = rng.choice(_CHANGES)(data, rng, others)
    return bytes(data)


def _place(data, rng, room=1):
    """Return a random position, every other time in the header of the file."""
    end = max(1, len(data) - room + 1)
    return rng.randrange(min(end, 400) if rng.random() < 0.5 else end)


def _flip_bit(data, rng, _):
    if data:
        data[_place(data, rng)] ^= 1 << rng.randrange(8)
    return data


def _set_byte(data, rng, _):
    if data:
        data[_place(data, rng)] = rng.randrange(256)
    return data


def _set_number(data, rng, _):
    size, order = rng.choice((1, 2, 2, 4, 4, 8)), rng.choice("<>")
    place = _place(data, rng, size)
    number = rng.choice(_NUMBERS + _LARGE) * rng.choice((1, 1, -1)) % 2 ** (8 * size)
    data[place : place + size] = struct.pack(order + "xBHxIxxxQ"[size], number)
    return data


def _cut(data, rng, _):
    start = _place(data, rng)
    del data[start : start + rng.choice((1, 2, 4, 12, 100, len(data)))]
    return data


def _repeat(data, rng, _):
    start, length = _place(data, rng), rng.choice((1, 4, 12, 40))
    data[start:start] = data[start : start + length] * rng.choice((1, 1, 2, 50))
    return data


def _splice(data, rng, others):
    other = rng.choice(others)
    start, length = _place(other, rng), rng.choice((2, 8, 30, 200))
    place = _place(data, rng)
    data[place : place + rng.choice((0, length))] = other[start : start + length]
    return data


def _put_word(data, rng, _):
    """Replace the next digits after a random position with a word."""
    place = _place(data, rng)
    while place < len(data) and not 48 <= data[place] < 58:
        place += 1
    end = place
    while end < len(data) and 46 <= data[end] < 58:
        end += 1
    data[place:end] = rng.choice(_WORDS)
    return data


_CHANGES = (_flip_bit, _set_byte, _set_number, _set_number, _cut, _repeat, _splice, _put_word)


def _changed_png(data, rng, others):
    """Change the content of a chunk, and update the checksums."""
    chunks, place = [], len(_PNG)
    while place + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, place)
        chunks.append((data[place + 4 : place + 8], data[place + 8 : place + 8 + length]))
        place += 12 + length
    number = rng.randrange(len(chunks))
    name, body = chunks[number]
    if name == b"IDAT" and rng.random() < 0.5:
        body = zlib.compress(_changed(zlib.decompress(body), rng, others))
    else:
        body = _changed(body, rng, others)
    chunks[number] = (name if rng.random() < 0.95 else rng.choice(chunks)[0], body)
    if rng.random() < 0.05:
        rng.shuffle(chunks)
    packed = (
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )
    return _PNG + b"".join(packed)


def _changed_gzip(data, rng, others):
    content = gzip.GzipFile(fileobj=io.BytesIO(data)).read(1 << 20)
    return gzip.compress(_changed(content, rng, others), 1)


def _changed_tags(data, rng, _):
    """Change numbers in the tags of a TIFF file: code, type, count or value."""
    order, data = "<" if data[:2] == b"II" else ">", bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        (start,) = struct.unpack_from(order + "I", data, 4)
        (count,) = struct.unpack_from(order + "H", data, start)
        entry = start + 2 + 12 * rng.randrange(min(count, 40))
        kind, place = rng.choice((("H", 0), ("H", 2), ("I", 4), ("I", 8), ("H", 8), ("H", 10)))
        known = rng.choice((*_NUMBERS, 254, 256, 257, 258, 259, 262, 273, 277, 278, 279, 284, 338))
        number = rng.choice((known, known, rng.choice(_LARGE), len(data), rng.randrange(1 << 16)))
        limit = 16 if kind == "H" else 32
        struct.pack_into(order + kind, data, entry + place, number % 2**limit)
    return bytes(data)
