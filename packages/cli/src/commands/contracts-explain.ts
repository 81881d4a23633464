import { resolve } from 'node:path';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import type { CallToJudge } from 'quittance/internal/contracts/loaded-contracts';
import type { ToolEnd } from 'quittance/internal/policy/judge/compile-policy';
import type { ContractsProblem } from 'quittance/internal/policy/language/contracts-problem';
import { nodeFromJson } from 'quittance/internal/policy/read/document-node';
import { DocumentReader } from 'quittance/internal/policy/read/document-reader';
import type { CliCommand, Context, Given } from '../command.ts';
import { reads } from '../command.ts';
import { readPrincipal } from '../contracts-case.ts';
import { loadOrExplain, needFiles } from '../load-or-explain.ts';
import { readLedgerCall } from '../ledger-calls.ts';
import { exitCodes } from '../exit-code.ts';
import { findCall } from '../find-call.ts';
import { terminalId, safeJson, terminalText } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';
import type {
  CallExplanation,
  LeafExplanation,
  RuleExplanation,
  WorkflowExplanation,
} from 'quittance/internal/policy/judge/explain-call';
import type { ResourceExplanation } from 'quittance/internal/policy/sandbox/explain-sandbox';
import { wordOf } from '../run-cases.ts';
import type { Style, Terminal } from '../terminal.ts';
import { trim, wrap } from '../text-width.ts';
import { withoutUndefined } from '../to-json.ts';

export const contractsExplainCommand: CliCommand = {
  name: 'contracts explain',
  summary: 'Explain how contracts decide one call',
  takes: '<file>…',
  most: Number.POSITIVE_INFINITY,
  about: [
    'Prints every evaluated rule and whether it fired. For a condition it shows the fields and their values, with secrets masked. For a sandbox rule it shows the paths, commands and hosts found in the call; for a limit, the remaining amount. The decision comes last.',
    'Type the call, or take it from a ledger with --call. A call from a ledger is evaluated in its stored form: rules see the mask of a redacted argument. Workflows are evaluated as at the start of a session.',
  ],
  options: {
    tool: { value: 'NAME', help: 'Tool to call' },
    args: { value: 'JSON', help: 'Arguments of the call' },
    principal: {
      value: 'JSON',
      help: 'Principal of the call: user_id, service_id, org_id, role, ticket_ref, claims',
    },
    metadata: { value: 'JSON', help: 'Metadata of the call' },
    result: { value: 'JSON', help: 'Output of the tool, for post rules' },
    environment: { value: 'WORD', help: 'Environment that rules see; default: production' },
    'working-directory': {
      value: 'PATH',
      help: 'Folder that relative paths start from; default: unknown',
      file: true,
    },
    call: { value: 'ID', help: 'Call from a ledger instead' },
    session: { value: 'ID', help: 'Session of that call, if several sessions have this call id' },
    json: { help: 'JSON instead of text, one object' },
  },
  examples: [
    [
      `quittance contracts explain contracts.yaml --tool Bash --args '{"command": "rm -rf build"}'`,
      'a call that was never made',
    ],
    ['quittance contracts explain contracts.yaml --call call_7 --session ticket-42', 'a call of the ledger'],
    [
      `quittance contracts explain contracts.yaml --tool Read --args '{"path": "a.txt"}' --result '"AKIA…"'`,
      'a call and its output',
    ],
  ],
  effect: reads,
  run: async (given, context) => {
    const paths = needFiles(given.args, 'contracts explain');
    const directory = given.text('working-directory');
    const environment = given.text('environment');
    const contracts = await loadOrExplain(paths, {
      ...(directory !== undefined && { workingDirectory: resolve(directory) }),
      ...(environment !== undefined && { environment }),
    });
    const { call, end, hidden } = given.has('call') ? await fromLedger(given, context) : typed(given, paths);
    const explanation = await contracts.explain(call, { end });
    if (given.has('json')) await context.out.print(safeJson(explanationToJson(explanation, call)));
    else {
      for (const line of explanationLines(explanation, call, context.out)) await context.out.print(line);
      if (hidden)
        await context.err.say('Some arguments of this call are redacted in the ledger: rules saw the masks.');
    }
    return exitCodes.good;
  },
};

