import { expect, test } from 'vitest';
import {
  changeView,
  labelOfValue,
  readView,
  toQuery,
  viewAddress,
  viewKey,
} from '../../packages/console/src/pages/calls/calls-view.ts';
import { readRoute } from '../../packages/console/src/route.ts';

const read = (address: string): ReturnType<typeof readView> => readView(readRoute(address).query);

test('a view is restored from its address, whatever it contains', () => {
  const view = { search: 'a&b=c #%?/ü\u202E', toolName: '<b>', sessionId: '__proto__', within: '1h' };
  expect(read(viewAddress(view))).toEqual(view);
});

test('unknown parts of an address are dropped', () => {
  expect(read('/calls?outcome=ToolFailure&constructor=x&limit=5&search=')).toEqual({
    outcome: 'ToolFailure',
  });
});

test('the same view has one key, in any order', () => {
  expect(viewKey({ code: 'x', mode: 'read' })).toBe(viewKey({ mode: 'read', code: 'x' }));
  expect(viewKey({ code: 'x' })).not.toBe(viewKey({ mode: 'x' }));
});

test('a filter is set, changed and removed without touching the others', () => {
  const view = changeView({ mode: 'read' }, { toolName: 'refund' });
  expect(view).toEqual({ mode: 'read', toolName: 'refund' });
  expect(changeView(view, { mode: undefined })).toEqual({ toolName: 'refund' });
  expect(changeView(view, { search: '' })).toEqual(view);
});

test('a time span is requested in whole minutes, and an invalid one not at all', () => {
  const now = 10_000_000_000;
  expect(toQuery({ within: '1h', mode: 'read' }, now)).toEqual({ mode: 'read', since: 9_996_360_000 });
  expect(toQuery({ within: '1h' }, now + 10)).toEqual(toQuery({ within: '1h' }, now));
  expect(toQuery({ within: 'constructor' }, now)).toEqual({});
});

test('values are shown as words if there are any', () => {
  expect(labelOfValue('outcome', 'ToolDenied')).toBe('denied');
  expect(labelOfValue('outcome', 'toString')).toBe('toString');
  expect(labelOfValue('mode', 'safe_write')).toBe('safe write');
  expect(labelOfValue('within', 'valueOf')).toBe('valueOf');
});
