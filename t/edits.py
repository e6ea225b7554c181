# SPDX-License-Identifier: ISC
#
# edits.py: random edits by boris, each beside what a few lines of Python make of
# the same file (SPEC X). For t/fuzz, and by hand:
#
#	edits.py COUNT|SECONDSs BORIS [SEED]
import json, os, random, re, subprocess, sys, tempfile, time

AROUND = 3  # lines before a place, and behind it
SHOWN = 20  # lines, and places that are told
WIDTH = 160  # characters of a line, with its newline
TOKENS = ['a', 'b', 'ab', 'aba', 'b ', ' ', '\t', '\n', '\n', '\r\n', '\r', 'é',
          '\0', '\x1b', '"', '\\', '\u2028', 'x' * 40]


def pick(most):
    return ''.join(random.choices(TOKENS, k=random.randint(0, most)))


def a_file():
    """Its bytes, or None where there is none"""
    text = pick(random.choice([3, 12, 60, 60, 400]))
    if random.random() < .3:
        text = re.sub('(?<!\r)\n', '\r\n', text)
    other = random.choice([b'x' * 9, b'\xff\300'])
    return None if random.random() < .05 else \
        text.encode().replace(b'x' * 40, other)


def an_old(was):
    """A part of it, mostly, as it stands or with other white space"""
    text = (was or b'').decode(errors='ignore')
    at, how = random.randint(0, len(text)), random.random()
    part = text[at:at + random.randint(1, random.choice([2, 5, 30]))]
    if how < .2:
        return part.replace('\r\n', '\n')
    if how < .3:
        return re.sub('[ \t]+', lambda m: random.choice(['', ' ', '\t ']), part)
    return part if how < .9 else pick(4)


def matches(was, old):
    """Where `old` occurs: (start, end) of each. If `old` has a plain LF, its
    line endings match either ending, and its other CRs are no part of one."""
    found = []
    if re.search(rb'(?<!\r)\n', old):
        parts = [re.escape(part).replace(b'\\\r', rb'\r(?!\n)')
                 for part in re.split(rb'\r?\n', old)]
        found = [m.span() for m in re.finditer(rb'\r?\n'.join(parts), was)]
    return found or [m.span() for m in re.finditer(re.escape(old), was)]


def endings(text):
    return re.findall(rb'\r?\n', text)


def replacement(was, start, end, old, new):
    """`new` with the line endings of what it replaces"""
    if b'\r\n' in old:
        return new
    lf = was.find(b'\n', end)
    around = was[:lf + 1] if lf >= 0 else was
    own = endings(was[start:end]) or endings(around)[-1:] or [b'\n']
    parts = re.split(rb'(?<!\r)\n', new)
    text = parts[0]
    count = len(endings(parts[0]))
    for part in parts[1:]:
        text += own[min(count, len(own) - 1)] + part
        count += 1 + len(endings(part))
    return text


def solid(text):
    return re.sub(rb'[ \t\n\r\v\f]', b'', text)


def visible(row):
    row = row.decode(errors='replace')
    return ''.join(c for c in row[:WIDTH] if c >= ' ' or c == '\t') + (
        '...' if len(row) > WIDTH else '')


def around(text, lines, more):
    """What is shown: the lines around the first places"""
    shown, last, count = '', 0, 0
    for number, row in enumerate(re.findall(rb'[^\n]*\n|[^\n]+', text), 1):
        if count < SHOWN and any(line - AROUND <= number <= line + more + AROUND
                                 for line in lines[:SHOWN]):
            shown += '...\n' if last and number > last + 1 else ''
            shown += f'{number}\t{visible(row)}\n'
            last, count = number, count + 1
    return shown


