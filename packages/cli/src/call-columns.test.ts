import { expect, test } from 'vitest';
import type { CallSummary } from 'quittance/internal/ledger/call-query';
import { callColumns, callRow } from './call-columns.ts';
import { layOutTable } from './table.ts';
import { textWidth } from './text-width.ts';

const now = 1_790_000_000_000;
const summary = (call: Partial<CallSummary>): CallSummary => ({
  sessionId: 'ticket-42',
  callId: 'toolu_01A09q90qw90lq917835lq9',
  turnId: 'turn_1',
  toolName: 'refund',
  mode: 'external',
  modeOrigin: 'declared',
  status: 'settled',
  outcome: 'ToolExecutionResult',
  reason: undefined,
  code: undefined,
  message: undefined,
  inputDigest: undefined,
  attempts: 1,
  unresolved: false,
  requestedAt: now - 180_000,
  settledAt: now - 179_000,
  elapsedMs: 12.4,
  costMicros: 0,
  userId: undefined,
  ruleId: undefined,
  args: undefined,
  ...call,
});
const calls: readonly CallSummary[] = [
  summary({
    requestedAt: now - 400,
    status: 'running',
    outcome: undefined,
    elapsedMs: undefined,
    sessionId: '退款-7',
    args: {
      order: 'A-1001',
      cents: 1200,
      note: 'a note that goes on until the end of the column and further',
    },
  }),
  summary({
    callId: 'call_7\u001b[2J',
    toolName: 'delete_everything_there_is',
    outcome: 'ToolDenied',
    code: 'confirmation.rejected',
    message: 'Denied by Ada: not on a Sunday.',
    mode: 'destructive',
    args: { to: 'shop\u001b[2J', token: '[secret]' },
  }),
  summary({
    requestedAt: now - 90_000_000,
    outcome: 'ToolTimeout',
    code: 'tool.timeout',
    unresolved: true,
    elapsedMs: 300_000,
    message: 'Tool "refund" did not finish before its deadline; it was stopped after 300000 ms.',
  }),
];

const draw = (width: number): string => {
  const rows = calls.map((call) => callRow(call, now));
  const table = layOutTable(callColumns, rows, width, (_, text) => text);
  const lines = [table.heading(), ...rows.map(table.line)];
  for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(width);
  return `\n${lines.join('\n')}\n`;
};

test('a table of calls in 80, 100 and 140 columns', () => {
  expect(draw(80)).toMatchInlineSnapshot(`
    "
    AGE     CALL            TOOL          STATUS       WHY             ARGUMENTS
    now     toolu_01A09q9…  refund        running                      order: A-100…
    3 min   call_7\\u001b[…  delete_ever…  denied       confirmation.…  to: "shop\\u0…
    25 h    toolu_01A09q9…  refund        timed out ?  tool.timeout
    "
  `);
  expect(draw(100)).toMatchInlineSnapshot(`
    "
    AGE     CALL             TOOL             STATUS            TOOK  WHY               ARGUMENTS
    now     toolu_01A09q90…  refund           running                                   order: A-1001, …
    3 min   call_7\\u001b[2J  delete_everyth…  denied           12 ms  confirmation.re…  to: "shop\\u001b…
    25 h    toolu_01A09q90…  refund           timed out ?  5 min 0 s  tool.timeout
    "
  `);
  expect(draw(140)).toMatchInlineSnapshot(`
    "
    AGE     CALL            TOOL            STATUS            TOOK  WHY             SESSION    MODE         ARGUMENTS       MESSAGE
    now     toolu_01A09q9…  refund          running                                 退款-7     external     order: A-1001…
    3 min   call_7\\u001b[…  delete_everyt…  denied           12 ms  confirmation.…  ticket-42  destructive  to: "shop\\u00…  Denied by Ada: not …
    25 h    toolu_01A09q9…  refund          timed out ?  5 min 0 s  tool.timeout    ticket-42  external                     Tool "refund" did n…
    "
  `);
});

test('is complete without a width limit, and survives the narrowest one', () => {
  expect(draw(Number.POSITIVE_INFINITY)).toContain('it was stopped after 300000 ms.');
  expect(draw(52)).toContain('denied');
});

test('ids that begin alike are cut no further than they differ', () => {
  const alike = ['call_890ae9eb1x', 'call_890ae9eb1y', 'call_890ae9eb2'].map((callId) =>
    summary({
      callId,
      toolName: 'get_exchange_rate',
      code: 'tool.network_error',
      message: 'The bank did not answer.',
    }),
  );
  for (const width of [44, 80, 120]) {
    const rows = alike.map((call) => callRow(call, now));
    const lines = rows.map(layOutTable(callColumns, rows, width, (_, text) => text).line);
    expect(lines.map((line) => line.split(/  +/)[1])).toEqual(alike.map(({ callId }) => callId));
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(width);
  }
});
