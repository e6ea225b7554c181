# SPDX-License-Identifier: ISC
#
# edits.py: makes random edits with boris and compares each result with a
# simple implementation in Python (SPEC X). t/fuzz runs it. Usage:
#
#	edits.py COUNT BORIS [SEED]
#	edits.py SECONDSs BORIS [SEED]
import json, os, random, re, subprocess, sys, tempfile, time

CONTEXT = 3  # number of lines shown before and after a match
SHOWN = 20  # largest number of lines that are shown, and of line numbers
WIDTH = 160  # length at which a shown line is truncated, with its newline
TOKENS = ['a', 'b', 'ab', 'aba', 'b ', ' ', '\t', '\n', '\n', '\r\n', '\r', 'é',
          '\0', '\x1b', '"', '\\', '\u2028', 'x' * 40]


def random_text(tokens_max):
    return ''.join(random.choices(TOKENS, k=random.randint(0, tokens_max)))


def random_file():
    """Returns the bytes of a file, or None if it does not exist."""
    text = random_text(random.choice([3, 12, 60, 60, 400]))
    if random.random() < .3:
        text = re.sub('(?<!\r)\n', '\r\n', text)
    other = random.choice([b'x' * 9, b'\xff\300'])
    return None if random.random() < .05 else \
        text.encode().replace(b'x' * 40, other)


def random_old(before):
    """Returns the argument `old`: usually a part of the file, which may differ
    in white space."""
    text = (before or b'').decode(errors='ignore')
    at, kind = random.randint(0, len(text)), random.random()
    part = text[at:at + random.randint(1, random.choice([2, 5, 30]))]
    if kind < .2:
        return part.replace('\r\n', '\n')
    if kind < .3:
        return re.sub('[ \t]+', lambda m: random.choice(['', ' ', '\t ']), part)
    return part if kind < .9 else random_text(4)


def matches(before, old):
    """Returns (start, end) of each occurrence of `old`. If `old` has an LF
    without a CR, its line endings match LF and CRLF, and its other CRs do not
    match the CR of a CRLF."""
    found = []
    if re.search(rb'(?<!\r)\n', old):
        parts = [re.escape(part).replace(b'\\\r', rb'\r(?!\n)')
                 for part in re.split(rb'\r?\n', old)]
        found = [m.span() for m in re.finditer(rb'\r?\n'.join(parts), before)]
    return found or [m.span() for m in re.finditer(re.escape(old), before)]


def endings(text):
    return re.findall(rb'\r?\n', text)


def replacement(before, start, end, old, new):
    """Returns `new` with the line endings of the text that it replaces."""
    if b'\r\n' in old:
        return new
    lf = before.find(b'\n', end)
    lines = before[:lf + 1] if lf >= 0 else before
    own = endings(before[start:end]) or endings(lines)[-1:] or [b'\n']
    parts = re.split(rb'(?<!\r)\n', new)
    text = parts[0]
    count = len(endings(parts[0]))
    for part in parts[1:]:
        text += own[min(count, len(own) - 1)] + part
        count += 1 + len(endings(part))
    return text


def without_space(text):
    return re.sub(rb'[ \t\n\r\v\f]', b'', text)


def visible(row):
    """Returns a line as the result shows it."""
    row = row.decode(errors='replace')
    return ''.join(c for c in row[:WIDTH] if c >= ' ' or c == '\t') + (
        '...' if len(row) > WIDTH else '')


def excerpt(text, lines, more):
    """Returns the lines of the text that the result shows. The matches start in
    `lines`, and each has `more` further lines."""
    shown, last, count = '', 0, 0
    for number, row in enumerate(re.findall(rb'[^\n]*\n|[^\n]+', text), 1):
        is_near = any(line - CONTEXT <= number <= line + more + CONTEXT
                      for line in lines[:SHOWN])
        if count < SHOWN and is_near:
            shown += '...\n' if last and number > last + 1 else ''
            shown += f'{number}\t{visible(row)}\n'
            last, count = number, count + 1
    return shown


