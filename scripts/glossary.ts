/**
 * The vocabulary of Quittance: one word per thing, in code, events, CLI, HTTP, console and docs. `docs/glossary.md` is
 * written from this table, and `test/glossary.test.ts` compares it with the code.
 */
import type { AuditKind } from '../packages/quittance/src/call/audit.ts';
import type { CallStatus, ConfirmationStatus } from '../packages/quittance/src/call/call.ts';
import type { EventType, Resolution } from '../packages/quittance/src/call/event.ts';
import type { Role } from '../packages/server/src/http/api/role.ts';
import type { OutcomeWord } from '../packages/quittance/src/view/outcome-words.ts';

/** One word, and where it shows. */
export type Term = {
  readonly term: string;
  /** One or two sentences. */
  readonly meaning: string;
  /** Exported names: types, functions, constants. */
  readonly code?: readonly string[];
  readonly events?: readonly EventType[];
  /** Commands of `quittance`. */
  readonly cli?: readonly string[];
  /** Labels in the console. */
  readonly console?: readonly string[];
};

export const terms: readonly Term[] = [
  {
    term: 'tool',
    meaning: 'A function that an agent may call: a name, an input schema, a mode, a `run` function.',
    code: ['defineTool', 'govern', 'AnyTool'],
    console: ['Tools'],
  },
  {
    term: 'call',
    meaning:
      'One request to run a tool, and everything that happened to it. Session and call id identify it.',
    code: ['ToolCall', 'Call', 'CallSummary'],
    events: ['tool.requested', 'tool.responded'],
    cli: ['calls', 'show'],
    console: ['Calls'],
  },
  {
    term: 'attempt',
    meaning: 'One run of the tool’s function for a call. A retry is another attempt of the same call.',
    events: ['tool.started', 'retry.requested'],
  },
  {
    term: 'turn',
    meaning: 'One round of an agent’s loop: a deadline, a budget and a list of calls.',
    code: ['Turn'],
    events: ['turn.opened', 'turn.ended'],
  },
  {
    term: 'session',
    meaning:
      'The conversation or job that turns belong to. It is the unit of ordering and of the hash chain.',
    code: ['SessionSummary'],
    events: ['session.forked', 'session.dropped'],
    cli: ['sessions'],
    console: ['Sessions'],
  },
  {
    term: 'gate',
    meaning: 'A check before the tool runs. It passes the call, denies it or holds it.',
    events: ['tool.decided'],
  },
  {
    term: 'contract',
    meaning: 'A document of rules (YAML) that block, ask, limit or redact.',
    code: ['Contracts'],
    events: ['contracts.loaded'],
    cli: ['contracts check'],
    console: ['Contracts'],
  },
  {
    term: 'ruling',
    meaning: 'What the rules say about a call or a result. Block beats ask, and ask beats allow.',
    code: ['Ruling'],
  },
  {
    term: 'confirmation',
    meaning: 'The question to a person about a held call.',
    code: ['ConfirmationView'],
    events: ['tool.held', 'confirmation.reminded', 'confirmation.expired', 'confirmation.withdrawn'],
    cli: ['pending'],
    console: ['Inbox'],
  },
  {
    term: 'decision',
    meaning:
      'The answer of a person to a confirmation: approve, deny, edit or respond. Rules make rulings, and gates pass, deny or hold. `decide` in `quittance/events` is the exception: it turns a command into events.',
    code: ['PersonDecision', 'ConfirmationDecision', 'decide'],
    events: ['confirmation.decided'],
    cli: ['approve', 'deny', 'edit', 'respond'],
  },
  {
    term: 'quorum',
    meaning:
      'The distinct verified people whose approval a rule needs. Approvals before the last one are votes; the last one is the decision.',
    code: ['Vote', 'MissingSeat'],
    events: ['confirmation.voted'],
  },
  {
    term: 'delegation',
    meaning: 'A verified person lets another one approve in their place until an instant.',
    code: ['DelegationView'],
    events: ['delegation.given', 'delegation.revoked'],
    cli: ['delegations'],
  },
  {
    term: 'grant',
    meaning: 'A standing approval by a named person, for one tool and a limited time.',
    code: ['GrantView'],
    events: ['grant.given', 'grant.revoked'],
    cli: ['grants'],
  },
  {
    term: 'intent',
    meaning: 'The stored event that an attempt starts. The tool runs only after it is on disk.',
    events: ['tool.started'],
  },
  {
    term: 'outcome',
    meaning: 'How a call ended. It is stored once and never changes.',
    code: ['ToolOutcome'],
    events: ['tool.responded'],
    cli: ['calls'],
  },
  {
    term: 'settle',
    meaning: 'To store the outcome of a call, with its audit record and its counters, in one commit.',
    events: ['tool.responded'],
  },
  {
    term: 'unresolved',
    meaning:
      'A call that ended and whose effect is unknown: the tool may have acted. A person or the tool resolves it.',
    code: ['UnresolvedCall'],
    cli: ['reconcile'],
    console: ['Reconcile'],
  },
  {
    term: 'resolution',
    meaning: 'A later finding about an unresolved call. The outcome stays as it is.',
    code: ['Resolution'],
    events: ['tool.resolved'],
    cli: ['reconcile'],
  },
  {
    term: 'twin',
    meaning:
      'A call with the tool and the arguments of an earlier, unresolved call. It is held for a person.',
  },
  {
    term: 'owner',
    meaning: 'The process that works on a call. Only a call whose owner is gone is taken over.',
    code: ['OwnerStatus'],
    events: ['tool.taken_over'],
  },
  {
    term: 'recovery',
    meaning: 'The work on calls that a process left open when it ended.',
    code: ['RecoveredCall', 'RecoveryProgress'],
  },
  {
    term: 'hand-off',
    meaning: 'A call that another process runs: a worker claims it and reports its end.',
    code: ['HandoffView', 'HandoffReport'],
    events: ['tool.reported'],
    cli: ['handoff'],
  },
  {
    term: 'preview',
    meaning: 'What a tool shows that it would do, before it does it.',
    code: ['Preview'],
    events: ['tool.previewed'],
  },
  { term: 'undo', meaning: 'A call that reverses another call.', events: ['tool.undone'] },
  {
    term: 'artifact',
    meaning: 'A large output or a file, stored separately and read in pieces.',
    code: ['ToolArtifactReference', 'ArtifactFacts'],
  },
  {
    term: 'stored form',
    meaning: 'A payload after redaction, as the ledger holds it and people see it.',
  },
  { term: 'executed form', meaning: 'The exact payload that the tool gets or returns.' },
  {
    term: 'seal',
    meaning: 'The encryption of an executed form that contains something hidden. It is opened only to run.',
  },
  {
    term: 'ledger',
    meaning: 'The append-only store of events, with tables for queries.',
    code: ['Ledger', 'openLedger'],
    cli: ['verify', 'rebuild', 'export'],
    console: ['Integrity'],
  },
  {
    term: 'event',
    meaning: 'A fact that is appended to the ledger. Everything shown is computed from events.',
    code: ['QuittanceEvent', 'EventType'],
    cli: ['trace'],
  },
  {
    term: 'entry',
    meaning: 'The events of one append, under one hash.',
    code: ['Entry', 'StoredEntry'],
  },
  {
    term: 'side row',
    meaning:
      'A row next to the entries: a claim, a counter, a state, a sealed input. It can be rebuilt from them.',
    code: ['SideRow'],
    cli: ['rebuild'],
  },
  {
    term: 'spill',
    meaning: 'The file of a process for results that the ledger could not take. Recovery imports it.',
    code: ['Spill'],
  },
  {
    term: 'audit record',
    meaning: 'One fact of the life of a call, for people who must explain it.',
    code: ['ToolAuditRecord', 'ToolAuditOutcome'],
  },
  {
    term: 'reason code',
    meaning: 'The stable machine word for why a call did not succeed.',
    code: ['ReasonCode', 'reasonOf'],
    cli: ['errors'],
  },
  {
    term: 'behavior',
    meaning: 'Named code that subscribes to events, for example to retry.',
    code: ['BehaviorSpec', 'BehaviorHandler'],
    events: ['behavior.failed'],
    cli: ['behaviors'],
  },
  {
    term: 'cassette',
    meaning: 'A slice of a ledger that plays recorded tools.',
    code: ['Cassette'],
    cli: ['cassette export', 'cassette show'],
  },
  {
    term: 'principal',
    meaning: 'On whose behalf a call is made: user, service, organization, role, claims.',
    code: ['Principal'],
  },
];

