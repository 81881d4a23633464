/** An explanation, for people and for programs. */
import type { JsonObject } from '../base/json.ts';
import type { CallToJudge } from '../contracts/loaded-contracts.ts';
import type {
  CallExplanation,
  LeafExplanation,
  RuleExplanation,
  WorkflowExplanation,
} from '../policy/judge/explain-call.ts';
import type { ResourceExplanation } from '../policy/sandbox/explain-sandbox.ts';
import { wordOf } from './run-cases.ts';
import { terminalId, safeJson, terminalText } from './terminal-text.ts';
import type { Style, Terminal } from './terminal.ts';
import { trim, wrap } from './text-width.ts';
import { withoutUndefined } from './to-json.ts';

type Page = Pick<Terminal, 'paint' | 'textWidth' | 'width'>;

const colors: Readonly<Record<string, Style>> = {
  allow: 'green',
  ask: 'yellow',
  block: 'red',
  warn: 'yellow',
  redact: 'yellow',
};

const sentences: Readonly<Record<string, string>> = {
  allow: 'would be allowed',
  ask: 'would be held for approval',
  block: 'would be blocked',
  warn: 'would be allowed, with a warning about its result',
  redact: 'would be allowed, and its result redacted',
};

export function explanationLines(
  explanation: CallExplanation,
  { toolName }: CallToJudge,
  page: Page,
): string[] {
  const { rules, workflows, output } = explanation;
  const { word, decidedBy } = wordOf(explanation);
  const isOutput = output?.decision === 'block';
  const sentence = isOutput ? 'would run, and its output would be withheld' : sentences[word];
  const by = decidedBy === undefined ? '. No enforced rule fired.' : `, by ${decidedBy.ruleId}:`;
  // The deciding rules come first. The rules were evaluated in document order.
  const asked = (['fired', 'observed', 'quiet', 'not_asked'] as const).flatMap((kind) =>
    rules.filter(({ verdict }) => verdict === kind),
  );
  const others = rules.filter(({ verdict }) => verdict === 'other_tool');
  return [
    ...wrap(`${terminalId(toolName)} ${sentence}${by}`, page.textWidth).map((line) =>
      page.paint(['bold', colors[word] ?? 'bold'].flat() as Style, line),
    ),
    ...(decidedBy === undefined ? [] : indent(decidedBy.message, 2, page)),
    '',
    ...asked.flatMap((rule) => [...ruleLines(rule, page), '']),
    ...workflows.flatMap((workflow) => [...workflowLines(workflow, page), '']),
    ...(output !== undefined && output.decision === 'redact'
      ? [page.paint('bold', 'The remaining output'), ...indent(safeJson(output.output), 2, page), '']
      : []),
    ...(others.length === 0
      ? []
      : wrap(
          `${others.length} ${others.length === 1 ? 'rule is' : 'rules apply'} about other tools: ${others.map(({ ruleId }) => ruleId).join(', ')}.`,
          page.textWidth,
        ).map((line) => page.paint('dim', line))),
  ];
}

const verdicts: {
  readonly [Verdict in RuleExplanation['verdict']]: { readonly word: string; readonly style: Style };
} = {
  fired: { word: 'fired', style: 'red' },
  observed: { word: 'would fire, but only observes', style: 'yellow' },
  quiet: { word: 'did not fire', style: 'green' },
  not_asked: { word: 'was not evaluated', style: 'dim' },
  other_tool: { word: 'applies to other tools', style: 'dim' },
};