def oracle(before, old, new, every):
    """Returns whether the edit fails, the bytes of the file after the edit, and
    the line numbers and the excerpt in the result. The excerpt is None if it is
    not compared. If `old` matches only when white space is ignored, only the
    first line number is compared."""
    new = new.encode()
    if old is None:
        return (True, before, [], '') if before else (False, new, [], None)
    if before is None:
        return True, None, [], ''
    old = old.encode()
    spans = matches(before, old)
    if not spans:
        wanted = without_space(old)
        at = without_space(before).find(wanted) if wanted else -1
        if at < 0:
            return True, before, [], None
        visible_at = [m.start() for m in
                      re.finditer(rb'[^ \t\n\r\v\f]', before)]
        line = before.count(b'\n', 0, visible_at[at]) + 1
        return True, before, [line], None
    done = every or len(spans) == 1
    lines, line, at, after = [], 1, 0, b''
    for start, end in spans:
        line += before[at:start].count(b'\n')
        lines.append(line)
        line += (new if every else old).count(b'\n')
        after += before[at:start] + replacement(before, start, end, old, new)
        at = end
    if not done:
        return True, before, lines, \
            excerpt(before, lines, old[:-1].count(b'\n'))
    after += before[at:]
    return False, after, lines, excerpt(after, lines, new[:-1].count(b'\n'))


def request(boris, method, params):
    print(json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': method,
                      'params': params}), file=boris.stdin, flush=True)
    return json.loads(boris.stdout.readline())['result']


def read_file(name):
    """Returns the bytes of a file, or None if it does not exist."""
    if os.path.exists(name):
        with open(name, 'rb') as file:
            return file.read()


def check_edit(boris, n):
    """Edits a file `f` and exits if the result is wrong. The file sometimes has
    another name `g`, which is a symbolic link (s) or a hard link (h)."""
    before, new = random_file(), random_text(6)
    link = random.choice(' ' * 6 + 'sh')
    arguments = {'path': 'f', 'new': new, 'all': random.random() < .5}
    old = random_old(before) if random.random() < .9 else None
    while old in ('', new):
        old = random_text(4)
    if old is not None:
        arguments['old'] = old
    for name in os.listdir():
        os.remove(name)
    if before is not None:
        with open('f', 'wb') as file:
            file.write(before)
        os.chmod('f', random.choice([0o600, 0o644, 0o755, 0o4711]))
        st_before = os.stat('f')
        if link == 's':
            os.symlink('f', 'g')
            arguments['path'] = 'g'
        elif link == 'h':
            os.link('f', 'g')
    names = set(os.listdir())
    result = request(boris, 'tools/call',
                     {'name': 'edit', 'arguments': arguments})
    text = result['content'][0]['text']
    head, _, rest = text.partition('\n\n')
    fails, after, lines, shown = oracle(before, old, new, arguments['all'])
    names |= set() if after is None else {'f'}
    found = re.search(r'on lines? ([0-9, ]+)', head)
    reported = [int(line) for line in re.findall('[0-9]+', found[1])] \
        if found else []
    checks = {'isError': result['isError'] == fails,
              'bytes': read_file('f') == after,
              'names': set(os.listdir()) == names}
    if lines:
        checks['lines'] = \
            reported[:1 if shown is None else SHOWN] == lines[:SHOWN]
        checks['excerpt'] = shown in (None, rest)
    if before is not None:
        st = os.stat('f')
        checks['mode'] = (st.st_mode, st.st_uid) == \
            (st_before.st_mode, st_before.st_uid)
        checks['inode'] = (st.st_ino == st_before.st_ino) == \
            (fails or link == 'h')
    failed = [name for name in checks if not checks[name]]
    if failed:
        sys.exit(f'edit {n}: wrong: {", ".join(failed)}\nbefore: {before}\n'
                 f'arguments: {arguments}\nresult: {text!r}\n'
                 f'after: {read_file("f")}\n'
                 f'expected: {after} {lines} {shown!r}')


def main(amount, binary, seed=None):
    seed = int(seed or time.time_ns())
    random.seed(seed)
    binary = os.path.abspath(binary)
    end = time.monotonic() + float(amount[:-1] if amount[-1] == 's' else 'inf')
    n = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        boris = subprocess.Popen([binary, '--edit'], text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        request(boris, 'initialize', {
            'protocolVersion': '2025-11-25',
            'clientInfo': {'name': 't', 'version': '1'}})
        while time.monotonic() < end and (amount[-1] == 's' or n < int(amount)):
            check_edit(boris, n)
            n += 1
        boris.stdin.close()
        print(f'{n} edits, seed {seed}')
        os.chdir('/')
        return boris.wait()


sys.exit(main(*sys.argv[1:]))
