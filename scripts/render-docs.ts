/** The pages of docs/ that are read off the tables in src/call. Nothing on them is written twice. */
import { format, resolveConfig } from 'prettier';
import { auditKinds } from '../src/call/audit.ts';
import { persistenceBoundaries } from '../src/call/persistence-boundary.ts';
import type { AuditKind, ToolAuditRecord } from '../src/call/audit.ts';
import type { AuditState } from '../src/call/audit-order.ts';
import { auditOrder, auditTerminalKinds } from '../src/call/audit-order.ts';
import { outcomeToToolResult } from '../src/call/derived-result.ts';
import {
  modelContentTable,
  outcomeToContentParts,
  outcomeToModelContent,
} from '../src/call/model-content.ts';
import type { ToolOutcome } from '../src/call/outcome.ts';
import {
  ARTIFACT_SUMMARY_MAX_CHARS,
  denialReasons,
  isDenialReason,
  outcomeBlocksTool,
  outcomeIsError,
  outcomeIsRetryable,
  outcomeTypes,
  TOOL_MESSAGE_MAX_CHARS,
} from '../src/call/outcome.ts';
import type { ReasonCode, WhoseMove } from '../src/call/reason.ts';
import { reasonCodes, reasonOf } from '../src/call/reason.ts';
import { auditRecordToWire } from '../src/call/audit-wire.ts';
import { outcomeToWire } from '../src/call/outcome-wire.ts';

/** Every generated page by its path from the root of the repository. */
export async function renderDocs(): Promise<ReadonlyMap<string, string>> {
  const pages = [
    ['docs/outcomes.md', outcomesPage()],
    ['docs/reason-codes.md', reasonsPage()],
    ['docs/model-content.md', modelContentPage()],
    ['docs/audit.md', auditPage()],
  ] as const;
  const config = await resolveConfig(new URL('../docs/outcomes.md', import.meta.url));
  const formatted = pages.map(
    async ([path, text]) => [path, await format(text, { ...config, parser: 'markdown' })] as const,
  );
  return new Map(await Promise.all(formatted));
}

const head = { callId: 'c_42', toolName: 'create_event' } as const;
const ran = { elapsedMs: 420, wasCoerced: false } as const;
const note = { modelNote: 'start was read as a date-time.' } as const;
const file = {
  artifactId: 'art_7b1d',
  mimeType: 'text/calendar',
  sizeBytes: 812,
  name: 'lunch.ics',
} as const;
const made = { success: true, terminal: true, message: 'Event created.' } as const;

/** One of each, with every field it may carry. */
const full: { readonly [Type in ToolOutcome['type']]: Extract<ToolOutcome, { type: Type }> } = {
  ToolExecutionResult: {
    type: 'ToolExecutionResult',
    ...head,
    output: { eventId: 'e_777' },
    ...ran,
    files: [file],
    toolResult: made,
    ...note,
  },
  ToolTimeout: {
    type: 'ToolTimeout',
    ...head,
    code: 'tool.timeout',
    deadlineMs: 1_778_846_400_500,
    elapsedMs: 30_000,
    retryable: false,
    inDoubt: true,
    blocksTool: false,
    payloadExtras: { partial: { sent: 3 } },
    ...note,
  },
  ToolFailure: {
    type: 'ToolFailure',
    ...head,
    code: 'tool.reported_error',
    error: 'Invalid date format',
    retryable: true,
    elapsedMs: 420,
    payloadExtras: { exception_type: 'RangeError' },
    toolResult: { success: false, needsFollowup: true, error: 'Invalid date format' },
    ...note,
  },
  ToolDenied: {
    type: 'ToolDenied',
    ...head,
    code: 'policy.contract',
    reason: 'contract',
    details: 'No events on Sundays.',
    ...note,
  },
  ToolArtifactReference: {
    type: 'ToolArtifactReference',
    ...head,
    artifactId: 'art_9f2c',
    summary: '{"events":[{"eventId":"e_1","title":"Breakfast"},…',
    sizeBytes: 163_840,
    ...ran,
    files: [file],
    toolResult: made,
    ...note,
  },
};

const { inDoubt: _, blocksTool: __, ...withoutDoubt } = full.ToolTimeout;

