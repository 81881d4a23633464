import type { AnyQuittanceError, ErrorFacts } from 'quittance';
import { isQuittanceError, QuittanceError } from 'quittance';
import type { Equal, Expect } from '../tool/type-test.test-d.ts';

/** A code narrows the facts: as the second argument, and by a comparison. */
export function factsOf(error: unknown): unknown {
  if (isQuittanceError(error, 'call.pending')) {
    type _Facts = Expect<Equal<typeof error.facts, ErrorFacts['call.pending']>>;
    const callId: string = error.facts.callId;
    // @ts-expect-error A call that is pending need not have a question.
    const confirmationId: string = error.facts.confirmationId;
    // @ts-expect-error No such fact.
    return [callId, confirmationId, error.facts.grantId];
  }
  if (isQuittanceError(error)) {
    type _Any = Expect<Equal<typeof error, AnyQuittanceError>>;
    // @ts-expect-error Only some errors name a worker.
    const before: unknown = error.facts.worker;
    if (error.code === 'handoff.taken') return error.facts.worker;
    if (error.code === 'grant.unknown') return error.facts.grantId;
    return error.code === 'handoff.expired' ? error.facts.expiresAt : before;
  }
  return undefined;
}

/** An error is made with the facts of its code. */
export const made: readonly QuittanceError[] = [
  new QuittanceError('runtime.closed', 'closed'),
  new QuittanceError('config.invalid', 'wrong', { tool: 'pay' }),
  new QuittanceError('call.resolved', 'known', { sessionId: 's', callId: 'c' }, new Error('why')),
  // @ts-expect-error A required fact is missing.
  new QuittanceError('call.resolved', 'known', { sessionId: 's' }),
  // @ts-expect-error The facts are missing.
  new QuittanceError('call.resolved', 'known'),
  // @ts-expect-error No such fact.
  new QuittanceError('config.invalid', 'wrong', { toolName: 'pay' }),
];
