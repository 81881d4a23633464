/** The machine of a PostgreSQL owner, by the note that it left in the ledger. */
import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { readPlace, showProcessMark } from '../../packages/quittance/src/store/files/system-process.ts';

const boot = '3f0c6f3e-1d7b-4b5a-9b1e-2f6f4f0a1b2c';
const otherBoot = 'aaaa6f3e-1d7b-4b5a-9b1e-2f6f4f0a1b2c';
const own = { pid: 7, startedAt: '100', namespace: 'pid:[4026531836]', boot };
const owner = { pid: 4711, startedAt: '1089277', namespace: 'pid:[4026531836]', boot };
const { boot: _, ...old } = owner;

test('an owner on the same running system counts, whatever its host is called', () => {
  for (const host of [hostname(), 'renamed', 'container-7'])
    expect(readPlace(`${host} ${showProcessMark(owner)}`, own)).toEqual(owner);
});

test('an owner on another machine does not count, even if its host has the same name', () => {
  for (const host of [hostname(), 'web-1'])
    expect(readPlace(`${host} ${showProcessMark({ ...owner, boot: otherBoot })}`, own)).toBe('elsewhere');
  expect(readPlace('windows-box', own)).toBe('elsewhere');
});

test('an owner of an earlier version counts by its host, and elsewhere only as a process above', () => {
  expect(readPlace(`${hostname()} ${showProcessMark(old)}`, own)).toEqual(old);
  expect(readPlace(`web-1 ${showProcessMark(old)}`, own)).toEqual({ pid: 4711, startedAt: '1089277' });
});

test('an owner without a readable mark may be anywhere on this machine', () => {
  for (const note of ['', hostname(), `${hostname()} x`, 'web-1 x y', `web-1 ${'?'.repeat(9)}`])
    expect(readPlace(note, own)).toBeUndefined();
});
