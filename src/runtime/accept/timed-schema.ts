import { isPromiseLike } from '../../base/when-ready.ts';
import { within } from '../../base/within.ts';
import type { CompiledSchema, SchemaCheck } from '../../tool/schema.ts';

import { answerLimitMs, noAnswer } from '../state/answer-in-time.ts';
import type { Engine } from '../state/engine.ts';

const tooLate: SchemaCheck = { ok: false, issues: [{ path: [], message: `The schema ${noAnswer}.` }] };

/**
 * The schema with a time limit for its asynchronous checks. After one that took too long, the others fail at once:
 * coercion tries many.
 */
export function timedSchema(
  engine: Pick<Engine, 'deadlines'>,
  schema: CompiledSchema,
  limitMs: number = answerLimitMs,
): CompiledSchema {
  let isLate = false;
  return {
    ...schema,
    check(value) {
      if (isLate) return tooLate;
      const answer = schema.check(value);
      if (!isPromiseLike(answer)) return answer;
      return within(engine, Math.min(limitMs, answerLimitMs), answer, tooLate).then((result) => {
        isLate ||= result === tooLate;
        return result;
      });
    },
  };
}
