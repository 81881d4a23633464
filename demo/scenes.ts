import { badArguments } from './scenes/bad-arguments.ts';
import { budgets } from './scenes/budgets.ts';
import { cancelling } from './scenes/cancelling.ts';
import { firstCalls } from './scenes/first-calls.ts';
import { largeOutput } from './scenes/large-output.ts';
import { lateAnswers } from './scenes/late-answers.ts';
import { ledgerDown } from './scenes/ledger-down.ts';
import { people } from './scenes/people.ts';
import { policy } from './scenes/policy.ts';
import { repeats } from './scenes/repeats.ts';
import { secrets } from './scenes/secrets.ts';
import { theEnd } from './scenes/the-end.ts';
import { trouble } from './scenes/trouble.ts';
import { twins } from './scenes/twins.ts';
import type { Scene } from './stage.ts';

/** The scenes, in order. */
export const scenes: readonly Scene[] = [
  firstCalls,
  badArguments,
  trouble,
  lateAnswers,
  twins,
  repeats,
  policy,
  people,
  budgets,
  largeOutput,
  secrets,
  cancelling,
  ledgerDown,
  theEnd,
];
