import type { Problem } from './api/problem.ts';
import type { Shape } from './shape.ts';
import { integer, maybe, object, text, textsByName } from './shape.ts';

/** What every request that was refused is answered with. */
export const problemShape: Shape<Problem> = object<Problem>(
  {
    type: text(),
    title: text(),
    status: integer(),
    code: text(),
    detail: text(),
    facts: maybe(textsByName()),
  },
  'Problem',
);
