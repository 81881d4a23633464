/** Renders the pages of docs/ from the tables in packages/quittance/src/call. Nothing on them is written twice. */
import { auditKinds } from '../packages/quittance/src/call/audit.ts';
import { persistenceBoundaries } from '../packages/quittance/src/call/persistence-boundary.ts';
import type { AuditKind, ToolAuditRecord } from '../packages/quittance/src/call/audit.ts';
import type { AuditState } from '../packages/quittance/src/call/audit-order.ts';
import { auditOrder, auditTerminalKinds } from '../packages/quittance/src/call/audit-order.ts';
import {
  outcomeToToolResult,
  ARTIFACT_SUMMARY_MAX_CHARS,
  denialReasons,
  isDenialReason,
  outcomeBlocksTool,
  outcomeIsError,
  outcomeIsRetryable,
  outcomeTypes,
  TOOL_MESSAGE_MAX_CHARS,
} from '../packages/quittance/src/call/outcome.ts';
import {
  modelContentTable,
  outcomeToContentParts,
  outcomeToModelContent,
} from '../packages/quittance/src/call/model-content.ts';
import type { ToolOutcome } from '../packages/quittance/src/call/outcome.ts';
import type { ReasonCode, WhoseMove } from '../packages/quittance/src/call/reason.ts';
import { reasonCodes, reasonOf } from '../packages/quittance/src/call/reason.ts';
import { auditRecordToWire } from '../packages/quittance/src/call/audit-wire.ts';
import { outcomeToWire } from '../packages/quittance/src/call/outcome-wire.ts';
import { formatText } from './format-text.ts';

/** Every generated page by its path from the root of the repository. */
export async function renderDocs(): Promise<ReadonlyMap<string, string>> {
  const pages = [
    ['docs/outcomes.md', outcomesPage()],
    ['docs/reason-codes.md', reasonsPage()],
    ['docs/model-content.md', modelContentPage()],
    ['docs/audit.md', auditPage()],
  ] as const;
  const formatted = pages.map(async ([path, text]) => [path, await formatText(path, text)] as const);
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

/** One of each, with every possible field. */
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
    'Every accepted call ends in exactly one outcome, one of five types. It is on disk before it is reported, and it never changes.',
    table(
      ['type', 'when'],
      Object.entries(outcomeTypes).map(([type, { when }]) => [link(type), when]),
    ),
    `All five have \`callId\` and \`toolName\`, and may have a \`modelNote\`: additional facts for the model, as a separate content part. All but the two successes have a \`code\`, one of the [reason codes](reason-codes.md). \`toolResult\` is present only if the tool itself made one. [Another page](model-content.md) shows the text for the model.`,
    `\`inDoubt: true\` on a timeout or a failure means that the tool may have taken effect. It must not run again: the twin guard stops an identical call. \`retryable\` is then false, and the model's error text ends with a warning not to repeat the call. \`blocksTool: false\` says that this doubt is the only reason: the tool stays open for other arguments. Outcomes recorded before these fields existed have neither.`,
    `An output is shown inline up to \`TOOL_MESSAGE_MAX_CHARS\` = ${thousands(TOOL_MESSAGE_MAX_CHARS)} UTF-16 units of its JSON; a tool may set its own limit. A larger output becomes an artifact, with a summary of at most ${ARTIFACT_SUMMARY_MAX_CHARS} characters.`,
    ...Object.values(full).flatMap((outcome) => [
      `## ${outcome.type}`,
      outcomeTypes[outcome.type].when,
      'In TypeScript, with every possible field:',
      json(outcome),
      'On the wire and in files:',
      json(outcomeToWire(outcome)),
    ]),
    '## Reasons of a denial',
    'The `reason` of a `ToolDenied`. The first six come from the source documents.',
    table(
      ['reason', 'produced by', 'codes', 'default text of the gate'],
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
        ['`outcomeIsRetryable`', "the outcome's own `retryable`; false if it has none"],
        [
          '`outcomeBlocksTool`',
          'true for a timeout or failure that may not be retried, which blocks the tool for the rest of the turn. False if its [reason](reason-codes.md) does not concern the tool, or if only the doubt about this call forbids a retry',
        ],
        ['`outcomeToModelContent`', 'the [text for the model](model-content.md)'],
        ['`outcomeToContentParts`', 'that text, then the note, then the files'],
        ['`outcomeToToolResult`', "the tool's own result, or one derived from the outcome"],
        [
          '`unwrap`',
          'the output, or `{artifactId, summary, sizeBytes}`; throws a `ToolError` with the code as its `reason` for everything else',
        ],
        ['`outcomeToWire`, `outcomeFromWire`', 'converts to and from the field names of files and wires'],
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
          ? `${outcome.type}, retryable ${outcome.retryable}${outcome.inDoubt === true ? ', `inDoubt`' : ''}`
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
    text: 'Not a mistake in the code. Retry, after a pause if a service is down.',
  },
  'your inputs': {
    heading: 'Caller or model',
    text: 'The call cannot succeed as requested. Change the request.',
  },
  "the tool's author": {
    heading: 'Author of the tool',
    text: 'The tool is at fault. A caller can only use another tool.',
  },
  're-record': {
    heading: 'Re-record',
    text: 'Only in a replay: the recording no longer matches the run.',
  },
  budget: {
    heading: 'Budget',
    text: 'A limit worked as intended. Raise it, or use the partial result.',
  },
  'a person': {
    heading: 'A person',
    text: 'No program can settle these. A person must check, decide or approve.',
  },
  'no action': { heading: 'No action needed', text: 'There is nothing to fix. Continue without the call.' },
};