type Asked = { readonly call: CallToJudge; readonly end: ToolEnd | undefined; readonly hidden: boolean };

function typed(given: Given, paths: readonly string[]): Asked {
  const toolName = given.text('tool');
  if (toolName === undefined)
    throw new UsageError('Missing call: name a tool, or take a call from a ledger.', [
      `quittance contracts explain ${paths.join(' ')} --tool Bash --args '{"command": "ls"}'`,
      `quittance contracts explain ${paths.join(' ')} --call ID --ledger PATH`,
    ]);
  const metadata = objectOf(given, 'metadata');
  const principal = principalOf(given);
  const result = jsonOf(given, 'result');
  return {
    call: {
      toolName,
      input: objectOf(given, 'args') ?? {},
      ...(principal !== undefined && { principal }),
      ...(metadata !== undefined && { metadata }),
    },
    end: result === undefined ? undefined : { type: 'result', value: result },
    hidden: false,
  };
}

async function fromLedger(given: Given, context: Context): Promise<Asked> {
  const clash = ['tool', 'args', 'principal', 'metadata', 'result'].find((name) => given.has(name));
  if (clash !== undefined)
    throw new UsageError(`--call takes everything from the ledger; --${clash} does not go with it.`, [
      `quittance contracts explain ${given.args.join(' ')} --call ${given.text('call') ?? 'ID'}`,
    ]);
  return context.withLedger(given, async (ledger) => {
    const command = `contracts explain ${given.args.join(' ')} --call`;
    const { sessionId, callId } = await findCall(
      ledger,
      given.text('call') ?? '',
      given.text('session'),
      command,
    );
    const found = await readLedgerCall(ledger, sessionId, callId);
    if (found === undefined)
      throw new UsageError(
        `The arguments of call ${JSON.stringify(terminalId(callId))} are not an object, so no rule was evaluated.`,
        [`quittance show ${callId}`],
        exitCodes.bad,
      );
    return found;
  });
}

function jsonOf(given: Given, option: string): JsonValue | undefined {
  const text = given.text(option);
  if (text === undefined) return undefined;
  try {
    // JSON.parse returns a JSON value.
    return JSON.parse(text) as JsonValue;
  } catch {
    throw new UsageError(`--${option} takes JSON; found ${JSON.stringify(text)}.`, [
      option === 'result' ? `--result '"some text"'` : `--${option} '{"name": "value"}'`,
    ]);
  }
}

function objectOf(given: Given, option: string): JsonObject | undefined {
  const value = jsonOf(given, option);
  if (value === undefined || isJsonObject(value)) return value;
  throw new UsageError(`--${option} takes a JSON object; found ${JSON.stringify(value)}.`, [
    `--${option} '{"name": "value"}'`,
  ]);
}

function principalOf(given: Given): CallToJudge['principal'] {
  const value = objectOf(given, 'principal');
  if (value === undefined) return undefined;
  const problems: ContractsProblem[] = [];
  const reading = { source: '--principal', locate: () => ({ line: 1, column: 1 }), problems };
  const principal = readPrincipal(new DocumentReader(nodeFromJson(value), reading));
  const [problem] = problems;
  if (problem !== undefined)
    throw new UsageError(`--principal: ${problem.message}`, [
      `--principal '{"user_id": "ada", "role": "admin"}'`,
    ]);
  return principal;
}

/** An explanation, for people and for programs. */

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

function explanationLines(explanation: CallExplanation, { toolName }: CallToJudge, page: Page): string[] {
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
    : 'This rule checks outputs, and no output was given. Add one with --result.';

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
  const isList = truth === 'error' && Array.isArray(value) && !/^(?:any|every) /.test(operator);
  const hint = isList ? ', a list: use any or every' : '';
  const found = value === undefined ? 'nothing there' : `found ${safeJson(value)}${hint}`;
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

function explanationToJson(explanation: CallExplanation, { toolName }: CallToJudge): JsonObject {
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
