import type { Awaitable } from '../../base/json.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { BeforeRule } from './before-rule.ts';
import type { CallFacts } from './call-facts.ts';
import type { FiredRule, Ruling } from '../language/ruling.ts';
import { combineRulings } from '../language/ruling.ts';

const nothing: readonly FiredRule[] = Object.freeze([]);

/** Asks every rule in order, even after one has blocked. Waits only for code rules that return promises. */
export function judgeCall(
  rules: readonly BeforeRule[],
  facts: CallFacts,
  version: string,
): Awaitable<Ruling> {
  let answers: Awaitable<FiredRule | undefined>[] | undefined;
  let isWaiting = false;
  for (const rule of rules) {
    const answer = rule(facts);
    if (answer === undefined) continue;
    (answers ??= []).push(answer);
    isWaiting ||= isPromiseLike(answer);
  }
  if (answers === undefined) return combineRulings(nothing, nothing, version);
  if (isWaiting)
    return Promise.all(answers.map(async (answer) => await answer)).then((all) => gather(all, version));
  // With no promise among them, the answers are final.
  return gather(answers as FiredRule[], version);
}

function gather(answers: readonly (FiredRule | undefined)[], version: string): Ruling {
  const fired: FiredRule[] = [];
  const observed: FiredRule[] = [];
  for (const answer of answers) if (answer !== undefined) (answer.observed ? observed : fired).push(answer);
  return combineRulings(fired, observed, version);
}
