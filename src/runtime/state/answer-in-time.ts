/**
 * Time limit for code of the host that decides whether a body may run: hooks, asynchronous schemas, `repair` and the
 * commands of workflows. The deadline of a turn ends the wait for them too, but a turn may have none, and after an
 * approval it no longer counts. Without a limit, a check that never answers would keep its call open for ever, and
 * `close` would wait for it.
 */
import { within } from '../../base/within.ts';
import type { Engine } from './engine.ts';

export const answerLimitMs = 300_000;

/** In words, behind the name of the check. */
export const noAnswer: string = `did not answer within ${answerLimitMs / 60_000} minutes`;

/** The answer, or `otherwise` if the check takes too long. */
export const answerInTime = <Value, Other>(
  engine: Pick<Engine, 'deadlines'>,
  answer: Value | PromiseLike<Value>,
  otherwise: Other,
): Promise<Value | Other> => within(engine, answerLimitMs, answer, otherwise);
