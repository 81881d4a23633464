/** Judges the recorded output of a call by other rules. */
import type { JsonValue } from '../base/json.ts';
import type { RuleMark, ToolResponded } from '../call/event.ts';
import type { Policy, ToolEnd } from '../policy/judge/compile-policy.ts';
import type { PolicyCall } from '../policy/language/policy-call.ts';
import type { FiredRule } from '../policy/language/ruling.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { OutputWord } from './backtest-report.ts';
import { refuseOutput } from './read-arguments.ts';

export type EndVerdict = {
  readonly before: OutputWord;
  /** Undefined if nothing is left to judge. */
  readonly after: OutputWord | undefined;
  readonly fired: readonly FiredRule[];
  readonly refusal: string | undefined;
  readonly byKeptForm: boolean;
};

type Trial = {
  readonly policy: Policy;
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly readArtifact: (sessionId: string, artifactId: string) => Promise<JsonValue | undefined>;
};

const strength: { readonly [Word in OutputWord]: number } = {
  pass: 0,
  warn: 1,
  redact: 2,
  block: 3,
  refused: 4,
};
const stronger = (one: OutputWord, other: OutputWord): OutputWord =>
  strength[one] > strength[other] ? one : other;

export async function backtestEnd(
  trial: Trial,
  call: PolicyCall,
  sessionId: string,
  event: ToolResponded,
): Promise<EndVerdict> {
  const { policy } = trial;
  const before =
    'code' in event.outcome && event.outcome.code === 'tool.invalid_output' ? 'refused' : wordOf(event.rules);
  const found = await findEnds(trial, sessionId, event);
  const isCut = event.rules.some(({ action, observed }) => action === 'redact' && observed !== true);
  // Redacted values are gone, so the same rules cannot find them again. Rules that still exist would find them.
  const standing = event.rules.filter((mark) => mark.observed !== true && stillStands(policy, mark));
  if (found === undefined || before === 'refused' || before === 'block') {
    const after =
      before === 'block' && standing.some(({ action }) => action === 'block') ? 'block' : undefined;
    return {
      before,
      after,
      fired: after === undefined ? [] : standing.map(toFired),
      refusal: undefined,
      byKeptForm: true,
    };
  }
  const fired: FiredRule[] = [];
  let after: OutputWord = 'pass';
  for (const end of found.ends) {
    const ruling = await policy.judgeOutput(call, end);
    fired.push(...ruling.fired, ...ruling.observed);
    after = stronger(after, ruling.decision);
  }
  if (isCut)
    for (const mark of standing)
      if (mark.action === 'redact' && !fired.some(({ ruleId }) => ruleId === mark.ruleId)) {
        fired.push(toFired(mark));
        after = stronger(after, 'redact');
      }
  const tool = trial.tools.get(call.toolName);
  const refusal =
    tool === undefined || found.output === undefined ? undefined : await refuseOutput(tool, found.output);
  return {
    before,
    after: refusal === undefined ? after : 'refused',
    fired,
    refusal,
    byKeptForm: isCut,
  };
}

type Ends = { readonly ends: readonly ToolEnd[]; readonly output: JsonValue | undefined };

async function findEnds(
  { readArtifact, policy }: Trial,
  sessionId: string,
  { outcome }: ToolResponded,
): Promise<Ends | undefined> {
  switch (outcome.type) {
    case 'ToolExecutionResult':
      return { ends: [{ type: 'result', value: outcome.output }], output: outcome.output };
    case 'ToolArtifactReference': {
      if (!hasOutputRules(policy)) return { ends: [], output: undefined };
      const output = await readArtifact(sessionId, outcome.artifactId);
      return output === undefined ? undefined : { ends: [{ type: 'result', value: output }], output };
    }
    case 'ToolFailure': {
      const { error, payloadExtras } = outcome;
      return {
        ends: [
          { type: 'error', text: error },
          ...(payloadExtras === undefined ? [] : [{ type: 'result' as const, value: payloadExtras }]),
        ],
        output: undefined,
      };
    }
    case 'ToolTimeout':
    case 'ToolDenied':
      return { ends: [], output: undefined };
  }
}

const hasOutputRules = ({ composed }: Policy): boolean =>
  composed.rules.some(({ rule }) => rule.type === 'post' || rule.type === 'code');

/** Is there still a rule with this id and action? */
const stillStands = ({ composed }: Policy, { ruleId, action }: RuleMark): boolean =>
  composed.rules.some(
    ({ id, rule, mode, candidate }) =>
      id === ruleId && rule.type === 'post' && rule.action === action && mode === 'enforce' && !candidate,
  );

function wordOf(marks: readonly RuleMark[]): OutputWord {
  let word: OutputWord = 'pass';
  for (const { action, observed } of marks)
    if (observed !== true && action !== 'ask') word = stronger(word, action);
  return word;
}

const toFired = ({ ruleId, action, message, tags, metadata, policyError }: RuleMark): FiredRule => ({
  ruleId,
  ruleType: 'post',
  action,
  message,
  tags: tags ?? [],
  metadata,
  policyError: policyError === true,
  observed: false,
});
