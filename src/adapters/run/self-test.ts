/**
 * The test every adapter makes before it starts: a call that policy blocks, sent through the wrapped function on a
 * ledger of its own, must not run and must be on record as blocked.
 */
import { QuittanceError } from '../../base/error.ts';
import { ToolDecision } from '../../runtime/host/tool-decision.ts';
import { createMemoryLedger } from '../../store/memory/memory-ledger.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { AdapterOptions } from '../adopt/adapter-options.ts';

/** What the probe is called, and the session its call must be made in. */
export const probe = {
  name: 'quittance_probe',
  sessionId: 'quittance-self-test',
  callId: 'probe-1',
} as const;

/**
 * Sends the probe: makes a tool of the framework with this name and this body, wraps it by the function that wraps the
 * tools of users, with these options, and has it run as the framework would.
 */
export type SendProbe = (
  options: Pick<AdapterOptions, 'ledger' | 'onPreToolUse'>,
  body: () => unknown,
) => Promise<unknown>;

/** Throws `adapter.unsafe` where the probe ran, or where nothing says that it was blocked. */
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
  const stored = await ledger.journal.readCall(probe.sessionId, probe.callId);
  const end = stored?.events.findLast(({ type }) => type === 'tool.responded');
  const isBlocked = end?.type === 'tool.responded' && end.outcome.type === 'ToolDenied';
  if (!ran && isBlocked) return;
  const found = ran
    ? 'a call that policy blocks ran all the same'
    : `a call that policy blocks never reached the ledger${thrown === undefined ? '' : `: ${describeThrown(thrown)}`}`;
  throw new QuittanceError(
    'adapter.unsafe',
    `The adapter ${adapter} refuses to start: in its self-test ${found}. This version of the framework does not run ` +
      'tools the way the adapter wraps them. Use a version named on the page of the adapter, and report this.',
    { adapter },
    thrown,
  );
}