function ruleLines(rule: RuleExplanation, page: Page): string[] {
  const { ruleId, ruleType, source, line, verdict, fired } = rule;
  const { word, style } = verdicts[verdict];
  const action = fired === undefined ? '' : `: ${fired.action}`;
  const place = `${source}${line === undefined ? '' : `:${line}`}`;
  return [
    `${page.paint('bold', terminalText(ruleId))}  ${ruleType}  ${page.paint(style, `${word}${action}`)}  ${page.paint('dim', terminalText(place))}`,
    ...(fired?.policyError === true
      ? indent('The rule met a value it could not evaluate, so it fires.', 2, page)
      : []),
    ...(verdict === 'not_asked' ? indent(notAsked(rule), 2, page) : []),
    ...leafLines(rule.leaves, page),
    ...rule.resources.map((resource) => resourceLine(resource, page)),
    ...(ruleType === 'sandbox' && rule.resources.length === 0
      ? indent('The call contains no path, command or host, so there is nothing to check.', 2, page)
      : []),
    ...rule.limits.map(
      ({ counter, limit, used }) => `  ${counter.replaceAll('_', ' ')}: ${used} used, ${limit} allowed`,
    ),
  ];
}

const notAsked = ({ ruleType }: RuleExplanation): string =>
  ruleType === 'session'
    ? 'This rule limits a session, and no session is known here.'
    : 'This rule checks outputs, and there is none: give one with --result.';

/** Rules often name one thing in several ways, so absent fields are listed together. */
function leafLines(leaves: readonly LeafExplanation[], page: Page): string[] {
  const isSibling = ({ value, truth, operator }: LeafExplanation): boolean =>
    value === undefined && truth === false && operator !== 'exists';
  const siblings = leaves.filter(isSibling);
  if (siblings.length < 2) return leaves.map((leaf) => leafLine(leaf, page));
  const names = `absent: ${siblings.map(({ selector }) => selector).join(', ')}`;
  return [
    ...leaves.filter((leaf) => !isSibling(leaf)).map((leaf) => leafLine(leaf, page)),
    `  ${page.paint('dim', trim(terminalText(names), Math.min(page.width, 160) - 2))}`,
  ];
}

function leafLine({ selector, operator, operand, value, truth }: LeafExplanation, page: Page): string {
  const found = value === undefined ? 'nothing there' : `found ${safeJson(value)}`;
  const word = truth === 'error' ? 'cannot be evaluated' : truth ? 'true' : 'false';
  const text = `${terminalText(selector)} ${operator} ${safeJson(operand)}`;
  const room = Math.min(page.width, 160) - 4;
  const end = `  ${found}`;
  const head = trim(text, Math.max(24, room - word.length - Math.min(end.length, Math.floor(room * 0.65))));
  return `  ${page.paint(truth === false ? 'dim' : 'yellow', word)} ${trim(`${head}${end}`, room - word.length)}`;
}

function resourceLine({ kind, text, leadsTo, inside }: ResourceExplanation, page: Page): string {
  const word = inside === undefined ? 'not evaluated' : inside ? 'inside' : 'outside';
  const style: Style = inside === undefined ? 'dim' : inside ? 'green' : 'red';
  const leads = leadsTo.length === 0 ? '' : `, which leads to ${leadsTo.join(' and ')}`;
  const shown = trim(terminalText(`${kind} ${text}${leads}`), Math.min(page.width, 160) - word.length - 3);
  return `  ${page.paint(style, word)} ${shown}`;
}

function workflowLines(
  { workflow, stageBefore, decision, message, stageId }: WorkflowExplanation,
  page: Page,
): string[] {
  const at = stageBefore === undefined ? 'complete' : `in stage ${stageBefore}`;
  const where = stageId === undefined || stageId === stageBefore ? '' : ` (stage ${stageId})`;
  return [
    `${page.paint('bold', terminalText(workflow))}  workflow ${terminalText(at)}  ${page.paint(colors[decision] ?? 'dim', `${decision}${terminalText(where)}`)}`,
    ...(message === undefined ? [] : indent(message, 2, page)),
  ];
}

const indent = (text: string, columns: number, page: Page): string[] =>
  wrap(terminalText(text), page.textWidth - columns).map((line) => `${' '.repeat(columns)}${line}`);

export function explanationToJson(explanation: CallExplanation, { toolName }: CallToJudge): JsonObject {
  const { word, decidedBy } = wordOf(explanation);
  return withoutUndefined({
    toolName,
    decision: word,
    ruleId: decidedBy?.ruleId,
    message: decidedBy?.message,
    policyVersion: explanation.ruling.policyVersion,
    ...explanation,
  });
}