/** How each outcome shows. The audit kind and the types are those that the runtime writes. */
export const outcomeTerms: {
  readonly [Word in OutcomeWord]: { readonly meaning: string; readonly audit: readonly AuditKind[] };
} = {
  succeeded: {
    meaning: 'The tool ran and returned a result. A large output is stored as an artifact.',
    audit: ['completed'],
  },
  failed: {
    meaning: 'The tool threw, reported an error or returned an output that is not allowed.',
    audit: ['completed'],
  },
  timed_out: { meaning: 'The tool did not end before its deadline.', audit: ['completed'] },
  denied: {
    meaning: 'A gate stopped the call. The tool did not run.',
    audit: ['blocked', 'invalidated'],
  },
  indeterminate: {
    meaning: 'The tool may have acted, and its end is unknown. The code is `tool.indeterminate`.',
    audit: ['completed'],
  },
};

export const callStatuses: { readonly [Status in CallStatus]: string } = {
  requested: 'The call is stored. Its gates are being checked.',
  held: 'The call waits for the decision of a person.',
  approved: 'A person approved the call. It does not run yet.',
  running: 'The intent is stored. The tool may run.',
  settled: 'The call has its outcome.',
};

export const confirmationStatuses: { readonly [Status in ConfirmationStatus]: string } = {
  pending: 'No person has decided yet.',
  approved: 'A person approved the call, with its arguments or with edited ones.',
  denied: 'A person denied the call.',
  answered: 'A person gave the result instead of the tool.',
  withdrawn: 'The agent or the runtime no longer needs the decision.',
  expired: 'No person decided in time.',
};

