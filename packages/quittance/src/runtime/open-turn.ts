/** Opens a turn and checks its options. */
import { QuittanceError } from '../base/error.ts';
import { isDotSegment } from '../base/ids.ts';
import { readTraceparent } from '../base/traceparent.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import { bindBudgets, checkBudgets } from './budget.ts';
import { checkKeys } from '../base/check-keys.ts';
import { noFacts, readCallerFacts } from './call-input.ts';
import type { RuntimeState } from './runtime-state.ts';
import type { Engine } from './engine.ts';
import { TurnState } from './turn-state.ts';
import type { Turn } from './turn.ts';
import { createTurn } from './turn.ts';
import type { TurnOptions } from './call-options.ts';

/** Opens a turn. Nothing is written before its first call. */
export function openTurn<Tools extends readonly AnyTool[]>(
  runtimeState: RuntimeState,
  options: TurnOptions,
  parent?: TurnState,
): Turn<Tools> {
  const state = openTurnState(runtimeState.engine, options, parent);
  return createTurn<Tools>(runtimeState, state, (child) =>
    openTurn<Tools>(runtimeState, { sessionId: options.sessionId, ...child }, state),
  );
}

/** The state of a turn, also for calls made without one. */
export function openTurnState(
  engine: Engine,
  options: TurnOptions,
  parent?: TurnState,
  origin?: { readonly eventId: string; readonly depth: number },
): TurnState {
  checkTurn(options);
  const { sessionId, turnId = engine.ids.next('turn') } = options;
  const facts = readCallerFacts(options, parent?.facts ?? noFacts, engine.redactor);
  const deadlineAtMs = Math.min(
    deadlineOf(engine, options),
    parent?.deadlineAtMs ?? Number.POSITIVE_INFINITY,
  );
  return new TurnState({
    opening: Object.freeze({
      id: engine.nextEventId(),
      type: 'turn.opened',
      sessionId,
      turnId,
      at: engine.ledger.now(),
      cause: origin?.eventId,
      deadlineMs:
        deadlineAtMs === Number.POSITIVE_INFINITY
          ? undefined
          : Math.round(engine.clock.now() + deadlineAtMs - engine.clock.monotonicMs()),
      parentSessionId: options.parentSessionId ?? parent?.sessionId,
      principal: facts.kept.principal,
    }),
    facts,
    traceparent: readTraceparent(options.traceparent) ?? parent?.traceparent,
    runtimeBudgets: parent === undefined ? bindBudgets(engine.budgets, sessionId, turnId) : [],
    ownBudgets: [...(parent?.budgets ?? []), ...bindBudgets(options.budgets ?? [], sessionId, turnId)],
    deadlineAtMs,
    depth: origin?.depth ?? parent?.depth ?? 0,
    parent,
  });
}

/** Smaller numbers are durations that were meant for `timeoutMs`. */
const oneYearMs = 365 * 86_400_000;

/** The wall clock may jump while the turn runs, so the deadline uses the monotonic clock. */
function deadlineOf({ clock }: Engine, { deadlineMs, timeoutMs }: TurnOptions): number {
  if (deadlineMs !== undefined && deadlineMs < oneYearMs && clock.now() > oneYearMs)
    throw new QuittanceError(
      'config.invalid',
      `deadlineMs is a time in milliseconds since 1970, and ${deadlineMs} is in that year. For a duration from now, ` +
        `use timeoutMs: ${deadlineMs}.`,
    );
  const nowMs = clock.monotonicMs();
  const byDate = deadlineMs === undefined ? Number.POSITIVE_INFINITY : nowMs + deadlineMs - clock.now();
  const byLength = timeoutMs === undefined ? Number.POSITIVE_INFINITY : nowMs + timeoutMs;
  return Math.min(byDate, byLength);
}

const turnKeys = [
  'sessionId',
  'turnId',
  'parentSessionId',
  'deadlineMs',
  'timeoutMs',
  'budgets',
  'principal',
  'provenance',
  'attrs',
  'askedBy',
  'traceparent',
] as const;

function checkTurn(options: TurnOptions): void {
  if (typeof options !== 'object' || options === null)
    throw new QuittanceError(
      'config.invalid',
      'runtime.turn takes an object, e.g. runtime.turn({ sessionId: "s1" }).',
    );
  checkKeys('runtime.turn', options, turnKeys);
  checkBudgets(options.budgets);
  const { sessionId, turnId, parentSessionId, deadlineMs, timeoutMs } = options;
  if (typeof sessionId !== 'string' || sessionId === '')
    throw new QuittanceError(
      'config.invalid',
      'A turn needs a sessionId: the conversation or job it belongs to, as a non-empty text.',
    );
  // Stores cannot tell apart two session ids that differ only in a lone surrogate.
  if (!sessionId.isWellFormed())
    throw new QuittanceError('config.invalid', 'sessionId holds half a character (a lone surrogate).');
  for (const [name, id] of [
    ['sessionId', sessionId],
    ['parentSessionId', parentSessionId],
  ] as const)
    if (typeof id === 'string' && isDotSegment(id))
      throw new QuittanceError(
        'config.invalid',
        `${name} may not be ${JSON.stringify(id)}: in an address or a path that means a folder. Give the session another id.`,
      );
  if (turnId !== undefined && (typeof turnId !== 'string' || turnId === ''))
    throw new QuittanceError('config.invalid', 'turnId must be a non-empty text.');
  if (
    parentSessionId !== undefined &&
    (typeof parentSessionId !== 'string' || parentSessionId === '' || !parentSessionId.isWellFormed())
  )
    throw new QuittanceError(
      'config.invalid',
      'parentSessionId must be the id of a session: a non-empty text of whole characters.',
    );
  for (const [name, value] of Object.entries({ deadlineMs, timeoutMs }))
    if (value !== undefined && !(typeof value === 'number' && Number.isFinite(value)))
      throw new QuittanceError(
        'config.invalid',
        `${name} must be a finite number of milliseconds, found ${String(value)}.`,
      );
}
