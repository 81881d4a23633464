import type { JsonObject } from 'quittance/internal/base/json';
import type { ShownConfirmation, ToolCallView } from 'quittance/internal/view/tool-call-view';
import type { Sending } from './use-send-once.ts';
import { useSendOnce } from './use-send-once.ts';

/**
 * An answer to a question, bound to exactly the shown arguments and preview. Add the name of the person for the
 * runtime: `runtime.confirmations.decide(confirmationId, { ...decision, by })`.
 */
export type ToolCallDecision = {
  readonly reason?: string;
  readonly inputDigest?: string;
  readonly revision?: number;
  /** The person approves without having read to the end. */
  readonly notReadToEnd?: true;
} & (
  | { readonly decision: 'approve' | 'deny' }
  | { readonly decision: 'edit'; readonly arguments: JsonObject }
  | { readonly decision: 'respond'; readonly response: string }
);

/** Reading statement sent with an answer that runs the call. Empty if the person read to the end. */
export type HowRead = { readonly notReadToEnd?: true };

/** Sends an answer to the host. An error it throws, or a rejected promise, is shown as the reason of a refusal. */
export type OnDecide = (confirmationId: string, decision: ToolCallDecision, call: ToolCallView) => unknown;

/** An open question and its possible answers. Only the first answer is sent. */
export type Consent = Omit<Sending<ToolCallDecision>, 'send'> & {
  readonly confirmation: ShownConfirmation;
  /** False without a handler, or if the arguments or the preview are missing. */
  readonly canApprove: boolean;
  readonly canAnswer: boolean;
  /** Can be passed to a button as is. */
  readonly approve: { (): void; (how: HowRead): void };
  readonly deny: (reason?: string) => void;
  /** Approves with other arguments. */
  readonly edit: (replacement: JsonObject, reason?: string, how?: HowRead) => void;
  /** Answers the model in place of the tool. */
  readonly respond: (response: string) => void;
};

/** The open question of a call, if there is one. */
export function useConsent(
  call: ToolCallView | undefined,
  onDecide: OnDecide | undefined,
): Consent | undefined {
  const asked = call?.confirmation;
  const confirmation = asked?.isOpen === true ? asked : undefined;
  const { send, ...sending } = useSendOnce<ToolCallDecision>(
    // After an approval that needs others, the question stays open and may be answered again.
    confirmation &&
      `${confirmation.confirmationId} ${confirmation.inputDigest ?? ''} ${confirmation.votes.length}`,
    call === undefined || confirmation === undefined || onDecide === undefined
      ? undefined
      : (decision) => onDecide(confirmation.confirmationId, decision, call),
  );
  if (confirmation === undefined) return undefined;
  const { inputDigest, revision, isComplete, answers } = confirmation;
  const bound = {
    ...(inputDigest !== undefined && { inputDigest }),
    ...(revision !== undefined && { revision }),
  };
  const because = (reason: string | undefined): { readonly reason?: string } =>
    reason === undefined || reason.trim() === '' ? {} : { reason: reason.trim() };
  // A host may pass `approve` to a button as is. The argument is then a click event.
  const asRead = (how: HowRead | undefined): HowRead =>
    how?.notReadToEnd === true ? { notReadToEnd: true } : {};
  const canAnswer = onDecide !== undefined;
  const canApprove = canAnswer && isComplete;
  return {
    ...sending,
    confirmation,
    canAnswer,
    canApprove,
    approve: (how?: HowRead) => {
      if (canApprove && answers.includes('approve')) send({ decision: 'approve', ...bound, ...asRead(how) });
    },
    deny: (reason) => {
      if (answers.includes('deny')) send({ decision: 'deny', ...bound, ...because(reason) });
    },
    edit: (replacement, reason, how) => {
      if (canApprove && answers.includes('edit'))
        send({ decision: 'edit', arguments: replacement, ...bound, ...because(reason), ...asRead(how) });
    },
    respond: (response) => {
      if (answers.includes('respond')) send({ decision: 'respond', response, ...bound });
    },
  };
}
