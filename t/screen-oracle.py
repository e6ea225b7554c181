#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Compares output/screen.c with tmux. Both draw the same bytes on a terminal of
50 rows of 200 columns. Then the history, the screen, the position of the cursor
and the replies to queries must be the same. These bytes are compared:

 - examples of the controls that programs use;
 - the output of real programs, from t/recordings: all of it, and what has been
   drawn when the output is cut at random positions;
 - COUNT random sequences of the controls that both implement.

boris receives the bytes split at random positions, too.

    t/screen-oracle.py [COUNT [SEED]]
    t/screen-oracle.py --encode < BYTES > t/recordings/NAME

A recording contains the bytes that a program wrote to such a terminal with
TERM=linux; script(1) can record them. The file is text: \\e is ESC, \\*80;x is
80 times x, and a newline has no meaning (see decode()). Replace names of hosts
and directories before you add a recording.

Five kinds of differences are known. They are not generated, or not counted:
 1. IL with the cursor outside a scrolling region that does not reach the last
    row: tmux erases nothing, or too much.
 2. History of an erased screen: tmux keeps its blank rows. After ED 0 in the
    first cell tmux keeps all rows, and boris does only if the cursor was moved
    there by CUP, because a program may draw its prompt again from there.
 3. Characters: halves of wide characters, and REP of a character that is not
    ASCII, which tmux ignores.
 4. The last column: autowrap off; BS in the first column of a row that the row
    before it has been wrapped into, if one of them has changed since; ICH of
    more columns than it moves, where tmux leaves old characters.
 5. Replies: tmux reports column 201 before it wraps, and its own name and
    version.
Kinds 3 and 4 cannot be avoided completely: one random sequence in 5,000 may
differ.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = 50
CONFIGURATION = '''set -g history-limit 100000
set -g status off
set -g default-terminal screen
'''
QUERY = b'\x1b[6n'  # of the cursor, which is compared, too
# Runs in tmux's pane. It prints each piece that it reads from a FIFO, where the
# length precedes the piece, and then a query of the status. When tmux replies,
# the piece has been drawn, and all replies are written to the other FIFO.
PANE = '''
import os, sys, tty
tty.setraw(0)
pieces = os.open(sys.argv[1], os.O_RDONLY)
reports = os.open(sys.argv[2], os.O_WRONLY)
def take(n):
    taken = b''
    while len(taken) < n:
        some = os.read(pieces, n - len(taken))
        if not some:
            sys.exit()
        taken += some
    return taken
while True:
    piece = take(int(take(8))) + b'\\x1b[5n'
    while piece:
        piece = piece[os.write(1, piece):]
    replies = b''
    while not replies.endswith(b'R\\x1b[0n'):
        replies += os.read(0, 1)
    os.write(reports, replies[:-4] + b'\\n')
'''

# Replies of tmux and the corresponding replies of boris (kind 5)
REPLIES = [
    (rb';201R', b';200R'),
    (rb'\x1b\[>84;0;0c', b'\x1b[>0;0;0c'),
    (rb'\x1bP>\|.*?\x1b\\', b''),
]
# Programs that erase from the first cell without CUP (kind 2)
OTHER_HISTORY = ['fzf-inline']
# Control sequences as programs use them. The first ones are from yarn, ora and
# inquirer, and the fifth one is a progress bar of two rows.
EXAMPLES = [
    ''.join('\x1b[2K\x1b[1Gstep %d of 60' % i for i in range(1, 61)) +
    '\x1b[2K\x1b[1Gall done',
    'hello\x1b[1Cworld',
    'OS:\x1b[10CDebian',
    '50%\x1b[3D75%',
    ''.join('\r\nrow %d\x1b[A\rtotal %d' % (i, i) for i in range(90)) + '\n',
    'abcdef\x1b[4D\x1b[2P',
    'abcdef\x1b[4D\x1b[2@',
    'abcdef\x1b[4D\x1b[3X',
    'abc\x1b[5n\x1b[c\x1b[6n',
    'abc\x1b[999;999f\x1b[6n',
    '\x1b[?1049h\x1b[H\x1b[2Jtitle\x1b[50;1Hstatus\x1b[25;80Htext',
    '\x1b[?1049h\x1b[Htitle\x1b[2;1Htext\x1b[?1049lback',
    ''.join('\r' + 'a字é'[i % 3] * (i % 190) for i in range(2000)),
    'a\0b\0\0c',
]