function reasonsPage(): string {
  const groups = Object.entries(moves).map(([move, group]) => ({
    ...group,
    codes: reasonCodes.filter((each) => reasonOf(each).whoseMove === move),
  }));
  return page(
    'Reason codes',
    'The stable code for a call that did not succeed, in outcomes, events, metrics and `ToolError.reason`. Grouped by who can act.',
    table(
      ['code', 'in short', 'who can act', 'retryable', 'blocks the tool for the turn', 'seen in'],
      groups.flatMap(({ codes }) =>
        codes.map((each) => {
          const { title, whoseMove, retryable } = reasonOf(each);
          return [link(each), title, whoseMove, yes(retryable), closesTool(each), seenIn(each).join(', ')];
        }),
      ),
    ),
    'The outcome of a call says whether it may be retried. The table holds the defaults, which a tool can override. A failure or timeout that may not be retried blocks the tool for the rest of the turn.',
    `A body that knows why it failed throws \`new ToolError(code, message, {retryable, effect, extras})\`. It may claim ${reasonCodes
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
  if (each === 'tool.invalid_input') return 'if the tool throws it';
  return retryable ? 'if marked not retryable' : 'yes';
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
    'The content of the message that answers a tool call: `outcomeToModelContent(outcome)`. It is always JSON, and the ledger stores it byte for byte. The examples are results of that function.',
    table(
      ['outcome', 'the model sees', 'for example'],
      modelContentTable.map(({ outcome, modelSees, example }) => [
        code(outcome),
        modelSees.startsWith('{') ? code(modelSees) : modelSees,
        code(outcomeToModelContent(example)),
      ]),
    ),
    'Every denial without details of the gate. Reasons that the table does not name use its “other” row:',
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
    '`outcomeToContentParts(outcome)` returns that text as the first part, additional facts as the second, then the files. Nothing is ever mixed into the first part:',
    json(outcomeToContentParts(full.ToolExecutionResult)),
    '## Tool results',
    'The same outcomes as `ToolResult`s, from `outcomeToToolResult(outcome)`. A result made by the tool is passed on unchanged; these are derived. A derived result lets the model continue (`needsFollowup`), unless nothing is left to continue with (`terminal`).',
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
  risk: 'money',
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
    'The facts of a call, for people who must explain it. A record commits with the transition it describes. There are seven kinds; readers keep unknown kinds.',
    table(
      ['kind', 'carries', 'says'],
      Object.entries(auditKinds).map(([kind, { fields, meaning }]) => [code(kind), code(fields), meaning]),
    ),
    '`ToolAuditOutcome.kind(outcome)` returns the kind, `ToolAuditOutcome.result(outcome)` the result if there is one, `ToolAuditOutcome.parse(value)` reads a stored record.',
    'The outcome of a call decides the kind. A success, a timeout, a failure and an artifact are `completed` (with `attempt: 0` if the tool never ran). A denial is `blocked`, or `invalidated` if a hold expired or was withdrawn. A caller that joins a running call adds no record.',
    'The `boundary` of a `persistence_failed` names the write that failed:',
    table(
      ['boundary', 'meaning'],
      Object.entries(persistenceBoundaries).map(([boundary, meaning]) => [code(boundary), meaning]),
    ),
    '## Legal orders',
    `The legal order of the records of one call. Kept as data (\`auditOrder\`) and checked by \`checkAuditOrder\`. A call is settled once: by one of ${auditTerminalKinds.map((kind) => code(kind)).join(', ')}, or by a \`cached\` record if another call with the same tool-made key answers it. A failed write changes nothing: the failed record may still follow.`,
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
    'In TypeScript. Payloads are in stored form: redacted values are not in them.',
    json(record),
    'On the wire and in files:',
    json(auditRecordToWire(record)),
  );
}

const page = (title: string, ...blocks: readonly string[]): string =>
  [
    '<!-- Generated by `npm run docs` from the tables in packages/quittance/src/call. Change those instead. -->',
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
/** A link to the heading of that name on the same page, with the anchor rules of GitHub. */
const link = (name: string): string => `[\`${name}\`](#${anchor(name)})`;
const linkToReason = (name: string): string => `[\`${name}\`](reason-codes.md#${anchor(name)})`;
const anchor = (heading: string): string => heading.toLowerCase().replaceAll(/[^\w -]/g, '');
