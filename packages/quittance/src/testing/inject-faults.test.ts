import { createRuntime, defineTool } from 'quittance';
import { describe, expect, test } from 'vitest';
import { envelope, eventTypes, expectSettledOnce, quiet, setStage } from '../../../../test/stage.ts';
import type { Fault, FaultName } from './inject-faults.ts';
import { faultNames, injectFaults } from './inject-faults.ts';

function stageWith(faults: readonly Fault[], ran: string[] = []) {
  const pay = defineTool({
    name: 'pay',
    mode: 'external',
    timeoutMs: 100,
    rerun: 'allow',
    run: () => {
      ran.push('pay');
      return { paid: true };
    },
  });
  return setStage({ tools: [injectFaults(pay, faults)] });
}

const expected: Readonly<Record<FaultName, { readonly code: string | undefined; readonly ran: number }>> = {
  timeout: { code: 'tool.timeout', ran: 0 },
  network_error: { code: 'tool.network_error', ran: 0 },
  network_error_after: { code: 'tool.network_error', ran: 1 },
  invalid_output: { code: 'tool.invalid_output', ran: 1 },
  late_result: { code: 'tool.timeout', ran: 1 },
  crash: { code: 'tool.timeout', ran: 1 },
  throws_undefined: { code: 'tool.execution_error', ran: 0 },
  settles_twice: { code: undefined, ran: 1 },
  reported_error: { code: 'tool.reported_error', ran: 0 },
};

describe('a fault', () => {
  test.each(faultNames)('named %s ends the call once, with the right outcome', async (fault) => {
    const ran: string[] = [];
    const { clock, turn, runtime } = stageWith([{ on: 1, fault }], ran);
    const asked = turn.call(envelope('c', 'pay'));
    await quiet();
    clock.advance(100);
    const outcome = await asked;
    await quiet();
    expect({ code: 'code' in outcome ? outcome.code : undefined, ran: ran.length }).toEqual(expected[fault]);
    expect((await eventTypes(runtime, 'c')).includes('tool.late')).toBe(fault === 'late_result');
    await expectSettledOnce(runtime);
  });

  test('happens in the selected runs, and the tool is unchanged in the others', async () => {
    const { turn } = stageWith([
      { on: [1, 3], fault: 'network_error' },
      { on: (args) => (args as { bad?: boolean }).bad === true, fault: 'reported_error' },
    ]);
    const codes: unknown[] = [];
    for (const [index, args] of [{ a: 1 }, { a: 2 }, { a: 3 }, { bad: true }].entries()) {
      const outcome = await turn.call(envelope(`c${index}`, 'pay', args));
      codes.push('code' in outcome ? outcome.code : outcome.type);
    }
    expect(codes).toEqual([
      'tool.network_error',
      'ToolExecutionResult',
      'tool.network_error',
      'tool.reported_error',
    ]);
  });

  test('may be your own function, which receives the real one', async () => {
    const { turn } = stageWith([{ fault: async (_, __, run) => ({ really: await run() }) }]);
    expect(await turn.call(envelope('c', 'pay'))).toMatchObject({ output: { really: { paid: true } } });
  });

  test('a fault with an unknown name is refused by that name', () => {
    const tool = defineTool({ name: 'pay', run: () => 1 });
    expect(() => injectFaults(tool, [{ fault: 'tmeout' as FaultName }])).toThrow(/fault.*"tmeout".*timeout/s);
    expect(() => createRuntime({ tools: [injectFaults(tool, [])] })).not.toThrow();
  });
});