export const resolutionTerms: { readonly [Word in Resolution]: string } = {
  succeeded: 'The effect did happen.',
  failed: 'The effect did not happen.',
  safe_to_retry: 'It does no harm to run the call again.',
};

export const roleTerms: { readonly [Name in Role]: string } = {
  viewer: 'Reads.',
  operator: 'Makes calls, runs hand-offs, reports, undoes. Cannot approve.',
  approver: 'Decides confirmations, resolves calls, gives grants. Cannot make calls.',
  admin: 'Does all of this, and exports, verifies, reloads, erases and drops.',
};

/** A word that was used for one of the terms, and the word to use. */
type RetiredWord = {
  readonly word: string;
  readonly instead: string;
  /** Is it an ordinary word of English? Then it is retired only as a name, and a text may use it. */
  readonly inTexts: boolean;
};

/** They appear in no identifier and no file name of `src` and `console`, and in no text of the CLI or the console. */
export const retiredWords: readonly RetiredWord[] = [
  { word: 'told', instead: 'answer, content, reply, outcome', inTexts: true },
  { word: 'beside', instead: 'side row, siblings, separately', inTexts: true },
  { word: 'news', instead: 'event, message, signal, change', inTexts: true },
  { word: 'desk', instead: 'state, threads', inTexts: false },
  { word: 'in hand', instead: 'active call', inTexts: false },
  { word: 'stranded', instead: 'pending settlement', inTexts: false },
  { word: 'behaviour', instead: 'behavior', inTexts: false },
  { word: 'kept aside', instead: 'large output, artifact', inTexts: false },
];
