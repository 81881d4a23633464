import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { LineBuffer } from './line-buffer.ts';

const notice = (data: string): string =>
  JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } });

const readAll = (buffer: LineBuffer): readonly unknown[] => {
  const found: unknown[] = [];
  for (let message = buffer.readMessage(); message !== null; message = buffer.readMessage())
    found.push('params' in message ? message.params?.['data'] : message);
  return found;
};

/** Bytes that are in use after a collection. */
function measureMemory(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('the buffer of a pipe', () => {
  it('finds the messages wherever the parts are cut', () => {
    const text = Buffer.from(`${notice('a')}\nnot JSON\n\n${notice('ü€😀')}\r\n${notice('c')}\n`);
    for (const size of [1, 2, 7, 64, text.length]) {
      const buffer = new LineBuffer(1_000);
      const found: unknown[] = [];
      for (let at = 0; at < text.length; at += size) {
        buffer.append(text.subarray(at, at + size));
        found.push(...readAll(buffer));
      }
      expect(found).toEqual(['a', 'ü€😀', 'c']);
    }
  });

  it('refuses a line that is too long, and no number of short ones', () => {
    const buffer = new LineBuffer(1_000);
    for (let i = 0; i < 100; i++) buffer.append(Buffer.from(`${notice('a')}\n`));
    expect(readAll(buffer)).toHaveLength(100);
    buffer.append(Buffer.alloc(1_000, 'x'));
    expect(() => buffer.append(Buffer.from('x'))).toThrow('longer than 1000 bytes');
  });

  it('does not read a long line again with each byte that arrives', () => {
    const drip = (buffer: LineBuffer): number => {
      const started = process.cpuUsage();
      for (let i = 0; i < 2_000; i++) {
        buffer.append(Buffer.from('x'));
        expect(buffer.readMessage()).toBeNull();
      }
      return process.cpuUsage(started).user + 1_000;
    };
    drip(new LineBuffer(1_000_000));
    const long = new LineBuffer(64 * 1_048_576);
    long.append(Buffer.alloc(32 * 1_048_576, 'x'));
    expect(drip(long)).toBeLessThan(50 * drip(new LineBuffer(1_000_000)));
  });

  it('takes no more memory for a line that arrives byte by byte than the line has', () => {
    const buffer = new LineBuffer(64 * 1_048_576);
    const size = 500_000;
    const before = measureMemory();
    // A chunk of a pipe has memory of its own.
    for (let i = 0; i < size; i++) buffer.append(Buffer.allocUnsafeSlow(1));
    const taken = measureMemory() - before;
    expect(buffer.readMessage()).toBeNull();
    expect(taken).toBeLessThan(10 * size);
  });
});
