/** Records what happened to a call before its tool ran: previews, confirmations and their decisions. */
import { countedIdentity } from '../call/counted-identity.ts';
import { hasPolicy, isFallen } from '../call/quorum.ts';
import type { JsonObject } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import type {
  CallEvent,
  ConfirmationDecided,
  ToolDecided,
  ToolHeld,
  ToolPreviewed,
  ToolResponded,
} from '../call/event.ts';
import type { RecordedAnswer, RecordedCall, RecordedPreview, RecordedVersion } from './cassette.ts';

export function recordBefore(events: readonly CallEvent[]): Pick<RecordedCall, 'previews' | 'answers'> {
  const answers: RecordedAnswer[] = [];
  const previews: (RecordedPreview & { readonly operationId: string | undefined })[] = [];
  let displayName = '';
  let input: JsonObject | undefined;
  let shown = 0;
  let held: ToolHeld | undefined;
  const fallen = events.flatMap((event) =>
    event.type === 'confirmation.voted' || event.type === 'confirmation.decided' ? (event.fallen ?? []) : [],
  );
  for (const event of events)
    switch (event.type) {
      case 'tool.requested':
        ({ displayName } = event);
        break;
      case 'tool.decided':
        if (event.inputDigest !== undefined) input = acceptedIn(event) ?? input;
        // A preview before a decision belongs to the input of that decision.
        previews.push(...previews.splice(shown).map((preview) => ({ ...preview, input })));
        shown = previews.length;
        break;
      case 'tool.previewed': {
        const last = previews.at(-1);
        const version = toVersion(event);
        if (last !== undefined && last.operationId === event.operationId)
          previews[previews.length - 1] = { ...last, versions: [...last.versions, version] };
        else
          previews.push({ operationId: event.operationId, input, versions: [version], problem: undefined });
        break;
      }
      case 'tool.held':
        held = event;
        break;
      case 'confirmation.voted':
        // A replay has no rights that could end, so a vote that fell is not given again.
        if (!fallen.some((each) => isFallen(event, each)))
          answers.push({ input, ...identityOf(event), ...toAnswer({ ...event, response: undefined }) });
        // Later answers are about the edited arguments.
        if (event.editedInput !== undefined) input = event.editedAccepted ?? event.editedInput;
        break;
      case 'confirmation.decided':
        answers.push({ input, ...(isShared(held) && identityOf(event)), ...toAnswer(event) });
        held = undefined;
        break;
      case 'confirmation.expired':
        // An approval that was not used in time still counts as a decision.
        if (held !== undefined)
          answers.push({ input, decision: 'expired', afterMs: Math.max(0, event.at - held.at) });
        held = undefined;
        break;
      case 'confirmation.withdrawn':
        if (held !== undefined) answers.push({ input, decision: 'withdrawn' });
        held = undefined;
        break;
      case 'tool.responded': {
        const problem = previewProblem(event, displayName);
        if (problem === undefined) break;
        const last = previews.at(-1);
        // A decision followed the final version; a later preview is a new try.
        if (last !== undefined && isDraft(events, last.operationId))
          previews[previews.length - 1] = { ...last, problem };
        else previews.push({ operationId: undefined, input, versions: [], problem });
        break;
      }
      case 'confirmation.reminded':
      case 'tool.started':
      case 'tool.late':
      case 'tool.recalled':
      case 'tool.taken_over':
      case 'tool.reported':
      case 'tool.resolved':
      case 'tool.undone':
      case 'persistence.failed':
      case 'retry.requested':
      case 'runtime.budget_exhausted':
        break;
      default:
        event satisfies never;
    }
  return {
    answers,
    previews: previews.map(({ input: about, versions, problem }) => ({ input: about, versions, problem })),
  };
}

/** The input that the schema accepted, if it is not the requested one. A decision after an edit does not repeat it. */
const acceptedIn = ({
  acceptedInput,
  effectiveInput,
  changes,
  inputForm,
}: ToolDecided): JsonObject | undefined =>
  acceptedInput ?? (changes.length > 0 || inputForm === undefined ? effectiveInput : undefined);

const toVersion = ({ preview, snapshot, expiresAt, at }: ToolPreviewed): RecordedVersion => ({
  preview,
  snapshot,
  expiresInMs: expiresAt === undefined ? undefined : Math.max(0, expiresAt - at),
});

const isDraft = (events: readonly CallEvent[], operationId: string | undefined): boolean =>
  !events.some(
    (event) => event.type === 'tool.previewed' && event.operationId === operationId && event.ready,
  );

type Answer = RecordedAnswer extends infer Each
  ? Each extends unknown
    ? Omit<Each, 'input'>
    : never
  : never;

/** Does a rule say who must approve? */
const isShared = (held: ToolHeld | undefined): boolean => held !== undefined && hasPolicy(held.asks);

/** A delegate is recorded as the person they acted for, because a replay has no delegations. */
const identityOf = ({ by }: Pick<ConfirmationDecided, 'by'>): Pick<RecordedAnswer, 'identity'> => ({
  identity: by.behalf?.at(-1)?.identity ?? countedIdentity(by.identity),
});

type Answered = Pick<
  ConfirmationDecided,
  'decision' | 'by' | 'reason' | 'response' | 'editedAccepted' | 'editedInput'
>;

function toAnswer(decided: Answered): Answer {
  const { decision, by, reason, response } = decided;
  const editedInput = decided.editedAccepted ?? decided.editedInput;
  if (by.type !== 'person') return { decision: 'deny', by: undefined, reason };
  switch (decision) {
    case 'approve':
    case 'deny':
      return { decision, by: by.name, reason };
    case 'edit':
      // An edit with erased arguments can only be replayed as an approval.
      return isJsonObject(editedInput)
        ? { decision, by: by.name, reason, arguments: editedInput }
        : { decision: 'approve', by: by.name, reason };
    case 'respond':
      return { decision, by: by.name, reason, response: response ?? '' };
  }
}

/** The problem of a preview, from the outcome of the call. */
function previewProblem({ outcome }: ToolResponded, displayName: string): string | undefined {
  if (outcome.type !== 'ToolDenied' || outcome.code !== 'preview.failed') return undefined;
  const before = `The preview of "${displayName}" `;
  const { details } = outcome;
  return details.startsWith(before) && details.endsWith('.') ? details.slice(before.length, -1) : 'failed';
}