def encode(data):
    """Returns a recording's bytes as text, with short lines."""
    names = {'\x1b': 'e', '\r': 'r', '\b': 'b', '\t': 't', '\\': '\\'}
    text = data.decode('utf-8', 'surrogateescape')
    written, line = '', ''
    for match in re.finditer(r'\n|(.)\1{7,}|.', text, re.S):
        code = match[0][0]
        if code in names:
            part = '\\' + names[code]
        elif code == '\n':
            part = '\\n'
        elif code < ' ' or code == '\x7f':
            part = '\\x%02x' % ord(code)
        elif '\udc80' <= code <= '\udcff':  # not UTF-8
            part = '\\x%02x' % (ord(code) - 0xdc00)
        else:
            part = code
        if len(match[0]) > 1:
            part = '\\*%d;%s' % (len(match[0]), part)
        is_long = len(line + part) > 76 or (len(line) > 60 and code == '\x1b')
        if is_long and not line.endswith(' '):
            written += line + '\n'
            line = ''
        line += part
        if code == '\n':
            written += line + '\n'
            line = ''
    if line.endswith(' '):
        line = line[:-1] + '\\x20'
    return (written + line).rstrip('\n') + '\n'


def decode(text):
    """Returns the bytes of a recording."""
    names = {'\\e': b'\x1b', '\\r': b'\r', '\\b': b'\b', '\\t': b'\t',
             '\\n': b'\n', '\\\\': b'\\'}
    data = b''
    for match in re.finditer(r'(?:\\\*(\d+);)?(\\x..|\\.|.)', text):
        part = match[2]
        if part.startswith('\\x'):
            byte = bytes.fromhex(part[2:])
        else:
            byte = names.get(part) or part.encode()
        data += byte * int(match[1] or 1)
    return data


def recordings():
    """Returns the names of the recordings and their bytes."""
    directory = os.path.join(HERE, 'recordings')
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name)) as file:
            yield name, decode(file.read())


def prefix(data, length):
    """Returns about that many bytes, with complete characters."""
    while length < len(data) and data[length] & 0xC0 == 0x80:
        length += 1
    return data[:length]


def lines(text):
    """Returns the lines without blanks at their ends."""
    return [line.rstrip(b' ') for line in text.split(b'\n')]


class Drawn:
    """The contents of a terminal and its replies"""

    def __init__(self, history, screen, replies):
        # tmux keeps blank rows (kind 2).
        self.history = [line for line in lines(history) if line]
        self.screen = lines(screen)
        while self.screen and not self.screen[-1]:
            self.screen.pop()
        self.replies = replies

    def differences(self, other):
        """Returns the names of the parts that differ."""
        return [part for part in ('history', 'screen', 'replies')
                if getattr(self, part) != getattr(other, part)]


