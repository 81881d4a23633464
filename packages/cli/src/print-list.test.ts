import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { Page } from 'quittance/internal/ledger/call-query';
import { toCursor } from 'quittance/internal/ledger/call-query';
import type { Context, Given } from './command.ts';
import { printList } from './print-list.ts';
import { SearchProgress } from './search-progress.ts';
import { createTerminal } from './terminal.ts';

type Asked = { readonly limit?: number; readonly cursor?: string | undefined; readonly scan?: number };

/** Prints a list whose pages are given, and ends the output. */
async function printPages(
  ask: (asked: Asked, stop: AbortController) => Page<number>,
  options: Readonly<Record<string, string | true>> = {},
) {
  const stop = new AbortController();
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const texts = Promise.all([text(stdout), text(stderr)]);
  const given: Given = {
    args: [],
    has: (name) => options[name] !== undefined,
    text: (name) => (typeof options[name] === 'string' ? options[name] : undefined),
    list: () => [],
    count: (name) => (typeof options[name] === 'string' ? Number(options[name]) : undefined),
  };
  const code = await printList<number, Asked>(
    {
      ask: async (asked) => ask(asked, stop),
      query: {},
      columns: [{ title: 'NUMBER' }],
      toRow: (item) => [String(item)],
      toJson: (item) => ({ item }),
      none: 'None.',
    },
    given,
    {
      out: createTerminal(stdout, {}, stop.signal),
      err: createTerminal(stderr, {}, stop.signal),
      signal: stop.signal,
    } as Context,
  );
  stdout.end();
  stderr.end();
  const [out, err] = await texts;
  return { code, out, err };
}

test('a search examines a bounded number of rows at a time, and goes on after pages without rows', async () => {
  const scans: (number | undefined)[] = [];
  const { out, err } = await printPages(({ scan, cursor }) => {
    scans.push(scan);
    if (cursor === undefined) return { rows: [], next: toCursor([20, 2]) };
    return cursor === toCursor([20, 2])
      ? { rows: [7], next: toCursor([10, 1]) }
      : { rows: [123_456], next: undefined };
  });
  expect(scans.every((scan) => scan !== undefined && scan <= 10_000)).toBe(true);
  expect(scans).toHaveLength(3);
  // The widths come from all rows that were found soon.
  expect(out).toBe('NUMBER\n7\n123456\n');
  expect(err).toBe('');
});

test('Ctrl-C ends a search: what was found is printed, with the place to continue from', async () => {
  let asked = 0;
  const { code, out, err } = await printPages((_, stop) => {
    if (++asked === 3) stop.abort();
    return { rows: asked === 1 ? [7] : [], next: toCursor([60_000, asked]) };
  });
  expect(asked).toBe(3);
  expect(code).toBe(0);
  expect(out).toBe('NUMBER\n7\n');
  expect(err).toMatch(
    new RegExp(`^Stopped: searched back to .*, 1 shown\\. To continue: --cursor ${toCursor([60_000, 3])}\n$`),
  );
});

test('a slow search says how far it is, on one line of a terminal', async () => {
  const stream = new PassThrough();
  const all = text(stream);
  let nowMs = 0;
  const err = createTerminal(
    Object.assign(stream, { isTTY: true, columns: 80 }),
    { NO_COLOR: '1' },
    new AbortController().signal,
  );
  const progress = new SearchProgress(err, () => nowMs);
  await progress.reached(0);
  nowMs = 5_000;
  await progress.reached(0);
  await progress.reached(0);
  await progress.clear();
  await progress.clear();
  stream.end();
  const eraseLine = '\u001B[K';
  const [drawn = '', cleared, ...more] = (await all).split(eraseLine);
  expect(drawn).toMatch(/^\rSearched back to \S+ \S+\. Press Ctrl-C to stop\.$/);
  expect([cleared, ...more]).toEqual(['\r', '']);
});
