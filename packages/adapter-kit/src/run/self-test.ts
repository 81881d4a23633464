/**
 * The test that every adapter runs before it starts. A call that policy blocks goes through the wrapped function on a
 * separate ledger. It must not run and must be recorded as blocked.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import { ToolDecision } from 'quittance/internal/runtime/call-options';
import { createMemoryLedger } from 'quittance/internal/store/memory/memory-ledger';
import { describeThrown } from 'quittance/internal/tool/describe-thrown';
import type { AdapterOptions } from '../adopt/adapter-options.ts';

/** The name of the probe, and the session of its call. */
export const probe = {
  name: 'quittance_probe',
  sessionId: 'quittance-self-test',
  callId: 'probe-1',
} as const;

/**
 * Sends the probe. It makes a framework tool with this name and function, and wraps it like a user's tool. Then it
 * runs the tool as the framework would.
 */
export type SendProbe = (
  options: Pick<AdapterOptions, 'ledger' | 'onPreToolUse'>,
  body: () => unknown,
) => Promise<unknown>;

/** Throws `adapter.unsafe` if the probe ran, or if its block is not recorded. */
export async function selfTest(adapter: string, send: SendProbe): Promise<void> {
  const ledger = createMemoryLedger();
  let ran = false;
  let thrown: unknown;
  try {
    await send({ ledger, onPreToolUse: () => ToolDecision.block('This is a test.') }, () => {
      ran = true;
      return 'ran';
    });
  } catch (error) {
    thrown = error;
  }
  const stored = await ledger.readCall(probe.sessionId, probe.callId);
  const end = stored?.events.findLast(({ type }) => type === 'tool.responded');
  const isBlocked = end?.type === 'tool.responded' && end.outcome.type === 'ToolDenied';
  if (!ran && isBlocked) return;
  const found = ran
    ? 'a call that policy blocks still ran'
    : `a call that policy blocks never reached the ledger${thrown === undefined ? '' : `: ${describeThrown(thrown)}`}`;
  throw new QuittanceError(
    'adapter.unsafe',
    `The adapter ${adapter} refuses to start: in its self-test ${found}. This version of the ` +
      'framework does not run tools in the way the adapter expects. Use a version listed on the page of ' +
      'the adapter, and report this.',
    { adapter },
    thrown,
  );
}