class Tmux:
    def __init__(self):
        self.dir = tempfile.mkdtemp()
        for name in 'pieces', 'reports':
            os.mkfifo(self.path(name))
        self.write('pane.py', PANE)
        self.write('tmux.conf', CONFIGURATION)
        env = dict(os.environ, LC_ALL='C.UTF-8', TERM='xterm')
        env.pop('TMUX', None)
        pane = 'python3 %s %s %s' % tuple(
            self.path(name) for name in ('pane.py', 'pieces', 'reports'))
        self.process = subprocess.Popen(
            ['tmux', '-S', self.path('socket'), '-f', self.path('tmux.conf'),
             '-u', '-C', 'new-session', '-x', '200', '-y', '50', pane],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.pieces = open(self.path('pieces'), 'wb', 0)
        self.reports = open(self.path('reports'), 'rb', 0)
        self.command('refresh-client -f no-output -C 200x50')

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        with open(self.path(name), 'w') as file:
            file.write(text)

    def command(self, text):
        """Runs a command in control mode and returns its output."""
        self.process.stdin.write(text.encode() + b'\n')
        self.process.stdin.flush()
        output = None
        for line in self.process.stdout:
            words = line.split()
            is_own = len(words) > 3 and words[3] == b'1'
            if is_own and words[0] == b'%begin':
                output = []
            elif is_own and words[0] == b'%end' and output is not None:
                return b''.join(output)
            elif is_own and words[0] == b'%error':
                break
            elif output is not None:
                output.append(line)
        sys.exit('tmux failed: ' + text)

    def feed(self, piece):
        piece += QUERY
        self.pieces.write(b'%8d' % len(piece) + piece)
        return self.reports.readline()

    def draw(self, piece):
        self.feed(b'\x1b[?1049l\x1bc')
        self.command('clear-history')
        replies = self.feed(piece).strip()
        for reply, expected in REPLIES:
            replies = re.sub(reply, expected, replies)
        rows = self.command('capture-pane -p -S - -t :').split(b'\n')[:-1]
        return Drawn(b'\n'.join(rows[:-ROWS]), b'\n'.join(rows[-ROWS:]),
                     replies)

    def close(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir)


class Boris:
    def __init__(self):
        self.drivers = {}

    def draw(self, piece, seed):
        if seed not in self.drivers:
            self.drivers[seed] = subprocess.Popen(
                [os.path.join(HERE, 'screen'), '-d', str(seed)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        driver = self.drivers[seed]
        driver.stdin.write((piece + QUERY).hex().encode() + b'\n')
        driver.stdin.flush()
        parts = driver.stdout.readline().decode().strip('\n').split(',')
        return Drawn(*map(bytes.fromhex, parts))


class Generator:
    """Makes random sequences. wide: with wide characters, and only such moves
    as do not lead into the middle of one."""
    NARROW = ['a', 'b', 'c', 'Z', '1', ' ', 'é', 'e\u0301', 'hello', 'x' * 60,
              '─']
    WIDE = ['ab', 'é1', '字', '─a', 'hello!']
    SIMPLE = ['\r', '\n', '\r\n', '\b', '\t', '\n\n', '\r\n']
    OTHER = ['\x1b7', '\x1b8', '\x1bD', '\x1bM', '\x1bE', '\x1b[?1049h',
             '\x1b[?1049l', '\x1b[?47h', '\x1b[?47l', '\x1b[1;31m', '\x1b[m',
             '\x1b]0;t\x07', '\x1b[4h', '\x1b[4l', '\x1b[H', '\x1b[2J']

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.wide = False

    def number(self):
        if self.wide:
            return self.random.choice(
                ['2', '4', '10', '40', '50', '198', '200', '998'])
        return self.random.choice(
            ['', '', '0', '1', '2', '3', '5', '7', '10', '49', '50', '51',
             '198', '199', '200', '201', '999'])

    def arguments(self, letter):
        choose = self.random.choice
        if letter in 'Hf' and self.wide:
            return self.number() + ';' + choose(['1', '11', '199'])
        if letter in 'Hfr':
            return self.number() + ';' + self.number()
        if letter == 'J' and self.wide:
            return '2'
        if letter in 'JK':
            return choose(['', '0', '1', '2'])
        if letter in 'su':
            return ''
        if letter == 'G' and self.wide:
            return choose(['1', '3', '21', '199'])
        if letter in 'CDPX@' and self.wide:
            return choose(['2', '4', '6'])
        if letter == '`' and self.wide:
            return '5'
        if letter in '@L':
            return choose(['', '1', '2'])
        return self.number()

    def control(self):
        letter = self.random.choice('ABCDEFGHfdJKKKKJ@PXLMSTrrsu`Zb')
        sequence = '\x1b[' + self.arguments(letter) + letter
        if letter == 'J' and not sequence.endswith(('1J', '2J')):
            return '\x1b[2C' + sequence  # kind 2
        return sequence

    def part(self):
        kind = self.random.random()
        if kind < .35:
            texts = self.WIDE if self.wide else self.NARROW
            return self.random.choice(texts) * self.random.choice([1, 1, 2, 5])
        if kind < .55:
            return self.random.choice(self.SIMPLE)
        if kind < .9:
            return self.control()
        return self.random.choice(self.OTHER)

    def sequence(self):
        """Returns a list of parts without those that are not comparable."""
        self.wide = not self.wide
        parts, alternate, region = [], None, False
        for _ in range(self.random.randint(1, 40)):
            part = self.part()
            if self.wide and (part in ('\b', '\x1b[1K', '\x1b[1J') or
                              part.endswith('Z')):
                continue  # kind 3
            if part in ('\x1b[?1049h', '\x1b[?47h'):
                if alternate:
                    continue
                alternate = part
            if part in ('\x1b[?1049l', '\x1b[?47l'):
                if alternate != part.replace('l', 'h'):
                    continue
                alternate = None
            if part.startswith('\x1b[') and part.endswith('b'):
                if not parts or not ' ' <= parts[-1][-1] < '\x7f' or \
                        parts[-1].startswith('\x1b'):
                    continue  # kind 3
            region = region or part.endswith('r')
            if region and part.startswith('\x1b[') and part.endswith('L'):
                continue  # kind 1
            parts.append(part)
        return parts


class Comparison:
    def __init__(self, seed):
        self.tmux, self.boris = Tmux(), Boris()
        self.random = random.Random(seed)
        self.compared = 0
        self.failed = 0

    def compare(self, name, piece):
        """Draws the bytes on both terminals and prints the differences."""
        expected = self.tmux.draw(piece)
        drawn = self.boris.draw(piece, self.compared % 4)
        differences = expected.differences(drawn)
        if name.split(',')[0] in OTHER_HISTORY and 'history' in differences:
            differences.remove('history')
        self.compared += 1
        self.failed += bool(differences)
        for part in differences:
            print('not ok: %s differs: %s' % (part, name))
            show_difference(getattr(expected, part), getattr(drawn, part))

    def compare_prefixes(self, name, data, count):
        """Compares the bytes, and random prefixes of them."""
        for _ in range(count):
            piece = prefix(data, self.random.randrange(len(data)))
            self.compare('%s, %d bytes' % (name, len(piece)), piece)
        self.compare(name, data)


def show_difference(expected, drawn):
    """Prints the first rows that differ."""
    if isinstance(expected, bytes):
        expected, drawn = [expected], [drawn]
    shown = 0
    for i in range(max(len(expected), len(drawn))):
        pair = [rows[i] if i < len(rows) else None
                for rows in (expected, drawn)]
        if pair[0] != pair[1] and shown < 3:
            print('  row %d\n    tmux:  %s\n    boris: %s' % (i, *pair))
            shown += 1


def main():
    if sys.argv[1:] == ['--encode']:
        print(encode(sys.stdin.buffer.read()), end='')
        return 0
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    comparison = Comparison(seed)
    try:
        return compare_all(comparison, count, seed)
    finally:
        comparison.tmux.close()


def compare_all(comparison, count, seed):
    """Returns whether there are too many differences."""
    for example in EXAMPLES:
        comparison.compare_prefixes(repr(example), example.encode(), 3)
    programs = 0
    for name, data in recordings():
        comparison.compare_prefixes(name, data, 10)
        programs += 1
    print('%d examples and %d programs: %d screens, %d differ' % (
        len(EXAMPLES), programs, comparison.compared, comparison.failed))
    failed = comparison.failed
    generator = Generator(seed)
    for _ in range(count):
        parts = generator.sequence()
        comparison.compare(repr(parts), ''.join(parts).encode())
    differ = comparison.failed - failed
    print('%d random sequences, %d differ' % (count, differ))
    return failed > 0 or differ > count // 5000 + 1


sys.exit(main())
