/** The tools of the chaos run. They record effects through one descriptor that is open from the start. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AnyTool, ToolContext } from 'quittance';
import { defineTool, ToolError } from 'quittance';

/** `note` has the effect; `random` returns whole numbers below its argument. */
export function makeTools(
  note: (key: string) => void,
  random: (below: number) => number,
): readonly AnyTool[] {
  const act = async (args: unknown, { sessionId, callId }: ToolContext): Promise<object> => {
    const { key = `${sessionId}/${callId}` } = args as { readonly key?: string };
    await sleep(random(4));
    if (random(20) === 0) throw new ToolError('tool.reported_error', 'The door is closed.');
    note(key);
    await sleep(random(8));
    return { done: key };
  };
  const unlimited = { loopLimit: 1_000_000_000, rerun: 'deny' } as const;
  return [
    defineTool({ name: 'pay', mode: 'external', ...unlimited, run: act }),
    defineTool({
      name: 'order',
      mode: 'external',
      ...unlimited,
      idempotencyScope: 'ledger',
      idempotencyKey: (args) => (args as { readonly key: string }).key,
      run: act,
    }),
    defineTool({ name: 'put', mode: 'external', loopLimit: 1_000_000_000, idempotent: true, run: act }),
    defineTool({ name: 'get_it', mode: 'read', loopLimit: 1_000_000_000, costMicros: 1, run: act }),
    defineTool({ name: 'delete_it', mode: 'destructive', ...unlimited, run: act }),
    defineTool({ name: 'ship', mode: 'external', handoff: true, loopLimit: 1_000_000_000, timeoutMs: 5_000 }),
    defineTool({
      name: 'print_it',
      mode: 'external',
      ...unlimited,
      run: async (args, context) => ({ ...(await act(args, context)), pages: 'x'.repeat(15_000) }),
    }),
  ];
}
