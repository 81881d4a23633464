import type { ReactNode } from 'react';
import { safeSentence } from 'quittance/internal/base/safe-id';
import type { StatusTone } from 'quittance/internal/view/status-words';
import { announcement, statusLabel, statusSentence, statusWords } from 'quittance/internal/view/status-words';
import type { ToolCallView } from 'quittance/internal/view/tool-call-view';
import type { ToolCallSource } from './source-reader.ts';
import type { Consent, OnDecide } from './use-consent.ts';
import { useConsent } from './use-consent.ts';
import { useNow } from './use-now.ts';
import { useToolCallStatus } from './use-tool-call-status.ts';
import type { Reading } from './use-tool-calls.ts';
import type { OnUndo, Undoing } from './use-undo.ts';
import { useUndo } from './use-undo.ts';

/** The call to show: a loaded call, or an id and its source. */
export type ToolCallSubject =
  | { readonly call: ToolCallView }
  | {
      readonly callId: string;
      readonly source: ToolCallSource | undefined;
      /** Needed if the source covers several sessions. */
      readonly sessionId?: string | undefined;
    };

/** Handlers for the actions of people. */
export type ToolCallHandlers = {
  /** Without it, questions are shown but cannot be answered here. */
  readonly onDecide?: OnDecide | undefined;
  /** Without it, calls cannot be undone here. */
  readonly onUndo?: OnUndo | undefined;
  /** The ledger's clock, if this machine's may be wrong: milliseconds since 1970. Must be a stable reference. */
  readonly now?: (() => number) | undefined;
};

/** Everything needed to render a call in any form. */
export type ToolCallParts = Reading & {
  readonly call: ToolCallView;
  /** Status label of one or two words. */
  readonly label: string;
  readonly tone: StatusTone;
  /** Explains the status: why it failed, who denied it. */
  readonly sentence: string | undefined;
  /** Text for a live region, read out when it changes. */
  readonly announcement: string;
  /** Present while a question is open. */
  readonly consent: Consent | undefined;
  /** Present while the call can be undone. */
  readonly undoing: Undoing | undefined;
  /** Current time while a countdown runs; undefined on a server and in the first render. */
  readonly now: number | undefined;
};

export type ToolCallStatusProps = ToolCallSubject &
  ToolCallHandlers & {
    readonly children: (parts: ToolCallParts) => ReactNode;
    /** Rendered until the source delivers the call, or if it fails before that. */
    readonly fallback?: ((reading: Reading) => ReactNode) | undefined;
  };

/** Headless: passes everything about a call to a render function. */
export function ToolCallStatus(props: ToolCallStatusProps): ReactNode {
  const { children, fallback, onDecide, onUndo } = props;
  const read = useToolCallStatus(
    'call' in props ? props.call.callId : props.callId,
    'call' in props ? undefined : props.source,
    { sessionId: 'call' in props ? undefined : props.sessionId },
  );
  const call = 'call' in props ? props.call : read.call;
  const consent = useConsent(call, onDecide);
  const undoing = useUndo(call, onUndo);
  const runsOut = consent?.confirmation.expiresAt !== undefined || undoing?.until !== undefined;
  const now = useNow(runsOut, props.now);
  const reading: Reading = { error: read.error, hasEnded: read.hasEnded, retry: read.retry };
  if (call === undefined) return fallback?.(reading) ?? null;
  return children({
    ...reading,
    call,
    label: statusLabel(call),
    tone: statusWords[call.status].tone,
    sentence: shownSentence(call),
    announcement: safeSentence(announcement(call)),
    consent,
    undoing,
    now,
  });
}

/** Sentences from the ledger may contain a call id or tool name that looks like a secret. */
function shownSentence(call: ToolCallView): string | undefined {
  const sentence = statusSentence(call);
  return sentence === undefined ? undefined : safeSentence(sentence);
}