function outcomesPage(): string {
  return page(
    'Outcomes',
    `Every accepted call ends in exactly one outcome. It is one of five, it is on disk before anybody is told of it, and it never changes.`,
    table(
      ['type', 'when'],
      Object.entries(outcomeTypes).map(([type, { when }]) => [link(type), when]),
    ),
    `All five carry \`callId\` and \`toolName\`, and may carry a \`modelNote\`: what else the model should know, as a content part of its own. All but the two successes carry a \`code\`, one of the [reason codes](reason-codes.md). \`toolResult\` is there only where the tool itself made one. What the model is told is on [its own page](model-content.md).`,
    `\`inDoubt: true\` on a timeout or a failure means that the tool may have taken effect and may not be run again: the twin guard stops an identical call. \`retryable\` is false then, and the error the model is told ends with a warning not to repeat the call. \`blocksTool: false\` says that this doubt is the only reason: the tool stays open for other arguments. Outcomes recorded before these fields have neither.`,
    `An output is shown inline up to \`TOOL_MESSAGE_MAX_CHARS\` = ${thousands(TOOL_MESSAGE_MAX_CHARS)} UTF-16 units of its JSON, which a tool may set for itself. Beyond that it is kept as an artifact, with a summary of at most ${ARTIFACT_SUMMARY_MAX_CHARS} characters.`,
    ...Object.values(full).flatMap((outcome) => [
      `## ${outcome.type}`,
      outcomeTypes[outcome.type].when,
      'In TypeScript, with every field it may carry:',
      json(outcome),
      'On the wire and in files:',
      json(outcomeToWire(outcome)),
    ]),
    '## Reasons of a denial',
    'The `reason` of a `ToolDenied`. The first six are those of the source documents.',
    table(
      ['reason', 'produced by', 'codes', 'said where the gate gave no details'],
      Object.entries(denialReasons).map(([reason, { producedBy, codes, sentence }]) => [
        code(reason),
        producedBy,
        codes.map(linkToReason).join(', '),
        sentence,
      ]),
    ),
    '## Helpers',
    table(
      ['helper', 'gives'],
      [
        ['`outcomeIsError`', 'true for a timeout or a failure'],
        ['`outcomeIsRetryable`', "the outcome's own `retryable`; false where it has none"],
        [
          '`outcomeBlocksTool`',
          'true for a timeout or failure that may not be retried, unless its [reason](reason-codes.md) says nothing against the tool or only the doubt about this call forbids a retry: the tool is closed for the rest of the turn',
        ],
        ['`outcomeToModelContent`', 'the text [the model is told](model-content.md)'],
        ['`outcomeToContentParts`', 'that text, then the note, then the files'],
        ['`outcomeToToolResult`', "the tool's own result, or one derived from the outcome"],
        [
          '`unwrap`',
          'the output, or `{artifactId, summary, sizeBytes}`; throws a `ToolError` with the code as its `reason` for everything else',
        ],
        ['`outcomeToWire`, `outcomeFromWire`', 'the spelling of files and wires, and back'],
      ],
    ),
    table(
      ['outcome', 'is an error', 'is retryable', 'blocks the tool'],
      [
        full.ToolExecutionResult,
        { ...withoutDoubt, retryable: true },
        { ...withoutDoubt, retryable: false },
        full.ToolTimeout,
        { ...full.ToolFailure, retryable: true },
        { ...full.ToolFailure, retryable: false },
        full.ToolDenied,
        full.ToolArtifactReference,
      ].map((outcome) => [
        'retryable' in outcome
          ? `${outcome.type}, retryable ${outcome.retryable}${outcome.inDoubt === true ? ', in doubt' : ''}`
          : outcome.type,
        yes(outcomeIsError(outcome)),
        yes(outcomeIsRetryable(outcome)),
        yes(outcomeBlocksTool(outcome)),
      ]),
    ),
  );
}

const moves: { readonly [Move in WhoseMove]: { readonly heading: string; readonly text: string } } = {
  retry: {
    heading: 'Retry',
    text: 'Nothing in the code can prevent these. Try again, after a pause where something is down.',
  },
  'your inputs': {
    heading: 'Your inputs',
    text: 'The call asks for something it cannot have as it stands. Change what is asked.',
  },
  "the tool's author": {
    heading: "The tool's author",
    text: 'The tool is at fault. Whoever calls it can do nothing but use another.',
  },
  're-record': {
    heading: 'Re-record',
    text: 'Seen only in a replay: the recording and the run have grown apart.',
  },
  budget: {
    heading: 'Budget',
    text: 'A limit did what it is there for. Raise it, or take the partial result.',
  },
  'a person': {
    heading: 'A person',
    text: 'No program can settle these. Somebody must look, decide or allow.',
  },
  nobody: { heading: 'Nobody', text: 'There is nothing to mend. Go on without the call.' },
};