def oracle(was, old, new, every):
    """(an error?, the file's bytes, the lines that are told, what is shown);
    None: where it stands but for white space, in that line first"""
    new = new.encode()
    if old is None:
        return (True, was, [], '') if was else (False, new, [], None)
    if was is None:
        return True, None, [], ''
    old = old.encode()
    spans = matches(was, old)
    if not spans:
        at = solid(was).find(solid(old)) if solid(old) else -1
        there = [m.start() for m in re.finditer(rb'[^ \t\n\r\v\f]', was)]
        return True, was, [was.count(b'\n', 0, there[at]) + 1] if at >= 0 \
            else [], None
    done = every or len(spans) == 1
    lines, line, at, will = [], 1, 0, b''
    for start, end in spans:
        line += was[at:start].count(b'\n')
        lines.append(line)
        line += (new if every else old).count(b'\n')
        will += was[at:start] + replacement(was, start, end, old, new)
        at = end
    if not done:
        return True, was, lines, around(was, lines, old[:-1].count(b'\n'))
    will += was[at:]
    return False, will, lines, around(will, lines, new[:-1].count(b'\n'))


def ask(boris, method, params):
    print(json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': method,
                      'params': params}), file=boris.stdin, flush=True)
    return json.loads(boris.stdout.readline())['result']


def bytes_of(name):
    if os.path.exists(name):
        with open(name, 'rb') as file:
            return file.read()


def one(boris, n):
    """A file `f`, perhaps with a link `g` that leads to it, or is it"""
    was, new, link = a_file(), pick(6), random.choice(' ' * 6 + 'sh')
    arguments = {'path': 'f', 'new': new, 'all': random.random() < .5}
    old = an_old(was) if random.random() < .9 else None
    while old in ('', new):
        old = pick(4)
    if old is not None:
        arguments['old'] = old
    for name in os.listdir():
        os.remove(name)
    if was is not None:
        with open('f', 'wb') as file:
            file.write(was)
        os.chmod('f', random.choice([0o600, 0o644, 0o755, 0o4711]))
        before = os.stat('f')
        if link == 's':
            os.symlink('f', 'g')
            arguments['path'] = 'g'
        elif link == 'h':
            os.link('f', 'g')
    names = set(os.listdir())
    result = ask(boris, 'tools/call', {'name': 'edit', 'arguments': arguments})
    text = result['content'][0]['text']
    head, _, rest = text.partition('\n\n')
    wrong, will, lines, shown = oracle(was, old, new, arguments['all'])
    names |= set() if will is None else {'f'}
    told = re.search(r'in lines? ([0-9, ]+)', head)
    told = [int(line) for line in re.findall('[0-9]+', told[1])] if told else []
    said = {'an error': result['isError'] == wrong,
            'bytes': bytes_of('f') == will,
            'names': set(os.listdir()) == names}
    if lines:
        said['lines'] = told[:1 if shown is None else SHOWN] == lines[:SHOWN]
        said['shown'] = shown in (None, rest)
    if was is not None:
        now = os.stat('f')
        said['mode'] = (now.st_mode, now.st_uid) == (before.st_mode, before.st_uid)
        said['inode'] = (now.st_ino == before.st_ino) == (wrong or link == 'h')
    bad = [what for what in said if not said[what]]
    if bad:
        sys.exit(f'edit {n}: {bad}\nwas {was}\nasked {arguments}\nsaid {text!r}\n'
                 f'is {bytes_of("f")}\nshould be {will} {lines}\n{shown!r}')


def main(much, binary, seed=None):
    seed = int(seed or time.time_ns())
    random.seed(seed)
    binary = os.path.abspath(binary)
    end = time.monotonic() + float(much[:-1] if much[-1] == 's' else 'inf')
    n = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        boris = subprocess.Popen([binary, '--edit'], text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ask(boris, 'initialize', {'protocolVersion': '2025-11-25', 'clientInfo':
                                  {'name': 't', 'version': '1'}})
        while time.monotonic() < end and (much[-1] == 's' or n < int(much)):
            one(boris, n)
            n += 1
        boris.stdin.close()
        print(f'{n} edits, seed {seed}')
        os.chdir('/')
        return boris.wait()


sys.exit(main(*sys.argv[1:]))
