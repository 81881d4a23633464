import { alterLedger } from '../../../../test/alter-ledger.ts';
import { createMemoryLedger } from 'quittance/internal/store/memory/memory-ledger';
import type { CallTally } from 'quittance/internal/ledger/call-tally';
import { expect, test } from 'vitest';
import { createRedactor } from 'quittance/internal/base/redaction';
import { anonymous } from './actor.ts';
import { countLedger } from './count-ledger.ts';
import { Metrics } from './metrics.ts';
import type { Service } from './service.ts';
import { writeMetrics } from './routes/health-routes.ts';

test('no count decreases when another tool becomes more frequent than those counted together', async () => {
  const calls = new Map(Array.from({ length: 250 }, (_, index) => [`tool_${index}`, 1_000 - index]));
  const tallyCalls = () =>
    Promise.resolve(
      [...calls].map(([toolName, count]) => ({
        toolName,
        outcome: 'ToolExecutionResult',
        code: '',
        calls: count,
        unresolved: 0,
        costMicros: 0,
      })),
    );
  const ledger = alterLedger(createMemoryLedger(), {
    rows: { tallies: async () => ({ rows: (await tallyCalls()) as CallTally[], next: undefined }) },
  });
  // Only the parts that the page uses.
  const service = {
    reader: {
      value: (_: 'counts', { common }: { common: readonly string[] }) => countLedger(ledger, common),
    },
    followers: { count: 0 },
    jobs: { running: 0 },
    metrics: new Metrics(),
    runtime: { redactor: createRedactor() },
  } as unknown as Service;
  const asked = { actor: anonymous, headers: new Headers(), signal: new AbortController().signal };
  const read = async (): Promise<Map<string, number>> =>
    new Map(
      [
        ...(await writeMetrics(service, asked)).matchAll(
          /^quittance_calls_total\{tool="([^"]+)".*\} (\d+)$/gm,
        ),
      ].map(([, tool = '', count]) => [tool, Number(count)]),
    );
  const before = await read();
  expect([before.size, before.get('(others)')]).toEqual([201, 50 * 800 - (50 * 49) / 2]);
  calls.set('tool_249', 5_000);
  calls.set('tool_new', 5_000);
  const after = await read();
  expect(after.size).toBe(201);
  for (const [tool, count] of before) expect([tool, (after.get(tool) ?? 0) >= count]).toEqual([tool, true]);
});

test('[secrets-stay-out] a tool name that the redaction of the runtime hides is masked in every label', async () => {
  const tally = { outcome: 'ToolExecutionResult', code: '', calls: 1, unresolved: 0, costMicros: 0, bin: 3 };
  const ledger = alterLedger(createMemoryLedger(), {
    rows: {
      tallies: () =>
        Promise.resolve({ rows: [{ ...tally, toolName: 'pay_CUSTOMER-42' } as CallTally], next: undefined }),
    },
  });
  // Only the parts that the page uses.
  const service = {
    reader: { value: () => countLedger(ledger, []) },
    followers: { count: 0 },
    jobs: { running: 0 },
    metrics: new Metrics(),
    runtime: { redactor: createRedactor({ patterns: [{ name: 'customer', pattern: /CUSTOMER-\d+/ }] }) },
  } as unknown as Service;
  const asked = { actor: anonymous, headers: new Headers(), signal: new AbortController().signal };
  const page = await writeMetrics(service, asked);
  expect(page).not.toContain('CUSTOMER');
  expect(page).toMatch(/quittance_calls_total\{tool="\[REDACTED\]~[\da-f]{6}"/);
  expect(page).toMatch(/quittance_tool_duration_seconds_count\{tool="\[REDACTED\]~[\da-f]{6}"/);
});
