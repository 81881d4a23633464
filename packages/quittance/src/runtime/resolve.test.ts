import { defineTool } from 'quittance';
import { describe, expect, it } from 'vitest';
import { envelope, eventTypes, setStage } from '../../../../test/stage.ts';

const tools = ['refund', 'lookup', 'list_orders'].map((name) => defineTool({ name, run: () => name }));

describe('a call of an unknown tool', () => {
  it('fails with the nearest names and runs nothing', async () => {
    const { runtime, turn } = setStage({ tools });
    expect(await turn.call(envelope('c', 'refnd'))).toMatchObject({
      type: 'ToolFailure',
      code: 'tool.unknown',
      retryable: false,
      error: 'No tool named "refnd". Known tools: refund, lookup, list_orders, read_artifact.',
    });
    const [record] = await runtime.calls.audit({ sessionId: 's', callId: 'c' });
    expect(record).toMatchObject({ attempt: 0, toolName: 'refnd', outcome: { kind: 'completed' } });
    expect(await eventTypes(runtime, 'c')).toEqual(['tool.requested', 'tool.decided', 'tool.responded']);
  });

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'then'])(
    'fails for %s, which every object inherits and no runtime has',
    async (name) => {
      const { turn } = setStage({ tools });
      expect(await turn.call(envelope('c', name))).toMatchObject({ code: 'tool.unknown' });
      expect(Reflect.get(turn.run, name)).toBeUndefined();
      expect(name in turn.run).toBe(false);
    },
  );

  it('does not block any tool for the rest of the turn', async () => {
    const { turn } = setStage({ tools });
    await turn.call(envelope('a', 'refnd'));
    expect(await turn.call(envelope('b', 'refnd'))).toMatchObject({ code: 'tool.unknown' });
    expect(await turn.call(envelope('c', 'refund'))).toMatchObject({ type: 'ToolExecutionResult' });
  });

  it('fails with a short message, however long the name is', async () => {
    const { turn } = setStage({ tools });
    const outcome = await turn.call(envelope('c', 'x'.repeat(1_000)));
    expect('error' in outcome && outcome.error.length).toBeLessThan(300);
  });

  it('is found before every other check: even in an ended turn the outcome says that the name is wrong', async () => {
    const { turn } = setStage({ tools });
    await turn.end();
    expect(await turn.call(envelope('c', 'refnd'))).toMatchObject({ code: 'tool.unknown' });
  });
});
