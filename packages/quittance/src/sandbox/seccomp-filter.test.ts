import { describe, expect, test } from 'vitest';
import { createSeccompFilter } from './run-sandboxed.ts';

const allowed = 0x7fff0000;
const refused = 0x00050001;
const killed = 0x80000000;

/** Runs the filter as the kernel does. */
function judge(
  filter: Buffer,
  { number, words = [], architecture }: { number: number; words?: readonly number[]; architecture: number },
): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(architecture, 4);
  for (const [index, word] of words.entries())
    data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(word)), 16 + 8 * index);
  let value = 0;
  for (let at = 0; at < filter.length / 8; at++) {
    const code = filter.readUInt16LE(at * 8);
    const [ifTrue, ifFalse] = [filter.readUInt8(at * 8 + 2), filter.readUInt8(at * 8 + 3)];
    const operand = filter.readUInt32LE(at * 8 + 4);
    if (code === 0x20) value = data.readUInt32LE(operand);
    else if (code === 0x54) value = (value & operand) >>> 0;
    else if (code === 0x05) at += operand;
    else if (code === 0x15) at += value === operand ? ifTrue : ifFalse;
    else if (code === 0x35) at += value >= operand ? ifTrue : ifFalse;
    else if (code === 0x06) return operand;
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error('the program has no end');
}

const machines = [
  { name: 'x64', architecture: 0xc000003e, socket: 41, pair: 53, ioctl: 16, keyctl: 250, read: 0 },
  { name: 'arm64', architecture: 0xc00000b7, socket: 198, pair: 199, ioctl: 29, keyctl: 219, read: 63 },
];

describe.each(machines)(
  'the filter of $name',
  ({ name, architecture, socket, pair, ioctl, keyctl, read }) => {
    const filter = createSeccompFilter(name);
    const ask = (number: number, ...words: readonly number[]): number =>
      judge(filter, { number, words, architecture });

    test('allows ordinary calls and network sockets', () => {
      expect([ask(read), ask(socket, 2, 1), ask(socket, 10, 2), ask(socket, 16, 3)]).toEqual(
        Array(4).fill(allowed),
      );
    });

    test('refuses Unix sockets and families without a namespace', () => {
      expect([1, 17, 38, 40].map((family) => ask(socket, family, 1))).toEqual(Array(4).fill(refused));
    });

    test('reads the family as the kernel does: the lower half of the argument', () => {
      expect(judge(filter, { number: socket, words: [2 ** 32 + 1], architecture })).toBe(refused);
    });

    test('allows pairs of stream sockets with any flags, and no other pairs', () => {
      expect([ask(pair, 1, 1), ask(pair, 1, 1 | 0o2004000)]).toEqual([allowed, allowed]);
      expect([ask(pair, 1, 2), ask(pair, 1, 2 | 0o2004000), ask(pair, 1, 5), ask(pair, 2, 1)]).toEqual(
        Array(4).fill(refused),
      );
    });

    test('refuses keyrings, io_uring and input for terminals', () => {
      expect([
        ask(keyctl),
        ask(425),
        ask(426),
        ask(427),
        ask(ioctl, 0, 0x5412),
        ask(ioctl, 0, 0x541c),
      ]).toEqual(Array(6).fill(refused));
      expect(ask(ioctl, 0, 0x5401)).toBe(allowed);
    });

    test('ends programs of another architecture, and refuses numbers of x32', () => {
      expect(judge(filter, { number: read, architecture: 0x40000003 })).toBe(killed);
      expect(ask(0x40000000 + read)).toBe(refused);
    });
  },
);

test('a processor without a table is refused with the remedy', () => {
  expect(() => createSeccompFilter('riscv64')).toThrow(/x64 and arm64.*container/);
});