function reasonsPage(): string {
  const groups = Object.entries(moves).map(([move, group]) => ({
    ...group,
    codes: reasonCodes.filter((each) => reasonOf(each).whoseMove === move),
  }));
  return page(
    'Reason codes',
    'The stable word for why something did not succeed, in outcomes, events, metrics and `ToolError.reason`. Grouped by whose move it is.',
    table(
      ['code', 'in short', 'whose move', 'retryable', 'closes the tool for the turn', 'seen in'],
      groups.flatMap(({ codes }) =>
        codes.map((each) => {
          const { title, whoseMove, retryable } = reasonOf(each);
          return [link(each), title, whoseMove, yes(retryable), closesTool(each), seenIn(each).join(', ')];
        }),
      ),
    ),
    'Whether a call may be retried is what its outcome says: a tool may say otherwise than this table, which is only the default. A tool is closed for the rest of the turn by a failure or timeout that may not be retried.',
    `A body that knows why it failed throws \`new ToolError(code, message, {retryable, extras})\`. It may claim ${reasonCodes
      .filter((each) => reasonOf(each).bodyMayClaim)
      .map((each) => code(each))
      .join(
        ', ',
      )}. Every other code is for the runtime to say: thrown by a body it is recorded as \`tool.execution_error\`.`,
    ...groups.flatMap(({ heading, text, codes }) => [
      `## ${heading}`,
      text,
      ...codes.flatMap((each) => {
        const { title, whatHappened, whyItMatters, forModel, whatToDo, nextAction } = reasonOf(each);
        return [
          `### ${each}`,
          `**${title}.** ${whatHappened}`,
          `_Why it matters._ ${whyItMatters}`,
          `_For the model._ ${forModel}`,
          `_What to do._ ${whatToDo}`,
          `\`nextAction\` of the derived result: \`${nextAction}\`${reasonOf(each).terminal ? ', and it is `terminal`' : ''}.`,
        ];
      }),
    ]),
  );
}

function closesTool(each: ReasonCode): string {
  const { blocksTool, retryable } = reasonOf(each);
  if (!blocksTool) return 'no';
  if (each === 'tool.invalid_input') return 'when the body claims it';
  return retryable ? 'where marked not retryable' : 'yes';
}

function seenIn(each: ReasonCode): readonly string[] {
  const denials = Object.entries(denialReasons)
    .filter(([, { codes }]) => codes.includes(each))
    .map(([reason]) => `denied \`${reason}\``);
  const { bodyMayClaim } = reasonOf(each);
  return [
    ...(each === 'tool.timeout' ? ['timeout'] : []),
    ...denials,
    ...(bodyMayClaim || denials.length === 0 ? ['failure'] : []),
  ];
}

function modelContentPage(): string {
  return page(
    'What the model sees',
    'The content of the message that answers a tool call: `outcomeToModelContent(outcome)`. It is always JSON, and it is kept in the ledger byte for byte. The examples are what the function gives.',
    table(
      ['outcome', 'the model sees', 'for example'],
      modelContentTable.map(({ outcome, modelSees, example }) => [
        code(outcome),
        modelSees.startsWith('{') ? code(modelSees) : modelSees,
        code(outcomeToModelContent(example)),
      ]),
    ),
    'Every denial, where the gate gave no details. Those the table does not name go by its “other” row:',
    table(
      ['reason', 'the model sees'],
      Object.keys(denialReasons)
        .filter(isDenialReason)
        .map((reason) => [
          code(reason),
          code(
            outcomeToModelContent({
              type: 'ToolDenied',
              ...head,
              code: denialReasons[reason].codes[0],
              reason,
              details: '',
            }),
          ),
        ]),
    ),
    '## Content parts',
    '`outcomeToContentParts(outcome)` gives that text as the first part, what else the model should know as a second, then the files. Nothing is ever mixed into the first:',
    json(outcomeToContentParts(full.ToolExecutionResult)),
    '## Tool results',
    'The same outcomes as `ToolResult`s, from `outcomeToToolResult(outcome)`. One the tool made itself is passed on as it is; these are derived. A derived result lets the model go on (`needsFollowup`), except where nothing is left to go on with (`terminal`).',
    table(
      ['outcome', 'ToolResult'],
      modelContentTable.map(({ outcome, example }) => [
        code(outcome),
        code(JSON.stringify(outcomeToToolResult(example))),
      ]),
    ),
  );
}

