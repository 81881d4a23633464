import { describe, expect, test } from 'vitest';
import { denialReasons } from './outcome.ts';
import { isReasonCode, reasonCodes, reasonOf, reasonTable } from './reason.ts';

const retryable = [
  'tool.timeout',
  'tool.network_error',
  'tool.execution_error',
  'tool.reported_error',
  'tool.cancelled',
  'ledger.unavailable',
];
const denials = Object.values(denialReasons).flatMap(({ codes }) => codes);

describe('the reason table', () => {
  test('holds every code once, the retryable ones first', () => {
    expect(reasonCodes).toEqual([
      ...retryable,
      'tool.invalid_input',
      'tool.invalid_output',
      'tool.unknown',
      'tool.fixture_missing',
      'tool.indeterminate',
      'ledger.altered',
      'policy.hook',
      'policy.contract',
      'policy.output',
      'policy.protected',
      'budget.tool_calls_exhausted',
      'budget.cost_exhausted',
      'call.duplicate',
      'call.loop',
      'call.twin',
      'call.blocked',
      'call.conflict',
      'turn.deadline',
      'turn.ended',
      'confirmation.rejected',
      'confirmation.answered',
      'confirmation.expired',
      'preview.failed',
    ]);
  });

  test.each(reasonCodes)('%s says whether it may be retried', (code) => {
    expect(reasonOf(code).retryable).toBe(retryable.includes(code));
  });

  test.each(reasonCodes)(
    '%s says in whole sentences what happened, why it matters and what to do',
    (code) => {
      const { title, whatHappened, whyItMatters, whatToDo } = reasonOf(code);
      for (const prose of [whatHappened, whyItMatters, whatToDo]) expect(prose).toMatch(/^[A-Z][^]*\.$/);
      expect(title).toMatch(/^[A-Z][^]*[^.]$/);
    },
  );

  test('a failure that may not be retried blocks its tool, except for six codes that do not concern it', () => {
    const failures = reasonCodes.filter((code) => !denials.includes(code) || code === 'tool.invalid_input');
    expect(failures.filter((code) => !reasonOf(code).blocksTool)).toEqual([
      'tool.invalid_output',
      'tool.unknown',
      'tool.fixture_missing',
      'tool.indeterminate',
      'ledger.altered',
      'policy.output',
    ]);
  });

  test('a denial never blocks a tool', () => {
    const denialsOnly = denials.filter((code) => code !== 'tool.invalid_input');
    expect(denialsOnly.filter((code) => reasonOf(code).blocksTool)).toEqual([]);
  });

  test('only an exhausted budget and an ended turn end the turn', () => {
    expect(reasonCodes.filter((code) => reasonOf(code).terminal)).toEqual([
      'budget.tool_calls_exhausted',
      'budget.cost_exhausted',
      'turn.deadline',
      'turn.ended',
    ]);
  });

  test('names are looked up among own keys only', () => {
    expect(isReasonCode('tool.timeout')).toBe(true);
    for (const other of ['tool.Timeout', 'toString', '__proto__', '', null, 7])
      expect(isReasonCode(other)).toBe(false);
  });

  test('is immutable', () => {
    expect(Object.isFrozen(reasonTable) && Object.values(reasonTable).every(Object.isFrozen)).toBe(true);
  });
});
