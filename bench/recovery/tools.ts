/** The tools of the measurement. Their code depends on the process: it hangs in the one that is killed. */
import type { AnyTool } from 'quittance';
import { defineTool, ToolDecision } from 'quittance';
import type { PreToolUse } from 'quittance/runtime';
import { z } from 'zod';

/** A call is left open in each of these states, in equal shares. */
export const states = ['requested', 'approved', 'held', 'handed off', 'effect begun', 'read begun'] as const;
export type State = (typeof states)[number];

export const toolOf: { readonly [Name in State]: string } = {
  requested: 'note_order',
  approved: 'refund_order',
  held: 'cancel_order',
  'handed off': 'ship_order',
  'effect begun': 'charge_card',
  'read begun': 'get_order',
};

const input = z.object({ order: z.string(), cents: z.number() });
/** No hanging tool may time out while the other calls are left open. */
const timeoutMs = 3_600_000;

export function makeTools(run: (args: unknown) => unknown): readonly AnyTool[] {
  return [
    defineTool({ name: 'note_order', mode: 'external', idempotent: true, input, timeoutMs, run }),
    defineTool({ name: 'refund_order', mode: 'external', input, timeoutMs, run }),
    defineTool({ name: 'cancel_order', mode: 'external', input, timeoutMs, run }),
    defineTool({ name: 'ship_order', mode: 'external', timeoutMs, input, handoff: true }),
    defineTool({ name: 'charge_card', mode: 'external', input, timeoutMs, run }),
    defineTool({ name: 'get_order', mode: 'read', costMicros: 1, input, timeoutMs, run }),
    defineTool({ name: 'ping', mode: 'external', loopLimit: 1e9, input, timeoutMs, run }),
  ];
}

const asking: ReadonlySet<string> = new Set([toolOf.approved, toolOf.held]);

/** Requests approval for some calls. `look` runs first and may never answer. */
export const makeHook =
  (look: (toolName: string, callId: string) => Promise<void> | undefined): PreToolUse =>
  async ({ toolName, callId }) => {
    await look(toolName, callId);
    return asking.has(toolName) ? ToolDecision.requiresConfirmation('Is it right?') : ToolDecision.allow;
  };

export const budgets = [{ scope: 'everybody', costMicros: 1_000_000_000 }] as const;