const record: ToolAuditRecord = {
  recordId: 'ev_4k1',
  sessionId: 's_1',
  turnId: 't_1',
  callId: 'c_42',
  attempt: 0,
  toolName: 'refund',
  displayName: 'Refund a customer',
  mode: 'destructive',
  modeOrigin: 'declared',
  requestedInput: { amount: '500' },
  effectiveInput: { amount: 500 },
  inputDigest: 'sha256:9b1c…',
  principal: { userId: 'ada', orgId: 'analytical' },
  askedBy: undefined,
  provenance: { provider: 'acme', model: 'acme-1' },
  policyVersion: 'sha256:77e0…',
  decidedBy: { type: 'rule', name: 'large-refunds' },
  grantId: undefined,
  toolSuccess: undefined,
  outcome: {
    kind: 'requires_confirmation',
    description: 'A refund above 100 needs a person.',
    listenContext: {
      operationId: 'op_1',
      revision: 1,
      snapshot: { balance: 812 },
      expiresAt: 1_778_846_700_000,
    },
  },
  cause: 'ev_4k0',
  at: 1_778_846_400_000,
};

const states: { readonly [State in AuditState]: string } = {
  start: 'nothing yet',
  held: '`requires_confirmation`',
  completed: '`completed`',
  blocked: '`blocked`',
  invalidated: '`invalidated`',
  keyed: '`cached`, as the answer to the call',
};

function auditPage(): string {
  const kinds: readonly string[] = Object.keys(auditKinds);
  return page(
    'Audit records',
    'The facts of a call’s life, for people who must explain it. A record commits with the transition it describes. There are seven kinds; readers keep kinds they do not know.',
    table(
      ['kind', 'carries', 'says'],
      Object.entries(auditKinds).map(([kind, { fields, meaning }]) => [code(kind), code(fields), meaning]),
    ),
    '`ToolAuditOutcome.kind(outcome)` gives the word, `ToolAuditOutcome.result(outcome)` the result where there is one, `ToolAuditOutcome.parse(value)` reads what was written.',
    'How a call ended decides the kind: a success, a timeout, a failure and an artifact are `completed` (with `attempt: 0` where the body never ran); a denial is `blocked`, but `invalidated` where a hold expired or was withdrawn. A caller who joins a running call adds no record.',
    'The `boundary` of a `persistence_failed` says which write could not be made:',
    table(
      ['boundary', 'meaning'],
      Object.entries(persistenceBoundaries).map(([boundary, meaning]) => [code(boundary), meaning]),
    ),
    '## Legal orders',
    `What may follow what, in the records of one call. Kept as data (\`auditOrder\`) and checked by \`checkAuditOrder\`. A call is settled once: by one of ${auditTerminalKinds.map((kind) => code(kind)).join(', ')}, or by a \`cached\` record where another call with the same tool-made key answers it. A failed write changes nothing: whatever could not be written may still follow.`,
    table(
      ['after', ...kinds.map(code), 'settled'],
      Object.entries(auditOrder).map(([state, { next, settled }]) => [
        // The keys of a table typed by its keys.
        states[state as AuditState],
        ...kinds.map((kind) => (next[kind as AuditKind] === undefined ? '–' : 'may follow')),
        yes(settled),
      ]),
    ),
    '## A record',
    'In TypeScript. Payloads are in their kept form: what is redacted is not in them.',
    json(record),
    'On the wire and in files:',
    json(auditRecordToWire(record)),
  );
}

const page = (title: string, ...blocks: readonly string[]): string =>
  [
    '<!-- Generated by `npm run docs` from the tables in src/call. Change those instead. -->',
    `# ${title}`,
    ...blocks,
  ].join('\n\n');

const table = (columns: readonly string[], rows: readonly (readonly string[])[]): string =>
  [columns, columns.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

const cell = (text: string): string => text.replaceAll('|', String.raw`\|`).replaceAll('\n', ' ');
const code = (text: string): string => `\`${text}\``;
const json = (value: object): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
const yes = (value: boolean): string => (value ? 'yes' : 'no');
const thousands = (value: number): string => value.toLocaleString('en-US');
/** To the heading of that name on the same page, by the rules GitHub makes anchors with. */
const link = (name: string): string => `[\`${name}\`](#${anchor(name)})`;
const linkToReason = (name: string): string => `[\`${name}\`](reason-codes.md#${anchor(name)})`;
const anchor = (heading: string): string => heading.toLowerCase().replaceAll(/[^\w -]/g, '');
