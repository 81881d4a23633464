import type { ReactNode } from 'react';
import { safeSentence } from '../base/safe-id.ts';
import type { StatusTone } from '../view/status-words.ts';
import { announcement, statusLabel, statusSentence, statusWords } from '../view/status-words.ts';
import type { ToolCallView } from '../view/tool-call-view.ts';
import type { ToolCallSource } from './source-reader.ts';
import type { Consent, OnDecide } from './use-consent.ts';
import { useConsent } from './use-consent.ts';
import { useNow } from './use-now.ts';
import { useToolCallStatus } from './use-tool-call-status.ts';
import type { Reading } from './use-tool-calls.ts';
import type { OnUndo, Undoing } from './use-undo.ts';
import { useUndo } from './use-undo.ts';

/** Which call is shown: a call that is here, or an id and where to read about it. */
export type ToolCallSubject =
  | { readonly call: ToolCallView }
  | {
      readonly callId: string;
      readonly source: ToolCallSource | undefined;
      /** Where the source tells of several sessions. */
      readonly sessionId?: string | undefined;
    };

/** Who hears what people do with a call that is shown. */
export type ToolCallHandlers = {
  /** Without it questions are shown, and cannot be answered here. */
  readonly onDecide?: OnDecide | undefined;
  /** Without it nothing can be undone here. */
  readonly onUndo?: OnUndo | undefined;
  /** The ledger's clock, where this machine's may be wrong: milliseconds since 1970. Keep it in a variable. */
  readonly now?: (() => number) | undefined;
};

/** Everything about a call, and what can be done with it: for drawing it any way at all. */
export type ToolCallParts = Reading & {
  readonly call: ToolCallView;
  /** Where it stands, in one or two words. */
  readonly label: string;
  readonly tone: StatusTone;
  /** What there is to say about that: why it failed, who denied it. */
  readonly sentence: string | undefined;
  /** What to put in a live region: read out when it changes. */
  readonly announcement: string;
  /** There while a person is asked. */
  readonly consent: Consent | undefined;
  /** There while the call can be undone. */
  readonly undoing: Undoing | undefined;
  /** The time, while something runs out; undefined on a server and for a moment after. */
  readonly now: number | undefined;
};

export type ToolCallStatusProps = ToolCallSubject &
  ToolCallHandlers & {
    readonly children: (parts: ToolCallParts) => ReactNode;
    /** Drawn until the source tells of the call, and where it fails before it does. */
    readonly fallback?: ((reading: Reading) => ReactNode) | undefined;
  };

/** Draws nothing itself: gives everything about a call to a function that does. */
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

/** The ledger's sentences may name a call or a tool whose name looks like a secret. */
function shownSentence(call: ToolCallView): string | undefined {
  const sentence = statusSentence(call);
  return sentence === undefined ? undefined : safeSentence(sentence);
}
