/**
 * Runs many calls at once with the same result as one after the other. Reads run in parallel. Any other call
 * waits for earlier calls that touch the same resources or do not declare theirs. Later calls wait for it
 * likewise, and a held call keeps its position. Answers come back in call order.
 *
 * With `ifHeld: 'return'` nothing waits for a person. A call behind a held one is not made. If it needs an approval
 * too, the person is asked at once. A call between them that needs none must run first: then the question comes later.
 */
import type { ToolOutcome } from '../../call/outcome.ts';
import type { ParsedToolCall } from '../../call/tool-call.ts';
import { coerce } from '../../tool/coerce.ts';
import type { JsonObject } from '../../base/json.ts';
import { toJson } from '../../base/json.ts';
import { timedSchema } from '../accept/timed-schema.ts';
import type { PendingCall } from './await-reply.ts';
import { awaitReply, toPending, unlessGivenUp } from './await-reply.ts';
import { askFirst } from './ask-first.ts';
import type { CallOptions } from '../host/call-options.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import type { Engine } from '../state/engine.ts';
import { inputForTool } from '../input/input-for-tool.ts';
import { makeCall, waitedFor } from './make-call.ts';
import { outcomeOrPending } from './outcome-or-pending.ts';
import { callKey } from '../state/call-key.ts';
import { createSemaphore } from '../../base/semaphore.ts';
import { resourceKeysOf } from '../input/resource-keys.ts';
import type { TurnState } from '../state/turn-state.ts';

export async function callBatch(
  state: RuntimeState,
  turn: TurnState,
  requests: readonly ParsedToolCall[],
  options: CallOptions,
  { concurrency, waitsForPeople }: { readonly concurrency: number; readonly waitsForPeople: boolean },
): Promise<readonly (ToolOutcome | PendingCall)[]> {
  const reaches = await Promise.all(requests.map((request) => reachOf(state.engine, turn, request)));
  const { clock } = state.engine;
  const askedAtMs = clock.monotonicMs();
  const awaitStart = createSemaphore(concurrency);
  const answers: Promise<ToolOutcome | PendingCall>[] = [];
  for (const [index, request] of requests.entries()) {
    const earlier = answers.filter((_, other) => overlap(reaches[index], reaches[other]));
    const make = async (): Promise<ToolOutcome | PendingCall> => {
      const before = await Promise.allSettled(earlier);
      const pending = waitsForPeople ? [] : before.flatMap(pendingOf);
      if (pending.length > 0) return askBehind(pending, state, turn, request, options);
      const queuedMs = clock.monotonicMs() - askedAtMs;
      const active = makeCall(state, turn, request, options, { submitted: false, awaitStart, queuedMs });
      return waitsForPeople
        ? awaitReply(active, turn, options)
        : unlessGivenUp(active, options, outcomeOrPending(active));
    };
    answers.push(make());
  }
  return Promise.all(answers);
}

const pendingOf = (settled: PromiseSettledResult<ToolOutcome | PendingCall>): readonly PendingCall[] =>
  settled.status === 'fulfilled' && settled.value.type === 'pending' ? [settled.value] : [];

/** A call that was made before is answered as usual. */
async function askBehind(
  pending: readonly PendingCall[],
  state: RuntimeState,
  turn: TurnState,
  request: ParsedToolCall,
  options: CallOptions,
): Promise<ToolOutcome | PendingCall> {
  const { sessionId } = turn;
  const { id: callId } = request;
  const isKnown =
    state.activeCalls.has(callKey({ sessionId, callId })) ||
    (await state.engine.ledger.journal.readCall(sessionId, callId)) !== undefined;
  if (!isKnown) {
    const mayAsk = pending.every(({ confirmationId }) => confirmationId !== undefined);
    const asked = mayAsk ? await askFirst(state, turn, request, options) : undefined;
    return asked ?? toPending(callId, undefined);
  }
  const active = makeCall(state, turn, request, options, waitedFor);
  return unlessGivenUp(active, options, outcomeOrPending(active));
}

/** Resources that a call may touch. `keys: undefined` means any. */
type Reach = { readonly reads: boolean; readonly keys: readonly string[] | undefined };

const nothing: Reach = { reads: true, keys: [] };

async function reachOf(engine: Engine, turn: TurnState, { name, input }: ParsedToolCall): Promise<Reach> {
  const tool = engine.tools.get(name);
  if (tool === undefined || !input.ok) return nothing;
  const reads = tool.surelyReads;
  if (tool.resourceKeys === undefined) return { reads, keys: undefined };
  // The deadline of the turn ends this wait too: every call of the batch waits here.
  const schema = timedSchema(engine, tool.input, turn.deadlineAtMs - engine.clock.monotonicMs());
  const copy = toJson(input.arguments);
  const checked = copy.ok ? await schema.check(copy.value) : undefined;
  const keysOf = (read: JsonObject, value: unknown): readonly string[] | undefined =>
    resourceKeysOf(tool, () => inputForTool(tool.input, { form: 'typed', value, checked: read }));
  if (checked?.ok === true) return { reads, keys: keysOf(input.arguments, checked.value) };
  const coerced = await coerce(input.arguments, schema);
  return { reads, keys: coerced.ok ? keysOf(coerced.input, coerced.value) : undefined };
}

function overlap(left: Reach | undefined, right: Reach | undefined): boolean {
  if (left === undefined || right === undefined || (left.reads && right.reads)) return false;
  if (left.keys === undefined || right.keys === undefined) return true;
  return left.keys.some((key) => right.keys?.includes(key));
}
