/**
 * Judges the end of a call. Rules are asked in order, and each sees the output that earlier rules left. Messages are
 * written last, from the final output, so a warning never quotes a value that a later rule hides.
 */
import type { Awaitable, JsonValue } from '../../base/json.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { AfterRule, AfterVerdict } from './after-rule.ts';
import { viewOutput } from './output-view.ts';
import type { OutputView, ToolEnd } from './output-view.ts';
import type { PolicyCall } from '../language/policy-call.ts';
import type { FiredRule, OutputRuling } from '../language/ruling.ts';

export function judgeOutput(
  rules: readonly AfterRule[],
  call: PolicyCall,
  end: ToolEnd,
  version: string,
): Awaitable<OutputRuling> {
  if (rules.length === 0) return pass(end, version);
  const verdicts: AfterVerdict[] = [];
  let at = end;
  let view = viewOutput(end);

  const take = (verdict: AfterVerdict | undefined): void => {
    if (verdict === undefined) return;
    verdicts.push(verdict);
    if (verdict.observed || verdict.end === undefined) return;
    at = verdict.end;
    view = viewOutput(at);
  };

  const goOn = (from: number): Awaitable<OutputRuling> => {
    for (let index = from; index < rules.length; index++) {
      const verdict = rules[index]?.(call, at, view);
      if (!isPromiseLike(verdict)) take(verdict);
      else
        return verdict.then((later) => {
          take(later);
          return goOn(index + 1);
        });
    }
    return verdicts.length === 0 ? pass(at, version) : decideOutput(verdicts, call, view, at, version);
  };

  return goOn(0);
}

const nothing: readonly FiredRule[] = Object.freeze([]);

const outputOf = (end: ToolEnd): JsonValue => (end.type === 'result' ? end.value : end.text);

const pass = (end: ToolEnd, policyVersion: string): OutputRuling => ({
  decision: 'pass',
  decidedBy: undefined,
  fired: nothing,
  observed: nothing,
  output: outputOf(end),
  policyVersion,
});

const strongestFirst = ['block', 'redact', 'warn'] as const;

function decideOutput(
  verdicts: readonly AfterVerdict[],
  call: PolicyCall,
  view: OutputView,
  end: ToolEnd,
  policyVersion: string,
): OutputRuling {
  const all = verdicts.map(({ fire }) => fire(call, view));
  const fired = all.filter(({ observed }) => !observed);
  const observed = all.filter((rule) => rule.observed);
  const output = outputOf(end);
  for (const action of strongestFirst) {
    const decidedBy: FiredRule | undefined = fired.find((rule) => rule.action === action);
    if (decidedBy !== undefined)
      return { decision: action, decidedBy, fired, observed, output, policyVersion };
  }
  return { decision: 'pass', decidedBy: undefined, fired, observed, output, policyVersion };
}
